//! One file per document: the layout that suits version control.
//!
//! ```text
//! collections/users/
//! ├── docs/u1.json            the document, one field per line
//! ├── docs/u2.json
//! └── meta/order.ids          the order of insertion, one id per line (`order`)
//!     meta/folio.batch.jsonl  a batch on its way into its files (`log`)
//!     meta/folio.import.json  how far the last import has come
//! ```
//!
//! The file's name is the id, and the files are authoritative. A read always returns what the file
//! holds now, in whatever form it was left, and there is no index.
//!
//! ```text
//! put      new? its id goes to order.ids → write beside → sync → rename over the file
//! delete   remove the file; order.ids is tidied at the next flush
//! batch    everything into the log → sync → apply file by file → sync → remove the log
//! get      the log, if one is complete → the file → one line, `_id` first
//! open     nothing is read before it is asked for
//! ```
//!
//! A file is synced before the rename (unless durability is `None`), so a crash leaves the old
//! document or the new one, never a torn one. That costs a sync per put. `put_many` also costs one
//! per document, but is atomic. The name itself is durable after the next flush. Readers see single
//! puts one by one, and a batch as a whole.
//!
//! There are no snapshots. A scan uses the ids that existed when it began, and reads each document
//! as it is at that moment. On a file system that treats `a.json` and `A.json` as one file, ids
//! that differ only by case are rejected.
//!
//! A writer locks `writer` first, then `view`.

mod batch;
mod check;
mod log;
mod order;
mod paths;
mod ranges;
mod read;
mod recover;
mod scan;
#[cfg(test)]
mod tests;
mod turn;
mod write;

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use folio_file::{FileSystem, Stat, WriterGuard, WriterLock};

pub(crate) use batch::FileBatch;
pub(crate) use paths::FilePaths;
pub(crate) use scan::FileScan;

use crate::error::{Error, Result};
use crate::handle_state::HandleState;
use crate::manifest::Manifest;
use crate::options::{CollectionOptions, Durability};
use log::PendingBatch;
use order::Order;
use write::List;

/// A collection in the files layout, shared by all its handles.
#[derive(Debug)]
pub(crate) struct FileStore {
    pub(crate) handle: HandleState,
    files: Arc<dyn FileSystem>,
    paths: FilePaths,
    options: CollectionOptions,
    lock: Arc<WriterLock>,
    view: Mutex<View>,
    writer: Mutex<Writer>,
    /// Notified when a batch ends, for threads that wait to write.
    batch_ended: Condvar,
}

/// What readers need besides the files.
#[derive(Debug, Default)]
struct View {
    /// The ids, once they were needed.
    order: Option<Order>,
    /// The state of the directory and the list that `order` was read from.
    listed: Option<Listed>,
    /// A batch that counts and is not yet in its files.
    pending: Option<Arc<PendingBatch>>,
}

/// Identifies the state of a directory and a list, to detect changes since they were read.
#[derive(Debug, PartialEq, Eq)]
struct Listed {
    docs: Option<Stat>,
    lists: [Option<Stat>; 2],
}

/// State that only the writer uses.
#[derive(Debug)]
struct Writer {
    manifest: Manifest,
    /// The writer's lock, held while there is something to write.
    guard: Option<WriterGuard>,
    list: List,
    /// The thread whose batch is open.
    batch_owner: Option<ThreadId>,
    /// The thread that has a turn: it alone may write, and open a batch.
    turn: Option<ThreadId>,
    /// Names in `docs/` that are not yet durable.
    names_unsynced: bool,
    /// The same for the directories above and for `meta/`, as far as this handle knows.
    directories_unsynced: bool,
    /// `order.ids` has lines of deleted documents.
    list_is_stale: bool,
    /// Whether two ids that differ only by case share one file.
    folds_case: bool,
}

impl FileStore {
    /// Opens a collection. Nothing is created before the first write.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(crate) fn open(
        files: Arc<dyn FileSystem>,
        paths: FilePaths,
        name: &str,
        options: &CollectionOptions,
        lock: Arc<WriterLock>,
        manifest: Manifest,
    ) -> Result<Arc<Self>> {
        let has_open_paths = manifest.has_open_paths;
        let writer = Writer {
            manifest,
            guard: None,
            list: List::Unknown,
            batch_owner: None,
            turn: None,
            names_unsynced: true,
            directories_unsynced: true,
            list_is_stale: false,
            folds_case: false,
        };
        let store = Self {
            handle: HandleState::new(name, options),
            files,
            paths,
            options: options.clone(),
            lock,
            view: Mutex::default(),
            writer: Mutex::new(writer),
            batch_ended: Condvar::new(),
        };
        store.handle.set_open_paths(has_open_paths);
        store.refresh()?;
        Ok(Arc::new(store))
    }

    /// Whether the collection exists on disk.
    pub(crate) fn is_created(&self) -> bool {
        self.files.stat(&self.paths.docs).is_ok()
            || self.files.stat(&crate::manifest::manifest_path(&self.paths.folder)).is_ok()
    }

    /// Flushes, refuses all later calls and releases the writer's lock.
    pub(crate) fn close(&self) -> Result<()> {
        let closed = self.handle.close(|| self.flush());
        // Also after a failed flush: writing what is pending takes the lock again.
        let mut writer = self.any_writer();
        if writer.batch_owner.is_none() {
            writer.guard = None;
        }
        closed
    }

    fn is_synced(&self) -> bool {
        self.options.durability != Durability::None
    }

    fn view(&self) -> MutexGuard<'_, View> {
        // A panic elsewhere leaves the view consistent: it is changed in single steps.
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The writer, even if a batch is open.
    fn any_writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The writer, as soon as no batch is open and no other thread has a turn.
    fn idle_writer(&self) -> Result<MutexGuard<'_, Writer>> {
        let mut writer = self.any_writer();
        let own = thread::current().id();
        while writer.batch_owner.is_some() || writer.turn.is_some_and(|owner| owner != own) {
            if writer.batch_owner == Some(own) {
                return Err(Error::Invalid(format!(
                    "a batch is open on collection {:?} in this thread; commit or drop it first",
                    self.handle.collection()
                )));
            }
            writer = self.batch_ended.wait(writer).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(writer)
    }
}

impl Drop for FileStore {
    /// Syncs the rest. An error cannot be returned here; `close` reports it.
    fn drop(&mut self) {
        if self.handle.closes_on_drop() {
            let _ = self.close();
        }
    }
}
