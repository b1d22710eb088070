//! Identity counters: unique numbers for generated columns.
//!
//! A table has one counter per column, in the statistics tree. Counters are rolled back with the
//! transaction.

use std::sync::Arc;

use super::Transaction;
use crate::catalog::Table;
use crate::edit::Editor;
use crate::error::{Error, Result};
use crate::ids::TreeId;
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
                statistics::set_number(editor, &key, first + i64::from(count))?;
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
        self.change(|editor| statistics::set_number(editor, &key, next))
    }

    /// The next number is greater than `given` from now on.
    ///
    /// # Errors
    /// As [`Transaction::set_identity`].
    pub fn pass_identity(&mut self, table: &Arc<Table>, column: usize, given: i64) -> Result<()> {
        let key = self.identity_key(table, column)?;
        self.change(|editor| match next(editor, &key)? <= given {
            true => statistics::set_number(editor, &key, given.saturating_add(1)),
            false => Ok(()),
        })
    }

    fn identity_key(&self, table: &Arc<Table>, column: usize) -> Result<[u8; 6]> {
        let table = self.current(table)?;
        let is_there = column < table.schema.columns.len();
        match u16::try_from(column) {
            Ok(column) if is_there => Ok(statistics::counter_key(table.id, column)),
            _ => Err(Error::InvalidInput {
                what: format!("table {:?} has no column {column}", table.schema.name),
            }),
        }
    }
}

fn next(editor: &Editor<'_, '_>, key: &[u8]) -> Result<i64> {
    Ok(statistics::number(editor, &editor.edit.state, key)?.unwrap_or(1))
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
        tree.delete(editor, &statistics::counter_key(table, column))?;
    }
    Ok(())
}
