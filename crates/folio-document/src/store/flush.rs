//! From memory to the file, from the file to the device, and into the index.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use folio_file::{File, LockError, OpenMode};

use super::batch_record::{BatchRecord, BatchSlot};
use super::harvest::count_in;
use super::publish::fault_error;
use super::view::Pending;
use super::{LineStore, Writer};
use crate::error::{Error, Result};
use crate::index::{BlockSums, resolve};
use crate::manifest::Manifest;
use crate::options::Durability;
use crate::report::Notice;
use crate::segment::Segment;

/// So many entries in memory become a run even before a flush.
const DELTA_MEMORY_LIMIT: usize = 1 << 18;

/// Writers that wait for a common sync.
#[derive(Debug, Default)]
pub(super) struct GroupCommit {
    state: Mutex<CommitState>,
    done: Condvar,
}

#[derive(Debug, Default)]
struct CommitState {
    synced: u64,
    is_syncing: bool,
}

impl LineStore {
    /// Makes every write so far durable and gives the writer's lock back.
    pub(crate) fn flush(&self) -> Result<()> {
        self.check_writable()?;
        let mut writer = self.idle_writer()?;
        self.flush_as(&mut writer)
    }

    pub(super) fn flush_as(&self, writer: &mut Writer) -> Result<()> {
        self.settle(writer)?;
        self.sync(writer)?;
        self.compact_if_worthwhile(writer)?;
        self.publish(writer)?;
        writer.guard = None;
        Ok(())
    }

    /// A last flush, which also tells readers of the manifest how many documents there are.
    pub(super) fn flush_and_count(&self) -> Result<()> {
        self.check_writable()?;
        let mut writer = self.idle_writer()?;
        self.settle(&mut writer)?;
        if writer.sequence > 0 {
            self.save_count(&mut writer)?;
        }
        self.flush_as(&mut writer)
    }

    /// Another process that is writing will count itself, so it is not waited for.
    fn save_count(&self, writer: &mut Writer) -> Result<()> {
        if writer.guard.is_none() {
            let Ok(guard) = self.lock.try_acquire() else { return Ok(()) };
            writer.guard = Some(guard);
        }
        self.follow_manifest(writer)?;
        let count = self.read_view().count();
        if !writer.manifest.is_stored || writer.manifest.document_count == count {
            return Ok(());
        }
        writer.manifest.document_count = count;
        self.save_manifest(writer)
    }

    /// Remembers the schema that documents must follow from now on.
    pub(crate) fn set_schema(&self, schema: serde_json::Value) -> Result<()> {
        self.check_writable()?;
        let mut writer = self.any_writer();
        self.take_lock(&mut writer)?;
        self.follow_manifest(&mut writer)?;
        writer.manifest.strict = true;
        writer.manifest.schema = Some(schema);
        if self.is_created() { self.save_manifest(&mut writer) } else { Ok(()) }
    }

    /// With the lock in hand: another process may have given the collection a schema
    /// since the manifest was read, which writing ours back must not undo.
    fn follow_manifest(&self, writer: &mut Writer) -> Result<()> {
        let manifest = Manifest::load(&*self.files, &self.paths.folder)?;
        if manifest.is_stored {
            writer.manifest = manifest;
        }
        Ok(())
    }

    fn save_manifest(&self, writer: &mut Writer) -> Result<()> {
        let synced = self.options.durability != Durability::None;
        writer.manifest.save(&*self.files, &self.paths.folder, synced)
    }

    /// Before a scan or a count of bytes: what is pending goes to the file.
    pub(super) fn settle_if_pending(&self) -> Result<()> {
        if self.read_view().pending.is_empty() {
            return Ok(());
        }
        let mut writer = self.any_writer();
        if writer.batch_owner.is_some() {
            return Ok(()); // a batch begins by settling, so nothing is pending
        }
        self.settle(&mut writer)
    }

