//! Keys of several columns that fit in a few words: integers, dates, timestamps, booleans, and
//! texts, which are numbered first.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use foldhash::fast::FixedState;
use folio_types::ColumnType;
use hashbrown::HashTable;

use super::bytes::ByteKeys;
use super::{Integers, Texts, is_integer_key};

/// The number of keys that are found without the table, a power of two.
const RECENT: usize = 128;

/// The number of no key.
const NONE: u32 = u32::MAX;

/// A key: its columns side by side, and a bit for each that is null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Key<const WORDS: usize> {
    words: [u64; WORDS],
    nulls: u32,
}

impl<const WORDS: usize> Key<WORDS> {
    const NOTHING: Self = Self { words: [0; WORDS], nulls: 0 };
}

pub(super) struct PackedKeys<const WORDS: usize> {
    columns: Vec<Column>,
    table: HashTable<(Key<WORDS>, u32)>,
    /// Keys that were met, by their hashes; empty before a batch of many rows.
    recent: Vec<(Key<WORDS>, u32)>,
    /// The hashes of the keys, so that a growing table does not hash again.
    hashes: Vec<u64>,
}

/// What a null adds to a hash.
const NULL_HASH: u64 = 0x5851_F42D_4C95_7F2D;

/// Where a column is in a key.
struct Column {
    number: u32,
    word: usize,
    shift: u32,
    bits: u32,
    /// Its texts, which are numbers in the key.
    texts: Option<ByteKeys>,
}

impl Column {
    /// The bits of a value.
    fn mask(&self) -> u64 {
        u64::MAX >> (u64::BITS - self.bits)
    }
}

/// The keys of a batch. Those with a text that is unknown have none, which is noted if there are texts.
struct Batch<const WORDS: usize> {
    keys: Vec<Key<WORDS>>,
    hashes: Vec<u64>,
    is_unknown: Vec<bool>,
}

impl<const WORDS: usize> PackedKeys<WORDS> {
    /// `None` if keys of these types do not fit.
    pub(super) fn new(types: &[ColumnType]) -> Option<Self> {
        let mut used = [0; WORDS];
        let column = |(number, ty): (u32, &ColumnType)| {
            let bits = match ty {
                ColumnType::Boolean => 1,
                ColumnType::Int16 => 16,
                ColumnType::Int32 | ColumnType::Date | ColumnType::Text => 32,
                ty if is_integer_key(ty) => 64,
                _ => return None,
            };
            let word = used.iter().position(|used| used + bits <= u64::BITS)?;
            let shift = used[word];
            used[word] += bits;
            let texts = (*ty == ColumnType::Text).then(ByteKeys::new);
            Some(Column { number, word, shift, bits, texts })
        };
        let columns = (0..u32::BITS).zip(types).map(column).collect::<Option<Vec<_>>>()?;
        let is_whole = columns.len() == types.len();
        let (table, recent, hashes) = (HashTable::new(), Vec::new(), Vec::new());
        is_whole.then_some(Self { columns, table, recent, hashes })
    }

    pub(super) fn count(&self) -> usize {
        self.hashes.len()
    }

    pub(super) fn intern(
        &mut self,
        columns: &[ArrayRef],
        row_count: usize,
        hasher: &FixedState,
        first_rows: &mut Vec<u32>,
    ) -> Vec<u32> {
        let mut batch = Batch::new(row_count);
        for (own, column) in self.columns.iter_mut().zip(columns) {
            match &mut own.texts {
                Some(known) => {
                    let texts = Texts::of(column);
                    let hashes = ByteKeys::hashes(&texts.texts, hasher);
                    let numbers = known.intern(&texts.texts, &hashes, &mut Vec::new());
                    batch.mix(texts.spread(hashes).into_iter());
                    batch.place(own, texts.spread(numbers).into_iter().map(u64::from));
                }
                None => batch.add_numbers(own, column),
            }
        }
        self.number(&batch.keys, &batch.hashes, first_rows)
    }

    /// Numbers the keys of another table.
    pub(super) fn merge(&mut self, other: &Self, first_keys: &mut Vec<u32>) -> Vec<u32> {
        let mut keys = vec![Key::NOTHING; other.count()];
        other.table.iter().for_each(|(key, number)| keys[*number as usize] = *key);
        for (own, other) in self.columns.iter_mut().zip(&other.columns) {
            let Some((known, texts)) = own.texts.as_mut().zip(other.texts.as_ref()) else {
                continue;
            };
            let numbers = known.merge(texts, &mut Vec::new());
            let mask = own.mask();
            for key in &mut keys {
                let word = &mut key.words[own.word];
                let number = numbers[(*word >> own.shift & mask) as usize];
                *word = *word & !(mask << own.shift) | u64::from(number) << own.shift;
            }
        }
        self.number(&keys, &other.hashes, first_keys)
    }

