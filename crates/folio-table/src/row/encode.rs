//! From values to the key and the value of a tree's cell.

use folio_types::key;
use folio_types::{Column, ColumnType, TableSchema, ValueRef};

use super::{NARROW, Place, ROW_SIZE_MAX, RowLayout, WIDE, nested, variable};
use crate::catalog::Table;
use crate::error::{Error, Result};

/// Encodes rows of one table, with memory it keeps between rows.
#[derive(Debug, Default)]
pub(crate) struct RowEncoder {
    pub(crate) key: Vec<u8>,
    pub(crate) value: Vec<u8>,
    variable: Vec<u8>,
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
        check_row(schema, values)?;
        self.key.clear();
        if layout.has_row_number {
            key::encode(&layout.key[0], ValueRef::Integer(row_number), &mut self.key);
        }
        for (column, &index) in layout.key.iter().zip(&schema.primary_key) {
            key::encode(column, values[index], &mut self.key);
        }
        self.encode_value(schema, layout, values)
    }

    fn encode_value(
        &mut self,
        schema: &TableSchema,
        layout: &RowLayout,
        values: &[ValueRef<'_>],
    ) -> Result<()> {
        self.value.clear();
        self.value.resize(layout.fixed_end, 0);
        self.variable.clear();
        self.ends.clear();
        for ((place, value), column) in layout.places.iter().zip(values).zip(&schema.columns) {
            match *place {
                Place::Key(_) => {}
                Place::Fixed { offset, size, null_bit } => {
                    self.set_null(null_bit, *value);
                    let target = &mut self.value[offset..offset + size];
                    write_fixed(&column.column_type, *value, target);
                }
                Place::Variable { null_bit, .. } => {
                    self.set_null(null_bit, *value);
                    nested::write_variable(&column.column_type, *value, &mut self.variable);
                    self.ends.push(self.variable.len());
                }
            }
        }
        self.finish(layout)
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
        let fixed = old.get(..layout.fixed_end).ok_or_else(|| table.misfit(0))?;
        self.value.clear();
        let is_fixed = |column: &usize| matches!(layout.places[*column], Place::Fixed { .. });
        if columns.iter().all(is_fixed) {
            self.value.extend_from_slice(old);
        } else {
            self.value.extend_from_slice(fixed);
        }
        for (&column, value) in columns.iter().zip(values) {
            let (Place::Fixed { null_bit, .. } | Place::Variable { null_bit, .. }) =
                layout.places[column]
            else {
                continue;
            };
            self.clear_null(null_bit);
            self.set_null(null_bit, *value);
            if let Place::Fixed { offset, size, .. } = layout.places[column] {
                let target = &mut self.value[offset..offset + size];
                target.fill(0);
                write_fixed(&schema.columns[column].column_type, *value, target);
            }
        }
        if self.value.len() > layout.fixed_end || layout.variable_count == 0 {
            return Ok(());
        }
        self.variable.clear();
        self.ends.clear();
        for (column, place) in layout.places.iter().enumerate() {
            let Place::Variable { index, .. } = *place else { continue };
            match columns.iter().position(|changed| *changed == column) {
                Some(position) => {
                    let column_type = &schema.columns[column].column_type;
                    nested::write_variable(column_type, values[position], &mut self.variable);
                }
                None => {
                    let bytes = variable(layout, old, index).ok_or_else(|| table.misfit(column))?;
                    self.variable.extend_from_slice(bytes);
                }
            }
            self.ends.push(self.variable.len());
        }
        self.finish(layout)
    }

    fn finish(&mut self, layout: &RowLayout) -> Result<()> {
        let size = layout.fixed_end + 4 * self.ends.len() + self.variable.len();
        if size > ROW_SIZE_MAX {
            return Err(Error::RowTooLong { size, limit: ROW_SIZE_MAX });
        }
        let is_narrow = self.variable.len() <= usize::from(u16::MAX);
        self.value[0] = if is_narrow { NARROW } else { WIDE };
        for &end in &self.ends {
            if is_narrow {
                self.value.extend_from_slice(&(end as u16).to_le_bytes());
            } else {
                self.value.extend_from_slice(&(end as u32).to_le_bytes());
            }
        }
        self.value.extend_from_slice(&self.variable);
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

/// Whether the values fit the table's columns.
///
/// # Errors
/// [`Error::ValueCount`], [`Error::TypeMismatch`].
pub(crate) fn check_row(schema: &TableSchema, values: &[ValueRef<'_>]) -> Result<()> {
    if values.len() != schema.columns.len() {
        return Err(Error::ValueCount {
            what: format!("a row of table {:?}", schema.name),
            expected: schema.columns.len(),
            found: values.len(),
        });
    }
    schema.columns.iter().zip(values).try_for_each(|(column, &value)| check_value(column, value))
}

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
