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
//! The sums of the blocks count lines too. So the documents of a range are counted without reading
//! them: its lines, less those that are dead.

use std::ops::Range;
use std::sync::Arc;

use xxhash_rust::xxh3::Xxh3;

use super::LineStore;
use super::scan::{LineScan, ScanState};
use super::stamp::{ends_line, stamp_at, sum_to};
use super::verify::starts_with_line_feed;
use super::view::View;
use crate::error::{Error, Result};
use crate::index::{BLOCK_SIZE, IndexFault, SkipCursor, block_sum, line_feeds};
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
                "the position `until` (at byte {}) is before `since` (at byte {}); exchange them",
                until.size, since.size
            )));
        }
        found.map_err(|size| Error::Moved { collection: self.handle.collection().to_owned(), size })
    }

    /// A range can only be compared with an index that was compared with the file.
    pub(super) fn ready_for_ranges(&self) -> Result<()> {
        self.handle.check_open()?;
        self.append_if_pending()?;
        self.verify()
    }

    /// A scan that meets a change after its first line fails, so that the index of a grown file is
    /// compared with all of it before. One on another machine is not read twice for that.
    pub(super) fn ready_to_read_many(&self) -> Result<()> {
        self.handle.check_open()?;
        self.append_if_pending()?;
        let is_remote = self.read_view().segment.as_deref().is_some_and(|own| own.is_remote);
        if is_remote { Ok(()) } else { self.verify() }
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
    let found = content(view, range.start..range.end, range.omits_replaced)?;
    Ok(found.is_some_and(|content| content.checksum == range.checksum))
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
    let bounds = bounds(view, lines, count)?;
    let mut ranges = Vec::with_capacity(bounds.len() - 1);
    for pair in bounds.windows(2) {
        let (start, end) = (pair[0], pair[1]);
        let content = content(view, start..end, omits_replaced)?;
        let content = content.ok_or(IndexFault::Line { offset: start })?;
        if content.document_count > 0 {
            let Content { checksum, document_count } = content;
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

/// What some lines are.
struct Content {
    /// Covers the lines, and unless replaced ones are omitted which of them are dead.
    checksum: u64,
    /// Those of them that live.
    document_count: u64,
}

/// `None` if the lines do not begin and end between lines, or were edited since they were indexed.
fn content(
    view: &View,
    lines: Range<u64>,
    omits_replaced: bool,
) -> Result<Option<Content>, IndexFault> {
    let Range { start, end } = lines;
    if start > end || end > view.index.state.data_end {
        return Ok(None);
    }
    let (Some(first), Some(last)) = (bound(view, start)?, bound(view, end)?) else {
        return Ok(None);
    };
    let (mut hasher, mut line_feeds) = (Xxh3::new(), 0);
    let blocks = start / BLOCK_SIZE..end / BLOCK_SIZE;
    let are_known = view.index.visit_blocks(blocks, |bytes| {
        hasher.update(bytes);
        line_feeds += bytes.chunks_exact(8).map(line_feeds_in).sum::<u64>();
    })?;
    if !are_known {
        return Ok(None);
    }
    hasher.update(&last.sum.to_le_bytes());
    let skips = view.index.delta.skips.clone();
    let mut dead_count = 0;
    for offset in SkipCursor::new(&view.index.runs, skips, first.next_line)? {
        let offset = offset?;
        if offset >= last.next_line {
            break;
        }
        dead_count += 1;
        if !omits_replaced {
            hasher.update(&offset.to_le_bytes());
        }
    }
    let line_count = (line_feeds + last.line_count).saturating_sub(first.line_count);
    let document_count = line_count.saturating_sub(dead_count);
    Ok(Some(Content { checksum: hasher.digest(), document_count }))
}

/// A place between lines.
struct Bound {
    /// The sum of the bytes before it in its block.
    sum: u64,
    /// The lines that end in these bytes. One that has no line feed, or has it next, counts.
    line_count: u64,
    /// Where the next line begins. A file of only a byte-order mark is a line that ends where it
    /// begins.
    next_line: u64,
}

/// `None` if no line ends at the offset, or its block was edited since it was indexed.
fn bound(view: &View, offset: u64) -> Result<Option<Bound>, IndexFault> {
    let Some(segment) = &view.segment else { return Ok(None) };
    let Some(sum) = sum_to(view, offset)? else { return Ok(None) };
    let mut before = [b'\n'];
    if offset > 0 {
        segment.file.read_at(&mut before, offset - 1)?;
    }
    let is_ended = before == *b"\n";
    if !is_ended && !starts_with_line_feed(segment, offset)? {
        return Ok(None);
    }
    let missing_end = u64::from(!is_ended);
    let (line_count, next_line) = (line_feeds(sum) + missing_end, offset + missing_end);
    Ok(Some(Bound { sum, line_count, next_line }))
}

fn line_feeds_in(sum: &[u8]) -> u64 {
    line_feeds(u64::from_le_bytes(sum.try_into().expect("eight bytes")))
}
