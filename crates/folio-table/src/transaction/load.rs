//! Bulk load: many rows at once, faster than one by one.
//!
//! If the table is empty and the rows are in key order, they go straight to pages that are filled
//! and written once ([`Builder`]). Otherwise they are inserted. Index entries are collected,
//! sorted, and inserted in their own order.

use std::sync::Arc;

use folio_types::ValueRef;

use super::Transaction;
use super::index_filler::IndexFiller;
use crate::btree::{self, Builder};
use crate::catalog::Table;
use crate::edit::Editor;
use crate::error::{Error, Result};
use crate::overflow;
use crate::page::node::Node;
use crate::pager::Pages;
use crate::row::RowEncoder;

/// A running load. If it is dropped without [`Load::finish`], the transaction can only be rolled
/// back, wholly or to a savepoint.
#[derive(Debug)]
pub struct Load<'t> {
    transaction: &'t mut Transaction,
    table: Arc<Table>,
    /// `None` when rows are inserted one by one.
    direct: Option<Direct>,
    encoder: RowEncoder,
    next_row_number: i64,
    count: u64,
    has_failed: bool,
    is_finished: bool,
}

/// Writes pages directly, bypassing the log.
#[derive(Debug)]
struct Direct {
    builder: Builder,
    indexes: Vec<IndexFiller>,
}

impl Transaction {
    /// Begins a bulk load into a table.
    ///
    /// # Errors
    /// Errors of the pages.
    pub fn load(&mut self, table: &Arc<Table>) -> Result<Load<'_>> {
        let table = self.current(table)?;
        if self.has_failed {
            return Err(Error::TransactionFailed);
        }
        let root = self.seen().pin(table.root)?;
        let is_empty = Node::new(&root).is_leaf() && Node::new(&root).len() == 0;
        drop(root);
        // Where rows were deleted one by one, there are parts that have them.
        let is_empty = is_empty && self.covered(&table, None)?.is_empty();
        let page_size = self.shared.pager.page_size;
        let direct = is_empty.then(|| Direct {
            builder: Builder::new(table.tree(), page_size),
            indexes: table.indexes.iter().map(|index| IndexFiller::new(index.clone())).collect(),
        });
        Ok(Load {
            transaction: self,
            table,
            direct,
            encoder: RowEncoder::default(),
            next_row_number: 1,
            count: 0,
            has_failed: false,
            is_finished: false,
        })
    }
}

impl Load<'_> {
    /// Appends a row.
    ///
    /// # Errors
    /// [`Error::Unsorted`] when the table was empty and keys do not ascend; otherwise as
    /// [`Transaction::insert`]. The load cannot continue then.
    pub fn push(&mut self, values: &[ValueRef<'_>]) -> Result<()> {
        let result = self.push_row(values);
        self.has_failed |= result.is_err();
        self.count += u64::from(result.is_ok());
        result
    }

    fn push_row(&mut self, values: &[ValueRef<'_>]) -> Result<()> {
        let Some(direct) = &mut self.direct else {
            return self.transaction.insert(&self.table, values).map(|_| ());
        };
        let (table, row) = (&self.table, &mut self.encoder);
        row.encode(&table.schema, &table.layout, values, self.next_row_number)?;
        btree::check_key_size(self.transaction.shared.pager.page_size, &row.key)?;
        self.next_row_number += 1;
        self.transaction.change(|editor| {
            let value = overflow::store(editor, table.id, row.key.len(), &row.value)?;
            direct.builder.push(editor, &row.key, &value)?;
            direct.indexes.iter_mut().try_for_each(|index| index.push(editor, values, &row.key))
        })
    }

    /// Ends the load, and returns the number of rows loaded.
    ///
    /// # Errors
    /// An error of the device; [`Error::Conflict`] for a unique index;
    /// [`Error::TransactionFailed`] after a refused row.
    pub fn finish(mut self) -> Result<u64> {
        if self.has_failed {
            return Err(Error::TransactionFailed);
        }
        if let Some(direct) = self.direct.take() {
            let (table, count) = (Arc::clone(&self.table), self.count);
            // Rows inserted and deleted earlier had their own numbers.
            self.transaction.row_numbers.remove(&table.id);
            self.transaction.change(|editor| finish_direct(editor, &table, direct, count))?;
        }
        self.is_finished = true;
        Ok(self.count)
    }
}

fn finish_direct(
    editor: &mut Editor<'_, '_>,
    table: &Table,
    direct: Direct,
    count: u64,
) -> Result<()> {
    direct.builder.finish(editor)?;
    for index in direct.indexes {
        index.finish(editor)?;
    }
    let count = i64::try_from(count).expect("rows have 64-bit numbers");
    *editor.edit.row_counts.entry(table.id).or_default() += count;
    Ok(())
}

impl Drop for Load<'_> {
    fn drop(&mut self) {
        // The transaction cannot continue after half a load.
        self.transaction.has_failed |= !self.is_finished;
    }
}
