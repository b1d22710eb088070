//! UPDATE, DELETE and TRUNCATE.

use std::sync::Arc;

use arrow_array::{ArrayRef, NullArray};
use folio_compute::array::value_at;
use folio_compute::{Batch, Result};
use folio_types::{Value, borrowed};

use super::row::{batch_of, key_of, read_written, values_of};
use super::{ByKey, ChangePlan, Done, Run, check_row, check_rules, gather, references, returned};
use crate::source::{Relation, RelationKind, ScanRequest};

/// Updates the rows of a plan, by its short path if it has one.
///
/// # Errors
/// A constraint that would be broken, by name; errors of the input.
pub(crate) fn update(plan: &ChangePlan, by_key: Option<&ByKey>, run: &Run<'_>) -> Result<Done> {
    match by_key {
        Some(by_key) => by_key.update(run),
        None => update_rows(plan, &gather(&plan.input, run)?, run),
    }
}

/// Updates given rows: old columns, then new values.
///
/// # Errors
/// As [`update`].
pub(super) fn update_rows(plan: &ChangePlan, old: &Batch, run: &Run<'_>) -> Result<Done> {
    let table = &plan.table;
    if old.row_count == 0 {
        return nothing(plan, old, run);
    }
    let first_value = table.schema.columns.len() + usize::from(table.schema.primary_key.is_empty());
    let row_size = table.schema.columns.len() * size_of::<Value>();
    run.context().charge(old.size() + old.row_count * row_size)?;
    let mut rows = Vec::with_capacity(old.row_count);
    for row in 0..old.row_count {
        let mut values = values_of(old, row, table);
        for (position, index) in plan.changed.iter().enumerate() {
            values[*index] =
                value_at(&old.columns[first_value + position], row, table.column_type(*index));
        }
        rows.push(values);
    }
    super::compute(table, &plan.rules, &mut rows, run)?;
    rows.iter().try_for_each(|row| check_row(table, row))?;
    let mut changed = plan.changed.clone();
    let generated = plan.rules.generated.iter().map(|(index, _)| *index);
    changed.extend(generated.filter(|index| !plan.changed.contains(index)));
    let moves_keys = moves_keys(table, &changed);
    let needs_batch = !plan.rules.checks.is_empty()
        || plan.returning.is_some()
        || moves_keys
        || !table.constraints.references.is_empty();
    let mut batch = if needs_batch { Some(batch_of(&rows, table)?) } else { None };
    if let Some(batch) = &batch {
        check_rules(table, &plan.rules, batch, run)?;
    }
    let keeps_key = table.kind == RelationKind::Table
        && !changed.iter().any(|index| table.schema.primary_key.contains(index));
    let is_whole = table.document_column().is_some_and(|column| changed.contains(&column));
    let missing = plan.returning.as_ref().map(|returning| returning.missing(table, is_whole));
    let missing = missing.unwrap_or_default();
    for (row, values) in rows.iter_mut().enumerate() {
        if row % 1024 == 0 {
            run.context().check()?;
        }
        let key = key_of(old, row, table);
        if keeps_key {
            let given: Vec<_> = changed.iter().map(|index| values[*index].as_ref()).collect();
            run.changes.update_columns(table, &borrowed(&key), &changed, &given)?;
        } else {
            run.changes.update(table, &borrowed(&key), &borrowed(values))?;
        }
        read_written(values, &missing, table, run)?;
    }
    if !missing.is_empty() {
        batch = Some(batch_of(&rows, table)?);
    }
    if let Some(batch) = &batch {
        // Rows with references to their own table may reference other rows now.
        let follows = moves_keys
            && references::follow_moved(table, &changed, old, batch, run)?
            && !table.schema.primary_key.is_empty();
        match follows {
            true => references::check_targets(table, &as_they_are(table, &rows, run)?, run)?,
            false => references::check_targets(table, batch, run)?,
        }
    }
    let returned = match &batch {
        Some(batch) => returned(plan.returning.as_ref(), batch, old, run)?,
        None => None,
    };
    Ok(Done { count: rows.len() as u64, returned })
}

/// The current rows of a table for the keys of these rows.
fn as_they_are(table: &Relation, rows: &[Vec<Value>], run: &Run<'_>) -> Result<Batch> {
    let key = &table.schema.primary_key;
    let mut found = Vec::with_capacity(rows.len());
    for row in rows {
        let key_values: Vec<Value> = key.iter().map(|index| row[*index].clone()).collect();
        found.extend(super::row::find(run, table, key, &key_values)?.map(|(_, row)| row));
    }
    batch_of(&found, table)
}