    fn number(
        &mut self,
        keys: &[Key<WORDS>],
        hashes: &[u64],
        first_rows: &mut Vec<u32>,
    ) -> Vec<u32> {
        if self.recent.is_empty() && keys.len() >= RECENT {
            self.recent.resize(RECENT, (Key::NOTHING, NONE));
        }
        let rows = keys.iter().zip(hashes).enumerate();
        let numbers = rows.map(|(row, (key, hash))| {
            // The processor foresees that few keys are all met here, and many are not.
            let place = *hash as usize % RECENT;
            match self.recent.get(place) {
                Some((own, number)) if own == key && *number != NONE => return *number,
                _ => {}
            }
            let found = self.table.find(*hash, |(own, _)| own == key);
            let number = match found {
                Some((_, number)) => *number,
                None => {
                    first_rows.push(row as u32);
                    self.enter(*key, *hash)
                }
            };
            if let Some(recent) = self.recent.get_mut(place) {
                *recent = (*key, number);
            }
            number
        });
        numbers.collect()
    }

    fn enter(&mut self, key: Key<WORDS>, hash: u64) -> u32 {
        let number = self.hashes.len() as u32;
        self.hashes.push(hash);
        let hashes = &self.hashes;
        self.table.insert_unique(hash, (key, number), |(_, number)| hashes[*number as usize]);
        number
    }

    /// The number of each key, or its hash if it is unknown.
    pub(super) fn find_or_hash(
        &self,
        columns: &[ArrayRef],
        row_count: usize,
        hasher: &FixedState,
    ) -> Vec<Result<u32, u64>> {
        let mut batch = Batch::new(row_count);
        for (own, column) in self.columns.iter().zip(columns) {
            match &own.texts {
                Some(known) => {
                    let texts = Texts::of(column);
                    let hashes = ByteKeys::hashes(&texts.texts, hasher);
                    let numbers = texts.spread(known.find(&texts.texts, &hashes));
                    batch.mix(texts.spread(hashes).into_iter());
                    batch.is_unknown.resize(row_count, false);
                    for (is_unknown, number) in batch.is_unknown.iter_mut().zip(&numbers) {
                        *is_unknown |= number.is_none();
                    }
                    let numbers = numbers.into_iter();
                    batch.place(own, numbers.map(|number| number.map_or(0, u64::from)));
                }
                None => batch.add_numbers(own, column),
            }
        }
        let Batch { keys, hashes, is_unknown } = batch;
        let rows = keys.into_iter().zip(hashes).enumerate();
        let found = rows.map(|(row, (key, hash))| {
            let found = self.table.find(hash, |(own, _)| *own == key);
            let is_unknown = is_unknown.get(row).copied().unwrap_or(false);
            found.filter(|_| !is_unknown).map(|(_, number)| *number).ok_or(hash)
        });
        found.collect()
    }

    pub(super) fn size(&self) -> usize {
        let texts = self.columns.iter().filter_map(|own| own.texts.as_ref());
        self.table.allocation_size()
            + self.hashes.capacity() * size_of::<u64>()
            + texts.map(ByteKeys::size).sum::<usize>()
    }
}

impl<const WORDS: usize> Batch<WORDS> {
    fn new(row_count: usize) -> Self {
        Self {
            keys: vec![Key::NOTHING; row_count],
            hashes: vec![0; row_count],
            is_unknown: Vec::new(),
        }
    }

    /// Adds a column to the hashes, by what its values are and not by how they are numbered, so that
    /// equal keys have equal hashes in all tables.
    fn mix(&mut self, values: impl Iterator<Item = u64>) {
        const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
        for (hash, value) in self.hashes.iter_mut().zip(values) {
            let wide = u128::from(*hash ^ value ^ ODD) * u128::from(ODD);
            *hash = (wide as u64) ^ (wide >> 64) as u64;
        }
    }

    fn place(&mut self, own: &Column, values: impl Iterator<Item = u64>) {
        for (key, value) in self.keys.iter_mut().zip(values) {
            key.words[own.word] |= value << own.shift;
        }
    }

    fn add_numbers(&mut self, own: &Column, column: &ArrayRef) {
        let values: Vec<Option<i64>> = match column.as_boolean_opt() {
            Some(truths) => truths.iter().map(|truth| truth.map(i64::from)).collect(),
            None => Integers::of(column).iter().collect(),
        };
        let mask = own.mask();
        // A null is no value, also where a value has its bits.
        let placed = values.iter().map(|value| value.map_or(0, |value| value as u64 & mask));
        self.place(own, placed);
        self.mix(values.iter().map(|value| value.map_or(NULL_HASH, |value| value as u64)));
        if column.null_count() > 0 {
            for (key, value) in self.keys.iter_mut().zip(&values) {
                key.nulls |= u32::from(value.is_none()) << own.number;
            }
        }
    }
}
