//! Creates, alters and drops tables, views and indexes.

use std::sync::Arc;

use folio_compute::array::value_at;
use folio_compute::{Batch, Error, Result};
use folio_types::{ErrorCode, TableSchema, Value, borrowed};

use super::rename::rename;
use super::row::values_of;
use super::{Done, Run, Writing, references};
use crate::bound::{Create, Rules, Statement};
use crate::context::Context;
use crate::execute::build;
use crate::expression::Expr;
use crate::expression::evaluate::{evaluate_array, evaluate_arrays};
use crate::optimize::{self, Level};
use crate::plan::lower::lower;
use crate::source::{IndexInfo, Relation, RelationKind, ScanRequest};

impl Run<'_> {
    /// Creates an index; the limits of the statement may end it.
    fn create_index(&self, table: &str, index: &IndexInfo) -> Result<()> {
        let limits = self.context().limits();
        self.changes.create_index(table, index, &|done, total| limits.report(done, total))
    }
}

/// Runs a definition.
///
/// # Errors
/// `conflict` for names that are taken or objects that are needed; `not_found`.
pub(crate) fn define(statement: &Statement, run: &Run<'_>) -> Result<Done> {
    match statement {
        Statement::Create(create) => create_relation(create, run),
        Statement::CreateIndex { table, index, if_not_exists } => {
            let found = run.changes.relation(table)?;
            let is_there = found.is_some_and(|table| {
                let mut all = table.indexes.iter().chain(&table.columns_indexes);
                all.any(|other| other.name.eq_ignore_ascii_case(&index.name))
            });
            if !(is_there && *if_not_exists) {
                run.create_index(table, index)?;
            }
            Ok(Done::default())
        }
        Statement::CreateFieldIndex { collection, index, if_not_exists } => {
            let limits = run.context().limits();
            let progress = &|done, total| limits.report(done, total);
            run.changes.create_field_index(collection, index, *if_not_exists, progress)?;
            Ok(Done::default())
        }
        Statement::DropFieldIndex { collection, name } => {
            run.changes.drop_field_index(collection, name)?;
            Ok(Done::default())
        }
        Statement::Drop { names, is_view, if_exists, cascade } => {
            for name in names {
                drop_relation(name, *is_view, *if_exists, *cascade, run)?;
            }
            Ok(Done::default())
        }
        Statement::DropCollection(collection) => {
            run.changes.drop(&collection.schema.name)?;
            Ok(Done::default())
        }
        Statement::DropIndex { names, if_exists } => {
            for name in names {
                match run.changes.drop_index(name) {
                    Err(error) if *if_exists && error.code() == ErrorCode::NotFound => {}
                    other => other?,
                }
            }
            Ok(Done::default())
        }
        Statement::Alter { table, schema, columns, rules } => {
            alter(table, schema, columns.as_deref(), rules, run)
        }
        _ => Err(Error::unsupported("this statement does not define anything")),
    }
}

fn create_relation(create: &Create, run: &Run<'_>) -> Result<Done> {
    let name = &create.schema.name;
    if let Some(other) = run.changes.relation(name)? {
        if create.if_not_exists {
            return Ok(Done::default());
        }
        let is_view = other.kind == RelationKind::View;
        if !(create.or_replace && is_view) {
            let kind = if is_view { "view" } else { "table" };
            return Err(Error::conflict(format!("{kind} {name:?} already exists"))
                .help("choose another name, or drop it first"));
        }
        run.changes.drop(name)?;
    }
    run.changes.create(&create.schema)?;
    for index in &create.indexes {
        run.create_index(name, index)?;
    }
    let Some(rows) = &create.rows else { return Ok(Done::default()) };
    let mut plan = rows.clone();
    optimize::optimize(&mut plan, run.changes, Level::Full, run.context().limits())?;
    let mut running = build(&lower(&plan), run.context())?;
    let table = made(name, run)?;
    let mut count = 0;
    while let Some(batch) = run.context().limits().over(|| running.next(run.context()))? {
        for row in 0..batch.row_count {
            let values = values_of(&batch, row, &table);
            super::check_row(&table, &values)?;
            run.changes.insert(&table, &borrowed(&values))?;
            count += 1;
        }
    }
    Ok(Done { count, returned: None })
}

/// A table that was just created.
fn made(name: &str, run: &Run<'_>) -> Result<Arc<Relation>> {
    run.changes
        .relation(name)?
        .ok_or_else(|| Error::not_found(format!("table {name:?} does not exist")))
}

fn drop_relation(
    name: &str,
    is_view: bool,
    if_exists: bool,
    cascade: bool,
    run: &Run<'_>,
) -> Result<()> {
    let Some(relation) = run.changes.relation(name)? else {
        if if_exists {
            return Ok(());
        }
        let names = run.changes.names()?;
        let kind = if is_view { "view" } else { "table" };
        let error = Error::not_found(format!("{kind} {name:?} does not exist"));
        return Err(error.near(name, names.iter().map(String::as_str)).help("or write IF EXISTS"));
    };
    match (relation.kind, is_view) {
        (RelationKind::View, false) => {
            return Err(Error::invalid(format!("{name:?} is a view")).help("write DROP VIEW"));
        }
        (RelationKind::Table, true) => {
            return Err(Error::invalid(format!("{name:?} is a table")).help("write DROP TABLE"));
        }
        _ => {}
    }
    match relation.kind {
        RelationKind::Table => {
            let pointing = references::pointing_tables(&relation, run)?;
            if let (Some(other), false) = (pointing.first(), cascade) {
                return Err(Error::conflict(format!("table {other:?} references table {name:?}"))
                    .help("drop that first, or write CASCADE"));
            }
            for other in pointing {
                drop_references(&other, name, run)?;
            }
        }
        RelationKind::View => {}
        RelationKind::Collection | RelationKind::File => {
            return Err(Error::invalid(format!("{name:?} is a collection"))
                .help("write DROP TABLE in a separate statement"));
        }
        RelationKind::Registered => {
            return Err(Error::unsupported(format!(
                "{name:?} is registered by the program; unregister it there"
            )));
        }
    }
    run.changes.drop(&relation.schema.name)
}

