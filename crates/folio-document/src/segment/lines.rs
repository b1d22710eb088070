//! Lines read one by one, kept for the second time they are asked for.
//!
//! Between them the first read of a block, which goes to the file for one line,
//! and the block that is kept whole lies the usual case: a few thousand documents,
//! spread over a large file, asked for again and again. Their lines are copied
//! here. The hash of its id picks the shard of a line and, there, one of four slots side
//! by side; a fifth line displaces one of them, and a shard that is full begins anew.
//!
//! A lookup waits for memory: for the entry in the index, for the slot here, for the text.
//! As all it takes to find the slot is the hash, slot and text are fetched while the entry
//! is on its way ([`Near::prefetch`]).
//!
//! A line is kept once its checksum and its id have been checked, and with the *epoch* in which
//! it was the newest of its id: the one between two changes of what readers see. Until the next
//! change a lookup needs neither the index nor another look at the sum ([`Near::of_epoch`]).
//! Behind it the index says again which line counts, and the sum whether it is this one.

use std::ops::Range;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, TryLockError};

use folio_file::{prefetch, prefetch_at, prefetch_line};

/// Threads that read different lines seldom meet.
const SHARD_COUNT: usize = 16;

/// A shard has at most a slot for so many bytes of text, about half of a short line.
const BYTES_PER_SLOT: usize = 64;

/// Slots of a shard that has its first line; they double as it fills, so that a few
/// lookups do not pay for many slots.
const FIRST_SLOTS: usize = 256;

/// Text that such a shard has room for. What grows step by step is memory nobody has
/// touched yet at each step, and that is a tenth of a lookup that goes to the file.
const FIRST_TEXT: usize = 16 << 10;

/// Slots that a place may have: those of one line of the processor's cache.
const WAYS: usize = 4;

/// Bits of a hash, behind those of the shard, that pick the slots.
const TAG_BITS: u32 = 16;

/// Longer lines cost more to keep than to read again.
const LINE_SIZE_MAX: usize = 4 << 10;

pub(super) struct Lines {
    shards: Vec<RwLock<Shard>>,
    /// Bytes of text of each shard, at most.
    shard_size: usize,
}

#[derive(Default)]
struct Shard {
    text: Vec<u8>,
    slots: Vec<Slot>,
    /// Lines kept since the shard began anew.
    count: usize,
}

#[derive(Clone, Copy)]
struct Slot {
    /// Where the line stands in the file (48 bits), and the tag of its hash.
    place: u64,
    /// Where it stands in the shard's text.
    start: u32,
    /// Its size, 0 in an empty slot, and behind that the epoch in which it was kept.
    size_and_epoch: u32,
}

const EMPTY: Slot = Slot { place: 0, start: 0, size_and_epoch: 0 };

/// Bits of a size.
const SIZE_BITS: u32 = LINE_SIZE_MAX.ilog2() + 1;

/// Epochs that are told apart.
pub(super) const EPOCHS: u32 = 1 << (u32::BITS - SIZE_BITS);

impl Slot {
    #[inline]
    fn size(self) -> usize {
        (self.size_and_epoch & ((1 << SIZE_BITS) - 1)) as usize
    }

    #[inline]
    fn epoch(self) -> u32 {
        self.size_and_epoch >> SIZE_BITS
    }

    #[inline]
    fn range(self) -> Range<usize> {
        self.start as usize..self.start as usize + self.size()
    }
}

impl Lines {
    /// At most `size` bytes of text; their slots take a quarter of that again.
    pub(super) fn new(size: usize) -> Self {
        let shard_size = (size / SHARD_COUNT).min(u32::MAX as usize / 2);
        let shards = std::iter::repeat_with(RwLock::default).take(SHARD_COUNT).collect();
        Self { shards, shard_size }
    }

    /// The lines that may be that of a hash, unless somebody is changing them. Their slots
    /// are fetched from memory.
    #[inline]
    pub(super) fn near(&self, hash: u64) -> Option<Near<'_>> {
        let shard = try_read(&self.shards[shard_of(hash)])?;
        prefetch_line(shard.ways(tag_of(hash)).as_ptr().addr());
        Some(Near { shard, hash })
    }

    /// Brings the room near in which a line of a hash would be kept.
    #[inline]
    pub(super) fn prefetch_room(&self, hash: u64, size: usize) {
        if let Some(shard) = try_read(&self.shards[shard_of(hash)]) {
            prefetch_at(shard.text.as_ptr_range().end.addr(), size);
        }
    }

    /// Keeps a line that is the newest of its id in an epoch.
    pub(super) fn keep(&self, hash: u64, offset: u64, line: &[u8], epoch: u32) {
        if line.is_empty() || line.len() > LINE_SIZE_MAX.min(self.shard_size) {
            return;
        }
        let mut shard = self.shards[shard_of(hash)].write().unwrap_or_else(PoisonError::into_inner);
        if shard.text.len() + line.len() > self.shard_size {
            shard.begin_anew();
        }
        if shard.count * WAYS >= shard.slots.len() {
            let slots_max = (self.shard_size / BYTES_PER_SLOT).min(WAYS << TAG_BITS);
            shard.grow(slots_max.next_multiple_of(WAYS));
        }
        let (start, size) = (shard.text.len() as u32, line.len() as u32);
        let size_and_epoch = size | epoch << SIZE_BITS;
        shard.put(Slot { place: place_of(hash, offset), start, size_and_epoch });
        shard.count += 1;
        if shard.text.is_empty() {
            shard.text.reserve_exact(FIRST_TEXT.min(self.shard_size));
        }
        shard.text.extend_from_slice(line);
    }

    /// Forgets everything.
    pub(super) fn clear(&self) {
        for shard in &self.shards {
            *shard.write().unwrap_or_else(PoisonError::into_inner) = Shard::default();
        }
    }
}

