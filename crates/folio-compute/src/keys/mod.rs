//! Hash tables of keys, shared by grouping, joins and DISTINCT.
//!
//! A [`KeyTable`] numbers the distinct keys, from 0 in order of first appearance.
//!
//! | file | keys |
//! |---|---|
//! | `number` | one integer or UUID; integers that lie close together need no hash |
//! | `packed` | several columns of integers, dates, booleans and texts, as one word or three |
//! | `bytes` | one text, or bytes |
//! | `cells` | those of dictionaries, which are numbered once for each combination of a batch |
//! | `met` | those of texts that rows point to, which are numbered once for all batches |
//! | `set` | integers without numbers |
//! | this one | the choice; all others become bytes that are equal for equal values (Arrow's row format) |

mod bytes;
mod cells;
mod met;
mod number;
mod packed;
mod set;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, UInt32Array};
use arrow_buffer::NullBuffer;
use arrow_row::{RowConverter, SortField};
use arrow_schema::DataType;
use arrow_select::take::take;
use foldhash::fast::FixedState;
use folio_types::ColumnType;

use crate::array::plain;
use crate::compare::canonical;
use crate::error::Result;
use crate::order_keys;
use bytes::ByteKeys;
use cells::Cells;
use met::MetTexts;
use number::{IntegerKeys, NumberKeys};
use packed::PackedKeys;
pub use set::KeySet;

/// A table of keys and their numbers.
pub struct KeyTable {
    form: Form,
    hasher: FixedState,
}

enum Form {
    /// One integer.
    Integer(IntegerKeys),
    /// One UUID.
    Uuid(NumberKeys<u128>),
    /// One text.
    Text { known: ByteKeys, met: MetTexts },
    /// Several columns in a word.
    Short(PackedKeys<1>),
    /// Several columns in a few words.
    Packed(PackedKeys<3>),
    /// Anything else, as bytes.
    Bytes { converter: RowConverter, bytes: ByteKeys, types: Vec<ColumnType> },
    /// No columns: one key.
    Unit { seen: bool },
}

impl KeyTable {
    /// An empty table for keys of these types, one per column.
    ///
    /// # Errors
    /// `unsupported` for types that have no byte form.
    pub fn new(types: &[ColumnType]) -> Result<Self> {
        let form = match types {
            [] => Form::Unit { seen: false },
            [ty] if is_integer_key(ty) => Form::Integer(IntegerKeys::default()),
            [ColumnType::Uuid] => Form::Uuid(NumberKeys::default()),
            [ColumnType::Text] => Form::Text { known: ByteKeys::new(), met: MetTexts::default() },
            types => match (PackedKeys::new(types), PackedKeys::new(types)) {
                (Some(short), _) => Form::Short(short),
                (None, Some(packed)) => Form::Packed(packed),
                (None, None) => {
                    let field =
                        |ty: &ColumnType| SortField::new(order_keys::type_of(ty).to_arrow());
                    let converter = RowConverter::new(types.iter().map(field).collect())?;
                    Form::Bytes { converter, bytes: ByteKeys::new(), types: types.to_vec() }
                }
            },
        };
        Ok(Self { form, hasher: FixedState::default() })
    }

