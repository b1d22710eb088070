//! Reading rows, for snapshots and transactions alike.

use std::sync::Arc;

use folio_types::{Value, ValueRef, key};

use crate::btree::Cursor;
use crate::catalog::Table;
use crate::error::{Error, Result};
use crate::page::node::{Node, cell_cost, cell_cost_max};
use crate::row::{Row, RowBytes, chained, decode_column, mismatch};
use crate::shared::Pages;

/// The row with a key.
///
/// # Errors
/// [`Error::ValueCount`] and [`Error::TypeMismatch`] for the key; what the pages say.
pub(crate) fn get<'s>(
    pages: &impl Pages<'s>,
    table: &Arc<Table>,
    key: &[ValueRef<'_>],
) -> Result<Option<Row<'s>>> {
    let key = encode_key(table, key)?;
    let Some((page, range)) = table.tree().get(pages, &key)? else { return Ok(None) };
    let bytes = match chained::load(pages, table.tree(), &page[range.clone()])? {
        Some(whole) => RowBytes::Own(whole),
        None => RowBytes::InPage(page, range),
    };
    Ok(Some(Row::new(Arc::clone(table), key, bytes)))
}

/// The first row in the order of the key, or the last.
///
/// # Errors
/// What the pages say.
pub(crate) fn first<'s>(
    pages: &impl Pages<'s>,
    table: &Arc<Table>,
    reverse: bool,
) -> Result<Option<Row<'s>>> {
    let mut cursor = match reverse {
        false => Cursor::forward(table.tree(), pages, None)?,
        true => Cursor::backward(table.tree(), pages, None)?,
    };
    while let Some(leaf) = cursor.upcoming() {
        let page = cursor.page_again(pages, leaf)?;
        let node = Node::new(&page);
        if let Some(last) = node.len().checked_sub(1) {
            let cell = if reverse { last } else { 0 };
            let (key, range) = (node.key(cell).to_vec(), node.value_range(cell));
            let bytes = match chained::load(pages, table.tree(), &page[range.clone()])? {
                Some(whole) => RowBytes::Own(whole),
                None => RowBytes::InPage(page, range),
            };
            return Ok(Some(Row::new(Arc::clone(table), key, bytes)));
        }
        cursor.next_page(pages)?;
    }
    Ok(None)
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

/// The same behind what is there.
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

/// All values of a row as stored.
///
/// # Errors
/// [`Error::CorruptedPage`] when it is not what the table says.
pub(crate) fn decode_row(table: &Table, key: &[u8], value: &[u8]) -> Result<Vec<Value>> {
    (0..table.schema.columns.len()).map(|column| decode_column(table, column, key, value)).collect()
}

/// Refuses a key that fits no page. A reference to a chain must fit beside it.
///
/// # Errors
/// [`Error::KeyTooLong`].
pub(crate) fn check_key_size(page_size: usize, key: &[u8]) -> Result<()> {
    let (size, limit) = (key.len(), key_size_max(page_size));
    if size > limit {
        return Err(Error::KeyTooLong { size, limit });
    }
    Ok(())
}

/// The longest key that a page takes, with room for a small value.
pub(crate) fn key_size_max(page_size: usize) -> usize {
    cell_cost_max(page_size) - cell_cost(0, 16)
}
