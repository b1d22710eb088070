//! The delta: entries newer than every run, small enough to read at each open.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use hashbrown::HashTable;

use super::entry::Entry;

/// So many lookups walk the list before a table over it pays for itself.
const WALKS: u32 = 8;

/// With so many entries a batch is large, and not yet so large that memory matters.
const LARGE_STEPS: std::ops::Range<usize> = 1_024..65_536;

/// Entries in the order they were made, with a table over them once it is worth it.
#[derive(Debug, Default)]
pub(crate) struct Delta {
    entries: Vec<Entry>,
    /// Offsets of lines that became dead since the newest run, in no order.
    pub(crate) skips: Vec<u64>,
    /// Sums of the data blocks completed since the newest run.
    pub(crate) blocks: Vec<u64>,
    /// Positions in `entries`, found by hash; an entry's newest position only.
    table: OnceLock<HashTable<u32>>,
    walks: AtomicU32,
}

impl Delta {
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(crate) fn into_entries(self) -> Vec<Entry> {
        self.entries
    }

    /// Moves the entries from `offset` on back by `distance` bytes.
    pub(crate) fn move_by(&mut self, offset: u64, distance: u64) {
        for entry in self.entries.iter_mut().filter(|entry| entry.offset() >= offset) {
            *entry = entry.moved_by(distance);
        }
    }

    pub(crate) fn push(&mut self, entry: Entry) {
        let position = self.entries.len() as u32;
        if self.entries.len() == self.entries.capacity() {
            self.grow();
        }
        self.entries.push(entry);
        if let Some(table) = self.table.get_mut() {
            insert(table, &self.entries, position);
        }
    }

    /// Makes room for more entries, in a few large steps: each copies what is there, and
    /// touches memory that nobody has used yet.
    #[cold]
    fn grow(&mut self) {
        let count = self.entries.len();
        self.entries.reserve(if LARGE_STEPS.contains(&count) { 3 * count } else { count });
    }

    /// Calls `visit` with the entries of this hash, newest first, until it answers `Some`.
    pub(crate) fn find<T>(
        &self,
        hash: u64,
        mut visit: impl FnMut(Entry) -> Option<T>,
    ) -> Option<T> {
        if self.entries.is_empty() {
            return None;
        }
        let newest = match self.table.get() {
            Some(table) => newest_position(table, &self.entries, hash)?,
            None if self.entries.len() > 64
                && self.walks.fetch_add(1, Ordering::Relaxed) >= WALKS =>
            {
                newest_position(
                    self.table.get_or_init(|| build(&self.entries)),
                    &self.entries,
                    hash,
                )?
            }
            None => self.entries.len() as u32 - 1,
        };
        let candidates = self.entries[..=newest as usize].iter().rev();
        for entry in candidates {
            if entry.hash == hash
                && let Some(found) = visit(*entry)
            {
                return Some(found);
            }
        }
        None
    }
}

fn build(entries: &[Entry]) -> HashTable<u32> {
    let mut table = HashTable::with_capacity(entries.len());
    for position in 0..entries.len() as u32 {
        insert(&mut table, entries, position);
    }
    table
}

fn insert(table: &mut HashTable<u32>, entries: &[Entry], position: u32) {
    let hash = entries[position as usize].hash;
    let hash_of = |&at: &u32| entries[at as usize].hash;
    match table.find_mut(hash, |&at| entries[at as usize].hash == hash) {
        Some(newest) => *newest = position,
        None => {
            table.insert_unique(hash, position, hash_of);
        }
    }
}

fn newest_position(table: &HashTable<u32>, entries: &[Entry], hash: u64) -> Option<u32> {
    table.find(hash, |&at| entries[at as usize].hash == hash).copied()
}
