//! The operators above a large scan that its threads can run: projections, filters, UNNEST beside
//! its rows, and hash joins whose left side is the scan.
//!
//! The right sides are read first, from the lowest join up. Their keys tell the source which rows of
//! the scan find partners. If one does not fit in memory, the
//! pipeline ends there: that join and everything above it run as ordinary operators.

use std::sync::Arc;

use folio_compute::{Batch, Result};

use super::apply::Apply;
use super::filter::Filter;
use super::hash_join::{HashJoin, keeps_right};
use super::parallel::{ParallelScan, parts_worth};
use super::partners::{Asked, Partners};
use super::scan::cheapest;
use super::stage::{Produced, Stage};
use super::timed::{own, timed};
use super::values::Project;
use super::{Operator, Running, build, unnest};
use crate::context::Context;
use crate::expression::Expr;
use crate::plan::physical::{self, Physical};
use crate::plan::terms::JoinKind;
use crate::times::Node;

/// A statement needs this much memory per thread to group within parts: the groups of the parts
/// that threads have begun cannot go to a file.
const GROUPS_SIZE: usize = 32 << 20;

/// A large scan and the operators on its rows.
pub(super) struct Pipeline {
    scan: Arc<physical::Scan>,
    parts: usize,
    /// The lowest first. Empty once the pipeline has begun.
    links: Vec<Link>,
    grouping: Option<Arc<physical::Grouping>>,
    /// What is asked of its rows.
    asked: Vec<Asked>,
    running: Option<Source>,
}

enum Link {
    Project(Arc<physical::Project>),
    Filter(Arc<physical::Filter>),
    /// A join, and its right side.
    Join(Arc<physical::KeyJoin>, Running),
    Unnest(Arc<physical::Apply>),
}

/// The source of rows once the pipeline has begun.
enum Source {
    Scan(ParallelScan),
    Operator(Running),
}

/// The pipeline of a plan, if it is one over a scan worth several threads.
///
/// # Errors
/// Errors of the source when the right sides of joins begin.
pub(super) fn of(plan: &Physical, context: &Context) -> Result<Option<Pipeline>> {
    let Some((scan, parts)) = large_scan(plan, context)? else { return Ok(None) };
    let mut links = Vec::new();
    let mut plan = plan;
    loop {
        plan = match plan {
            Physical::Project(project) => {
                links.push(Link::Project(Arc::clone(project)));
                &project.input
            }
            Physical::Filter(filter) => {
                links.push(Link::Filter(Arc::clone(filter)));
                &filter.input
            }
            Physical::HashJoin(join) => {
                links.push(Link::Join(Arc::clone(join), build(&join.right, context)?));
                &join.left
            }
            Physical::Apply(apply) => {
                links.push(Link::Unnest(Arc::clone(apply)));
                &apply.left
            }
            _ => break,
        };
    }
    links.reverse();
    let (grouping, asked, running) = (None, Vec::new(), None);
    Ok(Some(Pipeline { scan, parts, links, grouping, asked, running }))
}

/// The scan below operators that any thread can run, and the number of parts for it.
fn large_scan(
    mut plan: &Physical,
    context: &Context,
) -> Result<Option<(Arc<physical::Scan>, usize)>> {
    loop {
        plan = match plan {
            Physical::Project(project) if project.expressions.iter().all(is_free) => &project.input,
            Physical::Filter(filter) if filter.terms.iter().all(is_free) => &filter.input,
            Physical::HashJoin(join) if is_free_join(join) => &join.left,
            Physical::Apply(apply) if is_free_unnest(apply) => &apply.left,
            Physical::Scan(scan) => {
                let scan = cheapest(scan, context)?;
                let parts = parts_worth(scan, context)?;
                return Ok((parts > 1).then(|| (Arc::clone(scan), parts)));
            }
            _ => return Ok(None),
        };
    }
}

/// Whether any thread may evaluate an expression.
fn is_free(expression: &Expr) -> bool {
    !expression.has_subquery() && !expression.is_of_one_thread()
}

fn is_free_join(join: &physical::KeyJoin) -> bool {
    !join.reads_left_first
        && !keeps_right(join.kind)
        && join.left_keys.iter().chain(&join.residual).all(is_free)
}

fn is_free_unnest(apply: &physical::Apply) -> bool {
    let call = unnest::call_in(&apply.right);
    matches!(apply.kind, JoinKind::Inner | JoinKind::Left)
        && call.is_some_and(|(call, _)| call.arguments.iter().all(is_free))
        && apply.outer.iter().chain(&apply.terms).all(is_free)
}

/// Whether groups of parts can be merged.
fn is_mergeable(grouping: &physical::Grouping) -> bool {
    let aggregates = || grouping.aggregates.iter();
    grouping.run.is_empty()
        && aggregates().all(|aggregate| aggregate.is_mergeable())
        && grouping.groups.iter().all(is_free)
        && aggregates().flat_map(|aggregate| aggregate.expressions()).all(is_free)
}

