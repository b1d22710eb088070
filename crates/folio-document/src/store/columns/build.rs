//! Builds parts of columns indexes: says which ranges lack one, reads their lines, and stores what
//! the caller makes of them.
//!
//! Lines are read as of one view, and not under a lock: the data file only grows meanwhile, or the
//! view gets another generation and the draft is dropped. So neither readers nor writers wait for
//! a build, several threads build several parts, and a build that is interrupted leaves whole parts
//! behind, which the next one finds.

use std::ops::Range;
use std::sync::{Arc, PoisonError};

use super::known::{Known, LivePart};
use super::{ColumnParts, dead_lines, dead_rows, range_stamp};
use crate::column_part::{
    ColumnPart, Header, PartPaths, RANGE_SIZE_MAX, columns_number, folder, is_folder, is_note,
    note_number, write_part,
};
use crate::error::Result;
use crate::index::{BLOCK_SIZE, runs_to_merge};
use crate::store::LineStore;
use crate::store::publish::fault_error;
use crate::store::scan::ScanState;

/// Bytes of lines of one part, at most.
pub const PART_SIZE: u64 = 64 << 20;

/// The same in tests.
const PART_SIZE_SMALL: u64 = BLOCK_SIZE;

/// With fewer bytes of lines after the parts than this, a flush writes none: they are read as lines.
const FEW_BYTES: u64 = 1 << 20;

/// The same in tests.
const FEW_BYTES_SMALL: u64 = 100;

/// A part is built again if one row in this many is dead.
const SHARE_DEAD: u64 = 4;

/// Fewer bytes of lines are not worth a thread of their own.
const THREAD_SIZE_MIN: u64 = 8 << 20;

/// The ranges that lack a part.
#[derive(Debug, Clone, Default)]
pub struct PartPlan {
    /// Ranges of lines, ascending. Each becomes a part.
    pub ranges: Vec<Range<u64>>,
    /// The generation of the data.
    generation: u64,
    /// The size of the data.
    pub data_size: u64,
}

/// The lines of a part to be.
#[derive(Debug)]
pub struct PartDraft {
    store: Arc<LineStore>,
    header: Header,
    generation: u64,
    left_out: Vec<u32>,
    offsets: Vec<u32>,
    lines: ScanState,
}

impl PartDraft {
    /// The next line, which becomes the next row.
    ///
    /// # Errors
    /// As [`crate::Collection::scan`].
    pub fn next_line(&mut self) -> Result<Option<&[u8]>> {
        match self.lines.next_located() {
            Ok(Some((offset, line))) => {
                self.offsets.push((offset - self.header.start) as u32);
                Ok(Some(line))
            }
            Ok(None) => Ok(None),
            Err(fault) => Err(fault_error(fault, &self.store.paths)),
        }
    }

    /// The end of its range.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.header.end
    }
}

impl ColumnParts {
    /// What a writer should build. A part is also built anew if it does not serve, or has many dead
    /// rows, and with its neighbours if they are small. With `is_first`, or if all columns were
    /// deleted, few lines are worth a part as well. In about `threads` ranges, if there is enough for
    /// them.
    ///
    /// # Errors
    /// As [`crate::Collection::scan`].
    pub fn plan(
        &self,
        serves: &dyn Fn(&Arc<ColumnPart>) -> bool,
        is_first: bool,
        threads: usize,
    ) -> Result<PartPlan> {
        let (live, _) = self.live()?;
        let is_small = self.store.options.has_small_field_files();
        let part_size = if is_small { PART_SIZE_SMALL } else { PART_SIZE };
        let name = &self.index.definition.name;
        let is_lost = || self.store.has_lost_columns(name).map_err(|error| self.io(error));
        let few_bytes = match is_small {
            _ if is_first || live.is_empty() && is_lost()? => 0,
            true => FEW_BYTES_SMALL,
            false => FEW_BYTES,
        };
        let is_good = |live: &&LivePart| {
            live.dead.len() as u64 * SHARE_DEAD <= live.part.row_count() && serves(&live.part)
        };
        let good: Vec<Range<u64>> = live
            .iter()
            .filter(is_good)
            .map(|live| live.part.header.start..live.part.header.end)
            .collect();
        let (generation, end) = {
            let view = self.store.read_view();
            let state = &view.index.state;
            // A last line without an end may still change.
            (view.generation, if state.unterminated == 1 { 0 } else { state.data_end })
        };
        let mut gaps: Vec<Range<u64>> = Vec::new();
        let mut at = 0;
        for part in &good {
            gaps.push(at..part.start);
            at = part.end;
        }
        gaps.retain(|gap| !gap.is_empty());
        if end.saturating_sub(at) > few_bytes {
            // With the newest parts, if they are not much larger.
            let fits = |first: &Range<u64>| end - first.start <= part_size;
            let sizes: Vec<u64> = good.iter().map(|part| part.end - part.start).collect();
            let newest = runs_to_merge(&[&sizes[..], &[end - at]].concat()) - 1;
            let newest = &good[good.len() - newest..];
            let is_adjacent = |pair: &[Range<u64>]| pair[0].end == pair[1].start;
            let merged = (0..newest.len()).map(|first| &newest[first..]);
            let merged = merged
                .filter(|parts| parts.windows(2).all(is_adjacent))
                .find_map(|parts| parts.first().filter(|first| fits(first)));
            gaps.push(merged.map_or(at, |first| first.start)..end);
        }
        let ranges = gaps.into_iter().flat_map(|gap| divided(gap, part_size, threads)).collect();
        Ok(PartPlan { ranges, generation, data_size: end })
    }

