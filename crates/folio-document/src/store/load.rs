//! Opens a collection's files, and decides whether the index matches the data file.
//!
//! 1. The file is as the index left it (inode, size and times are equal): use the index.
//! 2. The file only became longer, and the block before the old end is unchanged: add the new
//!    lines. The part before is verified when it first matters.
//! 3. Anything else: read every line, rebuild the index, and report what changed.
//!
//! A first open, a refresh, a writer that finds the file changed, and a reader that finds an
//! unexpected line or page all use these steps.

use std::cmp::Ordering;
use std::io;
use std::iter;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use folio_file::{File, FileSystem, OpenMode, Stat};

use super::batch_record::{BatchSlot, parts_that_count};
use super::index_builder::IndexBuilder;
use super::paths::Paths;
use super::publish::IndexWriter;
use super::spliced::Spliced;
use super::verify::{block_is_unchanged, is_unchanged, is_unchanged_from, starts_with_line_feed};
use crate::error::{Error, Result};
use crate::failpoint::Failpoints;
use crate::index::{BLOCK_SIZE, Delta, Head, Index, IndexFault, Run, RunName, State};
use crate::options::Progress;
use crate::report::Notice;
use crate::segment::Segment;

/// If less than this follows the indexed end, a reader reads it again at each open and does not
/// publish it.
const FEW_BYTES: u64 = 64 << 10;

/// How often to retry if a head and its runs are replaced during the open.
const RETRIES: usize = 8;

/// How often to retry if a batch begins or ends while the data file is opened.
const BATCH_RETRIES: usize = 32;

/// The runs of a head, newest last.
type Runs = Vec<Arc<Run>>;

/// How to open.
pub(crate) struct Loader<'a> {
    pub(crate) files: &'a Arc<dyn FileSystem>,
    pub(crate) paths: &'a Paths,
    pub(crate) cache_size: usize,
    /// The writer's lock is held, so a new index may be written.
    pub(crate) may_write: bool,
    /// Takes the lock if it is free and there is much to build. `None` for handles that may not
    /// write.
    pub(crate) take_lock: Option<&'a dyn Fn() -> bool>,
    /// Do not trust the index even if it looks right.
    pub(crate) rebuild: bool,
    pub(crate) failpoints: Failpoints,
}

/// The open files of a collection.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) segment: Option<Arc<Segment>>,
    /// The file as it was when it was read.
    pub(crate) stat: Option<Stat>,
    /// The number of the newest slot of the batch record, if it was read.
    pub(crate) batch_sequence: Option<u64>,
    pub(crate) index: Index,
    pub(crate) writer: IndexWriter,
    /// Where what was not compared with the index begins: the file has grown, or a power failure may
    /// have lost data before it reached the device.
    pub(crate) doubtful_from: Option<u64>,
    /// The index records that the file's name is durable.
    pub(crate) has_durable_name: bool,
    /// The index differs from the published one.
    pub(crate) is_new: bool,
    /// Index files exist but cannot be used.
    pub(crate) is_damaged: bool,
    pub(crate) notices: Vec<Notice>,
}

/// The data file as found.
struct Data {
    segment: Arc<Segment>,
    stat: Stat,
    /// How far it may be read: not into a batch that is open or was interrupted.
    limit: u64,
    /// It is read without the lines of such a batch, which are before lines of others.
    is_spliced: bool,
    /// See [`Loaded`].
    batch_sequence: Option<u64>,
}

impl Data {
    /// The parts of a file that count.
    fn new(file: Arc<dyn File>, stat: Stat, parts: Vec<Range<u64>>, cache_size: usize) -> Self {
        let limit = parts.iter().map(|part| part.end - part.start).sum();
        let is_spliced = parts.len() > 1;
        let file = if is_spliced { Arc::new(Spliced::new(file, parts)) } else { file };
        let segment = Arc::new(Segment::new(file, cache_size));
        Self { segment, stat, limit, is_spliced, batch_sequence: None }
    }
}

