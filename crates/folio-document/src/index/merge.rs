//! Merges runs of similar size into one, with one sequential pass over each.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use super::entry::Entry;
use super::lookup::{IndexFault, LineSource};
use super::resolve::read_id;
use super::run::{Run, RunContent, RunSink};
use super::skips::SkipCursor;

/// A run is merged with the newer runs unless it has this many times their entries. A greater
/// value rewrites fewer bytes but leaves more runs to search.
const RATIO: u64 = 4;

/// How many of the newest runs should become one.
pub(crate) fn runs_to_merge(entry_counts: &[u64]) -> usize {
    let Some((&newest, older)) = entry_counts.split_last() else { return 0 };
    let mut total = newest;
    let mut taken = 1;
    for &count in older.iter().rev() {
        if count >= RATIO * total {
            break;
        }
        total += count;
        taken += 1;
    }
    taken
}

/// Merges neighbouring runs, oldest first. With `bottom` no older run lies below, so tombstones are
/// no longer needed and are dropped.
///
/// # Errors
/// A fault of one of the runs, or the system's error.
pub(crate) fn merge_runs(
    runs: &[Arc<Run>],
    bottom: bool,
    lines: &impl LineSource,
    sink: &RunSink,
    number: u64,
) -> Result<Run, IndexFault> {
    for run in runs {
        run.check_all()?; // a damaged page must not spread
    }
    let first_block = runs.first().map_or(0, |run| run.first_block());
    let blocks = runs.iter().flat_map(|run| (0..run.block_count()).map(|index| run.block(index)));
    RunContent {
        entry_limit: runs.iter().map(|run| run.entry_count()).sum(),
        entries: Merge::new(runs, bottom, lines),
        skips: SkipCursor::new(runs, Vec::new(), 0)?,
        first_block,
        blocks,
        data_end: runs.last().map_or(0, |run| run.data_end()),
    }
    .write(sink, number)
}

/// Yields the entries of several runs by hash, only the newest of each id.
struct Merge<'a, L> {
    runs: &'a [Arc<Run>],
    /// The next entry of each run: hash, age of the run, slot.
    heads: BinaryHeap<Reverse<(u64, usize, u64)>>,
    bottom: bool,
    lines: &'a L,
    /// Entries of the current hash that are not yet yielded.
    ready: Vec<Entry>,
}

impl<'a, L: LineSource> Merge<'a, L> {
    fn new(runs: &'a [Arc<Run>], bottom: bool, lines: &'a L) -> Self {
        let mut merge = Self { runs, heads: BinaryHeap::new(), bottom, lines, ready: Vec::new() };
        for age in 0..runs.len() {
            merge.push_head(age, 0);
        }
        merge
    }

    /// Queues the first entry at or after `slot` of the run that is `age`-th newest.
    fn push_head(&mut self, age: usize, mut slot: u64) {
        let run = &self.runs[self.runs.len() - 1 - age];
        while slot < run.slot_count() {
            let entry = run.slot(slot);
            if entry != Entry::EMPTY {
                self.heads.push(Reverse((entry.hash, age, slot)));
                return;
            }
            slot += 1;
        }
    }

    /// Takes all entries of the smallest hash, newest first.
    fn take_group(&mut self) -> Vec<Entry> {
        let mut group = Vec::new();
        let Some(&Reverse((hash, ..))) = self.heads.peek() else { return group };
        while let Some(&Reverse((next, age, slot))) = self.heads.peek() {
            if next != hash {
                break;
            }
            self.heads.pop();
            group.push(self.runs[self.runs.len() - 1 - age].slot(slot));
            self.push_head(age, slot + 1);
        }
        group
    }

    /// The newest entry of each id. Ids are compared only if a collision was noted.
    fn newest_of_each(&self, group: Vec<Entry>) -> Result<Vec<Entry>, IndexFault> {
        if !group.iter().any(|entry| entry.is_collided()) {
            return Ok(group.into_iter().take(1).collect());
        }
        let mut text = Vec::new();
        let mut seen: Vec<String> = Vec::new();
        let mut newest = Vec::new();
        for entry in group {
            let id = read_id(entry, self.lines, &mut text)?;
            if !seen.contains(&id) {
                seen.push(id);
                newest.push(entry);
            }
        }
        Ok(newest)
    }
}

impl<L: LineSource> Iterator for Merge<'_, L> {
    type Item = Result<Entry, IndexFault>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(entry) = self.ready.pop() {
                return Some(Ok(entry));
            }
            let group = self.take_group();
            if group.is_empty() {
                return None;
            }
            match self.newest_of_each(group) {
                Ok(newest) => self.ready = newest,
                Err(fault) => return Some(Err(fault)),
            }
            if self.bottom {
                self.ready.retain(|entry| !entry.is_tombstone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::runs_to_merge;

    #[test]
    fn sizes_stay_geometric() {
        assert_eq!(runs_to_merge(&[]), 0);
        assert_eq!(runs_to_merge(&[100]), 1);
        assert_eq!(runs_to_merge(&[400, 100]), 1);
        assert_eq!(runs_to_merge(&[399, 100]), 2);
        assert_eq!(runs_to_merge(&[1000, 100, 100]), 2);
        assert_eq!(runs_to_merge(&[700, 100, 100]), 3);
    }
}
