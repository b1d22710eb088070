//! The commit of a batch.
//!
//! ```text
//! data file   ─ sync ─┐
//! entries     resolve ┤
//!                     record closed ─ sync ─┐ it counts
//!                     index, if it is large ┤
//!                                           readers see it
//! ```
//!
//! The index entries are resolved during the sync of the data. The run of a large batch is written
//! during the sync of the record. No head names that run yet, so it has no effect if the batch
//! fails.

use std::io;
use std::mem;
use std::sync::Arc;
use std::thread;

use folio_file::File;

use super::{LineBatch, Stage};
use crate::error::{Error, Result};
use crate::index::{DELTA_LIMIT, IndexFault, Resolved, Run, resolve};
use crate::line::LineReader;
use crate::options::Durability;
use crate::report::{BatchCounts, Notice};
use crate::segment::Segment;
use crate::store::append::Appender;
use crate::store::line_chunk::{LineChunk, count_in};
use crate::store::publish::fault_error;
use crate::store::{LineStore, Writer};

impl LineBatch {
    /// Makes the batch durable and visible. After the record is closed the batch counts, and a
    /// later failure is reported as a notice.
    pub(crate) fn commit(mut self) -> Result<BatchCounts> {
        self.write_rest()?;
        self.check_disturbance()?;
        let store = Arc::clone(&self.store);
        if store.options.failpoints().close_batch_first() {
            self.close_record(self.sent, self.import)?;
        }
        let (resolved, segment) = self.sync_and_resolve(&store)?;
        store.check_unique_batch(&*self.data, (self.start, self.sent), &resolved)?;
        let mut writer = store.any_writer();
        let appender = self.appender.as_ref().expect("no piece is on its way");
        store.note_names(&mut writer, appender.names.are_synced)?;
        let run = self.close_and_index(&mut writer, &resolved, &segment)?;
        self.stage = Stage::Durable;
        let counts = resolved.counts;
        let shown = self.show(&mut writer, resolved, run);
        writer.sequence += 1;
        writer.unpublished = true;
        if store.options.durability != Durability::None {
            writer.data_unsynced = false;
            writer.synced_end = self.sent;
        }
        self.release(&mut writer);
        let published = shown.and_then(|()| {
            store.compact_if_worthwhile(&mut writer)?;
            store.publish(&mut writer)
        });
        store.publish_fields(&mut writer);
        if let Err(error) = published {
            writer.known = None;
            let name = store.paths.data.display();
            let text = format!("{name}: a batch is stored, but not indexed: {error}");
            store.handle.notice([Notice(text)]);
        }
        writer.guard = None;
        Ok(counts)
    }

    /// Syncs the data, and resolves the index entries at the same time.
    fn sync_and_resolve(&mut self, store: &LineStore) -> Result<(Resolved, Arc<Segment>)> {
        let entries = mem::take(&mut self.entries);
        let (synced, resolved) = self.while_synced(&*self.data, || {
            let view = store.read_view();
            let segment =
                Arc::clone(view.segment.as_ref().expect("an open data file has a segment"));
            let resolved = resolve(entries.into_entries(), &view.index, &*segment);
            resolved.map(|resolved| (resolved, segment))
        });
        synced.map_err(|error| store.handle.poison(&store.paths.data, error))?;
        match resolved {
            Ok(resolved) => Ok(resolved),
            Err(IndexFault::Line { .. }) if self.is_mixed => Err(self.disturbed()),
            Err(fault @ IndexFault::Io(_)) => Err(fault_error(fault, &store.paths)),
            Err(fault) => self.repair_and_resolve(store, &fault),
        }
    }

    /// Rebuilds the older index and resolves the entries of the batch again. Its lines are in the
    /// file by now.
    #[cold]
    fn repair_and_resolve(
        &self,
        store: &LineStore,
        fault: &IndexFault,
    ) -> Result<(Resolved, Arc<Segment>)> {
        store.repair(fault)?;
        let mut reader = LineReader::new(&*self.data, self.start, self.sent);
        let (chunk, _) = LineChunk::read(&mut reader, usize::MAX)
            .map_err(Error::io("read", &store.paths.data))?;
        let view = store.read_view();
        let segment = Arc::clone(view.segment.as_ref().expect("an open data file has a segment"));
        let resolved = resolve(chunk.entries, &view.index, &*segment);
        Ok((resolved.map_err(|fault| fault_error(fault, &store.paths))?, segment))
    }

