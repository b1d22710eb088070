//! The lines layout: one data file, its index, one writer and many readers.
//!
//! A write goes into memory (`Pending`), then to the end of the data file. A sync makes it durable,
//! and the index publishes it:
//!
//! ```text
//! put      encode one line → pending → (every_put: append → sync → publish)
//! flush    append_pending: to the file, and into the index → sync → publish
//! batch    open record → append as it comes → sync → close record → resolve → publish
//! open     is the index right for the file? use it, extend it, or build it again
//! get      pending → delta → runs → line from the file → verify checksum and id
//! ```
//!
//! `view` is behind a lock that readers share. `writer` belongs to the one thread that may change
//! it. A writer locks `writer` first, then `view`.

mod append;
mod append_pending;
mod batch;
mod batch_record;
mod broken;
mod check;
pub(crate) mod columns;
mod compact;
mod derived;
mod fields;
mod flush;
mod get;
mod history;
mod index_builder;
mod line_chunk;
mod load;
mod paths;
mod publish;
mod put;
mod ranges;
mod recover;
mod repair;
mod scan;
mod selected;
mod spliced;
mod staged;
mod stamp;
mod sync;
mod turn;
mod verify;
mod view;

use std::ops::Range;
use std::sync::{
    Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
};
use std::thread::ThreadId;

use folio_file::{File, FileSystem, Stat, WriterGuard, WriterLock};

pub(crate) use batch::LineBatch;
pub(crate) use batch_record::parts_that_count;
pub(crate) use derived::TYPES_NAME;
pub(crate) use paths::Paths;
pub(crate) use scan::LineScan;
pub(crate) use selected::SelectedScan;

use crate::error::{Error, Result};
use crate::handle_state::HandleState;
use crate::index::BlockSums;
use crate::manifest::Manifest;
use crate::options::CollectionOptions;
use crate::report::Stats;
use batch_record::{BatchRecord, BatchSlot};
use columns::known::ColumnIndexes;
pub(crate) use fields::FieldScan;
pub use fields::Only;
use fields::{Fields, PendingKeys};
use publish::IndexWriter;
use sync::GroupCommit;
use view::View;

use crate::version::Version;

/// A collection in the lines layout, shared by all its handles.
#[derive(Debug)]
pub(crate) struct LineStore {
    pub(crate) handle: HandleState,
    files: Arc<dyn FileSystem>,
    paths: Paths,
    options: CollectionOptions,
    lock: Arc<WriterLock>,
    view: RwLock<View>,
    writer: Mutex<Writer>,
    /// Notified when a batch or a turn ends, for threads that wait to write.
    batch_ended: Condvar,
    commit: GroupCommit,
    fields: Fields,
    columns: ColumnIndexes,
}

/// State that only the writer uses.
#[derive(Debug)]
struct Writer {
    index: IndexWriter,
    manifest: Manifest,
    /// The manifest's file when it was last read.
    manifest_stat: Option<Stat>,
    /// What unique indexes know of pending lines.
    pending_keys: PendingKeys,
    /// The writer's lock, held while there is something to write.
    guard: Option<WriterGuard>,
    /// The data file, open for appending.
    data: Option<Arc<dyn File>>,
    batch_record: Option<BatchRecord>,
    /// A batch could not be undone: its record may still say that it is open.
    has_open_record: bool,
    /// Block sums up to the end of the indexed data.
    sums: Option<BlockSums>,
    /// The data file as this writer left it. Any difference means that someone else changed it.
    known: Option<Stat>,
    /// The number of the newest slot of the batch record when the file was read.
    batch_sequence: Option<u64>,
    /// The thread whose batch is open.
    batch_owner: Option<ThreadId>,
    /// The thread that has a turn: it alone may write, and open a batch.
    turn: Option<ThreadId>,
    /// New directory entries that are not yet durable.
    names_unsynced: bool,
    /// The entry of the batch record is among them.
    record_unsynced: bool,
    /// The file has data that is not yet synced.
    data_unsynced: bool,
    /// Names or content left by others may not be on the device. They are synced before anything is
    /// promised on top of them.
    found_unsynced: bool,
    /// Lines left by others whose sync may have failed. They are readable, but a further sync would
    /// not write them.
    suspect: Range<u64>,
    /// The data before this offset is on the device.
    synced_end: u64,
    /// Appended lines are not yet published.
    unpublished: bool,
    /// The index on disk cannot be used; one in memory is used instead.
    index_is_damaged: bool,
    /// Counts puts and deletes, for writers that wait for a common sync.
    sequence: u64,
    /// The older line of the id being written; reused for its memory.
    older: Vec<u8>,
}

impl LineStore {
    pub(crate) fn open(
        files: Arc<dyn FileSystem>,
        paths: Paths,
        name: &str,
        options: &CollectionOptions,
        lock: Arc<WriterLock>,
        manifest: Manifest,
    ) -> Result<Arc<Self>> {
        let (indexes, has_open_paths) = (Arc::clone(&manifest.indexes), manifest.has_open_paths);
        let index = IndexWriter::new(Arc::clone(&files), paths.meta.clone(), None, true);
        let writer = Writer {
            index,
            manifest,
            manifest_stat: None,
            pending_keys: PendingKeys::default(),
            guard: None,
            data: None,
            batch_record: None,
            has_open_record: false,
            sums: None,
            known: None,
            batch_sequence: None,
            batch_owner: None,
            turn: None,
            names_unsynced: false,
            record_unsynced: false,
            data_unsynced: false,
            found_unsynced: false,
            suspect: 0..0,
            synced_end: 0,
            unpublished: false,
            index_is_damaged: false,
            sequence: 0,
            older: Vec::new(),
        };
        let store = Self {
            handle: HandleState::new(name, options),
            files,
            paths,
            options: options.clone(),
            lock,
            view: RwLock::default(),
            writer: Mutex::new(writer),
            batch_ended: Condvar::new(),
            commit: GroupCommit::default(),
            fields: Fields::default(),
            columns: ColumnIndexes::default(),
        };
        store.fields.set(&indexes);
        store.columns.set(&indexes);
        store.handle.set_open_paths(has_open_paths);
        store.refresh()?;
        if !store.handle.has_notices() {
            // Building the index just now has already reported them.
            store.handle.notice(store.broken_lines()?);
        }
        Ok(Arc::new(store))
    }