    /// Takes the writer's lock, waiting for another process as long as the options say.
    pub(super) fn take_lock(&self, writer: &mut Writer) -> Result<()> {
        if writer.guard.is_some() {
            return Ok(());
        }
        if writer.data.is_none() && !self.is_created() {
            self.files
                .create_directory(&self.paths.database)
                .map_err(Error::io("create", &self.paths.database))?;
        }
        match self.lock.acquire(self.options.lock_timeout) {
            Ok(guard) => {
                writer.guard = Some(guard);
                Ok(())
            }
            Err(LockError::Held { pid }) => Err(Error::Locked {
                path: self.paths.database.clone(),
                holder: pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default(),
            }),
            Err(LockError::Io { path, source }) => Err(Error::Io { action: "lock", path, source }),
            Err(other) => Err(Error::Invalid(other.to_string())),
        }
    }

    /// With the lock in hand: is the file as we left it? If not, somebody wrote or
    /// edited it, and we go on from there.
    pub(super) fn follow_others(&self, writer: &mut Writer) -> Result<()> {
        let stat = self.files.stat(&self.paths.data).ok();
        let is_ours =
            stat == writer.known && !writer.index.is_in_memory() && !self.head_has_moved(writer);
        if !is_ours {
            self.reload(writer, false, &mut |_, _| true)?;
        }
        self.recover_batch(writer)
    }

    /// The data file, open for appending; created when the collection is new.
    pub(super) fn open_data(&self, writer: &mut Writer) -> Result<Arc<dyn File>> {
        if let Some(data) = &writer.data {
            return Ok(Arc::clone(data));
        }
        let is_new = !self.is_created();
        if is_new {
            self.files
                .create_directory(&self.paths.meta)
                .map_err(Error::io("create", &self.paths.meta))?;
            writer.names_unsynced = true;
            self.save_manifest(writer)?;
        }
        let data = self
            .files
            .open(&self.paths.data, OpenMode::Append)
            .map_err(Error::io("open", &self.paths.data))?;
        // The original engines would trust their own index over what we write.
        let foreign_index = self.paths.meta.join("index.bin");
        if self.files.stat(&foreign_index).is_ok() {
            self.files.remove_file(&foreign_index).map_err(Error::io("remove", &foreign_index))?;
        }
        if is_new {
            let stat = data.stat().map_err(Error::io("read", &self.paths.data))?;
            writer.known = Some(stat);
            let segment = Segment::new(Arc::clone(&data), self.options.cache_size);
            let mut view = self.write_view();
            view.segment = Some(Arc::new(segment));
            view.index.state = view.index.state.with_stat(&stat);
        }
        writer.data = Some(Arc::clone(&data));
        Ok(data)
    }

    /// Ready to append: the lock, the truth, the file, the sums.
    pub(super) fn prepare_to_append(&self, writer: &mut Writer) -> Result<Arc<dyn File>> {
        self.take_lock(writer)?;
        self.follow_others_quickly(writer)?;
        let data = self.open_data(writer)?;
        self.end_last_line(writer, &*data)?;
        if writer.sums.is_none() {
            let end = self.read_view().index.state.data_end;
            let sums =
                if end == 0 { Ok(BlockSums::at_start()) } else { BlockSums::resume(&*data, end) };
            writer.sums = Some(sums.map_err(Error::io("read", &self.paths.data))?);
        }
        Ok(data)
    }

    /// Before each append, path and handle are compared: one call when nothing happened.
    fn follow_others_quickly(&self, writer: &mut Writer) -> Result<()> {
        let stat = self.files.stat(&self.paths.data).ok();
        if stat == writer.known && !writer.index.is_in_memory() {
            return Ok(());
        }
        self.follow_others(writer)
    }

