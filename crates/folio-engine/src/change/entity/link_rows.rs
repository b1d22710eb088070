//! New rows for the tables of to-many links, collected and inserted in bulk.

use std::sync::Arc;

use arrow_array::ArrayRef;
use folio_compute::{Error, Result};
use folio_types::{Value, ValueRef};

use crate::change::key_column::KeyColumn;
use crate::change::{Run, references};
use crate::constraint::Reference;
use crate::source::Relation;
use crate::source::entity::{SOURCE, TARGET};

/// Number of rows to insert at once.
const ROWS: usize = 1024;

/// An error of a link, and the source entity if it is known.
pub(super) type OfSource = (Option<Value>, Error);

/// Rows by table: source, position and target of each, concatenated.
#[derive(Default)]
pub(super) struct LinkRows<'l> {
    tables: Vec<(Arc<Relation>, Vec<ValueRef<'l>>)>,
    /// Expected number of rows per table.
    expected: usize,
}

impl<'l> LinkRows<'l> {
    /// Announces about this many rows per table.
    pub(super) fn expect(&mut self, count: usize) {
        self.expected = count;
    }

    /// Adds the list of an entity. `targets` has no duplicates.
    pub(super) fn add(
        &mut self,
        table: &Arc<Relation>,
        source: ValueRef<'l>,
        targets: impl Iterator<Item = ValueRef<'l>>,
    ) {
        let known = self.tables.iter().position(|(other, _)| Arc::ptr_eq(other, table));
        let place = known.unwrap_or_else(|| {
            let room = Vec::with_capacity(self.expected * table.schema.columns.len());
            self.tables.push((Arc::clone(table), room));
            self.tables.len() - 1
        });
        let rows = &mut self.tables[place].1;
        for (target, position) in targets.zip(0..) {
            rows.extend([source, ValueRef::Integer(position), target]);
        }
    }

    /// Inserts all rows. Checks that their targets exist. Their sources do: they were just found or
    /// written.
    ///
    /// # Errors
    /// A target that does not exist, with its source.
    pub(super) fn enter(&self, run: &Run<'_>) -> Result<(), OfSource> {
        for (table, rows) in &self.tables {
            for rows in rows.chunks(ROWS * table.schema.columns.len()) {
                run.changes.insert_many(table, rows).map_err(|(_, error)| (None, error))?;
            }
            check(table, rows, run)?;
        }
        Ok(())
    }

    /// Checks that the targets of all inserted rows exist.
    ///
    /// # Errors
    /// As [`LinkRows::enter`].
    pub(super) fn check(&self, run: &Run<'_>) -> Result<(), OfSource> {
        self.tables.iter().try_for_each(|(table, rows)| check(table, rows, run))
    }
}

fn check(table: &Relation, rows: &[ValueRef<'_>], run: &Run<'_>) -> Result<(), OfSource> {
    let width = table.schema.columns.len();
    let mut targets = KeyColumn::new(table.column_type(TARGET));
    rows.chunks(width).for_each(|row| targets.push(row[TARGET]));
    let targets = targets.into_array().map_err(|error| (None, error))?;
    check_targets(table, targets, run).map_err(|(row, error)| {
        let source = row.map(|row| rows[row * width + SOURCE].to_value());
        (source, error)
    })
}

/// Checks that the targets of a link table's rows exist.
///
/// # Errors
/// The position of the first missing target, if that is the error.
pub(super) fn check_targets(
    table: &Relation,
    targets: ArrayRef,
    run: &Run<'_>,
) -> Result<(), (Option<usize>, Error)> {
    let column = &table.schema.columns[TARGET].name;
    let of_target = |reference: &&Reference| reference.columns == std::slice::from_ref(column);
    let reference = table.constraints.references.iter().find(of_target);
    let Some(reference) = reference.filter(|_| !targets.is_empty()) else { return Ok(()) };
    let dangling = references::first_dangling_of(table, reference, &[targets], run);
    let Some((row, _)) = dangling.map_err(|error| (None, error))? else { return Ok(()) };
    let error =
        Error::conflict(format!("a link points to a `{}` that does not exist", reference.table))
            .help("a link takes ids of existing entities");
    Err((Some(row), error))
}
