//! Exact row counts, updated by every transaction, so that counting is free; and the counters of
//! identity columns.
//!
//! The statistics are a tree. The key is a table's number (4 bytes, big endian); the value is a 0
//! and the count (u64). It changes with the rows, in the same transaction, so every snapshot has
//! its own exact count. The key of a counter is the table's number and the column's position
//! (2 bytes, big endian); the value is a 0 and the next number (i64).

use crate::btree::Tree;
use crate::edit::Editor;
use crate::error::Result;
use crate::ids::TreeId;
use crate::pager::Pages;
use crate::state::State;

/// The number of rows of a table.
///
/// # Errors
/// Errors of the pages.
pub(crate) fn row_count<'s>(pages: &impl Pages<'s>, state: &State, table: TreeId) -> Result<u64> {
    let count = number(pages, state, &table.0.to_be_bytes())?;
    Ok(count.map_or(0, i64::cast_unsigned))
}

/// Adds to the count of a table.
///
/// # Errors
/// Errors of the pages.
pub(crate) fn add(editor: &mut Editor<'_, '_>, table: TreeId, change: i64) -> Result<()> {
    let count = row_count(editor, &editor.edit.state, table)?.saturating_add_signed(change);
    set_number(editor, &table.0.to_be_bytes(), count.cast_signed())
}

/// Removes the count of a dropped table.
///
/// # Errors
/// Errors of the pages.
pub(crate) fn remove(editor: &mut Editor<'_, '_>, table: TreeId) -> Result<()> {
    editor.edit.row_counts.remove(&table);
    let tree = root(editor)?;
    tree.delete(editor, &table.0.to_be_bytes())?;
    Ok(())
}

/// The key of a counter.
pub(crate) fn counter_key(table: TreeId, column: u16) -> [u8; 6] {
    let mut key = [0; 6];
    key[..4].copy_from_slice(&table.0.to_be_bytes());
    key[4..].copy_from_slice(&column.to_be_bytes());
    key
}

/// The table and the column of a counter's key; `None` for other keys.
pub(crate) fn identity_of_key(key: &[u8]) -> Option<(TreeId, usize)> {
    let (table, column) = key.split_first_chunk::<4>()?;
    let column = u16::from_be_bytes(column.try_into().ok()?);
    Some((TreeId(u32::from_be_bytes(*table)), column.into()))
}

/// The counters of a table: columns, and their next numbers.
///
/// # Errors
/// Errors of the pages.
pub(crate) fn identities<'s>(
    pages: &impl Pages<'s>,
    state: &State,
    table: TreeId,
    columns: usize,
) -> Result<Vec<(usize, i64)>> {
    let mut found = Vec::new();
    for column in 0..columns {
        let Ok(position) = u16::try_from(column) else { break };
        let next = number(pages, state, &counter_key(table, position))?;
        found.extend(next.map(|next| (column, next)));
    }
    Ok(found)
}

/// The number of a key, which is a count or a counter's next number; `None` before the first.
///
/// # Errors
/// Errors of the pages.
pub(crate) fn number<'s>(pages: &impl Pages<'s>, state: &State, key: &[u8]) -> Result<Option<i64>> {
    let root = state.statistics_root;
    if !root.is_some() {
        return Ok(None);
    }
    let tree = Tree { id: TreeId::STATISTICS, root };
    let found = tree.get(pages, key)?;
    let read = |value: &[u8]| Some(i64::from_le_bytes(value.get(1..9)?.try_into().ok()?));
    Ok(found.and_then(|(page, range)| read(&page[range])))
}

/// Sets the number of a key.
///
/// # Errors
/// Errors of the pages.
pub(crate) fn set_number(editor: &mut Editor<'_, '_>, key: &[u8], number: i64) -> Result<()> {
    let tree = root(editor)?;
    let mut value = vec![0];
    value.extend_from_slice(&number.to_le_bytes());
    if !tree.replace(editor, key, &value)? {
        tree.insert(editor, key, &value)?;
    }
    Ok(())
}

pub(crate) fn root(editor: &mut Editor<'_, '_>) -> Result<Tree> {
    let root = editor.edit.state.statistics_root;
    if root.is_some() {
        return Ok(Tree { id: TreeId::STATISTICS, root });
    }
    let tree = Tree::create(editor, TreeId::STATISTICS)?;
    editor.edit.state.statistics_root = tree.root;
    Ok(tree)
}
