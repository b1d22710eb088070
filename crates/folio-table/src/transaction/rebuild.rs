//! Changes a table's columns, and empties a table: new trees replace the old ones.
//!
//! The rows are read once in key order, and written to full pages, as in a bulk load. The old pages
//! go to the free list. The table keeps its number; its trees get new roots.

use std::sync::Arc;

use folio_types::{TableSchema, Value, borrowed};

use super::index_filler::IndexFiller;
use super::{Transaction, definition, identity};
use crate::btree::{self, Builder, Cursor, Tree};
use crate::catalog::{self, Index, Table};
use crate::edit::Editor;
use crate::error::{Error, Result};
use crate::overflow;
use crate::page::node::Node;
use crate::row::{self, RowEncoder, row_number};

/// The source of a column's values in a rebuilt table.
#[derive(Debug, Clone, PartialEq)]
pub enum ColumnSource {
    /// The column of the old table at this position.
    Column(usize),
    /// One value for all existing rows.
    Value(Value),
}

impl Transaction {
    /// Changes the columns of a table. `sources` has the source of each column's values. Values are
    /// not converted: types must fit. Indexes whose columns all remain are rebuilt, the others are
    /// dropped. All rows are written.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Exists`], [`Error::Schema`], [`Error::InvalidInput`]: nothing
    /// has changed. [`Error::TypeMismatch`] and [`Error::Conflict`] for rows that do not fit the
    /// new definition, and errors of the pages: the transaction must return to its last mark.
    pub fn rebuild_table(
        &mut self,
        name: &str,
        schema: &TableSchema,
        sources: &[ColumnSource],
    ) -> Result<Arc<Table>> {
        schema.check()?;
        let table = self.table(name)?;
        self.catalog()?.refuse_taken(&schema.name, Some(table.id))?;
        check_sources(&table, schema, sources)?;
        self.change(|editor| {
            let rebuilt = successor(editor, &table, schema, sources)?;
            copy_rows(editor, &table, &rebuilt, sources)?;
            drop_trees(editor, &table)?;
            let place =
                |column| sources.iter().position(|source| *source == ColumnSource::Column(column));
            identity::move_columns(editor, table.id, table.schema.columns.len(), place)?;
            catalog::write_table(editor, &rebuilt)
        })?;
        self.row_numbers.clear();
        self.refresh_catalog()?;
        self.table(&schema.name)
    }

    /// Removes all rows of a table, in the time it takes to free its pages.
    ///
    /// # Errors
    /// [`Error::NotFound`]; errors of the pages.
    pub fn truncate_table(&mut self, name: &str) -> Result<Arc<Table>> {
        let table = self.table(name)?;
        let count = self.reader().row_count(&table)?;
        self.change(|editor| {
            let all: Vec<_> = (0..table.schema.columns.len()).map(ColumnSource::Column).collect();
            let empty = successor(editor, &table, &table.schema, &all)?;
            drop_trees(editor, &table)?;
            let count = i64::try_from(count).expect("rows have 64-bit numbers");
            *editor.edit.row_counts.entry(table.id).or_default() -= count;
            catalog::write_table(editor, &empty)
        })?;
        self.row_numbers.clear();
        self.refresh_catalog()?;
        self.table(name)
    }
}

fn check_sources(table: &Table, schema: &TableSchema, sources: &[ColumnSource]) -> Result<()> {
    let refuse = |what: String| Err(Error::InvalidInput { what });
    if sources.len() != schema.columns.len() {
        let found = sources.len();
        return refuse(format!(
            "{found} sources for {} columns; give one each",
            schema.columns.len()
        ));
    }
    for (column, source) in schema.columns.iter().zip(sources) {
        let fits = match source {
            ColumnSource::Column(old) => table
                .schema
                .columns
                .get(*old)
                .is_some_and(|old| old.column_type == column.column_type),
            ColumnSource::Value(value) => {
                column.column_type.accepts(value.as_ref())
                    && (column.nullable || *value != Value::Null)
            }
        };
        if !fits {
            return refuse(format!(
                "column {:?} of table {:?} cannot be made from {source:?}; its type differs",
                column.name, schema.name
            ));
        }
    }
    Ok(())
}

