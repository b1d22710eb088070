//! Hash tables of keys, shared by grouping, joins and DISTINCT.
//!
//! A [`KeyTable`] numbers the distinct keys, from 0 in order of first appearance. A key of one
//! integer, one UUID or one text is hashed directly. All others are encoded as bytes that are equal
//! for equal values (Arrow's row format).

use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, BinaryArray};
use arrow_row::{RowConverter, Rows, SortField};
use foldhash::fast::FixedState;
use folio_json::order_key;
use folio_types::ColumnType;
use hashbrown::HashTable;

use crate::compare::canonical;
use crate::error::Result;

/// Maximum number of keys to reserve room for in an empty table.
const RESERVED: usize = 4096;

/// A table of keys and their numbers.
pub struct KeyTable {
    form: Form,
    hasher: FixedState,
}

enum Form {
    /// One integer.
    Integer(NumberKeys<i64>),
    /// One UUID.
    Uuid(NumberKeys<u128>),
    /// One text.
    Text(ByteKeys),
    /// Anything else, as bytes.
    Bytes { converter: RowConverter, bytes: ByteKeys, types: Vec<ColumnType> },
    /// No columns: one key.
    Unit { seen: bool },
}

/// The keys of a batch.
enum Keys {
    Integer(Vec<Option<i64>>),
    Uuid(Vec<Option<u128>>),
    Text(ArrayRef),
    Bytes(Rows),
    Unit(usize),
}

impl Keys {
    /// Keys that are bytes; null for a text that is null.
    fn bytes(&self) -> Vec<Option<&[u8]>> {
        match self {
            Self::Text(texts) => {
                texts.as_string::<i32>().iter().map(|text| text.map(str::as_bytes)).collect()
            }
            Self::Bytes(rows) => rows.iter().map(|row| Some(row.data())).collect(),
            Self::Integer(_) | Self::Uuid(_) | Self::Unit(_) => Vec::new(),
        }
    }
}

/// Keys that are a single number.
#[derive(Default)]
struct NumberKeys<K> {
    table: HashTable<u32>,
    keys: Vec<K>,
    /// The number of each key.
    numbers: Vec<u32>,
    /// The number of the null key, if it exists.
    null: Option<u32>,
    count: u32,
}

impl<K: Copy + Eq + Hash> NumberKeys<K> {
    fn intern(
        &mut self,
        keys: &[Option<K>],
        hasher: &FixedState,
        first_rows: &mut Vec<u32>,
    ) -> Vec<u32> {
        let mut numbers = Vec::with_capacity(keys.len());
        if self.keys.is_empty() {
            // Keys are often all different, and growing a table moves all its entries.
            self.table.reserve(keys.len().min(RESERVED), |_| 0);
        }
        for (row, key) in keys.iter().enumerate() {
            // Rows are often sorted by their key.
            if row > 0 && *key == keys[row - 1] {
                numbers.push(numbers[row - 1]);
                continue;
            }
            numbers.push(self.find(*key, hasher).unwrap_or_else(|_| {
                first_rows.push(row as u32);
                self.enter(*key, hasher)
            }));
        }
        numbers
    }

    /// The number of a key, or its hash if it is unknown.
    #[inline]
    fn find(&self, key: Option<K>, hasher: &FixedState) -> std::result::Result<u32, u64> {
        let Some(key) = key else { return self.null.ok_or(0) };
        let hash = hasher.hash_one(key);
        let found = self.table.find(hash, |slot| self.keys[*slot as usize] == key);
        found.map(|slot| self.numbers[*slot as usize]).ok_or(hash)
    }

    fn size(&self) -> usize {
        self.keys.capacity() * size_of::<K>()
            + self.numbers.capacity() * size_of::<u32>()
            + self.table.allocation_size()
    }

