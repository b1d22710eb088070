//! A file at a URL.
//!
//! A read asks for all blocks that are not cached in one request, from the first missing one to the
//! last. A read that begins where an earlier request ended goes on with a scan, which asks for more
//! than it needs, and soon for pieces ahead (`scans`): so a scan costs few round trips, and a look-up
//! few bytes. What is larger than a look-up's requests is not cached in memory: it is an index, which
//! its reader keeps.
//!
//! Pieces ahead are fetched by threads, which end with the file: it tells them to stop, and waits
//! until they have. What they cannot fetch is an error for a reader that waits for it. One that comes
//! later asks again.

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::SystemTime;

use folio_file::{File, FileKind, Map, Stat};
use folio_types::{WaitEnd, wait_end, wait_for_threads, with_wait_end};

use crate::cache::{BLOCK_SIZE, Cache};
use crate::client::Client;
use crate::disk_cache::{CachedContent, DiskCache};
use crate::place::Place;
use crate::reading::{Known, Wanted};
use crate::scans::{Duty, Found, Scans, Wish};

/// The largest read that goes through the cache in memory, and the largest request of look-ups.
const READ_SIZE: u64 = 4 << 20;

/// Requests of look-ups at the same time.
const REQUEST_COUNT: usize = 8;

/// Blocks that are fetched in vain rather than in two requests.
const GAP: u64 = 2;

/// What asks, and what it has read.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) client: Client,
    pub(crate) cache: Arc<Cache>,
    /// What processes before have read, if that is wanted.
    pub(crate) disk: Option<Arc<DiskCache>>,
}

/// An open file.
#[derive(Debug)]
pub(crate) struct RemoteFile {
    source: Arc<Source>,
    scans: Scans,
    /// Those that fetch ahead.
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// Where the bytes of a file are from.
#[derive(Debug)]
struct Source {
    connection: Arc<Connection>,
    place: Place,
    known: Known,
    identity: u64,
    on_disk: Option<CachedContent>,
    /// The file is being closed.
    is_closed: AtomicBool,
}

impl Source {
    fn fetch(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        let wanted = Wanted::Range(range.start, range.end);
        let Self { connection, place, known, is_closed, .. } = self;
        Ok(connection.client.read_until(place, wanted, Some(known), is_closed)?.bytes)
    }

    /// Fetches blocks, and keeps them on the disk.
    fn fetch_blocks(&self, range: Range<u64>) -> io::Result<Arc<Vec<u8>>> {
        let first = range.start / BLOCK_SIZE;
        let bytes = self.fetch(range)?;
        if let Some(on_disk) = &self.on_disk {
            on_disk.keep(first, &bytes);
        }
        Ok(Arc::new(bytes))
    }

    /// The bytes from the disk that have a block, and their offset.
    fn on_disk(&self, block: u64) -> Option<(u64, Vec<u8>)> {
        let (first, bytes) = self.on_disk.as_ref()?.read(block, block + 1)?;
        Some((first * BLOCK_SIZE, bytes))
    }

    fn keep(&self, offset: u64, bytes: &[u8]) {
        self.connection.cache.keep(self.identity, offset, bytes, self.known.size);
    }

    fn forget(&self, first: u64, end: u64) {
        self.connection.cache.forget(self.identity, first..end);
        if let Some(on_disk) = &self.on_disk {
            on_disk.forget(first, end);
        }
    }

    fn cached(&self, block: u64) -> Option<Arc<[u8]>> {
        self.connection.cache.get(self.identity, block)
    }
}

/// Bytes that have the block that was wanted.
enum Held {
    Block(Arc<[u8]>),
    /// They were fetched, and whether the cache has them.
    Bytes(Arc<Vec<u8>>, bool),
}

impl RemoteFile {
    pub(crate) fn new(connection: Arc<Connection>, place: Place, known: Known) -> Self {
        let identity = known.identity(&place);
        let disk = connection.disk.as_ref();
        let on_disk = disk.and_then(|disk| disk.content(&place.shown, &known));
        let scans = Scans::new(known.size, &connection.cache);
        let is_closed = AtomicBool::new(false);
        let source = Source { connection, place, known, identity, on_disk, is_closed };
        Self { source: Arc::new(source), scans, threads: Mutex::default() }
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
        file.source.keep(answer.start, &answer.bytes);
        Ok(file)
    }

    pub(crate) fn known(&self) -> &Known {
        &self.source.known
    }

    fn size(&self) -> u64 {
        self.source.known.size
    }

