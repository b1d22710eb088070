//! The order of a struct's fields in the last record.
//!
//! Records of a file usually have the same names in the same order. A struct's names are stored
//! here as their bytes in the text, colon included, each with its column. A reader compares the
//! next bytes with the expected name, and skips all parsing if they match. The bytes may include a
//! space before the name or after the colon, as most JSON writers have some. On a mismatch the
//! reader tries the other names, and parses only a name never seen.

use std::collections::HashSet;

/// Names in the order of their occurrence.
#[derive(Debug, Default)]
pub(crate) struct FieldOrder {
    slots: Vec<Slot>,
    /// How many slots from the first on belong to distinct columns, not counting slots without a
    /// column at the end.
    run: usize,
}

/// A name.
#[derive(Debug)]
pub(crate) struct Slot {
    /// The first sixteen bytes of the name in two halves, and masks of the bytes that count.
    head: [u64; 2],
    mask: [u64; 2],
    key: Box<[u8]>,
    /// The column; `None` if the field is not wanted.
    target: Option<u32>,
    /// The bit of the column, if it is one of the first 64.
    bit: u64,
}

/// Structs used as maps have unlimited names. Names beyond this number are parsed.
const MOST_SLOTS: usize = 512;

impl Slot {
    fn new(key: &[u8], target: Option<usize>) -> Slot {
        let (mut head, mut mask) = ([0; 16], [0; 16]);
        for (at, byte) in key.iter().enumerate().take(16) {
            (head[at], mask[at]) = (*byte, u8::MAX);
        }
        let target = target.and_then(|target| u32::try_from(target).ok());
        let bit = target.and_then(|target| 1u64.checked_shl(target)).unwrap_or(0);
        Slot { head: halves(&head), mask: halves(&mask), key: key.into(), target, bit }
    }

    /// If the bytes at `at` are this name, returns its end.
    #[inline(always)]
    pub(crate) fn end(&self, bytes: &[u8], at: usize) -> Option<usize> {
        let rest = bytes.get(at..)?;
        let matches = match rest.first_chunk::<16>() {
            Some(head) => {
                let [low, high] = halves(head);
                let low = low & self.mask[0] ^ self.head[0];
                let high = high & self.mask[1] ^ self.head[1];
                low | high == 0 && (self.key.len() <= 16 || rest.starts_with(&self.key))
            }
            None => rest.starts_with(&self.key),
        };
        matches.then_some(at + self.key.len())
    }

    /// The bit of the column, if it is one of the first 64.
    #[inline(always)]
    pub(crate) fn bit(&self) -> u64 {
        self.bit
    }

    /// The column; `None` if the field is not wanted.
    #[inline(always)]
    pub(crate) fn target(&self) -> Option<usize> {
        self.target.map(|target| target as usize)
    }
}

#[inline(always)]
fn halves(bytes: &[u8; 16]) -> [u64; 2] {
    let whole = u128::from_le_bytes(*bytes);
    [whole as u64, (whole >> 64) as u64]
}

impl FieldOrder {
    /// The names from `slot` on that belong to distinct columns.
    #[inline(always)]
    pub(crate) fn run(&self, slot: usize) -> &[Slot] {
        self.slots.get(slot..self.run).unwrap_or_default()
    }

    /// Whether [`FieldOrder::run`] may begin after `slot`.
    pub(crate) fn is_in_run(&self, slot: usize) -> bool {
        slot < self.run
    }

    /// If the bytes at `at` are the name in `slot`, returns its end and its column.
    #[inline(always)]
    pub(crate) fn expect(
        &self,
        slot: usize,
        bytes: &[u8],
        at: usize,
    ) -> Option<(usize, Option<usize>)> {
        let slot = self.slots.get(slot)?;
        Some((slot.end(bytes, at)?, slot.target()))
    }

    /// The slot of the name at `at`, searched from `slot` on with wrap-around.
    pub(crate) fn search(&self, slot: usize, bytes: &[u8], at: usize) -> Option<usize> {
        let slot = slot.min(self.slots.len());
        let mut candidates = (slot..self.slots.len()).chain(0..slot);
        candidates.find(|candidate| self.expect(*candidate, bytes, at).is_some())
    }

    /// Inserts the name with the bytes `key` before `slot`.
    pub(crate) fn insert(&mut self, slot: usize, key: &[u8], target: Option<usize>) {
        // The meaning of `$10` changes with the symbol table.
        if self.slots.len() >= MOST_SLOTS || key.trim_ascii_start().first() == Some(&b'$') {
            return;
        }
        let slot = slot.min(self.slots.len());
        self.slots.insert(slot, Slot::new(key, target));
        let mut columns = HashSet::new();
        let targets = self.slots.iter().map(|slot| slot.target);
        let distinct = targets.take_while(|target| target.is_none_or(|at| columns.insert(at)));
        let last = distinct.enumerate().filter(|(_, target)| target.is_some()).last();
        self.run = last.map_or(0, |(at, _)| at + 1);
    }
}
