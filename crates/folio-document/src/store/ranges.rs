//! Ranges of the data file that other processes read, and what proves that they read the same lines.
//!
//! A range begins and ends between lines. Its checksum covers the sums of its blocks, which the
//! index has, and the offsets of the dead lines in it. So equal checksums mean the same live lines,
//! whatever has changed elsewhere: documents added after the range do not matter, one that is
//! replaced or deleted does. Planning and checking read the index, and at each boundary one block.
//!
//! Ranges between two positions are for programs that read what was added. Their documents may be
//! replaced meanwhile: the new versions are in later ranges. So only the sums of the blocks are in
//! their checksums, and the lines that are dead when a range is read are left out.
//!
//! The index has no count of lines by range. Planning counts them in one pass over its entries, or
//! in the lines, if those are less to read.

use std::ops::Range;
use std::sync::Arc;

use xxhash_rust::xxh3::Xxh3;

use super::LineStore;
use super::scan::{LineScan, ScanState};
use super::stamp::{ends_line, stamp_at, sum_to};
use super::view::View;
use crate::error::{Error, Result};
use crate::index::{BLOCK_SIZE, ENTRY_SIZE, Entry, IndexFault, SkipCursor, block_sum};
use crate::range::{DocumentRange, Position};
use crate::version::Stamp;

impl LineStore {
    /// At most `count` ranges of about the same size, which together have all documents.
    pub(crate) fn ranges(&self, count: usize) -> Result<Vec<DocumentRange>> {
        self.ready_for_ranges()?;
        self.repairing(|view| plan(view, 0..view.index.state.data_end, count, false))
    }

    /// Where the lines end now.
    pub(crate) fn position(&self) -> Result<Position> {
        self.ready_for_ranges()?;
        self.repairing(|view| {
            let end = view.index.state.data_end;
            position_at(view, end)?.ok_or(IndexFault::Line { offset: end })
        })
    }

    /// At most `count` ranges of about the same size, which together have all documents whose lines
    /// were put between two positions.
    pub(crate) fn ranges_between(
        &self,
        since: Option<&Position>,
        until: Option<&Position>,
        count: usize,
    ) -> Result<Vec<DocumentRange>> {
        self.ready_for_ranges()?;
        let found = self.repairing(|view| {
            for position in [since, until].into_iter().flatten() {
                if !is_in_place(view, position)? {
                    return Ok(Err(position.size));
                }
            }
            let start = since.map_or(0, |position| position.size);
            let end = until.map_or(view.index.state.data_end, |position| position.size);
            plan(view, start..end, count, true).map(Ok)
        })?;
        if let (Ok(_), Some(since), Some(until)) = (&found, since, until)
            && until.size < since.size
        {
            return Err(Error::Invalid(format!(
                "the position at byte {} comes after the one at byte {}; exchange them",
                since.size, until.size
            )));
        }
        found.map_err(|size| Error::Moved { collection: self.handle.collection().to_owned(), size })
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
    let found = checksum(view, range.start..range.end, range.omits_replaced)?;
    Ok(found == Some(range.checksum))
}

/// Whether the file still begins with the lines that it had up to a position.
fn is_in_place(view: &View, position: &Position) -> Result<bool, IndexFault> {
    Ok(position_at(view, position.size)? == Some(*position)
        && (position.size == 0 || ends_line(view, position.size)?))
}

fn position_at(view: &View, offset: u64) -> Result<Option<Position>, IndexFault> {
    if offset == 0 {
        // Also where there is no file yet.
        let nothing = block_sum(&[]);
        return Ok(Some(Position { size: 0, blocks_sum: nothing, tail_sum: nothing }));
    }
    let stamp = stamp_at(view, offset, 0)?;
    Ok(stamp.map(|Stamp { size, blocks_sum, tail_sum, .. }| Position {
        size,
        blocks_sum,
        tail_sum,
    }))
}

/// The ranges of some lines that have documents.
fn plan(
    view: &View,
    lines: Range<u64>,
    count: usize,
    omits_replaced: bool,
) -> Result<Vec<DocumentRange>, IndexFault> {
    if lines.is_empty() {
        return Ok(Vec::new());
    }
    view.index.check_for_scan()?;
    let entries: u64 = view.index.runs.iter().map(|run| run.slot_count()).sum();
    let bounds = bounds(view, lines.clone(), count)?;
    let counts = if lines.end - lines.start < entries * ENTRY_SIZE as u64 {
        counts_by_lines(view, &bounds)?
    } else {
        counts_by_entries(view, &bounds)?
    };
    let mut ranges = Vec::with_capacity(counts.len());
    for (pair, document_count) in bounds.windows(2).zip(counts) {
        let (start, end) = (pair[0], pair[1]);
        if document_count > 0 {
            let checksum = checksum(view, start..end, omits_replaced)?;
            let checksum = checksum.ok_or(IndexFault::Line { offset: start })?;
            ranges.push(DocumentRange { start, end, document_count, checksum, omits_replaced });
        }
    }
    Ok(ranges)
}

/// Offsets between lines, both ends included, that divide the lines about evenly.
fn bounds(view: &View, lines: Range<u64>, count: usize) -> Result<Vec<u64>, IndexFault> {
    let Range { start, end } = lines;
    let first = start / BLOCK_SIZE;
    let blocks = end.div_ceil(BLOCK_SIZE) - first;
    let count = (count as u64).clamp(1, blocks.max(1));
    let mut bounds = vec![start];
    for part in 1..count {
        let target = (first + blocks * part / count) * BLOCK_SIZE;
        let Some(state) = ScanState::new(view, target, u64::MAX)? else { break };
        let at = state.position();
        if at > bounds[bounds.len() - 1] && at < end {
            bounds.push(at);
        }
    }
    bounds.push(end);
    Ok(bounds)
}

/// The number of live lines between each two neighbouring bounds, of the lines themselves.
fn counts_by_lines(view: &View, bounds: &[u64]) -> Result<Vec<u64>, IndexFault> {
    let mut counts = Vec::with_capacity(bounds.len() - 1);
    for pair in bounds.windows(2) {
        let mut count = 0;
        if let Some(mut lines) = ScanState::range(view, pair[0], pair[1])? {
            while lines.next_located()?.is_some() {
                count += 1;
            }
        }
        counts.push(count);
    }
    Ok(counts)
}

/// The same from the entries of the index.
fn counts_by_entries(view: &View, bounds: &[u64]) -> Result<Vec<u64>, IndexFault> {
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
            if let Some(count) = range.checked_sub(1).and_then(|range| counts.get_mut(range)) {
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

/// What some lines are, and unless `omits_replaced` which of them are dead; `None` if they do not begin
/// and end between lines.
fn checksum(
    view: &View,
    lines: Range<u64>,
    omits_replaced: bool,
) -> Result<Option<u64>, IndexFault> {
    let Range { start, end } = lines;
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
    if omits_replaced {
        return Ok(Some(hasher.digest()));
    }
    for offset in SkipCursor::new(&view.index.runs, view.index.delta.skips.clone(), start)? {
        let offset = offset?;
        if offset >= end {
            break;
        }
        hasher.update(&offset.to_le_bytes());
    }
    Ok(Some(hasher.digest()))
}
