//! Keys with the places of their lines, in memory, to be sorted.

use crate::index::Entry;

use super::file::{KEY_SIZE_MAX, Keyed};

/// Keys in one buffer, and an item for each.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    bytes: Vec<u8>,
    items: Vec<Item>,
}

#[derive(Debug, Clone, Copy)]
struct Item {
    /// The first bytes of the key: most comparisons need no more.
    head: u64,
    start: usize,
    size: u16,
    is_cut: bool,
    entry: Entry,
}

impl Collected {
    /// Adds a key, cut to the maximum size. Keys of one line that are the same after that follow each
    /// other, and become one.
    pub(crate) fn push(&mut self, key: &[u8], entry: Entry) {
        let is_cut = key.len() > KEY_SIZE_MAX;
        let key = &key[..key.len().min(KEY_SIZE_MAX)];
        let is_last = |last: &Item| {
            last.entry.offset() == entry.offset() && self::key(&self.bytes, last) == key
        };
        if is_cut && self.items.last().is_some_and(is_last) {
            return;
        }
        let mut head = [0; 8];
        let size = key.len().min(8);
        head[..size].copy_from_slice(&key[..size]);
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        let (head, size) = (u64::from_be_bytes(head), key.len() as u16);
        self.items.push(Item { head, start, size, is_cut, entry });
    }

    /// Sorts by key, then by the place of the line.
    pub(crate) fn sort(&mut self) {
        let bytes = &self.bytes;
        self.items.sort_unstable_by(|one, other| {
            one.head
                .cmp(&other.head)
                .then_with(|| key(bytes, one).cmp(key(bytes, other)))
                .then_with(|| one.entry.offset().cmp(&other.entry.offset()))
        });
    }

    pub(crate) fn get(&self, index: usize) -> Option<Keyed<'_>> {
        let item = self.items.get(index)?;
        Some((key(&self.bytes, item), item.is_cut, item.entry))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Keyed<'_>> + Clone {
        self.items.iter().map(|item| (key(&self.bytes, item), item.is_cut, item.entry))
    }
}

fn key<'b>(bytes: &'b [u8], item: &Item) -> &'b [u8] {
    &bytes[item.start..item.start + usize::from(item.size)]
}
