//! A set of integers that lie close enough together for a bit each.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use arrow_schema::DataType;

use super::Integers;

/// Maximum distance between the least and the greatest integer: four megabytes of bits.
const SPAN_MAX: u64 = 1 << 25;

/// The keys of one side of a join: rows of the other side with other keys have no partner.
#[derive(Debug)]
pub struct KeySet {
    least: i64,
    bits: BooleanBuffer,
}

impl KeySet {
    /// The values of a column whose type is stored as integers ([`super::is_integer_key`]); `None`
    /// if they lie too far apart.
    #[must_use]
    pub fn new(column: &ArrayRef) -> Option<Self> {
        let keys = Integers::of(column);
        let Some((least, greatest)) = keys.ends() else {
            return Some(Self { least: 0, bits: BooleanBuffer::new_unset(0) });
        };
        let span = greatest.abs_diff(least);
        if span >= SPAN_MAX {
            return None;
        }
        let mut bits = BooleanBufferBuilder::new(span as usize + 1);
        bits.append_n(span as usize + 1, false);
        keys.iter().flatten().for_each(|value| bits.set_bit(value.abs_diff(least) as usize, true));
        Some(Self { least, bits: bits.finish() })
    }

    /// Which values of a column are in the set; nulls are not. `None` for a column of another type.
    #[must_use]
    pub fn passes(&self, column: &ArrayRef) -> Option<BooleanBuffer> {
        let passed = match column.data_type() {
            DataType::Int16 => self.find::<Int16Type>(column),
            DataType::Int32 => self.find::<Int32Type>(column),
            DataType::Int64 => self.find::<Int64Type>(column),
            DataType::Date32 => self.find::<Date32Type>(column),
            DataType::Timestamp(..) => self.find::<TimestampMicrosecondType>(column),
            _ => return None,
        };
        Some(match column.nulls() {
            Some(nulls) => &passed & nulls.inner(),
            None => passed,
        })
    }

    fn find<T: ArrowPrimitiveType<Native: Into<i64>>>(&self, column: &ArrayRef) -> BooleanBuffer {
        let values = column.as_primitive::<T>().values();
        let count = self.bits.len() as u64;
        BooleanBuffer::collect_bool(values.len(), |row| {
            let at = values[row].into().wrapping_sub(self.least) as u64;
            at < count && self.bits.value(at as usize)
        })
    }

    /// Whether a value between these two is in the set.
    #[must_use]
    pub fn has_between(&self, least: i64, greatest: i64) -> bool {
        let last = self.least.saturating_add_unsigned(self.bits.len() as u64).saturating_sub(1);
        let (from, to) = (least.max(self.least), greatest.min(last));
        if self.bits.is_empty() || from > to {
            return false;
        }
        let place = |value: i64| value.abs_diff(self.least) as usize;
        let within = self.bits.slice(place(from), place(to) - place(from) + 1);
        within.set_indices().next().is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::Int64Array;

    use super::*;

    #[test]
    fn a_set_has_the_values_of_its_column() {
        let column = |values: Vec<Option<i64>>| Arc::new(Int64Array::from(values)) as ArrayRef;
        let set = KeySet::new(&column(vec![Some(7), None, Some(-3), Some(100)])).unwrap();
        let tested = column(vec![Some(-4), Some(-3), None, Some(100), Some(101), Some(i64::MIN)]);
        let passed: Vec<bool> = set.passes(&tested).unwrap().iter().collect();
        assert_eq!(passed, [false, true, false, true, false, false]);
        assert!(set.has_between(i64::MIN, -3) && set.has_between(8, i64::MAX));
        assert!(!set.has_between(8, 99) && !set.has_between(101, i64::MAX));
        let nothing = KeySet::new(&column(vec![None])).unwrap();
        assert!(!nothing.has_between(i64::MIN, i64::MAX));
        assert!(nothing.passes(&tested).unwrap().iter().all(|is_in| !is_in));
        assert!(KeySet::new(&column(vec![Some(i64::MIN), Some(i64::MAX)])).is_none());
    }
}