    pub(crate) fn is_created(&self) -> bool {
        self.read_view().segment.is_some()
    }

    pub(crate) fn count(&self) -> Result<u64> {
        self.handle.check_open()?;
        self.verify()?;
        Ok(self.open_view()?.count())
    }

    /// The version of what is in the file now.
    pub(crate) fn version(&self) -> Result<Version> {
        self.handle.check_open()?;
        self.append_if_pending()?;
        Ok(self.open_view()?.version())
    }

    pub(crate) fn stats(&self) -> Result<Stats> {
        self.count()?;
        self.append_if_pending()?;
        let view = self.open_view()?;
        let state = &view.index.state;
        let index_size = match self.files.read_directory(&self.paths.meta) {
            Ok(entries) => entries
                .iter()
                .filter(|entry| {
                    crate::index::is_index_file(&entry.name) || entry.name == TYPES_NAME
                })
                .filter_map(|entry| self.files.stat(&self.paths.meta.join(&entry.name)).ok())
                .map(|stat| stat.size)
                .sum::<u64>(),
            Err(_) => 0,
        };
        let index_size = index_size + self.columns_size();
        Ok(Stats {
            document_count: view.count(),
            dead_count: state.skip_count,
            live_size: state.live_size,
            data_size: view.segment.as_ref().map_or(0, |_| state.data_end),
            index_size,
            changed: self.files.stat(&self.paths.data).ok().and_then(|stat| stat.modified()),
        })
    }

    /// The data file as it is read, and the end of its lines.
    pub(crate) fn data_file(&self) -> Result<Option<(Arc<dyn File>, u64)>> {
        self.append_if_pending()?;
        let view = self.open_view()?;
        let file = view.segment.as_ref().map(|segment| Arc::clone(&segment.file));
        Ok(file.map(|file| (file, view.index.state.data_end)))
    }

    /// A checksum of the file, pending lines included.
    pub(crate) fn fingerprint(&self) -> Result<u64> {
        self.count()?;
        self.append_if_pending()?;
        self.verify()?;
        self.repairing(|view| verify::fingerprint(&view.index))
    }

    /// How far the last committed import of this source came.
    pub(crate) fn import_position(&self, source: u64) -> Result<Option<u64>> {
        let slot = BatchSlot::read(&*self.files, &self.paths.batch, None);
        let slot = slot.map_err(Error::io("read", &self.paths.batch))?;
        Ok(slot.filter(|slot| slot.source == source && source != 0).map(|slot| slot.position))
    }

    fn read_view(&self) -> RwLockReadGuard<'_, View> {
        self.view.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The view of a collection that is open. `close` empties it, and waits for whoever has this.
    fn open_view(&self) -> Result<RwLockReadGuard<'_, View>> {
        let view = self.read_view();
        self.handle.check_open()?;
        Ok(view)
    }

    fn write_view(&self) -> RwLockWriteGuard<'_, View> {
        self.view.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The writer, even if a batch is open.
    fn any_writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The writer, as soon as no batch is open and no other thread has a turn.
    fn idle_writer(&self) -> Result<MutexGuard<'_, Writer>> {
        let mut writer = self.any_writer();
        self.handle.check_open()?;
        let own = std::thread::current().id();
        while writer.batch_owner.is_some() || writer.turn.is_some_and(|owner| owner != own) {
            if writer.batch_owner == Some(own) {
                return Err(Error::Invalid(format!(
                    "a batch is open on collection {:?} in this thread; commit or drop it first",
                    self.handle.collection()
                )));
            }
            writer = self.batch_ended.wait(writer).unwrap_or_else(PoisonError::into_inner);
            self.handle.check_open()?;
        }
        Ok(writer)
    }

    /// Flushes, refuses all later calls, and releases the writer's lock and the files.
    pub(crate) fn close(&self) -> Result<()> {
        let closed = self.handle.close(|| self.flush_and_count());
        // Also after a failed flush: writing what is pending takes the lock again.
        let mut writer = self.any_writer();
        if writer.batch_owner.is_none() {
            writer.guard = None;
            if self.handle.check_open().is_err() {
                self.release_files(&mut writer);
            }
        }
        closed
    }

    /// Lets go of all files. Scans under way have theirs.
    fn release_files(&self, writer: &mut Writer) {
        *self.write_view() = View::default();
        let (files, folder) = (Arc::clone(&self.files), self.paths.meta.clone());
        writer.index = IndexWriter::new(files, folder, None, true);
        writer.data = None;
        writer.batch_record = None;
        writer.sums = None;
        self.fields.set(&Arc::from([]));
        self.columns.set(&[]);
    }
}

impl Drop for LineStore {
    /// Writes what is pending. An error cannot be returned here; `close` reports it.
    fn drop(&mut self) {
        if self.handle.closes_on_drop() {
            let _ = self.close();
        }
    }
}