    /// Numbers a new key.
    fn enter(&mut self, key: Option<K>, hasher: &FixedState) -> u32 {
        let number = self.count;
        self.count += 1;
        match key {
            None => self.null = Some(number),
            Some(key) => {
                self.keys.push(key);
                self.numbers.push(number);
                let keys = &self.keys;
                self.table.insert_unique(hasher.hash_one(key), (keys.len() - 1) as u32, |slot| {
                    hasher.hash_one(keys[*slot as usize])
                });
            }
        }
        number
    }
}

/// Keys as bytes, concatenated.
struct ByteKeys {
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
    fn new() -> Self {
        let (table, bytes, hashes) = (HashTable::new(), Vec::new(), Vec::new());
        Self { table, bytes, ends: vec![0], hashes, null: None }
    }

    fn key(&self, number: u32) -> &[u8] {
        let number = number as usize;
        &self.bytes[self.ends[number]..self.ends[number + 1]]
    }

    fn intern(
        &mut self,
        keys: &[Option<&[u8]>],
        hasher: &FixedState,
        first_rows: &mut Vec<u32>,
    ) -> Vec<u32> {
        let found = self.find_or_hash(keys, hasher);
        let numbers = found.into_iter().zip(keys).enumerate().map(|(row, (found, key))| {
            // A key that was unknown may have come with a row before.
            let known = found.or_else(|hash| self.find(*key, hash).ok_or(hash));
            known.unwrap_or_else(|hash| {
                first_rows.push(row as u32);
                self.enter(*key, hash)
            })
        });
        numbers.collect()
    }

