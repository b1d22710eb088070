//! Atomic batches in the lines layout.
//!
//! The lines go to the end of the data file as they come, in large writes; the
//! batch record says since before the first of them that they do not count yet.
//! At commit the file is synced, the record closed and synced, and only then do
//! readers see the batch.

use std::sync::Arc;
use std::thread;

use folio_file::File;

use super::batch_record::BatchRecord;
use super::harvest::count_in;
use super::publish::fault_error;
use super::{LineStore, Writer};
use crate::error::{Error, Result};
use crate::index::{
    BlockSums, DELTA_LIMIT, Delta, Entry, IndexFault, Resolved, id_hash, line_sum, resolve,
};
use crate::line;
use crate::options::Durability;
use crate::report::BatchCounts;

/// Lines are written in pieces of this size.
const CHUNK_SIZE: usize = 4 << 20;

/// An open batch.
#[derive(Debug)]
pub(crate) struct LineBatch {
    store: Arc<LineStore>,
    data: Arc<dyn File>,
    record: Option<BatchRecord>,
    /// Where the batch's lines start.
    start: u64,
    /// Where the next write is expected to land.
    written: u64,
    buffer: Vec<u8>,
    /// Entries of the lines, offsets in the file; the last ones are still in `buffer`.
    entries: Delta,
    buffered_from: usize,
    sums: BlockSums,
    blocks: Vec<u64>,
    /// Somebody else's lines stand between ours.
    is_mixed: bool,
    import: Option<(u64, u64)>,
}

impl LineBatch {
    pub(crate) fn begin(store: &Arc<LineStore>) -> Result<Self> {
        store.check_writable()?;
        let mut writer = store.idle_writer()?;
        store.take_lock(&mut writer)?;
        store.follow_others(&mut writer)?;
        store.settle(&mut writer)?;
        let data = store.prepare_to_append(&mut writer)?;
        let start = store.read_view().index.state.data_end;
        let record = begin_record(store, &mut writer, start)?;
        let sums = writer.sums.take().expect("prepared to append");
        writer.batch_owner = Some(thread::current().id());
        Ok(Self {
            store: Arc::clone(store),
            data,
            record: Some(record),
            start,
            written: start,
            buffer: Vec::with_capacity(CHUNK_SIZE + (64 << 10)),
            entries: Delta::default(),
            buffered_from: 0,
            sums,
            blocks: Vec::new(),
            is_mixed: false,
            import: None,
        })
    }

    /// Adds a line whose id is known.
    #[inline]
    pub(crate) fn push(&mut self, id: &str, text: &[u8], is_tombstone: bool) -> Result<()> {
        let offset = self.written + self.buffer.len() as u64;
        let (hash, sum) = (id_hash(id), line_sum(text));
        self.entries.push(if is_tombstone {
            Entry::tombstone(hash, offset, sum)
        } else {
            Entry::document(hash, offset, text.len() as u32, sum)
        });
        self.record().note(sum);
        self.buffer.extend_from_slice(text);
        self.buffer.push(b'\n');
        if self.buffer.len() >= CHUNK_SIZE { self.write_chunk() } else { Ok(()) }
    }

    /// Whether the id has a document, in this batch or before it.
    pub(crate) fn exists(&self, id: &str) -> Result<bool> {
        let hash = id_hash(id);
        let mut text = Vec::new();
        let in_batch = self.entries.find(hash, |entry| match self.is_of(entry, id, &mut text) {
            Ok(true) => Some(Ok(!entry.is_tombstone())),
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        });
        match in_batch {
            Some(answer) => answer.map_err(Error::io("read", &self.store.paths.data)),
            None => {
                self.store.healing(|view| Ok(view.find(id, hash, &mut text)?.document().is_some()))
            }
        }
    }