    /// The lines of a range of a plan; `None` if there are none, or the data has changed in other
    /// ways than by additions.
    ///
    /// # Errors
    /// As [`crate::Collection::scan`].
    pub fn draft(&self, plan: &PartPlan, range: &Range<u64>) -> Result<Option<PartDraft>> {
        let store = &self.store;
        store.repairing(|view| {
            let limit = plan.data_size.min(view.index.state.data_end);
            if view.generation != plan.generation || range.end > limit {
                return Ok(None);
            }
            view.index.check_for_scan()?;
            // The ends of a range are anywhere in a line; the part begins and ends with one.
            let Some(lines) = ScanState::range(view, range.start, range.end)? else {
                return Ok(None);
            };
            let start = lines.position();
            let end = match range.end == limit {
                true => limit,
                false => ScanState::range(view, range.end, limit)?
                    .map_or(limit, |after| after.position()),
            };
            if start >= end || end - start > RANGE_SIZE_MAX {
                return Ok(None);
            }
            let Some(stamp) = range_stamp(view, &(start..end))? else { return Ok(None) };
            let left_out = dead_lines(view, &(start..end))?;
            let fingerprint = self.index.fingerprint;
            Ok(Some(PartDraft {
                store: Arc::clone(store),
                header: Header { fingerprint, start, end, stamp, ..Header::default() },
                generation: view.generation,
                left_out: left_out.into_iter().map(|offset| (offset - start) as u32).collect(),
                offsets: Vec::new(),
                lines,
            }))
        })
    }

    /// Stores a part, in place of those that it overlaps. `false` if the data has changed meanwhile,
    /// or this handle may not write now.
    ///
    /// # Errors
    /// [`crate::Error::Io`].
    pub fn add(&self, draft: &PartDraft, columns: &[u8]) -> Result<bool> {
        let (store, index) = (&self.store, &self.index);
        if !self.is_writable() {
            return Ok(false);
        }
        let Ok(_guard) = store.lock.try_acquire() else { return Ok(false) };
        let _writing = index.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let (meta, name) = (&store.paths.meta, &index.definition.name);
        let folder = folder(meta, name);
        store
            .files
            .create_directory(&folder)
            .and_then(|()| store.files.keep_access(&folder, meta))
            .map_err(|error| self.io(error))?;
        let notes = store.note_numbers(name).map_err(|error| self.io(error))?;
        let files = store.names_in(&folder).map_err(|error| self.io(error))?;
        let numbers = files.iter().filter_map(|file| columns_number(file)).chain(notes);
        let number = numbers.max().unwrap_or(0) + 1;
        let paths = PartPaths::new(meta, name, number);
        let lists = (&draft.left_out[..], &draft.offsets[..]);
        // Another process may have replaced the data file, and made other parts.
        let is_current = store
            .files
            .stat(&store.paths.data)
            .is_ok_and(|stat| stat.inode == store.read_view().index.state.inode);
        if !is_current {
            return Ok(false);
        }
        let written = write_part(&*store.files, &paths, number, draft.header, lists, columns);
        let Some(part) = written.map_err(|error| self.io(error))? else { return Ok(false) };
        let part = Arc::new(part);
        let is_known = store.repairing(|view| {
            let mut known = index.known();
            store.follow_parts(view, index, &mut known)?;
            let dead = match view.generation == draft.generation {
                true => dead_rows(view, &part)?,
                false => None,
            };
            let Some(dead) = dead else { return Ok(false) };
            let is_beside = |live: &LivePart| {
                live.part.header.end <= part.header.start
                    || live.part.header.start >= part.header.end
            };
            known.parts.retain(is_beside);
            known.parts.push(LivePart { part: Arc::clone(&part), dead });
            known.parts.sort_by_key(|live| live.part.header.start);
            Ok(true)
        })?;
        self.remove_unused();
        Ok(is_known)
    }

