//! Creates, changes and drops tables and indexes, as part of the transaction.

use std::sync::Arc;

use folio_types::{TableSchema, borrowed, near_match};

use super::index_filler::IndexFiller;
use super::{Transaction, identity};
use crate::btree::{Cursor, Tree};
use crate::catalog::{self, Catalog, ColumnsIndex, Index, IndexPlace, Table};
use crate::edit::Editor;
use crate::error::{Error, Result};
use crate::ids::TreeId;
use crate::overflow;
use crate::page::node::Node;
use crate::{row, statistics};

/// The definition of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexDefinition {
    /// The name, unique among the indexes of the database.
    pub name: String,
    /// Positions of the columns, and whether the order is descending.
    pub columns: Vec<(usize, bool)>,
    /// Whether rows must differ in at least one of the columns.
    pub unique: bool,
}

impl Transaction {
    /// Creates a table.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::Schema`]; errors of the pages.
    pub fn create_table(&mut self, schema: &TableSchema) -> Result<Arc<Table>> {
        schema.check()?;
        self.catalog()?.refuse_taken(&schema.name, None)?;
        self.change(|editor| {
            let id = next_tree(editor);
            let tree = Tree::create(editor, id)?;
            catalog::write_table(
                editor,
                &Table::new(id, tree.root, schema.clone(), Vec::new(), Vec::new()),
            )
        })?;
        self.refresh_catalog()?;
        self.table(&schema.name)
    }

    /// Drops a table with its rows and indexes. Its pages can be reused.
    ///
    /// # Errors
    /// [`Error::NotFound`]; errors of the pages.
    pub fn drop_table(&mut self, name: &str) -> Result<()> {
        let table = self.table(name)?;
        self.change(|editor| {
            drop_trees(editor, &table)?;
            identity::remove(editor, table.id, table.schema.columns.len())?;
            statistics::remove(editor, table.id)?;
            catalog::remove_definition(editor, table.id)
        })?;
        self.refresh_catalog()
    }

    /// Removes all rows of a table, in the time it takes to free its pages. The table keeps its
    /// number; its trees get new roots.
    ///
    /// # Errors
    /// [`Error::NotFound`]; errors of the pages.
    pub fn truncate_table(&mut self, name: &str) -> Result<Arc<Table>> {
        let table = self.table(name)?;
        let count = self.reader().row_count(&table)?;
        self.change(|editor| {
            let root = Tree::create(editor, table.id)?.root;
            let mut indexes = Vec::with_capacity(table.indexes.len());
            for index in &table.indexes {
                let root = Tree::create(editor, index.id)?.root;
                let (name, columns) = (index.name.clone(), index.columns.clone());
                let (id, is_unique) = (index.id, index.unique);
                indexes.push(Index::new(id, root, name, columns, is_unique, &table.schema));
            }
            let mut columns_indexes = table.columns_indexes.clone();
            for index in &mut columns_indexes {
                index.root = Tree::create(editor, index.id)?.root;
            }
            drop_trees(editor, &table)?;
            let count = i64::try_from(count).expect("rows have 64-bit numbers");
            *editor.edit.row_counts.entry(table.id).or_default() -= count;
            let schema = table.schema.clone();
            let empty = Table::new(table.id, root, schema, indexes, columns_indexes);
            catalog::write_table(editor, &empty)
        })?;
        self.row_numbers.clear();
        self.last_keys.clear();
        self.refresh_catalog()?;
        self.table(name)
    }

    /// Renames a table or its columns, or changes its properties. Types, order and key must stay.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Exists`], [`Error::Schema`],
    /// [`Error::InvalidInput`]; errors of the pages.
    pub fn alter_table(&mut self, name: &str, schema: &TableSchema) -> Result<Arc<Table>> {
        schema.check()?;
        let table = self.table(name)?;
        let shape = |schema: &TableSchema| -> Vec<_> {
            let columns = schema.columns.iter();
            columns.map(|column| (column.column_type.clone(), column.nullable)).collect()
        };
        if shape(&table.schema) != shape(schema) || table.schema.primary_key != schema.primary_key {
            let what =
                format!("columns of table {name:?} may change their names only; rebuild the table");
            return Err(Error::InvalidInput { what });
        }
        self.catalog()?.refuse_taken(&schema.name, Some(table.id))?;
        let (indexes, columns) = (table.indexes.clone(), table.columns_indexes.clone());
        let altered = Table::new(table.id, table.root, schema.clone(), indexes, columns);
        self.change(|editor| catalog::write_table(editor, &altered))?;
        self.refresh_catalog()?;
        self.table(&schema.name)
    }

