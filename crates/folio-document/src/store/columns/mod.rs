//! The columns indexes of a collection: which parts there are, which of them fit the data, and what
//! a scan reads instead of the others.
//!
//! ```text
//! mod        which parts are proven; the pieces of a scan
//! known      definitions, and the parts that are open
//! build      what is missing; drafts of parts, and their files
//! ```
//!
//! A part is a copy of the lines of a range that were live when it was built. It is used if
//!
//! - its range has the bytes that it had then, which the block sums of the index and the ends of the
//!   range show, and still begins a line, and
//! - every line that it has no row for is dead now. An edit elsewhere may have brought one back.
//!
//! Rows of lines that died since are masked. What no part covers is read from the lines, so an
//! answer never depends on what there is of an index. The bytes of parts are made and read by the
//! caller: this module does not know their format.

mod build;
pub(super) mod known;

use std::io;
use std::ops::Range;
use std::sync::Arc;

pub use build::{PART_SIZE, PartDraft, PartPlan};
use known::{ColumnIndex, Known, LivePart};
use xxhash_rust::xxh3::xxh3_64;

use super::publish::fault_error;
use super::ranges::is_unchanged;
use super::scan::ScanState;
use super::verify::block_is_unchanged;
use super::view::View;
use super::{LineScan, LineStore};
use crate::column_part::{ColumnPart, Header, PartPaths, columns_number, folder, note_number};
use crate::error::{Error, Result};
use crate::field_index::IndexDefinition;
use crate::index::{BLOCK_SIZE, IndexFault, SkipCursor};
use crate::options::Access;
use crate::range::DocumentRange;
use crate::report::{IndexCheck, IndexStats, Notice};

/// With more bytes of lines than this that no part covers, a reader looks for parts that another
/// process has written since.
const LOOK_AGAIN_SIZE: u64 = 4 << 20;

/// Lines that no part covers are divided into ranges of at least this size.
const LINES_SIZE_MIN: u64 = 1 << 20;

/// A piece of a scan. In order, the pieces are all live documents.
pub(crate) enum LinePiece {
    /// The rows of a part, without these, which ascend.
    Rows(Arc<ColumnPart>, Arc<[u32]>),
    /// Live lines.
    Lines(Box<LineScan>),
}

/// A part, its dead rows, and the live lines of its range.
type PartAndLines = (Arc<ColumnPart>, Arc<[u32]>, LineScan);

/// A columns index of an open collection.
#[derive(Debug, Clone)]
pub struct ColumnParts {
    store: Arc<LineStore>,
    index: Arc<ColumnIndex>,
}

/// What proves that the lines of a range are in the file: sums of the bytes before its first whole
/// block, of the sums of its whole blocks, and of the bytes after them. The byte before the range,
/// which ends a line, belongs to it. `None` if the index does not cover the range, or the file is
/// not as it was indexed.
fn range_stamp(view: &View, lines: &Range<u64>) -> Result<Option<[u64; 3]>, IndexFault> {
    let Some(segment) = view.segment.as_ref().filter(|_| lines.end <= view.index.state.data_end)
    else {
        return Ok(None);
    };
    let start = lines.start.saturating_sub(1);
    let blocks = start.div_ceil(BLOCK_SIZE)..lines.end / BLOCK_SIZE;
    let mut buffer = Vec::new();
    let mut sum = |bytes: Range<u64>| -> Result<Option<u64>, IndexFault> {
        if bytes.is_empty() {
            return Ok(Some(xxh3_64(&[])));
        }
        let block = bytes.start / BLOCK_SIZE;
        if !block_is_unchanged(segment, &view.index, block, &mut buffer)? {
            return Ok(None);
        }
        let at = |offset: u64| (offset - block * BLOCK_SIZE) as usize;
        Ok(buffer.get(at(bytes.start)..at(bytes.end)).map(xxh3_64))
    };
    if blocks.start > blocks.end {
        let inside = sum(start..lines.end)?;
        return Ok(inside.map(|inside| [inside, 0, 0]));
    }
    let head = sum(start..blocks.start * BLOCK_SIZE)?;
    let tail = sum(blocks.end * BLOCK_SIZE..lines.end)?;
    let mut sums = Vec::new();
    if !view.index.visit_blocks(blocks, |bytes| sums.extend_from_slice(bytes))? {
        return Ok(None);
    }
    Ok(head.zip(tail).map(|(head, tail)| [head, xxh3_64(&sums), tail]))
}

