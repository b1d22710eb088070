//! Operators, a file each. An operator returns batches one by one on request.
//!
//! [`build`] makes the operators of a physical plan. Pulling at the topmost runs the query. Every
//! operator checks the limits at the start of a batch, so another thread can cancel a statement
//! at any time.

pub(crate) mod aggregate;
mod append;
mod apply;
mod distinct;
mod fetch;
mod filter;
mod follow;
mod hash_join;
mod hash_partition;
pub(crate) mod limit;
mod limit_per_parent;
mod lookup_join;
mod loop_join;
mod matched_rows;
mod merge;
mod merge_join;
pub(crate) mod pairs;
mod parallel;
mod partners;
mod parts;
mod pipeline;
mod probe;
pub(crate) mod reading;
mod recursive;
pub(crate) mod scan;
mod semi_join;
pub(crate) mod shared;
mod sort;
mod sort_keys;
mod spill;
mod stage;
mod stream_distinct;
mod table_function;
mod timed;
mod unnest;
pub(crate) mod values;
pub(crate) mod window;

use std::sync::Arc;

use folio_compute::{BATCH_SIZE, Batch, Result};

use crate::context::Context;
use crate::expression::{ColumnId, Expr, Query};
use crate::limits::Held;
use crate::plan::physical::{self, Physical};

/// An operator of a running query.
pub(crate) trait Operator: Send {
    /// The next rows; `None` after the last. Batches may be empty.
    ///
    /// # Errors
    /// Errors of the source and the expressions.
    fn next(&mut self, context: &Context) -> Result<Option<Batch>>;

    /// Passes over `count` rows, or all if there are fewer, and returns how many: none if they have to
    /// be read. Called before the first rows.
    ///
    /// # Errors
    /// As [`Operator::next`].
    fn skip(&mut self, count: u64, context: &Context) -> Result<u64> {
        let _ = (count, context);
        Ok(0)
    }
}

/// A running query, or part of one.
pub(crate) type Running = Box<dyn Operator>;

/// Builds the operators of a plan.
///
/// # Errors
/// Errors of the source when a scan begins.
pub(crate) fn build(plan: &Physical, context: &Context) -> Result<Running> {
    let plan = limit::chosen(plan, context)?;
    if let Physical::Project(_) | Physical::Filter(_) | Physical::HashJoin(_) | Physical::Apply(_) =
        plan
        && let Some(pipeline) = pipeline::of(plan, context)?
    {
        return Ok(Box::new(pipeline));
    }
    if let Physical::Scan(node) = plan {
        let scan = scan::cheapest(node, context)?;
        if let parts @ 2.. = parallel::parts_worth(scan, context)? {
            return Ok(Box::new(parallel::ParallelScan::new(scan, parts, Vec::new())));
        }
        return one_scan(plan, scan, context);
    }
    let running = timed::own(plan.node(), context, || operator(plan, context))?;
    Ok(timed::timed(plan.node(), running, context))
}

/// The operator of a scan that one thread reads.
fn one_scan(plan: &Physical, scan: &Arc<physical::Scan>, context: &Context) -> Result<Running> {
    let begun = timed::own(plan.node(), context, || scan::Scan::begin(scan, context))?;
    Ok(timed::timed(plan.node(), Box::new(begun), context))
}

/// The operator of a plan that runs on the thread which asks for rows.
fn operator(plan: &Physical, context: &Context) -> Result<Running> {
    let over = |input: &Physical| build(input, context);
    Ok(match plan {
        Physical::OneRow => Box::new(values::OneRow::default()),
        Physical::Scan(_) | Physical::ByCount(_) => unreachable!("the caller has looked"),
        Physical::Lookup(lookup) => Box::new(scan::Lookup::new(lookup)),
        Physical::RowCount(scan) => Box::new(scan::RowCount::new(scan)),
        Physical::Values(values) => Box::new(values::Values::new(values)),
        Physical::Project(project) => {
            Box::new(values::Project::new(project, over(&project.input)?))
        }
        Physical::Filter(filter) => Box::new(filter::Filter::new(filter, over(&filter.input)?)),
        Physical::HashJoin(_)
        | Physical::MergeJoin(_)
        | Physical::LoopJoin(_)
        | Physical::LookupJoin(_)
        | Physical::Apply(_) => build_join(plan, context)?,
        Physical::Aggregate(grouping) if !grouping.run.is_empty() => Box::new(
            aggregate::stream_grouping::StreamGrouping::new(grouping, over(&grouping.input)?),
        ),
        Physical::Aggregate(grouping) => {
            let input = match pipeline::of(&grouping.input, context)? {
                Some(pipeline) => {
                    aggregate::grouping::Input::Parts(Box::new(pipeline.grouped(grouping, context)))
                }
                None => aggregate::grouping::Input::Rows(over(&grouping.input)?),
            };
            Box::new(aggregate::grouping::Grouping::new(grouping, input))
        }
        Physical::Window(window) => Box::new(window::Window::new(window, over(&window.input)?)),
        Physical::Sort(sort) => Box::new(sort::Sort::begin(sort, context)?),
        Physical::Limit(limit) => Box::new(limit::Limit::new(limit, over(&limit.input)?)),
        Physical::Distinct(distinct) if distinct.is_in_order => {
            Box::new(stream_distinct::StreamDistinct::new(distinct, over(&distinct.input)?))
        }
        Physical::Distinct(distinct) => {
            Box::new(distinct::Distinct::new(distinct, over(&distinct.input)?))
        }
        Physical::Append(inputs) => {
            Box::new(append::Append::new(over(&inputs.0)?, over(&inputs.1)?))
        }
        Physical::MatchedRows(matched) => Box::new(matched_rows::MatchedRows::new(
            matched,
            over(&matched.left)?,
            over(&matched.right)?,
        )),
        Physical::TableFunction(call) => Box::new(table_function::TableFunction::new(call)),
        Physical::Recursive(recursive) => {
            Box::new(recursive::Recursive::new(recursive, over(&recursive.base)?))
        }
        Physical::WorkTable(number) => Box::new(recursive::WorkTable::new(*number)),
        // Only shown; what is run has none.
        Physical::Estimated(inner) => over(&inner.0)?,
        Physical::Shared(query, columns) => Box::new(shared::SharedRows::new(query, columns)),
        Physical::Fetch(fetch) => Box::new(fetch::Fetch::new(fetch, over(&fetch.input)?)),
        Physical::Follow(follow) => Box::new(follow::Follow::new(follow, over(&follow.input)?)),
        Physical::LimitPerParent(limit) => {
            Box::new(limit_per_parent::LimitPerParent::new(limit, over(&limit.input)?))
        }
        Physical::SemiJoin(join) => Box::new(semi_join::SemiJoin::new(join, over(&join.input)?)),
    })
}

