//! Columns, and how values are appended to them.

use super::order::FieldOrder;
use super::schema::{Field, Type};
use crate::error::Error;
use crate::kernel::{plain_run, plain_start};
use crate::symbol::Symbol;
use std::collections::HashMap;
use std::num::NonZeroUsize;

/// A column of values.
#[derive(Debug)]
pub struct Column {
    pub(super) column_type: Type,
    pub(super) validity: Validity,
    pub(super) data: Data,
}

/// The values of a column. The value at a null's position is arbitrary.
#[derive(Debug)]
#[repr(u8)]
pub enum Data {
    /// Booleans, 0 or 1.
    Bool(Vec<u8>),
    /// Integers, checked to fit the column's width.
    Int(Vec<i64>),
    /// Unsigned integers, checked to fit the column's width.
    UInt(Vec<u64>),
    /// 128-bit integers, and decimals of more than 18 digits as units of their last place.
    Wide(Vec<i128>),
    /// Decimals of up to 18 digits as units of their last place.
    Decimal(Vec<i64>),
    /// Floats.
    Float(Vec<f64>),
    /// Microseconds since the epoch.
    Timestamp(Vec<i64>),
    /// Days since the epoch.
    Date(Vec<i32>),
    /// Text or bytes.
    Text(Text),
    /// Lists over the values of a child.
    List(Vec<ListEntry>, Box<Column>),
    /// Structs.
    Struct(Box<StructColumn>),
    /// Lists of names and values.
    Map(Vec<ListEntry>, Box<MapColumn>),
}

/// A list: `length` values of the child from `offset` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct ListEntry {
    /// Index of the first value.
    pub offset: u64,
    /// Number of values.
    pub length: u64,
}

/// The children of a map column.
#[derive(Debug)]
pub struct MapColumn {
    /// Names, as text.
    pub keys: Column,
    /// Values.
    pub values: Column,
}

/// Which values are not null: one bit each, least significant first. Values beyond the last word
/// are valid, so columns without nulls cost nothing.
#[derive(Debug, Default)]
pub struct Validity {
    words: Vec<u64>,
}

impl Validity {
    /// The words, up to the last null.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Whether the value at `index` is not null.
    pub fn is_valid(&self, index: usize) -> bool {
        self.words.get(index / 64).is_none_or(|word| word >> (index % 64) & 1 == 1)
    }

    #[inline]
    fn set_null(&mut self, index: usize) {
        if self.words.len() <= index / 64 {
            self.words.resize(index / 64 + 1, !0);
        }
        self.words[index / 64] &= !(1 << (index % 64));
    }

    fn truncate(&mut self, len: usize) {
        self.words.truncate(len.div_ceil(64));
        if !len.is_multiple_of(64)
            && let Some(word) = self.words.get_mut(len / 64)
        {
            *word |= !0 << (len % 64);
        }
    }
}

/// Texts of a column as 16-byte views, in the layout of DuckDB and Arrow on little-endian machines.
/// The length is in the low 32 bits. Up to 12 bytes follow it inline. Longer texts have their first
/// four bytes there and, in the high 64 bits, their offset in the heap.
#[derive(Debug, Default)]
pub struct Text {
    views: Vec<u128>,
    heap: Vec<u8>,
}

/// For each length of an inline text, a mask of its bytes.
pub(super) const MASKS: [u128; Text::INLINE + 1] = {
    let mut masks = [0; Text::INLINE + 1];
    let mut length = 1;
    while length < masks.len() {
        masks[length] = masks[length - 1] << 8 | 0xff;
        length += 1;
    }
    masks
};

impl Text {
    /// The longest inline text, in bytes.
    pub const INLINE: usize = 12;

    /// The views.
    pub fn views(&self) -> &[u128] {
        &self.views
    }

    /// The bytes of the text at `index`; empty for a null.
    pub fn get(&self, index: usize) -> Vec<u8> {
        let view = self.views[index];
        let length = view as u32 as usize;
        match self.long(view) {
            Some(bytes) => bytes.to_vec(),
            None => (view >> 32).to_le_bytes()[..length].to_vec(),
        }
    }

    /// The bytes of `view`, if they are in the heap.
    #[inline]
    pub fn long(&self, view: u128) -> Option<&[u8]> {
        let length = view as u32 as usize;
        let offset = (view >> 64) as usize;
        (length > Text::INLINE).then(|| &self.heap[offset..offset + length])
    }

    /// Appends the double-quoted string at `at` and returns its end. `None` if it has escapes or
    /// there is no room.
    #[inline(never)]
    pub(super) fn push_quoted(&mut self, bytes: &[u8], at: usize) -> Option<End> {
        if self.views.len() == self.views.capacity() {
            return None;
        }
        let head = bytes.get(at..).and_then(|rest| rest.first_chunk::<17>());
        if let Some([b'"', chunk @ ..]) = head
            && let (length @ 0..=Text::INLINE, true) = plain_start(chunk, b'"')
            && chunk[length] == b'"'
        {
            self.push_inline(u128::from_le_bytes(*chunk), length);
            return End::new(at + length + 2);
        }
        self.push_any_quoted(bytes, at)
    }