/// Whether columns change that other tables may reference.
pub(super) fn moves_keys(table: &Relation, changed: &[usize]) -> bool {
    let is_key = |index: &usize| {
        table.schema.primary_key.contains(index)
            || table.indexes.iter().any(|other| {
                other.unique && other.columns.iter().any(|(column, _)| column == index)
            })
    };
    changed.iter().any(is_key)
}

fn nothing(plan: &ChangePlan, input: &Batch, run: &Run<'_>) -> Result<Done> {
    let none: [Vec<Value>; 0] = [];
    let rows = batch_of(&none, &plan.table)?;
    Ok(Done { count: 0, returned: returned(plan.returning.as_ref(), &rows, input, run)? })
}

/// Deletes the rows of a plan, by its short path if it has one.
///
/// # Errors
/// `conflict` if rows are referenced; errors of the input.
pub(crate) fn delete(plan: &ChangePlan, by_key: Option<&ByKey>, run: &Run<'_>) -> Result<Done> {
    match by_key {
        Some(by_key) => by_key.delete(run),
        None => delete_rows_of(plan, gather(&plan.input, run)?, run),
    }
}

/// Deletes given rows.
///
/// # Errors
/// As [`delete`].
pub(super) fn delete_rows_of(plan: &ChangePlan, mut gone: Batch, run: &Run<'_>) -> Result<Done> {
    let table = &plan.table;
    if gone.row_count == 0 {
        return nothing(plan, &gone, run);
    }
    if let Some(read) = &plan.read {
        gone = in_places(gone, read, table.schema.columns.len());
    }
    let count = delete_rows(table, &gone, run)?;
    references::follow_deletion(table, &gone, run)?;
    let rows = Batch::new(gone.columns[..table.schema.columns.len()].to_vec(), gone.row_count);
    Ok(Done { count, returned: returned(plan.returning.as_ref(), &rows, &gone, run)? })
}

/// Puts columns in their positions among those of a table; the others are empty.
fn in_places(rows: Batch, places: &[usize], width: usize) -> Batch {
    let nothing: ArrayRef = Arc::new(NullArray::new(rows.row_count));
    let mut columns = vec![nothing; width];
    for (place, column) in places.iter().zip(rows.columns) {
        columns[*place] = column;
    }
    Batch::new(columns, rows.row_count)
}

/// Up to this many rows are deleted one by one, even if they are all rows of the table.
const CLEARED_MIN: usize = 256;

/// Deletes rows, in bulk if they are all rows of the table. Returns how many.
fn delete_rows(table: &Relation, gone: &Batch, run: &Run<'_>) -> Result<u64> {
    let is_table = table.kind == RelationKind::Table;
    if is_table
        && gone.row_count > CLEARED_MIN
        && run.changes.row_count(table)? == Some(gone.row_count as u64)
    {
        run.changes.clear(table)?;
        return Ok(gone.row_count as u64);
    }
    let mut count = 0;
    for row in 0..gone.row_count {
        if row % 1024 == 0 {
            run.context().check()?;
        }
        count += u64::from(run.changes.delete(table, &borrowed(&key_of(gone, row, table)))?);
    }
    Ok(count)
}

/// Deletes all rows of tables.
///
/// # Errors
/// `conflict` if rows are referenced.
pub(crate) fn truncate(table: &Relation, restart: bool, run: &Run<'_>) -> Result<Done> {
    let mut rows = run.changes.scan(table, &ScanRequest::whole(table))?;
    let mut batches = Vec::new();
    while let Some(batch) = rows.next()? {
        batches.push(batch);
    }
    drop(rows);
    if table.kind == RelationKind::Table {
        run.changes.clear(table)?;
    }
    let numbered = table.constraints.identity.keys().filter(|_| restart);
    for column in numbered.filter_map(|name| table.column_index(name)) {
        run.changes.set_identity(table, column, 1)?;
    }
    let mut count = 0;
    for batch in &batches {
        run.context().check()?;
        count += match table.kind {
            RelationKind::Table => batch.row_count as u64,
            _ => delete_rows(table, batch, run)?,
        };
        references::follow_deletion(table, batch, run)?;
    }
    Ok(Done { count, returned: None })
}
