//! A bounded cache of 64-KiB blocks of the data file, for point reads.
//!
//! The first reads of a block go to the file for just the line, which is best
//! for a few lookups in a large file, and leave the line behind (`lines`). A block
//! of which more and more lines are asked for is read whole and kept. Slots are
//! found by block number, without a search; two blocks of one slot displace each other.

use std::io;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::{OnceLock, PoisonError, RwLock};

use folio_file::{File, prefetch};

use super::lines::{self, Lines, try_read};
use crate::index::BLOCK_SIZE;

/// A block is kept from this many reads on: about where they have cost half as much
/// as reading the block whole.
const WARM: u8 = 8;

/// Single lines take this part of the cache.
const LINES_SHARE: usize = 8;

/// So many reads of the file come before the slots are made: a process that
/// looks up one document should not pay for them.
const FIRST_READS: u32 = 32;

#[derive(Debug)]
struct Block {
    number: u64,
    /// As much of the block as the file had; never more than is asked of it.
    bytes: Vec<u8>,
}

pub(crate) struct BlockCache {
    slot_count: usize,
    first_reads: AtomicU32,
    slots: OnceLock<Slots>,
    /// Grows whenever an id may have got another line.
    epoch: AtomicU32,
}

struct Slots {
    blocks: Vec<RwLock<Option<Block>>>,
    /// Reads of blocks that are not kept, by block number modulo the length.
    reads: Vec<AtomicU8>,
    lines: Lines,
}

impl Slots {
    fn new(count: usize) -> Self {
        Self {
            lines: Lines::new(count * BLOCK_SIZE as usize / LINES_SHARE),
            blocks: std::iter::repeat_with(RwLock::default).take(count).collect(),
            reads: std::iter::repeat_with(AtomicU8::default).take(count * 4).collect(),
        }
    }

    /// Where a block is kept.
    #[inline]
    fn slot(&self, number: u64) -> &RwLock<Option<Block>> {
        &self.blocks[(number % self.blocks.len() as u64) as usize]
    }

    /// Reads a block whole into its slot; the next read of it is served from there.
    #[cold]
    fn keep(&self, file: &dyn File, number: u64) -> io::Result<()> {
        let mut bytes = vec![0; BLOCK_SIZE as usize];
        let read = file.read_at(&mut bytes, number * BLOCK_SIZE)?;
        bytes.truncate(read);
        let mut slot = self.slot(number).write().unwrap_or_else(PoisonError::into_inner);
        *slot = Some(Block { number, bytes });
        Ok(())
    }
}

impl BlockCache {
    /// A cache of at most `size` bytes; 0 keeps nothing.
    pub(crate) fn new(size: usize) -> Self {
        let slot_count = size / BLOCK_SIZE as usize;
        Self {
            slot_count,
            first_reads: AtomicU32::new(0),
            slots: OnceLock::new(),
            epoch: AtomicU32::new(0),
        }
    }

    /// Reads a line into the empty `text` if it is cached. If not, whoever reads it from
    /// the file passes it to [`BlockCache::keep_line`].
    #[inline]
    pub(crate) fn read(
        &self,
        file: &dyn File,
        hash: u64,
        offset: u64,
        size: usize,
        text: &mut Vec<u8>,
    ) -> io::Result<bool> {
        if self.slot_count == 0 || is_across_blocks(offset, size) {
            return Ok(false);
        }
        if self.near(hash).is_some_and(|near| near.read(offset, size, text)) {
            return Ok(true);
        }
        let Some(slots) = self.slots.get() else {
            if self.first_reads.fetch_add(1, Ordering::Relaxed) >= FIRST_READS {
                self.slots.get_or_init(|| Slots::new(self.slot_count));
            }
            return Ok(false);
        };
        let number = offset / BLOCK_SIZE;
        let reads = &slots.reads[(number % slots.reads.len() as u64) as usize];
        if reads.fetch_add(1, Ordering::Relaxed) < WARM {
            return Ok(false);
        }
        reads.store(0, Ordering::Relaxed);
        slots.keep(file, number)?;
        Ok(false)
    }

