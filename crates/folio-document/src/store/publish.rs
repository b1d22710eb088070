//! Writes the index: runs, and the head that publishes them.
//!
//! Nothing here is synced. If a power cut tears the index, its checksums show it and it is rebuilt.
//! The data file is synced and authoritative.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use folio_file::{File, FileSystem, OpenMode};

use super::paths::Paths;
use crate::column_part::is_note;
use crate::error::{Error, Result};
use crate::field_index::is_field_file;
use crate::index::{
    DELTA_LIMIT, Delta, Entry, HEAD_NAME, Head, Index, IndexFault, LineSource, PAGE_SIZE, Resolved,
    Run, RunContent, RunName, RunSink, delta_record, head_bytes, is_index_file, merge_runs,
    runs_to_merge,
};
use crate::whole_file::{create_derived, share_access};

/// Where new runs are written, and which part of the delta is already on disk.
#[derive(Debug)]
pub(crate) struct IndexWriter {
    files: Arc<dyn FileSystem>,
    meta: PathBuf,
    /// Runs stay in memory, and nothing is published.
    in_memory: bool,
    generation: u64,
    next_run: u64,
    /// The published head, and the offset of its next record.
    head: Option<(Arc<dyn File>, u64)>,
    /// How much of the delta is in the published head.
    published: DeltaLengths,
    /// Whether the runs differ from those in the published head.
    is_dirty: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct DeltaLengths {
    entries: usize,
    skips: usize,
    blocks: usize,
}

impl DeltaLengths {
    fn of(delta: &Delta) -> Self {
        Self { entries: delta.len(), skips: delta.skips.len(), blocks: delta.blocks.len() }
    }
}

impl IndexWriter {
    /// Continues from a head that was read, or from nothing.
    pub(crate) fn new(
        files: Arc<dyn FileSystem>,
        meta: PathBuf,
        head: Option<&Head>,
        in_memory: bool,
    ) -> Self {
        let published = head.map_or_else(DeltaLengths::default, |head| DeltaLengths {
            entries: head.entries.len(),
            skips: head.skips.len(),
            blocks: head.blocks.len(),
        });
        Self {
            files,
            meta,
            in_memory,
            generation: head.map_or(0, |head| head.generation),
            next_run: head.map_or(0, |head| head.next_run),
            head: None,
            published,
            is_dirty: head.is_none(),
        }
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    pub(crate) fn is_in_memory(&self) -> bool {
        self.in_memory
    }

    /// Gives the next publication a new generation, which others notice.
    pub(crate) fn renew(&mut self) {
        self.is_dirty = true;
    }

    /// Forgets the published index. The next publication writes all of it again.
    pub(crate) fn start_over(&mut self) {
        self.is_dirty = true;
        self.published = DeltaLengths::default();
        self.head = None;
    }

    /// Writes the delta as a run, merged with older runs of similar size.
    pub(crate) fn spill(
        &mut self,
        index: &mut Index,
        lines: &impl LineSource,
    ) -> Result<(), IndexFault> {
        if index.delta.len() == 0 && index.delta.skips.is_empty() && index.delta.blocks.is_empty() {
            return Ok(());
        }
        let delta = &index.delta;
        let entries = newest_of_each(delta.entries(), lines)?;
        let mut skips = delta.skips.clone();
        skips.sort_unstable();
        let first_block = index.block_count() - delta.blocks.len() as u64;
        let content = RunContent {
            entry_limit: entries.len() as u64,
            entries: entries.into_iter().map(Ok),
            skips: skips.into_iter().map(Ok),
            first_block,
            blocks: delta.blocks.iter().copied().map(Ok),
            data_end: index.state.data_end,
        };
        let run = self.write_run(|sink, number| content.write(sink, number))?;
        index.delta = Delta::default();
        self.add(index, run, lines)
    }

    /// Adds a run of sorted entries, newer than the delta.
    pub(crate) fn add_run(
        &mut self,
        index: &mut Index,
        resolved: &Resolved,
        blocks: &[u64],
        lines: &impl LineSource,
    ) -> Result<(), IndexFault> {
        let run = self.write_ahead(index, resolved, blocks, index.state.data_end)?;
        self.add_written(index, run, lines)
    }

    /// Writes sorted entries as the next run, without adding it to the index.
    pub(crate) fn write_ahead(
        &mut self,
        index: &Index,
        resolved: &Resolved,
        blocks: &[u64],
        data_end: u64,
    ) -> Result<Run, IndexFault> {
        let mut skips = resolved.skips.clone();
        skips.sort_unstable();
        let content = RunContent {
            entry_limit: resolved.entries.len() as u64,
            entries: resolved.entries.iter().copied().map(Ok),
            skips: skips.into_iter().map(Ok),
            first_block: index.block_count(),
            blocks: blocks.iter().copied().map(Ok),
            data_end,
        };
        self.write_run(|sink, number| content.write(sink, number))
    }

    /// Adds a run from `write_ahead`, newer than the delta.
    pub(crate) fn add_written(
        &mut self,
        index: &mut Index,
        run: Run,
        lines: &impl LineSource,
    ) -> Result<(), IndexFault> {
        match self.spill(index, lines) {
            Ok(()) => self.add(index, run, lines),
            Err(fault) => {
                self.discard(&run);
                Err(fault)
            }
        }
    }

    /// Removes a written run that no head names.
    pub(crate) fn discard(&self, run: &Run) {
        self.remove_run(run.number);
    }

    fn remove_run(&self, number: u64) {
        if !self.in_memory {
            let _ = self.files.remove_file(&self.meta.join(RunName::file_name(number)));
        }
    }

    /// Adds a new run on top and merges runs whose sizes are now too similar.
    fn add(
        &mut self,
        index: &mut Index,
        run: Run,
        lines: &impl LineSource,
    ) -> Result<(), IndexFault> {
        self.is_dirty = true;
        self.published = DeltaLengths::default();
        index.runs.push(Arc::new(run));
        let counts: Vec<u64> = index.runs.iter().map(|run| run.entry_count()).collect();
        let taken = runs_to_merge(&counts);
        if taken > 1 {
            let first = index.runs.len() - taken;
            let runs = &index.runs[first..];
            let merged =
                self.write_run(|sink, number| merge_runs(runs, first == 0, lines, sink, number))?;
            index.runs.truncate(first);
            index.runs.push(Arc::new(merged));
        }
        Ok(())
    }

    /// Writes a run. If the disk is full, the partial file is removed: it may be large, and no head
    /// names it.
    fn write_run(
        &mut self,
        write: impl FnOnce(&RunSink, u64) -> Result<Run, IndexFault>,
    ) -> Result<Run, IndexFault> {
        let (sink, number) = self.sink()?;
        let written = write(&sink, number);
        if written.is_err() {
            self.remove_run(number);
        }
        written
    }

    fn sink(&mut self) -> io::Result<(RunSink, u64)> {
        self.next_run += 1;
        let number = self.next_run;
        if self.in_memory {
            return Ok((RunSink::Memory, number));
        }
        let path = self.meta.join(RunName::file_name(number));
        Ok((RunSink::File(create_derived(&*self.files, &path)?), number))
    }

    /// Makes the current index visible to other processes.
    pub(crate) fn publish(
        &mut self,
        index: &mut Index,
        lines: &impl LineSource,
    ) -> Result<(), IndexFault> {
        if self.in_memory {
            return Ok(());
        }
        if index.delta.len() > DELTA_LIMIT || index.delta.skips.len() > 4 * DELTA_LIMIT {
            self.spill(index, lines)?;
        }
        if !self.is_dirty && self.append_record(index)? {
            return Ok(());
        }
        self.write_generation(index)?;
        Ok(())
    }

    /// Appends the new part of the delta; `false` if the whole head must be written again.
    fn append_record(&mut self, index: &Index) -> io::Result<bool> {
        if self.head.is_none() {
            let file = self.files.open(&self.meta.join(HEAD_NAME), OpenMode::Write)?;
            let size = file.stat()?.size;
            self.head = Some((file, size));
        }
        let Some((file, end)) = &mut self.head else { return Ok(false) };
        let delta = &index.delta;
        let record = delta_record(
            &index.state,
            &delta.entries()[self.published.entries..],
            &delta.skips[self.published.skips..],
            &delta.blocks[self.published.blocks..],
        );
        if *end + record.len() as u64 > RECORDS_LIMIT {
            return Ok(false);
        }
        file.write_at(&record, *end)?;
        *end += record.len() as u64;
        self.published = DeltaLengths::of(delta);
        Ok(true)
    }

    /// Writes a head of the next generation, which replaces the last one.
    fn write_generation(&mut self, index: &Index) -> io::Result<()> {
        self.generation += 1;
        let bytes = head_bytes(index, self.generation, self.next_run);
        let path = self.meta.join(HEAD_NAME);
        let staged = self.meta.join(format!("{HEAD_NAME}.new"));
        let file = create_derived(&*self.files, &staged)?;
        let placed = file
            .write_at(&bytes, 0)
            .and_then(|()| self.files.rename(&staged, &path))
            .and_then(|()| share_access(&*self.files, &path)); // it has that of the last head
        if let Err(error) = placed {
            let _ = self.files.remove_file(&staged);
            return Err(error);
        }
        self.head = Some((file, bytes.len() as u64));
        self.published = DeltaLengths::of(&index.delta);
        self.is_dirty = false;
        self.remove_unused_runs(index);
        Ok(())
    }

    /// Removes run files that no head names any more. Open readers keep their file handles. A file
    /// that cannot be removed now is tried again with the next generation.
    fn remove_unused_runs(&self, index: &Index) {
        let Ok(entries) = self.files.read_directory(&self.meta) else { return };
        let is_used =
            |name: &str| index.runs.iter().any(|run| RunName::file_name(run.number) == name);
        for entry in entries {
            let is_run =
                is_index_file(&entry.name) && !is_field_file(&entry.name) && !is_note(&entry.name);
            if is_run && entry.name != HEAD_NAME && !is_used(&entry.name) {
                let _ = self.files.remove_file(&self.meta.join(&entry.name));
            }
        }
    }
}

/// Size of the head up to which records are appended; after that it is written again.
const RECORDS_LIMIT: u64 = 1 << 20;

/// The newest entry of each id, by hash.
fn newest_of_each(entries: &[Entry], lines: &impl LineSource) -> Result<Vec<Entry>, IndexFault> {
    let mut newest_first: Vec<Entry> = entries.iter().rev().copied().collect();
    newest_first.sort_by_key(|entry| entry.hash); // stable: the newest stays first
    let mut kept: Vec<Entry> = Vec::with_capacity(newest_first.len());
    let mut text = Vec::new();
    for group in newest_first.chunk_by(|a, b| a.hash == b.hash) {
        if group.len() == 1 || !group.iter().any(|entry| entry.is_collided()) {
            kept.push(group[0]);
            continue;
        }
        let mut seen = Vec::new();
        for &entry in group {
            let id = crate::index::read_id(entry, lines, &mut text)?;
            if !seen.contains(&id) {
                seen.push(id);
                kept.push(entry);
            }
        }
    }
    Ok(kept)
}

/// The error that callers see for a fault that healing did not repair. It names the damaged file.
pub(crate) fn fault_error(fault: IndexFault, paths: &Paths) -> Error {
    let damaged = |run: u64, offset: u64, reason: &str| Error::Corrupted {
        path: paths.meta.join(RunName::file_name(run)),
        offset,
        reason: reason.to_owned(),
        repair: "run `folio reindex`".to_owned(),
    };
    match fault {
        IndexFault::Io(source) => Error::io("read or write the index of", &paths.data)(source),
        IndexFault::Line { offset } => Error::Corrupted {
            path: paths.data.clone(),
            offset,
            reason: "the line changes while it is read".to_owned(),
            repair: "wait until the other program has saved it, then try again".to_owned(),
        },
        IndexFault::Page { run, page } => {
            damaged(run, page * PAGE_SIZE as u64, "a page of the index has a wrong checksum")
        }
        IndexFault::Run { run } => damaged(run, 0, "this is not a run of the index"),
    }
}