    /// Fetches what is too large for the cache in memory.
    fn fetch_large(&self, start: u64, end: u64) -> io::Result<Vec<u8>> {
        let Some(on_disk) = &self.source.on_disk else { return self.source.fetch(start..end) };
        let (first, last) = (start / BLOCK_SIZE, end.div_ceil(BLOCK_SIZE));
        let (first, mut bytes) = match on_disk.read(first, last) {
            Some(found) => found,
            None => {
                let stop = (last * BLOCK_SIZE).min(self.size());
                let bytes = self.source.fetch(first * BLOCK_SIZE..stop)?;
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
    fn read_blocks(&self, buffer: &mut [u8], offset: u64, reach: Option<u64>) -> io::Result<()> {
        let end = offset + buffer.len() as u64;
        let mut at = offset;
        while at < end {
            let block = at / BLOCK_SIZE;
            let (start, held) = match self.source.cached(block) {
                Some(bytes) => (block * BLOCK_SIZE, Held::Block(bytes)),
                None => self.obtain(block, end, reach)?,
            };
            let bytes = match &held {
                Held::Block(bytes) => &bytes[..],
                Held::Bytes(bytes, _) => &bytes[..],
            };
            let stop = end.min(start + bytes.len() as u64);
            if stop <= at {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            buffer[(at - offset) as usize..(stop - offset) as usize]
                .copy_from_slice(&bytes[(at - start) as usize..(stop - start) as usize]);
            if let Held::Bytes(bytes, false) = &held {
                let from = (block * BLOCK_SIZE - start) as usize;
                let to = bytes.len().min((stop.next_multiple_of(BLOCK_SIZE) - start) as usize);
                self.source.keep(block * BLOCK_SIZE, &bytes[from..to]);
            }
            at = stop;
        }
        let read = offset..end.next_multiple_of(BLOCK_SIZE);
        self.fetch_ahead(self.scans.note_read(&self.source.connection.cache, read));
        Ok(())
    }

    /// Bytes that have a block that is not cached, and their offset. What else is missing up to
    /// `end` is asked for with it; `reach` is how far the reader goes on, if it has said so.
    fn obtain(&self, block: u64, end: u64, reach: Option<u64>) -> io::Result<(u64, Held)> {
        let start = block * BLOCK_SIZE;
        let mut missing = (block + 1..end.div_ceil(BLOCK_SIZE)).rev();
        let last = missing.find(|block| self.source.cached(*block).is_none()).unwrap_or(block);
        let wish = Wish { range: start..(last + 1) * BLOCK_SIZE, end: reach };
        loop {
            if !self.scans.has(start)
                && let Some((from, bytes)) = self.source.on_disk(block)
            {
                let to = from + (bytes.len() as u64).next_multiple_of(BLOCK_SIZE);
                self.scans.note_found(&(start..to));
                self.source.keep(from, &bytes);
                return Ok((from, Held::Bytes(Arc::new(bytes), true)));
            }
            match self.scans.find(&self.source.connection.cache, &wish) {
                Found::Asked(piece) => {
                    if let Some(bytes) = piece.wait()? {
                        return Ok((piece.range.start, Held::Bytes(bytes, !piece.is_kept())));
                    }
                }
                Found::Duty { piece, own, ahead } => {
                    self.fetch_ahead(ahead);
                    let fetched = self.source.fetch_blocks(own.range());
                    if let Ok(bytes) = &fetched {
                        own.fulfil(Arc::clone(bytes));
                        if !piece.is_kept() {
                            self.source.keep(piece.range.start, bytes);
                        }
                    }
                    if !piece.is_kept() {
                        self.scans.forget(&piece);
                    }
                    return Ok((piece.range.start, Held::Bytes(fetched?, !piece.is_kept())));
                }
            }
        }
    }

    /// Fetches pieces on threads. What no thread can be had for is fetched when it is read.
    fn fetch_ahead(&self, duties: Vec<Duty>) {
        if duties.is_empty() {
            return;
        }
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.retain(|thread| !thread.is_finished());
        for duty in duties {
            let source = Arc::clone(&self.source);
            let closed = Arc::clone(&source);
            let end: WaitEnd = Arc::new(move || closed.is_closed.load(Ordering::Relaxed));
            let fetch = move || {
                let range = duty.range();
                match with_wait_end(Some(end), || source.fetch_blocks(range)) {
                    Ok(bytes) => duty.fulfil(bytes),
                    Err(error) => duty.fail(error),
                }
            };
            let builder = thread::Builder::new().name("folio-ahead".to_owned());
            threads.extend(builder.spawn(fetch));
        }
    }

    fn has_block(&self, number: u64) -> bool {
        self.source.cached(number).is_some() || self.scans.has(number * BLOCK_SIZE)
    }

    /// Fetches a range of blocks into the cache.
    fn fetch_range(&self, (first, end): (u64, u64)) -> io::Result<()> {
        let end = end * BLOCK_SIZE;
        let mut at = first * BLOCK_SIZE;
        while at < end.min(self.size()) {
            let (start, held) = self.obtain(at / BLOCK_SIZE, end, None)?;
            at = match held {
                Held::Block(bytes) => start + bytes.len() as u64,
                Held::Bytes(bytes, _) => start + bytes.len() as u64,
            };
        }
        Ok(())
    }

    /// Fetches ranges of blocks at the same time.
    fn fetch_together(&self, ranges: &[(u64, u64)]) -> io::Result<()> {
        thread::scope(|scope| {
            let (running, ended) = channel();
            let fetch = |&range: &(u64, u64)| {
                let (end, running) = (wait_end(), running.clone());
                scope.spawn(move || {
                    let _running = running;
                    with_wait_end(end, || self.fetch_range(range))
                })
            };
            let fetching: Vec<_> = ranges.iter().map(fetch).collect();
            drop(running);
            wait_for_threads(&ended);
            fetching.into_iter().try_for_each(|fetched| {
                fetched.join().unwrap_or_else(|_| Err(io::Error::other("a thread has panicked")))
            })
        })
    }

    fn read(&self, buffer: &mut [u8], offset: u64, reach: Option<u64>) -> io::Result<usize> {
        let left = self.size().saturating_sub(offset);
        let size = left.min(buffer.len() as u64) as usize;
        let buffer = &mut buffer[..size];
        if size as u64 > READ_SIZE {
            buffer.copy_from_slice(&self.fetch_large(offset, offset + size as u64)?);
        } else if size > 0 {
            self.read_blocks(buffer, offset, reach)?;
        }
        Ok(size)
    }
}

impl Drop for RemoteFile {
    fn drop(&mut self) {
        self.source.is_closed.store(true, Ordering::Relaxed);
        let threads = self.threads.get_mut().unwrap_or_else(PoisonError::into_inner);
        for thread in threads.drain(..) {
            // One that has panicked has left its piece.
            let _ = thread.join();
        }
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
            Some(last) if start <= last.1 + GAP && end - last.0 <= READ_SIZE / BLOCK_SIZE => {
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
        self.read(buffer, offset, None)
    }

    fn read_on(&self, buffer: &mut [u8], offset: u64, end: u64) -> io::Result<usize> {
        self.read(buffer, offset, Some(end))
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
            inode: self.source.identity,
            size: self.size(),
            modified_ns: self.known().modified_ns,
            changed_ns: self.known().modified_ns,
        })
    }

    fn set_modified(&self, _: SystemTime) -> io::Result<()> {
        read_only()
    }

    fn map(&self) -> io::Result<Map> {
        // Memory grows with what arrives: a server may say any size.
        if self.size() > READ_SIZE {
            return Ok(Map::from(self.fetch_large(0, self.size())?));
        }
        let mut bytes = vec![0; self.size() as usize];
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

    fn forget(&self, offset: u64, size: u64) {
        let end = offset.saturating_add(size).min(self.size());
        let (first, end) = (offset / BLOCK_SIZE, end.div_ceil(BLOCK_SIZE));
        self.scans.forget_range(&(first * BLOCK_SIZE..end * BLOCK_SIZE));
        self.source.forget(first, end);
    }

    fn read_ahead(&self, ranges: &[(u64, u64)]) -> io::Result<()> {
        // An index may say any range.
        let is_missing = |&(offset, size): &(u64, u64)| {
            let end = offset.saturating_add(size);
            let mut blocks = offset / BLOCK_SIZE..end.div_ceil(BLOCK_SIZE);
            end <= self.size() && blocks.any(|block| !self.has_block(block))
        };
        let missing: Vec<(u64, u64)> = ranges.iter().copied().filter(is_missing).collect();
        let wanted = joined(&missing);
        for some in wanted.chunks(REQUEST_COUNT) {
            let [one] = some else {
                self.fetch_together(some)?;
                continue;
            };
            self.fetch_range(*one)?;
        }
        Ok(())
    }
}
