//! The order in which a struct's fields came last time.
//!
//! Records of a file have the same names in the same order, mostly. A struct's names are kept here
//! as the bytes that spelled them, colon included, each with the column it leads to; a reader
//! compares the bytes before it with the name it expects and skips all parsing when they match.
//! On a mismatch it looks at the other names, and only a name never seen is parsed.

/// Names in the order they came.
#[derive(Debug, Default)]
pub(crate) struct FieldOrder {
    slots: Vec<Slot>,
}

#[derive(Debug)]
struct Slot {
    /// The first sixteen bytes of the name, and ones where they are.
    head: u128,
    mask: u128,
    key: Box<[u8]>,
    /// The column, or none if nobody asked for it.
    target: Option<usize>,
}

/// Structs used as maps have no end of names; beyond this many they are parsed.
const MOST_SLOTS: usize = 512;

impl FieldOrder {
    /// If the bytes at `at` spell the name in `slot`: its length and where it leads.
    #[inline(always)]
    pub(crate) fn expect(
        &self,
        slot: usize,
        bytes: &[u8],
        at: usize,
    ) -> Option<(usize, Option<usize>)> {
        let slot = self.slots.get(slot)?;
        let rest = bytes.get(at..)?;
        let matches = match rest.first_chunk::<16>() {
            Some(head) => {
                u128::from_le_bytes(*head) & slot.mask == slot.head
                    && (slot.key.len() <= 16 || rest.starts_with(&slot.key))
            }
            None => rest.starts_with(&slot.key),
        };
        matches.then_some((slot.key.len(), slot.target))
    }

    /// The slot whose name the bytes at `at` spell, looked for from `slot` on and around.
    pub(crate) fn search(&self, slot: usize, bytes: &[u8], at: usize) -> Option<usize> {
        let slot = slot.min(self.slots.len());
        let mut candidates = (slot..self.slots.len()).chain(0..slot);
        candidates.find(|candidate| self.expect(*candidate, bytes, at).is_some())
    }

    /// Remembers the name spelled `key` before `slot`.
    pub(crate) fn insert(&mut self, slot: usize, key: &[u8], target: Option<usize>) {
        // What `$10` means changes with the symbol table.
        if self.slots.len() >= MOST_SLOTS || key.first() == Some(&b'$') {
            return;
        }
        let mut head = [0; 16];
        let length = key.len().min(16);
        head[..length].copy_from_slice(&key[..length]);
        let mask = if length == 16 { !0 } else { (1u128 << (8 * length)) - 1 };
        let slot_at = slot.min(self.slots.len());
        let head = u128::from_le_bytes(head);
        self.slots.insert(slot_at, Slot { head, mask, key: key.into(), target });
    }
}
