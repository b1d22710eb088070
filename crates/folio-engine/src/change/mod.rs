//! Runs statements that change tables.
//!
//! A statement first collects the rows to change, with the same operators as a query, so it never
//! sees its own changes. Rules are checked batch by batch. References are checked when all rows are
//! written. The caller sets a savepoint before and rolls back to it on failure.

mod by_key;
mod definition;
pub(crate) mod entity;
mod insert;
mod key_column;
mod merge;
mod references;
mod rename;
mod row;
mod update;

use folio_compute::array::{nulls, value_at};
use folio_compute::{Batch, Error, Result};
use folio_types::{ColumnType, Value, ValueRef};

use crate::bind::{Binding, StoredExpressions};
use crate::bound::{Change, Insert, Returning, Rules};
use crate::context::{Context, OnDemand, Parameters, find_parameter};
use crate::execute::collect;
use crate::expression::evaluate::{evaluate_array, evaluate_arrays};
use crate::limits::Limits;
use crate::plan::physical::Physical;
use crate::source::{Changes, Relation};
pub(crate) use by_key::ByKey;
pub(crate) use definition::define;
pub use definition::rebuild;
pub(crate) use insert::insert;
pub(crate) use merge::{MergeClause, MergePlan, merge};
pub(crate) use update::{delete, truncate, update};

/// A transaction, and the context of its statement.
pub(crate) struct Run<'r> {
    pub(crate) changes: &'r dyn Changes,
    /// Parses expressions that tables store as text.
    stored: &'static dyn StoredExpressions,
    parameters: &'r [Value],
    context: OnDemand<'r>,
}

/// A transaction, and the parser for the expressions that its tables store as text.
pub type Writing<'r> = (&'r dyn Changes, &'static dyn StoredExpressions);

impl<'r> Run<'r> {
    /// For a statement that may need only its parameters.
    pub(crate) fn new(
        (changes, stored): Writing<'r>,
        parameters: &'r [Value],
        make: &'r dyn Fn() -> Context,
    ) -> Self {
        Self { changes, stored, parameters, context: OnDemand::later(make) }
    }

    /// For a part of a larger statement.
    pub(crate) fn within((changes, stored): Writing<'r>, context: &'r Context) -> Self {
        Self {
            changes,
            stored,
            parameters: context.parameters(),
            context: OnDemand::Ready(context),
        }
    }

    /// The same statement with another context.
    fn again<'c>(&self, context: &'c Context) -> Run<'c>
    where
        'r: 'c,
    {
        Run::within((self.changes, self.stored), context)
    }

    /// A binding for the text that a table stores.
    fn binding(&self) -> Binding<'_> {
        Binding::new(self.changes, self.stored, Limits::default())
    }

    /// The context for operators and expressions.
    pub(crate) fn context(&self) -> &Context {
        self.context.get()
    }
}

impl Parameters for Run<'_> {
    fn parameter(&self, index: usize) -> Result<&Value> {
        find_parameter(self.parameters, index)
    }

    fn context(&self) -> &Context {
        self.context()
    }
}

/// An INSERT ready to run.
pub(crate) type InsertPlan = Insert<Physical>;

/// An UPDATE or DELETE ready to run.
pub(crate) type ChangePlan = Change<Physical>;

/// The result of a statement.
#[derive(Debug, Default)]
pub(crate) struct Done {
    /// Rows inserted, changed or deleted.
    pub(crate) count: u64,
    /// The columns of RETURNING.
    pub(crate) returned: Option<Batch>,
}

/// The types of a table's columns.
pub(crate) fn types_of(table: &Relation) -> Vec<ColumnType> {
    table.schema.columns.iter().map(|column| column.column_type.clone()).collect()
}

