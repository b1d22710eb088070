//! The data file as readers see it: lines by place, and a bounded cache of blocks.
//!
//! The file is read with `read_at`, never mapped: people edit it, and a mapped
//! file that somebody shortens kills the process.

mod cache;
mod lines;

use std::io;
use std::sync::Arc;

use folio_file::File;

use self::cache::BlockCache;
pub(crate) use self::cache::Near;
use crate::index::{LineSource, Origin};

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
    pub(crate) fn near(&self, hash: u64) -> Option<Near<'_>> {
        self.cache.near(hash)
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
        self.cache.prefetch_room(hash, size);
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

impl LineSource for Near<'_> {
    /// # Errors
    /// `WouldBlock` where the file would have to be read.
    #[inline]
    fn read_line(&self, _: u64, offset: u64, size: u32, text: &mut Vec<u8>) -> io::Result<Origin> {
        text.clear();
        if self.read(offset, size as usize, text) {
            return Ok(Origin::Memory);
        }
        Err(io::ErrorKind::WouldBlock.into())
    }
}
