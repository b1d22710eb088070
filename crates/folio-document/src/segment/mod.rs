//! The data file as readers see it: reads the lines that index entries point to, through a bounded
//! cache of single lines (`lines`) and of blocks from which many lines were read (`blocks`).
//!
//! The file is read with `read_at`, never mapped: people edit it, and truncating a mapped file
//! kills the process.
//!
//! A line that an entry points to is verified by its checksum, cached or not. If the file has
//! replaced it since, the check fails and the line is read again.

mod blocks;
mod lines;

use std::io;
use std::sync::Arc;

use folio_file::File;

use self::blocks::Blocks;
use self::lines::Lines;
use crate::index::{Entry, IndexFault, LineSource, Origin, line_sum};
use crate::line;

/// Memory for larger lines is allocated only after the file is known to contain them.
const TRUSTED_SIZE: usize = 1 << 20;

/// Single lines get this fraction of the cache.
const LINES_SHARE: usize = 8;

/// An open data file.
pub(crate) struct Segment {
    pub(crate) file: Arc<dyn File>,
    /// The file is on another machine: lines that are read together are fetched together.
    pub(crate) is_remote: bool,
    lines: Lines,
    blocks: Blocks,
}

impl Segment {
    pub(crate) fn new(file: Arc<dyn File>, cache_size: usize) -> Self {
        Self {
            is_remote: file.is_remote(),
            file,
            lines: Lines::new(cache_size / LINES_SHARE),
            blocks: Blocks::new(cache_size),
        }
    }

    /// Reads the newest line of an id, if it is cached.
    #[inline]
    pub(crate) fn read_newest(&self, hash: u64, id: &str, text: &mut Vec<u8>) -> bool {
        self.lines.read(hash, id, text)
    }

    /// Reads the line of an entry, if it is cached by itself.
    #[inline]
    pub(crate) fn read_kept(&self, entry: Entry, text: &mut Vec<u8>) -> bool {
        text.clear();
        self.lines.read_entry(entry, text) && line_sum(text) == entry.sum()
    }

    /// Caches a line that is the newest of its id while the view does not change.
    pub(crate) fn keep_newest(&self, hash: u64, line: &[u8]) {
        self.lines.keep(hash, line);
    }

    /// Drops the cached line of a hash, whose id gets another line. Called while the view changes.
    pub(crate) fn forget(&self, hash: u64) {
        self.lines.forget(hash);
    }

    /// Drops all cached lines, because many ids get other lines. Called while the view changes.
    pub(crate) fn forget_all(&self) {
        self.lines.clear();
    }

    /// The cached lines, without reading the file.
    pub(crate) fn cached(&self) -> CachedLines<'_> {
        CachedLines(self)
    }

    /// Fetches the lines of entries that will be read soon.
    pub(crate) fn read_ahead(&self, entries: &[Entry]) -> io::Result<()> {
        let ranges: Vec<(u64, u64)> =
            entries.iter().map(|entry| (entry.offset(), u64::from(entry.size()))).collect();
        self.file.read_ahead(&ranges)
    }

    /// Reads a line from the file; `false` if the file ends before the line does.
    fn read_file(&self, entry: Entry, text: &mut Vec<u8>) -> io::Result<bool> {
        if entry.is_tombstone() {
            return self.read_tombstone(entry.offset(), text);
        }
        let (offset, size) = (entry.offset(), entry.size() as usize);
        if size > TRUSTED_SIZE && offset + size as u64 > self.file.stat()?.size {
            return Ok(false); // a damaged entry must not decide how much is allocated
        }
        text.resize(size, 0);
        Ok(self.file.read_at(text, offset)? == size)
    }

    /// The entry of a tombstone has no size: its line ends at the first quote and brace.
    fn read_tombstone(&self, offset: u64, text: &mut Vec<u8>) -> io::Result<bool> {
        text.resize(line::TOMBSTONE_SIZE_MAX, 0);
        let read = self.file.read_at(text, offset)?;
        let end = memchr::memmem::find(&text[..read], b"\"}").map(|end| end + 2);
        text.truncate(end.unwrap_or(0));
        Ok(end.is_some())
    }
}

impl LineSource for Segment {
    #[inline]
    fn read(&self, entry: Entry, text: &mut Vec<u8>) -> Result<Origin, IndexFault> {
        if let Ok(origin) = self.cached().read(entry, text) {
            return Ok(origin);
        }
        text.clear();
        if !self.read_file(entry, text)? || line_sum(text) != entry.sum() {
            return Err(IndexFault::Line { offset: entry.offset() });
        }
        self.blocks.note_read(&*self.file, entry)?;
        Ok(Origin::File)
    }

    #[inline]
    fn prefetch(&self, entry: Entry) {
        self.blocks.prefetch(entry);
    }
}

/// The cached lines of a segment.
pub(crate) struct CachedLines<'a>(&'a Segment);

impl LineSource for CachedLines<'_> {
    /// # Errors
    /// `WouldBlock` if the file would have to be read.
    #[inline]
    fn read(&self, entry: Entry, text: &mut Vec<u8>) -> Result<Origin, IndexFault> {
        text.clear();
        let is_cached = self.0.blocks.read(entry, text) || self.0.lines.read_entry(entry, text);
        if is_cached && line_sum(text) == entry.sum() {
            return Ok(Origin::Memory);
        }
        Err(io::Error::from(io::ErrorKind::WouldBlock).into())
    }
}

impl std::fmt::Debug for Segment {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Segment({:?})", self.file)
    }
}
