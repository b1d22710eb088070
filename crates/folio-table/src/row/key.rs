//! Encodes the key of a row from the values of all or the first key columns.

use folio_types::{ValueRef, key};

use super::mismatch;
use crate::catalog::Table;
use crate::error::{Error, Result};

impl Table {
    /// The key of a row as it is in files and trees, from the values of its key columns, or from its
    /// number if the table has no key.
    ///
    /// # Errors
    /// [`Error::ValueCount`], [`Error::TypeMismatch`].
    pub fn encoded_key(&self, values: &[ValueRef<'_>]) -> Result<Vec<u8>> {
        encode_key(self, values)
    }
}

/// Encodes a whole key.
///
/// # Errors
/// [`Error::ValueCount`], [`Error::TypeMismatch`].
pub(crate) fn encode_key(table: &Table, values: &[ValueRef<'_>]) -> Result<Vec<u8>> {
    if values.len() != table.layout.key.len() {
        return Err(key_count(table, values.len()));
    }
    encode_key_prefix(table, values)
}

#[cold]
fn key_count(table: &Table, found: usize) -> Error {
    let what = format!("a key of table {:?}", table.schema.name);
    Error::ValueCount { what, expected: table.layout.key.len(), found }
}

/// Encodes the first columns of a key.
///
/// # Errors
/// As [`encode_key`].
pub(crate) fn encode_key_prefix(table: &Table, values: &[ValueRef<'_>]) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(16);
    encode_key_prefix_to(table, values, &mut bytes)?;
    Ok(bytes)
}

/// Appends the encoded first columns of a key.
///
/// # Errors
/// As [`encode_key`].
pub(crate) fn encode_key_prefix_to(
    table: &Table,
    values: &[ValueRef<'_>],
    bytes: &mut Vec<u8>,
) -> Result<()> {
    if values.len() > table.layout.key.len() {
        return Err(key_count(table, values.len()));
    }
    for (position, (column, &value)) in table.layout.key.iter().zip(values).enumerate() {
        if value.is_null() || !column.column_type.accepts(value) {
            let column_index = table.schema.primary_key.get(position);
            let name =
                column_index.map_or("row number", |&index| &table.schema.columns[index].name);
            return Err(mismatch(name, &column.column_type, value));
        }
        key::encode(column, value, bytes);
    }
    Ok(())
}
