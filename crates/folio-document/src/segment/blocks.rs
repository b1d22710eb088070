//! Caches whole blocks of the data file from which many lines are read.
//!
//! Slots are found by block number, without a search. Two blocks with the same slot displace each
//! other.

use std::io;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
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
        let block = self.block(entry.offset());
        let line = block.as_ref().and_then(|block| line_of(block.as_ref(), entry));
        line.inspect(|line| text.extend_from_slice(line)).is_some()
    }

    /// Prefetches the line of an entry, if its block is cached.
    #[inline]
    pub(super) fn prefetch(&self, entry: Entry) {
        let block = self.block(entry.offset());
        let line = block.as_ref().and_then(|block| line_of(block.as_ref(), entry));
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
        let mut bytes = vec![0; BLOCK_SIZE as usize];
        let read = file.read_at(&mut bytes, number * BLOCK_SIZE)?;
        bytes.truncate(read);
        let mut slot = slots.of(number).write().unwrap_or_else(PoisonError::into_inner);
        *slot = Some(Block { number, bytes });
        Ok(())
    }

    #[inline]
    fn block(&self, offset: u64) -> Option<RwLockReadGuard<'_, Option<Block>>> {
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
}

#[inline]
fn line_of(block: Option<&Block>, entry: Entry) -> Option<&[u8]> {
    let block = block.filter(|block| block.number == entry.offset() / BLOCK_SIZE)?;
    let start = (entry.offset() % BLOCK_SIZE) as usize;
    block.bytes.get(start..start + entry.size() as usize)
}

/// Whether a line crosses a block boundary, so that no block holds it in full.
#[inline]
fn is_across_blocks(entry: Entry) -> bool {
    (entry.offset() % BLOCK_SIZE) + u64::from(entry.size()) > BLOCK_SIZE
}
