//! Changes rows, one at a time.
//!
//! All refusals happen before the first page changes.

use std::ops::Range;
use std::sync::Arc;

use folio_types::{Value, ValueRef, borrowed, key};

use super::Transaction;
use super::changed_rows::mark;
use super::index_entries;
use crate::btree::{self, Cursor};
use crate::buffer::PageGuard;
use crate::catalog::Table;
use crate::edit::Editor;
use crate::error::{Error, Result};
use crate::overflow;
use crate::page::node::Node;
use crate::pager::Pages;
use crate::row::{self, Row, RowEncoder};

impl Transaction {
    /// Inserts a row, given in column order. Returns the hidden row number if the table has no key.
    ///
    /// # Errors
    /// [`Error::Conflict`], [`Error::TypeMismatch`], [`Error::ValueCount`],
    /// [`Error::KeyTooLong`], [`Error::RowTooLong`]: nothing has changed. Errors of the pages: the
    /// transaction must return to its last mark.
    pub fn insert(&mut self, table: &Arc<Table>, values: &[ValueRef<'_>]) -> Result<Option<i64>> {
        let table = self.current(table)?;
        let row_number = self.next_row_number(&table)?;
        let mut encoder = std::mem::take(&mut self.encoder);
        let result = self.insert_encoded(&table, values, row_number, &mut encoder);
        self.encoder = encoder;
        result?;
        Ok(table.layout.has_row_number.then_some(row_number))
    }

    fn insert_encoded(
        &mut self,
        table: &Table,
        values: &[ValueRef<'_>],
        row_number: i64,
        row: &mut RowEncoder,
    ) -> Result<()> {
        row.encode(&table.schema, &table.layout, values, row_number)?;
        btree::check_key_size(self.shared.pager.page_size, &row.key)?;
        self.refuse_conflict(table, values, &row.key, None)?;
        let covered = self.covered(table, None)?;
        self.change(|editor| {
            let value = overflow::store(editor, table.id, row.key.len(), &row.value)?;
            if !table.tree().insert(editor, &row.key, &value)? {
                overflow::release(editor, table.id, &value)?;
                return Ok(false);
            }
            for index in &table.indexes {
                index_entries::add(editor, index, values, &row.key)?;
            }
            mark(editor, &covered, &row.key)?;
            *editor.edit.row_counts.entry(table.id).or_default() += 1;
            Ok(true)
        })
        .and_then(|is_inserted| match is_inserted {
            true => Ok(()),
            false => Err(Error::Conflict { constraint: table.schema.name.clone() }),
        })
    }

    /// Replaces the row with this key by another, whose key may differ. `false` when there is no
    /// such row.
    ///
    /// # Errors
    /// As [`Transaction::insert`].
    pub fn update(
        &mut self,
        table: &Arc<Table>,
        key: &[ValueRef<'_>],
        values: &[ValueRef<'_>],
    ) -> Result<bool> {
        let table = self.current(table)?;
        let old_key = row::encode_key(&table, key)?;
        let mut encoder = std::mem::take(&mut self.encoder);
        let result = self.update_encoded(&table, &old_key, values, &mut encoder);
        self.encoder = encoder;
        result
    }

    fn update_encoded(
        &mut self,
        table: &Table,
        old_key: &[u8],
        values: &[ValueRef<'_>],
        row: &mut RowEncoder,
    ) -> Result<bool> {
        let row_number = row::row_number(&table.layout, old_key).unwrap_or_default();
        row.encode(&table.schema, &table.layout, values, row_number)?;
        btree::check_key_size(self.shared.pager.page_size, &row.key)?;
        let tree = table.tree();
        let Some(stored) = self.stored(table, old_key)? else { return Ok(false) };
        if row.key != old_key && tree.get(&self.seen(), &row.key)?.is_some() {
            return Err(Error::Conflict { constraint: table.schema.name.clone() });
        }
        self.refuse_conflict(table, values, &row.key, Some(old_key))?;
        let covered = self.covered(table, None)?;
        self.change(|editor| {
            mark(editor, &covered, old_key)?;
            move_entries(editor, table, (old_key, &stored), (&row.key, values))?;
            overflow::release(editor, tree.id, &stored)?;
            let value = overflow::store(editor, table.id, row.key.len(), &row.value)?;
            if row.key == old_key {
                tree.replace(editor, old_key, &value)?;
            } else {
                tree.delete(editor, old_key)?;
                tree.insert(editor, &row.key, &value)?;
                mark(editor, &covered, &row.key)?;
            }
            Ok(true)
        })
    }

    /// The row with this key, which will be changed next: the change reuses the position.
    ///
    /// # Errors
    /// As [`Reader::get`](crate::Reader::get).
    pub fn get_to_change(
        &mut self,
        table: &Arc<Table>,
        key: &[ValueRef<'_>],
    ) -> Result<Option<Row<'_>>> {
        let table = self.current(table)?;
        let key = row::encode_key(&table, key)?;
        let mut editor = self.editor()?;
        let Some((page, range)) = find(&mut editor, &table, &key)? else { return Ok(None) };
        Ok(Some(Row::load(&editor, table, key, (page, range))?))
    }

    /// Changes some columns of the row with this key, but not key columns. `false` when there is no
    /// such row.
    ///
    /// # Errors
    /// As [`Transaction::insert`], and [`Error::InvalidInput`] for columns that do not
    /// exist or belong to the key.
    pub fn update_columns(
        &mut self,
        table: &Arc<Table>,
        key: &[ValueRef<'_>],
        columns: &[usize],
        values: &[ValueRef<'_>],
    ) -> Result<bool> {
        let table = self.current(table)?;
        let key = row::encode_key(&table, key)?;
        let mut encoder = std::mem::take(&mut self.encoder);
        let result = self.update_columns_encoded(&table, &key, (columns, values), &mut encoder);
        self.encoder = encoder;
        result
    }

    fn update_columns_encoded(
        &mut self,
        table: &Table,
        key: &[u8],
        (columns, values): (&[usize], &[ValueRef<'_>]),
        row: &mut RowEncoder,
    ) -> Result<bool> {
        let mut editor = self.editor()?;
        let Some((page, range)) = find(&mut editor, table, key)? else { return Ok(false) };
        let stored = &page[range];
        let whole = overflow::load(&editor, table.id, stored)?;
        row.encode_changed(table, whole.as_deref().unwrap_or(stored), columns, values)?;
        drop(page);
        let is_alone = whole.is_none()
            && overflow::fits_leaf(self.shared.pager.page_size, key.len(), &row.value)
            && !table.indexes.iter().any(|index| index.has_any(columns));
        if is_alone {
            let covered = self.covered(table, Some(columns))?;
            return self.change(|editor| {
                let is_replaced = table.tree().replace(editor, key, &row.value)?;
                mark(editor, &covered, key)?;
                Ok(is_replaced)
            });
        }
        let values = row::decode_row(table, key, &row.value)?;
        self.update_encoded(table, key, &borrowed(&values), row)
    }

    /// Access to the pages, unless the transaction has failed.
    fn editor(&mut self) -> Result<Editor<'_, '_>> {
        if self.has_failed {
            return Err(Error::TransactionFailed);
        }
        let edit = self.edit.as_mut().expect("only ending the transaction takes it");
        Ok(Editor { pager: &self.shared.pager, edit })
    }

    /// Deletes the row with this key; `false` when there is none.
    ///
    /// # Errors
    /// As [`Transaction::insert`].
    pub fn delete(&mut self, table: &Arc<Table>, key: &[ValueRef<'_>]) -> Result<bool> {
        let table = self.current(table)?;
        let key = row::encode_key(&table, key)?;
        let Some(stored) = self.stored(&table, &key)? else { return Ok(false) };
        let covered = self.covered(&table, None)?;
        self.change(|editor| {
            mark(editor, &covered, &key)?;
            let whole = overflow::load(editor, table.id, &stored)?;
            let value = whole.as_deref().unwrap_or(&stored);
            for index in &table.indexes {
                index_entries::remove(editor, &table, index, &key, value)?;
            }
            overflow::release(editor, table.id, &stored)?;
            table.tree().delete(editor, &key)?;
            *editor.edit.row_counts.entry(table.id).or_default() -= 1;
            Ok(true)
        })
    }

    /// The parts of a row needed after its deletion: its value as it is in the leaf, if an index
    /// has entries for it or it has overflow pages; otherwise nothing.
    fn stored(&mut self, table: &Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let Some((page, range)) = find(&mut self.editor()?, table, key)? else { return Ok(None) };
        let value = &page[range];
        let is_needed = !table.indexes.is_empty() || overflow::is_reference(value);
        Ok(Some(if is_needed { value.to_vec() } else { Vec::new() }))
    }

    fn refuse_conflict(
        &mut self,
        table: &Table,
        values: &[ValueRef<'_>],
        key: &[u8],
        own_key: Option<&[u8]>,
    ) -> Result<()> {
        let editor = self.editor()?;
        if table.indexes.is_empty() {
            return Ok(());
        }
        for index in &table.indexes {
            let entry = index_entries::entry(index, values, key);
            btree::check_key_size(editor.pager.page_size, &entry)?;
            index_entries::check_unique(&editor, index, values, own_key)?;
        }
        // Detect an existing key before the first index changes.
        if own_key.is_none() && table.tree().get(&editor, key)?.is_some() {
            return Err(Error::Conflict { constraint: table.schema.name.clone() });
        }
        Ok(())
    }

    /// The next hidden row number: the maximum plus one.
    pub(super) fn next_row_number(&mut self, table: &Table) -> Result<i64> {
        if !table.layout.has_row_number {
            return Ok(0);
        }
        let next = match self.row_numbers.get(&table.id) {
            Some(next) => *next,
            None => last_row_number(&self.seen(), table)?.map_or(1, |last| last.saturating_add(1)),
        };
        self.row_numbers.insert(table.id, next.saturating_add(1));
        Ok(next)
    }
}

/// The location of a row's value.
fn find<'s>(
    editor: &mut Editor<'s, '_>,
    table: &Table,
    key: &[u8],
) -> Result<Option<(PageGuard<'s>, Range<usize>)>> {
    let leaf = table.tree().locate(editor, key)?;
    let page = table.tree().node(editor, leaf, Some(0))?;
    let cell = table.tree().locate_cell(editor, &page, key).ok();
    let range = cell.map(|cell| Node::new(&page).value_range(cell));
    Ok(range.map(|range| (page, range)))
}

pub(crate) fn last_row_number<'s>(pages: &impl Pages<'s>, table: &Table) -> Result<Option<i64>> {
    let mut cursor = Cursor::backward(table.tree(), pages, None)?;
    while let Some(leaf) = cursor.next_leaf(pages)? {
        let node = Node::new(&leaf);
        if let Some(last) = node.len().checked_sub(1) {
            let number = key::decode(&table.layout.key[0], &mut &node.key(last).to_vec()[..]);
            let Some(Value::Integer(number)) = number else { return Err(table.mismatch(0)) };
            return Ok(Some(number));
        }
    }
    Ok(None)
}

/// Moves a row's index entries from its old to its new version, where they differ.
fn move_entries(
    editor: &mut Editor<'_, '_>,
    table: &Table,
    (old_key, stored): (&[u8], &[u8]),
    (key, values): (&[u8], &[ValueRef<'_>]),
) -> Result<()> {
    if table.indexes.is_empty() {
        return Ok(());
    }
    let whole = overflow::load(editor, table.id, stored)?;
    let old_value = whole.as_deref().unwrap_or(stored);
    for index in &table.indexes {
        let old = index_entries::stored_prefix(table, index, old_key, old_value)?;
        if old_key == key && old == index_entries::prefix(index, values).0 {
            continue;
        }
        index_entries::remove(editor, table, index, old_key, old_value)?;
        index_entries::add(editor, index, values, key)?;
    }
    Ok(())
}
