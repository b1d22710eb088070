//! From memory to the file, then to the device, then into the index.

use std::sync::Arc;

use folio_file::{File, OpenMode};

use super::line_chunk::count_in;
use super::publish::fault_error;
use super::view::Pending;
use super::{LineStore, Writer};
use crate::error::{Error, Result};
use crate::index::{BlockSums, Entry, IndexFault, LineSource, Origin, line_sum, resolve};
use crate::manifest::Manifest;
use crate::report::Notice;
use crate::segment::Segment;

/// With this many entries in memory, a run is written even before a flush.
const DELTA_MEMORY_LIMIT: usize = 1 << 18;

/// How often to look again at a file that others keep writing to.
const ATTEMPTS: usize = 10;

impl LineStore {
    /// Makes all previous writes durable and releases the writer's lock.
    pub(crate) fn flush(&self) -> Result<()> {
        self.handle.check_writable()?;
        let mut writer = self.idle_writer()?;
        self.flush_as(&mut writer)
    }

    /// Like `flush`, but skips an open batch, during which nothing is pending, and a turn, which must
    /// keep the lock.
    pub(crate) fn flush_pending(&self) -> Result<()> {
        if self.handle.check_writable().is_err() {
            return Ok(());
        }
        let mut writer = self.any_writer();
        let is_busy = writer.batch_owner.is_some() || writer.turn.is_some();
        if is_busy { Ok(()) } else { self.flush_as(&mut writer) }
    }

    /// Appends what is pending to the file, without a sync.
    pub(crate) fn write_pending(&self) -> Result<()> {
        if self.handle.check_writable().is_err() { Ok(()) } else { self.append_if_pending() }
    }

    /// Without the lock, this process has nothing to make durable.
    pub(super) fn flush_as(&self, writer: &mut Writer) -> Result<()> {
        if writer.guard.is_none() {
            return Ok(());
        }
        self.take_lock(writer)?;
        self.append_pending(writer)?;
        self.sync(writer)?;
        self.compact_if_worthwhile(writer)?;
        self.publish(writer)?;
        self.publish_fields(writer);
        writer.guard = None;
        Ok(())
    }

    /// The last flush, which also writes the document count to the manifest.
    pub(super) fn flush_and_count(&self) -> Result<()> {
        self.handle.check_writable()?;
        let mut writer = self.idle_writer()?;
        self.append_pending(&mut writer)?;
        let counted = if writer.sequence > 0 { self.save_count(&mut writer) } else { Ok(()) };
        self.flush_as(&mut writer)?;
        if let Err(error) = counted {
            // The original engines read it; here it is asked of the index.
            let name = self.handle.collection();
            let text = format!("{name}: all is stored, except the count in the manifest: {error}");
            self.handle.notice([Notice(text)]);
        }
        Ok(())
    }

    /// Does not wait for another process that is writing: it will save its own count.
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

    /// Stores the schema that documents must follow from now on.
    pub(crate) fn set_schema(&self, schema: serde_json::Value) -> Result<()> {
        self.handle.check_writable()?;
        let mut writer = self.any_writer();
        self.look_at_others(&mut writer)?;
        self.follow_manifest(&mut writer)?;
        writer.manifest.strict = true;
        writer.manifest.schema = Some(schema);
        if self.is_created() { self.save_manifest(&mut writer) } else { Ok(()) }
    }

    /// Called with the lock held. Another process may have set a schema since the manifest was
    /// read; writing our copy back must not undo that.
    pub(super) fn follow_manifest(&self, writer: &mut Writer) -> Result<()> {
        let manifest = Manifest::load(&*self.files, &self.paths.folder)?;
        if manifest.is_stored {
            self.follow_settings(&manifest);
            writer.manifest = manifest;
        }
        Ok(())
    }

    pub(super) fn save_manifest(&self, writer: &mut Writer) -> Result<()> {
        // Synced at every durability: a torn manifest prevents opening the collection.
        writer.manifest.save(&*self.files, &self.paths.folder, true)
    }

    /// Runs before a scan or a count of bytes: writes what is pending to the file.
    pub(super) fn append_if_pending(&self) -> Result<()> {
        if self.read_view().pending.is_empty() {
            return Ok(());
        }
        let mut writer = self.any_writer();
        if writer.batch_owner.is_some() {
            return Ok(()); // a batch first appends what is pending, so nothing is
        }
        self.append_pending(&mut writer)
    }