    #[inline(never)]
    fn push_any_quoted(&mut self, bytes: &[u8], at: usize) -> Option<End> {
        let rest = bytes.get(at..)?.strip_prefix(b"\"")?;
        let (length, is_ascii) = plain_run(rest, b'"');
        let is_valid = is_ascii || std::str::from_utf8(&rest[..length]).is_ok();
        if rest.get(length) != Some(&b'"') || !is_valid {
            return None;
        }
        self.push(&rest[..length]);
        End::new(at + length + 2)
    }

    /// Appends the first `length` bytes of `content`, at most twelve, lowest byte first.
    #[inline(always)]
    pub(super) fn push_inline(&mut self, content: u128, length: usize) {
        self.views.push((content & MASKS[length]) << 32 | length as u128);
    }

    /// Appends `bytes`, which are at most four gigabytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let mut head = [0; 16];
        if bytes.len() <= Text::INLINE {
            head[4..4 + bytes.len()].copy_from_slice(bytes);
        } else {
            head[4..8].copy_from_slice(&bytes[..4]);
            head[8..].copy_from_slice(&(self.heap.len() as u64).to_le_bytes());
            self.heap.extend_from_slice(bytes);
        }
        head[..4].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
        self.views.push(u128::from_le_bytes(head));
    }
}

/// The end of a value. It is never 0, so zero can represent `None`.
pub(super) type End = NonZeroUsize;

/// Appends the value that `read` finds and returns its end, if there is room. Room is checked
/// first, so that nothing must be saved in case there is none.
#[inline(always)]
pub(super) fn push<T>(
    values: &mut Vec<T>,
    read: impl FnOnce() -> Option<(T, usize)>,
) -> Option<End> {
    if values.len() == values.capacity() {
        return None;
    }
    let (value, end) = read()?;
    values.push(value);
    End::new(end)
}

/// The fields of a struct by their names.
type Names = HashMap<Box<str>, usize>;

/// The fields of a struct, and their lookup tables.
#[derive(Debug)]
pub struct StructColumn {
    /// A column for each field.
    pub fields: Vec<Column>,
    pub(super) rows: usize,
    pub(super) names: Names,
    pub(super) order: FieldOrder,
    /// Symbol number to field, plus one; zero for none.
    pub(super) numbers: Vec<u32>,
    /// For each field and row being read, the start of its value.
    pub(super) places: Vec<u32>,
}

impl StructColumn {
    pub(super) fn new(fields: &[Field]) -> StructColumn {
        let mut names = Names::new();
        for (index, field) in fields.iter().enumerate() {
            names.entry(field.name.as_str().into()).or_insert(index);
        }
        StructColumn {
            fields: fields.iter().map(|field| Column::new(&field.field_type)).collect(),
            rows: 0,
            names,
            order: FieldOrder::default(),
            numbers: Vec::new(),
            places: Vec::new(),
        }
    }

    /// Whether the current row has no value for `field` yet. `taken` has a bit for each of the
    /// first 64 fields, which is faster than checking their columns.
    #[inline(always)]
    pub(super) fn is_open(&self, field: usize, taken: &mut u64) -> bool {
        if field >= 64 {
            return self.fields[field].len() == self.rows;
        }
        let bit = 1u64 << field;
        let open = *taken & bit == 0;
        *taken |= bit;
        open
    }

    /// Ends a row. Fields that it lacks become null.
    #[inline(always)]
    pub(super) fn finish_row(&mut self, seen: usize) {
        if seen < self.fields.len() {
            for field in self.fields.iter_mut().filter(|field| field.len() == self.rows) {
                field.push_null();
            }
        }
        self.rows += 1;
    }

    fn push_null(&mut self) {
        self.finish_row(0);
    }

    pub(super) fn clear(&mut self) {
        self.rows = 0;
        self.fields.iter_mut().for_each(Column::clear);
    }

    pub(super) fn truncate(&mut self, rows: usize) {
        self.rows = rows;
        self.fields.iter_mut().for_each(|field| field.truncate(rows));
    }
}

/// The name of the field `index`.
pub(super) fn name_of(names: &Names, index: usize) -> &str {
    let name = names.iter().find(|(_, target)| **target == index);
    name.map(|(name, _)| &**name).unwrap_or_default()
}

/// Adds the name of the field to an error.
#[cold]
pub(super) fn blame(names: &Names, index: usize, error: Error) -> Error {
    error.within_column(name_of(names, index))
}