/// The offsets in a range of lines that are dead.
fn dead_lines(view: &View, lines: &Range<u64>) -> Result<Vec<u64>, IndexFault> {
    let index = &view.index;
    let skips = SkipCursor::new(&index.runs, index.delta.skips.clone(), lines.start)?;
    let is_before = |offset: &Result<u64, IndexFault>| {
        offset.as_ref().map_or(true, |offset| *offset < lines.end)
    };
    skips.take_while(is_before).collect()
}

/// The dead rows of a part; `None` if a line lives that it has no row for.
fn dead_rows(view: &View, part: &ColumnPart) -> Result<Option<Arc<[u32]>>, IndexFault> {
    let mut dead = dead_lines(view, &(part.header.start..part.header.end))?.into_iter();
    let mut died = Vec::new();
    for left_out in part.left_out() {
        loop {
            match dead.next() {
                Some(offset) if offset < left_out => died.push(offset),
                Some(offset) if offset == left_out => break,
                _ => return Ok(None),
            }
        }
    }
    died.extend(dead);
    Ok(part.rows_of(&died).map(Arc::from))
}

/// The rows of a part that a scan of a range leaves out: the dead ones, and those of other lines.
/// `None` if the part is damaged.
fn dead_outside(live: &LivePart, lines: &Range<u64>) -> Option<Arc<[u32]>> {
    let Header { start, end, row_count, .. } = live.part.header;
    if lines.start <= start && end <= lines.end {
        return Some(Arc::clone(&live.dead));
    }
    let rows = live.part.rows_in(lines)?;
    let dead = live.dead.iter().copied().filter(|row| rows.contains(row));
    Some((0..rows.start).chain(dead).chain(rows.end..row_count as u32).collect())
}

impl LineStore {
    /// The columns index of a definition, which need not be stored yet.
    pub(crate) fn column_parts(self: &Arc<Self>, definition: &IndexDefinition) -> ColumnParts {
        let same = self.columns.all().iter().find(|own| own.definition == *definition).cloned();
        let index = same.unwrap_or_else(|| Arc::new(ColumnIndex::new(definition.clone())));
        ColumnParts { store: Arc::clone(self), index }
    }

    /// Brings what is known of the parts up to a view.
    fn follow_parts(
        &self,
        view: &View,
        index: &ColumnIndex,
        known: &mut Known,
    ) -> Result<(), IndexFault> {
        let state = &view.index.state;
        known.parts.retain(|live| !live.part.is_damaged());
        let covered: u64 = known.parts.iter().map(|live| live.part.line_size()).sum();
        let is_same = known.generation == Some(view.generation);
        if !is_same || state.data_end.saturating_sub(covered) > LOOK_AGAIN_SIZE {
            self.prove(view, index, known)?;
        } else if known.skip_count != state.skip_count {
            for live in &mut known.parts {
                live.dead = match dead_rows(view, &live.part)? {
                    Some(dead) => dead,
                    None => {
                        live.part.mark_damaged();
                        continue;
                    }
                };
            }
            known.parts.retain(|live| !live.part.is_damaged());
        }
        known.skip_count = state.skip_count;
        Ok(())
    }

    /// Finds the parts that fit the data.
    fn prove(&self, view: &View, index: &ColumnIndex, known: &mut Known) -> Result<(), IndexFault> {
        let before = std::mem::take(known);
        known.generation = Some(view.generation);
        if view.segment.is_none() {
            return Ok(());
        }
        let mut parts = self.open_parts(index, &before.parts)?;
        parts.retain(|part| part.header.fingerprint == index.fingerprint && !part.is_damaged());
        // Where two overlap, the longer one was made of the others.
        parts.sort_by_key(|part| (part.header.start, std::cmp::Reverse(part.header.end)));
        let mut end = 0;
        for part in parts {
            let lines = part.header.start..part.header.end;
            if lines.start < end || range_stamp(view, &lines)? != Some(part.header.stamp) {
                continue;
            }
            if let Some(dead) = dead_rows(view, &part)? {
                end = lines.end;
                known.parts.push(LivePart { part, dead });
            }
        }
        Ok(())
    }

