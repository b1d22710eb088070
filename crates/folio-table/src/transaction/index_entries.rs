//! Keeping secondary indexes in step with their table.
//!
//! An index is a tree whose keys are the indexed columns followed by the row's
//! key, and whose values are empty. Equal columns so stand side by side, and
//! uniqueness is a look at the neighbour.

use folio_types::{Value, ValueRef, key};

use crate::btree::Cursor;
use crate::catalog::{Index, Table};
use crate::error::{Error, Result};
use crate::page::node::Node;
use crate::row::decode_column;
use crate::shared::Pages;
use crate::transaction::edit::Editor;

/// The indexed columns of a row, encoded; whether one of them is null.
pub(crate) fn prefix(index: &Index, values: &[ValueRef<'_>]) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    let mut has_null = false;
    for (column, &(position, _)) in index.key.iter().zip(&index.columns) {
        has_null |= values[position].is_null();
        key::encode(column, values[position], &mut bytes);
    }
    (bytes, has_null)
}

/// The same from a row as stored.
pub(crate) fn stored_prefix(
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

/// Refuses a row that is equal to another one in a unique index.
///
/// # Errors
/// [`Error::Conflict`]; what the pages say.
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
    match first_with_prefix(editor, index, &prefix)? {
        Some(key) if Some(&key[prefix.len()..]) != own_key => {
            Err(Error::Conflict { constraint: index.name.clone() })
        }
        _ => Ok(()),
    }
}

/// Refuses an entry whose indexed columns are there already.
///
/// # Errors
/// [`Error::Conflict`]; what the pages say.
pub(super) fn refuse_prefix(editor: &Editor<'_, '_>, index: &Index, prefix: &[u8]) -> Result<()> {
    match first_with_prefix(editor, index, prefix)? {
        Some(_) => Err(Error::Conflict { constraint: index.name.clone() }),
        None => Ok(()),
    }
}

fn first_with_prefix<'s>(
    pages: &impl Pages<'s>,
    index: &Index,
    prefix: &[u8],
) -> Result<Option<Vec<u8>>> {
    let mut cursor = Cursor::forward(index.tree(), pages, Some(prefix))?;
    while let Some(leaf) = cursor.next_leaf(pages)? {
        let node = Node::new(&leaf);
        let at = node.search(prefix).unwrap_or_else(|at| at);
        if at < node.len() {
            let key = node.key(at);
            return Ok(key.starts_with(prefix).then(|| key.to_vec()));
        }
    }
    Ok(None)
}

/// Enters a row.
///
/// # Errors
/// What the pages say.
pub(super) fn add(
    editor: &mut Editor<'_, '_>,
    index: &Index,
    values: &[ValueRef<'_>],
    row_key: &[u8],
) -> Result<()> {
    let mut entry = prefix(index, values).0;
    entry.extend_from_slice(row_key);
    index.tree().insert(editor, &entry, &[])?;
    Ok(())
}

/// Takes a row out.
///
/// # Errors
/// What the pages say; [`Error::CorruptedPage`] when it is not there.
pub(super) fn remove(
    editor: &mut Editor<'_, '_>,
    table: &Table,
    index: &Index,
    row_key: &[u8],
    value: &[u8],
) -> Result<()> {
    let mut entry = stored_prefix(table, index, row_key, value)?;
    entry.extend_from_slice(row_key);
    if index.tree().delete(editor, &entry)? {
        return Ok(());
    }
    let problem = format!("index {:?} has no entry for a row of its table", index.name);
    Err(Error::page(index.root, problem))
}