    fn is_of(&self, entry: Entry, id: &str, text: &mut Vec<u8>) -> std::io::Result<bool> {
        if entry.is_tombstone() {
            return Ok(line_sum(&line::tombstone(id)) == entry.sum());
        }
        if entry.offset() >= self.written {
            let start = (entry.offset() - self.written) as usize;
            let line = &self.buffer[start..start + entry.size() as usize];
            return Ok(line::id_of_valid_line(line).as_deref() == Some(id));
        }
        text.resize(entry.size() as usize, 0);
        let read = self.data.read_at(text, entry.offset())?;
        Ok(read == text.len() && line::id_of_valid_line(text).as_deref() == Some(id))
    }

    /// Bytes of the lines so far, line ends included.
    pub(crate) fn size(&self) -> u64 {
        self.written - self.start + self.buffer.len() as u64
    }

    pub(crate) fn set_import_position(&mut self, source: u64, position: u64) {
        self.import = Some((source, position));
    }

    fn record(&mut self) -> &mut BatchRecord {
        self.record.as_mut().expect("the record is there until the batch ends")
    }

    /// Announces the buffered lines in the record, then appends them.
    fn write_chunk(&mut self) -> Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let batch_path = self.store.paths.batch.clone();
        self.record().announce().map_err(Error::io("write", &batch_path))?;
        let end = self
            .data
            .append(&self.buffer)
            .map_err(Error::io("append to", &self.store.paths.data))?;
        let landed = end - self.buffer.len() as u64;
        if landed != self.written {
            self.shift_buffered(landed - self.written);
        }
        self.data.start_writeback(landed, end - landed);
        if !self.is_mixed {
            self.sums.update(&self.buffer, &mut self.blocks);
        }
        self.written = end;
        self.buffered_from = self.entries.len();
        self.buffer.clear();
        Ok(())
    }

    /// Somebody appended in between: our lines stand further back than we thought.
    fn shift_buffered(&mut self, distance: u64) {
        self.is_mixed = true;
        let mut entries = Delta::default();
        for (position, entry) in self.entries.entries().iter().enumerate() {
            entries.push(if position < self.buffered_from {
                *entry
            } else {
                entry.moved_by(distance)
            });
        }
        self.entries = entries;
    }

    /// Makes the batch durable and visible.
    pub(crate) fn commit(mut self) -> Result<BatchCounts> {
        self.write_chunk()?;
        let store = Arc::clone(&self.store);
        let resolved = self.sync_and_resolve(&store)?;
        let mut writer = store.any_writer();
        self.close_record(&mut writer, self.written)?;
        let counts = resolved.counts;
        let taken = self.take_in(&mut writer, resolved);
        taken.map_err(|fault| fault_error(fault, &store.paths.data))?;
        writer.known = self.data.stat().ok();
        writer.unpublished = true;
        writer.sequence += 1;
        self.release(&mut writer);
        store.compact_if_worthwhile(&mut writer)?;
        store.publish(&mut writer)?;
        writer.guard = None;
        Ok(counts)
    }

    /// Syncs the data while working out what the lines mean for the index.
    fn sync_and_resolve(&mut self, store: &LineStore) -> Result<Resolved> {
        let entries = self.entries.entries().to_vec();
        let data = &self.data;
        let wants_sync = store.options.durability != Durability::None && self.written > self.start;
        let (synced, resolved) = thread::scope(|scope| {
            let sync = wants_sync.then(|| scope.spawn(|| data.sync_data()));
            let view = store.read_view();
            let segment =
                Arc::clone(view.segment.as_ref().expect("an open data file has a segment"));
            let resolved = resolve(entries, &view.index, &*segment);
            let synced = sync.map_or(Ok(()), |sync| sync.join().expect("a sync does not panic"));
            (synced, resolved)
        });
        synced.map_err(|error| store.poison(&store.paths.data, error))?;
        resolved.map_err(|fault| fault_error(fault, &store.paths.data))
    }

    fn close_record(&mut self, writer: &mut Writer, end: u64) -> Result<()> {
        let import = self.import;
        let path = self.store.paths.batch.clone();
        let record = self.record();
        record.close(end, import).map_err(Error::io("write", &path))?;
        if self.store.options.durability != Durability::None {
            let synced = self.record().file.sync_data();
            synced.map_err(|error| self.store.poison(&path, error))?;
        }
        writer.batch_record = self.record.take();
        Ok(())
    }

    fn take_in(&mut self, writer: &mut Writer, mut resolved: Resolved) -> Result<(), IndexFault> {
        if self.is_mixed {
            let end = self.data.stat()?.size;
            let covered = self.store.read_view().index.state.data_end;
            writer.sums = Some(BlockSums::resume(&*self.data, covered)?);
            return self.store.take_in_range(writer, end);
        }
        let mut view = self.store.write_view();
        let view = &mut *view;
        let segment = Arc::clone(view.segment.as_ref().expect("an open data file has a segment"));
        count_in(&mut view.index, &resolved, 0);
        view.index.state.data_end = self.written;
        view.index.state.tail_sum = self.sums.tail();
        writer.sums = Some(self.sums.clone());
        let blocks = std::mem::take(&mut self.blocks);
        let entries = std::mem::take(&mut resolved.entries);
        let skips = std::mem::take(&mut resolved.skips);
        if entries.len() > DELTA_LIMIT {
            return writer.index.add_run(&mut view.index, entries, skips, blocks, &*segment);
        }
        entries.into_iter().for_each(|entry| view.index.delta.push(entry));
        view.index.delta.skips.extend(skips);
        view.index.delta.blocks.extend(blocks);
        Ok(())
    }

    /// Lets others write again.
    fn release(&mut self, writer: &mut Writer) {
        writer.batch_owner = None;
        self.store.batch_ended.notify_all();
    }

    /// Takes back what was written.
    fn abort(&mut self, writer: &mut Writer) -> Result<()> {
        let io = |action| Error::io(action, &self.store.paths.data);
        let size = self.data.stat().map_err(io("read"))?.size;
        let at_most = self.written + self.buffer.len() as u64;
        if size > self.start && size <= at_most && !self.is_mixed {
            self.data.truncate(self.start).map_err(io("truncate"))?;
        }
        let (start, path) = (self.start, self.store.paths.batch.clone());
        let record = self.record();
        record.close(start, None).map_err(Error::io("write", &path))?;
        if self.store.options.durability != Durability::None {
            self.record().file.sync_data().map_err(Error::io("sync", &path))?;
        }
        writer.batch_record = self.record.take();
        Ok(())
    }
}

