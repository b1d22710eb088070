//! Notes which rows of parts change: for columns indexes, in the transaction that changes them.

use std::sync::Arc;

use super::Transaction;
use super::definition::next_tree;
use crate::btree::Tree;
use crate::catalog::{self, ColumnsIndex, Table};
use crate::edit::Editor;
use crate::error::{Error, Result};
use crate::overflow;
use crate::row_parts::{PARTS, RowPart, parts_to_bytes, read_parts, see_changed};
use crate::scan::RowRange;

/// A columns index with parts, and the last key that they cover.
#[derive(Debug, Clone)]
pub(super) struct Covered {
    tree: Tree,
    last_key: Arc<[u8]>,
}

/// Notes that the row with this key is not as its parts have it.
pub(super) fn mark(editor: &mut Editor<'_, '_>, covered: &[Covered], key: &[u8]) -> Result<()> {
    for own in covered.iter().filter(|own| own.covers(key)) {
        own.tree.insert(editor, key, &[])?;
    }
    Ok(())
}

impl Covered {
    pub(super) fn covers(&self, key: &[u8]) -> bool {
        key <= &*self.last_key
    }
}

impl Transaction {
    /// The columns indexes of a table in which a change of these columns has to be noted; of any
    /// column if there is no list.
    pub(super) fn covered(
        &mut self,
        table: &Table,
        columns: Option<&[usize]>,
    ) -> Result<Vec<Covered>> {
        let mut covered = Vec::new();
        for index in &table.columns_indexes {
            if columns.is_some_and(|columns| !index.has_any(columns)) {
                continue;
            }
            let last_key = match self.last_keys.get(&index.id) {
                Some(known) => known.clone(),
                None => {
                    let parts = read_parts(&self.seen(), index)?;
                    let last_key = parts.last().map(|last| Arc::from(&last.last_key[..]));
                    self.last_keys.insert(index.id, last_key.clone());
                    last_key
                }
            };
            let tree = index.tree();
            covered.extend(last_key.map(|last_key| Covered { tree, last_key }));
        }
        Ok(covered)
    }

    /// Creates a columns index, which has no parts yet. `columns` are those that it will have besides
    /// the key; all if there are none.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::NotFound`], [`Error::InvalidInput`]; errors of the pages.
    pub fn create_columns_index(
        &mut self,
        table: &str,
        name: &str,
        columns: &[usize],
    ) -> Result<Arc<Table>> {
        let owner = self.table(table)?;
        let is_known = |column: &usize| *column < owner.schema.columns.len();
        if name.is_empty() || !columns.iter().all(is_known) {
            let what = format!("an index of table {table:?} has no name, or unknown columns");
            return Err(Error::InvalidInput { what });
        }
        self.refuse_index(name)?;
        let (name, columns) = (name.to_owned(), columns.to_vec());
        self.change(|editor| {
            let id = next_tree(editor);
            let root = Tree::create(editor, id)?.root;
            let mut all = owner.columns_indexes.clone();
            all.push(ColumnsIndex { id, root, name, columns });
            let (schema, indexes) = (owner.schema.clone(), owner.indexes.clone());
            let altered = Table::new(owner.id, owner.root, schema, indexes, all);
            catalog::write_table(editor, &altered)
        })?;
        self.refresh_catalog()?;
        self.table(table)
    }

    /// Sets the parts of a columns index. Rows in the renewed ranges are as their parts have them.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the index was dropped, [`Error::InvalidInput`] for parts that are not
    /// in order; errors of the pages.
    pub fn set_row_parts(
        &mut self,
        table: &Arc<Table>,
        index: &ColumnsIndex,
        parts: &[RowPart],
        renewed: &[RowRange],
    ) -> Result<()> {
        let table = self.current(table)?;
        let index = table.current_columns_index(index)?;
        if !parts.is_sorted_by(|before, after| before.last_key < after.last_key) {
            let what = format!("the parts of index {:?} are not in order", index.name);
            return Err(Error::InvalidInput { what });
        }
        let mut keys = Vec::new();
        for range in renewed {
            see_changed(&self.seen(), index, range, &mut |key| {
                keys.push(key.to_vec());
                true
            })?;
        }
        self.change(|editor| {
            let tree = index.tree();
            for key in &keys {
                tree.delete(editor, key)?;
            }
            let old = tree.get(editor, PARTS)?.map(|(page, range)| page[range].to_vec());
            if let Some(old) = old {
                overflow::release(editor, tree.id, &old)?;
                tree.delete(editor, PARTS)?;
            }
            let list = parts_to_bytes(parts);
            let stored = overflow::store(editor, tree.id, PARTS.len(), &list)?;
            tree.insert(editor, PARTS, &stored).map(|_| ())
        })?;
        self.last_keys.remove(&index.id);
        Ok(())
    }
}