    /// Takes the writer's lock, or checks that the one it has still protects the collection. Waits for
    /// another process as long as the options allow.
    pub(super) fn take_lock(&self, writer: &mut Writer) -> Result<()> {
        if let Some(guard) = &writer.guard {
            return self.handle.check_lock(guard);
        }
        if writer.data.is_none() && !self.is_created() {
            self.files
                .create_directory(&self.paths.database)
                .map_err(Error::io("create", &self.paths.database))?;
        }
        let guard = self.lock.acquire(self.options.lock_timeout.get());
        writer.guard = Some(guard.map_err(Error::lock(&self.paths.database))?);
        Ok(())
    }

    /// Called with the lock held. If the file is not as this writer left it, reads what others
    /// wrote and continues from there. On failure the lock is released, so that the next write
    /// looks again.
    pub(super) fn follow_others(&self, writer: &mut Writer) -> Result<()> {
        let followed = self.try_follow_others(writer);
        if followed.is_err() && self.read_view().pending.is_empty() {
            writer.guard = None;
            writer.known = None;
        }
        followed
    }

    fn try_follow_others(&self, writer: &mut Writer) -> Result<()> {
        self.follow_definitions(writer)?;
        let stat = self.files.stat(&self.paths.data).ok();
        let is_ours =
            stat == writer.known && !writer.index.is_in_memory() && !self.head_has_moved(writer);
        if !is_ours {
            self.reload(writer, false, &mut |_, _| true)?;
        }
        self.look_until(writer, |writer| self.recover_batch(writer))?;
        if std::mem::take(&mut writer.found_unsynced) {
            writer.names_unsynced = true;
            writer.data_unsynced = true;
        }
        Ok(())
    }

    /// Repeats a step that returns `false` because others wrote to the file since it was read.
    /// Reads the file again before each repetition.
    fn look_until(
        &self,
        writer: &mut Writer,
        mut step: impl FnMut(&mut Writer) -> Result<bool>,
    ) -> Result<()> {
        for _ in 0..ATTEMPTS {
            if step(writer)? {
                return Ok(());
            }
            self.reload(writer, false, &mut |_, _| true)?;
        }
        Err(Error::Invalid(format!(
            "{} keeps being written to by another program; try again when that is done",
            self.paths.data.display()
        )))
    }

    /// Creates the data file, without documents.
    pub(crate) fn create(&self) -> Result<()> {
        self.handle.check_writable()?;
        let mut writer = self.idle_writer()?;
        self.prepare_to_append(&mut writer)?;
        self.flush_as(&mut writer)
    }

    /// The data file, open for appending. Created if the collection is new.
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
        // The original engines would trust their own index over our lines.
        let foreign_index = self.paths.meta.join("index.bin");
        if self.files.stat(&foreign_index).is_ok() {
            self.files.remove_file(&foreign_index).map_err(Error::io("remove", &foreign_index))?;
        }
        if !is_new {
            // A killed compaction may have left a file as large as the data.
            let _ = self.files.remove_file(&self.paths.staged);
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
        if !is_new {
            self.write_suspect_again(writer)?;
        }
        Ok(data)
    }

    /// Prepares to append: takes the lock, reads changes of others, opens the file, computes the
    /// sums.
    pub(super) fn prepare_to_append(&self, writer: &mut Writer) -> Result<Arc<dyn File>> {
        let had_lock = writer.guard.is_some();
        self.take_lock(writer)?;
        match had_lock {
            true => self.follow_others_quickly(writer)?,
            false => self.follow_others(writer)?, // another process may have begun a batch
        }
        self.look_until(writer, |writer| self.end_last_line(writer))?;
        let data = self.open_data(writer)?;
        if writer.sums.is_none() {
            let end = self.read_view().index.state.data_end;
            let sums =
                if end == 0 { Ok(BlockSums::at_start()) } else { BlockSums::resume(&*data, end) };
            writer.sums = Some(sums.map_err(Error::io("read", &self.paths.data))?);
        }
        Ok(data)
    }

    /// Runs before each append. Compares path and handle: one call if nothing happened.
    pub(super) fn follow_others_quickly(&self, writer: &mut Writer) -> Result<()> {
        let stat = self.files.stat(&self.paths.data).ok();
        let is_ours = stat == writer.known || self.options.failpoints().ignore_edits();
        if is_ours && !writer.index.is_in_memory() && !writer.has_open_record {
            return Ok(());
        }
        self.follow_others(writer)
    }

