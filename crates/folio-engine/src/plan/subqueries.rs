//! The plans of subqueries. EXPLAIN prints those that no rule has turned into joins below the
//! operator that runs them.

use std::any::Any;

use folio_compute::{Batch, Result};

use super::physical::{Physical, Scan};
use super::terms::{Path, SortKey};
use crate::context::Context;
use crate::expression::{ColumnId, Expr, Query, Subquery};
use crate::plan::logical::Plan;

/// A subquery: its number, the outer values it reads, and its plan.
pub(super) type Found = (usize, Vec<Expr>, Physical);

impl Query for Plan {
    fn copied(&self) -> Box<dyn Query> {
        Box::new(self.clone())
    }

    fn replace_columns(&mut self, replace: &dyn Fn(ColumnId) -> Option<Expr>) {
        self.for_each_expression_mut(&mut |part| part.replace_columns(replace));
    }

    fn rows(&self, _: &Context, _: usize) -> Result<Batch> {
        unreachable!("subqueries are lowered with the plan around them")
    }
}

impl Subquery {
    /// Its logical plan, until it is lowered.
    pub(crate) fn plan(&self) -> Option<&Plan> {
        (&*self.body as &dyn Any).downcast_ref()
    }

    /// Its logical plan, mutable.
    pub fn plan_mut(&mut self) -> Option<&mut Plan> {
        (&mut *self.body as &mut dyn Any).downcast_mut()
    }

    /// Its physical plan, once it is lowered.
    fn physical(&self) -> Option<&Physical> {
        (&*self.body as &dyn Any).downcast_ref()
    }
}

impl Physical {
    /// The distinct subqueries of this operator, without those of its inputs.
    pub(super) fn subqueries(&self) -> Vec<Found> {
        let mut found = Vec::new();
        self.for_each_own_expression(&mut |expression| collect(expression, &mut found));
        found
    }

    fn for_each_own_expression(&self, visit: &mut dyn FnMut(&Expr)) {
        match self {
            Self::Scan(scan) | Self::RowCount(scan) => scan.for_each_expression(visit),
            Self::Lookup(lookup) => lookup.key.iter().chain(&lookup.filters).for_each(visit),
            Self::Values(values) => values.rows.iter().flatten().for_each(visit),
            Self::Project(project) => project.expressions.iter().for_each(visit),
            Self::Filter(filter) => filter.terms.iter().for_each(visit),
            Self::HashJoin(join) | Self::MergeJoin(join) => {
                let keys = join.left_keys.iter().chain(&join.right_keys);
                keys.chain(&join.residual).for_each(visit);
            }
            Self::LoopJoin(join) => join.terms.iter().for_each(visit),
            Self::LookupJoin(join) => join.key.iter().chain(&join.residual).for_each(visit),
            Self::Apply(apply) => apply.outer.iter().chain(&apply.terms).for_each(visit),
            Self::Aggregate(grouping) => {
                grouping.groups.iter().for_each(&mut *visit);
                for mut aggregate in grouping.aggregates.iter().cloned() {
                    aggregate.expressions_mut().into_iter().for_each(|part| visit(part));
                }
            }
            Self::Window(window) => {
                for mut call in window.calls.iter().cloned() {
                    call.expressions_mut().into_iter().for_each(|part| visit(part));
                }
            }
            Self::Sort(sort) => {
                sort.keys.iter().map(|SortKey { expression, .. }| expression).for_each(&mut *visit);
                sort.limit.iter().chain(&sort.offset).for_each(visit);
            }
            Self::Limit(limit) => {
                limit.limit.iter().chain(&limit.offset).chain(&limit.ties).for_each(visit);
            }
            Self::Distinct(distinct) => distinct.keys.iter().for_each(visit),
            Self::TableFunction(call) => call.arguments.iter().for_each(visit),
            Self::Fetch(fetch) => visit(&fetch.key),
            Self::Follow(follow) => follow.branches.iter().for_each(|branch| visit(&branch.key)),
            Self::LimitPerParent(cut) => {
                std::iter::once(&cut.limit).chain(&cut.offset).for_each(visit);
            }
            Self::SemiJoin(mark) => visit(&mark.key),
            Self::ByCount(plans) => plans.many.for_each_own_expression(visit),
            Self::Estimated(inner) => inner.0.for_each_own_expression(visit),
            Self::OneRow
            | Self::Append(_)
            | Self::MatchedRows(_)
            | Self::Recursive(_)
            | Self::WorkTable(_)
            | Self::Shared(..) => {}
        }
    }
}

impl Scan {
    fn for_each_expression(&self, visit: &mut dyn FnMut(&Expr)) {
        self.filters.iter().for_each(&mut *visit);
        match &self.path {
            Path::Key(key) | Path::Keys { keys: key, .. } => key.iter().for_each(visit),
            Path::Range { equal, from, to, .. } => {
                let ends = from.iter().chain(to).map(|(bound, _)| bound);
                equal.iter().chain(ends).for_each(visit);
            }
            Path::Full | Path::Probe(_) => {}
        }
    }
}

fn collect(expression: &Expr, found: &mut Vec<Found>) {
    if let Expr::Subquery(subquery) = expression {
        let is_new = !found.iter().any(|(known, ..)| *known == subquery.number);
        if let (Some(plan), true) = (subquery.physical(), is_new) {
            found.push((subquery.number, subquery.outer.clone(), plan.clone()));
        }
    }
    expression.for_each_part(&mut |part| collect(part, found));
}
