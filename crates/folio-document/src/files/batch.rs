//! Atomic batches in the files layout; see `log` for how they work.

use std::sync::Arc;
use std::thread;

use super::log::{Change, LogWriter, PendingBatch};
use super::paths::check_file_id;
use super::{FileStore, Writer};
use crate::error::{Error, Result};
use crate::report::{BatchCounts, Notice};

/// An open batch. Nothing of it is visible before the commit; dropping it undoes it.
#[derive(Debug)]
pub(crate) struct FileBatch {
    store: Arc<FileStore>,
    /// `None` once the batch has ended.
    log: Option<LogWriter>,
    counts: BatchCounts,
    import: Option<(u64, u64)>,
}

impl FileBatch {
    pub(crate) fn begin(store: &Arc<FileStore>) -> Result<Self> {
        let mut writer = store.ready_writer()?;
        let log = LogWriter::create(&*store.files, &store.paths.log)
            .map_err(Error::io("create", &store.paths.log))?;
        writer.batch_owner = Some(thread::current().id());
        Ok(Self {
            store: Arc::clone(store),
            log: Some(log),
            counts: BatchCounts::default(),
            import: None,
        })
    }

    /// Adds a line whose id was checked: a document, or a delete marker.
    pub(crate) fn push(&mut self, id: &str, text: &[u8], is_tombstone: bool) -> Result<()> {
        check_file_id(id)?;
        if is_tombstone && !self.exists(id)? {
            return Ok(());
        }
        let existed_before = self.store.has_file(&self.store.any_writer(), id)?;
        let log = self.log.as_mut().expect("the log is there until the batch ends");
        // This undoes an earlier change of the id in the batch.
        if let Some(earlier) = log.changes().get(id) {
            let was_deleted = matches!(earlier, Change::Delete);
            count(&mut self.counts, was_deleted, existed_before, |count| *count -= 1);
        }
        count(&mut self.counts, is_tombstone, existed_before, |count| *count += 1);
        log.push(id, text, is_tombstone).map_err(Error::io("write", &self.store.paths.log))
    }

    /// Whether the id has a document, in this batch or in the collection.
    pub(crate) fn exists(&self, id: &str) -> Result<bool> {
        let log = self.log.as_ref().expect("the log is there until the batch ends");
        match log.changes().get(id) {
            Some(Change::Put { .. }) => Ok(true),
            Some(Change::Delete) => Ok(false),
            None => self.store.has_file(&self.store.any_writer(), id),
        }
    }

    /// The line of a document, from this batch or the collection; `false` if there is none.
    pub(crate) fn find(&self, id: &str, text: &mut Vec<u8>) -> Result<bool> {
        let log = self.log.as_ref().expect("the log is there until the batch ends");
        match log.changes().get(id) {
            Some(Change::Put { offset, size }) => {
                text.resize(size, 0);
                log.read(offset, text).map_err(Error::io("read", &self.store.paths.log))?;
                Ok(true)
            }
            Some(Change::Delete) => Ok(false),
            None => self.store.get(id, text),
        }
    }

    /// Bytes of the lines so far, line ends included.
    pub(crate) fn size(&self) -> u64 {
        self.log.as_ref().map_or(0, LogWriter::size)
    }

    pub(crate) fn set_import_position(&mut self, source: u64, position: u64) {
        self.import = Some((source, position));
    }

    /// Makes the batch durable, unless durability is `None`, and visible.
    ///
    /// # Errors
    /// As a put; then nothing of the batch is stored. Once the log is durable the batch counts: a
    /// later failure is reported as a notice, and the next write completes the rest.
    pub(crate) fn commit(mut self) -> Result<BatchCounts> {
        let store = Arc::clone(&self.store);
        let mut writer = store.any_writer();
        let log = self.log.take().expect("the log is there until the batch ends");
        if log.changes().is_empty() && self.import.is_none() {
            self.discard(&mut writer);
            return store.flush_as(&mut writer).map(|()| self.counts);
        }
        let batch = match self.finish(&mut writer, log) {
            Ok(batch) => Arc::new(batch),
            Err(error) => {
                self.discard(&mut writer);
                return Err(error);
            }
        };
        store.view().pending = Some(Arc::clone(&batch));
        let applied =
            store.apply(&mut writer, &batch, false).and_then(|()| store.flush_as(&mut writer));
        if let Err(error) = applied {
            let text =
                format!("a batch is committed, but not yet fully written to its files: {error}");
            store.handle.notice([Notice(format!("{}: {text}", store.paths.log.display()))]);
            store.view().order = None;
        }
        self.release(&mut writer);
        Ok(self.counts)
    }

    /// Writes the rest of the log and makes it durable, its name included.
    fn finish(&self, writer: &mut Writer, mut log: LogWriter) -> Result<PendingBatch> {
        let (store, path) = (&self.store, &self.store.paths.log);
        // Synced first, because a sealed log may survive without a sync: data before the batch must
        // not be lost if the batch is not. For example, a delete that found nothing is not in the
        // log, and the directory may be newer than the last flush.
        store.sync(writer)?;
        log.seal(self.import).map_err(Error::io("write", path))?;
        if store.is_synced() {
            log.sync().map_err(|error| store.handle.poison(path, error))?;
            let meta = &store.paths.meta;
            store.files.sync_directory(meta).map_err(|error| store.handle.poison(meta, error))?;
        }
        Ok(log.into_pending(self.import))
    }

    /// Removes what was written of a failed batch, and releases the lock if it can.
    fn discard(&self, writer: &mut Writer) {
        // If this fails too, the next writer finds an incomplete log and moves it away, or a
        // complete one and applies it: a failed commit may have succeeded.
        let _ = self.store.files.remove_file(&self.store.paths.log);
        // A log that returns after a crash must not be newer than later writes.
        writer.directories_unsynced = true;
        if !self.store.handle.is_poisoned() {
            let _ = self.store.flush_as(writer);
        }
        self.release(writer);
    }

    /// Lets others write again.
    fn release(&self, writer: &mut Writer) {
        writer.batch_owner = None;
        self.store.batch_ended.notify_all();
    }
}

/// Changes the count that an id's change belongs to, if any.
fn count(
    counts: &mut BatchCounts,
    is_tombstone: bool,
    existed_before: bool,
    change: impl FnOnce(&mut u64),
) {
    match (is_tombstone, existed_before) {
        (true, true) => change(&mut counts.deleted),
        (true, false) => {}
        (false, true) => change(&mut counts.replaced),
        (false, false) => change(&mut counts.inserted),
    }
}

impl Drop for FileBatch {
    /// Undoes a batch that was not committed.
    fn drop(&mut self) {
        if self.log.take().is_some() {
            let store = Arc::clone(&self.store);
            self.discard(&mut store.any_writer());
        }
    }
}
