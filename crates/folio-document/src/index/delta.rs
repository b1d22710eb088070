//! The delta: entries newer than every run, small enough to read at each open.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use hashbrown::HashTable;

use super::entry::Entry;

/// How many lookups walk the list before building a table pays off.
const WALKS: u32 = 8;

/// Entry counts at which a batch is large, but not so large that memory matters.
const LARGE_STEPS: std::ops::Range<usize> = 1_024..65_536;

/// How many entries are worth sorting ahead.
const STRETCH: usize = 4_096;

/// Entries in the order in which they were made, with a hash table once it pays off.
#[derive(Debug, Default)]
pub(crate) struct Delta {
    entries: Vec<Entry>,
    /// Ends of the ranges of `entries` that are already sorted.
    sorted: Vec<usize>,
    /// Offsets of lines that became dead since the newest run, unordered.
    pub(crate) skips: Vec<u64>,
    /// Sums of the data blocks completed since the newest run.
    pub(crate) blocks: Vec<u64>,
    /// Positions in `entries` by hash; only the newest position of each entry.
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

    /// The entries, partly ordered by hash if they were sorted ahead.
    pub(crate) fn into_entries(mut self) -> Vec<Entry> {
        if let Some(&start) = self.sorted.last() {
            self.entries[start..].sort_unstable_by_key(Entry::order);
        }
        self.entries
    }

    /// Adds `distance` bytes to the offsets of the entries from `offset` on.
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

    /// Sorts the entries added since the last call, and merges sorted ranges as a binary counter
    /// carries, so that few ranges are left. The entries of an id keep their order, so
    /// [`Delta::find`] is unaffected. Does nothing once there is a table, which holds positions.
    /// Only for the delta of a batch: in the delta of an index, entries already on disk must stay
    /// in front.
    pub(crate) fn sort_ahead(&mut self) {
        let (start, end) = (self.sorted.last().copied().unwrap_or(0), self.entries.len());
        if end - start < STRETCH || self.table.get().is_some() {
            return;
        }
        self.entries[start..].sort_unstable_by_key(Entry::order);
        let mut start = start;
        while let Some(&middle) = self.sorted.last() {
            let before = self.sorted.iter().rev().nth(1).copied().unwrap_or(0);
            if middle - before > end - start {
                break;
            }
            self.entries[before..].sort_by_key(Entry::order); // merges the two
            self.sorted.pop();
            start = before;
        }
        self.sorted.push(end);
    }

    /// Makes room for more entries, in a few large steps: each step copies all entries and touches
    /// unused memory.
    #[cold]
    fn grow(&mut self) {
        let count = self.entries.len();
        self.entries.reserve(if LARGE_STEPS.contains(&count) { 3 * count } else { count });
    }

    /// Calls `visit` with the entries of this hash, newest first, until it returns `Some`.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Hashes that recur at ever greater offsets.
    fn entry(number: u64) -> Entry {
        Entry::document(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 20_000, number, 1, 0)
    }

    fn newest(delta: &Delta, hash: u64) -> Option<u64> {
        delta.find(hash, |entry| Some(entry.offset()))
    }

    #[test]
    fn sorting_ahead_changes_no_answer() {
        let (mut sorted, mut plain) = (Delta::default(), Delta::default());
        for number in 0..50_000 {
            sorted.push(entry(number));
            plain.push(entry(number));
            if number % 700 == 0 {
                sorted.sort_ahead();
            }
        }
        assert!(sorted.sorted.len() < 8, "{:?}", sorted.sorted);
        assert!(sorted.sorted.last().is_some_and(|&end| end > 50_000 - 2 * STRETCH));
        for hash in [0, 1, 7, 19_999, 20_000].into_iter().chain(5_000..5_020) {
            assert_eq!(newest(&sorted, hash), newest(&plain, hash), "{hash}");
        }
        sorted.sort_ahead(); // there is a table now
        sorted.push(Entry::document(7, 60_000, 1, 0));
        assert_eq!(newest(&sorted, 7), Some(60_000));
        let stretches = 1 + sorted.sorted.len();
        let (sorted, mut plain) = (sorted.into_entries(), plain.into_entries());
        let ends = sorted.windows(2).filter(|pair| pair[0].order() > pair[1].order()).count();
        assert!(ends <= stretches, "{ends} of {stretches}");
        plain.push(Entry::document(7, 60_000, 1, 0));
        let in_order = |mut entries: Vec<Entry>| {
            entries.sort_unstable_by_key(Entry::order);
            entries
        };
        assert!(in_order(sorted) == in_order(plain));
    }
}