impl Column {
    /// An empty column.
    pub fn new(column_type: &Type) -> Column {
        let data = match column_type {
            Type::Bool => Data::Bool(Vec::new()),
            Type::Int(_) => Data::Int(Vec::new()),
            Type::UInt(_) => Data::UInt(Vec::new()),
            Type::HugeInt => Data::Wide(Vec::new()),
            Type::Float(_) => Data::Float(Vec::new()),
            Type::Decimal { precision: 0..=18, .. } => Data::Decimal(Vec::new()),
            Type::Decimal { .. } => Data::Wide(Vec::new()),
            Type::Timestamp | Type::UtcTimestamp => Data::Timestamp(Vec::new()),
            Type::Date => Data::Date(Vec::new()),
            Type::String | Type::Json | Type::Blob => Data::Text(Text::default()),
            Type::List(child) => Data::List(Vec::new(), Box::new(Column::new(child))),
            Type::Struct(fields) => Data::Struct(Box::new(StructColumn::new(fields))),
            Type::Map(value) => {
                let (keys, values) = (Column::new(&Type::String), Column::new(value));
                Data::Map(Vec::new(), Box::new(MapColumn { keys, values }))
            }
        };
        Column { column_type: column_type.clone(), validity: Validity::default(), data }
    }

    /// The column's type.
    pub fn column_type(&self) -> &Type {
        &self.column_type
    }

    /// The values.
    pub fn data(&self) -> &Data {
        &self.data
    }

    /// Which of the values are not null.
    pub fn validity(&self) -> &Validity {
        &self.validity
    }

    /// Whether the column has no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of values, nulls included.
    #[inline]
    pub fn len(&self) -> usize {
        match &self.data {
            Data::Bool(values) => values.len(),
            Data::Int(values) | Data::Decimal(values) | Data::Timestamp(values) => values.len(),
            Data::UInt(values) => values.len(),
            Data::Wide(values) => values.len(),
            Data::Float(values) => values.len(),
            Data::Date(values) => values.len(),
            Data::Text(text) => text.views.len(),
            Data::List(entries, _) | Data::Map(entries, _) => entries.len(),
            Data::Struct(fields) => fields.rows,
        }
    }

    /// Makes room for more scalars if there is none. Returns whether it did.
    pub(super) fn make_room(&mut self) -> bool {
        fn grown<T>(values: &mut Vec<T>) -> bool {
            let is_full = values.len() == values.capacity();
            values.reserve(1);
            is_full
        }
        match &mut self.data {
            Data::Bool(values) => grown(values),
            Data::Int(values) | Data::Decimal(values) | Data::Timestamp(values) => grown(values),
            Data::Float(values) => grown(values),
            Data::Date(values) => grown(values),
            Data::Text(text) => grown(&mut text.views),
            _ => false,
        }
    }

    /// Appends a null.
    pub(super) fn push_null(&mut self) {
        self.validity.set_null(self.len());
        match &mut self.data {
            Data::Bool(values) => values.push(0),
            Data::Int(values) | Data::Decimal(values) | Data::Timestamp(values) => values.push(0),
            Data::UInt(values) => values.push(0),
            Data::Wide(values) => values.push(0),
            Data::Float(values) => values.push(0.0),
            Data::Date(values) => values.push(0),
            Data::Text(text) => text.views.push(0),
            Data::List(entries, child) => {
                entries.push(ListEntry { offset: child.len() as u64, length: 0 });
            }
            Data::Map(entries, map) => {
                entries.push(ListEntry { offset: map.keys.len() as u64, length: 0 });
            }
            Data::Struct(fields) => fields.push_null(),
        }
    }

    /// Appends a list of annotations, for a column of lists of text.
    pub(super) fn push_annotations(&mut self, annotations: &[Symbol]) {
        let Data::List(entries, child) = &mut self.data else { return };
        let Data::Text(texts) = &mut child.data else { return };
        let offset = texts.views.len() as u64;
        entries.push(ListEntry { offset, length: annotations.len() as u64 });
        for annotation in annotations {
            texts.push(annotation.text().unwrap_or("$0").as_bytes());
        }
    }

    pub(super) fn clear(&mut self) {
        self.truncate(0);
        if let Data::Text(text) = &mut self.data {
            text.heap.clear();
        }
    }

    /// Keeps the first `len` values.
    pub(super) fn truncate(&mut self, len: usize) {
        self.validity.truncate(len);
        match &mut self.data {
            Data::Bool(values) => values.truncate(len),
            Data::Int(values) | Data::Decimal(values) | Data::Timestamp(values) => {
                values.truncate(len);
            }
            Data::UInt(values) => values.truncate(len),
            Data::Wide(values) => values.truncate(len),
            Data::Float(values) => values.truncate(len),
            Data::Date(values) => values.truncate(len),
            Data::Text(text) => text.views.truncate(len),
            Data::List(entries, child) => {
                entries.truncate(len);
                child.truncate_to(entries, len);
            }
            Data::Map(entries, map) => {
                entries.truncate(len);
                map.keys.truncate_to(entries, len);
                map.values.truncate_to(entries, len);
            }
            Data::Struct(fields) => fields.truncate(len),
        }
    }

    /// Keeps the values that the lists in `entries` refer to.
    fn truncate_to(&mut self, entries: &[ListEntry], len: usize) {
        match entries.last() {
            Some(last) => self.truncate((last.offset + last.length) as usize),
            None => {
                debug_assert_eq!(len, 0);
                self.clear();
            }
        }
    }
}
