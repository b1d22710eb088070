//! Identity counters: unique numbers for generated columns.
//!
//! A table has one counter per column, in the statistics tree. The key is the table's number and
//! the column's position (2 bytes, big endian); the value is a 0 and the next number (i64).
//! Counters are rolled back with the transaction.

use std::sync::Arc;

use super::Transaction;
use crate::btree::Tree;
use crate::catalog::Table;
use crate::edit::Editor;
use crate::error::{Error, Result};
use crate::ids::TreeId;
use crate::pager::Pages;
use crate::state::State;
use crate::statistics;

impl Transaction {
    /// Takes `count` numbers for a column and returns the first. They begin at 1.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] when there are none left, or no such column; errors of the pages.
    pub fn take_identities(
        &mut self,
        table: &Arc<Table>,
        column: usize,
        count: u32,
    ) -> Result<i64> {
        let key = self.identity_key(table, column)?;
        let first = self.change(|editor| match next(editor, &key)? {
            first if first.checked_add(i64::from(count)).is_none() => Ok(None),
            first => {
                set(editor, &key, first + i64::from(count))?;
                Ok(Some(first))
            }
        })?;
        first.ok_or_else(|| Error::InvalidInput {
            what: format!("table {:?} has used all its row numbers", table.schema.name),
        })
    }

    /// Sets the next number.
    ///
    /// # Errors
    /// As [`Transaction::take_identities`].
    pub fn set_identity(&mut self, table: &Arc<Table>, column: usize, next: i64) -> Result<()> {
        let key = self.identity_key(table, column)?;
        self.change(|editor| set(editor, &key, next))
    }

    fn identity_key(&self, table: &Arc<Table>, column: usize) -> Result<[u8; 6]> {
        let table = self.current(table)?;
        let is_there = column < table.schema.columns.len();
        match u16::try_from(column) {
            Ok(column) if is_there => Ok(key(table.id, column)),
            _ => Err(Error::InvalidInput {
                what: format!("table {:?} has no column {column}", table.schema.name),
            }),
        }
    }
}

fn key(table: TreeId, column: u16) -> [u8; 6] {
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
    table: &Table,
) -> Result<Vec<(usize, i64)>> {
    let mut found = Vec::new();
    for column in 0..table.schema.columns.len() {
        let Ok(position) = u16::try_from(column) else { break };
        let next = counter(pages, state, &key(table.id, position))?;
        found.extend(next.map(|next| (column, next)));
    }
    Ok(found)
}

fn counter<'s>(pages: &impl Pages<'s>, state: &State, key: &[u8]) -> Result<Option<i64>> {
    let root = state.statistics_root;
    if !root.is_some() {
        return Ok(None);
    }
    let tree = Tree { id: TreeId::STATISTICS, root };
    let found = tree.get(pages, key)?;
    let read = |value: &[u8]| Some(i64::from_le_bytes(value.get(1..9)?.try_into().ok()?));
    Ok(found.and_then(|(page, range)| read(&page[range])))
}

fn next(editor: &Editor<'_, '_>, key: &[u8]) -> Result<i64> {
    Ok(counter(editor, &editor.edit.state, key)?.unwrap_or(1))
}

fn set(editor: &mut Editor<'_, '_>, key: &[u8], next: i64) -> Result<()> {
    let tree = statistics::root(editor)?;
    let mut value = vec![0];
    value.extend_from_slice(&next.to_le_bytes());
    if !tree.replace(editor, key, &value)? {
        tree.insert(editor, key, &value)?;
    }
    Ok(())
}

/// Removes a table's counters.
///
/// # Errors
/// Errors of the pages.
pub(super) fn remove(editor: &mut Editor<'_, '_>, table: TreeId, columns: usize) -> Result<()> {
    if !editor.edit.state.statistics_root.is_some() {
        return Ok(());
    }
    let tree = statistics::root(editor)?;
    for column in 0..columns {
        let Ok(column) = u16::try_from(column) else { break };
        tree.delete(editor, &key(table, column))?;
    }
    Ok(())
}