/// A few lines, one of which may be that of a hash. As long as it is there, none is kept in
/// its shard.
pub(super) struct Near<'a> {
    shard: RwLockReadGuard<'a, Shard>,
    hash: u64,
}

impl Near<'_> {
    /// Has the line fetched from memory that was kept for the hash last.
    #[inline]
    pub(super) fn prefetch(&self) {
        self.slots().for_each(|slot| prefetch(&self.shard.text[slot.range()]));
    }

    /// Lines kept for such a hash in an epoch.
    #[inline]
    pub(super) fn of_epoch(&self, epoch: u32) -> impl Iterator<Item = &[u8]> {
        let slots = self.slots().filter(move |slot| slot.epoch() == epoch);
        slots.map(|slot| &self.shard.text[slot.range()])
    }

    /// The line at a place of the file, if it is here.
    #[inline]
    pub(super) fn line(&self, offset: u64, size: usize) -> Option<&[u8]> {
        let place = place_of(self.hash, offset);
        let slot = self.slots().find(|slot| slot.place == place && slot.size() == size)?;
        Some(&self.shard.text[slot.range()])
    }

    /// The slots of such a hash.
    #[inline]
    fn slots(&self) -> impl Iterator<Item = Slot> {
        let tag = tag_of(self.hash);
        let slots = self.shard.ways(tag).iter().copied();
        slots.filter(move |slot| slot.place >> (64 - TAG_BITS) == tag && slot.size() > 0)
    }
}

impl Shard {
    fn begin_anew(&mut self) {
        self.text.clear();
        self.slots.fill(EMPTY);
        self.count = 0;
    }

    /// The slots that lines of a tag may have.
    #[inline]
    fn ways(&self, tag: u64) -> &[Slot] {
        self.slots.get(ways_of(tag, self.slots.len())).unwrap_or_default()
    }

    fn put(&mut self, slot: Slot) {
        let ways = ways_of(slot.place >> (64 - TAG_BITS), self.slots.len());
        let ways = &mut self.slots[ways];
        let empty = ways.iter().position(|way| way.size() == 0);
        ways[empty.unwrap_or(slot.start as usize / WAYS % WAYS)] = slot;
    }

    #[cold]
    fn grow(&mut self, slots_max: usize) {
        let slot_count = (self.slots.len() * 2).clamp(FIRST_SLOTS, slots_max.max(FIRST_SLOTS));
        if slot_count > self.slots.len() {
            let slots = std::mem::replace(&mut self.slots, vec![EMPTY; slot_count]);
            slots.into_iter().filter(|slot| slot.size() > 0).for_each(|slot| self.put(slot));
        }
    }
}

/// What a lock guards, unless somebody is changing it: the file has the same, and takes less
/// time than waiting may.
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

#[inline]
fn tag_of(hash: u64) -> u64 {
    hash << 4 >> (64 - TAG_BITS)
}

#[inline]
fn place_of(hash: u64, offset: u64) -> u64 {
    offset | tag_of(hash) << (64 - TAG_BITS)
}

#[inline]
fn ways_of(tag: u64, slot_count: usize) -> Range<usize> {
    let first = (tag as usize * (slot_count / WAYS)) >> TAG_BITS;
    first * WAYS..(first + 1) * WAYS
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As good as that of an id.
    fn hash(offset: u64) -> u64 {
        xxhash_rust::xxh3::xxh3_64(&offset.to_le_bytes())
    }

    fn read(lines: &Lines, offset: u64, size: usize) -> Option<Vec<u8>> {
        lines.near(hash(offset))?.line(offset, size).map(<[u8]>::to_vec)
    }

    #[test]
    fn gives_back_what_was_kept() {
        let lines = Lines::new(1 << 20);
        assert_eq!(read(&lines, 0, 5), None);
        for number in 0..1000u64 {
            lines.keep(hash(number * 7), number * 7, format!("line {number}").as_bytes(), 0);
        }
        let found = (0..1000u64).filter(|number| {
            let line = format!("line {number}").into_bytes();
            let found = read(&lines, number * 7, line.len());
            assert!(found.is_none() || found.as_deref() == Some(&line[..]));
            found.is_some()
        });
        // Lines displace each other seldom while there is room.
        assert!(found.count() > 990);
        assert_eq!(read(&lines, 7, 5), None, "another size is another line");
        let near = lines.near(hash(7)).unwrap();
        near.prefetch();
        assert_eq!(near.line(14, 6), None, "another place is another line");
        drop(near);
        lines.clear();
        assert_eq!(read(&lines, 0, 6), None);
    }

    #[test]
    fn stays_within_its_size() {
        let lines = Lines::new(16 << 10);
        for number in 0..10_000u64 {
            lines.keep(hash(number * 100), number * 100, &[b'x'; 100], 0);
            assert_eq!(read(&lines, number * 100, 100), Some(vec![b'x'; 100]));
        }
        for shard in &lines.shards {
            assert!(shard.read().unwrap().text.len() <= 1 << 10);
        }
        lines.keep(hash(1), 1, &[b'y'; 1025], 0);
        assert_eq!(read(&lines, 1, 1025), None, "a line that no shard can hold");
    }
}
