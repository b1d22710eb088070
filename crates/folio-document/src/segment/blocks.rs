//! Caches whole blocks of the data file from which many lines are read.
//!
//! Slots are found by block number, without a search. Of two blocks with the same slot, the cached one
//! stays while it is read (a second chance, as pages have in a clock). Otherwise lookups all over a
//! file that is larger than the cache would read a whole block for every few lines, and displace it
//! before it is of use.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};
use std::sync::{OnceLock, PoisonError, RwLock, RwLockReadGuard};

use folio_file::{File, prefetch};

use super::lines::try_read;
use crate::index::{BLOCK_SIZE, Entry};

/// A block is cached from this many reads on, when they have cost about half as much as reading the
/// whole block.
const WARM: u8 = 8;

/// How many reads of the file come before the slots are allocated. A process that looks up one
/// document should not pay for them.
const FIRST_READS: u32 = 32;

struct Block {
    number: u64,
    /// The part of the block that the file had; only that part is ever requested.
    bytes: Vec<u8>,
    /// A line of it was read since another block last wanted the slot.
    is_used: AtomicBool,
}

pub(super) struct Blocks {
    slot_count: usize,
    first_reads: AtomicU32,
    slots: OnceLock<Slots>,
}

struct Slots {
    blocks: Vec<RwLock<Option<Block>>>,
    /// Reads of blocks that are not cached, by block number modulo the length.
    reads: Vec<AtomicU8>,
}

impl Blocks {
    /// Caches at most `size` bytes; 0 caches nothing.
    pub(super) fn new(size: usize) -> Self {
        let slot_count = size / BLOCK_SIZE as usize;
        Self { slot_count, first_reads: AtomicU32::new(0), slots: OnceLock::new() }
    }

    /// Appends the line of an entry, if its block is cached; `false` if not. Never waits.
    #[inline]
    pub(super) fn read(&self, entry: Entry, text: &mut Vec<u8>) -> bool {
        let slot = self.slot(entry.offset());
        let Some(block) = slot.as_ref().and_then(|slot| slot.as_ref()) else { return false };
        let Some(line) = line_of(block, entry) else { return false };
        text.extend_from_slice(line);
        if !block.is_used.load(Ordering::Relaxed) {
            block.is_used.store(true, Ordering::Relaxed);
        }
        true
    }

    /// Prefetches the line of an entry, if its block is cached.
    #[inline]
    pub(super) fn prefetch(&self, entry: Entry) {
        let slot = self.slot(entry.offset());
        let line = slot.as_ref().and_then(|slot| line_of(slot.as_ref()?, entry));
        line.into_iter().for_each(prefetch);
    }

    /// Counts a read of a line from the file. Once that pays off, reads its whole block.
    pub(super) fn note_read(&self, file: &dyn File, entry: Entry) -> io::Result<()> {
        if self.slot_count == 0 || is_across_blocks(entry) {
            return Ok(());
        }
        let Some(slots) = self.slots.get() else {
            if self.first_reads.fetch_add(1, Ordering::Relaxed) >= FIRST_READS {
                self.slots.get_or_init(|| Slots::new(self.slot_count));
            }
            return Ok(());
        };
        let number = entry.offset() / BLOCK_SIZE;
        let reads = &slots.reads[(number % slots.reads.len() as u64) as usize];
        if reads.fetch_add(1, Ordering::Relaxed) < WARM {
            return Ok(());
        }
        reads.store(0, Ordering::Relaxed);
        if slots.is_in_use(number) {
            return Ok(());
        }
        let bytes = file.read_new(BLOCK_SIZE as usize, number * BLOCK_SIZE)?;
        let mut slot = slots.of(number).write().unwrap_or_else(PoisonError::into_inner);
        *slot = Some(Block { number, bytes, is_used: AtomicBool::new(false) });
        Ok(())
    }

    #[inline]
    fn slot(&self, offset: u64) -> Option<RwLockReadGuard<'_, Option<Block>>> {
        try_read(self.slots.get()?.of(offset / BLOCK_SIZE))
    }
}

impl Slots {
    fn new(count: usize) -> Self {
        Self {
            blocks: std::iter::repeat_with(RwLock::default).take(count).collect(),
            reads: std::iter::repeat_with(AtomicU8::default).take(count * 4).collect(),
        }
    }

    /// The slot of a block.
    #[inline]
    fn of(&self, number: u64) -> &RwLock<Option<Block>> {
        &self.blocks[(number % self.blocks.len() as u64) as usize]
    }

    /// Whether the slot of a block has another one that is read. Asking twice without a read between
    /// says no.
    fn is_in_use(&self, number: u64) -> bool {
        let slot = try_read(self.of(number));
        let other = slot.as_ref().and_then(|slot| slot.as_ref());
        let other = other.filter(|other| other.number != number);
        other.is_some_and(|other| other.is_used.swap(false, Ordering::Relaxed))
    }
}

#[inline]
fn line_of(block: &Block, entry: Entry) -> Option<&[u8]> {
    let start = (entry.offset() % BLOCK_SIZE) as usize;
    let line = block.bytes.get(start..start + entry.size() as usize)?;
    (block.number == entry.offset() / BLOCK_SIZE).then_some(line)
}

/// Whether a line crosses a block boundary, so that no block holds it in full.
#[inline]
fn is_across_blocks(entry: Entry) -> bool {
    (entry.offset() % BLOCK_SIZE) + u64::from(entry.size()) > BLOCK_SIZE
}

#[cfg(test)]
mod tests {
    use folio_file::{FileSystem, MemoryFileSystem, OpenMode};

    use super::*;

    /// The line at the start of a block.
    fn line(block: u64) -> Entry {
        Entry::document(block, block * BLOCK_SIZE, 8, 0)
    }

    #[test]
    fn a_block_that_is_read_keeps_its_slot() {
        let files = MemoryFileSystem::new();
        let file = files.open("/data".as_ref(), OpenMode::Write).unwrap();
        file.write_at(&vec![b'x'; 2 * BLOCK_SIZE as usize], 0).unwrap();
        let blocks = Blocks::new(BLOCK_SIZE as usize);
        let read = |block: u64| blocks.read(line(block), &mut Vec::new());
        let warm = |block: u64| {
            (0..=WARM).for_each(|_| blocks.note_read(&*file, line(block)).unwrap());
        };
        (0..=FIRST_READS).for_each(|_| blocks.note_read(&*file, line(0)).unwrap());
        warm(0);
        assert!(read(0));
        warm(1);
        assert!(read(0) && !read(1), "it was read since it was cached");
        warm(1);
        assert!(read(0) && !read(1), "and again since");
        warm(1);
        warm(1);
        assert!(read(1) && !read(0), "twice wanted, and not read between");
    }
}
