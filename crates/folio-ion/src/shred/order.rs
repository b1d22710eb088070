//! The order in which a struct's fields came last time.
//!
//! Records of a file have the same names in the same order, mostly. A struct's names are kept here
//! as the bytes that spelled them, colon included, each with the column it leads to; a reader
//! compares the bytes before it with the name it expects and skips all parsing when they match. A
//! space before the name or behind the colon may be among the bytes: most writers of JSON put some.
//! On a mismatch it looks at the other names, and only a name never seen is parsed.

use std::collections::HashSet;

/// Names in the order they came.
#[derive(Debug, Default)]
pub(crate) struct FieldOrder {
    slots: Vec<Slot>,
    /// How many slots from the first on lead to columns no two of which are the same; without those
    /// at the end that lead to none.
    run: usize,
}

/// A name.
#[derive(Debug)]
pub(crate) struct Slot {
    /// The first sixteen bytes of the name in two halves, and ones where they are.
    head: [u64; 2],
    mask: [u64; 2],
    key: Box<[u8]>,
    /// The column, or none if nobody asked for it.
    target: Option<u32>,
    /// The bit of the column, if it is one of the first 64.
    bit: u64,
}

/// Structs used as maps have no end of names; beyond this many they are parsed.
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

    /// If the bytes at `at` spell this name: where they end.
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

    /// The column, or none if nobody asked for it.
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
    /// The names from `slot` on that lead to columns of their own.
    #[inline(always)]
    pub(crate) fn run(&self, slot: usize) -> &[Slot] {
        self.slots.get(slot..self.run).unwrap_or_default()
    }

    /// Whether [`FieldOrder::run`] may begin behind `slot`.
    pub(crate) fn is_in_run(&self, slot: usize) -> bool {
        slot < self.run
    }

    /// If the bytes at `at` spell the name in `slot`: where they end, and where it leads.
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

    /// The slot whose name the bytes at `at` spell, looked for from `slot` on and around.
    pub(crate) fn search(&self, slot: usize, bytes: &[u8], at: usize) -> Option<usize> {
        let slot = slot.min(self.slots.len());
        let mut candidates = (slot..self.slots.len()).chain(0..slot);
        candidates.find(|candidate| self.expect(*candidate, bytes, at).is_some())
    }

    /// Remembers the name spelled `key` before `slot`.
    pub(crate) fn insert(&mut self, slot: usize, key: &[u8], target: Option<usize>) {
        // What `$10` means changes with the symbol table.
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
