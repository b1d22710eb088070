//! ADD, UPDATE and DELETE of entities: rows of their table, and rows of the tables
//! their to-many links are kept in.
//!
//! All that a statement gives is looked up before anything is written, so that it
//! sees the state before itself. The answer is the keys of what was changed.

use std::ops::Range;
use std::sync::Arc;

use folio_types::{ColumnType, ErrorCode, Value, borrowed};

use super::entity_link::{LinkEdit, Linked};
use super::entity_literals::Literals;
use super::entity_written::{Stands, Written};
use super::row::{batch_of, find, key_of, values_of};
use super::{ChangePlan as RowChange, Run, check_row, check_rules};
use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::execute::collect;
use crate::execute::context::Context;
use crate::execute::scan::few_keys;
use crate::expression::Expr;
use crate::expression::evaluate::constant;
use crate::expression::value::{nulls, value_at};
use crate::plan::physical::Physical;
use crate::source::{Bound, Relation, ScanRequest};
use crate::span::Span;
use crate::sql::statement::{Returning, Rules};
use crate::ziql::ast::OnConflict;
use crate::ziql::bind::Places;
use crate::ziql::tape::Tape;

/// New entities, ready to be written.
pub(crate) struct EntityAdd {
    pub(crate) table: Arc<Relation>,
    pub(crate) key: usize,
    /// The columns of the table's references, one behind the other.
    pub(crate) pointing: Vec<usize>,
    pub(crate) rows: Vec<NewEntity>,
    pub(crate) tape: Arc<Tape>,
    /// Where literals go, if any go as they are.
    pub(crate) places: Option<Places>,
    pub(crate) on_conflict: OnConflict,
    pub(crate) rules: Rules,
}

/// One of them, or many.
pub(crate) enum NewEntity {
    /// These tuples of the tape, whose values fit their places.
    Literals(Range<usize>),
    Given(Box<EntityRow>),
}

/// One with values that are to be computed, or links to be followed.
pub(crate) struct EntityRow {
    pub(crate) values: Vec<Given>,
    pub(crate) given: Vec<usize>,
    pub(crate) links: Vec<(Arc<Relation>, Linked)>,
    pub(crate) span: Span,
}

/// A value of a column.
pub(crate) enum Given {
    Value(Expr),
    Entity(GivenEntities),
}

/// Entities found by a condition.
pub(crate) struct GivenEntities {
    pub(crate) plan: Physical,
    pub(crate) entity: String,
    pub(crate) span: Span,
}

/// Entities to be changed.
pub(crate) struct EntityChange {
    pub(crate) rows: RowChange,
    pub(crate) key: usize,
    pub(crate) entities: Vec<GivenEntities>,
    pub(crate) links: Vec<EntityLink>,
    /// The members of the table's own columns that change, and where that stands.
    pub(crate) places: Vec<(String, Span)>,
}

/// A to-many link that is changed.
pub(crate) struct EntityLink {
    pub(crate) table: Arc<Relation>,
    pub(crate) edit: LinkEdit,
    pub(crate) span: Span,
}

impl EntityChange {
    /// Where an error is about: the change of the member it speaks of, or the only one.
    fn place(&self, error: &Error) -> Span {
        if error.code() == ErrorCode::Cancelled {
            return Span::NONE;
        }
        let is_of = |name: &str| {
            let mut words =
                error.message().split(|end: char| !(end.is_alphanumeric() || end == '_'));
            words.any(|word| word == name)
        };
        let found = self.places.iter().find(|(name, _)| is_of(name));
        let only = self.places.first().filter(|_| self.places.len() == 1);
        found.or(only).map_or(Span::NONE, |(_, span)| *span)
    }
}

impl GivenEntities {
    /// Their keys, in order.
    pub(super) fn keys(&self, context: &Context) -> Result<Vec<Value>> {
        if let Some(keys) = few_keys(&self.plan, context)? {
            return Ok(keys);
        }
        let rows = collect(&self.plan, context, usize::MAX)?;
        let Some(column) = rows.columns.first() else { return Ok(Vec::new()) };
        let ty = match column.data_type() {
            arrow_schema::DataType::FixedSizeBinary(16) => ColumnType::Uuid,
            arrow_schema::DataType::Utf8 => ColumnType::Text,
            arrow_schema::DataType::Int32 => ColumnType::Int32,
            arrow_schema::DataType::Int16 => ColumnType::Int16,
            _ => ColumnType::Int64,
        };
        Ok((0..rows.row_count).map(|row| value_at(column, row, &ty)).collect())
    }

