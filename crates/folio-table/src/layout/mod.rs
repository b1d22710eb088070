//! The byte layout of rows.
//!
//! A row's key columns are in its key, in an encoding that sorts. The others are in its value:
//!
//! ```text
//! header u8 │ null bits │ fixed columns │ integers │ ends of the others │ their bytes
//! ```
//!
//! - the row header (`header`) gives the width of integers and of ends, or says that the row
//!   is in a chain of overflow pages (`overflow`), with a header of its own;
//! - one null bit per nullable column, lowest first, set for null;
//! - fixed columns at constant offsets, 0 if null: floats little endian in their width,
//!   booleans one byte, times and timestamps 8, decimals, uuids and intervals (months,
//!   days, nanoseconds) 16;
//! - integers and dates little endian in the width of the header, or of their type if
//!   that is smaller; 0 if null;
//! - an end is relative to the start of the bytes of text, bytes, json, lists and structs;
//!   the last one is the end of the row.
//!
//! So a column is found without reading its neighbours. A scan of two of nine columns is fast
//! because of that.

mod header;

pub(crate) use header::{PLAIN, RowHeader, WIDTH_COUNT, Width, integer, short_integer};

use folio_types::key::KeyColumn;
use folio_types::{ColumnType, TableSchema};

/// In a projection, the hidden row number of a table without a primary key: a bigint column `_row`,
/// whose value is the row's key.
pub const ROW_NUMBER: usize = usize::MAX;

/// The location of a column's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// The n-th segment of the key.
    Key(usize),
    /// At a constant offset.
    Fixed { offset: usize, size: usize, null_bit: Option<usize> },
    /// An integer: one offset per width; at most `size` bytes wide.
    Integer { offsets: [usize; WIDTH_COUNT], size: usize, null_bit: Option<usize> },
    /// The n-th column with an end offset.
    Variable { index: usize, null_bit: Option<usize> },
}

/// The location of each column in a table's rows.
#[derive(Debug, Clone)]
pub(crate) struct RowLayout {
    pub(crate) places: Vec<Place>,
    pub(crate) key: Vec<KeyColumn>,
    /// Whether the key is a hidden row number.
    pub(crate) has_row_number: bool,
    /// Bytes before the integers, including header and null bits.
    pub(crate) integers_start: usize,
    /// The columns of each kind of location, in order.
    pub(crate) fixed: Vec<usize>,
    pub(crate) integers: Vec<usize>,
    pub(crate) variable: Vec<usize>,
    /// The columns with a null bit, lowest first.
    pub(crate) nullable: Vec<usize>,
    /// Bytes before the end offsets, for each width of integers.
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

    /// The header of a row with a complete fixed part; `None` for other values.
    #[inline]
    pub(crate) fn header(&self, value: &[u8]) -> Option<RowHeader> {
        RowHeader::of(value)
            .filter(|header| value.len() >= self.fixed_ends[header.integers.index()])
    }
}

/// The key columns of a table's rows.
pub(crate) fn row_key_columns(schema: &TableSchema) -> Vec<KeyColumn> {
    use ColumnType::{Int16, Int32, Int64};
    let own = |(position, &index): (usize, &usize)| {
        let column = key_column(schema.columns[index].column_type.clone(), false, false);
        // First columns are mostly part of the key prefix that a page's keys share. Later ones are
        // numbers within a group, and small.
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

/// The size of a fixed-size type.
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
