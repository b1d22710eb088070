//! Other values for rows, and fewer rows.

use folio_types::{Value, borrowed};

use super::row::{batch_of, key_of, values_of};
use super::{ChangePlan, Done, Run, check_row, check_rules, gather, references, returned};
use crate::error::Result;
use crate::expression::value::value_at;
use crate::source::{Relation, RelationKind, ScanRequest};

/// Changes the rows of a plan.
///
/// # Errors
/// A constraint that would be broken, by name; what the input says.
pub(crate) fn update(plan: &ChangePlan, run: &Run<'_>) -> Result<Done> {
    if let Some(by_key) = &plan.by_key {
        return by_key.update(run);
    }
    let table = &plan.table;
    let old = gather(&plan.input, run)?;
    if old.row_count == 0 {
        return nothing(plan, run);
    }
    let first_value = table.schema.columns.len() + usize::from(table.schema.primary_key.is_empty());
    let mut rows = Vec::with_capacity(old.row_count);
    for row in 0..old.row_count {
        let mut values = values_of(&old, row, table);
        for (position, index) in plan.changed.iter().enumerate() {
            values[*index] =
                value_at(&old.columns[first_value + position], row, table.column_type(*index));
        }
        check_row(table, &values)?;
        rows.push(values);
    }
    let needs_batch = !plan.rules.checks.is_empty()
        || plan.returning.is_some()
        || !table.constraints.references.is_empty();
    let batch = if needs_batch { Some(batch_of(&rows, table)?) } else { None };
    if let Some(batch) = &batch {
        check_rules(table, &plan.rules, batch, run)?;
    }
    let keeps_key = table.kind == RelationKind::Table
        && !plan.changed.iter().any(|index| table.schema.primary_key.contains(index));
    for (row, values) in rows.iter().enumerate() {
        if row % 1024 == 0 {
            run.context().check()?;
        }
        let key = key_of(&old, row, table);
        if keeps_key {
            let changed: Vec<_> =
                plan.changed.iter().map(|index| values[*index].as_ref()).collect();
            run.changes.update_columns(table, &borrowed(&key), &plan.changed, &changed)?;
        } else {
            run.changes.update(table, &borrowed(&key), &borrowed(values))?;
        }
    }
    if let Some(batch) = &batch {
        references::check_targets(table, batch, run)?;
    }
    if moves_keys(table, &plan.changed) {
        references::check_moved(table, &plan.changed, &old, run)?;
    }
    let returned = match &batch {
        Some(batch) => returned(plan.returning.as_ref(), batch, run)?,
        None => None,
    };
    Ok(Done { count: rows.len() as u64, returned })
}

/// Whether columns change that others may point at.
pub(super) fn moves_keys(table: &Relation, changed: &[usize]) -> bool {
    let is_key = |index: &usize| {
        table.schema.primary_key.contains(index)
            || table.indexes.iter().any(|other| {
                other.unique && other.columns.iter().any(|(column, _)| column == index)
            })
    };
    changed.iter().any(is_key)
}

fn nothing(plan: &ChangePlan, run: &Run<'_>) -> Result<Done> {
    let none: [Vec<Value>; 0] = [];
    let rows = batch_of(&none, &plan.table)?;
    Ok(Done { count: 0, returned: returned(plan.returning.as_ref(), &rows, run)? })
}

/// Deletes the rows of a plan.
///
/// # Errors
/// `conflict` where rows are pointed at; what the input says.
pub(crate) fn delete(plan: &ChangePlan, run: &Run<'_>) -> Result<Done> {
    if let Some(by_key) = &plan.by_key {
        return by_key.delete(run);
    }
    let table = &plan.table;
    let gone = gather(&plan.input, run)?;
    if gone.row_count == 0 {
        return nothing(plan, run);
    }
    let mut count = 0;
    for row in 0..gone.row_count {
        if row % 1024 == 0 {
            run.context().check()?;
        }
        count += u64::from(run.changes.delete(table, &borrowed(&key_of(&gone, row, table)))?);
    }
    references::follow_deletion(table, &gone, run, 0)?;
    Ok(Done { count, returned: returned(plan.returning.as_ref(), &gone, run)? })
}

/// Deletes all rows of tables.
///
/// # Errors
/// `conflict` where rows are pointed at.
pub(crate) fn truncate(table: &Relation, run: &Run<'_>) -> Result<Done> {
    let request = ScanRequest {
        columns: (0..table.schema.columns.len()).collect(),
        with_row_number: table.schema.primary_key.is_empty(),
        ..ScanRequest::default()
    };
    let mut rows = run.changes.scan(table, &request)?;
    let mut batches = Vec::new();
    while let Some(batch) = rows.next()? {
        batches.push(batch);
    }
    drop(rows);
    let mut count = 0;
    for batch in &batches {
        run.context().check()?;
        for row in 0..batch.row_count {
            count += u64::from(run.changes.delete(table, &borrowed(&key_of(batch, row, table)))?);
        }
        references::follow_deletion(table, batch, run, 0)?;
    }
    Ok(Done { count, returned: None })
}