    /// The key of the only one.
    fn only(&self, context: &Context) -> Result<Value> {
        let mut keys = self.keys(context)?;
        let entity = &self.entity;
        match keys.len() {
            1 => Ok(keys.remove(0)),
            0 => {
                let error = Error::invalid(format!("no `{entity}` passes the condition"));
                Err(error.at(self.span).help("a to-one link takes exactly one, or none"))
            }
            count => {
                let error = Error::invalid(format!("{count} of `{entity}` pass the condition"));
                Err(error
                    .at(self.span)
                    .help("a to-one link takes exactly one: `[1]{…}` takes the first"))
            }
        }
    }
}

/// Adds entities.
///
/// # Errors
/// Links that lead to none or too many; constraints that would be broken.
pub(crate) fn add(plan: &EntityAdd, run: &Run<'_>) -> Result<Batch> {
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
    written.write_links(plan.on_conflict == OnConflict::Update, run)?;
    let count = written.keys.len();
    Ok(Batch::new(vec![written.keys.into_array()?], count))
}

/// A row of values, and what its to-many links lead to.
type Computed<'p> = (Vec<Value>, Vec<(Arc<Relation>, Vec<Value>)>, &'p EntityRow);

fn add_computed(
    plan: &EntityAdd,
    (mut values, links, row): Computed<'_>,
    keys: &mut NewKeys,
    written: &mut Written<'_>,
    run: &Run<'_>,
) -> Result<()> {
    fill(plan, &mut values, keys, run)?;
    check(plan, &values, run)?;
    let Some(values) = write(plan, row, values, run)? else { return Ok(()) };
    written.stands(Stands::At(row.span));
    written.push(&borrowed(&values));
    written.link(&values[plan.key], links);
    Ok(())
}

/// A new entity once all that it gives was looked up.
enum Ready<'p> {
    Literals(Range<usize>),
    Computed(Vec<Value>, Vec<(Arc<Relation>, Vec<Value>)>, &'p EntityRow),
}

fn computed<'p>(row: &'p EntityRow, run: &Run<'_>) -> Result<Ready<'p>> {
    let values = row.values.iter().map(|value| match value {
        Given::Value(value) => constant(value, run.context()),
        Given::Entity(given) => given.only(run.context()),
    });
    let values: Vec<Value> = values.collect::<Result<_>>()?;
    let links = row
        .links
        .iter()
        .map(|(table, linked)| Ok((Arc::clone(table), linked.keys(run.context())?)));
    Ok(Ready::Computed(values, links.collect::<Result<_>>()?, row))
}

/// What can be done about a conflict.
pub(super) fn taken(error: Error) -> Error {
    if error.code() == ErrorCode::Conflict {
        return error.help("choose another value, or add OR SKIP or OR UPDATE");
    }
    error
}

/// What a row must pass by itself.
fn check(plan: &EntityAdd, values: &[Value], run: &Run<'_>) -> Result<()> {
    check_row(&plan.table, values)?;
    if plan.rules.checks.is_empty() {
        return Ok(());
    }
    let batch = batch_of(&[values.to_vec()], &plan.table)?;
    check_rules(&plan.table, &plan.rules, &batch, run)
}

/// The values a table gives by itself.
fn fill(plan: &EntityAdd, values: &mut [Value], keys: &mut NewKeys, run: &Run<'_>) -> Result<()> {
    for (index, value) in values.iter_mut().enumerate() {
        let column = &plan.table.schema.columns[index];
        if !matches!(value, Value::Null) {
            continue;
        }
        if plan.table.constraints.identity.contains_key(&column.name) {
            *value = Value::Integer(run.changes.next_identity(&plan.table, index)?);
        } else if index == plan.key && column.column_type == ColumnType::Uuid {
            *value = Value::Uuid(keys.next(run.context()).to_be_bytes());
        }
    }
    Ok(())
}