/// Removes the references to a table from another table.
fn drop_references(other: &str, name: &str, run: &Run<'_>) -> Result<()> {
    let other = made(other, run)?;
    let mut constraints = other.constraints.clone();
    constraints.references.retain(|reference| !reference.table.eq_ignore_ascii_case(name));
    let schema = TableSchema { properties: constraints.to_properties(), ..other.schema.clone() };
    run.changes.alter(&other.schema.name, &schema)
}

/// Renames, or rebuilds the table if its columns change.
fn alter(
    table: &Relation,
    schema: &TableSchema,
    columns: Option<&[Expr]>,
    rules: &Rules,
    run: &Run<'_>,
) -> Result<Done> {
    let Some(columns) = columns else {
        let mut pairs = table.schema.columns.iter().zip(&schema.columns);
        let is_renamed =
            schema.name != table.schema.name || pairs.any(|(old, anew)| old.name != anew.name);
        match table.kind {
            RelationKind::Table if is_renamed => rename(table, schema, run)?,
            _ => run.changes.alter(&table.schema.name, schema)?,
        }
        return Ok(Done::default());
    };
    let mut rows = run.changes.scan(table, &ScanRequest::whole(table))?;
    let mut batches: Vec<Batch> = Vec::new();
    while let Some(batch) = rows.next()? {
        run.context().check()?;
        let values = evaluate_arrays(columns, &batch, run.context())?;
        let mut anew = Batch::new(values, batch.row_count);
        for (index, value) in &rules.generated {
            anew.columns[*index] = evaluate_array(value, &anew, run.context())?;
        }
        batches.push(anew);
    }
    drop(rows);
    let counters = counters(table, run)?;
    run.changes.drop(&table.schema.name)?;
    run.changes.create(schema)?;
    let anew = made(&schema.name, run)?;
    for (name, next) in counters {
        if let Some(column) = anew.column_index(&name) {
            run.changes.set_identity(&anew, column, next)?;
        }
    }
    for batch in &batches {
        super::check_rules(&anew, rules, batch, run)?;
        for row in 0..batch.row_count {
            let values: Vec<Value> = batch
                .columns
                .iter()
                .zip(&schema.columns)
                .map(|(array, column)| value_at(array, row, &column.column_type))
                .collect();
            super::check_row(&anew, &values)?;
            run.changes.insert(&anew, &borrowed(&values))?;
        }
    }
    remake_indexes(table, schema, run)?;
    let anew = made(&schema.name, run)?;
    batches.iter().try_for_each(|batch| references::check_targets(&anew, batch, run))?;
    Ok(Done::default())
}

/// The identity columns of a table, with their next numbers.
fn counters(table: &Relation, run: &Run<'_>) -> Result<Vec<(String, i64)>> {
    let columns = table.constraints.identity.keys();
    let places = columns.filter_map(|name| Some((name, table.column_index(name)?)));
    let counter = |(name, at): (&String, usize)| {
        let next = match run.changes.next_identity(table, at) {
            // All numbers are used.
            Err(error) if error.code() == ErrorCode::InvalidInput => i64::MAX,
            next => next?,
        };
        Ok((name.clone(), next))
    };
    places.map(counter).collect()
}

/// Rebuilds a table, with columns computed from the old ones.
///
/// # Errors
/// Rows that do not fit; errors of the store.
pub fn rebuild(
    table: &Relation,
    schema: &TableSchema,
    columns: &[Expr],
    writing: Writing<'_>,
    context: &Context,
) -> Result<()> {
    let run = Run::within(writing, context);
    alter(table, schema, Some(columns), &Rules::default(), &run).map(|_| ())
}

/// Creates the indexes of the old table on the new one. Finds their columns by name.
fn remake_indexes(table: &Relation, schema: &TableSchema, run: &Run<'_>) -> Result<()> {
    for index in &table.indexes {
        let columns = index.columns.iter().map(|(column, descending)| {
            let name = &table.schema.columns[*column].name;
            schema.column_index(name).map(|column| (column, *descending))
        });
        if let Some(columns) = columns.collect() {
            let anew = IndexInfo { columns, ..index.clone() };
            run.create_index(&schema.name, &anew)?;
        }
    }
    for index in &table.columns_indexes {
        let column = |(column, _): &(usize, bool)| {
            Some((schema.column_index(&table.schema.columns[*column].name)?, false))
        };
        let columns: Vec<_> = index.columns.iter().filter_map(column).collect();
        // One of named columns, all of which are dropped, would become one of all.
        if columns.is_empty() == index.columns.is_empty() {
            let anew = IndexInfo { columns, ..index.clone() };
            run.create_index(&schema.name, &anew)?;
        }
    }
    Ok(())
}
