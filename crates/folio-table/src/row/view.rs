//! Decodes a tree's cell to values, one column at a time.

use std::ops::Range;
use std::sync::Arc;

use folio_types::key::KeyColumn;
use folio_types::{ColumnType, Value, key};

use super::nested;
use crate::buffer::PageGuard;
use crate::catalog::Table;
use crate::error::{Error, Result};
use crate::layout::{Place, RowHeader, RowLayout, integer};
use crate::overflow;
use crate::pager::Pages;

/// The bytes of a row, either copied or still in a page.
#[derive(Debug)]
enum RowBytes<'s> {
    InPage(PageGuard<'s>, Range<usize>),
    Own(Vec<u8>),
}

/// One row. It may pin its page in the buffer pool: do not hold many.
#[derive(Debug)]
pub struct Row<'s> {
    table: Arc<Table>,
    key: Vec<u8>,
    bytes: RowBytes<'s>,
}

impl<'s> Row<'s> {
    /// The row of a value in a leaf, which may refer to overflow pages.
    ///
    /// # Errors
    /// As [`overflow::load`].
    pub(crate) fn load(
        pages: &impl Pages<'s>,
        table: Arc<Table>,
        key: Vec<u8>,
        (page, range): (PageGuard<'s>, Range<usize>),
    ) -> Result<Self> {
        let bytes = match overflow::load(pages, table.id, &page[range.clone()])? {
            Some(whole) => RowBytes::Own(whole),
            None => RowBytes::InPage(page, range),
        };
        Ok(Self { table, key, bytes })
    }

    fn value(&self) -> &[u8] {
        match &self.bytes {
            RowBytes::InPage(guard, range) => &guard[range.clone()],
            RowBytes::Own(bytes) => bytes,
        }
    }

    /// The value of one column.
    ///
    /// # Errors
    /// [`Error::Corrupted`] when the row's bytes do not match the table;
    /// [`Error::InvalidInput`] when the column does not exist.
    pub fn get(&self, column: usize) -> Result<Value> {
        decode_column(&self.table, column, &self.key, self.value())
    }

    /// Text or bytes of one column, borrowed from the page; `None` for null, for other types and
    /// for key columns.
    #[must_use]
    pub fn bytes(&self, column: usize) -> Option<&[u8]> {
        let Place::Variable { index, null_bit } = *self.table.layout.places.get(column)? else {
            return None;
        };
        let value = self.value();
        if is_null(value, null_bit) {
            return None;
        }
        variable(&self.table.layout, value, index)
    }

    /// All values, in column order.
    ///
    /// # Errors
    /// As [`Row::get`].
    pub fn values(&self) -> Result<Vec<Value>> {
        (0..self.table.schema.columns.len()).map(|column| self.get(column)).collect()
    }

    /// The hidden row number of a table without a key.
    #[must_use]
    pub fn row_number(&self) -> Option<i64> {
        row_number(&self.table.layout, &self.key)
    }
}

pub(crate) fn row_number(layout: &RowLayout, mut key: &[u8]) -> Option<i64> {
    if !layout.has_row_number {
        return None;
    }
    match key::decode(&layout.key[0], &mut key) {
        Some(Value::Integer(number)) => Some(number),
        _ => None,
    }
}

/// Decodes one column of a row.
///
/// # Errors
/// As [`Row::get`].
pub(crate) fn decode_column(
    table: &Table,
    column: usize,
    key: &[u8],
    value: &[u8],
) -> Result<Value> {
    let Some(place) = table.layout.places.get(column) else {
        let what = format!("table {:?} has no column {column}", table.schema.name);
        return Err(Error::InvalidInput { what });
    };
    decode(table, *place, column, key, value).ok_or_else(|| table.mismatch(column))
}

/// All values of a row as stored.
///
/// # Errors
/// [`Error::CorruptedPage`] when it does not match the table.
pub(crate) fn decode_row(table: &Table, key: &[u8], value: &[u8]) -> Result<Vec<Value>> {
    (0..table.schema.columns.len()).map(|column| decode_column(table, column, key, value)).collect()
}

fn decode(table: &Table, place: Place, column: usize, key: &[u8], value: &[u8]) -> Option<Value> {
    let column_type = &table.schema.columns[column].column_type;
    let layout = &table.layout;
    let (Place::Fixed { null_bit, .. }
    | Place::Integer { null_bit, .. }
    | Place::Variable { null_bit, .. }) = place
    else {
        let Place::Key(position) = place else { return None };
        return decode_segment(&layout.key, position, key);
    };
    let header = layout.header(value)?;
    if is_null(value, null_bit) {
        return Some(Value::Null);
    }
    match place {
        Place::Key(_) => None,
        Place::Fixed { offset, size, .. } => {
            nested::read_fixed(column_type, &value[offset..offset + size])
        }
        Place::Integer { offsets, size, .. } => {
            let offset = offsets[header.integers.index()];
            let number = integer(value, offset, header.integers.within(size));
            match column_type {
                ColumnType::Date => i32::try_from(number).ok().map(Value::Date),
                _ => Some(Value::Integer(number)),
            }
        }
        Place::Variable { index, .. } => {
            nested::read_variable(column_type, variable(layout, value, index)?)
        }
    }
}

/// The n-th column of a key.
pub(crate) fn decode_segment(
    columns: &[KeyColumn],
    position: usize,
    mut key: &[u8],
) -> Option<Value> {
    for column in &columns[..position] {
        key::decode(column, &mut key)?;
    }
    key::decode(&columns[position], &mut key)
}

/// Whether a column of this row is null. The row must have its fixed part.
#[inline]
pub(crate) fn is_null(value: &[u8], null_bit: Option<usize>) -> bool {
    null_bit.is_some_and(|bit| value[1 + bit / 8] >> (bit % 8) & 1 == 1)
}

/// The bytes of a variable-size column.
#[inline]
pub(crate) fn variable<'v>(layout: &RowLayout, value: &'v [u8], index: usize) -> Option<&'v [u8]> {
    value.get(variable_range(layout, value, index)?)
}