    /// Runs `work` during the sync of a file, if files are synced.
    fn while_synced<T>(&self, file: &dyn File, work: impl FnOnce() -> T) -> (io::Result<()>, T) {
        match (self.store.options.durability, self.thread.is_some()) {
            (Durability::None, _) => (Ok(()), work()),
            (_, false) => (file.sync_data(), work()), // too little work to share
            (_, true) => thread::scope(|scope| {
                let sync = scope.spawn(|| file.sync_data());
                let done = work();
                (sync.join().expect("a sync does not panic"), done)
            }),
        }
    }

    /// Closes the record durably, which makes the batch count. Writes the run of a large batch at
    /// the same time. No one else writes before the writer is released.
    fn close_and_index(
        &mut self,
        writer: &mut Writer,
        resolved: &Resolved,
        resolved_in: &Arc<Segment>,
    ) -> Result<Indexed> {
        let store = Arc::clone(&self.store);
        let view = store.read_view();
        let is_as_resolved = view.segment.as_ref().is_some_and(|now| Arc::ptr_eq(now, resolved_in));
        let is_plain = is_as_resolved && !self.is_mixed;
        if !is_plain || resolved.entries.len() <= DELTA_LIMIT {
            drop(view);
            self.close_record(self.sent, self.import)?;
            return Ok(if is_plain { Indexed::InDelta } else { Indexed::Reread });
        }
        self.write_closed(self.sent, self.import)?;
        let appender = self.appender.as_ref().expect("no piece is on its way");
        let (synced, run) = self.while_synced(&*appender.record.file, || {
            writer.index.write_ahead(&view.index, resolved, &appender.blocks, self.sent)
        });
        if let (Err(_), Ok(run)) = (&synced, &run) {
            writer.index.discard(run);
        }
        synced.map_err(|error| store.handle.poison(&store.paths.batch, error))?;
        Ok(Indexed::InRun(run))
    }

    /// Closes the record durably: from here on the lines up to `end` count.
    pub(super) fn close_record(&mut self, end: u64, import: Option<(u64, u64)>) -> Result<()> {
        self.write_closed(end, import)?;
        if self.store.options.durability != Durability::None {
            let record = &self.appender.as_ref().expect("no piece is on its way").record;
            let synced = record.file.sync_data();
            synced.map_err(|error| self.store.handle.poison(&self.store.paths.batch, error))?;
        }
        Ok(())
    }

    fn write_closed(&mut self, end: u64, import: Option<(u64, u64)>) -> Result<()> {
        let record = &mut self.appender.as_mut().expect("no piece is on its way").record;
        record.close(end, import).map_err(Error::io("write", &self.store.paths.batch))
    }

    /// Makes the batch visible to readers.
    fn show(&mut self, writer: &mut Writer, resolved: Resolved, indexed: Indexed) -> Result<()> {
        let store = Arc::clone(&self.store);
        let appender = *self.appender.take().expect("no piece is on its way");
        writer.known = appender.known;
        let taken_in = match indexed {
            Indexed::Reread => return store.take_all_in(writer),
            Indexed::InDelta => self.take_in(writer, appender, resolved, None),
            Indexed::InRun(run) => {
                run.and_then(|run| self.take_in(writer, appender, resolved, Some(run)))
            }
        };
        taken_in.or_else(|fault| store.repair_as(writer, &fault))
    }

    /// Adds the batch to the index.
    fn take_in(
        &self,
        writer: &mut Writer,
        appender: Appender,
        resolved: Resolved,
        run: Option<Run>,
    ) -> Result<(), IndexFault> {
        let Appender { record, sums, blocks, .. } = appender;
        writer.batch_record = Some(record);
        // A rebuild of the index may have closed it.
        writer.data = Some(Arc::clone(&self.data));
        let mut view = self.store.write_view();
        let view = &mut *view;
        let segment = Arc::clone(view.segment.as_ref().expect("an open data file has a segment"));
        segment.forget_all();
        count_in(&mut view.index, &resolved, 0);
        view.index.state.data_end = self.sent;
        view.index.state.tail_sum = sums.tail();
        writer.sums = Some(sums);
        if let Some(run) = run {
            return writer.index.add_written(&mut view.index, run, &*segment);
        }
        resolved.entries.into_iter().for_each(|entry| view.index.delta.push(entry));
        view.index.delta.skips.extend(resolved.skips);
        view.index.delta.blocks.extend(blocks);
        Ok(())
    }
}

/// Where the entries of a batch go.
enum Indexed {
    /// Not placed yet: they fit into the delta.
    InDelta,
    /// In a new run, or the error from writing it.
    InRun(Result<Run, IndexFault>),
    /// Not placed: someone else also wrote to the file, so the lines are read again.
    Reread,
}
