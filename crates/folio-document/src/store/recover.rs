//! The batch record from the writer's side: opens it for a new batch, and recovers from a killed
//! batch that left it open. An unfinished batch is removed as a whole; its lines are moved away,
//! not deleted. Lines that others have added after its beginning stay.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::slice;

use folio_file::{File, Stat};

use super::batch_record::{BatchRecord, BatchSlot};
use super::spliced::copy_parts;
use super::{LineStore, Writer};
use crate::error::{Error, Result};
use crate::options::Durability;
use crate::rejected::create_rejected;
use crate::report::Notice;

impl LineStore {
    /// Whether the record of a piece must be durable before the piece is.
    pub(super) fn syncs_batch_record(&self) -> bool {
        self.options.durability != Durability::None
            && !self.options.failpoints().skip_batch_record_sync()
    }

    /// Opens the record, for a batch that is about to begin or to end an earlier one.
    pub(super) fn open_record(&self, writer: &mut Writer) -> Result<BatchRecord> {
        if let Some(record) = writer.batch_record.take() {
            return Ok(record);
        }
        // It may be new, or its creator may not have synced its name.
        writer.record_unsynced = true;
        let path = &self.paths.batch;
        BatchRecord::open(&*self.files, path).map_err(Error::io("open", path))
    }

    /// Directories to sync before the first line of a batch, so that the names of the record and
    /// the data file are durable by then.
    pub(super) fn unsynced_directories(&self, writer: &Writer) -> Vec<PathBuf> {
        if self.syncs_names(writer) {
            self.paths.directories().into()
        } else if writer.record_unsynced && self.syncs_batch_record() {
            vec![self.paths.meta.clone()]
        } else {
            Vec::new()
        }
    }

    /// Runs before a batch counts. The directories were synced with its first line; the rest is
    /// synced now.
    pub(super) fn note_names(&self, writer: &mut Writer, are_synced: bool) -> Result<()> {
        writer.names_unsynced &= !are_synced;
        writer.record_unsynced &= !are_synced;
        self.sync_names(writer)
    }

    /// Copies `[start, end)` of the data file to `rejected-<time>.jsonl`, then truncates the file.
    /// `false` if someone has appended in between: nothing is changed then.
    pub(super) fn set_aside(
        &self,
        data: &dyn File,
        start: u64,
        end: u64,
        what: &str,
    ) -> Result<bool> {
        let path = self.reject(data, slice::from_ref(&(start..end)))?;
        if !self.cut_off(data, start, end)? {
            self.files.remove_file(&path).map_err(Error::io("remove", &path))?;
            return Ok(false);
        }
        self.note_moved(what, end - start, &path);
        Ok(true)
    }

    /// Copies parts of the data file to a rejected file.
    fn reject(&self, data: &dyn File, parts: &[Range<u64>]) -> Result<PathBuf> {
        create_rejected(&*self.files, &self.paths.meta, |file| copy_parts(data, parts, file))
    }

    fn note_moved(&self, what: &str, size: u64, path: &Path) {
        let name = self.paths.data.display();
        let text = format!("{name}: {what} ({size} bytes) was moved to {}", path.display());
        self.handle.notice([Notice(text)]);
    }

    /// Truncates the data file at `start`, durably: new lines must not mix with what a power cut
    /// brings back. `false`, with nothing done, if the file does not end at `end`.
    pub(super) fn cut_off(&self, data: &dyn File, start: u64, end: u64) -> Result<bool> {
        let io = |action| Error::io(action, &self.paths.data);
        if data.stat().map_err(io("read"))?.size != end {
            return Ok(false);
        }
        data.truncate(start).map_err(io("truncate"))?;
        data.sync_data().map_err(|error| self.handle.poison(&self.paths.data, error))?;
        Ok(true)
    }

    /// Removes a batch that a crash interrupted, as a whole. `false` if someone is writing to the
    /// file: their lines must be read first.
    pub(super) fn recover_batch(&self, writer: &mut Writer) -> Result<bool> {
        let io = |action| Error::io(action, &self.paths.batch);
        let inode = writer.known.map(|known| known.inode);
        let record = BatchSlot::open(&*self.files, &self.paths.batch).map_err(io("open"))?;
        let slots = record.map_or(Ok([None, None]), |record| BatchSlot::read_both(&*record));
        let slots = slots.map_err(io("read"))?;
        let slot = BatchSlot::about(slots, inode);
        let Some(slot) = slot.filter(BatchSlot::is_open) else {
            writer.has_open_record = false;
            let is_closed = !slots.iter().flatten().any(BatchSlot::is_open);
            slot.map_or(Ok(()), |slot| self.close_again(writer, slot, is_closed))?;
            return Ok(true);
        };
        let data = self.open_data(writer)?;
        let stat = data.stat().map_err(Error::io("read", &self.paths.data))?;
        if Some(stat) != writer.known {
            return Ok(false);
        }
        if !self.take_batch_out(writer, &slot, &*data, stat)? {
            return Ok(false);
        }
        let mut record = self.open_record(writer)?;
        record.close(slot.start, None).map_err(io("write"))?;
        // Synced at every durability: the batch may have begun with a stronger one.
        record.file.sync_data().map_err(|error| self.handle.poison(&self.paths.batch, error))?;
        writer.batch_record = Some(record);
        writer.has_open_record = false;
        Ok(true)
    }

