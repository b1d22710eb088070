//! From values to the key and the value of a tree's cell.

use folio_types::key;
use folio_types::{Column, ColumnType, TableSchema, ValueRef};

use super::{Form, Place, ROW_SIZE_MAX, RowLayout, Width, integer, nested, variable};
use crate::catalog::Table;
use crate::error::{Error, Result};

/// Encodes rows of one table, with memory it keeps between rows.
#[derive(Debug, Default)]
pub(crate) struct RowEncoder {
    pub(crate) key: Vec<u8>,
    pub(crate) value: Vec<u8>,
    /// Where the ends stand in the value, and the columns without constant size behind them.
    slots: usize,
    data: usize,
    /// Where each of those ends, from the beginning of the first.
    ends: Vec<usize>,
}

impl RowEncoder {
    /// Encodes a row. Tables without a key of their own take `row_number`.
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
        self.encode_value(schema, layout, values)?;
        self.key.clear();
        if layout.has_row_number {
            key::encode(&layout.key[0], ValueRef::Integer(row_number), &mut self.key);
        }
        for (column, &index) in layout.key.iter().zip(&schema.primary_key) {
            key::encode(column, values[index], &mut self.key);
        }
        Ok(())
    }

    /// Checks all values, those of the key too, and encodes the others.
    fn encode_value(
        &mut self,
        schema: &TableSchema,
        layout: &RowLayout,
        values: &[ValueRef<'_>],
    ) -> Result<()> {
        let integers = layout.integers.iter().map(|&column| Width::of(values[column]));
        let integers = integers.max().unwrap_or(Width::LEAST);
        self.value.clear();
        self.begin_variable(layout, layout.fixed_ends[integers.index()]);
        for ((place, value), column) in layout.places.iter().zip(values).zip(&schema.columns) {
            check_value(column, *value)?;
            match place {
                Place::Key(_) => {}
                Place::Variable { null_bit, .. } => {
                    self.set_null(*null_bit, *value);
                    nested::write_variable(&column.column_type, *value, &mut self.value);
                    self.end_variable();
                }
                Place::Integer { offsets, size, null_bit } => {
                    self.set_null(*null_bit, *value);
                    let offset = offsets[integers.index()];
                    write_integer(*value, &mut self.value[offset..][..integers.within(*size)]);
                }
                Place::Fixed { offset, size, null_bit } => {
                    self.set_null(*null_bit, *value);
                    write_fixed(&column.column_type, *value, &mut self.value[*offset..][..*size]);
                }
            }
        }
        self.finish(layout, integers)
    }

    /// Encodes the value of a row of which some columns change; the others stay as
    /// `old`, the value before, has them.
    ///
    /// # Errors
    /// As [`RowEncoder::encode`]; [`Error::InvalidInput`] for columns that do not exist
    /// or belong to the key; [`Error::CorruptedPage`] when `old` is no row of the table.
    pub(crate) fn encode_changed(
        &mut self,
        table: &Table,
        old: &[u8],
        columns: &[usize],
        values: &[ValueRef<'_>],
    ) -> Result<()> {
        let (schema, layout) = (&table.schema, &table.layout);
        check_columns(schema, columns, values)?;
        let form = layout.form(old).ok_or_else(|| table.misfit(0))?;
        let changed = columns.iter().zip(values);
        let is_integer = |column: &&usize| matches!(layout.places[**column], Place::Integer { .. });
        let widths = changed.clone().filter(|(column, _)| is_integer(column));
        let integers = widths.map(|(_, value)| Width::of(*value)).fold(form.integers, Width::max);
        self.begin_from(layout, old, form.integers, integers);
        for (&column, value) in changed {
            self.set_column(layout, &schema.columns[column], column, *value, integers);
        }
        let is_variable = |column: &usize| matches!(layout.places[*column], Place::Variable { .. });
        if columns.iter().any(is_variable) {
            return self.change_variable(table, old, columns, values, integers);
        }
        // Ends count from behind them, and so stay what they are.
        self.value[0] = Form { integers, ..form }.to_byte();
        self.value.extend_from_slice(&old[layout.fixed_ends[form.integers.index()]..]);
        Ok(())
    }

    /// The fixed part of a row, with integers of another width.
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

    /// Gives a column of the fixed part another value; others are null or not.
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
        self.clear_null(null_bit);
        self.set_null(null_bit, value);
    }

    /// Puts together the columns without constant size, of which some change.
    fn change_variable(
        &mut self,
        table: &Table,
        old: &[u8],
        columns: &[usize],
        values: &[ValueRef<'_>],
        integers: Width,
    ) -> Result<()> {
        let (schema, layout) = (&table.schema, &table.layout);
        self.begin_variable(layout, self.value.len());
        for (column, place) in layout.places.iter().enumerate() {
            let Place::Variable { index, .. } = *place else { continue };
            match columns.iter().position(|changed| *changed == column) {
                Some(position) => {
                    let column_type = &schema.columns[column].column_type;
                    nested::write_variable(column_type, values[position], &mut self.value);
                }
                None => {
                    let bytes = variable(layout, old, index).ok_or_else(|| table.misfit(column))?;
                    self.value.extend_from_slice(bytes);
                }
            }
            self.end_variable();
        }
        self.finish(layout, integers)
    }

    /// Begins the columns without constant size, behind room for a fixed part of a size and
    /// for their ends, which mostly take a byte each; the last is not stored.
    fn begin_variable(&mut self, layout: &RowLayout, fixed_size: usize) {
        let count = layout.variable_count.saturating_sub(1);
        self.ends.clear();
        (self.slots, self.data) = (fixed_size, fixed_size + count);
        self.value.resize(self.data, 0);
    }

    /// Ends one of them.
    #[inline]
    fn end_variable(&mut self) {
        let end = self.value.len() - self.data;
        let slot = self.slots + self.ends.len();
        // Where a byte is not enough for all, they are written anew.
        if slot < self.data {
            self.value[slot] = end as u8;
        }
        self.ends.push(end);
    }

    /// Writes form and ends of a row whose columns all stand there.
    fn finish(&mut self, layout: &RowLayout, integers: Width) -> Result<()> {
        debug_assert_eq!(self.slots, layout.fixed_ends[integers.index()]);
        self.ends.pop();
        let (count, size) = (self.ends.len(), self.value.len());
        if size + 3 * count > ROW_SIZE_MAX {
            return Err(Error::RowTooLong { size, limit: ROW_SIZE_MAX });
        }
        let ends = Width::of_end(self.ends.last().copied().unwrap_or(0));
        self.value[0] = Form { integers, ends }.to_byte();
        if ends == Width::LEAST {
            return Ok(());
        }
        let wider_by = (ends.within(4) - 1) * count;
        self.value.resize(size + wider_by, 0);
        self.value.copy_within(self.data..size, self.data + wider_by);
        let slots = self.value[self.slots..].chunks_mut(ends.within(4)).zip(&self.ends);
        for (slot, end) in slots {
            slot.copy_from_slice(&end.to_le_bytes()[..slot.len()]);
        }
        Ok(())
    }

    fn set_null(&mut self, null_bit: Option<usize>, value: ValueRef<'_>) {
        if let (Some(bit), true) = (null_bit, value.is_null()) {
            self.value[1 + bit / 8] |= 1 << (bit % 8);
        }
    }

    fn clear_null(&mut self, null_bit: Option<usize>) {
        if let Some(bit) = null_bit {
            self.value[1 + bit / 8] &= !(1 << (bit % 8));
        }
    }
}

/// Whether the values fit the columns, which are not of the key.
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

/// Writes an integer in the width of `out`, which holds it; null is 0.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "the width is that of the number")]
pub(super) fn write_integer(value: ValueRef<'_>, out: &mut [u8]) {
    let number = match value {
        ValueRef::Integer(number) => number,
        ValueRef::Date(days) => days.into(),
        _ => 0,
    };
    match out.len() {
        1 => out[0] = number as u8,
        2 => out.copy_from_slice(&(number as i16).to_le_bytes()),
        4 => out.copy_from_slice(&(number as i32).to_le_bytes()),
        _ => out.copy_from_slice(&number.to_le_bytes()[..out.len()]),
    }
}

/// Writes a value of constant size; null leaves zeros.
#[allow(clippy::cast_possible_truncation, reason = "accepts() has checked the range")]
pub(super) fn write_fixed(column_type: &ColumnType, value: ValueRef<'_>, out: &mut [u8]) {
    match value {
        ValueRef::Null => {}
        ValueRef::Boolean(value) => out[0] = u8::from(value),
        ValueRef::Integer(value) => out.copy_from_slice(&value.to_le_bytes()[..out.len()]),
        ValueRef::Float(value) if *column_type == ColumnType::Float32 => {
            out.copy_from_slice(&(value as f32).to_le_bytes());
        }
        ValueRef::Float(value) => out.copy_from_slice(&value.to_le_bytes()),
        ValueRef::Decimal(value) => out.copy_from_slice(&value.to_le_bytes()),
        ValueRef::Uuid(value) => out.copy_from_slice(&value),
        ValueRef::Date(value) => out.copy_from_slice(&value.to_le_bytes()),
        ValueRef::Time(value) | ValueRef::Timestamp(value) => {
            out.copy_from_slice(&value.to_le_bytes());
        }
        ValueRef::Interval(value) => {
            out[..4].copy_from_slice(&value.months.to_le_bytes());
            out[4..8].copy_from_slice(&value.days.to_le_bytes());
            out[8..].copy_from_slice(&value.nanoseconds.to_le_bytes());
        }
        ValueRef::Text(_) | ValueRef::Bytes(_) | ValueRef::List(_) | ValueRef::Struct(_) => {
            unreachable!("types of constant size accept no such value")
        }
    }
}