    /// Number of distinct keys.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.form {
            Form::Integer(integers) => integers.count(),
            Form::Uuid(uuids) => uuids.count(),
            Form::Short(packed) => packed.count(),
            Form::Packed(packed) => packed.count(),
            Form::Text { known: bytes, .. } | Form::Bytes { bytes, .. } => bytes.count(),
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
        let Some(Cells { first_rows: firsts, of_rows }) = Cells::of(columns, row_count) else {
            return self.intern_rows(columns, row_count, first_rows);
        };
        let positions = UInt32Array::from(firsts.clone());
        let columns = columns.iter().map(|column| Ok(plain(&take(column, &positions, None)?)));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let mut fresh = Vec::new();
        let numbers = self.intern_rows(&columns, firsts.len(), &mut fresh)?;
        first_rows.extend(fresh.into_iter().map(|cell| firsts[cell as usize]));
        Ok(of_rows.into_iter().map(|cell| numbers[cell as usize]).collect())
    }

    /// The same, row by row.
    fn intern_rows(
        &mut self,
        columns: &[ArrayRef],
        row_count: usize,
        first_rows: &mut Vec<u32>,
    ) -> Result<Vec<u32>> {
        let Self { form, hasher } = self;
        Ok(match form {
            Form::Unit { seen } => {
                if !*seen && row_count > 0 {
                    *seen = true;
                    first_rows.push(0);
                }
                vec![0; row_count]
            }
            Form::Integer(known) => {
                let keys = Integers::of(&columns[0]);
                known.intern(keys.iter(), keys.ends(), hasher, first_rows)
            }
            Form::Uuid(known) => known.intern(uuids(&columns[0]).into_iter(), hasher, first_rows),
            Form::Short(known) => known.intern(columns, row_count, hasher, first_rows),
            Form::Packed(known) => known.intern(columns, row_count, hasher, first_rows),
            Form::Text { known, met } => {
                if let Some(column) = MetTexts::column(&columns[0]) {
                    return Ok(met.intern(column, known, hasher, first_rows));
                }
                let column = plain(&columns[0]);
                let Texts { texts, .. } = Texts::of(&column);
                known.intern(&texts, &ByteKeys::hashes(&texts, hasher), first_rows)
            }
            Form::Bytes { converter, bytes, types } => {
                let rows = converter.convert_columns(&comparable(columns, types))?;
                let keys: Vec<_> = rows.iter().map(|row| Some(row.data())).collect();
                bytes.intern(&keys, &ByteKeys::hashes(&keys, hasher), first_rows)
            }
        })
    }

    /// The number of every key of another table of the same types. New keys get new numbers, and
    /// theirs in the other table are appended to `first_keys`.
    ///
    /// What the other table knows of its keys is not found out again.
    pub fn merge(&mut self, other: &Self, first_keys: &mut Vec<u32>) -> Vec<u32> {
        let hasher = &self.hasher;
        match (&mut self.form, &other.form) {
            (Form::Integer(own), Form::Integer(other)) => own.merge(other, hasher, first_keys),
            (Form::Uuid(own), Form::Uuid(other)) => own.merge(other, hasher, first_keys),
            (Form::Short(own), Form::Short(other)) => own.merge(other, first_keys),
            (Form::Packed(own), Form::Packed(other)) => own.merge(other, first_keys),
            (
                Form::Text { known: own, .. } | Form::Bytes { bytes: own, .. },
                Form::Text { known: other, .. } | Form::Bytes { bytes: other, .. },
            ) => own.merge(other, first_keys),
            (Form::Unit { seen }, Form::Unit { seen: true }) => {
                if !std::mem::replace(seen, true) {
                    first_keys.push(0);
                }
                vec![0]
            }
            (_, Form::Unit { seen: false }) => Vec::new(),
            _ => unreachable!("the tables have keys of the same types"),
        }
    }

    /// The key number of every row, `None` for unknown keys.
    ///
    /// # Errors
    /// As [`KeyTable::intern`].
    pub fn find(&self, columns: &[ArrayRef], row_count: usize) -> Result<Vec<Option<u32>>> {
        if let Form::Integer(known) = &self.form {
            let hasher = &self.hasher;
            let keys = Integers::of(&columns[0]);
            return Ok(keys.iter().map(|key| known.find(key, hasher)).collect());
        }
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
        let hasher = &self.hasher;
        let of_bytes = |known: &ByteKeys, keys: &[Option<&[u8]>]| -> Vec<_> {
            let hashes = ByteKeys::hashes(keys, hasher);
            let found = known.find(keys, &hashes).into_iter().zip(hashes);
            found.map(|(number, hash)| number.ok_or(hash)).collect()
        };
        Ok(match &self.form {
            Form::Integer(known) => {
                let keys = Integers::of(&columns[0]);
                keys.iter().map(|key| known.find_or_hash(key, hasher)).collect()
            }
            Form::Uuid(known) => {
                uuids(&columns[0]).into_iter().map(|key| known.find(key, hasher)).collect()
            }
            Form::Short(known) => known.find_or_hash(columns, row_count, hasher),
            Form::Packed(known) => known.find_or_hash(columns, row_count, hasher),
            Form::Text { known, .. } => {
                let texts = Texts::of(&columns[0]);
                texts.spread(of_bytes(known, &texts.texts))
            }
            Form::Bytes { converter, bytes, types } => {
                let rows = converter.convert_columns(&comparable(columns, types))?;
                of_bytes(bytes, &rows.iter().map(|row| Some(row.data())).collect::<Vec<_>>())
            }
            Form::Unit { seen } => vec![seen.then_some(0).ok_or(0); row_count],
        })
    }

    /// The keys of these numbers, if the table can give them: those of one column of texts.
    ///
    /// # Errors
    /// If they are longer than a column may be.
    pub fn values(&self, numbers: Range<usize>) -> Result<Option<ArrayRef>> {
        match &self.form {
            Form::Text { known, .. } => Ok(Some(Arc::new(known.texts(numbers)?))),
            _ => Ok(None),
        }
    }

    /// Whether the table can give its keys.
    #[must_use]
    pub fn has_values(&self) -> bool {
        matches!(self.form, Form::Text { .. })
    }

    /// Approximate memory of the keys, in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        match &self.form {
            Form::Integer(integers) => integers.size(),
            Form::Uuid(uuids) => uuids.size(),
            Form::Short(packed) => packed.size(),
            Form::Packed(packed) => packed.size(),
            Form::Text { known, met } => known.size() + met.size(),
            Form::Bytes { bytes, .. } => bytes.size(),
            Form::Unit { .. } => 0,
        }
    }
}