    /// Takes the lines of an open batch out of the data file. What counts is then known to be as
    /// this writer left it, unless someone is writing to the file: `false`.
    fn take_batch_out(
        &self,
        writer: &mut Writer,
        slot: &BatchSlot,
        data: &dyn File,
        stat: Stat,
    ) -> Result<bool> {
        let what = "an interrupted batch";
        let record = self.open_record(writer)?;
        let parts = slot.parts_that_count(&*record.file, data, &stat);
        let parts = parts.map_err(Error::io("read", &self.paths.batch))?;
        writer.batch_record = Some(record);
        let size: u64 = parts.iter().map(|part| part.end - part.start).sum();
        if size == stat.size || self.read_view().index.state.data_end > size {
            return Ok(true);
        }
        if let [front] = &parts[..] {
            let is_out = match self.set_aside(data, front.end, stat.size, what) {
                Err(Error::Io { source, .. }) if is_full(&source) => {
                    self.drop_batch(data, front.end, stat.size)?
                }
                is_out => is_out?,
            };
            if !is_out {
                return Ok(false);
            }
            let left = data.stat().map_err(Error::io("read", &self.paths.data))?;
            writer.known = Some(left);
            return Ok(left.size == front.end);
        }
        let Some((rejected, size)) = self.keep_parts(writer, slot, data, &parts, stat)? else {
            return Ok(false);
        };
        self.note_moved(what, size, &rejected);
        self.reload(writer, true, &mut |_, _| true)?;
        Ok(true)
    }

    /// Cuts off an interrupted batch without a copy, for which the disk has no room: nobody was told
    /// that its lines are there, and as long as they are, nothing can be written.
    fn drop_batch(&self, data: &dyn File, start: u64, end: u64) -> Result<bool> {
        let is_out = self.cut_off(data, start, end)?;
        if is_out {
            let (name, size) = (self.paths.data.display(), end - start);
            let text = format!(
                "{name}: an interrupted batch ({size} bytes) was removed, and not moved to a file of \
                 its own, as the disk is full"
            );
            self.handle.notice([Notice(text)]);
        }
        Ok(is_out)
    }

    /// Replaces the data file by some of its parts, durably, and moves the others to a rejected
    /// file. Returns its path and their size; `None`, with nothing done, if the file has changed.
    fn keep_parts(
        &self,
        writer: &mut Writer,
        slot: &BatchSlot,
        data: &dyn File,
        parts: &[Range<u64>],
        stat: Stat,
    ) -> Result<Option<(PathBuf, u64)>> {
        let ends = parts.iter().map(|part| part.end);
        let starts = parts.iter().skip(1).map(|part| part.start).chain([stat.size]);
        let others: Vec<_> = ends.zip(starts).map(|(end, start)| end..start).collect();
        let size = others.iter().map(|part| part.end - part.start).sum();
        let kept = self.stage()?;
        copy_parts(data, parts, &*kept.file).map_err(Error::io("write", &kept.path))?;
        let rejected = self.reject(data, &others)?;
        let inode = kept.file.stat().map_err(Error::io("read", &kept.path))?.inode;
        let mut record = self.open_record(writer)?;
        self.leave_out(&mut record, slot, (stat.inode, inode))?;
        writer.batch_record = Some(record);
        if self.put_in_place(kept, data, stat)? {
            return Ok(Some((rejected, size)));
        }
        self.files.remove_file(&rejected).map_err(Error::io("remove", &rejected))?;
        Ok(None)
    }

    /// Records durably that the lines of an open batch are in the file with one inode, and not in that
    /// with another. Where the system gives files no numbers, their content says it.
    fn leave_out(
        &self,
        record: &mut BatchRecord,
        slot: &BatchSlot,
        (old, new): (u64, u64),
    ) -> Result<()> {
        let path = &self.paths.batch;
        let sync = |record: &BatchRecord| {
            record.file.sync_data().map_err(|error| self.handle.poison(path, error))
        };
        let mut slot = *slot;
        if slot.inode != old {
            slot = record.move_to(&slot, old).map_err(Error::io("write", path))?;
            sync(record)?;
        }
        if new != 0 {
            record.leave_out(&slot, new).map_err(Error::io("write", path))?;
            sync(record)?;
        }
        Ok(())
    }

    /// Before anything after a batch is promised, its end must be on the device. The writer that
    /// ended it may have died or failed before the sync, or before it had closed both slots: one that
    /// is left open would count again for a new file with the number of an old one.
    fn close_again(&self, writer: &mut Writer, slot: BatchSlot, is_closed: bool) -> Result<()> {
        let is_durable = writer.batch_record.is_some() || slot.end < writer.synced_end;
        if is_closed && (is_durable || self.options.durability == Durability::None) {
            return Ok(());
        }
        let path = &self.paths.batch;
        let mut record = self.open_record(writer)?;
        record.close(slot.end, None).map_err(Error::io("write", path))?;
        record.file.sync_data().map_err(|error| self.handle.poison(path, error))?;
        writer.batch_record = Some(record);
        Ok(())
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