    /// Removes the files of parts that do not fit the data, or are damaged.
    ///
    /// # Errors
    /// As [`crate::Collection::scan`].
    pub fn remove_unfit(&self) -> Result<()> {
        self.live()?;
        let Ok(_guard) = self.store.lock.try_acquire() else { return Ok(()) };
        let _writing = self.index.writing.lock().unwrap_or_else(PoisonError::into_inner);
        self.remove_unused();
        Ok(())
    }

    /// Removes the files that are in no part. Open readers keep theirs. The caller holds the
    /// writer's lock.
    fn remove_unused(&self) {
        let (store, name) = (&self.store, &self.index.definition.name);
        let used: Vec<u64> = self.index.known().parts.iter().map(|live| live.part.number).collect();
        store.remove_part_files(name, |number| !used.contains(&number));
    }
}

impl LineStore {
    /// Removes files of an index, notes first.
    fn remove_part_files(&self, index: &str, is_unused: impl Fn(u64) -> bool) {
        let meta = &self.paths.meta;
        for number in self.note_numbers(index).unwrap_or_default() {
            if is_unused(number) {
                let _ = self.files.remove_file(&PartPaths::new(meta, index, number).note);
            }
        }
        let folder = folder(meta, index);
        for file in self.names_in(&folder).unwrap_or_default() {
            let is_staged = file.starts_with("part-") && file.ends_with(".new");
            if is_staged || columns_number(&file).is_some_and(&is_unused) {
                let _ = self.files.remove_file(&folder.join(file));
            }
        }
    }

    /// Removes all files of an index that is dropped.
    pub(in crate::store) fn drop_columns(&self, index: &str) {
        self.remove_part_files(index, |_| true);
        let _ = self.files.remove_directory(&folder(&self.paths.meta, index));
    }

    /// Forgets which parts fit the data, and removes the files of indexes that are defined no more.
    pub(in crate::store) fn look_again_at_columns(&self) {
        let all = self.columns.all().clone();
        for index in &all {
            *index.known() = Known::default();
        }
        let meta = &self.paths.meta;
        let is_defined = |name: &String| {
            let mut indexes = all.iter().map(|own| &*own.definition.name);
            indexes.any(|index| {
                note_number(index, name).is_some() || meta.join(name) == folder(meta, index)
            })
        };
        let mut names = self.names_in(meta).unwrap_or_default();
        names.retain(|name| !is_defined(name));
        for name in names {
            let path = meta.join(&name);
            if is_note(&name) {
                let _ = self.files.remove_file(&path);
            } else if is_folder(&name) {
                let _ = folio_file::remove_tree(&*self.files, &path);
            }
        }
    }
}

/// A range in pieces of at most `part_size`, and about as many as there are threads if it is large
/// enough. Their ends are anywhere in a line.
fn divided(range: Range<u64>, part_size: u64, threads: usize) -> Vec<Range<u64>> {
    let size = range.end - range.start;
    let for_threads = (size / THREAD_SIZE_MIN).min(threads as u64);
    let count = size.div_ceil(part_size).max(for_threads).max(1);
    let start_of = |piece: u64| match piece {
        0 => range.start,
        _ if piece == count => range.end,
        _ => range.start + size / count * piece,
    };
    (0..count).map(|piece| start_of(piece)..start_of(piece + 1)).collect()
}
