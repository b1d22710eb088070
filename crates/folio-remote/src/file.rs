//! A file at a URL.
//!
//! A read asks for all blocks that are not cached in one request, from the first missing one to the
//! last. A read that begins where an earlier request ended goes on with a scan: it asks for more
//! than it needs, four times as much each time, so that a scan costs few round trips and a look-up few
//! bytes. What is larger than a scan's request is not cached in memory: it is an index, which its
//! reader keeps.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::SystemTime;

use folio_file::{File, FileKind, Map, Stat};

use crate::cache::{BLOCK_SIZE, Cache};
use crate::client::{Client, Known, Wanted};
use crate::disk_cache::{CachedContent, DiskCache};
use crate::place::Place;

/// The most that a scan asks for at once.
const REQUEST_SIZE: u64 = 4 << 20;

/// How much more a scan asks for each time.
const GROWTH: u64 = 4;

/// Requests at the same time.
const REQUEST_COUNT: usize = 8;

/// Blocks that are fetched in vain rather than in two requests.
const GAP: u64 = 2;

/// Scans of one file that go on beside each other.
const SCAN_COUNT: usize = 16;

/// What asks, and what it has read.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) client: Client,
    pub(crate) cache: Cache,
    /// What processes before have read, if that is wanted.
    pub(crate) disk: Option<Arc<DiskCache>>,
}

/// An open file.
#[derive(Debug)]
pub(crate) struct RemoteFile {
    connection: Arc<Connection>,
    place: Place,
    known: Known,
    identity: u64,
    on_disk: Option<CachedContent>,
    /// Where recent requests ended, and how large they were, newest last.
    scans: Mutex<Vec<(u64, u64)>>,
}

impl RemoteFile {
    pub(crate) fn new(connection: Arc<Connection>, place: Place, known: Known) -> Self {
        let identity = known.identity(&place);
        let disk = connection.disk.as_ref();
        let on_disk = disk.and_then(|disk| disk.content(&place.shown, &known));
        Self { connection, place, known, identity, on_disk, scans: Mutex::default() }
    }

    /// The place's first bytes, or its last, and what is known of it from then on.
    ///
    /// # Errors
    /// As [`Client::read`].
    pub(crate) fn look(
        connection: Arc<Connection>,
        place: Place,
        wanted: Wanted,
    ) -> io::Result<Self> {
        let answer = connection.client.read(&place, wanted, None)?;
        let file = Self::new(connection, place, answer.known);
        file.connection.cache.keep(file.identity, answer.start, &answer.bytes, file.known.size);
        Ok(file)
    }

    pub(crate) fn known(&self) -> &Known {
        &self.known
    }

    fn fetch(&self, start: u64, end: u64) -> io::Result<Vec<u8>> {
        let wanted = Wanted::Range(start, end);
        Ok(self.connection.client.read(&self.place, wanted, Some(&self.known))?.bytes)
    }

    /// Fetches what is too large for the cache in memory.
    fn fetch_large(&self, start: u64, end: u64) -> io::Result<Vec<u8>> {
        let Some(on_disk) = &self.on_disk else { return self.fetch(start, end) };
        let (first, last) = (start / BLOCK_SIZE, end.div_ceil(BLOCK_SIZE));
        let (first, mut bytes) = match on_disk.read(first, last) {
            Some(found) => found,
            None => {
                let stop = (last * BLOCK_SIZE).min(self.known.size);
                let bytes = self.fetch(first * BLOCK_SIZE, stop)?;
                on_disk.keep(first, &bytes);
                (first, bytes)
            }
        };
        let from = first * BLOCK_SIZE;
        bytes.truncate((end - from) as usize);
        bytes.drain(..(start - from) as usize);
        Ok(bytes)
    }

    /// Reads through the cache. The range is within the file.
    fn read_blocks(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let end = offset + buffer.len() as u64;
        let blocks = offset / BLOCK_SIZE..end.div_ceil(BLOCK_SIZE);
        let cached: Vec<Option<Arc<[u8]>>> =
            blocks.clone().map(|number| self.connection.cache.get(self.identity, number)).collect();
        let missing = |block: &Option<Arc<[u8]>>| block.is_none();
        let (start, fetched) =
            match (cached.iter().position(missing), cached.iter().rposition(missing)) {
                (Some(first), Some(last)) => {
                    self.fetch_blocks(blocks.start + first as u64, blocks.start + last as u64 + 1)?
                }
                _ => (0, Vec::new()),
            };
        for (number, block) in blocks.zip(cached) {
            let block_start = number * BLOCK_SIZE;
            let bytes = match &block {
                Some(bytes) => &bytes[..],
                None => {
                    let from = (block_start - start) as usize;
                    &fetched[from..fetched.len().min(from + BLOCK_SIZE as usize)]
                }
            };
            let (from, to) = (offset.max(block_start), end.min(block_start + bytes.len() as u64));
            buffer[(from - offset) as usize..(to - offset) as usize].copy_from_slice(
                &bytes[(from - block_start) as usize..(to - block_start) as usize],
            );
        }
        Ok(())
    }

