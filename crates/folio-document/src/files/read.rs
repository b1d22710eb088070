//! Reads documents and lists their ids.

use std::io;
use std::path::Path;
use std::sync::{Arc, MutexGuard, TryLockError};
use std::time::{Duration, SystemTime};

use folio_file::{FileKind, OpenMode, Stat};
use xxhash_rust::xxh3::Xxh3Default;

use super::log::{Change, FoundLog};
use super::order::{Listing, Order};
use super::{FileStore, Listed, View, Writer};
use crate::error::{Error, Result};
use crate::fetched::Chunk;
use crate::line;
use crate::version::{Version, new_generation};
use crate::whole_file;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Two changes within this time may give a directory the same time stamp.
const CLOCK_TICK: Duration = Duration::from_secs(2);

/// The result of reading a document's file.
#[derive(Debug)]
pub(super) enum Reading {
    /// There is no document with this id.
    Missing,
    /// A document; its line is in the buffer.
    Document,
    Invalid(Invalid),
}

/// Why a file is not a document.
#[derive(Debug)]
pub(super) struct Invalid {
    /// The position in the file, in bytes.
    pub(super) offset: usize,
    /// The line of the file, from 1.
    pub(super) line: u64,
    pub(super) reason: String,
}

impl FileStore {
    /// Reads several documents.
    pub(crate) fn get_chunk(&self, ids: &[&str]) -> Result<Chunk> {
        let (mut chunk, mut line) = (Chunk::default(), Vec::new());
        for id in ids {
            let found = self.get(id, &mut line)?;
            chunk.push(found.then_some(&line));
        }
        Ok(chunk)
    }

    /// Reads the document with an id into `text`, which is cleared first, as one line with `_id`
    /// first.
    pub(crate) fn get(&self, id: &str, text: &mut Vec<u8>) -> Result<bool> {
        self.handle.check_open()?;
        match self.read(id, text)? {
            Reading::Missing => Ok(false),
            Reading::Document => Ok(true),
            Reading::Invalid(invalid) => Err(Error::Corrupted {
                path: self.paths.document(id),
                offset: invalid.offset as u64,
                reason: invalid.reason,
                repair: "fix it in an editor, or delete the document".to_owned(),
            }),
        }
    }

    /// The number of documents. Each file whose name is an id counts as one.
    pub(crate) fn count(&self) -> Result<u64> {
        self.handle.check_open()?;
        Ok(self.order()?.count())
    }

    /// All ids, in order.
    pub(super) fn ids(&self) -> Result<Vec<Arc<str>>> {
        self.handle.check_open()?;
        Ok(self.order()?.to_vec())
    }

    /// Reads what others have written since.
    pub(crate) fn refresh(&self) -> Result<()> {
        self.handle.check_open()?;
        self.refresh_as(&self.any_writer())
    }

    /// The same, unless this process is writing. Never waits.
    pub(crate) fn try_refresh(&self) -> Result<()> {
        self.handle.check_open()?;
        match self.writer.try_lock() {
            Ok(writer) => self.refresh_as(&writer),
            Err(TryLockError::Poisoned(writer)) => self.refresh_as(&writer.into_inner()),
            Err(TryLockError::WouldBlock) => Ok(()),
        }
    }

    fn refresh_as(&self, writer: &Writer) -> Result<()> {
        if writer.batch_owner.is_some() {
            return Ok(()); // our own batch is open, so no one else is writing
        }
        let found = FoundLog::load(&*self.files, &self.paths.log);
        let pending = match found.map_err(Error::io("read", &self.paths.log))? {
            FoundLog::Complete(batch) => Some(Arc::new(batch)),
            FoundLog::Nothing | FoundLog::Incomplete(_) => None,
        };
        let listed = self.listed();
        let mut view = self.view();
        let is_unchanged = view.listed.is_some()
            && view.listed == listed
            && view.pending.is_none()
            && pending.is_none();
        if !is_unchanged {
            view.order = None;
        }
        view.pending = pending;
        Ok(())
    }

    /// Made from the state of every file: an edit in place changes only the file itself. While a
    /// change could hide within one tick of the clock, no two versions are equal.
    pub(crate) fn version(&self) -> Result<Version> {
        let ids = self.ids()?;
        let mut sum = Xxh3Default::new();
        let mut is_stable = self.view().pending.is_none();
        let stable_before = self.stable_before_ns();
        for id in &ids {
            let Some(stat) = self.stat_document(&self.paths.document(id))? else { continue };
            is_stable &= stable_before.is_some_and(|stable_before| stat.changed_ns < stable_before);
            sum.update(id.as_bytes());
            for number in [u128::from(stat.inode), u128::from(stat.size)] {
                sum.update(&number.to_le_bytes());
            }
            sum.update(&stat.modified_ns.to_le_bytes());
            sum.update(&stat.changed_ns.to_le_bytes());
        }
        let generation = if is_stable { sum.digest() } else { new_generation() };
        Ok(Version { generation, end: 0, count: ids.len() as u64 })
    }

    /// Later changes get no time before this one, in nanoseconds since the epoch.
    fn stable_before_ns(&self) -> Option<i128> {
        let stable_before = self.files.now().checked_sub(CLOCK_TICK)?;
        Some(stable_before.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_nanos() as i128)
    }

