//! New rows for the tables of to-many links, gathered and entered together.

use std::sync::Arc;

use arrow_array::ArrayRef;
use folio_types::{Value, ValueRef};

use crate::change::key_column::KeyColumn;
use crate::change::{Run, references};
use crate::constraint::Reference;
use crate::error::{Error, Result};
use crate::source::Relation;
use crate::source::entity::{SOURCE, TARGET};

/// Rows written at once.
const ROWS: usize = 1024;

/// An error of a link, and the entity whose link it is, where that is known.
pub(super) type OfSource = (Option<Value>, Error);

/// Rows by their table: source, position and target of one behind the other.
#[derive(Default)]
pub(super) struct LinkRows<'l> {
    tables: Vec<(Arc<Relation>, Vec<ValueRef<'l>>)>,
    /// Rows that a table gets, about.
    expected: usize,
}

impl<'l> LinkRows<'l> {
    /// A table gets so many rows, about.
    pub(super) fn expect(&mut self, count: usize) {
        self.expected = count;
    }

    /// The list of an entity, each target once.
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

    /// Writes all rows. Their targets must be there; their sources are: they have just been
    /// found or written.
    ///
    /// # Errors
    /// A target that is not there, and whose it is.
    pub(super) fn enter(&self, run: &Run<'_>) -> Result<(), OfSource> {
        for (table, rows) in &self.tables {
            for rows in rows.chunks(ROWS * table.schema.columns.len()) {
                run.changes.insert_many(table, rows).map_err(|(_, error)| (None, error))?;
            }
            check(table, rows, run)?;
        }
        Ok(())
    }

    /// Looks whether all targets are there, of rows that are written.
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

/// Looks whether all targets of a table of links are there.
///
/// # Errors
/// The position of the first that is not there, where that is what failed.
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
    let error = Error::conflict(format!("a link leads to no `{}`", reference.table))
        .help("a link takes the ids of entities there are");
    Err((Some(row), error))
}
