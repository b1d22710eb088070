//! Keys that are a single number.

use std::hash::{BuildHasher, Hash};

use foldhash::fast::FixedState;
use hashbrown::HashTable;

/// Maximum number of keys to reserve room for in an empty table.
const RESERVED: usize = 4096;

/// The entry of a key that does not exist.
const NONE: u32 = u32::MAX;

/// A table of integers is an array as long as it has an entry for one key in so many.
const SPREAD: u64 = 8;

/// Keys in a hash table.
pub(super) struct NumberKeys<K> {
    table: HashTable<(K, u32)>,
    /// The number of the null key, if it exists.
    null: Option<u32>,
    count: u32,
}

impl<K> Default for NumberKeys<K> {
    fn default() -> Self {
        Self { table: HashTable::new(), null: None, count: 0 }
    }
}

impl<K: Copy + Eq + Hash> NumberKeys<K> {
    pub(super) fn count(&self) -> usize {
        self.count as usize
    }

    pub(super) fn intern(
        &mut self,
        keys: impl Iterator<Item = Option<K>>,
        hasher: &FixedState,
        first_rows: &mut Vec<u32>,
    ) -> Vec<u32> {
        if self.count == 0 {
            // Keys are often all different, and growing a table moves all its entries.
            self.table.reserve(keys.size_hint().0.min(RESERVED), |_| 0);
        }
        // Rows are often sorted by their key.
        let mut last = None;
        let numbers = keys.enumerate().map(|(row, key)| match last {
            Some((own, number)) if own == key => number,
            _ => {
                let number = self.find(key, hasher).unwrap_or_else(|hash| {
                    first_rows.push(row as u32);
                    self.enter(key, hash, hasher)
                });
                last = Some((key, number));
                number
            }
        });
        numbers.collect()
    }

    /// Numbers the keys of another table.
    pub(super) fn merge(
        &mut self,
        other: &Self,
        hasher: &FixedState,
        first_keys: &mut Vec<u32>,
    ) -> Vec<u32> {
        self.intern(other.keys().into_iter(), hasher, first_keys)
    }

    /// The keys, in the order of their numbers.
    fn keys(&self) -> Vec<Option<K>> {
        let mut keys = vec![None; self.count()];
        self.table.iter().for_each(|(key, number)| keys[*number as usize] = Some(*key));
        keys
    }

    /// The number of a key, or its hash if it is unknown.
    #[inline]
    pub(super) fn find(&self, key: Option<K>, hasher: &FixedState) -> Result<u32, u64> {
        let Some(key) = key else { return self.null.ok_or(0) };
        let hash = hasher.hash_one(key);
        let found = self.table.find(hash, |(own, _)| *own == key);
        found.map(|(_, number)| *number).ok_or(hash)
    }

    /// Numbers a new key.
    fn enter(&mut self, key: Option<K>, hash: u64, hasher: &FixedState) -> u32 {
        let number = self.count;
        self.count += 1;
        match key {
            None => self.null = Some(number),
            Some(key) => {
                let rehash = |(key, _): &(K, u32)| hasher.hash_one(*key);
                self.table.insert_unique(hash, (key, number), rehash);
            }
        }
        number
    }

    pub(super) fn size(&self) -> usize {
        self.table.allocation_size()
    }
}

/// Integers. As long as they lie close together, an array has the number of each, and nothing is
/// hashed.
#[derive(Default)]
pub(super) struct IntegerKeys {
    /// The integer of the first entry of `direct`.
    least: i64,
    direct: Vec<u32>,
    null: Option<u32>,
    count: u32,
    /// Instead, once they do not.
    hashed: Option<NumberKeys<i64>>,
}

impl IntegerKeys {
    pub(super) fn count(&self) -> usize {
        self.hashed.as_ref().map_or(self.count as usize, NumberKeys::count)
    }

