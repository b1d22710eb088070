//! Keys of new entities: UUIDs of version 7 in the order of insertion.

use folio_compute::Result;
use folio_types::{ColumnType, Value};

use crate::bound::entity::EntityAdd;
use crate::change::Run;
use crate::context::Context;

/// Makes keys for new entities. Each is greater than all existing ones, so that keys have the
/// order of insertion even if the clock goes back.
pub(super) struct NewKeys {
    last: u128,
    /// Whether the last key is too old to count on from it.
    is_due: bool,
}

impl NewKeys {
    pub(super) fn after_last<P>(plan: &EntityAdd<P>, run: &Run<'_>) -> Result<Self> {
        if *plan.table.column_type(plan.key) != ColumnType::Uuid {
            return Ok(Self { last: 0, is_due: true });
        }
        let mut row = Vec::with_capacity(1);
        run.changes.first(&plan.table, true, &[plan.key], &mut row)?;
        let last = match row.pop() {
            Some(Value::Uuid(bytes)) => u128::from_be_bytes(bytes),
            _ => 0,
        };
        Ok(Self::after(last, run.context()))
    }

    /// Keys after an existing one.
    fn after(last: u128, context: &Context) -> Self {
        let is_of_time = last >> 76 & 0xF == 7;
        let burst_end = (last >> 80).saturating_add(BURST_MS);
        let is_due = !is_of_time || u128::from(context.millisecond()) >= burst_end;
        Self { last, is_due }
    }

    /// The next key. Keys of a burst share the time of the first one and are counted on from it, so
    /// they differ only at the end.
    #[inline]
    pub(super) fn next(&mut self, context: &Context) -> u128 {
        self.last = match std::mem::take(&mut self.is_due) {
            // The clock may be earlier than the last key.
            true => Some(context.ordered_uuid()).filter(|fresh| *fresh > self.last),
            false => None,
        }
        .unwrap_or_else(|| following(self.last));
        self.last
    }
}

/// Duration of a burst in milliseconds. A page with keys of two bursts stores most of each key, so
/// a slow load must not have one burst per page.
const BURST_MS: u128 = 1000;

/// The next UUID: one higher, skipping version and variant bits.
#[inline]
fn following(uuid: u128) -> u128 {
    const LOW: u128 = (1 << 62) - 1;
    const FRACTION: u128 = 0xFFF;
    if uuid & LOW != LOW && uuid >> 76 & 0xF == 7 && uuid >> 62 & 3 == 2 {
        return uuid + 1;
    }
    let payload = (uuid >> 80) << 74 | ((uuid >> 64) & FRACTION) << 62 | (uuid & LOW);
    let payload = (payload + 1) & ((1 << 122) - 1);
    (payload >> 74) << 80 | 7 << 76 | ((payload >> 62) & FRACTION) << 64 | 1 << 63 | (payload & LOW)
}

#[cfg(test)]
mod tests {
    use super::{BURST_MS, NewKeys, following};
    use crate::context::Context;

    #[test]
    fn keys_of_a_burst_differ_at_the_end_only() {
        let context = Context::detached();
        let mut keys = NewKeys::after(0, &context);
        let (first, second) = (keys.next(&context), keys.next(&context));
        assert_eq!((first >> 76 & 0xF, second - first), (7, 1), "{first:032x} {second:032x}");
        let later = NewKeys::after(first - (BURST_MS << 80), &context).next(&context);
        assert!(later >> 80 >= first >> 80, "{later:032x} has its own time, {first:032x} its");
    }

    #[test]
    fn the_next_uuid_is_greater_and_of_version_seven() {
        let mut uuid: u128 = 0x018f_0000_0000_7fff_bfff_ffff_ffff_ffff;
        for _ in 0..10 {
            let next = following(uuid);
            assert!(next > uuid, "{next:032x} follows {uuid:032x}");
            assert_eq!((next >> 76) & 0xF, 7, "{next:032x}");
            assert_eq!((next >> 62) & 0b11, 0b10, "{next:032x}");
            uuid = next;
        }
    }
}