/// Columns whose byte forms are equal for equal values.
fn comparable(columns: &[ArrayRef], types: &[ColumnType]) -> Vec<ArrayRef> {
    let key = |(column, ty): (&ArrayRef, &ColumnType)| match ty {
        ColumnType::Text => plain(column),
        _ => canonical(&order_keys::of_column(column, ty)),
    };
    columns.iter().zip(types).map(key).collect()
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
/// microseconds of timestamps. Those that have 64 bits are not copied.
pub struct Integers<'c> {
    values: Cow<'c, [i64]>,
    nulls: Option<&'c NullBuffer>,
}

impl<'c> Integers<'c> {
    /// Those of a column.
    #[must_use]
    pub fn of(column: &'c ArrayRef) -> Self {
        let values = match column.data_type() {
            DataType::Int16 => widened::<Int16Type>(column),
            DataType::Int32 => widened::<Int32Type>(column),
            DataType::Date32 => widened::<Date32Type>(column),
            DataType::Timestamp(..) => {
                Cow::Borrowed(&column.as_primitive::<TimestampMicrosecondType>().values()[..])
            }
            _ => Cow::Borrowed(&column.as_primitive::<Int64Type>().values()[..]),
        };
        Self { values, nulls: column.nulls().filter(|nulls| nulls.null_count() > 0) }
    }

    /// The key of each row.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<i64>> {
        self.values.iter().enumerate().map(|(row, value)| match self.nulls {
            Some(nulls) if nulls.is_null(row) => None,
            _ => Some(*value),
        })
    }

    /// The least and the greatest.
    fn ends(&self) -> Option<(i64, i64)> {
        let ends = |ends: Option<(i64, i64)>, value: i64| match ends {
            Some((least, greatest)) => Some((least.min(value), greatest.max(value))),
            None => Some((value, value)),
        };
        match self.nulls {
            Some(_) => self.iter().flatten().fold(None, ends),
            None => {
                let first = *self.values.first()?;
                let wider = |(least, greatest): (i64, i64), value: &i64| {
                    (least.min(*value), greatest.max(*value))
                };
                Some(self.values.iter().fold((first, first), wider))
            }
        }
    }
}