    /// All parts that there are. Those that are open already stay so.
    fn open_parts(
        &self,
        index: &ColumnIndex,
        open: &[LivePart],
    ) -> io::Result<Vec<Arc<ColumnPart>>> {
        let mut parts = Vec::new();
        for number in self.note_numbers(&index.definition.name)? {
            let paths = PartPaths::new(&self.paths.meta, &index.definition.name, number);
            let stat = match self.files.stat(&paths.note) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                stat => stat?,
            };
            let same = open.iter().find(|live| live.part.is_same(number, stat.inode));
            if let Some(same) = same {
                parts.push(Arc::clone(&same.part));
                continue;
            }
            match ColumnPart::open(&*self.files, &paths, number) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {} // removed since
                part => parts.extend(part?.map(Arc::new)),
            }
        }
        Ok(parts)
    }

    fn note_numbers(&self, index: &str) -> io::Result<Vec<u64>> {
        let names = self.names_in(&self.paths.meta)?;
        Ok(names.iter().filter_map(|name| note_number(index, name)).collect())
    }

    /// The names of derived files in a folder. A place that lists no names has none.
    pub(in crate::store) fn names_in(&self, folder: &std::path::Path) -> io::Result<Vec<String>> {
        use io::ErrorKind::{NotFound, Unsupported};
        match self.files.read_directory(folder) {
            Err(error) if matches!(error.kind(), NotFound | Unsupported) => Ok(Vec::new()),
            entries => Ok(entries?.into_iter().map(|entry| entry.name).collect()),
        }
    }

    /// Bytes of all files of columns. Their notes are counted with the other indexes.
    pub(in crate::store) fn columns_size(&self) -> u64 {
        let mut size = 0;
        for index in self.columns.all().iter() {
            let folder = folder(&self.paths.meta, &index.definition.name);
            for name in self.names_in(&folder).unwrap_or_default() {
                let stat = columns_number(&name).map(|_| self.files.stat(&folder.join(&name)));
                size += stat.and_then(std::result::Result::ok).map_or(0, |stat| stat.size);
            }
        }
        size
    }

    /// Checks the files of a columns index; `None` if there is none of this name. Whether it has the
    /// values of the documents is for its reader to find out.
    pub(in crate::store) fn check_columns(&self, name: &str) -> Result<Option<IndexCheck>> {
        let index = self.columns.all().iter().find(|own| own.definition.name == name).cloned();
        let Some(index) = index else { return Ok(None) };
        self.append_if_pending()?;
        self.check_parts(&index).map(Some)
    }

    /// Problems of all columns indexes, for the check of the collection. The writer is held.
    pub(in crate::store) fn check_all_columns(&self, problems: &mut Vec<String>) -> Result<()> {
        let all: Vec<_> = self.columns.all().clone();
        for index in all {
            problems.extend(self.check_parts(&index)?.problems);
        }
        Ok(())
    }

    fn check_parts(&self, index: &ColumnIndex) -> Result<IndexCheck> {
        let view = self.read_view();
        let mut known = Known::default();
        self.prove(&view, index, &mut known).map_err(|fault| fault_error(fault, &self.paths))?;
        let name = &index.definition.name;
        let unopened = self.unopened_notes(name).map_err(Error::io("read", &self.paths.meta))?;
        let parts = known.parts.iter().map(|live| &live.part);
        let is_damaged = |part: &&Arc<ColumnPart>| {
            let columns = part.columns();
            !columns.is_intact(0..columns.bytes().len() as u64)
        };
        let problem = |part: &Arc<ColumnPart>| {
            let paths = PartPaths::new(&self.paths.meta, name, part.number);
            format!("index {name:?}: {} is damaged; run `folio reindex`", paths.columns.display())
        };
        let covered: u64 = parts.clone().map(|part| part.line_size()).sum();
        Ok(IndexCheck {
            entry_count: parts.clone().map(|part| part.row_count()).sum(),
            problems: parts.filter(is_damaged).map(problem).chain(unopened).collect(),
            is_not_unique: false,
            is_behind: view.index.state.data_end.saturating_sub(covered) > LOOK_AGAIN_SIZE,
        })
    }

    /// Whether an index has notes and no columns: their folder was deleted, or not copied.
    fn has_lost_columns(&self, index: &str) -> io::Result<bool> {
        let columns = self.names_in(&folder(&self.paths.meta, index))?;
        Ok(columns.is_empty() && !self.note_numbers(index)?.is_empty())
    }

    /// A problem for each note that is not as it was written, or has no columns. That all columns are
    /// gone is a notice.
    fn unopened_notes(&self, index: &str) -> io::Result<Vec<String>> {
        let mut problems = Vec::new();
        if self.has_lost_columns(index)? {
            self.handle.notice([Notice(format!(
                "index {index:?}: its columns are not made yet; the next change of the collection, or \
                 `folio reindex`, makes them"
            ))]);
            return Ok(problems);
        }
        for number in self.note_numbers(index)? {
            let paths = PartPaths::new(&self.paths.meta, index, number);
            match ColumnPart::open(&*self.files, &paths, number) {
                Ok(None) => problems.push(format!(
                    "index {index:?}: {} is damaged, or its columns are; run `folio reindex`",
                    paths.note.display()
                )),
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {} // whole, or removed since
            }
        }
        Ok(problems)
    }

    /// Size and state of every columns index.
    pub(in crate::store) fn columns_stats(self: &Arc<Self>) -> Result<Vec<IndexStats>> {
        let all: Vec<_> = self.columns.all().clone();
        let stats = |index: Arc<ColumnIndex>| {
            let definition = index.definition.clone();
            let parts = ColumnParts { store: Arc::clone(self), index };
            let (live, missing) = parts.live()?;
            Ok(IndexStats {
                definition,
                size: live.iter().map(|live| live.part.size()).sum(),
                entry_count: live.iter().map(|live| live.part.row_count()).sum(),
                is_ready: missing <= LOOK_AGAIN_SIZE,
            })
        };
        all.into_iter().map(stats).collect()
    }
}

