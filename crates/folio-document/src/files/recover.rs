//! Applies a batch from its log to its files, now or after a crash.

use std::io;

use serde_json::{Value, json};

use super::log::{Change, FoundLog, PendingBatch};
use super::order::{find_list, read_list};
use super::read::to_line;
use super::{FileStore, Writer};
use crate::error::{Error, Result};
use crate::rejected::{rejected_path, write_rejected};
use crate::report::Notice;
use crate::whole_file;

/// The limit for the file with an import's position, which holds two numbers.
const IMPORT_SIZE_LIMIT: usize = 4 << 10;

impl FileStore {
    /// Finishes what an earlier writer left: applies a complete batch, and moves an incomplete one
    /// away.
    pub(super) fn recover(&self, writer: &mut Writer) -> Result<()> {
        self.remove_if_there(&self.paths.unfinished)?;
        let log = &self.paths.log;
        match FoundLog::load(&*self.files, log).map_err(Error::io("read", log))? {
            FoundLog::Nothing => {
                self.view().pending = None;
                Ok(())
            }
            FoundLog::Incomplete(size) => {
                self.view().pending = None;
                self.set_aside(size)
            }
            FoundLog::Complete(batch) => {
                self.make_log_durable()?;
                self.apply(writer, &batch, true)?;
                let text = "a batch that was interrupted while it was applied is now complete";
                self.handle.notice([Notice(format!("{}: {text}", log.display()))]);
                Ok(())
            }
        }
    }

    /// Writes the log of another writer again. That writer may have died before its sync, or the
    /// sync failed. Once part of the batch is in its files, the log must survive.
    fn make_log_durable(&self) -> Result<()> {
        if !self.is_synced() {
            return Ok(());
        }
        let log = &self.paths.log;
        let Some(bytes) = whole_file::read(&*self.files, log, usize::MAX - 1)? else {
            return Ok(());
        };
        whole_file::replace(&*self.files, log, &bytes, true)
    }

    /// Moves the rest of a batch away. An empty file is not worth storing.
    fn set_aside(&self, size: u64) -> Result<()> {
        let log = &self.paths.log;
        if size == 0 {
            return self.remove_if_there(log);
        }
        let path = rejected_path(&*self.files, &self.paths.meta);
        self.files.rename(log, &path).map_err(Error::io("move", log))?;
        let text = format!("an interrupted batch ({size} bytes) was moved to {}", path.display());
        self.handle.notice([Notice(format!("{}: {text}", log.display()))]);
        Ok(())
    }

    /// Applies every change of a batch, makes them durable, and removes the log. In a recovery, the
    /// log was found and not written by this process.
    ///
    /// # Errors
    /// [`Error::Io`]. The log is then still there and can be applied again.
    pub(super) fn apply(
        &self,
        writer: &mut Writer,
        batch: &PendingBatch,
        is_recovery: bool,
    ) -> Result<()> {
        self.note_new_ids(writer, batch, is_recovery)?;
        let mut line = Vec::new();
        for (id, change) in batch.changes().iter() {
            if is_recovery {
                self.save_edit(batch, id, change)?;
            }
            match change {
                Change::Put { offset, size } => {
                    batch
                        .read_line(offset, size, &mut line)
                        .map_err(Error::io("read", &self.paths.log))?;
                    self.write_document(writer, id, &line)?;
                }
                Change::Delete => {
                    self.remove_if_there(&self.paths.document(id))?;
                    self.note_removal(writer, id);
                }
            }
        }
        if let Some((source, position)) = batch.import {
            self.save_import(source, position)?;
        }
        self.sync(writer)?;
        self.remove_if_there(&self.paths.log)?;
        if self.is_synced() {
            let meta = &self.paths.meta;
            self.files.sync_directory(meta).map_err(|error| self.handle.poison(meta, error))?;
        }
        self.view().pending = None;
        Ok(())
    }

    /// Adds the batch's new documents to the list. After a crash a file may exist without its line
    /// in the list, so the list itself is searched.
    fn note_new_ids(
        &self,
        writer: &mut Writer,
        batch: &PendingBatch,
        is_recovery: bool,
    ) -> Result<()> {
        let listed: std::collections::HashSet<String> = match find_list(&*self.files, &self.paths)?
        {
            Some(path) if is_recovery => read_list(&*self.files, &path)?.into_iter().collect(),
            _ => Default::default(),
        };
        let mut new_ids = Vec::new();
        for (id, change) in batch.changes().iter() {
            let is_known = || match is_recovery {
                true => Ok(listed.contains(id)),
                false => self.has_file(writer, id),
            };
            if matches!(change, Change::Put { .. }) && !is_known()? {
                new_ids.push(id);
            }
        }
        self.note_ids(writer, &new_ids)
    }

    /// Someone may have edited a document of the batch since the crash. The batch was acknowledged
    /// and wins, but the edit is saved.
    fn save_edit(&self, batch: &PendingBatch, id: &str, change: Change) -> Result<()> {
        let path = self.paths.document(id);
        let is_newer =
            self.stat_document(&path)?.is_some_and(|stat| Some(stat.modified_ns) > batch.sealed_ns);
        let (mut edited, mut applied) = (Vec::new(), Vec::new());
        if !is_newer || !self.is_readable(id, &mut edited)? {
            return Ok(());
        }
        if let Change::Put { offset, size } = change {
            batch
                .read_line(offset, size, &mut applied)
                .map_err(Error::io("read", &self.paths.log))?;
            to_line(id, &mut applied);
        }
        if edited == applied {
            return Ok(());
        }
        let kept = write_rejected(&*self.files, &self.paths.meta, &edited)?;
        self.handle.notice([Notice(format!(
            "{}: edited while a batch that changes it was interrupted; the batch was applied, the \
             edit was saved to {}",
            path.display(),
            kept.display()
        ))]);
        Ok(())
    }

    fn save_import(&self, source: u64, position: u64) -> Result<()> {
        let text = format!("{}\n", json!({"source": source, "position": position}));
        whole_file::replace(&*self.files, &self.paths.import, text.as_bytes(), self.is_synced())
    }

    /// How far the last committed import of this source came.
    pub(crate) fn import_position(&self, source: u64) -> Result<Option<u64>> {
        self.handle.check_open()?;
        if let Some((of, position)) = self.view().pending.as_ref().and_then(|batch| batch.import) {
            return Ok((of == source).then_some(position));
        }
        let bytes = whole_file::read(&*self.files, &self.paths.import, IMPORT_SIZE_LIMIT)?;
        let value: Option<Value> = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        Ok(value
            .filter(|value| value["source"].as_u64() == Some(source))
            .and_then(|value| value["position"].as_u64()))
    }

    fn remove_if_there(&self, path: &std::path::Path) -> Result<()> {
        match self.files.remove_file(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed.map_err(Error::io("remove", path)),
        }
    }
}