/// The rebuilt table: empty trees, and the remaining indexes.
fn successor(
    editor: &mut Editor<'_, '_>,
    table: &Table,
    schema: &TableSchema,
    sources: &[ColumnSource],
) -> Result<Table> {
    let tree = Tree::create(editor, table.id)?;
    let mut indexes = Vec::new();
    for index in &table.indexes {
        let place = |&(column, descending): &(usize, bool)| {
            let place = sources.iter().position(|source| *source == ColumnSource::Column(column));
            Some((place?, descending))
        };
        if let Some(columns) = index.columns.iter().map(place).collect::<Option<Vec<_>>>() {
            let root = Tree::create(editor, index.id)?.root;
            let name = index.name.clone();
            indexes.push(Index::new(index.id, root, name, columns, index.unique, schema));
        }
    }
    Ok(Table::new(table.id, tree.root, schema.clone(), indexes))
}

/// Copies the rows.
fn copy_rows(
    editor: &mut Editor<'_, '_>,
    table: &Table,
    rebuilt: &Table,
    sources: &[ColumnSource],
) -> Result<()> {
    // Rows are in the order of the old key, which may equal the new one.
    let has_same_key = table.layout.key == rebuilt.layout.key
        && rebuilt
            .schema
            .primary_key
            .iter()
            .zip(&table.schema.primary_key)
            .all(|(new, old)| sources[*new] == ColumnSource::Column(*old));
    let mut builder = has_same_key.then(|| Builder::new(rebuilt.tree(), editor.pager.page_size));
    let mut indexes: Vec<_> =
        rebuilt.indexes.iter().map(|index| IndexFiller::new(index.clone())).collect();
    let mut encoder = RowEncoder::default();
    let mut next_number = 1;
    let mut cursor = Cursor::forward(table.tree(), editor, None)?;
    while let Some(leaf) = cursor.next_leaf(editor)? {
        let bytes = leaf.to_vec();
        drop(leaf);
        let node = Node::new(&bytes);
        node.see_all(|key, stored| {
            let row = new_row(editor, table, (key, stored), sources)?;
            let row = borrowed(&row);
            let number = row_number(&table.layout, key).unwrap_or(next_number);
            next_number = number.saturating_add(1);
            encoder.encode(&rebuilt.schema, &rebuilt.layout, &row, number)?;
            btree::check_key_size(editor.pager.page_size, &encoder.key)?;
            let value = overflow::store(editor, rebuilt.id, encoder.key.len(), &encoder.value)?;
            match &mut builder {
                Some(builder) => builder.push(editor, &encoder.key, &value)?,
                None if rebuilt.tree().insert(editor, &encoder.key, &value)? => {}
                None => return Err(Error::Conflict { constraint: rebuilt.schema.name.clone() }),
            }
            indexes.iter_mut().try_for_each(|index| index.push(editor, &row, &encoder.key))
        })?;
    }
    builder.map_or(Ok(()), |builder| builder.finish(editor))?;
    indexes.into_iter().try_for_each(|index| index.finish(editor))
}

fn new_row(
    editor: &Editor<'_, '_>,
    table: &Table,
    (key, stored): (&[u8], &[u8]),
    sources: &[ColumnSource],
) -> Result<Vec<Value>> {
    let whole = overflow::load(editor, table.id, stored)?;
    let old = row::decode_row(table, key, whole.as_deref().unwrap_or(stored))?;
    let value = |source: &ColumnSource| match source {
        ColumnSource::Column(column) => old[*column].clone(),
        ColumnSource::Value(value) => value.clone(),
    };
    Ok(sources.iter().map(value).collect())
}

/// Adds all pages of a table and its indexes to the free list.
fn drop_trees(editor: &mut Editor<'_, '_>, table: &Table) -> Result<()> {
    for index in &table.indexes {
        index.tree().drop_all(editor, |_, _| Ok(()))?;
    }
    definition::drop_rows(editor, table)
}