    /// The number of each key, or its hash if it is unknown.
    fn find_or_hash(
        &self,
        keys: &[Option<&[u8]>],
        hasher: &FixedState,
    ) -> Vec<std::result::Result<u32, u64>> {
        let hash = |key: &Option<&[u8]>| key.map_or(0, |key| hasher.hash_one(key));
        let hashes: Vec<u64> = keys.iter().map(hash).collect();
        let likely = self.likely(&hashes);
        let found = keys.iter().zip(hashes).zip(likely).map(|((key, hash), likely)| {
            let known = match (key, likely) {
                (None, _) => self.null,
                (Some(key), Some(number)) if self.key(number) == *key => Some(number),
                (Some(_), Some(_)) => self.find(*key, hash),
                (Some(_), None) => None,
            };
            known.ok_or(hash)
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
    fn find(&self, key: Option<&[u8]>, hash: u64) -> Option<u32> {
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

    fn size(&self) -> usize {
        self.bytes.capacity()
            + self.ends.capacity() * size_of::<usize>()
            + self.hashes.capacity() * size_of::<u64>()
            + self.table.allocation_size()
    }
}

impl KeyTable {
    /// An empty table for keys of these types, one per column.
    ///
    /// # Errors
    /// `unsupported` for types that have no byte form.
    pub fn new(types: &[ColumnType]) -> Result<Self> {
        let form = match types {
            [] => Form::Unit { seen: false },
            [ty] if is_integer_key(ty) => Form::Integer(NumberKeys::default()),
            [ColumnType::Uuid] => Form::Uuid(NumberKeys::default()),
            [ColumnType::Text] => Form::Text(ByteKeys::new()),
            types => {
                let field = |ty: &ColumnType| match ty {
                    ColumnType::Json => SortField::new(ColumnType::Binary.to_arrow()),
                    ty => SortField::new(ty.to_arrow()),
                };
                let converter = RowConverter::new(types.iter().map(field).collect())?;
                Form::Bytes { converter, bytes: ByteKeys::new(), types: types.to_vec() }
            }
        };
        Ok(Self { form, hasher: FixedState::default() })
    }

    /// Number of distinct keys.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.form {
            Form::Integer(integers) => integers.count as usize,
            Form::Uuid(uuids) => uuids.count as usize,
            Form::Text(bytes) | Form::Bytes { bytes, .. } => bytes.hashes.len(),
            Form::Unit { seen } => usize::from(*seen),
        }
    }

    /// Whether there are no keys yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The key number of every row. New keys get new numbers, and their rows are appended to
    /// `first_rows`.
    ///
    /// # Errors
    /// None for columns of the types of the table.
    pub fn intern(
        &mut self,
        columns: &[ArrayRef],
        row_count: usize,
        first_rows: &mut Vec<u32>,
    ) -> Result<Vec<u32>> {
        let keys = self.encode(columns, row_count)?;
        let Self { form, hasher } = self;
        match (form, keys) {
            (Form::Unit { seen }, _) => {
                if !*seen && row_count > 0 {
                    *seen = true;
                    first_rows.push(0);
                }
                Ok(vec![0; row_count])
            }
            (Form::Integer(integers), Keys::Integer(keys)) => {
                Ok(integers.intern(&keys, hasher, first_rows))
            }
            (Form::Uuid(uuids), Keys::Uuid(keys)) => Ok(uuids.intern(&keys, hasher, first_rows)),
            (Form::Text(bytes) | Form::Bytes { bytes, .. }, keys) => {
                Ok(bytes.intern(&keys.bytes(), hasher, first_rows))
            }
            _ => unreachable!("keys are encoded in the table's form"),
        }
    }

    /// The key number of every row, `None` for unknown keys.
    ///
    /// # Errors
    /// As [`KeyTable::intern`].
    pub fn find(&self, columns: &[ArrayRef], row_count: usize) -> Result<Vec<Option<u32>>> {
        let found = self.find_or_hash(columns, row_count)?;
        Ok(found.into_iter().map(std::result::Result::ok).collect())
    }

    /// The key number of every row, or its hash for unknown keys.
    ///
    /// # Errors
    /// As [`KeyTable::intern`].
    pub fn find_or_hash(
        &self,
        columns: &[ArrayRef],
        row_count: usize,
    ) -> Result<Vec<std::result::Result<u32, u64>>> {
        let keys = self.encode(columns, row_count)?;
        Ok(match (&self.form, keys) {
            (Form::Integer(known), Keys::Integer(keys)) => {
                keys.into_iter().map(|key| known.find(key, &self.hasher)).collect()
            }
            (Form::Uuid(known), Keys::Uuid(keys)) => {
                keys.into_iter().map(|key| known.find(key, &self.hasher)).collect()
            }
            (Form::Text(bytes) | Form::Bytes { bytes, .. }, keys) => {
                bytes.find_or_hash(&keys.bytes(), &self.hasher)
            }
            (Form::Unit { seen }, Keys::Unit(count)) => vec![seen.then_some(0).ok_or(0); count],
            _ => unreachable!("keys are encoded in the table's form"),
        })
    }

    /// Approximate memory of the keys, in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        match &self.form {
            Form::Integer(integers) => integers.size(),
            Form::Uuid(uuids) => uuids.size(),
            Form::Text(bytes) | Form::Bytes { bytes, .. } => bytes.size(),
            Form::Unit { .. } => 0,
        }
    }

    fn encode(&self, columns: &[ArrayRef], row_count: usize) -> Result<Keys> {
        Ok(match &self.form {
            Form::Unit { .. } => Keys::Unit(row_count),
            Form::Integer(_) => Keys::Integer(integers(&columns[0])),
            Form::Uuid(_) => Keys::Uuid(uuids(&columns[0])),
            Form::Text(_) => Keys::Text(ArrayRef::clone(&columns[0])),
            Form::Bytes { converter, types, .. } => {
                let key = |(column, ty): (&ArrayRef, &ColumnType)| match ty {
                    ColumnType::Json => order_keys(column),
                    _ => canonical(column),
                };
                let columns: Vec<ArrayRef> = columns.iter().zip(types).map(key).collect();
                Keys::Bytes(converter.convert_columns(&columns)?)
            }
        })
    }
}

/// The rows of a batch numbered by the keys of one column.
pub struct Numbered {
    /// For every row, the number of its key.
    pub numbers: Vec<u32>,
    /// The first row of each key.
    pub first_rows: Vec<u32>,
    /// Whether the rows are known to be sorted by key.
    pub ascends: bool,
}

