//! Conditions that are checked before a row is decoded.
//!
//! Comparing one column with one value needs only a few bytes of the row in its page. Rows that
//! fail cost nothing else; those that pass are decoded. The caller evaluates all other conditions
//! on the batch.

use folio_types::key::{self, KeyColumn};
use folio_types::{ColumnType, Comparison, Value, ValueRef};

use crate::catalog::Table;
use crate::error::{Error, Result};
use crate::layout::{Place, integer};
use crate::page::key::Key;
use crate::row::{decode_segment, fixed_value, is_null, mismatch, variable_from};

/// A condition on one column. Null satisfies only [`Comparison::Distinct`]. Values are in key
/// order: text by its bytes, NaN after all other numbers and equal to itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Condition<'v> {
    /// The column.
    pub column: usize,
    /// How it compares
    pub comparison: Comparison,
    /// with this value, of the column's type and not null.
    pub value: ValueRef<'v>,
}

/// A condition prepared for the rows of a table.
#[derive(Debug, Clone)]
pub(super) struct RowTest {
    column: KeyColumn,
    place: Place,
    comparison: Comparison,
    value: Value,
    /// The value, for integers and times.
    number: i64,
    /// The bytes of a text for equality; otherwise the value in the encoding that sorts.
    bytes: Vec<u8>,
    /// The first eight of these bytes as a number, and the mask of its valid bits.
    first: u64,
    first_mask: u64,
    is_text: bool,
}

impl RowTest {
    /// # Errors
    /// [`Error::InvalidInput`] for columns that do not exist or have no order,
    /// [`Error::TypeMismatch`].
    pub(super) fn new(table: &Table, condition: &Condition<'_>) -> Result<Self> {
        let Condition { column: index, comparison, value } = *condition;
        let column =
            table.schema.columns.get(index).filter(|column| column.column_type.is_ordered());
        let Some(column) = column else {
            let what =
                format!("table {:?} has no column {index} that can be compared", table.schema.name);
            return Err(Error::InvalidInput { what });
        };
        if value.is_null() || !column.column_type.accepts(value) {
            return Err(mismatch(&column.name, &column.column_type, value));
        }
        let is_text = matches!(column.column_type, ColumnType::Text | ColumnType::Binary);
        let column = KeyColumn {
            column_type: column.column_type.clone(),
            nullable: false,
            descending: false,
            compact: false,
        };
        let mut bytes = Vec::new();
        match value {
            ValueRef::Text(text) => bytes.extend_from_slice(text.as_bytes()),
            ValueRef::Bytes(value) => bytes.extend_from_slice(value),
            value => key::encode(&column, value, &mut bytes),
        }
        let place = table.layout.places[index];
        let number = match value {
            ValueRef::Integer(number) | ValueRef::Time(number) | ValueRef::Timestamp(number) => {
                number
            }
            ValueRef::Date(days) => days.into(),
            _ => 0,
        };
        let mut first = [0; 8];
        let first_size = bytes.len().min(first.len());
        first[..first_size].copy_from_slice(&bytes[..first_size]);
        let mut mask = [0; 8];
        mask[..first_size].fill(u8::MAX);
        Ok(Self {
            column,
            place,
            comparison,
            value: value.to_value(),
            number,
            bytes,
            first: u64::from_le_bytes(first),
            first_mask: u64::from_le_bytes(mask),
            is_text,
        })
    }

    /// Whether a row satisfies the condition; `None` for an invalid row.
    #[inline]
    fn holds(
        &self,
        table: &Table,
        key: Key<'_>,
        value: &[u8],
        whole: &mut Vec<u8>,
    ) -> Option<bool> {
        let layout = &table.layout;
        match self.place {
            Place::Variable { index, null_bit } if self.is_text => {
                let header = layout.header(value)?;
                if is_null(value, null_bit) {
                    return Some(self.comparison == Comparison::Distinct);
                }
                let (from, size) = variable_from(layout, value, header, index)?;
                Some(match self.comparison {
                    Comparison::Equal | Comparison::NotDistinct => self.equals(from, size),
                    comparison => comparison.holds(from[..size].cmp(&self.bytes)),
                })
            }
            Place::Fixed { offset, size, null_bit } => {
                let found = value.get(offset..offset + size)?;
                if is_null(value, null_bit) {
                    return Some(self.comparison == Comparison::Distinct);
                }
                self.compare_fixed(found)
            }
            Place::Integer { offsets, size, null_bit } => {
                let width = layout.header(value)?.integers;
                if is_null(value, null_bit) {
                    return Some(self.comparison == Comparison::Distinct);
                }
                let found = integer(value, offsets[width.index()], width.within(size));
                Some(self.comparison.holds(found.cmp(&self.number)))
            }
            Place::Key(position) => {
                let found = decode_segment(&layout.key, position, key.bytes(whole))?;
                self.compare_encoded(found.as_ref())
            }
            Place::Variable { .. } => None,
        }
    }

    /// Whether the text of a given size at the start of `from` is the wanted one. Bytes after it
    /// may be read too. So size and first bytes are compared in one step, which fails for most
    /// rows. Two separate branches would each be mispredicted for a part of them.
    #[inline]
    fn equals(&self, from: &[u8], size: usize) -> bool {
        if let Some(eight) = from.first_chunk() {
            let differing = (u64::from_le_bytes(*eight) ^ self.first) & self.first_mask;
            if differing | (size ^ self.bytes.len()) as u64 != 0 {
                return false;
            }
        }
        from[..size] == self.bytes
    }

    #[inline]
    fn compare_fixed(&self, found: &[u8]) -> Option<bool> {
        if let (Value::Float(wanted), Ok(bytes)) = (&self.value, found.try_into()) {
            let found = f64::from_le_bytes(bytes);
            // NaN is equal to itself and after all other numbers.
            let ordering =
                found.partial_cmp(wanted).unwrap_or_else(|| found.is_nan().cmp(&wanted.is_nan()));
            return Some(self.comparison.holds(ordering));
        }
        if let Value::Time(_) | Value::Timestamp(_) = self.value {
            let found = i64::from_le_bytes(found.try_into().ok()?);
            return Some(self.comparison.holds(found.cmp(&self.number)));
        }
        let value = fixed_value(&self.column.column_type, found)?;
        self.compare_encoded(value.as_ref())
    }

    fn compare_encoded(&self, found: ValueRef<'_>) -> Option<bool> {
        let ordering = match found {
            ValueRef::Text(text) => text.as_bytes().cmp(&self.bytes),
            ValueRef::Bytes(bytes) => bytes.cmp(&self.bytes),
            found => {
                let mut bytes = Vec::with_capacity(16);
                key::encode(&self.column, found, &mut bytes);
                bytes.cmp(&self.bytes)
            }
        };
        Some(self.comparison.holds(ordering))
    }
}

/// Whether a row satisfies all conditions. Keys are assembled in `whole`.
///
/// # Errors
/// [`Error::CorruptedPage`] for an invalid row.
#[inline]
pub(super) fn all_hold(
    tests: &[RowTest],
    table: &Table,
    key: Key<'_>,
    value: &[u8],
    whole: &mut Vec<u8>,
) -> Result<bool> {
    for test in tests {
        match test.holds(table, key, value, whole) {
            Some(true) => {}
            Some(false) => return Ok(false),
            None => return Err(table.mismatch(0)),
        }
    }
    Ok(true)
}