/// Writes a row, or does with the one in its way what the statement says. The row
/// as it is now; `None` where it was skipped.
fn write(
    plan: &EntityAdd,
    row: &EntityRow,
    values: Vec<Value>,
    run: &Run<'_>,
) -> Result<Option<Vec<Value>>> {
    if plan.on_conflict == OnConflict::Fail {
        run.changes.insert(&plan.table, &borrowed(&values)).map_err(taken)?;
        return Ok(Some(values));
    }
    let Some((key, mut old)) = twin(plan, &values, run)? else {
        run.changes.insert(&plan.table, &borrowed(&values))?;
        return Ok(Some(values));
    };
    if plan.on_conflict == OnConflict::Skip {
        return Ok(None);
    }
    for column in row.given.iter().filter(|column| **column != plan.key) {
        old[*column] = values[*column].clone();
    }
    check(plan, &old, run)?;
    run.changes.update(&plan.table, &borrowed(&key), &borrowed(&old))?;
    Ok(Some(old))
}

/// The row that has the key of another, or a value of it that is unique.
fn twin(
    plan: &EntityAdd,
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

/// Changes entities.
///
/// # Errors
/// As [`add`].
pub(crate) fn update(plan: &EntityChange, run: &Run<'_>) -> Result<Batch> {
    let mut more = Vec::with_capacity(plan.entities.len());
    for given in &plan.entities {
        more.push(given.only(run.context())?);
    }
    let edits = plan.links.iter().map(|link| Ok((link, link.edit.ready(run.context())?)));
    let edits: Vec<_> = edits.collect::<Result<_>>()?;
    let context = run.context().anew(&more);
    let run = Run::within(run.changes, &context);
    let keys = match plan.rows.changed.is_empty() {
        true => targets(plan, &run)?,
        false => {
            let told = |error: Error| {
                let place = plan.place(&error);
                error.at(place)
            };
            let done = super::update(&plan.rows, &run).map_err(told)?;
            done.returned.unwrap_or_else(|| Batch::new(Vec::new(), 0))
        }
    };
    let ty = plan.rows.table.column_type(plan.key).clone();
    for (link, edit) in &edits {
        edit.apply(&link.table, &keys, &ty, &run).map_err(|error| error.at(link.span))?;
    }
    Ok(keys)
}

/// Deletes entities.
///
/// # Errors
/// `conflict` where links restrict.
pub(crate) fn delete(plan: &EntityChange, run: &Run<'_>) -> Result<Batch> {
    let done = super::delete(&plan.rows, run)?;
    Ok(done.returned.unwrap_or_else(|| Batch::new(Vec::new(), 0)))
}

/// The keys of the entities meant.
fn targets(plan: &EntityChange, run: &Run<'_>) -> Result<Batch> {
    let rows = collect(&plan.rows.input, run.context(), usize::MAX)?;
    match rows.columns.get(plan.key) {
        Some(column) => Ok(Batch::new(vec![Arc::clone(column)], rows.row_count)),
        None => Ok(Batch::new(vec![nulls(plan.rows.table.column_type(plan.key), 0)], 0)),
    }
}

/// The answer of a statement that changes: the key, under its name.
pub(crate) fn returning(table: &Relation, key: usize) -> Returning {
    let name = table.schema.columns[key].name.clone();
    let column = crate::expression::Column {
        id: crate::expression::ColumnId(u32::try_from(key).unwrap_or(u32::MAX)),
        ty: table.column_type(key).clone(),
        name: (&*name).into(),
    };
    let outputs = vec![(column.clone(), Expr::Column(column))];
    Returning { outputs, names: vec![name], others: Vec::new() }
}

/// Keys of new entities: each greater than all there are, so that the order of keys
/// is that of insertion even where the clock has gone back.
pub(super) struct NewKeys {
    last: u128,
    /// Whether the last is too old to be counted on from.
    is_due: bool,
}

impl NewKeys {
    fn after_last(plan: &EntityAdd, run: &Run<'_>) -> Result<Self> {
        if *plan.table.column_type(plan.key) != ColumnType::Uuid {
            return Ok(Self { last: 0, is_due: true });
        }
        let mut row = Vec::with_capacity(1);
        run.changes.first(&plan.table, true, &[plan.key], &mut row)?;
        let last = match row.pop() {
            Some(Value::Uuid(bytes)) => u128::from_be_bytes(bytes),
            _ => 0,
        };
        Ok(Self::behind(last, run.context()))
    }

    /// Keys behind one that is there.
    fn behind(last: u128, context: &Context) -> Self {
        let is_of_time = last >> 76 & 0xF == 7;
        let burst_end = (last >> 80).saturating_add(BURST_MS);
        let is_due = !is_of_time || u128::from(context.millisecond()) >= burst_end;
        Self { last, is_due }
    }

    /// The time in a key is that of the first of a burst: the others are counted, and
    /// differ from it at their end only.
    #[inline]
    pub(super) fn next(&mut self, context: &Context) -> u128 {
        self.last = match std::mem::take(&mut self.is_due) {
            // A clock may be behind the last key.
            true => Some(context.ordered_uuid()).filter(|fresh| *fresh > self.last),
            false => None,
        }
        .unwrap_or_else(|| following(self.last));
        self.last
    }
}

/// Milliseconds for which keys are counted on. A page that has keys of two bursts stores most
/// of each, so that a load that takes its time must not have a burst per page.
const BURST_MS: u128 = 1000;

/// The next of a UUID: one higher, around version and variant.
#[inline]
fn following(uuid: u128) -> u128 {
    const LOW: u128 = (1 << 62) - 1;
    const FRACTION: u128 = 0xFFF;
    if uuid & LOW != LOW && uuid >> 76 & 0xF == 7 && uuid >> 62 & 3 == 2 {
        return uuid + 1;
    }
    let payload = (uuid >> 80) << 74 | ((uuid >> 64) & FRACTION) << 62 | (uuid & LOW);
    let payload = (payload + 1) & ((1 << 122) - 1);
    (payload >> 74) << 80 | 7 << 76 | ((payload >> 62) & FRACTION) << 64 | 1 << 63 | (payload & LOW)
}

/// The key and the values of the rows of a table whose key begins with a value.
pub(super) fn rows_beginning(
    table: &Relation,
    first: &Value,
    run: &Run<'_>,
) -> Result<Vec<(Vec<Value>, Vec<Value>)>> {
    let bound = Bound::Included(vec![first.clone()]);
    let request = ScanRequest {
        columns: (0..table.schema.columns.len()).collect(),
        from: bound.clone(),
        to: bound,
        ..ScanRequest::default()
    };
    let mut stream = run.changes.scan(table, &request)?;
    let mut found = Vec::new();
    while let Some(batch) = stream.next()? {
        for row in 0..batch.row_count {
            found.push((key_of(&batch, row, table), values_of(&batch, row, table)));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::{BURST_MS, NewKeys, following};
    use crate::execute::context::Context;

    #[test]
    fn keys_of_a_burst_differ_at_the_end_only() {
        let context = Context::detached();
        let mut keys = NewKeys::behind(0, &context);
        let (first, second) = (keys.next(&context), keys.next(&context));
        assert_eq!((first >> 76 & 0xF, second - first), (7, 1), "{first:032x} {second:032x}");
        let later = NewKeys::behind(first - (BURST_MS << 80), &context).next(&context);
        assert!(later >> 80 >= first >> 80, "{later:032x} has its own time, {first:032x} its");
    }

    #[test]
    fn the_next_uuid_is_greater_and_of_version_seven() {
        let mut uuid: u128 = 0x018f_0000_0000_7fff_bfff_ffff_ffff_ffff;
        for _ in 0..10 {
            let next = following(uuid);
            assert!(next > uuid, "{next:032x} follows {uuid:032x}");
            assert_eq!((next >> 76) & 0xF, 7, "{next:032x}");
            assert_eq!((next >> 62) & 0b11, 0b10, "{next:032x}");
            uuid = next;
        }
    }
}