    /// Numbers the keys of a batch; `ends` are the least and the greatest, if there is one.
    pub(super) fn intern(
        &mut self,
        keys: impl Iterator<Item = Option<i64>>,
        ends: Option<(i64, i64)>,
        hasher: &FixedState,
        first_rows: &mut Vec<u32>,
    ) -> Vec<u32> {
        if let Some(ends) = ends {
            self.make_room(ends, keys.size_hint().0, hasher);
        }
        if let Some(hashed) = &mut self.hashed {
            return hashed.intern(keys, hasher, first_rows);
        }
        let numbers = keys.enumerate().map(|(row, key)| {
            let entry = match key {
                Some(key) => &mut self.direct[key.wrapping_sub(self.least) as usize],
                None => self.null.get_or_insert(NONE),
            };
            if *entry == NONE {
                *entry = self.count;
                self.count += 1;
                first_rows.push(row as u32);
            }
            *entry
        });
        numbers.collect()
    }

    /// Numbers the keys of another table.
    pub(super) fn merge(
        &mut self,
        other: &Self,
        hasher: &FixedState,
        first_keys: &mut Vec<u32>,
    ) -> Vec<u32> {
        let keys = match &other.hashed {
            Some(hashed) => hashed.keys(),
            None => {
                let mut keys = vec![None; other.count()];
                other.entries().for_each(|(key, number)| keys[number as usize] = Some(key));
                keys
            }
        };
        let ends = keys.iter().flatten().min().zip(keys.iter().flatten().max());
        let ends = ends.map(|(least, greatest)| (*least, *greatest));
        self.intern(keys.into_iter(), ends, hasher, first_keys)
    }

    /// The keys of the array, with their numbers.
    fn entries(&self) -> impl Iterator<Item = (i64, u32)> {
        let entries = self.direct.iter().enumerate().filter(|(_, number)| **number != NONE);
        entries.map(|(at, number)| (self.least.wrapping_add_unsigned(at as u64), *number))
    }

    /// Makes the array cover these keys too, or turns it into a hash table.
    fn make_room(&mut self, (least, greatest): (i64, i64), row_count: usize, hasher: &FixedState) {
        if self.hashed.is_some() {
            return;
        }
        let is_empty = self.direct.is_empty();
        let last = self.least.saturating_add_unsigned(self.direct.len() as u64).saturating_sub(1);
        let (low, high) = match is_empty {
            true => (least, greatest),
            false => (least.min(self.least), greatest.max(last)),
        };
        let span = high.abs_diff(low).saturating_add(1);
        if span > SPREAD * (u64::from(self.count) + row_count as u64) {
            self.hashed = Some(self.to_hashed(hasher));
            self.direct = Vec::new();
            return;
        }
        if is_empty {
            self.least = low;
        } else if low < self.least {
            // Descending keys would move the array with each batch.
            let low = low.min(self.least.saturating_sub_unsigned(self.direct.len() as u64));
            let more = self.least.abs_diff(low) as usize;
            self.direct.splice(0..0, std::iter::repeat_n(NONE, more));
            self.least = low;
        }
        let needed = high.abs_diff(self.least) as usize + 1;
        if needed > self.direct.len() {
            self.direct.resize(needed, NONE);
        }
    }

    fn to_hashed(&self, hasher: &FixedState) -> NumberKeys<i64> {
        let mut hashed = NumberKeys { null: self.null, count: self.count, ..Default::default() };
        hashed.table.reserve(self.count as usize, |_| 0);
        let rehash = |(key, _): &(i64, u32)| hasher.hash_one(*key);
        for (key, number) in self.entries() {
            hashed.table.insert_unique(hasher.hash_one(key), (key, number), rehash);
        }
        hashed
    }

    /// The number of a key, or its hash if it is unknown.
    pub(super) fn find_or_hash(&self, key: Option<i64>, hasher: &FixedState) -> Result<u32, u64> {
        self.find(key, hasher).ok_or_else(|| key.map_or(0, |key| hasher.hash_one(key)))
    }

    /// The number of a key, if it is known.
    #[inline]
    pub(super) fn find(&self, key: Option<i64>, hasher: &FixedState) -> Option<u32> {
        if let Some(hashed) = &self.hashed {
            return hashed.find(key, hasher).ok();
        }
        let Some(key) = key else { return self.null };
        let entry = self.direct.get(key.wrapping_sub(self.least) as u64 as usize);
        entry.copied().filter(|number| *number != NONE)
    }

    pub(super) fn size(&self) -> usize {
        self.direct.capacity() * size_of::<u32>() + self.hashed.as_ref().map_or(0, NumberKeys::size)
    }
}