impl ColumnParts {
    /// What it is a copy of.
    #[must_use]
    pub fn definition(&self) -> &IndexDefinition {
        &self.index.definition
    }

    /// Whether this handle may write.
    #[must_use]
    pub fn is_writable(&self) -> bool {
        self.store.options.access == Access::ReadWrite && self.store.handle.check_writable().is_ok()
    }

    /// The parts that fit the data now, and how many bytes of lines are in none.
    fn live(&self) -> Result<(Vec<LivePart>, u64)> {
        let store = &self.store;
        store.handle.check_open()?;
        store.append_if_pending()?;
        store.verify()?; // the sums of the index are believed below
        store.repairing(|view| {
            let mut known = self.index.known();
            store.follow_parts(view, &self.index, &mut known)?;
            let covered: u64 = known.parts.iter().map(|live| live.part.line_size()).sum();
            Ok((known.parts.clone(), view.index.state.data_end.saturating_sub(covered)))
        })
    }

    /// The parts that fit the data now.
    ///
    /// # Errors
    /// As [`crate::Collection::scan`].
    pub fn parts(&self) -> Result<Vec<Arc<ColumnPart>>> {
        let (live, _) = self.live()?;
        Ok(live.into_iter().map(|live| live.part).collect())
    }

    /// Bytes of lines that are in no part, as far as this handle has looked.
    #[must_use]
    pub fn missing_size(&self) -> u64 {
        let end = self.store.read_view().index.state.data_end; // not held below
        let known = self.index.known();
        end.saturating_sub(known.parts.iter().map(|live| live.part.line_size()).sum())
    }

