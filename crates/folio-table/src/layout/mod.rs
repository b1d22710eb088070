//! Rows as bytes.
//!
//! A row's key columns stand in its key, in the encoding that sorts; the others in
//! its value:
//!
//! ```text
//! header u8 │ null bits │ fixed columns │ integers │ ends of the others │ their bytes
//! ```
//!
//! - the row header (`header`) tells the width of integers and of ends, or that the row is
//!   in a chain of overflow pages (`overflow`), with a header of its own;
//! - one null bit per nullable column, lowest first, set for null;
//! - fixed columns at constant offsets, null ones 0: floats little endian in their width,
//!   booleans a byte, times and timestamps 8, decimals, uuids and intervals (months,
//!   days, nanoseconds) 16;
//! - integers and dates little endian in the width of the header, or of their type where
//!   that is less, null ones 0;
//! - an end counts from where the bytes of text, bytes, json, lists and structs begin;
//!   the last ends with the row.
//!
//! So a column is found without looking at its neighbours, which is what a scan
//! that wants two of nine columns lives on.

mod header;

pub(crate) use header::{PLAIN, RowHeader, WIDTH_COUNT, Width, integer, short_integer};

use folio_types::key::KeyColumn;
use folio_types::{ColumnType, TableSchema};

/// In a projection, the hidden row number of a table without a primary key: a
/// bigint column `_row`, whose value is the row's key.
pub const ROW_NUMBER: usize = usize::MAX;

/// Where a column's value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// The n-th segment of the key.
    Key(usize),
    /// At a constant offset.
    Fixed { offset: usize, size: usize, null_bit: Option<usize> },
    /// An integer: at an offset for each width, and no wider than `size`.
    Integer { offsets: [usize; WIDTH_COUNT], size: usize, null_bit: Option<usize> },
    /// The n-th of those with an end.
    Variable { index: usize, null_bit: Option<usize> },
}

/// Where a table's columns are in its rows.
#[derive(Debug, Clone)]
pub(crate) struct RowLayout {
    pub(crate) places: Vec<Place>,
    pub(crate) key: Vec<KeyColumn>,
    /// Whether the key is a hidden row number.
    pub(crate) has_row_number: bool,
    /// Bytes up to the integers, header and null bits included.
    pub(crate) integers_start: usize,
    /// The columns whose place is of each kind, in order.
    pub(crate) fixed: Vec<usize>,
    pub(crate) integers: Vec<usize>,
    pub(crate) variable: Vec<usize>,
    /// The columns with a null bit, lowest first.
    pub(crate) nullable: Vec<usize>,
    /// Bytes up to the ends, for each width of integers.
    pub(crate) fixed_ends: [usize; WIDTH_COUNT],
}

impl RowLayout {
    pub(crate) fn of(schema: &TableSchema) -> Self {
        let nullable = |index: &usize| schema.columns[*index].nullable;
        let in_value: Vec<usize> =
            (0..schema.columns.len()).filter(|index| !schema.primary_key.contains(index)).collect();
        let with_null_bit: Vec<usize> = in_value.iter().copied().filter(nullable).collect();
        let mut integers_start = 1 + with_null_bit.len().div_ceil(8);
        let (mut fixed, mut integers, mut variable) = (Vec::new(), Vec::new(), Vec::new());
        let mut places = vec![Place::Key(0); schema.columns.len()];
        for (position, &index) in schema.primary_key.iter().enumerate() {
            places[index] = Place::Key(position);
        }
        for index in in_value {
            let null_bit = with_null_bit.iter().position(|&other| other == index);
            let column_type = &schema.columns[index].column_type;
            places[index] = match fixed_size(column_type) {
                Some(size) if is_integer(column_type) => {
                    integers.push(index);
                    Place::Integer { offsets: [0; WIDTH_COUNT], size, null_bit }
                }
                Some(size) => {
                    fixed.push(index);
                    integers_start += size;
                    Place::Fixed { offset: integers_start - size, size, null_bit }
                }
                None => {
                    variable.push(index);
                    Place::Variable { index: variable.len() - 1, null_bit }
                }
            };
        }
        let mut fixed_ends = [integers_start; WIDTH_COUNT];
        for &index in &integers {
            if let Place::Integer { offsets, size, .. } = &mut places[index] {
                *offsets = fixed_ends;
                for (power, end) in fixed_ends.iter_mut().enumerate() {
                    *end += 1usize.wrapping_shl(power as u32).min(*size);
                }
            }
        }
        let key = row_key_columns(schema);
        let has_row_number = schema.primary_key.is_empty();
        Self {
            places,
            key,
            has_row_number,
            integers_start,
            fixed,
            integers,
            variable,
            nullable: with_null_bit,
            fixed_ends,
        }
    }

    /// The header of a row that has its fixed part; `None` for what is no row.
    #[inline]
    pub(crate) fn header(&self, value: &[u8]) -> Option<RowHeader> {
        RowHeader::of(value)
            .filter(|header| value.len() >= self.fixed_ends[header.integers.index()])
    }
}

/// What the keys of a table's rows are made of.
pub(crate) fn row_key_columns(schema: &TableSchema) -> Vec<KeyColumn> {
    use ColumnType::{Int16, Int32, Int64};
    let own = |(position, &index): (usize, &usize)| {
        let column = key_column(schema.columns[index].column_type.clone(), false, false);
        // Those at the front are mostly among what the keys of a page share; those behind
        // are numbers within a group, and small.
        let compact = position > 0 && matches!(column.column_type, Int16 | Int32 | Int64);
        KeyColumn { compact, ..column }
    };
    match &schema.primary_key[..] {
        [] => vec![key_column(Int64, false, false)],
        columns => columns.iter().enumerate().map(own).collect(),
    }
}

pub(crate) fn key_column(column_type: ColumnType, nullable: bool, descending: bool) -> KeyColumn {
    KeyColumn { column_type, nullable, descending, compact: false }
}

pub(crate) fn is_integer(column_type: &ColumnType) -> bool {
    matches!(
        column_type,
        ColumnType::Int16 | ColumnType::Int32 | ColumnType::Int64 | ColumnType::Date
    )
}

/// Bytes of a type that always takes the same.
pub(crate) fn fixed_size(column_type: &ColumnType) -> Option<usize> {
    match column_type {
        ColumnType::Boolean => Some(1),
        ColumnType::Int16 => Some(2),
        ColumnType::Int32 | ColumnType::Float32 | ColumnType::Date => Some(4),
        ColumnType::Int64
        | ColumnType::Float64
        | ColumnType::Time
        | ColumnType::Timestamp { .. } => Some(8),
        ColumnType::Decimal { .. } | ColumnType::Uuid | ColumnType::Interval => Some(16),
        _ => None,
    }
}