    /// Ends a last line that somebody left open, or moves its torn remains away,
    /// so that what we append begins a line.
    fn end_last_line(&self, writer: &mut Writer, data: &dyn File) -> Result<()> {
        let io = |action| Error::io(action, &self.paths.data);
        let size = data.stat().map_err(io("read"))?.size;
        let (end, is_open) = {
            let state = &self.read_view().index.state;
            (state.data_end, state.unterminated == 1)
        };
        if size > end {
            self.set_aside(data, end, size, "the torn end of an interrupted write")?;
        }
        if is_open {
            data.append(b"\n").map_err(io("append to"))?;
            let mut view = self.write_view();
            let mut sums = BlockSums::resume(data, end).map_err(io("read"))?;
            let mut blocks = Vec::new();
            sums.update(b"\n", &mut blocks);
            view.index.delta.blocks.extend(blocks);
            view.index.state.data_end += 1;
            view.index.state.tail_sum = sums.tail();
            view.index.state.unterminated = 0;
            writer.sums = Some(sums);
            writer.unpublished = true;
            writer.data_unsynced = true;
        }
        writer.known = Some(data.stat().map_err(io("read"))?);
        Ok(())
    }

    /// Copies `[start, end)` of the data file to `rejected-<time>.jsonl`, then cuts it off.
    pub(super) fn set_aside(
        &self,
        data: &dyn File,
        start: u64,
        end: u64,
        what: &str,
    ) -> Result<()> {
        let mut bytes = vec![0; (end - start) as usize];
        let read = data.read_at(&mut bytes, start).map_err(Error::io("read", &self.paths.data))?;
        bytes.truncate(read);
        let path = self.write_rejected(&bytes)?;
        data.truncate(start).map_err(Error::io("truncate", &self.paths.data))?;
        if self.options.durability != Durability::None {
            data.sync_data().map_err(|error| self.poison(&self.paths.data, error))?;
        }
        let text = format!(
            "{}: {what} ({read} bytes) now stands in {}",
            self.paths.data.display(),
            path.display()
        );
        self.notice([Notice(text)]);
        Ok(())
    }

    /// A batch that was cut off by a crash is taken back as a whole.
    pub(super) fn recover_batch(&self, writer: &mut Writer) -> Result<()> {
        let io = |action| Error::io(action, &self.paths.batch);
        let Some(slot) = BatchSlot::read(&*self.files, &self.paths.batch).map_err(io("read"))?
        else {
            return Ok(());
        };
        if !slot.is_open() {
            return Ok(());
        }
        let data = self.open_data(writer)?;
        let stat = data.stat().map_err(Error::io("read", &self.paths.data))?;
        let covered = self.read_view().index.state.data_end;
        if slot.inode == stat.inode && covered <= slot.start && slot.start < stat.size {
            self.set_aside(&*data, slot.start, stat.size, "an interrupted batch")?;
        }
        let mut record = BatchRecord::open(&*self.files, &self.paths.batch).map_err(io("open"))?;
        record.close(slot.start, None).map_err(io("write"))?;
        if self.options.durability != Durability::None {
            record.file.sync_data().map_err(|error| self.poison(&self.paths.batch, error))?;
        }
        writer.batch_record = Some(record);
        writer.known = Some(data.stat().map_err(Error::io("read", &self.paths.data))?);
        Ok(())
    }

    /// Takes lines that now stand at `start` into the index.
    pub(super) fn take_in(
        &self,
        writer: &mut Writer,
        pending: &Pending,
        start: u64,
    ) -> Result<(), crate::index::IndexFault> {
        let mut view = self.write_view();
        let view = &mut *view;
        let segment = Arc::clone(view.segment.as_ref().expect("an open data file has a segment"));
        let entries = pending.delta.entries().iter().map(|entry| entry.moved_by(start)).collect();
        let resolved = resolve(entries, &view.index, &*segment)?;
        count_in(&mut view.index, &resolved, 0);
        let sums = writer.sums.as_mut().expect("prepared to append");
        sums.update(&pending.bytes, &mut view.index.delta.blocks);
        view.index.state.data_end = sums.position();
        view.index.state.tail_sum = sums.tail();
        resolved.entries.into_iter().for_each(|entry| view.index.delta.push(entry));
        view.index.delta.skips.extend(resolved.skips);
        if view.index.delta.len() > DELTA_MEMORY_LIMIT {
            writer.index.spill(&mut view.index, &*segment)?;
        }
        Ok(())
    }