fn build_join(plan: &Physical, context: &Context) -> Result<Running> {
    let over = |input: &Physical| build(input, context);
    Ok(match plan {
        Physical::HashJoin(join) if join.reads_left_first => {
            Box::new(hash_join::HashJoin::after_left(join, over(&join.left)?))
        }
        Physical::HashJoin(join) => {
            Box::new(hash_join::HashJoin::after_right(join, over(&join.right)?))
        }
        Physical::MergeJoin(join) => {
            Box::new(merge_join::MergeJoin::new(join, over(&join.left)?, over(&join.right)?)?)
        }
        Physical::LoopJoin(join) => {
            Box::new(loop_join::LoopJoin::new(join, over(&join.left)?, over(&join.right)?))
        }
        Physical::LookupJoin(join) => {
            Box::new(lookup_join::LookupJoin::new(join, over(&join.left)?))
        }
        Physical::Apply(apply) => Box::new(apply::Apply::new(apply, over(&apply.left)?)),
        _ => unreachable!("the caller has looked"),
    })
}

/// All rows of a plan as one batch, or up to `limit` rows.
///
/// # Errors
/// As [`build`] and [`Operator::next`].
pub(crate) fn collect(plan: &Physical, context: &Context, limit: usize) -> Result<Batch> {
    let mut running = build(plan, context)?;
    let mut batches = Vec::new();
    let (mut count, mut held) = (0, Held::default());
    while count < limit
        && let Some(batch) = running.next(context)?
    {
        held.charge(context.limits(), held.size() + batch.size())?;
        count += batch.row_count;
        if batch.row_count > 0 || batches.is_empty() {
            batches.push(batch);
        }
    }
    if batches.is_empty() {
        return Ok(Batch::new(Vec::new(), 0));
    }
    Batch::concat(&batches)
}

impl Query for Physical {
    fn copied(&self) -> Box<dyn Query> {
        Box::new(self.clone())
    }

    fn replace_columns(&mut self, _: &dyn Fn(ColumnId) -> Option<Expr>) {}

    fn rows(&self, context: &Context, limit: usize) -> Result<Batch> {
        collect(self, context, limit)
    }
}

/// All batches of an operator. `held` accounts for their memory.
pub(crate) fn drain(
    running: &mut Running,
    held: &mut Held,
    context: &Context,
) -> Result<Vec<Batch>> {
    let mut batches = Vec::new();
    while let Some(batch) = running.next(context)? {
        context.check()?;
        if batch.row_count > 0 {
            held.charge(context.limits(), held.size() + batch.size())?;
            batches.push(batch);
        }
    }
    Ok(batches)
}

/// Returns a batch in pieces of the usual size.
#[derive(Default)]
pub(crate) struct Pieces {
    whole: Option<Batch>,
    done: usize,
}

impl Pieces {
    pub(crate) fn of(whole: Batch) -> Self {
        Self { whole: Some(whole), done: 0 }
    }
}

impl Iterator for Pieces {
    type Item = Batch;

    fn next(&mut self) -> Option<Batch> {
        let whole = self.whole.as_ref()?;
        let count = BATCH_SIZE.min(whole.row_count - self.done);
        if count == 0 {
            self.whole = None;
            return None;
        }
        let piece = whole.slice(self.done, count);
        self.done += count;
        Some(piece)
    }
}