/// Numbers the distinct keys of one column.
///
/// If the rows are sorted by key, as they often are, comparing neighbours is enough.
///
/// # Errors
/// As [`KeyTable::intern`].
pub fn number_keys(ty: &ColumnType, column: &ArrayRef, row_count: usize) -> Result<Numbered> {
    if let Some(numbered) = number_runs(ty, column) {
        return Ok(numbered);
    }
    let mut keys = KeyTable::new(std::slice::from_ref(ty))?;
    let mut first_rows = Vec::new();
    let numbers = keys.intern(&[ArrayRef::clone(column)], row_count, &mut first_rows)?;
    Ok(Numbered { numbers, first_rows, ascends: false })
}

/// The same for keys in ascending order; `None` if they are not.
fn number_runs(ty: &ColumnType, column: &ArrayRef) -> Option<Numbered> {
    if column.null_count() > 0 {
        return None;
    }
    match ty {
        ColumnType::Uuid => {
            let (keys, _) = column.as_fixed_size_binary().value_data().as_chunks::<16>();
            runs(keys.len(), |row| u128::from_be_bytes(keys[row]))
        }
        ColumnType::Int64 => {
            let keys = column.as_primitive::<Int64Type>().values();
            runs(keys.len(), |row| keys[row])
        }
        _ => None,
    }
}

fn runs<K: Copy + Ord>(count: usize, key: impl Fn(usize) -> K) -> Option<Numbered> {
    let (mut numbers, mut first_rows) = (Vec::with_capacity(count), Vec::with_capacity(count));
    let mut last = None;
    for row in 0..count {
        let key = key(row);
        if last.is_some_and(|last| key < last) {
            return None;
        }
        if last != Some(key) {
            first_rows.push(row as u32);
        }
        numbers.push(first_rows.len() as u32 - 1);
        last = Some(key);
    }
    Some(Numbered { numbers, first_rows, ascends: true })
}

/// Whether keys of this type are stored as integers.
#[must_use]
pub fn is_integer_key(ty: &ColumnType) -> bool {
    matches!(
        ty,
        ColumnType::Int16
            | ColumnType::Int32
            | ColumnType::Int64
            | ColumnType::Date
            | ColumnType::Timestamp { .. }
    )
}

/// The keys of a column of such a type ([`is_integer_key`]) as integers: days of dates,
/// microseconds of timestamps.
#[must_use]
pub fn integers(column: &ArrayRef) -> Vec<Option<i64>> {
    use arrow_schema::DataType;
    match column.data_type() {
        DataType::Int16 => widen(column.as_primitive::<Int16Type>().iter()),
        DataType::Int32 => widen(column.as_primitive::<Int32Type>().iter()),
        DataType::Date32 => widen(column.as_primitive::<Date32Type>().iter()),
        DataType::Timestamp(..) => {
            column.as_primitive::<TimestampMicrosecondType>().iter().collect()
        }
        _ => column.as_primitive::<Int64Type>().iter().collect(),
    }
}

/// The keys of a JSON column as bytes: those of [`order_key`].
fn order_keys(column: &ArrayRef) -> ArrayRef {
    let texts = column.as_string::<i32>().iter();
    Arc::new(texts.map(|text| text.map(order_key)).collect::<BinaryArray>())
}

fn uuids(column: &ArrayRef) -> Vec<Option<u128>> {
    let number = |bytes: &[u8]| bytes.first_chunk().map(|bytes| u128::from_be_bytes(*bytes));
    column.as_fixed_size_binary().iter().map(|bytes| bytes.and_then(number)).collect()
}

fn widen<T: Into<i64>>(values: impl Iterator<Item = Option<T>>) -> Vec<Option<i64>> {
    values.map(|value| value.map(Into::into)).collect()
}

/// Whether any key of a row is null.
#[inline]
#[must_use]
pub fn has_null(columns: &[ArrayRef], row: usize) -> bool {
    columns.iter().any(|column| column.is_null(row))
}