/// The row of a header from where they begin on, and how many they are.
#[inline]
pub(crate) fn variable_from<'v>(
    layout: &RowLayout,
    value: &'v [u8],
    header: RowHeader,
    index: usize,
) -> Option<(&'v [u8], usize)> {
    let range = range_in(layout, value, header, index)?;
    let from = value.get(range.start..).filter(|from| range.len() <= from.len())?;
    Some((from, range.len()))
}

/// Where in the row they stand.
#[inline]
pub(super) fn variable_range(
    layout: &RowLayout,
    value: &[u8],
    index: usize,
) -> Option<Range<usize>> {
    range_in(layout, value, RowHeader::of(value)?, index)
}

/// The same for a row of a header.
#[inline]
pub(super) fn range_in(
    layout: &RowLayout,
    value: &[u8],
    header: RowHeader,
    index: usize,
) -> Option<Range<usize>> {
    let start = layout.fixed_ends[header.integers.index()];
    let count = layout.variable.len();
    match header.ends.index() {
        0 => range_of_ends::<1>(value, start, count, index, |&[end]| end.into()),
        1 => range_of_ends::<2>(value, start, count, index, |end| u16::from_le_bytes(*end).into()),
        _ => {
            range_of_ends::<4>(value, start, count, index, |end| u32::from_le_bytes(*end) as usize)
        }
    }
}

#[inline]
fn range_of_ends<const N: usize>(
    value: &[u8],
    ends_start: usize,
    count: usize,
    index: usize,
    decode: impl Fn(&[u8; N]) -> usize,
) -> Option<Range<usize>> {
    let data = ends_start + N * (count - 1);
    let (ends, _) = value.get(ends_start..data)?.as_chunks::<N>();
    let start = if index == 0 { data } else { data + decode(&ends[index - 1]) };
    // The last column ends with the row.
    let end = ends.get(index).map_or(value.len(), |end| data + decode(end));
    (start <= end).then_some(start..end)
}