impl Loader<'_> {
    pub(crate) fn load(&mut self, progress: Progress<'_>) -> Result<Loaded> {
        loop {
            let (mut head, runs) = self.read_index()?;
            let unchanged = match (&head, &runs) {
                (Some(head), Some(_)) => self.open_unchanged(head)?,
                _ => None,
            };
            let data = match unchanged {
                Some(data) => Some(data),
                None => self.open_data()?,
            };
            let Some(data) = data else { return self.without_data(head.as_ref()) };
            if data.is_spliced {
                // Its index is wrong as soon as the batch counts, or is taken out.
                (self.may_write, self.take_lock) = (false, None);
            }
            let index = match (&mut head, runs) {
                (Some(head), Some(runs)) => Some(index_of(head, runs)),
                _ => None,
            };
            let head = head.as_ref();
            let old_count = index.as_ref().map(|index| index.state.live_count);
            let usable = index.filter(|index| !self.rebuild && data.limit >= index.state.data_end);
            if let Some(index) = usable {
                if index.state.matches(&data.stat) || self.failpoints.trust_index() {
                    return self.loaded(data, index, head);
                }
                if is_published(&*data.segment.file, &data.stat, &index.state) {
                    return self.published(data, index, head);
                }
                if self.is_only_touched(&data, &index)? {
                    return self.touched(data, index, head);
                }
                if self.is_grown(&data, &index)? {
                    if data.limit - index.state.data_end > FEW_BYTES && self.locks_now() {
                        continue;
                    }
                    return self.extend(data, index, head);
                }
            }
            if self.locks_now() {
                continue; // decide again: a writer may have published in between
            }
            return self.rebuild(data, old_count, head, progress);
        }
    }

    /// Opens the data file if all of it is indexed and on the device. No part of it then belongs to
    /// an open batch, so the record need not be read.
    fn open_unchanged(&self, head: &Head) -> Result<Option<Data>> {
        let state = head.state;
        let Some(file) = self.open_file()? else { return Ok(None) };
        let stat = file.stat_at_open().map_err(Error::io("read", &self.paths.data))?;
        let covered = state.data_end.min(state.synced_end);
        let is_unchanged = !self.rebuild
            && covered == stat.size
            && (state.matches(&stat) || is_published(&*file, &stat, &state));
        let parts = || iter::once(0..stat.size).collect();
        Ok(is_unchanged.then(|| Data::new(file, stat, parts(), self.cache_size)))
    }

    fn open_file(&self) -> Result<Option<Arc<dyn File>>> {
        match self.files.open(&self.paths.data, OpenMode::Read) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io("open", &self.paths.data)(error)),
        }
    }

    /// Opens the data file at a moment when no batch begins or ends; `None` if there is no file.
    fn open_data(&self) -> Result<Option<Data>> {
        let io = Error::io;
        // Stays open: the record is written in place, never replaced.
        let mut record = None;
        let mut read_slot = || {
            if record.is_none() {
                record = BatchSlot::open(&**self.files, &self.paths.batch)?;
            }
            record.as_deref().map_or(Ok(None), BatchSlot::read_from)
        };
        let mut attempts = 0;
        loop {
            let before = read_slot().map_err(io("read", &self.paths.batch))?;
            let Some(file) = self.open_file()? else { return Ok(None) };
            let stat = file.stat_at_open().map_err(io("read", &self.paths.data))?;
            let slot = read_slot().map_err(io("read", &self.paths.batch))?;
            attempts += 1;
            let is_quiet = BatchSlot::is_same_batch(before.as_ref(), slot.as_ref());
            if !is_quiet && attempts < BATCH_RETRIES {
                continue;
            }
            let parts = match slot {
                // The data before the newest batch was there before it began.
                Some(slot) if !is_quiet => iter::once(0..slot.start.min(stat.size)).collect(),
                slot => self.parts_that_count(slot, &*file, &stat)?,
            };
            let batch_sequence = slot.filter(|_| is_quiet).map(|slot| slot.sequence);
            let data = Data::new(file, stat, parts, self.cache_size);
            return Ok(Some(Data { batch_sequence, ..data }));
        }
    }

    /// Takes the writer's lock, once, if that is wanted and the lock is free. The new index can
    /// then be published.
    fn locks_now(&mut self) -> bool {
        if self.may_write {
            return false;
        }
        self.may_write = self.take_lock.take().is_some_and(|take_lock| take_lock());
        self.may_write
    }

    /// Reads the head and opens its runs. Returns no runs if any of them is damaged.
    fn read_index(&self) -> Result<(Option<Head>, Option<Runs>)> {
        for _ in 0..RETRIES {
            let head = match Head::read(&**self.files, &self.paths.head) {
                Err(Error::Corrupted { .. }) => None, // a member of an archive; its lines have all
                head => head?,
            };
            let Some(head) = head else { return Ok((None, None)) };
            match self.open_runs(&head.runs) {
                Ok(runs) => return Ok((Some(head), runs)),
                // A writer has published the next generation in between.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    return Ok((Some(head), None));
                }
                Err(error) => return Err(Error::io("open the index in", &self.paths.meta)(error)),
            }
        }
        Ok((Head::read(&**self.files, &self.paths.head)?, None))
    }

    fn open_runs(&self, names: &[RunName]) -> io::Result<Option<Runs>> {
        let mut runs = Vec::with_capacity(names.len());
        for name in names {
            let path = self.paths.meta.join(RunName::file_name(name.number));
            match Run::open(&**self.files, &path, name.number, name.header_sum)? {
                Some(run) => runs.push(Arc::new(run)),
                None => {
                    forget_file(&**self.files, &path);
                    return Ok(None);
                }
            }
        }
        Ok(Some(runs))
    }

    fn without_data(&self, head: Option<&Head>) -> Result<Loaded> {
        let head = head.filter(|_| !self.rebuild);
        let count = head.map_or(0, |head| head.state.live_count);
        // A file that was never durable may be missing after a power cut.
        if count > 0 && head.is_some_and(|head| head.state.synced_end > 0) {
            return Err(Error::Corrupted {
                path: self.paths.data.clone(),
                offset: 0,
                reason: format!("the file is missing, but its index lists {count} documents"),
                repair: format!(
                    "restore it, or remove {} to accept that they are gone",
                    self.paths.head.display()
                ),
            });
        }
        Ok(Loaded {
            segment: None,
            stat: None,
            batch_sequence: None,
            index: Index::default(),
            writer: self.index_writer(None),
            doubtful_from: None,
            has_durable_name: false,
            is_new: false,
            is_damaged: false,
            notices: Vec::new(),
        })
    }

    fn index_writer(&self, head: Option<&Head>) -> IndexWriter {
        IndexWriter::new(Arc::clone(self.files), self.paths.meta.clone(), head, !self.may_write)
    }

    /// The index matches. What it covers after the last sync may be lost after a power failure,
    /// without a change of size or times. A writer verifies it now, a reader when it first matters.
    fn loaded(&self, data: Data, index: Index, head: Option<&Head>) -> Result<Loaded> {
        let synced_end = index.state.synced_end;
        let is_unsynced = synced_end < index.state.data_end;
        if is_unsynced && self.may_write {
            let unchanged = is_unchanged_from(&data.segment, &index, synced_end);
            if !self.unless_damaged(unchanged)? {
                let count = index.state.live_count;
                return self.rebuild(data, Some(count), head, &mut |_, _| true);
            }
        }
        Ok(Loaded {
            doubtful_from: (is_unsynced && !self.may_write).then_some(synced_end),
            has_durable_name: synced_end > 0,
            ..self.as_found(data, index, self.index_writer(head))
        })
    }

    fn as_found(&self, data: Data, index: Index, writer: IndexWriter) -> Loaded {
        Loaded {
            segment: Some(data.segment),
            stat: Some(data.stat),
            batch_sequence: data.batch_sequence,
            index,
            writer,
            doubtful_from: None,
            has_durable_name: false,
            is_new: false,
            is_damaged: false,
            notices: Vec::new(),
        }
    }

    /// What may be read: all but the lines of a batch that is open or was interrupted.
    fn parts_that_count(
        &self,
        slot: Option<BatchSlot>,
        data: &dyn File,
        stat: &Stat,
    ) -> Result<Vec<Range<u64>>> {
        let is_over = slot
            .is_none_or(|slot| !slot.is_open() && (slot.inode == stat.inode || data.is_remote()));
        if is_over || self.failpoints.serve_open_batch() {
            return Ok(iter::once(0..stat.size).collect());
        }
        let parts = parts_that_count(&**self.files, self.paths, data, stat);
        parts.map_err(Error::io("read", &self.paths.batch))
    }

    fn touched(&self, data: Data, mut index: Index, head: Option<&Head>) -> Result<Loaded> {
        index.state = index.state.with_stat(&data.stat);
        // The index belongs to another file, or to one that was written again.
        index.state.synced_end = 0;
        let writer = self.index_writer(head);
        Ok(Loaded { is_new: true, ..self.as_found(data, index, writer) })
    }

    /// The index of a file on another machine, which is not read to prove the index. What is read
    /// later has checksums. Unless the times agree, all is read before an id is reported missing or
    /// documents are counted.
    fn published(&self, data: Data, index: Index, head: Option<&Head>) -> Result<Loaded> {
        let doubtful_from = (!index.state.is_of_second(&data.stat)).then_some(0);
        Ok(Loaded { doubtful_from, ..self.touched(data, index, head)? })
    }

    /// Whether only the times or the inode of the file changed: a copy, a touch, a power cut after
    /// a sync. Reads all of it, but parses nothing.
    fn is_only_touched(&self, data: &Data, index: &Index) -> Result<bool> {
        // A torn end that the index does not cover may be complete now.
        if data.stat.size != index.state.size || index.state.data_end < data.stat.size {
            return Ok(false);
        }
        if self.failpoints.skip_block_checksums() {
            return Ok(true);
        }
        self.unless_damaged(is_unchanged(&data.segment, index))
    }

    /// Whether the file is the indexed one with only more at its end, as far as its first and last
    /// blocks show.
    fn is_grown(&self, data: &Data, index: &Index) -> Result<bool> {
        let state = &index.state;
        if data.stat.inode != state.inode || data.stat.size <= state.size {
            return Ok(false);
        }
        let last = state.data_end / BLOCK_SIZE;
        let check = || -> Result<bool, IndexFault> {
            let mut buffer = Vec::new();
            for block in [0, last.saturating_sub(1), last] {
                if !block_is_unchanged(&data.segment, index, block, &mut buffer)? {
                    return Ok(false);
                }
            }
            Ok(state.unterminated == 0 || starts_with_line_feed(&data.segment, state.data_end)?)
        };
        self.unless_damaged(check())
    }

    fn unless_damaged(&self, answer: Result<bool, IndexFault>) -> Result<bool> {
        match answer {
            Err(IndexFault::Io(error)) => Err(Error::io("read", &self.paths.data)(error)),
            answer => Ok(answer.unwrap_or(false)),
        }
    }

    /// Adds the lines after the indexed ones.
    fn extend(&self, data: Data, mut index: Index, head: Option<&Head>) -> Result<Loaded> {
        let mut writer = self.index_writer(head);
        let before = index.state;
        let lines = before.data_end + before.unterminated..data.limit;
        let mut notices = Vec::new();
        let builder =
            IndexBuilder { segment: &data.segment, paths: self.paths, notices: &mut notices };
        match builder.add_range(&mut index, &mut writer, lines, &mut |_, _| true) {
            Ok(_) => {}
            Err(Error::Corrupted { .. }) => {
                return self.rebuild(data, Some(before.live_count), head, &mut |_, _| true);
            }
            Err(error) => return Err(error),
        }
        index.state = index.state.with_stat(&data.stat);
        let is_new = index.state != before;
        // A writer continues from this state, so the rest is verified now.
        if self.may_write && !self.unless_damaged(is_unchanged(&data.segment, &index))? {
            return self.rebuild(data, Some(before.live_count), head, &mut |_, _| true);
        }
        Ok(Loaded {
            doubtful_from: (!self.may_write).then_some(0),
            has_durable_name: before.synced_end > 0,
            is_new,
            notices,
            ..self.as_found(data, index, writer)
        })
    }

    /// Reads every line and builds a new index.
    fn rebuild(
        &self,
        data: Data,
        old_count: Option<u64>,
        head: Option<&Head>,
        progress: Progress<'_>,
    ) -> Result<Loaded> {
        // No index proves the lines that are read now.
        data.segment.file.verify().map_err(Error::io("read", &self.paths.data))?;
        let is_expected = self.rebuild
            || old_count.is_none() && Head::is_earlier(&**self.files, &self.paths.head);
        let is_damaged = old_count.is_none()
            && !is_expected
            && (head.is_some() || self.files.stat(&self.paths.head).is_ok());
        let mut writer = self.index_writer(head);
        writer.start_over();
        let mut index = Index::default();
        let mut notices = Vec::new();
        let builder =
            IndexBuilder { segment: &data.segment, paths: self.paths, notices: &mut notices };
        let line_count = builder.add_range(&mut index, &mut writer, 0..data.limit, progress)?;
        // If the file changed in the meantime, its times changed too, and the next open looks
        // again.
        index.state = index.state.with_stat(&data.stat);
        if !is_expected {
            notices.insert(0, self.rebuild_notice(old_count, is_damaged, &index, line_count));
            notices.retain(|notice| !notice.0.is_empty());
        }
        Ok(Loaded { is_new: true, is_damaged, notices, ..self.as_found(data, index, writer) })
    }

    fn rebuild_notice(
        &self,
        old_count: Option<u64>,
        is_damaged: bool,
        index: &Index,
        line_count: u64,
    ) -> Notice {
        let name = self.paths.data.display();
        let count = index.state.live_count;
        let text = match old_count {
            Some(before) => {
                let change = match count.cmp(&before) {
                    Ordering::Equal => format!("still {count} documents"),
                    _ => format!("{before} documents before, {count} now"),
                };
                format!(
                    "{name} was changed since it was indexed ({change}); read all {line_count} \
                     lines again"
                )
            }
            None if is_damaged => {
                format!("the index of {name} was damaged; rebuilt it for {count} documents")
            }
            None if count == 0 => String::new(),
            None => format!("{name} had no index; built one for {count} documents"),
        };
        Notice(text)
    }
}

/// Whether the file is on another machine and has the size that was indexed, all of it.
fn is_published(file: &dyn File, stat: &Stat, state: &State) -> bool {
    file.is_remote() && stat.size == state.size && stat.size == state.data_end
}

fn index_of(head: &mut Head, runs: Vec<Arc<Run>>) -> Index {
    let mut delta = Delta::default();
    head.entries.iter().for_each(|&entry| delta.push(entry));
    delta.skips.clone_from(&head.skips);
    delta.blocks.clone_from(&head.blocks);
    Index { runs, delta, state: head.state }
}

/// Forgets what is cached of a file on another machine that was found damaged.
pub(super) fn forget_file(files: &dyn FileSystem, path: &Path) {
    if let Ok(file) = files.open(path, OpenMode::Read)
        && let Ok(stat) = file.stat_at_open()
    {
        file.forget(0, stat.size);
    }
}