    /// Fetches a range of blocks, and more if it goes on with a scan. Returns the offset of the
    /// first byte, and the bytes.
    fn fetch_blocks(&self, first: u64, end: u64) -> io::Result<(u64, Vec<u8>)> {
        let start = first * BLOCK_SIZE;
        let wanted = (end - first) * BLOCK_SIZE;
        if let Some((first, bytes)) = self.on_disk.as_ref().and_then(|disk| disk.read(first, end)) {
            let (from, size) = (first * BLOCK_SIZE, bytes.len() as u64);
            self.scan_size(start);
            self.note_scan(from + size, size.next_multiple_of(BLOCK_SIZE));
            self.connection.cache.keep(self.identity, from, &bytes, self.known.size);
            return Ok((from, bytes));
        }
        let ahead = self.scan_size(start).map_or(wanted, |size| wanted.max(size));
        let stop = (start + ahead).min(self.known.size);
        let bytes = self.fetch(start, stop)?;
        self.note_scan(stop, ahead);
        self.connection.cache.keep(self.identity, start, &bytes, self.known.size);
        if let Some(on_disk) = &self.on_disk {
            on_disk.keep(first, &bytes);
        }
        Ok((start, bytes))
    }

    fn has_block(&self, number: u64) -> bool {
        self.connection.cache.get(self.identity, number).is_some()
    }

    /// Fetches ranges of blocks at the same time.
    fn fetch_together(&self, ranges: &[(u64, u64)]) -> io::Result<()> {
        thread::scope(|scope| {
            let fetch = |&(first, end): &(u64, u64)| {
                scope.spawn(move || self.fetch_blocks(first, end).map(drop))
            };
            let running: Vec<_> = ranges.iter().map(fetch).collect();
            running.into_iter().try_for_each(|fetched| {
                fetched.join().unwrap_or_else(|_| Err(io::Error::other("a thread has panicked")))
            })
        })
    }

    /// How much to ask for, if an earlier request ended here.
    fn scan_size(&self, offset: u64) -> Option<u64> {
        let mut scans = self.scans.lock().unwrap_or_else(PoisonError::into_inner);
        let at = scans.iter().position(|(end, _)| *end == offset)?;
        let (_, size) = scans.remove(at);
        Some((GROWTH * size).min(REQUEST_SIZE))
    }

    fn note_scan(&self, end: u64, size: u64) {
        let mut scans = self.scans.lock().unwrap_or_else(PoisonError::into_inner);
        if scans.len() == SCAN_COUNT {
            scans.remove(0);
        }
        scans.push((end, size));
    }
}

/// Ranges of blocks that cover ranges of bytes: those with a small gap between them are one.
fn joined(ranges: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut blocks: Vec<(u64, u64)> = ranges
        .iter()
        .map(|&(offset, size)| (offset / BLOCK_SIZE, (offset + size).div_ceil(BLOCK_SIZE)))
        .collect();
    blocks.sort_unstable();
    let mut joined: Vec<(u64, u64)> = Vec::new();
    for (start, end) in blocks {
        match joined.last_mut() {
            Some(last) if start <= last.1 + GAP && end - last.0 <= REQUEST_SIZE / BLOCK_SIZE => {
                last.1 = last.1.max(end);
            }
            _ => joined.push((start, end)),
        }
    }
    joined
}

/// The result of every write.
pub(crate) fn read_only<T>() -> io::Result<T> {
    Err(io::Error::new(
        io::ErrorKind::ReadOnlyFilesystem,
        "a URL is read-only; write to a directory, and copy it there",
    ))
}

impl File for RemoteFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let left = self.known.size.saturating_sub(offset);
        let size = left.min(buffer.len() as u64) as usize;
        let buffer = &mut buffer[..size];
        if size as u64 > REQUEST_SIZE {
            buffer.copy_from_slice(&self.fetch_large(offset, offset + size as u64)?);
        } else if size > 0 {
            self.read_blocks(buffer, offset)?;
        }
        Ok(size)
    }

    fn write_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        read_only()
    }

    fn append(&self, _: &[u8]) -> io::Result<u64> {
        read_only()
    }

    fn truncate(&self, _: u64) -> io::Result<()> {
        read_only()
    }

    fn sync_data(&self) -> io::Result<()> {
        read_only()
    }

    fn start_writeback(&self, _: u64, _: u64) {}

    fn stat(&self) -> io::Result<Stat> {
        Ok(Stat {
            kind: FileKind::File,
            device: 0,
            inode: self.identity,
            size: self.known.size,
            modified_ns: self.known.modified_ns,
            changed_ns: self.known.modified_ns,
        })
    }

    fn set_modified(&self, _: SystemTime) -> io::Result<()> {
        read_only()
    }

    fn map(&self) -> io::Result<Map> {
        // Memory grows with what arrives: a server may say any size.
        if self.known.size > REQUEST_SIZE {
            return Ok(Map::from(self.fetch_large(0, self.known.size)?));
        }
        let mut bytes = vec![0; self.known.size as usize];
        self.read_at(&mut bytes, 0)?;
        Ok(Map::from(bytes))
    }

    fn try_lock(&self) -> io::Result<bool> {
        read_only()
    }

    fn try_lock_shared(&self) -> io::Result<bool> {
        // No lock reaches another machine: readers see one state of each file instead.
        Ok(true)
    }

    fn unlock(&self) -> io::Result<()> {
        Ok(())
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn read_ahead(&self, ranges: &[(u64, u64)]) -> io::Result<()> {
        // An index may say any range.
        let is_missing = |&(offset, size): &(u64, u64)| {
            let end = offset.saturating_add(size);
            let mut blocks = offset / BLOCK_SIZE..end.div_ceil(BLOCK_SIZE);
            end <= self.known.size && blocks.any(|block| !self.has_block(block))
        };
        let missing: Vec<(u64, u64)> = ranges.iter().copied().filter(is_missing).collect();
        let wanted = joined(&missing);
        for some in wanted.chunks(REQUEST_COUNT) {
            let [one] = some else {
                self.fetch_together(some)?;
                continue;
            };
            self.fetch_blocks(one.0, one.1)?;
        }
        Ok(())
    }
}
