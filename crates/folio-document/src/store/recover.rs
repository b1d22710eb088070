//! The record of a batch, from the writer's side: opened for a batch of its own, and
//! followed where one that was killed left it open. A batch that
//! never ended is taken back as a whole, and moved away rather than deleted.

use std::path::PathBuf;

use folio_file::File;

use super::batch_record::{BatchRecord, BatchSlot};
use super::{LineStore, Writer};
use crate::error::{Error, Result};
use crate::options::Durability;
use crate::report::Notice;

impl LineStore {
    /// Whether what the record says of a piece must be durable before the piece is.
    pub(super) fn syncs_batch_record(&self) -> bool {
        self.options.durability != Durability::None
            && !self.options.switches().skip_batch_record_sync()
    }

    /// The record, for a batch that is about to begin.
    pub(super) fn open_record(&self, writer: &mut Writer) -> Result<BatchRecord> {
        if let Some(record) = writer.batch_record.take() {
            return Ok(record);
        }
        // It may be new, or left by somebody who did not come to sync its name.
        writer.record_unsynced = true;
        let path = &self.paths.batch;
        BatchRecord::open(&*self.files, path).map_err(Error::io("open", path))
    }

    /// Directories to sync before the first line of a batch: record and data file have
    /// their names on the device then.
    pub(super) fn unsynced_directories(&self, writer: &Writer) -> Vec<PathBuf> {
        if self.syncs_names(writer) {
            self.paths.directories().into()
        } else if writer.record_unsynced && self.syncs_batch_record() {
            vec![self.paths.meta.clone()]
        } else {
            Vec::new()
        }
    }

    /// Before a batch counts: the directories were synced with its first line, or what is
    /// left of them is now.
    pub(super) fn note_names(&self, writer: &mut Writer, are_synced: bool) -> Result<()> {
        writer.names_unsynced &= !are_synced;
        writer.record_unsynced &= !are_synced;
        self.sync_names(writer)
    }

    /// Copies `[start, end)` of the data file to `rejected-<time>.jsonl`, then cuts it off.
    /// `false` when somebody has appended meanwhile: then all stays as it is.
    pub(super) fn set_aside(
        &self,
        data: &dyn File,
        start: u64,
        end: u64,
        what: &str,
    ) -> Result<bool> {
        let mut bytes = vec![0; (end - start) as usize];
        let read = data.read_at(&mut bytes, start).map_err(Error::io("read", &self.paths.data))?;
        bytes.truncate(read);
        let path = self.write_rejected(&bytes)?;
        if !self.cut_off(data, start, end)? {
            self.files.remove_file(&path).map_err(Error::io("remove", &path))?;
            return Ok(false);
        }
        let text = format!(
            "{}: {what} ({read} bytes) now stands in {}",
            self.paths.data.display(),
            path.display()
        );
        self.handle.notice([Notice(text)]);
        Ok(true)
    }

    /// Cuts the data file off at `start`, durably: what follows there must not mix with
    /// what a power cut brings back. `false`, and nothing done, unless the file ends at `end`.
    pub(super) fn cut_off(&self, data: &dyn File, start: u64, end: u64) -> Result<bool> {
        let io = |action| Error::io(action, &self.paths.data);
        if data.stat().map_err(io("read"))?.size != end {
            return Ok(false);
        }
        data.truncate(start).map_err(io("truncate"))?;
        data.sync_data().map_err(|error| self.handle.poison(&self.paths.data, error))?;
        Ok(true)
    }

    /// A batch that was cut off by a crash is taken back as a whole. `false` when somebody
    /// writes to the file meanwhile: what that is must be looked at first.
    pub(super) fn recover_batch(&self, writer: &mut Writer) -> Result<bool> {
        let io = |action| Error::io(action, &self.paths.batch);
        let slot = BatchSlot::read(&*self.files, &self.paths.batch).map_err(io("read"))?;
        let Some(slot) = slot.filter(BatchSlot::is_open) else {
            writer.has_open_record = false;
            return slot.map_or(Ok(()), |slot| self.close_again(writer, slot)).map(|()| true);
        };
        let data = self.open_data(writer)?;
        let stat = data.stat().map_err(Error::io("read", &self.paths.data))?;
        if Some(stat) != writer.known {
            return Ok(false);
        }
        let covered = self.read_view().index.state.data_end;
        let mut size = stat.size;
        if slot.inode == stat.inode && covered <= slot.start && slot.start < size {
            if !self.set_aside(&*data, slot.start, size, "an interrupted batch")? {
                return Ok(false);
            }
            size = slot.start;
        }
        let mut record = BatchRecord::open(&*self.files, &self.paths.batch).map_err(io("open"))?;
        record.close(slot.start, None).map_err(io("write"))?;
        // Whatever the durability: the batch may have been begun with more of it.
        record.file.sync_data().map_err(|error| self.handle.poison(&self.paths.batch, error))?;
        writer.batch_record = Some(record);
        writer.has_open_record = false;
        let stat = data.stat().map_err(Error::io("read", &self.paths.data))?;
        writer.known = Some(stat);
        Ok(stat.size == size)
    }

    /// Before something is promised behind a batch, that it has ended must be on the
    /// device: who ended it may have died, or failed, before.
    fn close_again(&self, writer: &mut Writer, slot: BatchSlot) -> Result<()> {
        let is_durable = writer.batch_record.is_some() || slot.end < writer.synced_end;
        if is_durable || self.options.durability == Durability::None {
            return Ok(());
        }
        let path = &self.paths.batch;
        let mut record = BatchRecord::open(&*self.files, path).map_err(Error::io("open", path))?;
        record.close(slot.end, None).map_err(Error::io("write", path))?;
        record.file.sync_data().map_err(|error| self.handle.poison(path, error))?;
        writer.batch_record = Some(record);
        Ok(())
    }
}