    /// The ids, listed now if they are not yet.
    pub(super) fn order(&self) -> Result<impl std::ops::Deref<Target = Order>> {
        let mut view = self.view();
        if view.order.is_none() {
            let listed = self.listed();
            let listing = Listing::read(&*self.files, &self.paths)?;
            self.handle.notice(listing.notice(&self.paths));
            let mut order = listing.order;
            if let Some(pending) = &view.pending {
                for (id, change) in pending.changes().iter() {
                    match change {
                        Change::Put { .. } => order.insert(id),
                        Change::Delete => order.remove(id),
                    }
                }
            }
            view.listed = listed;
            view.order = Some(order);
        }
        Ok(OrderGuard(view))
    }

    /// The current state of `docs/` and the list; `None` if a change could hide within the same
    /// tick of the clock.
    fn listed(&self) -> Option<Listed> {
        let stat = |path: &Path| self.files.stat(path).ok();
        let [first, second] = self.paths.order_places();
        let listed = Listed { docs: stat(&self.paths.docs), lists: [stat(&first), stat(&second)] };
        let stable_before = self.stable_before_ns()?;
        let is_stable =
            |stat: &Option<Stat>| stat.is_none_or(|stat| stat.changed_ns < stable_before);
        (is_stable(&listed.docs) && listed.lists.iter().all(is_stable)).then_some(listed)
    }

    /// Reads a document from the log or from its file.
    pub(super) fn read(&self, id: &str, text: &mut Vec<u8>) -> Result<Reading> {
        let pending = self.view().pending.clone();
        let change = pending.as_ref().and_then(|batch| batch.changes().get(id));
        match (pending, change) {
            (Some(batch), Some(Change::Put { offset, size })) => {
                batch.read_line(offset, size, text).map_err(Error::io("read", &self.paths.log))?;
                Ok(to_line(id, text))
            }
            (_, Some(Change::Delete)) => Ok(Reading::Missing),
            _ => self.read_file(id, text),
        }
    }

    /// Reads a document from its file, ignoring the log.
    pub(super) fn read_file(&self, id: &str, text: &mut Vec<u8>) -> Result<Reading> {
        text.clear();
        let path = self.paths.document(id);
        let Some(stat) = self.stat_document(&path)? else { return Ok(Reading::Missing) };
        if stat.kind != FileKind::File {
            let reason = "a link or a directory is not a document".to_owned();
            return Ok(Reading::Invalid(Invalid { offset: 0, line: 1, reason }));
        }
        let file = match self.files.open(&path, OpenMode::Read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Reading::Missing),
            opened => opened.map_err(Error::io("open", &path))?,
        };
        whole_file::read_open(&*file, stat.size, text, line::MAX_LINE_SIZE)
            .map_err(Error::io("read", &path))?;
        Ok(to_line(id, text))
    }

    /// The file itself, not the target of a link. An id that is too long for a file name has no
    /// file.
    pub(super) fn stat_document(&self, path: &Path) -> Result<Option<Stat>> {
        match self.files.stat_link(path) {
            Ok(stat) => Ok(Some(stat)),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound
                        | io::ErrorKind::NotADirectory
                        | io::ErrorKind::InvalidFilename
                ) =>
            {
                Ok(None)
            }
            Err(error) => Err(Error::io("look at", path)(error)),
        }
    }
}

/// Access to the order inside the locked view.
struct OrderGuard<'a>(MutexGuard<'a, View>);

impl std::ops::Deref for OrderGuard<'_> {
    type Target = Order;

    fn deref(&self) -> &Order {
        self.0.order.as_ref().expect("listed before it is lent out")
    }
}

/// Turns a file's text into the document's line, in place.
pub(super) fn to_line(id: &str, text: &mut Vec<u8>) -> Reading {
    let mark = if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    let invalid = |offset: usize, reason: String| {
        let offset = (mark + offset).min(text.len());
        let line = 1 + memchr::memchr_iter(b'\n', &text[..offset]).count() as u64;
        Reading::Invalid(Invalid { offset, line, reason })
    };
    if text.len() > line::MAX_LINE_SIZE {
        return invalid(line::MAX_LINE_SIZE, "longer than 2 GiB".to_owned());
    }
    let json = match std::str::from_utf8(&text[mark..]) {
        Ok(json) => json,
        Err(error) => return invalid(error.valid_up_to(), "not valid UTF-8".to_owned()),
    };
    match line::normalize(Some(id), json) {
        Ok((_, line)) => {
            text.clear();
            text.extend_from_slice(&line);
            Reading::Document
        }
        Err(Error::Json { offset, reason }) => invalid(offset, reason.to_owned()),
        // The file of another document, on a file system that folds case.
        Err(Error::IdMismatch { found, .. }) if found.to_lowercase() == id.to_lowercase() => {
            Reading::Missing
        }
        Err(Error::IdMismatch { found, .. }) => invalid(
            0,
            format!(
                "\"_id\" is {found:?}, but the file name says {id:?}; change \"_id\" or leave it \
                 out"
            ),
        ),
        Err(other) => invalid(0, other.to_string()),
    }
}