    /// The pieces of a scan ([`crate::ScanPiece`]).
    pub(crate) fn line_pieces(
        &self,
        accepts: &dyn Fn(&Arc<ColumnPart>) -> bool,
        range: Option<&DocumentRange>,
        count: usize,
    ) -> Result<Vec<LinePiece>> {
        let store = &self.store;
        match range {
            Some(_) => store.ready_for_ranges()?,
            None => store.append_if_pending()?,
        }
        let pieces = store.repairing(|view| {
            view.index.check_for_scan()?;
            let lines = match range {
                Some(range) if !is_unchanged(view, range)? => return Ok(None),
                Some(range) => range.start..range.end,
                None => 0..view.index.state.data_end,
            };
            let mut known = self.index.known();
            store.follow_parts(view, &self.index, &mut known)?;
            let mut pieces = Vec::new();
            let mut at = lines.start;
            for live in known.parts.iter().filter(|live| accepts(&live.part)) {
                let header = &live.part.header;
                if header.end <= lines.start || header.start >= lines.end {
                    continue;
                }
                // The lines of a damaged part are read.
                let Some(dead) = dead_outside(live, &lines) else { continue };
                self.push_lines(view, at..header.start, count, &mut pieces)?;
                pieces.push(LinePiece::Rows(Arc::clone(&live.part), dead));
                at = header.end.min(lines.end);
            }
            self.push_lines(view, at..lines.end, count, &mut pieces)?;
            Ok(Some(pieces))
        })?;
        pieces.ok_or_else(|| store.range_changed())
    }

    /// The parts that fit the data now, with their dead rows and the live lines of their ranges.
    pub(crate) fn parts_and_lines(&self) -> Result<Vec<PartAndLines>> {
        let store = &self.store;
        store.append_if_pending()?;
        store.repairing(|view| {
            let mut known = self.index.known();
            store.follow_parts(view, &self.index, &mut known)?;
            let with_lines = |live: &LivePart| -> Result<PartAndLines, IndexFault> {
                let Header { start, end, .. } = live.part.header;
                let state = ScanState::range(view, start, end)?;
                let lines = LineScan::of_range(store, state, view.version());
                Ok((Arc::clone(&live.part), Arc::clone(&live.dead), lines))
            };
            known.parts.iter().map(with_lines).collect()
        })
    }

    /// Adds the lines of a range, in up to `count` pieces.
    fn push_lines(
        &self,
        view: &View,
        lines: Range<u64>,
        count: usize,
        pieces: &mut Vec<LinePiece>,
    ) -> Result<(), IndexFault> {
        if lines.is_empty() {
            return Ok(());
        }
        let size = lines.end - lines.start;
        let count = (size / LINES_SIZE_MIN).clamp(1, count.max(1) as u64);
        let start_of = |piece: u64| match piece {
            0 => lines.start,
            _ if piece == count => lines.end,
            _ => (lines.start + size / count * piece) / BLOCK_SIZE * BLOCK_SIZE,
        };
        for piece in 0..count {
            let state = ScanState::range(view, start_of(piece), start_of(piece + 1))?;
            let scan = LineScan::of_range(&self.store, state, view.version());
            pieces.push(LinePiece::Lines(Box::new(scan)));
        }
        Ok(())
    }

    /// Says that parts are damaged, so that they are built again. The lines are read until then.
    pub fn report_damage(&self) {
        let store = &self.store;
        let damaged: Vec<u64> = {
            let mut known = self.index.known();
            let damaged = known.parts.iter().filter(|live| live.part.is_damaged());
            let damaged = damaged.map(|live| live.part.number).collect();
            known.parts.retain(|live| !live.part.is_damaged());
            damaged
        };
        for number in damaged {
            let name = &self.index.definition.name;
            let paths = PartPaths::new(&store.paths.meta, name, number);
            store.handle.notice([Notice(format!(
                "{}: it is damaged; this part of the index {name:?} is built again",
                paths.columns.display()
            ))]);
            if store.handle.check_writable().is_ok() {
                let _ = store.files.remove_file(&paths.note);
                let _ = store.files.remove_file(&paths.columns);
            }
        }
    }

    fn io(&self, error: io::Error) -> Error {
        Error::io("write", &folder(&self.store.paths.meta, &self.index.definition.name))(error)
    }
}
