//! Inserts many rows at once.
//!
//! The leaf of the last row is held for the next: in key order a row costs its encoding and a copy.
//! Index entries are collected, sorted, and inserted in their own order, so that they also arrive
//! leaf by leaf.

use std::sync::Arc;

use folio_types::ValueRef;

use super::Transaction;
use super::changed_rows::{Covered, mark};
use super::index_filler::IndexFiller;
use crate::btree::{self, HeldLeaf};
use crate::catalog::{Index, Table};
use crate::edit::Editor;
use crate::error::{Error, Result};
use crate::overflow;
use crate::row::RowEncoder;

impl Transaction {
    /// Inserts rows, given as consecutive values, each row in column order.
    ///
    /// # Errors
    /// The position of the refused row, and the reason, as in [`Transaction::insert`]. Earlier rows
    /// may have been inserted: the transaction must return to its last mark.
    pub fn insert_many(
        &mut self,
        table: &Arc<Table>,
        rows: &[ValueRef<'_>],
    ) -> Result<(), (usize, Error)> {
        let first = |error| (0, error);
        let table = self.current(table).map_err(first)?;
        let row_number = self.next_row_number(&table).map_err(first)?;
        let covered = self.covered(&table, None).map_err(first)?;
        let (mut encoder, mut at) = (std::mem::take(&mut self.encoder), 0);
        let count = rows.len() / table.schema.columns.len().max(1);
        let result = self.change(|editor| {
            let filler = |index: &Index| IndexFiller::expecting(index.clone(), count);
            let indexes = table.indexes.iter().map(filler);
            let mut many = Many {
                encoder: &mut encoder,
                leaf: HeldLeaf::default(),
                indexes: indexes.collect(),
                plain_size: btree::key_size_max(editor.pager.page_size),
                at: 0,
                table: &table,
                covered: &covered,
                changed: Vec::new(),
            };
            let result = many.insert(editor, rows, row_number);
            at = many.at;
            result
        });
        self.encoder = encoder;
        let next = row_number.saturating_add(i64::try_from(count).unwrap_or(i64::MAX));
        if table.layout.has_row_number {
            self.row_numbers.insert(table.id, next);
        }
        result.map_err(|error| (at, error))
    }
}

/// Rows being inserted into a table.
struct Many<'t, 's> {
    table: &'t Table,
    encoder: &'t mut RowEncoder,
    leaf: HeldLeaf<'s>,
    indexes: Vec<IndexFiller>,
    /// Rows with a key and value of up to this many bytes in total fit a leaf as they are.
    plain_size: usize,
    /// The current row.
    at: usize,
    covered: &'t [Covered],
    /// The keys of rows among those of parts.
    changed: Vec<Vec<u8>>,
}

impl<'s> Many<'_, 's> {
    fn insert(
        &mut self,
        editor: &mut Editor<'s, '_>,
        rows: &[ValueRef<'_>],
        row_number: i64,
    ) -> Result<()> {
        let mut next_number = row_number;
        for (position, values) in rows.chunks(self.table.schema.columns.len()).enumerate() {
            self.at = position;
            self.insert_row(editor, values, next_number)?;
            next_number = next_number.saturating_add(1);
        }
        self.leaf = HeldLeaf::default();
        for key in &self.changed {
            mark(editor, self.covered, key)?;
        }
        for index in &mut self.indexes {
            let result = index.insert_part(editor);
            if let (Err(_), Some(refused)) = (&result, index.refused()) {
                self.at = refused;
            }
            result?;
        }
        let count = rows.len() / self.table.schema.columns.len().max(1);
        let count = i64::try_from(count).expect("rows have 64-bit numbers");
        *editor.edit.row_counts.entry(self.table.id).or_default() += count;
        Ok(())
    }

    fn insert_row(
        &mut self,
        editor: &mut Editor<'s, '_>,
        values: &[ValueRef<'_>],
        row_number: i64,
    ) -> Result<()> {
        let (table, row) = (self.table, &mut *self.encoder);
        row.encode(&table.schema, &table.layout, values, row_number)?;
        // Most cells are far below the maximum.
        let is_pushed = match row.key.len() + row.value.len() <= self.plain_size {
            true => table.tree().insert_held(editor, &mut self.leaf, &row.key, &row.value, &[])?,
            false => self.push_great(editor)?,
        };
        if !is_pushed {
            return Err(Error::Conflict { constraint: table.schema.name.clone() });
        }
        let row = &*self.encoder;
        if self.covered.iter().any(|own| own.covers(&row.key)) {
            self.changed.push(row.key.clone());
        }
        for index in &mut self.indexes {
            index.push_row(editor, self.at, values, &row.key)?;
        }
        Ok(())
    }

    /// Inserts a row whose value may need overflow pages, or whose key may be too long.
    #[cold]
    fn push_great(&mut self, editor: &mut Editor<'s, '_>) -> Result<bool> {
        let (row, page_size) = (&*self.encoder, editor.pager.page_size);
        btree::check_key_size(page_size, &row.key)?;
        let value = overflow::store(editor, self.table.id, row.key.len(), &row.value)?;
        self.table.tree().insert_held(editor, &mut self.leaf, &row.key, &value, &[])
    }
}
