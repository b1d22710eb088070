//! Encodes values as the key and the value of a tree's cell.

use folio_types::key;
use folio_types::{Column, ColumnType, TableSchema, ValueRef};

use super::ROW_SIZE_MAX;
use super::nested::Nested;
use super::view::variable;
use crate::catalog::Table;
use crate::error::{Error, Result};
use crate::layout::{Place, RowHeader, RowLayout, Width, integer};
use crate::page::put;

/// Encodes rows of one table, reusing its buffers.
#[derive(Debug, Default)]
pub(crate) struct RowEncoder {
    pub(crate) key: Vec<u8>,
    pub(crate) value: Vec<u8>,
    nested: Nested,
}

impl RowEncoder {
    /// Encodes a row. Tables without a primary key take `row_number`.
    ///
    /// # Errors
    /// [`Error::ValueCount`], [`Error::TypeMismatch`], [`Error::RowTooLong`].
    pub(crate) fn encode(
        &mut self,
        schema: &TableSchema,
        layout: &RowLayout,
        values: &[ValueRef<'_>],
        row_number: i64,
    ) -> Result<()> {
        check_count(schema, values)?;
        let sizes = self.measure(schema, layout, values)?;
        sizes.check(layout)?;
        self.write(schema, layout, values, sizes);
        self.key.clear();
        if layout.has_row_number {
            key::encode(&layout.key[0], ValueRef::Integer(row_number), &mut self.key);
        }
        for (column, &index) in layout.key.iter().zip(&schema.primary_key) {
            key::encode(column, values[index], &mut self.key);
        }
        Ok(())
    }

    /// Checks all values, including the key's, and returns the size of the others.
    #[inline]
    fn measure(
        &mut self,
        schema: &TableSchema,
        layout: &RowLayout,
        values: &[ValueRef<'_>],
    ) -> Result<Sizes> {
        for (column, value) in schema.columns.iter().zip(values) {
            check_value(column, *value)?;
        }
        let mut sizes = Sizes::default();
        for &column in &layout.integers {
            sizes.integers = sizes.integers.max(Width::of(values[column]));
        }
        self.nested.clear();
        for &column in &layout.variable {
            sizes.push(self.nested.measure(&schema.columns[column].column_type, values[column]));
        }
        Ok(sizes)
    }

    /// Writes all values except the key's.
    #[inline]
    fn write(
        &mut self,
        schema: &TableSchema,
        layout: &RowLayout,
        values: &[ValueRef<'_>],
        sizes: Sizes,
    ) {
        let fixed_size = layout.fixed_ends[sizes.integers.index()];
        self.value.clear();
        self.value.resize(fixed_size, 0);
        let fixed = &mut self.value[..];
        fixed[0] = sizes.header().to_byte();
        for (bit, &column) in layout.nullable.iter().enumerate() {
            set_null(fixed, Some(bit), values[column]);
        }
        for &column in &layout.fixed {
            if let Place::Fixed { offset, size, .. } = layout.places[column] {
                let column_type = &schema.columns[column].column_type;
                write_fixed(column_type, values[column], &mut fixed[offset..][..size]);
            }
        }
        for &column in &layout.integers {
            if let Place::Integer { offsets, size, .. } = &layout.places[column] {
                let offset = offsets[sizes.integers.index()];
                let size = sizes.integers.within(*size);
                write_integer(values[column], &mut fixed[offset..][..size]);
            }
        }
        let mut rest = Rest::new(&mut self.value, layout, sizes);
        for &column in &layout.variable {
            rest.push(self.nested.take(values[column]));
        }
    }

    /// Encodes the value of a row in which some columns change. The others are copied from `old`,
    /// the previous value.
    ///
    /// # Errors
    /// As [`RowEncoder::encode`]; [`Error::InvalidInput`] for columns that do not exist or belong
    /// to the key; [`Error::CorruptedPage`] when `old` is not a row of the table.
    pub(crate) fn encode_changed(
        &mut self,
        table: &Table,
        old: &[u8],
        columns: &[usize],
        values: &[ValueRef<'_>],
    ) -> Result<()> {
        let (schema, layout) = (&table.schema, &table.layout);
        check_columns(schema, columns, values)?;
        let header = layout.header(old).ok_or_else(|| table.mismatch(0))?;
        let changed = columns.iter().zip(values);
        let is_integer = |column: &&usize| matches!(layout.places[**column], Place::Integer { .. });
        let widths = changed.clone().filter(|(column, _)| is_integer(column));
        let integers = widths.map(|(_, value)| Width::of(*value)).fold(header.integers, Width::max);
        self.begin_from(layout, old, header.integers, integers);
        for (&column, value) in changed {
            self.set_column(layout, &schema.columns[column], column, *value, integers);
        }
        let is_variable = |column: &usize| matches!(layout.places[*column], Place::Variable { .. });
        if columns.iter().any(is_variable) {
            return self.change_variable(table, old, columns, values, integers);
        }
        // End offsets are relative to the data, so they do not change.
        self.value[0] = RowHeader { integers, ..header }.to_byte();
        self.value.extend_from_slice(&old[layout.fixed_ends[header.integers.index()]..]);
        Ok(())
    }

    /// Copies the fixed part of a row, with another integer width.
    fn begin_from(&mut self, layout: &RowLayout, old: &[u8], from: Width, to: Width) {
        self.value.clear();
        if from == to {
            self.value.extend_from_slice(&old[..layout.fixed_ends[to.index()]]);
            return;
        }
        self.value.extend_from_slice(&old[..layout.integers_start]);
        self.value.resize(layout.fixed_ends[to.index()], 0);
        for &column in &layout.integers {
            if let Place::Integer { offsets, size, .. } = layout.places[column] {
                let number = integer(old, offsets[from.index()], from.within(size));
                let target = &mut self.value[offsets[to.index()]..][..to.within(size)];
                write_integer(ValueRef::Integer(number), target);
            }
        }
    }

    /// Sets a column of the fixed part, and its null bit.
    fn set_column(
        &mut self,
        layout: &RowLayout,
        definition: &Column,
        column: usize,
        value: ValueRef<'_>,
        integers: Width,
    ) {
        let null_bit = match layout.places[column] {
            Place::Key(_) => return,
            Place::Variable { null_bit, .. } => null_bit,
            Place::Fixed { offset, size, null_bit } => {
                let target = &mut self.value[offset..offset + size];
                target.fill(0);
                write_fixed(&definition.column_type, value, target);
                null_bit
            }
            Place::Integer { offsets, size, null_bit } => {
                let offset = offsets[integers.index()];
                write_integer(value, &mut self.value[offset..][..integers.within(size)]);
                null_bit
            }
        };
        clear_null(&mut self.value, null_bit);
        set_null(&mut self.value, null_bit, value);
    }

    /// Writes the variable-size columns, some of them changed, after the fixed part.
    fn change_variable(
        &mut self,
        table: &Table,
        old: &[u8],
        columns: &[usize],
        values: &[ValueRef<'_>],
        integers: Width,
    ) -> Result<()> {
        let (schema, layout) = (&table.schema, &table.layout);
        let changed = |column: usize| columns.iter().position(|other| *other == column);
        let kept =
            |(column, index)| variable(layout, old, index).ok_or_else(|| table.mismatch(column));
        self.nested.clear();
        let mut sizes = Sizes { integers, ..Sizes::default() };
        for (index, &column) in layout.variable.iter().enumerate() {
            sizes.push(match changed(column) {
                Some(at) => self.nested.measure(&schema.columns[column].column_type, values[at]),
                None => kept((column, index))?.len(),
            });
        }
        sizes.check(layout)?;
        self.value[0] = sizes.header().to_byte();
        let mut rest = Rest::new(&mut self.value, layout, sizes);
        for (index, &column) in layout.variable.iter().enumerate() {
            rest.push(match changed(column) {
                Some(at) => self.nested.take(values[at]),
                None => kept((column, index))?,
            });
        }
        Ok(())
    }
}

/// The sizes of the values of a row.
#[derive(Debug, Clone, Copy, Default)]
struct Sizes {
    integers: Width,
    /// The total size of the variable-size columns, and the size of the last one.
    rest: usize,
    last: usize,
}

impl Sizes {
    /// Adds a variable-size column.
    #[inline]
    fn push(&mut self, size: usize) {
        self.rest += size;
        self.last = size;
    }

    /// The last stored end; the end of the last column is not stored.
    #[inline]
    fn header(self) -> RowHeader {
        RowHeader { integers: self.integers, ends: Width::of_end(self.rest - self.last) }
    }

    /// Bytes of the end offsets.
    #[inline]
    fn of_ends(self, layout: &RowLayout) -> usize {
        layout.variable.len().saturating_sub(1) * self.header().ends.within(4)
    }

    /// Checks that a row may have as many bytes.
    ///
    /// # Errors
    /// [`Error::RowTooLong`].
    #[inline]
    fn check(self, layout: &RowLayout) -> Result<()> {
        let fixed = layout.fixed_ends[self.integers.index()];
        let size = fixed + self.of_ends(layout) + self.rest;
        match size <= ROW_SIZE_MAX {
            true => Ok(()),
            false => Err(Error::RowTooLong { size, limit: ROW_SIZE_MAX }),
        }
    }
}

/// The variable part of a row, which follows the others: end offsets, and the bytes of the columns.
struct Rest<'r> {
    row: &'r mut Vec<u8>,
    /// The size of an end offset, and where the next one goes.
    end_size: usize,
    next_end: usize,
    /// The start of the bytes. What comes before it is reserved for end offsets.
    start: usize,
}

impl<'r> Rest<'r> {
    #[inline]
    fn new(row: &'r mut Vec<u8>, layout: &RowLayout, sizes: Sizes) -> Self {
        let next_end = row.len();
        let start = next_end + sizes.of_ends(layout);
        row.resize(start, 0);
        row.reserve(sizes.rest);
        Self { row, end_size: sizes.header().ends.within(4), next_end, start }
    }

    /// Writes the next column.
    #[inline]
    fn push(&mut self, column: &[u8]) {
        self.row.extend_from_slice(column);
        if self.next_end == self.start {
            return;
        }
        let end = (self.row.len() - self.start) as u64;
        copy_low_bytes(end, &mut self.row[self.next_end..][..self.end_size]);
        self.next_end += self.end_size;
    }
}

fn set_null(fixed: &mut [u8], null_bit: Option<usize>, value: ValueRef<'_>) {
    if let (Some(bit), true) = (null_bit, value.is_null()) {
        fixed[1 + bit / 8] |= 1 << (bit % 8);
    }
}

fn clear_null(fixed: &mut [u8], null_bit: Option<usize>) {
    if let Some(bit) = null_bit {
        fixed[1 + bit / 8] &= !(1 << (bit % 8));
    }
}

/// Checks that the values fit the columns, none of which is in the key.
///
/// # Errors
/// [`Error::InvalidInput`], [`Error::ValueCount`], [`Error::TypeMismatch`].
fn check_columns(schema: &TableSchema, columns: &[usize], values: &[ValueRef<'_>]) -> Result<()> {
    if values.len() != columns.len() {
        return Err(Error::ValueCount {
            what: format!("a change of table {:?}", schema.name),
            expected: columns.len(),
            found: values.len(),
        });
    }
    for (&index, &value) in columns.iter().zip(values) {
        let column = schema.columns.get(index).filter(|_| !schema.primary_key.contains(&index));
        let Some(column) = column else {
            let table = &schema.name;
            let what = format!("column {index} of table {table:?} is of the key or not there");
            return Err(Error::InvalidInput { what });
        };
        check_value(column, value)?;
    }
    Ok(())
}

fn check_count(schema: &TableSchema, values: &[ValueRef<'_>]) -> Result<()> {
    let (expected, found) = (schema.columns.len(), values.len());
    if found == expected {
        return Ok(());
    }
    Err(Error::ValueCount { what: format!("a row of table {:?}", schema.name), expected, found })
}

#[inline]
fn check_value(column: &Column, value: ValueRef<'_>) -> Result<()> {
    let fits = column.column_type.accepts(value) && (column.nullable || !value.is_null());
    if fits { Ok(()) } else { Err(mismatch(&column.name, &column.column_type, value)) }
}

#[cold]
pub(crate) fn mismatch(column: &str, column_type: &ColumnType, value: ValueRef<'_>) -> Error {
    let expected = format!("{column_type:?}").to_lowercase();
    let found = match value {
        ValueRef::Integer(number) => format!("the integer {number}"),
        other => other.kind().to_owned(),
    };
    Error::TypeMismatch { column: column.to_owned(), expected, found }
}

/// Writes an integer in the width of `out`, which must fit it; null is 0.
#[inline]
pub(super) fn write_integer(value: ValueRef<'_>, out: &mut [u8]) {
    let number = match value {
        ValueRef::Integer(number) => number,
        ValueRef::Date(days) => days.into(),
        _ => 0,
    };
    copy_low_bytes(number.cast_unsigned(), out);
}

/// Fills `out` with the low bytes of a number. Copying a slice would be a call for each.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "only the low bytes are wanted")]
fn copy_low_bytes(number: u64, out: &mut [u8]) {
    let bytes = number.to_le_bytes();
    match out.len() {
        1 => out[0] = bytes[0],
        2 => put(out, 0, [bytes[0], bytes[1]]),
        4 => put(out, 0, (number as u32).to_le_bytes()),
        8 => put(out, 0, bytes),
        size => out.copy_from_slice(&bytes[..size]),
    }
}

/// Writes a fixed-size value; null leaves zeros.
#[allow(clippy::cast_possible_truncation, reason = "accepts() has checked the range")]
pub(super) fn write_fixed(column_type: &ColumnType, value: ValueRef<'_>, out: &mut [u8]) {
    match value {
        ValueRef::Null => {}
        ValueRef::Boolean(value) => out[0] = u8::from(value),
        ValueRef::Integer(value) => copy_low_bytes(value.cast_unsigned(), out),
        ValueRef::Float(value) if *column_type == ColumnType::Float32 => {
            put(out, 0, (value as f32).to_le_bytes());
        }
        ValueRef::Float(value) => put(out, 0, value.to_le_bytes()),
        ValueRef::Decimal(value) => put(out, 0, value.to_le_bytes()),
        ValueRef::Uuid(value) => put(out, 0, value),
        ValueRef::Date(value) => put(out, 0, value.to_le_bytes()),
        ValueRef::Time(value) | ValueRef::Timestamp(value) => put(out, 0, value.to_le_bytes()),
        ValueRef::Interval(value) => {
            put(out, 0, value.months.to_le_bytes());
            put(out, 4, value.days.to_le_bytes());
            put(out, 8, value.nanoseconds.to_le_bytes());
        }
        ValueRef::Text(_) | ValueRef::Bytes(_) | ValueRef::List(_) | ValueRef::Struct(_) => {
            unreachable!("types of constant size accept no such value")
        }
    }
}
