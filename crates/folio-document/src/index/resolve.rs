//! Turns lines in file order into index entries: one entry per id, for its last line, and the
//! offsets of all lines that are then dead.

use rayon::slice::ParallelSliceMut;

use super::entry::Entry;
use super::lookup::{Index, IndexFault, LineSource};
use crate::line::{self, Line};
use crate::report::BatchCounts;

/// From this many entries on, sorting with several threads pays off.
const PARALLEL_SORT: usize = 50_000;

/// Up to this many sorted ranges are merged instead of sorted again.
const STRETCHES_MAX: usize = 32;

/// The effect of new lines on the index.
#[derive(Debug, Default)]
pub(crate) struct Resolved {
    /// Sorted by hash, one entry per id.
    pub(crate) entries: Vec<Entry>,
    /// Offsets of lines that are now dead, unordered.
    pub(crate) skips: Vec<u64>,
    pub(crate) counts: BatchCounts,
    /// Bytes of live lines that became dead, line ends included.
    pub(crate) dead_size: u64,
}

/// Resolves new lines (documents and tombstones in file order) against an older index. `lines` must
/// be able to read both new and old lines.
///
/// # Errors
/// A fault of the older index.
pub(crate) fn resolve(
    mut new: Vec<Entry>,
    older: &Index,
    lines: &impl LineSource,
) -> Result<Resolved, IndexFault> {
    sort_by_hash(&mut new);
    let older_is_empty = older.runs.is_empty() && older.delta.len() == 0;
    let mut resolver =
        Resolver { older, older_is_empty, lines, out: Resolved::default(), text: Vec::new() };
    let mut start = 0;
    // Entries are moved to the front of the same vector: almost all remain.
    let mut kept = 0;
    while start < new.len() {
        let hash = new[start].hash;
        let mut end = start + 1;
        while end < new.len() && new[end].hash == hash {
            end += 1;
        }
        let is_alone = end - start == 1 && !new[start].is_tombstone();
        if is_alone && (older_is_empty || !older.has_hash(hash)?) {
            new[kept] = new[start];
            kept += 1;
            resolver.out.counts.inserted += 1;
        } else {
            let group = resolver.group(&new[start..end])?;
            for entry in group {
                new[kept] = entry;
                kept += 1;
            }
        }
        start = end;
    }
    new.truncate(kept);
    resolver.out.entries = new;
    Ok(resolver.out)
}

/// Sorts by hash, then by offset.
fn sort_by_hash(entries: &mut [Entry]) {
    let is_end = |pair: &&[Entry]| pair[0].order() > pair[1].order();
    if entries.windows(2).filter(is_end).nth(STRETCHES_MAX).is_none() {
        entries.sort_by_key(Entry::order); // merges ranges that are already sorted
    } else if entries.len() >= PARALLEL_SORT {
        entries.par_sort_unstable_by_key(Entry::order);
    } else {
        entries.sort_unstable_by_key(Entry::order);
    }
}

struct Resolver<'a, L> {
    older: &'a Index,
    older_is_empty: bool,
    lines: &'a L,
    out: Resolved,
    text: Vec<u8>,
}

impl<L: LineSource> Resolver<'_, L> {
    /// Resolves the new lines of one hash, which nearly always belong to one id. Returns at most as
    /// many entries as it receives.
    fn group(&mut self, group: &[Entry]) -> Result<Vec<Entry>, IndexFault> {
        let mut last_of: Vec<(String, Entry)> = Vec::new();
        for &entry in group {
            if entry.is_tombstone() {
                self.out.skips.push(entry.offset());
            }
            let id = self.id_of(entry)?;
            match last_of.iter_mut().find(|(known, _)| *known == id) {
                None => last_of.push((id, entry)),
                Some((_, last)) => {
                    if !last.is_tombstone() {
                        self.out.skips.push(last.offset());
                        // Superseded inside the batch: an insert, then a replacement.
                    }
                    *last = entry;
                }
            }
        }
        let several = last_of.len() > 1;
        let mut kept = Vec::with_capacity(last_of.len());
        for (id, entry) in last_of {
            kept.extend(self.supersede(&id, entry, several)?);
        }
        Ok(kept)
    }

    /// Marks the older line of the id dead; `None` for a tombstone that deletes nothing.
    fn supersede(
        &mut self,
        id: &str,
        entry: Entry,
        several: bool,
    ) -> Result<Option<Entry>, IndexFault> {
        let found = if self.older_is_empty {
            None
        } else {
            Some(self.older.find(id, entry.hash, self.lines, &mut self.text)?)
        };
        let older = found.and_then(|found| found.document());
        if let Some(dead) = older {
            self.out.skips.push(dead.offset());
            self.out.dead_size += u64::from(dead.size()) + 1;
        }
        match (entry.is_tombstone(), older.is_some()) {
            (true, true) => self.out.counts.deleted += 1,
            (true, false) => return Ok(None),
            (false, true) => self.out.counts.replaced += 1,
            (false, false) => self.out.counts.inserted += 1,
        }
        let inherited = found
            .is_some_and(|found| found.collided || found.entry.is_some_and(Entry::is_collided));
        Ok(Some(entry.with_collided(several || inherited)))
    }

    fn id_of(&mut self, entry: Entry) -> Result<String, IndexFault> {
        read_id(entry, self.lines, &mut self.text)
    }
}

/// The id of the line an entry points to, read from the line.
pub(crate) fn read_id(
    entry: Entry,
    lines: &impl LineSource,
    text: &mut Vec<u8>,
) -> Result<String, IndexFault> {
    lines.read(entry, text)?;
    match line::examine(text) {
        Ok(Line::Document { id, .. }) if !entry.is_tombstone() => Ok(id.into_owned()),
        Ok(Line::Tombstone(id)) if entry.is_tombstone() => Ok(id.to_owned()),
        _ => Err(IndexFault::Line { offset: entry.offset() }),
    }
}