/// Says in the record that a batch begins, durably.
fn begin_record(store: &LineStore, writer: &mut Writer, start: u64) -> Result<BatchRecord> {
    let path = &store.paths.batch;
    let mut record = match writer.batch_record.take() {
        Some(record) => record,
        None => {
            if store.files.stat(path).is_err() {
                writer.names_unsynced = true;
            }
            BatchRecord::open(&*store.files, path).map_err(Error::io("open", path))?
        }
    };
    let inode = writer.known.map_or(0, |known| known.inode);
    record.begin(start, inode).map_err(Error::io("write", path))?;
    if store.options.durability != Durability::None {
        record.file.sync_data().map_err(|error| store.poison(path, error))?;
    }
    store.sync_names(writer)?;
    Ok(record)
}

impl Drop for LineBatch {
    /// A batch that was not committed is undone. Where even that fails, the open
    /// record makes the next writer do it.
    fn drop(&mut self) {
        let store = Arc::clone(&self.store);
        let mut writer = store.any_writer();
        if self.record.is_some() && store.poison.get().is_none() {
            let _ = self.abort(&mut writer);
            writer.known = None;
            writer.data = None;
            writer.sums = None;
            writer.guard = None;
        }
        if writer.batch_owner.is_some() {
            self.release(&mut writer);
        }
    }
}