    /// Makes the file, and on the first time its name, durable.
    pub(super) fn sync(&self, writer: &mut Writer) -> Result<()> {
        if self.options.durability == Durability::None {
            return Ok(());
        }
        if let Some(data) = writer.data.as_ref().filter(|_| writer.data_unsynced) {
            data.sync_data().map_err(|error| self.poison(&self.paths.data, error))?;
            writer.data_unsynced = false;
        }
        self.sync_names(writer)
    }

    pub(super) fn sync_names(&self, writer: &mut Writer) -> Result<()> {
        if writer.names_unsynced && self.options.durability != Durability::None {
            for directory in self.paths.directories() {
                self.files
                    .sync_directory(&directory)
                    .map_err(|error| self.poison(&directory, error))?;
            }
            writer.names_unsynced = false;
        }
        Ok(())
    }

    /// Publishes what was settled, so that other processes need not read it again.
    pub(super) fn publish(&self, writer: &mut Writer) -> Result<()> {
        if !writer.unpublished {
            return Ok(());
        }
        let Some(data) = writer.data.clone() else { return Ok(()) };
        // What somebody has edited since we wrote must not be published as indexed.
        if writer.known.is_none() || self.files.stat(&self.paths.data).ok() != writer.known {
            return Ok(());
        }
        // A time of our own, to the nanosecond: an edit within the same tick of
        // the kernel's clock then still gives the file another time.
        let _ = data.set_modified(self.files.now());
        let stat = data.stat().map_err(Error::io("read", &self.paths.data))?;
        let mut view = self.write_view();
        let view = &mut *view;
        if stat.size != view.index.state.data_end {
            return Ok(()); // somebody appends at this moment: our next write looks
        }
        view.index.state = view.index.state.with_stat(&stat);
        writer.known = Some(stat);
        let segment = Arc::clone(view.segment.as_ref().expect("an open data file has a segment"));
        writer
            .index
            .publish(&mut view.index, &*segment)
            .map_err(|fault| fault_error(fault, &self.paths.head))?;
        writer.unpublished = false;
        Ok(())
    }

    /// Waits until the write with this number is durable. One of the waiting
    /// threads syncs for all that have written by then.
    pub(super) fn sync_up_to(&self, sequence: u64) -> Result<()> {
        let mut state = self.commit.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if state.synced >= sequence {
                return Ok(());
            }
            self.check_writable()?; // a failed sync of another thread fails us all
            if !state.is_syncing {
                break;
            }
            state = self.commit.done.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.is_syncing = true;
        drop(state);
        let synced = self.sync_for_all();
        let mut state = self.commit.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_syncing = false;
        if let Ok(synced) = synced {
            state.synced = state.synced.max(synced);
        }
        drop(state);
        self.commit.done.notify_all();
        synced.map(|_| ())
    }

    /// Settles what there is, syncs without holding up those who come meanwhile,
    /// and publishes; answers up to which write it got.
    fn sync_for_all(&self) -> Result<u64> {
        let (data, sequence) = {
            let mut writer = self.idle_writer()?;
            self.settle(&mut writer)?;
            self.sync_names(&mut writer)?;
            writer.data_unsynced = false;
            (self.open_data(&mut writer)?, writer.sequence)
        };
        data.sync_data().map_err(|error| self.poison(&self.paths.data, error))?;
        let mut writer = self.idle_writer()?;
        self.compact_if_worthwhile(&mut writer)?;
        self.publish(&mut writer)?;
        Ok(sequence)
    }
}
