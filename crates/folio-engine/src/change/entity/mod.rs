//! ADD, UPDATE and DELETE of entities: rows of their table, and rows of the tables of their
//! to-many links.
//!
//! A statement evaluates everything before it writes anything, so that it sees the state before
//! itself. It returns the keys of the changed entities.
//!
//! ```text
//! add        literals: many rows at once; keys: of new entities
//! written    the entities that an ADD has written, and the links and checks still to do
//! link       to-many links; link_rows: rows of their tables, inserted in bulk
//! ```

mod add;
mod keys;
mod link;
mod link_rows;
mod literals;
mod written;

use std::sync::Arc;

use folio_compute::array::{nulls, value_at};
use folio_compute::{Batch, Error, Result, Span};
use folio_types::{ColumnType, ErrorCode, Value};

use super::Run;
use super::row::{key_of, values_of};
use crate::bound::entity::{EntityChange, GivenEntities};
use crate::context::Context;
use crate::execute::collect;
use crate::plan::physical::Physical;
use crate::source::{Bound, Relation, ScanRequest};
pub(crate) use add::add;

impl EntityChange<Physical> {
    /// The place of an error: the member that it mentions, or the only changed one.
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

impl GivenEntities<Physical> {
    /// Their keys, in order.
    pub(super) fn keys(&self, context: &Context) -> Result<Vec<Value>> {
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

    /// The key of exactly one entity.
    pub(super) fn only(&self, context: &Context) -> Result<Value> {
        let mut keys = self.keys(context)?;
        let entity = &self.entity;
        match keys.len() {
            1 => Ok(keys.remove(0)),
            0 => {
                let error = Error::invalid(format!("no `{entity}` meets the condition"));
                Err(error.at(self.span).help("a to-one link takes exactly one, or none"))
            }
            count => {
                let error =
                    Error::invalid(format!("{count} entities of `{entity}` meet the condition"));
                Err(error
                    .at(self.span)
                    .help("a to-one link takes exactly one: `[1]{…}` takes the first"))
            }
        }
    }
}

/// Changes entities.
///
/// # Errors
/// As [`add`].
pub(crate) fn update(plan: &EntityChange<Physical>, run: &Run<'_>) -> Result<Batch> {
    let mut more = Vec::with_capacity(plan.entities.len());
    for given in &plan.entities {
        more.push(given.only(run.context())?);
    }
    let edits = plan.links.iter().map(|link| Ok((link, link.edit.ready(run.context())?)));
    let edits: Vec<_> = edits.collect::<Result<_>>()?;
    let context = run.context().with_more_parameters(&more);
    let run = run.again(&context);
    let keys = match plan.rows.changed.is_empty() {
        true => targets(plan, &run)?,
        false => {
            let reported = |error: Error| {
                let place = plan.place(&error);
                error.at(place)
            };
            let done = crate::change::update(&plan.rows, None, &run).map_err(reported)?;
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
/// `conflict` if a link restricts deletion.
pub(crate) fn delete(plan: &EntityChange<Physical>, run: &Run<'_>) -> Result<Batch> {
    let done = crate::change::delete(&plan.rows, None, run)?;
    Ok(done.returned.unwrap_or_else(|| Batch::new(Vec::new(), 0)))
}

/// The keys of the target entities.
fn targets(plan: &EntityChange<Physical>, run: &Run<'_>) -> Result<Batch> {
    let rows = collect(&plan.rows.input, run.context(), usize::MAX)?;
    match rows.columns.get(plan.key) {
        Some(column) => Ok(Batch::new(vec![Arc::clone(column)], rows.row_count)),
        None => Ok(Batch::new(vec![nulls(plan.rows.table.column_type(plan.key), 0)], 0)),
    }
}

/// The keys and values of a table's rows whose key begins with a value.
pub(super) fn rows_beginning(
    table: &Relation,
    first: &Value,
    run: &Run<'_>,
) -> Result<Vec<(Vec<Value>, Vec<Value>)>> {
    let bound = Bound::Included(vec![first.clone()]);
    let request = ScanRequest { from: bound.clone(), to: bound, ..ScanRequest::whole(table) };
    let mut stream = run.changes.scan(table, &request)?;
    let mut found = Vec::new();
    while let Some(batch) = stream.next()? {
        for row in 0..batch.row_count {
            found.push((key_of(&batch, row, table), values_of(&batch, row, table)));
        }
    }
    Ok(found)
}