    /// Creates an index and adds the existing rows.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::NotFound`], [`Error::Schema`];
    /// [`Error::Conflict`] when rows are equal in a unique index; errors of the pages. After either
    /// the transaction must return to its last mark.
    pub fn create_index(&mut self, table: &str, index: &IndexDefinition) -> Result<Arc<Table>> {
        let owner = self.table(table)?;
        let positions: Vec<usize> = index.columns.iter().map(|(column, _)| *column).collect();
        owner.schema.check_key(&positions)?;
        if positions.is_empty() || index.name.is_empty() {
            let what =
                format!("an index of table {table:?} has no name or no columns; give it both");
            return Err(Error::InvalidInput { what });
        }
        self.refuse_index(&index.name)?;
        self.change(|editor| {
            let id = next_tree(editor);
            let tree = Tree::create(editor, id)?;
            let IndexDefinition { name, columns, unique } = index.clone();
            let made = Index::new(id, tree.root, name, columns, unique, &owner.schema);
            enter_rows(editor, &owner, &made)?;
            let mut indexes = owner.indexes.clone();
            indexes.push(made);
            let (schema, columns) = (owner.schema.clone(), owner.columns_indexes.clone());
            let altered = Table::new(owner.id, owner.root, schema, indexes, columns);
            catalog::write_table(editor, &altered)
        })?;
        self.refresh_catalog()?;
        self.table(table)
    }

    /// Drops an index.
    ///
    /// # Errors
    /// [`Error::NotFound`]; errors of the pages.
    pub fn drop_index(&mut self, name: &str) -> Result<()> {
        let catalog = self.catalog()?;
        let Some((owner, place)) = catalog.owner_of_index(name) else {
            let near = near_match(name, catalog.index_names()).map(str::to_owned);
            return Err(Error::NotFound { kind: "index", name: name.to_owned(), near });
        };
        self.change(|editor| {
            let (mut indexes, mut columns) = (owner.indexes.clone(), owner.columns_indexes.clone());
            let tree = match place {
                IndexPlace::Keys(position) => indexes.remove(position).tree(),
                IndexPlace::Columns(position) => columns.remove(position).tree(),
            };
            drop_tree(editor, tree)?;
            let schema = owner.schema.clone();
            let altered = Table::new(owner.id, owner.root, schema, indexes, columns);
            catalog::write_table(editor, &altered)
        })?;
        self.refresh_catalog()
    }

    pub(super) fn refuse_index(&self, name: &str) -> Result<()> {
        match self.catalog()?.owner_of_index(name) {
            Some(_) => Err(Error::Exists { kind: "index", name: name.to_owned() }),
            None => Ok(()),
        }
    }

    pub(super) fn refresh_catalog(&mut self) -> Result<()> {
        self.own_catalog = Some(Arc::new(Catalog::read(&self.seen(), &self.edit_ref().state)?));
        Ok(())
    }
}

pub(super) fn next_tree(editor: &mut Editor<'_, '_>) -> TreeId {
    let id = editor.edit.state.next_tree;
    editor.edit.state.next_tree = TreeId(id.0 + 1);
    id
}

/// Adds the pages of a table and its indexes, overflow chains included, to the free list.
fn drop_trees(editor: &mut Editor<'_, '_>, table: &Table) -> Result<()> {
    let columns = table.columns_indexes.iter().map(ColumnsIndex::tree);
    let trees = table.indexes.iter().map(Index::tree).chain(columns);
    trees.chain([table.tree()]).try_for_each(|tree| drop_tree(editor, tree))
}

fn drop_tree(editor: &mut Editor<'_, '_>, tree: Tree) -> Result<()> {
    tree.drop_all(editor, |editor, leaf| {
        let node = Node::new(leaf);
        (0..node.len()).try_for_each(|index| overflow::release(editor, tree.id, node.value(index)))
    })
}

/// Adds all rows of a table to a new index.
fn enter_rows(editor: &mut Editor<'_, '_>, table: &Table, index: &Index) -> Result<()> {
    let mut filler = IndexFiller::new(index.clone());
    let mut cursor = Cursor::forward(table.tree(), editor, None)?;
    while let Some(leaf) = cursor.next_leaf(editor)? {
        let bytes = leaf.to_vec();
        drop(leaf);
        let node = Node::new(&bytes);
        node.see_all(|key, stored| {
            let whole = overflow::load(editor, table.id, stored)?;
            let value = whole.as_deref().unwrap_or(stored);
            let row = row::decode_row(table, key, value)?;
            filler.push(editor, &borrowed(&row), key)
        })?;
    }
    filler.finish(editor)
}
