//! Keeps secondary indexes consistent with their table.
//!
//! An index is a tree whose keys are the indexed columns followed by the rest of the row's key, and
//! whose values are empty. So entries with equal columns are adjacent, and checking uniqueness only
//! needs the neighbours.

use folio_types::{Value, ValueRef, key};

use crate::catalog::{Index, Table};
use crate::edit::Editor;
use crate::error::{Error, Result};
use crate::row::decode_column;

/// The encoded indexed columns of a row, and whether one of them is null.
pub(crate) fn prefix(index: &Index, values: &[ValueRef<'_>]) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    let has_null = push_prefix(index, values, &mut bytes);
    (bytes, has_null)
}

/// Appends them to other bytes.
pub(super) fn push_prefix(index: &Index, values: &[ValueRef<'_>], bytes: &mut Vec<u8>) -> bool {
    let mut has_null = false;
    for (column, &(position, _)) in index.key.iter().zip(&index.columns) {
        has_null |= values[position].is_null();
        key::encode(column, values[position], bytes);
    }
    has_null
}

/// The same, from a stored row.
pub(super) fn stored_prefix(
    table: &Table,
    index: &Index,
    row_key: &[u8],
    value: &[u8],
) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for (column, &(position, _)) in index.key.iter().zip(&index.columns) {
        let value: Value = decode_column(table, position, row_key, value)?;
        key::encode(column, value.as_ref(), &mut bytes);
    }
    Ok(bytes)
}

/// The entry of a row.
pub(super) fn entry(index: &Index, values: &[ValueRef<'_>], row_key: &[u8]) -> Vec<u8> {
    let mut entry = prefix(index, values).0;
    index.complete(&mut entry, row_key);
    entry
}

/// The entry of a stored row.
pub(crate) fn stored(
    table: &Table,
    index: &Index,
    row_key: &[u8],
    value: &[u8],
) -> Result<Vec<u8>> {
    let mut entry = stored_prefix(table, index, row_key, value)?;
    index.complete(&mut entry, row_key);
    Ok(entry)
}

/// Refuses a row that is equal to another one in a unique index.
///
/// # Errors
/// [`Error::Conflict`]; errors of the pages.
pub(super) fn check_unique(
    editor: &Editor<'_, '_>,
    index: &Index,
    values: &[ValueRef<'_>],
    own_key: Option<&[u8]>,
) -> Result<()> {
    if !index.unique {
        return Ok(());
    }
    let (prefix, has_null) = prefix(index, values);
    if has_null {
        return Ok(());
    }
    match index.tree().first_with_prefix(editor, &prefix)? {
        Some(entry) if own_key.is_none() || index.row_key(&entry, &mut Vec::new()) != own_key => {
            Err(Error::Conflict { constraint: index.name.clone() })
        }
        _ => Ok(()),
    }
}

/// Adds the entry of a row.
///
/// # Errors
/// Errors of the pages.
pub(super) fn add(
    editor: &mut Editor<'_, '_>,
    index: &Index,
    values: &[ValueRef<'_>],
    row_key: &[u8],
) -> Result<()> {
    index.tree().insert(editor, &entry(index, values, row_key), &[])?;
    Ok(())
}

/// Removes the entry of a row.
///
/// # Errors
/// Errors of the pages; [`Error::CorruptedPage`] when the entry does not exist.
pub(super) fn remove(
    editor: &mut Editor<'_, '_>,
    table: &Table,
    index: &Index,
    row_key: &[u8],
    value: &[u8],
) -> Result<()> {
    let entry = stored(table, index, row_key, value)?;
    if index.tree().delete(editor, &entry)? {
        return Ok(());
    }
    let problem = format!("index {:?} has no entry for a row of its table", index.name);
    Err(Error::page(index.root, problem))
}