fn uuids(column: &ArrayRef) -> Vec<Option<u128>> {
    let number = |bytes: &[u8]| bytes.first_chunk().map(|bytes| u128::from_be_bytes(*bytes));
    column.as_fixed_size_binary().iter().map(|bytes| bytes.and_then(number)).collect()
}

fn widened<T: ArrowPrimitiveType<Native: Into<i64>>>(column: &ArrayRef) -> Cow<'_, [i64]> {
    let values = column.as_primitive::<T>().values();
    Cow::Owned(values.iter().map(|value| (*value).into()).collect())
}

/// The texts of a column as bytes: of each row, or of a dictionary of fewer that rows point into.
struct Texts<'c> {
    texts: Vec<Option<&'c [u8]>>,
    /// For each row, the position of its text; `None` if they are those of the rows.
    rows: Option<Vec<usize>>,
}

impl<'c> Texts<'c> {
    fn of(column: &'c ArrayRef) -> Self {
        let texts = |array: &'c ArrayRef| -> Vec<Option<&'c [u8]>> {
            array.as_string::<i32>().iter().map(|text| text.map(str::as_bytes)).collect()
        };
        let Some(own) = column.as_dictionary_opt::<Int32Type>() else {
            return Self { texts: texts(column), rows: None };
        };
        let keys = own.keys();
        if own.values().len() > keys.len() {
            // The other texts belong to rows of other batches.
            let all = own.values().as_string::<i32>();
            let text = |key: i32| all.is_valid(key as usize).then(|| all.value(key as usize));
            let texts = keys.iter().map(|key| key.and_then(text).map(str::as_bytes));
            return Self { texts: texts.collect(), rows: None };
        }
        let mut texts = texts(own.values());
        let null = texts.len();
        texts.push(None);
        let rows = match keys.null_count() {
            0 => keys.values().iter().map(|key| *key as usize).collect(),
            _ => keys.iter().map(|key| key.map_or(null, |key| key as usize)).collect(),
        };
        Self { texts, rows: Some(rows) }
    }

    /// What belongs to each row, of what belongs to each text.
    fn spread<V: Copy>(&self, values: Vec<V>) -> Vec<V> {
        match &self.rows {
            None => values,
            Some(rows) => rows.iter().map(|row| values[*row]).collect(),
        }
    }
}

