//! A cache of looked-up lines, by the hash of their id. Each is the newest line of its id.
//!
//! It serves the usual case: a few thousand documents, spread over a large file, that are read
//! again and again, too few per block to cache the whole block. Their lines are copied here after
//! verification. From then on they are returned without the index or a checksum. A put or delete
//! removes the line of its id ([`Lines::forget`]) before readers see the change.
//!
//! A hash selects the shard and, in it, one of four slots that share a cache line. A fifth line
//! displaces one of them, and a full shard is emptied.

use std::ops::Range;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};

use crate::index::Entry;
use crate::line;

/// Enough shards that threads reading different lines seldom contend.
const SHARD_COUNT: usize = 16;

/// A shard has at most one slot per this many bytes of text, about half of a short line.
const BYTES_PER_SLOT: usize = 64;

/// Slots of a shard with its first line. They double as it fills, so that a few lookups do not pay
/// for many slots.
const FIRST_SLOTS: usize = 256;

/// Initial room for text in such a shard.
const FIRST_TEXT: usize = 16 << 10;

/// Slots that a line may use: those in one cache line.
const WAYS: usize = 4;

/// Longer lines cost more to cache than to read again.
const LINE_SIZE_MAX: usize = 4 << 10;

pub(super) struct Lines {
    shards: Vec<RwLock<Shard>>,
    /// Maximum bytes of text per shard.
    shard_size: usize,
}

#[derive(Default)]
struct Shard {
    text: Vec<u8>,
    slots: Vec<Slot>,
    /// Lines added since the shard was empty.
    count: usize,
}

#[derive(Clone, Copy, Default)]
struct Slot {
    hash: u64,
    /// The start of the line in the shard's text.
    start: u32,
    /// 0 for an empty slot.
    size: u32,
}

impl Slot {
    #[inline]
    fn range(self) -> Range<usize> {
        self.start as usize..(self.start + self.size) as usize
    }
}

impl Lines {
    /// Caches at most `size` bytes of text, plus a quarter of that for slots; 0 caches nothing.
    pub(super) fn new(size: usize) -> Self {
        let shard_size = (size / SHARD_COUNT).min(u32::MAX as usize / 2);
        let shards = std::iter::repeat_with(RwLock::default).take(SHARD_COUNT).collect();
        Self { shards, shard_size }
    }

    /// Reads the line of an id into `text`, which is cleared first, if it is cached. Never waits.
    #[inline]
    pub(super) fn read(&self, hash: u64, id: &str, text: &mut Vec<u8>) -> bool {
        let Some(shard) = try_read(&self.shards[shard_of(hash)]) else { return false };
        let Some(line) = shard.line(hash) else { return false };
        if line::has_id(line, id) != Some(true) {
            return false; // another id with the same hash
        }
        text.clear();
        text.extend_from_slice(line);
        true
    }

    /// Appends the line that is cached for the hash of an entry, if its size matches. The caller
    /// checks by checksum that it is the line of the entry. Never waits.
    #[inline]
    pub(super) fn read_entry(&self, entry: Entry, text: &mut Vec<u8>) -> bool {
        let Some(shard) = try_read(&self.shards[shard_of(entry.hash)]) else { return false };
        let line = shard.line(entry.hash).filter(|line| line.len() == entry.size() as usize);
        line.inspect(|line| text.extend_from_slice(line)).is_some()
    }

    /// Caches the line of a document. The caller guarantees that it is the newest of its id while
    /// the view does not change.
    pub(super) fn keep(&self, hash: u64, line: &[u8]) {
        if line.len() > LINE_SIZE_MAX.min(self.shard_size) {
            return;
        }
        let mut shard = self.write(shard_of(hash));
        if shard.text.len() + line.len() > self.shard_size {
            shard.empty();
        }
        if shard.count * WAYS >= shard.slots.len() {
            shard.grow((self.shard_size / BYTES_PER_SLOT).next_multiple_of(WAYS));
        }
        if shard.text.capacity() == 0 {
            shard.text.reserve_exact(FIRST_TEXT.min(self.shard_size));
        }
        let start = shard.text.len() as u32;
        shard.put(Slot { hash, start, size: line.len() as u32 });
        shard.text.extend_from_slice(line);
        shard.count += 1;
    }

    /// Removes the line of a hash, because its id gets another line.
    pub(super) fn forget(&self, hash: u64) {
        let mut shard = self.write(shard_of(hash));
        let ways = ways_of(hash, shard.slots.len());
        let slots = shard.slots.get_mut(ways).unwrap_or_default();
        slots.iter_mut().filter(|slot| slot.hash == hash).for_each(|slot| slot.size = 0);
    }

