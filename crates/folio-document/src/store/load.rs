//! Opening a collection's files: is the index right for the data file?
//!
//! 1. The file is as the index left it (inode, size and times equal): use it.
//! 2. It only became longer, and the block before the old end is as it was: take
//!    the new lines in. What lies before is verified when it first matters.
//! 3. Anything else: read every line and build the index again, and say what changed.
//!
//! The same steps serve a first open, a refresh, a writer that finds the file
//! changed, and a reader that met a line or a page that is not what it was.

use std::cmp::Ordering;
use std::io;
use std::sync::Arc;

use folio_file::{File, FileSystem, OpenMode, Stat};

use super::batch_record::BatchSlot;
use super::intake::Intake;
use super::paths::Paths;
use super::publish::IndexWriter;
use super::verify::{block_is_unchanged, is_unchanged};
use crate::error::{Error, Result};
use crate::index::{BLOCK_SIZE, Delta, Head, Index, IndexFault, LineSource, Run, RunName};
use crate::options::Progress;
use crate::report::Notice;
use crate::segment::Segment;

/// Less than this behind the indexed end is read again at each open rather than
/// published by a reader.
const FEW_BYTES: u64 = 64 << 10;

/// A head and its runs may be replaced while we open them; so often we try again.
const RETRIES: usize = 8;

/// The runs a head names, newest last.
type Runs = Vec<Arc<Run>>;

/// How to open.
pub(crate) struct Loader<'a> {
    pub(crate) files: &'a Arc<dyn FileSystem>,
    pub(crate) paths: &'a Paths,
    pub(crate) cache_size: usize,
    /// The writer's lock is held, so what is built may be written.
    pub(crate) may_write: bool,
    /// Takes the lock if nobody has it, when there is much to build. `None` for
    /// those who may not write.
    pub(crate) take_lock: Option<&'a dyn Fn() -> bool>,
    /// Do not trust the index even if it looks right.
    pub(crate) rebuild: bool,
}

/// A collection's files, open.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) segment: Option<Arc<Segment>>,
    pub(crate) index: Index,
    pub(crate) writer: IndexWriter,
    /// Only the end of a grown file was looked at.
    pub(crate) is_doubtful: bool,
    /// The index differs from what is published.
    pub(crate) is_new: bool,
    pub(crate) notices: Vec<Notice>,
}