/// Whether any key of a row is null.
#[inline]
#[must_use]
pub fn has_null(columns: &[ArrayRef], row: usize) -> bool {
    columns.iter().any(|column| column.is_null(row))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use arrow_array::{Date32Array, DictionaryArray, Int64Array, StringArray};

    use super::*;

    /// Numbers from a seed.
    struct Random(u64);

    impl Random {
        fn below(&mut self, count: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (self.0 >> 33) % count
        }

        fn maybe<V>(&mut self, value: V) -> Option<V> {
            (self.below(20) > 0).then_some(value)
        }
    }

    /// The values of a row, written out.
    fn row_of(columns: &[ArrayRef], row: usize) -> String {
        let value = |column: &ArrayRef| {
            let column = plain(column);
            match column.is_null(row) {
                true => "null".to_owned(),
                false => format!("{:?}", column.slice(row, 1)),
            }
        };
        columns.iter().map(value).collect()
    }

    /// Interns some batches, and compares the numbers with those of a map of whole rows.
    fn check(types: &[ColumnType], batches: &[Vec<ArrayRef>]) {
        let mut table = KeyTable::new(types).unwrap();
        let mut expected: HashMap<String, u32> = HashMap::new();
        for columns in batches {
            let count = columns[0].len();
            let before = table.find(columns, count).unwrap();
            let mut fresh = Vec::new();
            let numbers = table.intern(columns, count, &mut fresh).unwrap();
            let (old, mut expected_fresh) = (expected.clone(), Vec::new());
            for row in 0..count {
                let text = row_of(columns, row);
                assert_eq!(before[row], old.get(&text).copied(), "row {row}");
                let next = expected.len() as u32;
                if !expected.contains_key(&text) {
                    expected_fresh.push(row as u32);
                }
                assert_eq!(numbers[row], *expected.entry(text).or_insert(next), "row {row}");
            }
            assert_eq!(fresh, expected_fresh);
            assert_eq!(table.len(), expected.len());
            let after: Vec<_> = table.find(columns, count).unwrap().into_iter().flatten().collect();
            assert_eq!(after, numbers);
        }
        if let Some(values) = table.values(0..table.len()).unwrap() {
            let own = (0..table.len()).map(|row| row_of(std::slice::from_ref(&values), row));
            assert_eq!(own.zip(0..).collect::<HashMap<_, u32>>(), expected);
            let last = table.len() - 1;
            let part = table.values(last..table.len()).unwrap().unwrap();
            assert_eq!(&*part, &*values.slice(last, 1));
        }
        check_merge(types, batches);
        // Equal keys have equal hashes in a table that knows none of them.
        let empty = KeyTable::new(types).unwrap();
        let mut hashes: HashMap<String, u64> = HashMap::new();
        for columns in batches {
            let found = empty.find_or_hash(columns, columns[0].len()).unwrap();
            for (row, hash) in found.into_iter().enumerate() {
                let hash = hash.unwrap_err();
                assert_eq!(*hashes.entry(row_of(columns, row)).or_insert(hash), hash);
            }
        }
    }

    /// Merges tables of some batches, and compares with one that has seen all rows.
    fn check_merge(types: &[ColumnType], batches: &[Vec<ArrayRef>]) {
        let of = |batches: &[Vec<ArrayRef>]| {
            let mut table = KeyTable::new(types).unwrap();
            for columns in batches {
                table.intern(columns, columns[0].len(), &mut Vec::new()).unwrap();
            }
            table
        };
        for middle in 0..=batches.len() {
            let (first, second) = batches.split_at(middle);
            let (whole, mut merged, other) = (of(batches), of(first), of(second));
            let (before, mut fresh) = (merged.len() as u32, Vec::new());
            let numbers = merged.merge(&other, &mut fresh);
            assert_eq!((merged.len(), numbers.len()), (whole.len(), other.len()));
            let is_fresh = |own: &u32| numbers[*own as usize] >= before;
            assert_eq!(fresh, (0..other.len() as u32).filter(is_fresh).collect::<Vec<_>>());
            for columns in batches {
                let find = |table: &KeyTable| table.find(columns, columns[0].len()).unwrap();
                assert_eq!(find(&merged), find(&whole));
                for (own, merged) in find(&other).into_iter().zip(find(&merged)) {
                    if let Some(own) = own {
                        assert_eq!(Some(numbers[own as usize]), merged);
                    }
                }
            }
        }
    }

    fn integers_within(random: &mut Random, start: i64, span: u64) -> ArrayRef {
        let values = (0..200).map(|_| {
            let value = start.wrapping_add_unsigned(random.below(span));
            random.maybe(value)
        });
        Arc::new(values.collect::<Int64Array>())
    }

    #[test]
    fn integers_are_numbered_wherever_they_lie() {
        let mut random = Random(7);
        for starts in [
            [0, 0, 0, 0],
            [0, 1_000, 2_000, 3_000],
            [3_000, 2_000, 1_000, 0],
            [0, 500, i64::MAX - 2_000, i64::MIN],
            [i64::MIN, i64::MIN + 300, i64::MAX - 2_000, 5],
            [i64::MAX - 1_000, i64::MAX - 1_500, 0, 1],
        ] {
            let batches = starts.map(|start| vec![integers_within(&mut random, start, 1_000)]);
            check(&[ColumnType::Int64], &batches);
        }
    }

    #[test]
    fn keys_of_several_columns_are_numbered() {
        let mut random = Random(11);
        let batch = |random: &mut Random| -> Vec<ArrayRef> {
            let texts: Vec<_> = (0..200)
                .map(|_| {
                    let text = format!("text {}", random.below(9));
                    random.maybe(text)
                })
                .collect();
            let days: Date32Array = (0..200)
                .map(|_| {
                    let day = random.below(5) as i32 - 2;
                    random.maybe(day)
                })
                .collect();
            let truths: arrow_array::BooleanArray = (0..200)
                .map(|_| {
                    let truth = random.below(2) == 0;
                    random.maybe(truth)
                })
                .collect();
            let texts: ArrayRef = match random.below(2) {
                0 => Arc::new(texts.into_iter().collect::<StringArray>()),
                _ => {
                    let texts = texts.iter().map(|text| text.as_deref());
                    Arc::new(texts.collect::<DictionaryArray<Int32Type>>())
                }
            };
            let numbers = integers_within(random, -3, 6);
            vec![numbers, texts, Arc::new(days), Arc::new(truths)]
        };
        let batches: Vec<_> = (0..5).map(|_| batch(&mut random)).collect();
        let types = [ColumnType::Int64, ColumnType::Text, ColumnType::Date, ColumnType::Boolean];
        check(&types, &batches);
        let texts: Vec<_> = batches.iter().map(|columns| vec![columns[1].clone()]).collect();
        check(&types[1..2], &texts);
        let numbers: Vec<_> = batches.iter().map(|columns| columns[1..].to_vec()).collect();
        check(&types[1..], &numbers);
        // These do not fit in words.
        let many: Vec<_> =
            batches.iter().map(|own| [&own[..], &own[..1], &own[..1]].concat()).collect();
        check(&[&types[..], &types[..1], &types[..1]].concat(), &many);
    }

    #[test]
    fn texts_of_a_dictionary_are_looked_up_once_for_all_its_batches() {
        let mut random = Random(13);
        let mut batches: Vec<Vec<ArrayRef>> = Vec::new();
        // The second dictionary repeats texts of the first, and has a null and one text twice.
        let few = (0..900).map(|own| Some(format!("text {own}")));
        let more = (300..1_500).map(|own| (own % 400 > 0).then(|| format!("text {}", own / 2 * 2)));
        for texts in [few.collect::<StringArray>(), more.collect()] {
            let texts: ArrayRef = Arc::new(texts);
            for _ in 0..6 {
                let code = |random: &mut Random| random.below(texts.len() as u64) as i32;
                let codes = (0..200).map(|_| {
                    let code = code(&mut random);
                    random.maybe(code)
                });
                let codes = codes.collect::<arrow_array::Int32Array>();
                let column = DictionaryArray::new(codes, Arc::clone(&texts));
                assert!(MetTexts::column(&(Arc::new(column.clone()) as ArrayRef)).is_some());
                batches.push(vec![Arc::new(column)]);
            }
        }
        // Neighbours of two dictionaries, too.
        batches.swap(5, 8);
        check(&[ColumnType::Text], &batches);
    }

    #[test]
    fn other_keys_are_merged() {
        let mut random = Random(17);
        let uuids = |random: &mut Random| -> Vec<ArrayRef> {
            let bytes = (0..200).map(|_| Some([random.below(70) as u8; 16]));
            let nulls = bytes.map(|own| own.filter(|own| own[0] > 2));
            let column =
                arrow_array::FixedSizeBinaryArray::try_from_sparse_iter_with_size(nulls, 16);
            vec![Arc::new(column.unwrap())]
        };
        let batches: Vec<_> = (0..4).map(|_| uuids(&mut random)).collect();
        check_merge(&[ColumnType::Uuid], &batches);
        let (mut one, mut two) = (KeyTable::new(&[]).unwrap(), KeyTable::new(&[]).unwrap());
        let mut fresh = Vec::new();
        assert_eq!(one.merge(&two, &mut fresh), [0; 0]);
        two.intern(&[], 3, &mut Vec::new()).unwrap();
        assert_eq!((one.merge(&two, &mut fresh), &fresh[..], one.len()), (vec![0], &[0][..], 1));
        assert_eq!((one.merge(&two, &mut fresh), fresh.len(), one.len()), (vec![0], 1, 1));
    }
}