    /// Ends a last line without a line end, or moves its torn rest away, so that what we append
    /// starts a line. `false` if the file changed since it was read: its end is then not a rest,
    /// but a line of someone else.
    fn end_last_line(&self, writer: &mut Writer) -> Result<bool> {
        let io = |action| Error::io(action, &self.paths.data);
        let data = self.open_data(writer)?;
        let stat = data.stat().map_err(io("read"))?;
        if Some(stat) != writer.known && !self.options.failpoints().ignore_edits() {
            return Ok(false);
        }
        let (end, is_open) = {
            let state = &self.read_view().index.state;
            (state.data_end, state.unterminated == 1)
        };
        let what = "the torn end of an interrupted write";
        if stat.size > end && !self.set_aside(&*data, end, stat.size, what)? {
            return Ok(false);
        }
        if is_open && !self.end_line(writer, &*data, end)? {
            return Ok(false);
        }
        let size = self.read_view().index.state.data_end;
        let stat = data.stat().map_err(io("read"))?;
        writer.known = Some(stat);
        Ok(stat.size == size || self.options.failpoints().ignore_edits())
    }

    /// Appends the line end to a last line that ends at `end` without one.
    fn end_line(&self, writer: &mut Writer, data: &dyn File, end: u64) -> Result<bool> {
        let io = |action| Error::io(action, &self.paths.data);
        // A separate, durable write at every durability. If more followed first, a power cut could
        // leave zeros between this document and the rest.
        let written = data.append(b"\n").map_err(io("append to"))?;
        data.sync_data().map_err(|error| self.handle.poison(&self.paths.data, error))?;
        if written != end + 1 {
            return Ok(false);
        }
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
        Ok(true)
    }

    /// Adds the lines that are now at `start` to the index.
    pub(super) fn take_in(
        &self,
        writer: &mut Writer,
        pending: &Pending,
        start: u64,
    ) -> Result<(), IndexFault> {
        let mut view = self.write_view();
        let view = &mut *view;
        let segment = Arc::clone(view.segment.as_ref().expect("an open data file has a segment"));
        let entries = pending.delta.entries().iter().map(|entry| entry.moved_by(start)).collect();
        let lines = Appended { segment: &segment, start, bytes: &pending.bytes };
        let resolved = resolve(entries, &view.index, &lines)?;
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

    /// Publishes the appended lines, so that other processes need not read them again.
    pub(super) fn publish(&self, writer: &mut Writer) -> Result<()> {
        if !writer.unpublished {
            return Ok(());
        }
        let Some(data) = writer.data.clone() else { return Ok(()) };
        let io = |error| Error::io("read", &self.paths.data)(error);
        // An edit since our write must not be published as indexed.
        if writer.known.is_none() || self.files.stat(&self.paths.data).ok() != writer.known {
            return Ok(());
        }
        // Sets a time of our own, to the nanosecond. An edit within the same tick of the kernel's
        // clock then still gives the file a different time.
        let _ = data.set_modified(self.files.now());
        let stat = data.stat().map_err(io)?;
        let mut guard = self.write_view();
        let view = &mut *guard;
        if stat.size != view.index.state.data_end {
            return Ok(()); // others are appending: our next write looks
        }
        view.index.state = view.index.state.with_stat(&stat);
        let synced_end = if writer.names_unsynced { 0 } else { writer.synced_end };
        view.index.state.synced_end = synced_end.min(view.index.state.data_end);
        writer.known = Some(stat);
        let segment = Arc::clone(view.segment.as_ref().expect("an open data file has a segment"));
        match writer.index.publish(&mut view.index, &*segment) {
            Ok(()) => {
                writer.unpublished = false;
                writer.index_is_damaged = false;
                Ok(())
            }
            Err(fault @ IndexFault::Io(_)) => Err(fault_error(fault, &self.paths)),
            Err(fault) => {
                drop(guard);
                self.repair_as(writer, &fault) // this publishes what it builds
            }
        }
    }
}

/// The lines of a file. Those that were just appended are still in memory.
struct Appended<'a> {
    segment: &'a Segment,
    /// The offset of the first of them in the file.
    start: u64,
    bytes: &'a [u8],
}

impl LineSource for Appended<'_> {
    fn read(&self, entry: Entry, text: &mut Vec<u8>) -> Result<Origin, IndexFault> {
        let Some(at) = entry.offset().checked_sub(self.start) else {
            return self.segment.read(entry, text);
        };
        let rest = self.bytes.get(at as usize..).unwrap_or_default();
        let size = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        text.clear();
        text.extend_from_slice(&rest[..size]);
        match line_sum(text) == entry.sum() {
            true => Ok(Origin::Memory),
            false => Err(IndexFault::Line { offset: entry.offset() }),
        }
    }

    fn prefetch(&self, entry: Entry) {
        self.segment.prefetch(entry);
    }
}
