//! Several statements about entities. Each may read what those before it found or wrote. The last
//! one gives the result.

use std::sync::Arc;

use folio_compute::{Batch, Error, Result};

use super::query::{Query, explain};
use super::short::Given;
use crate::bind::StoredExpressions;
use crate::bound::{self, StepBody};
use crate::change::Run;
use crate::change::entity::{add, delete, update};
use crate::context::Context;
use crate::execute::{Pieces, build, drain};
use crate::limits::Held;
use crate::plan::logical::Plan;
use crate::plan::physical::Physical;
use crate::rows::{Header, Rows, State};
use crate::source::Changes;

/// Statements that run in order.
pub(super) struct Steps(Vec<Step>);

/// One of them, ready to run.
type Step = bound::Step<Physical, Query>;

impl Steps {
    pub(super) fn of(
        steps: Vec<bound::Step>,
        physical: &dyn Fn(Plan) -> Result<Physical>,
    ) -> Result<Self> {
        let step = |step: bound::Step| {
            let body = match step.body {
                StepBody::Rows(query) => StepBody::Rows(Query::of(query, physical)?),
                StepBody::Keys(plan) => StepBody::Keys(physical(plan)?),
                StepBody::Add(add) => StepBody::Add(add.lowered(physical)?),
                StepBody::Update(change) => StepBody::Update(change.lowered(physical)?),
                StepBody::Delete(change) => StepBody::Delete(change.lowered(physical)?),
            };
            Ok(Step { body, explain: step.explain, set: step.set, place: step.place })
        };
        steps.into_iter().map(step).collect::<Result<_>>().map(Self)
    }

    /// Whether they only read.
    pub(super) fn are_queries(&self) -> bool {
        let reads = |step: &Step| {
            step.explain || matches!(step.body, StepBody::Rows(_) | StepBody::Keys(_))
        };
        self.0.iter().all(reads)
    }

    /// Runs steps that only read. Streams the rows of the last one.
    ///
    /// # Errors
    /// Errors of the source.
    pub(super) fn query(&self, context: &Context, text: &Arc<str>) -> Result<Rows> {
        let Some((last, before)) = self.0.split_last() else { return Err(empty()) };
        let reported = |step: &Step, error: Error| error.in_ziql(step.place, text);
        for step in before {
            keep(step, context, text).map_err(|error| reported(step, error))?;
        }
        rows(last, context, text).map_err(|error| reported(last, error))
    }

    /// Runs steps that change, in order. After a failure part of them may be done: the caller rolls
    /// back to its savepoint.
    ///
    /// # Errors
    /// Constraints that would be broken; errors of the store.
    pub(super) fn execute(
        &self,
        (changes, stored): (&dyn Changes, &'static dyn StoredExpressions),
        context: &Context,
        text: &Arc<str>,
    ) -> Result<Rows> {
        let (mut last, mut context) = (None, context.clone());
        for step in &self.0 {
            // The next step must not see data cached by this one.
            context = context.with_more_parameters(&[]);
            let run = Run::within((changes, stored), &context);
            let done = change(step, &run, text);
            last = Some(done.map_err(|error| error.in_ziql(step.place, text))?);
        }
        last.ok_or_else(empty)
    }
}

/// Runs one step to its end, and stores its keys if they have a name.
fn change(step: &Step, run: &Run<'_>, text: &Arc<str>) -> Result<Rows> {
    let (keys, table) = match &step.body {
        _ if step.explain => return rows(step, run.context(), text),
        StepBody::Rows(_) => {
            let mut rows = rows(step, run.context(), text)?;
            rows.gather()?;
            return Ok(rows);
        }
        StepBody::Keys(_) => {
            keep(step, run.context(), text)?;
            return Ok(answer((Vec::new(), Arc::default()), step, text));
        }
        StepBody::Add(plan) => (add(plan, run)?, (&plan.table, plan.key)),
        StepBody::Update(plan) => (update(plan, run)?, (&plan.rows.table, plan.key)),
        StepBody::Delete(plan) => (delete(plan, run)?, (&plan.rows.table, plan.key)),
    };
    // A writer holds one batch of the usual size at a time.
    let keys: Vec<Batch> = Pieces::of(keys).collect();
    if let Some(number) = step.set {
        let mut held = Held::default();
        held.charge(run.context().limits(), keys.iter().map(Batch::size).sum())?;
        run.context().set_work_table(number, keys.clone(), held);
    }
    let (table, key) = table;
    let name = table.schema.columns[key].name.clone();
    let header = Header::new(vec![name], vec![table.column_type(key).clone()]);
    Ok(answer((keys, header), step, text))
}

/// Stores the keys that a step finds.
fn keep(step: &Step, context: &Context, text: &Arc<str>) -> Result<()> {
    let StepBody::Keys(plan) = &step.body else { return rows(step, context, text)?.gather() };
    let mut held = Held::default();
    let keys = drain(&mut build(plan, context)?, &mut held, context)?;
    if let Some(number) = step.set {
        context.set_work_table(number, keys, held);
    }
    Ok(())
}

fn rows(step: &Step, context: &Context, text: &Arc<str>) -> Result<Rows> {
    if step.explain {
        let plan = match &step.body {
            StepBody::Rows(query) => &query.physical,
            StepBody::Keys(plan) => plan,
            StepBody::Update(change) | StepBody::Delete(change) => &change.rows.input,
            StepBody::Add(_) => &Physical::OneRow,
        };
        return explain(plan, &[], None, context);
    }
    let StepBody::Rows(query) = &step.body else {
        return Err(Error::invalid("the statement changes what it reads"));
    };
    query.run(&Given::within(context)?, text, Some(step.place))
}

fn answer((batches, header): (Vec<Batch>, Arc<Header>), step: &Step, text: &Arc<str>) -> Rows {
    let state = State::Batches(batches.into_iter());
    Rows { header, state, text: Arc::clone(text), place: Some(step.place) }
}

fn empty() -> Error {
    Error::syntax("expected a statement, found the end of the text")
}
