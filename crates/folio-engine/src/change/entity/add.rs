//! ADD: new rows, and conflicts with existing ones.

use std::ops::Range;
use std::sync::Arc;

use folio_compute::{Batch, Error, Result};
use folio_types::{ColumnType, ErrorCode, Value, borrowed};

use super::keys::NewKeys;
use super::literals::Literals;
use super::written::{Place, Written};
use crate::bound::entity::{EntityAdd, EntityRow, IfTaken, MemberValue, NewEntity};
use crate::change::row::{batch_of, find};
use crate::change::{Run, check_row, check_rules, compute, goes_on_after};
use crate::expression::evaluate::constant;
use crate::plan::physical::Physical;
use crate::source::Relation;

/// Adds entities.
///
/// # Errors
/// Links that lead to no or too many entities; constraints that would be broken.
pub(crate) fn add(plan: &EntityAdd<Physical>, run: &Run<'_>) -> Result<Batch> {
    let mut ready = Vec::with_capacity(plan.rows.len());
    for row in &plan.rows {
        ready.push(match row {
            NewEntity::Literals(tuples) => Ready::Literals(tuples.clone()),
            NewEntity::Given(row) => computed(row, run)?,
        });
    }
    let literals = Literals::of(plan, run)?;
    let (mut keys, mut written) = (NewKeys::after_last(plan, run)?, Written::new(plan));
    for row in ready {
        match row {
            Ready::Literals(tuples) => {
                if let Some(literals) = &literals {
                    literals.write(tuples, &mut keys, &mut written, run)?;
                }
            }
            Ready::Computed(values, links, row) => {
                let at = |error: Error| error.at(row.span);
                add_computed(plan, (values, links, row), &mut keys, &mut written, run)
                    .map_err(at)?;
            }
        }
    }
    written.check_references(run)?;
    written.write_links(plan.if_taken == IfTaken::Update, run)?;
    let count = written.keys.len();
    Ok(Batch::new(vec![written.keys.into_array()?], count))
}

/// A row of values, and the targets of its to-many links.
type Computed<'p> = (Vec<Value>, Vec<(Arc<Relation>, Vec<Value>)>, &'p EntityRow<Physical>);

fn add_computed(
    plan: &EntityAdd<Physical>,
    (mut values, links, row): Computed<'_>,
    keys: &mut NewKeys,
    written: &mut Written<'_>,
    run: &Run<'_>,
) -> Result<()> {
    fill(plan, &mut values, keys, run)?;
    compute(&plan.table, &plan.rules, std::slice::from_mut(&mut values), run)?;
    check(plan, &values, run)?;
    let Some(values) = write(plan, row, values, run)? else { return Ok(()) };
    written.set_place(Place::At(row.span));
    written.push(&borrowed(&values));
    written.link(&values[plan.key], links);
    Ok(())
}

/// A new entity with all its expressions evaluated.
enum Ready<'p> {
    Literals(Range<usize>),
    Computed(Vec<Value>, Vec<(Arc<Relation>, Vec<Value>)>, &'p EntityRow<Physical>),
}

fn computed<'p>(row: &'p EntityRow<Physical>, run: &Run<'_>) -> Result<Ready<'p>> {
    let values = row.values.iter().map(|value| match value {
        MemberValue::Value(value) => constant(value, run.context()),
        MemberValue::Entity(given) => given.only(run.context()),
    });
    let values: Vec<Value> = values.collect::<Result<_>>()?;
    let links = row
        .links
        .iter()
        .map(|(table, linked)| Ok((Arc::clone(table), linked.keys(run.context())?)));
    Ok(Ready::Computed(values, links.collect::<Result<_>>()?, row))
}

/// Adds help to a conflict error.
pub(super) fn taken(error: Error) -> Error {
    if error.code() == ErrorCode::Conflict {
        return error.help("choose another value, or add OR SKIP or OR UPDATE");
    }
    error
}

/// Checks the rules of a row.
fn check(plan: &EntityAdd<Physical>, values: &[Value], run: &Run<'_>) -> Result<()> {
    check_row(&plan.table, values)?;
    if plan.rules.checks.is_empty() {
        return Ok(());
    }
    let batch = batch_of(&[values.to_vec()], &plan.table)?;
    check_rules(&plan.table, &plan.rules, &batch, run)
}

/// Fills in generated values.
fn fill(
    plan: &EntityAdd<Physical>,
    values: &mut [Value],
    keys: &mut NewKeys,
    run: &Run<'_>,
) -> Result<()> {
    for (index, value) in values.iter_mut().enumerate() {
        let column = &plan.table.schema.columns[index];
        let is_numbered = plan.table.constraints.identity.contains_key(&column.name);
        match value {
            Value::Integer(given) if is_numbered && goes_on_after(&plan.table, index, *given) => {
                run.changes.pass_identity(&plan.table, index, *given)?;
            }
            Value::Null if is_numbered => {
                *value = Value::Integer(run.changes.next_identity(&plan.table, index)?);
            }
            Value::Null if index == plan.key && column.column_type == ColumnType::Uuid => {
                *value = Value::Uuid(keys.next(run.context()).to_be_bytes());
            }
            _ => {}
        }
    }
    Ok(())
}

/// Writes a row, or resolves the conflict as the statement says. Returns the row as it is now;
/// `None` if it was skipped.
fn write(
    plan: &EntityAdd<Physical>,
    row: &EntityRow<Physical>,
    values: Vec<Value>,
    run: &Run<'_>,
) -> Result<Option<Vec<Value>>> {
    if plan.if_taken == IfTaken::Fail {
        run.changes.insert(&plan.table, &borrowed(&values)).map_err(taken)?;
        return Ok(Some(values));
    }
    let Some((key, mut old)) = duplicate(plan, &values, run)? else {
        run.changes.insert(&plan.table, &borrowed(&values))?;
        return Ok(Some(values));
    };
    if plan.if_taken == IfTaken::Skip {
        return Ok(None);
    }
    for column in row.given.iter().filter(|column| **column != plan.key) {
        old[*column] = values[*column].clone();
    }
    compute(&plan.table, &plan.rules, std::slice::from_mut(&mut old), run)?;
    check(plan, &old, run)?;
    run.changes.update(&plan.table, &borrowed(&key), &borrowed(&old))?;
    Ok(Some(old))
}

/// The existing row with the same key or the same value of a unique index.
fn duplicate(
    plan: &EntityAdd<Physical>,
    values: &[Value],
    run: &Run<'_>,
) -> Result<Option<(Vec<Value>, Vec<Value>)>> {
    let unique = plan.table.indexes.iter().filter(|index| index.unique);
    let unique = unique.map(|index| index.columns.iter().map(|(column, _)| *column).collect());
    for key in std::iter::once(vec![plan.key]).chain(unique) {
        let wanted: Vec<Value> = key.iter().map(|column| values[*column].clone()).collect();
        if let Some(found) = find(run, &plan.table, &key, &wanted)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}