/// Evaluates RETURNING over the changed rows and the columns of other tables in the input.
fn returned(
    returning: Option<&Returning>,
    rows: &Batch,
    input: &Batch,
    run: &Run<'_>,
) -> Result<Option<Batch>> {
    let Some(returning) = returning else { return Ok(None) };
    let mut beside = rows.clone();
    let first = input.columns.len().saturating_sub(returning.others.len());
    match input.row_count {
        0 => beside.columns.extend(returning.others.iter().map(|column| nulls(&column.ty, 0))),
        _ => beside.columns.extend_from_slice(&input.columns[first..]),
    }
    let rows = &beside;
    let outputs = returning.outputs.iter().map(|(_, output)| output);
    Ok(Some(Batch::new(evaluate_arrays(outputs, rows, run.context())?, rows.row_count)))
}

/// Whether the numbers of an identity column can go on after one that was given: not after the greatest
/// of its type.
fn goes_on_after(table: &Relation, column: usize, given: i64) -> bool {
    let next = given.checked_add(1);
    next.is_some_and(|next| table.column_type(column).accepts(ValueRef::Integer(next)))
}

/// Collects all rows to change.
fn gather(input: &Physical, run: &Run<'_>) -> Result<Batch> {
    let rows = collect(input, run.context(), usize::MAX)?;
    run.context().charge(rows.size())?;
    Ok(rows)
}

/// Refuses a row that breaks a NOT NULL or a length of its table.
///
/// # Errors
/// `conflict`, `invalid_input`.
pub fn check_row(table: &Relation, row: &[Value]) -> Result<()> {
    row.iter().enumerate().try_for_each(|(index, value)| check_value(table, index, value.as_ref()))
}

/// Help for a missing value.
const GIVE: &str = "give it a value";

/// Checks a value against its column.
fn check_value(table: &Relation, index: usize, value: ValueRef<'_>) -> Result<()> {
    let column = &table.schema.columns[index];
    match value {
        ValueRef::Null if !column.nullable => {
            let (name, table) = (&column.name, &table.schema.name);
            let problem = format!("column {name:?} of table {table:?} must not be null");
            Err(Error::conflict(problem)
                .help(GIVE)
                .of_entities(format!("member `{name}` of `{table}` must not be none"), GIVE))
        }
        ValueRef::Text(text) if !table.constraints.lengths.is_empty() => {
            let Some(length) = table.constraints.lengths.get(&column.name) else { return Ok(()) };
            let is_short = text.len() <= *length as usize;
            let given = if is_short { 0 } else { text.chars().count() };
            if given <= *length as usize {
                return Ok(());
            }
            let name = &column.name;
            let takes = format!("takes at most {length} characters, not {given}");
            Err(Error::invalid(format!("column {name:?} {takes}"))
                .help("shorten the text, or make the column a longer varchar")
                .of_entities(format!("member `{name}` {takes}"), "shorten the text"))
        }
        _ => Ok(()),
    }
}

/// Computes generated columns.
fn compute(table: &Relation, rules: &Rules, rows: &mut [Vec<Value>], run: &Run<'_>) -> Result<()> {
    if rules.generated.is_empty() || rows.is_empty() {
        return Ok(());
    }
    // Generated columns do not depend on each other, so all use the same rows.
    let batch = row::batch_of(rows, table)?;
    for (index, value) in &rules.generated {
        let array = evaluate_array(value, &batch, run.context())?;
        for (at, row) in rows.iter_mut().enumerate() {
            row[*index] = value_at(&array, at, table.column_type(*index));
        }
    }
    Ok(())
}

/// Refuses rows for which a CHECK is false. Null passes, as in SQL.
fn check_rules(table: &Relation, rules: &Rules, rows: &Batch, run: &Run<'_>) -> Result<()> {
    for (name, condition) in &rules.checks {
        let verdicts = evaluate_array(condition, rows, run.context())?;
        let verdicts = arrow_array::cast::as_boolean_array(&verdicts);
        if verdicts.iter().any(|verdict| verdict == Some(false)) {
            let table = &table.schema.name;
            let (fails, help) = (condition.to_string(), "give values that meet the condition");
            return Err(Error::conflict(format!(
                "a row of table {table:?} violates constraint {name:?}: {fails}"
            ))
            .help(help)
            .of_entities(format!("a `{table}` violates constraint `{name}`: {fails}"), help));
        }
    }
    Ok(())
}
