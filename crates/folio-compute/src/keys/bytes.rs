//! Keys as bytes, concatenated.

use std::hash::BuildHasher;
use std::ops::Range;

use arrow_array::StringArray;
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::ArrowError;
use foldhash::fast::FixedState;
use hashbrown::HashTable;

pub(super) struct ByteKeys {
    table: HashTable<Slot>,
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// Their hashes, so that a growing table does not hash again.
    hashes: Vec<u64>,
    /// The number of the null key, if it exists. The table does not have it.
    null: Option<u32>,
}

/// A key in the table. A part of its hash is at hand, because the key itself is rarely in the
/// processor's cache.
struct Slot {
    tag: u32,
    number: u32,
}

impl Slot {
    /// The part of a hash that decides neither place nor control byte in the table.
    fn tag(hash: u64) -> u32 {
        (hash >> 24) as u32
    }
}

impl ByteKeys {
    pub(super) fn new() -> Self {
        let (table, bytes, hashes) = (HashTable::new(), Vec::new(), Vec::new());
        Self { table, bytes, ends: vec![0], hashes, null: None }
    }

    pub(super) fn count(&self) -> usize {
        self.hashes.len()
    }

    fn key(&self, number: u32) -> &[u8] {
        let number = number as usize;
        &self.bytes[self.ends[number]..self.ends[number + 1]]
    }

    /// The hashes of keys; 0 for null.
    pub(super) fn hashes(keys: &[Option<&[u8]>], hasher: &FixedState) -> Vec<u64> {
        keys.iter().map(|key| key.map_or(0, |key| hasher.hash_one(key))).collect()
    }

    pub(super) fn intern(
        &mut self,
        keys: &[Option<&[u8]>],
        hashes: &[u64],
        first_rows: &mut Vec<u32>,
    ) -> Vec<u32> {
        let found = self.find(keys, hashes);
        let numbers = found.into_iter().zip(keys).zip(hashes).enumerate();
        let numbers = numbers.map(|(row, ((found, key), hash))| {
            // A key that was unknown may have come with a row before.
            found.or_else(|| self.find_one(*key, *hash)).unwrap_or_else(|| {
                first_rows.push(row as u32);
                self.enter(*key, *hash)
            })
        });
        numbers.collect()
    }

    /// Numbers the keys of another table.
    pub(super) fn merge(&mut self, other: &Self, first_keys: &mut Vec<u32>) -> Vec<u32> {
        let numbers = 0..other.count() as u32;
        let keys = numbers.map(|number| (other.null != Some(number)).then(|| other.key(number)));
        self.intern(&keys.collect::<Vec<_>>(), &other.hashes, first_keys)
    }

    /// The number of each key that is known.
    pub(super) fn find(&self, keys: &[Option<&[u8]>], hashes: &[u64]) -> Vec<Option<u32>> {
        let likely = self.likely(hashes);
        let found =
            keys.iter().zip(hashes).zip(likely).map(|((key, hash), likely)| match (key, likely) {
                (None, _) => self.null,
                (Some(key), Some(number)) if self.key(number) == *key => Some(number),
                (Some(_), Some(_)) => self.find_one(*key, *hash),
                (Some(_), None) => None,
            });
        found.collect()
    }

    /// The keys that hashes most probably belong to. The lookups do not depend on each other, so
    /// that the processor waits for the memory of several at once.
    fn likely(&self, hashes: &[u64]) -> Vec<Option<u32>> {
        let slot = |hash: &u64| self.table.find(*hash, |slot| slot.tag == Slot::tag(*hash));
        hashes.iter().map(|hash| slot(hash).map(|slot| slot.number)).collect()
    }

    #[inline]
    fn find_one(&self, key: Option<&[u8]>, hash: u64) -> Option<u32> {
        let Some(key) = key else { return self.null };
        let tag = Slot::tag(hash);
        let is_it = |slot: &Slot| slot.tag == tag && self.key(slot.number) == key;
        self.table.find(hash, is_it).map(|slot| slot.number)
    }

    /// Numbers a new key.
    fn enter(&mut self, key: Option<&[u8]>, hash: u64) -> u32 {
        let number = self.hashes.len() as u32;
        self.bytes.extend_from_slice(key.unwrap_or_default());
        self.ends.push(self.bytes.len());
        self.hashes.push(hash);
        if key.is_none() {
            self.null = Some(number);
            return number;
        }
        let hashes = &self.hashes;
        let slot = Slot { tag: Slot::tag(hash), number };
        self.table.insert_unique(hash, slot, |slot| hashes[slot.number as usize]);
        number
    }

    /// The keys of these numbers as texts, which they have to be.
    ///
    /// # Errors
    /// If they are longer than a column may be.
    pub(super) fn texts(&self, numbers: Range<usize>) -> Result<StringArray, ArrowError> {
        let ends = &self.ends[numbers.start..=numbers.end];
        let (start, end) = (ends[0], ends[numbers.len()]);
        if end - start > i32::MAX as usize {
            return Err(ArrowError::OffsetOverflowError(end - start));
        }
        let offsets = OffsetBuffer::new(ends.iter().map(|end| (end - start) as i32).collect());
        let nulls = self.null.map(|null| null as usize).filter(|null| numbers.contains(null));
        let nulls = nulls.map(|null| numbers.map(|own| own != null).collect::<NullBuffer>());
        StringArray::try_new(offsets, self.bytes[start..end].to_vec().into(), nulls)
    }

    pub(super) fn size(&self) -> usize {
        self.bytes.capacity()
            + self.ends.capacity() * size_of::<usize>()
            + self.hashes.capacity() * size_of::<u64>()
            + self.table.allocation_size()
    }
}