    /// What is kept for a hash; what says so is fetched from memory.
    #[inline]
    pub(crate) fn near(&self, hash: u64) -> Option<Near<'_>> {
        let slots = self.slots.get()?;
        let epoch = self.epoch.load(Ordering::Relaxed);
        Some(Near { slots, lines: slots.lines.near(hash), epoch })
    }

    /// Brings near what [`BlockCache::keep_line`] will write, while the file is read.
    #[inline]
    pub(crate) fn prefetch_room(&self, hash: u64, size: usize) {
        if let Some(slots) = self.slots.get() {
            slots.lines.prefetch_room(hash, size);
        }
    }

    /// Takes note of a line that was read from the file.
    #[inline]
    pub(crate) fn keep_line(&self, hash: u64, offset: u64, line: &[u8]) {
        if let Some(slots) = self.slots.get() {
            slots.lines.keep(hash, offset, line, self.epoch.load(Ordering::Relaxed));
        }
    }

    /// From here on another line may be the newest of its id. The caller has all lookups wait.
    pub(crate) fn begin_epoch(&self) {
        let next = (self.epoch.load(Ordering::Relaxed) + 1) % lines::EPOCHS;
        if next == 0
            && let Some(slots) = self.slots.get()
        {
            slots.lines.clear(); // the epochs begin anew
        }
        self.epoch.store(next, Ordering::Relaxed);
    }

    /// Brings a line near if its block is cached.
    #[inline]
    pub(crate) fn prefetch(&self, offset: u64, size: usize) {
        let Some(slots) = self.slots.get() else { return };
        let start = (offset % BLOCK_SIZE) as usize;
        let Some(block) = try_read(slots.slot(offset / BLOCK_SIZE)) else { return };
        let line = block.as_ref().and_then(|block| block.bytes.get(start..start + size));
        line.into_iter().for_each(prefetch);
    }

    /// Forgets what the file had from an offset on, where it was cut off.
    pub(crate) fn forget_from(&self, offset: u64) {
        let Some(slots) = self.slots.get() else { return };
        slots.lines.clear();
        for slot in &slots.blocks {
            let mut block = slot.write().unwrap_or_else(PoisonError::into_inner);
            if block.as_ref().is_some_and(|block| block.number >= offset / BLOCK_SIZE) {
                *block = None;
            }
        }
    }
}

/// What is kept for a hash, to be read without a look at the file and without waiting for a
/// thread that is at the line's place.
pub(crate) struct Near<'a> {
    slots: &'a Slots,
    lines: Option<lines::Near<'a>>,
    epoch: u32,
}

impl Near<'_> {
    /// Has the line fetched from memory that was kept for the hash, before it is known where
    /// it stands in the file.
    #[inline]
    pub(crate) fn prefetch(&self) {
        self.lines.iter().for_each(lines::Near::prefetch);
    }

    /// Lines that were kept for the hash, each the newest of its id as of the moment.
    #[inline]
    pub(crate) fn newest(&self) -> impl Iterator<Item = &[u8]> {
        self.lines.iter().flat_map(|lines| lines.of_epoch(self.epoch))
    }

    /// Reads a line into the empty `text`; `false` if it is not kept.
    #[inline]
    pub(crate) fn read(&self, offset: u64, size: usize, text: &mut Vec<u8>) -> bool {
        if is_across_blocks(offset, size) {
            return false;
        }
        // Where a line is kept by itself has been fetched by now.
        if let Some(line) = self.lines.as_ref().and_then(|lines| lines.line(offset, size)) {
            text.extend_from_slice(line);
            return true;
        }
        let (number, start) = (offset / BLOCK_SIZE, (offset % BLOCK_SIZE) as usize);
        let block = try_read(self.slots.slot(number));
        let block = block.as_ref().and_then(|block| block.as_ref());
        let line = block
            .filter(|block| block.number == number)
            .and_then(|block| block.bytes.get(start..start + size));
        line.into_iter().for_each(|line| text.extend_from_slice(line));
        line.is_some()
    }
}

/// Such a line is read from the file.
#[inline]
fn is_across_blocks(offset: u64, size: usize) -> bool {
    (offset % BLOCK_SIZE) as usize + size > BLOCK_SIZE as usize
}

impl std::fmt::Debug for BlockCache {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "BlockCache({} slots)", self.slot_count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_the_newest_of_its_id_until_the_next_epoch() {
        let cache = BlockCache::new(1 << 20);
        cache.slots.get_or_init(|| Slots::new(16));
        let newest = |hash| {
            let near = cache.near(hash).unwrap();
            near.newest().map(<[u8]>::to_vec).collect::<Vec<_>>()
        };
        cache.keep_line(7, 0, b"old");
        assert_eq!(newest(7), [b"old"]);
        assert!(newest(1 << 50).is_empty());
        cache.begin_epoch();
        assert!(newest(7).is_empty());
        let mut text = Vec::new();
        assert!(cache.near(7).unwrap().read(0, 3, &mut text), "the index may still ask for it");
        cache.keep_line(7, 100, b"new");
        assert_eq!(newest(7), [b"new"]);
        // The epochs are numbered anew at some time: what was kept in an older one of the
        // same number is gone.
        (0..lines::EPOCHS).for_each(|_| cache.begin_epoch());
        assert!(newest(7).is_empty());
    }
}