impl Pipeline {
    /// The same, grouping within the parts of the scan if the result is the same.
    pub(super) fn grouped(mut self, grouping: &Arc<physical::Grouping>, context: &Context) -> Self {
        let needed = GROUPS_SIZE * context.threads();
        let has_room = context.limits().memory().is_none_or(|limit| limit >= needed);
        self.grouping = (has_room && is_mergeable(grouping)).then(|| Arc::clone(grouping));
        self
    }

    /// Leaves out rows, as far as the scan can tell, that have other keys than these. Rows are those
    /// before they are grouped.
    pub(super) fn asked(mut self, asked: Vec<Asked>) -> Self {
        self.asked = asked;
        self
    }

    /// Reads the right sides of the joins.
    fn begin(&mut self, context: &Context) -> Result<Source> {
        let mut stages = Vec::new();
        let mut partners = Partners::new(&self.scan, context)?;
        let mut links = std::mem::take(&mut self.links).into_iter();
        for link in links.by_ref() {
            stages.push(match link {
                Link::Project(project) => {
                    partners.project(&project.expressions);
                    Stage::Project(project)
                }
                Link::Filter(filter) => {
                    partners.note_read(&filter.terms);
                    Stage::Filter(filter)
                }
                Link::Unnest(apply) => {
                    partners.unnest(&apply);
                    Stage::Unnest(apply)
                }
                Link::Join(join, right) => {
                    let left = ParallelScan::new(&self.scan, self.parts, stages.clone());
                    let left = Box::new(left.among(&partners.among));
                    let node = Node::of(&join);
                    let probe = || HashJoin::new(&join, left, right).into_probe(context);
                    match own(Some(node), context, probe)? {
                        Ok(probe) => {
                            partners.join(&join, &probe, context)?;
                            Stage::Join(probe)
                        }
                        Err(join) => {
                            let join = timed(Some(node), Box::new(join), context);
                            let above = links.fold(join, |input, link| link.above(input, context));
                            return Ok(Source::Operator(above));
                        }
                    }
                }
            });
        }
        partners.ask(&self.asked);
        let scan = ParallelScan::new(&self.scan, self.parts, stages);
        let mut scan = scan.among(&partners.among);
        if let Some(grouping) = &self.grouping {
            scan.group(grouping, partners.as_stored(grouping));
        }
        Ok(Source::Scan(scan))
    }

    /// The next rows, or groups of them; `None` after the last.
    ///
    /// # Errors
    /// Errors of the source and the expressions.
    pub(super) fn next_produced(&mut self, context: &Context) -> Result<Option<Produced>> {
        match self.running(context)? {
            Source::Scan(scan) => scan.next_produced(context),
            Source::Operator(running) => Ok(running.next(context)?.map(Produced::Rows)),
        }
    }

    fn running(&mut self, context: &Context) -> Result<&mut Source> {
        let running = match self.running.take() {
            Some(running) => running,
            None => self.begin(context)?,
        };
        Ok(self.running.insert(running))
    }

    /// Whether groups may come, and not only rows.
    pub(super) fn may_bring_groups(&self) -> bool {
        matches!(&self.running, Some(Source::Scan(scan)) if scan.may_bring_groups())
    }

    /// Stops grouping in parts that no thread has begun.
    pub(super) fn end_groups(&mut self) {
        if let Some(Source::Scan(scan)) = &mut self.running {
            scan.end_groups();
        }
    }
}

impl Link {
    /// The operator for a link, over an input.
    fn above(self, input: Running, context: &Context) -> Running {
        let (node, running): (_, Running) = match self {
            Self::Project(node) => (Node::of(&node), Box::new(Project::new(&node, input))),
            Self::Filter(node) => (Node::of(&node), Box::new(Filter::new(&node, input))),
            Self::Join(node, right) => {
                (Node::of(&node), Box::new(HashJoin::new(&node, input, right)))
            }
            Self::Unnest(node) => (Node::of(&node), Box::new(Apply::new(&node, input))),
        };
        timed(Some(node), running, context)
    }
}

impl Operator for Pipeline {
    fn next(&mut self, context: &Context) -> Result<Option<Batch>> {
        match self.next_produced(context)? {
            Some(Produced::Rows(batch)) => Ok(Some(batch)),
            Some(Produced::Groups(_)) => unreachable!("a pipeline that is grouped hands groups on"),
            None => Ok(None),
        }
    }

    fn skip(&mut self, count: u64, context: &Context) -> Result<u64> {
        match self.running(context)? {
            Source::Scan(scan) => scan.skip(count, context),
            Source::Operator(running) => running.skip(count, context),
        }
    }
}