impl Loader<'_> {
    pub(crate) fn load(&mut self, progress: Progress<'_>) -> Result<Loaded> {
        loop {
            let (mut head, runs) = self.read_index()?;
            let file = match self.files.open(&self.paths.data, OpenMode::Read) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return self.without_data(head.as_ref());
                }
                Err(error) => return Err(Error::io("open", &self.paths.data)(error)),
            };
            let stat = file.stat().map_err(Error::io("read", &self.paths.data))?;
            let segment = Arc::new(Segment::new(file, self.cache_size));
            let limit = self.published_limit(&*segment.file, &stat)?;
            let index = match (&mut head, runs) {
                (Some(head), Some(runs)) => Some(index_of(head, runs)),
                _ => None,
            };
            let old_count = index.as_ref().map(|index| index.state.live_count);
            let usable = index.filter(|index| !self.rebuild && limit >= index.state.data_end);
            if let Some(index) = usable {
                if index.state.matches(&stat) {
                    return Ok(self.loaded(segment, index, head.as_ref()));
                }
                if self.is_only_touched(&segment, &index, &stat)? {
                    return Ok(self.touched(segment, index, head.as_ref(), &stat));
                }
                if self.is_grown(&segment, &index, &stat)? {
                    if limit - index.state.data_end > FEW_BYTES && self.locks_now() {
                        continue;
                    }
                    return self.extend(segment, index, head.as_ref(), &stat, limit);
                }
            }
            if self.locks_now() {
                continue; // decide again: a writer may have been faster than we
            }
            return self.rebuild(segment, old_count, head.as_ref(), limit, progress);
        }
    }

    /// Takes the writer's lock, once, if that is wanted and nobody else has it:
    /// then what is about to be built can be published.
    fn locks_now(&mut self) -> bool {
        if self.may_write {
            return false;
        }
        self.may_write = self.take_lock.take().is_some_and(|take_lock| take_lock());
        self.may_write
    }

    /// Reads the head and opens its runs; no runs when any of them is damaged.
    fn read_index(&self) -> Result<(Option<Head>, Option<Runs>)> {
        for _ in 0..RETRIES {
            let Some(head) = Head::read(&**self.files, &self.paths.head)? else {
                return Ok((None, None));
            };
            match self.open_runs(&head.runs) {
                Ok(runs) => return Ok((Some(head), runs)),
                // A writer has published the next generation in between.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
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
                None => return Ok(None),
            }
        }
        Ok(Some(runs))
    }

    fn without_data(&self, head: Option<&Head>) -> Result<Loaded> {
        let count = head.map_or(0, |head| head.state.live_count);
        if count > 0 && !self.rebuild {
            return Err(Error::Corrupted {
                path: self.paths.data.clone(),
                offset: 0,
                reason: format!("the file is missing, and its index knows {count} documents"),
                repair: "restore the file, or run `folio reindex` to accept that they are gone"
                    .to_owned(),
            });
        }
        Ok(Loaded {
            segment: None,
            index: Index::default(),
            writer: self.index_writer(None),
            is_doubtful: false,
            is_new: false,
            notices: Vec::new(),
        })
    }

    fn index_writer(&self, head: Option<&Head>) -> IndexWriter {
        IndexWriter::new(Arc::clone(self.files), self.paths.meta.clone(), head, !self.may_write)
    }

    fn loaded(&self, segment: Arc<Segment>, index: Index, head: Option<&Head>) -> Loaded {
        Loaded {
            segment: Some(segment),
            index,
            writer: self.index_writer(head),
            is_doubtful: false,
            is_new: false,
            notices: Vec::new(),
        }
    }

    /// How far the file may be read: not into a batch that is under way or was
    /// cut off, unless somebody has edited the file since.
    fn published_limit(&self, data: &dyn File, stat: &Stat) -> Result<u64> {
        let read = || -> io::Result<u64> {
            let Some(slot) = BatchSlot::read(&**self.files, &self.paths.batch)? else {
                return Ok(stat.size);
            };
            if !slot.is_open() || slot.inode != stat.inode || slot.start >= stat.size {
                return Ok(stat.size);
            }
            let record = self.files.open(&self.paths.batch, OpenMode::Read)?;
            let is_alone = slot.is_alone(&*record, data, stat.size)?;
            Ok(if is_alone { slot.start } else { stat.size })
        };
        read().map_err(Error::io("read", &self.paths.batch))
    }

    fn touched(
        &self,
        segment: Arc<Segment>,
        mut index: Index,
        head: Option<&Head>,
        stat: &Stat,
    ) -> Loaded {
        index.state = index.state.with_stat(stat);
        Loaded { is_new: true, ..self.loaded(segment, index, head) }
    }

    /// Whether only the times, or the inode, of the file changed: a copy, a
    /// touch, a power cut after a sync. Reads all of it, but parses nothing.
    fn is_only_touched(&self, segment: &Segment, index: &Index, stat: &Stat) -> Result<bool> {
        if stat.size != index.state.size {
            return Ok(false);
        }
        self.unless_damaged(is_unchanged(segment, index))
    }

    /// Whether the file is the one that was indexed, with nothing but more at
    /// its end, as far as its first block and its last ones tell.
    fn is_grown(&self, segment: &Segment, index: &Index, stat: &Stat) -> Result<bool> {
        let state = &index.state;
        if stat.inode != state.inode || stat.size <= state.size {
            return Ok(false);
        }
        let last = state.data_end / BLOCK_SIZE;
        let check = || -> Result<bool, IndexFault> {
            for block in [0, last.saturating_sub(1), last] {
                if !block_is_unchanged(segment, index, block)? {
                    return Ok(false);
                }
            }
            Ok(state.unterminated == 0 || starts_with_line_feed(segment, state.data_end)?)
        };
        self.unless_damaged(check())
    }

    fn unless_damaged(&self, answer: Result<bool, IndexFault>) -> Result<bool> {
        match answer {
            Err(IndexFault::Io(error)) => Err(Error::io("read", &self.paths.data)(error)),
            answer => Ok(answer.unwrap_or(false)),
        }
    }

    /// Takes in the lines behind those that are indexed.
    fn extend(
        &self,
        segment: Arc<Segment>,
        mut index: Index,
        head: Option<&Head>,
        stat: &Stat,
        limit: u64,
    ) -> Result<Loaded> {
        let mut writer = self.index_writer(head);
        let before = index.state;
        let start = before.data_end + before.unterminated;
        let mut notices = Vec::new();
        let intake = Intake { segment: &segment, path: &self.paths.data, notices: &mut notices };
        match intake.range(&mut index, &mut writer, start..limit, &mut |_, _| true) {
            Ok(_) => {}
            Err(Error::Corrupted { .. }) => {
                return self
                    .rebuild(segment, Some(before.live_count), head, limit, &mut |_, _| true);
            }
            Err(error) => return Err(error),
        }
        index.state = index.state.with_stat(stat);
        let is_new = index.state != before;
        // Whoever writes goes on from this state, so the rest is looked at now.
        if self.may_write && !self.unless_damaged(is_unchanged(&segment, &index))? {
            return self.rebuild(segment, Some(before.live_count), head, limit, &mut |_, _| true);
        }
        Ok(Loaded {
            segment: Some(segment),
            index,
            writer,
            is_doubtful: !self.may_write,
            is_new,
            notices,
        })
    }

    /// Reads every line and builds a new index.
    fn rebuild(
        &self,
        segment: Arc<Segment>,
        old_count: Option<u64>,
        head: Option<&Head>,
        limit: u64,
        progress: Progress<'_>,
    ) -> Result<Loaded> {
        let io_error = |error| Error::io("read", &self.paths.data)(error);
        let mut writer = self.index_writer(head);
        writer.start_over();
        let mut index = Index::default();
        let mut notices = Vec::new();
        let stat = segment.file.stat().map_err(io_error)?;
        let intake = Intake { segment: &segment, path: &self.paths.data, notices: &mut notices };
        let line_count = intake.range(&mut index, &mut writer, 0..limit, progress)?;
        let after = segment.file.stat().map_err(io_error)?;
        // A file that changed while it was read is not as the index says: the
        // times of before make the next open look again.
        index.state = index.state.with_stat(if after == stat { &after } else { &stat });
        notices.insert(0, self.rebuild_notice(old_count, head, &index, line_count));
        notices.retain(|notice| !notice.0.is_empty());
        Ok(Loaded {
            segment: Some(segment),
            index,
            writer,
            is_doubtful: false,
            is_new: true,
            notices,
        })
    }

    fn rebuild_notice(
        &self,
        old_count: Option<u64>,
        head: Option<&Head>,
        index: &Index,
        line_count: u64,
    ) -> Notice {
        let name = self.paths.data.display();
        let count = index.state.live_count;
        let text = match (old_count, head) {
            _ if self.rebuild => String::new(),
            (Some(before), _) => {
                let change = match count.cmp(&before) {
                    Ordering::Equal => format!("still {count} documents"),
                    _ => format!("{before} documents before, {count} now"),
                };
                format!(
                    "{name} was changed since it was indexed ({change}); looked at all {line_count} lines"
                )
            }
            (None, Some(_)) => {
                format!("the index of {name} was damaged; built it again for {count} documents")
            }
            (None, None) if count == 0 => String::new(),
            (None, None) => format!("{name} had no index; built one for {count} documents"),
        };
        Notice(text)
    }
}

fn index_of(head: &mut Head, runs: Vec<Arc<Run>>) -> Index {
    let mut delta = Delta::default();
    head.entries.iter().for_each(|&entry| delta.push(entry));
    delta.skips.clone_from(&head.skips);
    delta.blocks.clone_from(&head.blocks);
    Index { runs, delta, state: head.state }
}

fn starts_with_line_feed(segment: &Segment, offset: u64) -> io::Result<bool> {
    let mut byte = Vec::new();
    // At the very end of the file there is nothing behind the open line yet.
    Ok(!segment.read_line(offset, 1, &mut byte)? || byte == b"\n")
}
