//! Runs queries, and other statements that return rows.

use std::sync::Arc;

use folio_compute::array::to_array;
use folio_compute::{Batch, Result, Span};
use folio_types::{ColumnType, Value};

use super::short::{Given, Short};
use crate::bound::{self, Returning, Setting};
use crate::context::{Context, Parameters as _};
use crate::execute::build;
use crate::execute::limit::chosen;
use crate::execute::reading::request;
use crate::execute::scan::cheapest;
use crate::plan::display::{Line, add_times, display};
use crate::plan::logical::Plan;
use crate::plan::physical::{Physical, Scan};
use crate::rows::{Header, Rows, State, make_unique};

/// A query ready to run.
pub(super) struct Query {
    pub(super) physical: Physical,
    header: Arc<Header>,
    pub(super) short: Option<Short>,
}

impl Query {
    pub(super) fn of(
        query: bound::Query,
        physical: &dyn Fn(Plan) -> Result<Physical>,
    ) -> Result<Self> {
        let header = Header::new(query.names, query.plan.types());
        let physical = physical(query.plan)?;
        let short = Short::of(&physical);
        Ok(Self { physical, header, short })
    }

    /// Runs the query. `place` is its place if it is one of several.
    pub(super) fn run(
        &self,
        given: &Given<'_>,
        text: &Arc<str>,
        place: Option<Span>,
    ) -> Result<Rows> {
        let short = self.short.as_ref().map(|short| short.run(given)).transpose()?;
        let state = match short.flatten() {
            Some(row) => State::Row(row),
            None => State::running(build(&self.physical, given.context())?, given.context()),
        };
        Ok(Rows { header: Arc::clone(&self.header), state, text: Arc::clone(text), place })
    }
}

/// Explains a plan, one line per row, and times it if it is given.
pub(super) fn explain(
    shown: &Physical,
    advice: &[String],
    analyzed: Option<&Physical>,
    context: &Context,
) -> Result<Rows> {
    let shown = chosen(shown, context)?;
    let analyzed = analyzed.map(|plan| chosen(plan, context)).transpose()?;
    let noted = |scan: &Arc<Scan>| {
        let scan = cheapest(scan, context).unwrap_or(scan);
        let copy = || {
            let request = request(scan, context).ok()??;
            context.source().ok()?.describe_scan(&scan.relation, &request)
        };
        (Arc::clone(scan), copy())
    };
    let mut lines = display(shown, &noted);
    let sum = analyzed.map(|plan| run_timed(plan, &mut lines, context)).transpose()?;
    let lines = lines.into_iter().map(|line| line.text);
    let advice = advice.iter().map(|statement| format!("advice: {statement}"));
    let values: Vec<Value> = lines.chain(advice).chain(sum).map(Value::Text).collect();
    column_of("plan", ColumnType::Text, &values)
}

/// Runs a plan, and adds what its operators did to its lines. Returns what it did as a whole.
fn run_timed(plan: &Physical, lines: &mut [Line], context: &Context) -> Result<String> {
    let context = &context.with_times();
    let started = std::time::Instant::now();
    let mut running = build(plan, context)?;
    let mut count = 0;
    while let Some(batch) = context.limits().over(|| running.next(context))? {
        context.check()?;
        count += batch.row_count;
    }
    let time = started.elapsed().as_secs_f64() * 1000.0;
    if let Some(times) = context.times() {
        add_times(lines, plan, times);
    }
    Ok(format!("{count} rows in {time:.3} ms"))
}

/// The value of a setting.
pub(super) fn show(setting: Setting, context: &Context) -> Result<Rows> {
    let value = match setting {
        Setting::Threads => context.threads(),
        Setting::Timeout => context.limits().timeout_ms().unwrap_or(0),
        Setting::MemoryLimit => context.limits().memory().unwrap_or(0),
    };
    let value = Value::Integer(i64::try_from(value).unwrap_or(i64::MAX));
    column_of(setting.name(), ColumnType::Int64, &[value])
}

/// Rows of one column.
fn column_of(name: &str, ty: ColumnType, values: &[Value]) -> Result<Rows> {
    let column = to_array(values.iter(), &ty)?;
    let batch = Batch::new(vec![column], values.len());
    Ok(Rows::of(vec![name.to_owned()], vec![ty], batch))
}

/// The rows of RETURNING.
pub(super) fn answered(returning: &Returning, batch: Batch) -> Rows {
    let types = returning.outputs.iter().map(|(column, _)| column.ty.clone()).collect();
    let mut names = returning.names.clone();
    make_unique(&mut names);
    Rows::of(names, types, batch)
}
