//! Ranges of the data file that other processes read, and what proves that they read the same lines.
//!
//! A range begins and ends between lines. Its checksum covers the sums of its blocks, which the
//! index has, and the offsets of the dead lines in it. So equal checksums mean the same live lines,
//! whatever has changed elsewhere: documents added after the range do not matter, one that is
//! replaced or deleted does. Planning and checking read the index, and at each boundary one block.
//!
//! The index has no count of lines by range. Planning counts them in one pass over its entries.

use std::sync::Arc;

use xxhash_rust::xxh3::Xxh3;

use super::LineStore;
use super::scan::{LineScan, ScanState};
use super::stamp::{ends_line, sum_to};
use super::view::View;
use crate::error::{Error, Result};
use crate::index::{BLOCK_SIZE, Entry, IndexFault, SkipCursor};
use crate::range::DocumentRange;

impl LineStore {
    /// At most `count` ranges of about the same size, which together have all documents.
    pub(crate) fn ranges(&self, count: usize) -> Result<Vec<DocumentRange>> {
        self.ready_for_ranges()?;
        self.repairing(|view| {
            view.index.check_for_scan()?;
            let bounds = bounds(view, count)?;
            let counts = live_counts(view, &bounds)?;
            let mut ranges = Vec::with_capacity(counts.len());
            for (pair, document_count) in bounds.windows(2).zip(counts) {
                let (start, end) = (pair[0], pair[1]);
                if document_count > 0 {
                    let checksum = checksum(view, start, end)?;
                    let checksum = checksum.ok_or(IndexFault::Line { offset: start })?;
                    ranges.push(DocumentRange { start, end, document_count, checksum });
                }
            }
            Ok(ranges)
        })
    }

    /// A range can only be compared with an index that was compared with the file.
    pub(super) fn ready_for_ranges(&self) -> Result<()> {
        self.handle.check_open()?;
        self.append_if_pending()?;
        if self.read_view().is_doubtful { self.verify() } else { Ok(()) }
    }

    /// The error of a range whose lines are not there any more.
    pub(super) fn range_changed(&self) -> Error {
        Error::Changed { collection: self.handle.collection().to_owned() }
    }
}

impl LineScan {
    /// The documents of a range.
    pub(crate) fn range(store: &Arc<LineStore>, range: &DocumentRange) -> Result<Self> {
        store.ready_for_ranges()?;
        let found = store.repairing(|view| {
            view.index.check_for_scan()?;
            if !is_unchanged(view, range)? {
                return Ok(None);
            }
            Ok(Some((ScanState::range(view, range.start, range.end)?, view.version())))
        })?;
        let (state, version) = found.ok_or_else(|| store.range_changed())?;
        Ok(Self::of_range(store, state, version))
    }
}

/// Whether a range still has the lines it had when it was planned.
pub(super) fn is_unchanged(view: &View, range: &DocumentRange) -> Result<bool, IndexFault> {
    Ok(checksum(view, range.start, range.end)? == Some(range.checksum))
}

/// Offsets between lines, the first and the last of the file included, that divide it about evenly.
fn bounds(view: &View, count: usize) -> Result<Vec<u64>, IndexFault> {
    let end = view.index.state.data_end;
    let blocks = end.div_ceil(BLOCK_SIZE);
    let count = (count as u64).clamp(1, blocks.max(1));
    let mut bounds = vec![0];
    for part in 1..count {
        let target = blocks * part / count * BLOCK_SIZE;
        let Some(state) = ScanState::new(view, target, u64::MAX)? else { break };
        let at = state.position();
        if at > bounds[bounds.len() - 1] && at < end {
            bounds.push(at);
        }
    }
    bounds.push(end);
    Ok(bounds)
}

/// The number of live lines between each two neighbouring bounds.
fn live_counts(view: &View, bounds: &[u64]) -> Result<Vec<u64>, IndexFault> {
    let index = &view.index;
    let dead = SkipCursor::new(&index.runs, index.delta.skips.clone(), 0)?;
    let dead = dead.collect::<Result<Vec<u64>, _>>()?;
    let mut counts = vec![0; bounds.len() - 1];
    let mut count = |entry: Entry| {
        if entry != Entry::EMPTY
            && !entry.is_tombstone()
            && dead.binary_search(&entry.offset()).is_err()
        {
            let range = bounds.partition_point(|&bound| bound <= entry.offset());
            if let Some(count) = counts.get_mut(range - 1) {
                *count += 1;
            }
        }
    };
    for run in &index.runs {
        run.check_all()?;
        (0..run.slot_count()).for_each(|slot| count(run.slot(slot)));
    }
    index.delta.entries().iter().for_each(|entry| count(*entry));
    Ok(counts)
}

/// What the live lines between two offsets are; `None` if the offsets are not between lines.
fn checksum(view: &View, start: u64, end: u64) -> Result<Option<u64>, IndexFault> {
    if start > end || end > view.index.state.data_end {
        return Ok(None);
    }
    if !ends_line(view, start)? || !ends_line(view, end)? {
        return Ok(None);
    }
    let mut hasher = Xxh3::new();
    for block in start / BLOCK_SIZE..end / BLOCK_SIZE {
        let Some(sum) = view.index.block(block)? else { return Ok(None) };
        hasher.update(&sum.to_le_bytes());
    }
    let Some(last) = sum_to(view, end)? else { return Ok(None) };
    hasher.update(&last.to_le_bytes());
    for offset in SkipCursor::new(&view.index.runs, view.index.delta.skips.clone(), start)? {
        let offset = offset?;
        if offset >= end {
            break;
        }
        hasher.update(&offset.to_le_bytes());
    }
    Ok(Some(hasher.digest()))
}