    /// Removes all lines.
    pub(super) fn clear(&self) {
        (0..SHARD_COUNT).for_each(|shard| self.write(shard).empty());
    }

    fn write(&self, shard: usize) -> RwLockWriteGuard<'_, Shard> {
        self.shards[shard].write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shard {
    #[inline]
    fn line(&self, hash: u64) -> Option<&[u8]> {
        let slots = self.slots.get(ways_of(hash, self.slots.len()))?;
        let slot = slots.iter().find(|slot| slot.hash == hash && slot.size > 0)?;
        Some(&self.text[slot.range()])
    }

    fn empty(&mut self) {
        self.text.clear();
        self.slots.fill(Slot::default());
        self.count = 0;
    }

    /// Stores a line in the slot of its hash, else in an empty slot, else in any.
    fn put(&mut self, slot: Slot) {
        let ways = ways_of(slot.hash, self.slots.len());
        let ways = &mut self.slots[ways];
        let known = ways.iter().position(|way| way.size > 0 && way.hash == slot.hash);
        let at = known.or_else(|| ways.iter().position(|way| way.size == 0));
        ways[at.unwrap_or(slot.start as usize / WAYS % WAYS)] = slot;
    }

    #[cold]
    fn grow(&mut self, slots_max: usize) {
        let slot_count = (self.slots.len() * 2).clamp(FIRST_SLOTS, slots_max.max(FIRST_SLOTS));
        if slot_count > self.slots.len() {
            let slots = std::mem::replace(&mut self.slots, vec![Slot::default(); slot_count]);
            slots.into_iter().filter(|slot| slot.size > 0).for_each(|slot| self.put(slot));
        }
    }
}

/// Read access, unless another thread holds the write lock: reading the file takes less time than
/// waiting might.
#[inline]
pub(super) fn try_read<T>(lock: &RwLock<T>) -> Option<RwLockReadGuard<'_, T>> {
    match lock.try_read() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

#[inline]
fn shard_of(hash: u64) -> usize {
    (hash >> 60) as usize % SHARD_COUNT
}

/// The slots that a line may use, by the bits after those of the shard.
#[inline]
fn ways_of(hash: u64, slot_count: usize) -> Range<usize> {
    let first = (((hash << 4) >> 32) as usize * (slot_count / WAYS)) >> 32;
    first * WAYS..(first + 1) * WAYS
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line, and the hash of its id.
    fn line(number: u64) -> (u64, String) {
        let hash = xxhash_rust::xxh3::xxh3_64(&number.to_le_bytes());
        (hash, format!(r#"{{"_id":"{number}","text":"{}"}}"#, "x".repeat(80)))
    }

    fn read(lines: &Lines, number: u64) -> bool {
        let (hash, line) = line(number);
        let mut text = Vec::new();
        let is_here = lines.read(hash, &number.to_string(), &mut text);
        assert!(!is_here || text == line.as_bytes());
        is_here
    }

    fn keep(lines: &Lines, number: u64) {
        let (hash, line) = line(number);
        lines.keep(hash, line.as_bytes());
    }

    #[test]
    fn gives_back_what_was_kept() {
        let lines = Lines::new(1 << 20);
        assert!(!read(&lines, 0));
        (0..1000).for_each(|number| keep(&lines, number));
        // Lines seldom displace each other while there is room.
        assert!((0..1000).filter(|&number| read(&lines, number)).count() > 990);
        assert!(!lines.read(line(7).0, "8", &mut Vec::new()), "another id is another line");
        keep(&lines, 7);
        lines.forget(line(7).0);
        assert!(!read(&lines, 7));
        lines.clear();
        assert!(!(0..1000).any(|number| read(&lines, number)));
    }

    #[test]
    fn stays_within_its_size() {
        let lines = Lines::new(16 << 10);
        for number in 0..10_000 {
            keep(&lines, number);
            assert!(read(&lines, number));
        }
        for shard in &lines.shards {
            assert!(shard.read().unwrap().text.len() <= 1 << 10);
        }
        let long = format!(r#"{{"_id":"1","text":"{}"}}"#, "x".repeat(1025));
        lines.clear();
        lines.keep(line(1).0, long.as_bytes());
        assert!(!read(&lines, 1), "a line that no shard can hold");
    }
}
