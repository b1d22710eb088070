//! The history of an id: its line, and those that are superseded and still in the file.
//!
//! The index knows where all dead lines are, not whose. So they are read, the last ones first, until
//! enough are found. Lines are numbered by counting those before them.

use std::sync::Arc;

use super::LineStore;
use super::line_chunk::LineCounter;
use crate::error::{Error, Result};
use crate::index::SkipCursor;
use crate::line::{self, Line, LineReader};
use crate::options::Progress;
use crate::report::{EarlierLine, History};
use crate::segment::Segment;

/// Dead lines that are read between two calls of `progress`.
const STEP: usize = 4_096;

/// How many dead lines are looked at: the last ones.
const LOOKED_AT: u64 = 1 << 20;

/// No further line is looked for once those found have so many bytes.
const SIZE_MAX: usize = 16 << 20;

/// Bytes in which lines are counted between two calls of `progress`.
const COUNTED: u64 = 64 << 20;

/// Dead lines of a file.
struct Dead {
    segment: Arc<Segment>,
    /// Ascending.
    offsets: Vec<u64>,
    /// Whether these are all.
    is_all: bool,
    data_end: u64,
}

/// A line of the id: where it starts, and its text, unless it is a tombstone.
type Found = (u64, Option<String>);

impl LineStore {
    /// The superseded lines of an id, the newest first, at most `limit`; fewer, and not all, once
    /// `progress` answers `false`.
    pub(crate) fn history(
        &self,
        id: &str,
        limit: usize,
        progress: Progress<'_>,
    ) -> Result<History> {
        let Some(dead) = self.dead_lines()? else { return Ok(History::default()) };
        let current = self.offset_of(id)?;
        let (total, mut done) = (dead.offsets.len() as u64, 0);
        let (mut found, mut size, mut is_partial) = (Vec::new(), 0, !dead.is_all);
        let mut steps = dead.offsets.rchunks(STEP);
        while let Some(step) = steps.next() {
            done += step.len() as u64;
            let mut lines = self.lines_of(id, step, &dead)?;
            size += lines.iter().flat_map(|(_, text)| text).map(String::len).sum::<usize>();
            lines.reverse();
            found.append(&mut lines);
            if found.len() > limit || size > SIZE_MAX || !progress(done, total) {
                is_partial |= steps.len() > 0;
                break;
            }
        }
        is_partial |= found.len() > limit;
        found.truncate(limit);
        // The newest line of an id is its last one.
        found.splice(..0, current.map(|offset| (offset, None)));
        let mut lines = self.numbered(&dead.segment, found, progress)?;
        let own = current.map(|_| lines.remove(0));
        Ok(History { line_number: own.map(|line| line.line_number), lines, is_partial })
    }

    /// Where the line of a document is.
    fn offset_of(&self, id: &str) -> Result<Option<u64>> {
        self.repairing(|view| {
            let found = view.find(id, &mut Vec::new())?;
            Ok(found.document().map(|entry| entry.offset()))
        })
    }

    /// `None` without a file.
    fn dead_lines(&self) -> Result<Option<Dead>> {
        self.count()?; // the index may have to be verified
        self.append_if_pending()?;
        self.repairing(|view| {
            let (index, count) = (&view.index, view.index.state.skip_count);
            let Some(segment) = view.segment.as_ref() else { return Ok(None) };
            let skips = SkipCursor::new(&index.runs, index.delta.skips.clone(), 0)?;
            let left_out = count.saturating_sub(LOOKED_AT);
            let offsets = skips.skip(usize::try_from(left_out).unwrap_or(usize::MAX));
            Ok(Some(Dead {
                segment: Arc::clone(segment),
                offsets: offsets.collect::<std::result::Result<_, _>>()?,
                is_all: left_out == 0,
                data_end: index.state.data_end,
            }))
        })
    }

    /// Those of the lines at some offsets that are of the id.
    fn lines_of(&self, id: &str, offsets: &[u64], dead: &Dead) -> Result<Vec<Found>> {
        let mut found = Vec::new();
        let start = offsets.first().copied().unwrap_or(dead.data_end);
        let mut reader = LineReader::new(&*dead.segment.file, start, dead.data_end);
        for &offset in offsets {
            reader.skip_to(offset);
            let raw = reader.next().map_err(Error::io("read", &self.paths.data))?;
            let Some(raw) = raw else { break };
            found.extend(text_of(raw.text, id).map(|text| (offset, text)));
        }
        Ok(found)
    }

    /// The same lines with their numbers, which are found by counting all lines before them.
    fn numbered(
        &self,
        segment: &Segment,
        found: Vec<Found>,
        progress: Progress<'_>,
    ) -> Result<Vec<EarlierLine>> {
        let mut counter = LineCounter::new(&*segment.file);
        let mut lines = Vec::with_capacity(found.len());
        for (offset, text) in found.into_iter().rev() {
            let line_number = loop {
                let end = offset.min(counter.position() + COUNTED);
                let number = counter.number_at(end).map_err(Error::io("read", &self.paths.data))?;
                if end == offset {
                    break number;
                }
                if !progress(end, offset) {
                    return Err(Error::Cancelled);
                }
            };
            lines.push(EarlierLine { line_number, text });
        }
        lines.reverse();
        Ok(lines)
    }
}

/// The text of a line if it is a document of the id, nothing if it is its tombstone.
fn text_of(line: &[u8], id: &str) -> Option<Option<String>> {
    // Nearly all lines of others are told by their first bytes.
    if folio_json::leading_id(line).is_some_and(|own| own != id.as_bytes()) {
        return None;
    }
    match line::examine(line) {
        Ok(Line::Document { id: own, .. }) if own == id => {
            Some(std::str::from_utf8(line).ok().map(str::to_owned))
        }
        Ok(Line::Tombstone(own)) if own == id => Some(None),
        _ => None,
    }
}
