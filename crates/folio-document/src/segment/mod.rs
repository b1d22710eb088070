//! The data file as readers see it: lines by place, and a bounded cache of blocks.
//!
//! The file is read with `read_at`, never mapped: people edit it, and a mapped
//! file that somebody shortens kills the process.

mod cache;
mod lines;

use std::io;
use std::sync::Arc;

use folio_file::File;

use self::cache::{BlockCache, Near};
use crate::index::{LineSource, Origin};

/// Of the room for a line, so much is fetched from memory before it is there.
const ROOM_SIZE: usize = 512;

/// An open data file.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) file: Arc<dyn File>,
    cache: BlockCache,
}

impl Segment {
    pub(crate) fn new(file: Arc<dyn File>, cache_size: usize) -> Self {
        Self { file, cache: BlockCache::new(cache_size) }
    }

    /// The lines that can be had for a hash without reading the file.
    #[inline]
    pub(crate) fn near(&self, hash: u64) -> Kept<'_> {
        Kept(self.cache.near(hash))
    }

    /// The lines that are the newest of their ids may be others from here on. Called while
    /// nobody looks any up.
    pub(crate) fn begin_epoch(&self) {
        self.cache.begin_epoch();
    }

    /// The file was cut off at an offset: other bytes may follow there.
    pub(crate) fn forget_from(&self, offset: u64) {
        self.cache.forget_from(offset);
    }
}

impl LineSource for Segment {
    #[inline]
    fn read_line(
        &self,
        hash: u64,
        offset: u64,
        size: u32,
        text: &mut Vec<u8>,
    ) -> io::Result<Origin> {
        let size = size as usize;
        text.clear();
        if self.cache.read(&*self.file, hash, offset, size, text)? {
            return Ok(Origin::Memory);
        }
        if size > 1 << 20 && offset + size as u64 > self.file.stat()?.size {
            return Ok(Origin::Nowhere); // a damaged entry must not make us allocate what it says
        }
        self.cache.prefetch_room(hash, size.min(ROOM_SIZE));
        text.resize(size, 0);
        let read = self.file.read_at(text, offset)?;
        Ok(if read < size { Origin::Nowhere } else { Origin::File })
    }

    #[inline]
    fn keep_line(&self, hash: u64, offset: u64, line: &[u8]) {
        self.cache.keep_line(hash, offset, line);
    }

    #[inline]
    fn prefetch_line(&self, offset: u64, size: u32) {
        self.cache.prefetch(offset, size as usize);
    }
}

/// The lines of a file that can be had for one hash without reading it and without waiting.
pub(crate) struct Kept<'a>(Option<Near<'a>>);

impl Kept<'_> {
    /// Lines that were kept for the hash, each the newest of its id as of the moment.
    #[inline]
    pub(crate) fn newest(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().flat_map(Near::newest)
    }

    /// Has the line fetched from memory that was kept for the hash, before it is known where
    /// it stands in the file.
    #[inline]
    pub(crate) fn prefetch(&self) {
        self.0.iter().for_each(Near::prefetch);
    }
}

impl LineSource for Kept<'_> {
    /// # Errors
    /// `WouldBlock` where the file would have to be read.
    #[inline]
    fn read_line(&self, _: u64, offset: u64, size: u32, text: &mut Vec<u8>) -> io::Result<Origin> {
        text.clear();
        match &self.0 {
            Some(near) if near.read(offset, size as usize, text) => Ok(Origin::Memory),
            _ => Err(io::ErrorKind::WouldBlock.into()),
        }
    }
}
