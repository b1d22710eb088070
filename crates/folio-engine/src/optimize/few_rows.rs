//! Plans a query whose limit is a parameter a second time, for few rows: it may then follow an index
//! where it would otherwise sort everything. Which of the two plans runs is known once the parameters
//! are.

use std::sync::Arc;

use folio_compute::Result;
use folio_types::{ColumnType, Value};

use super::push_limits::FEW;
use crate::expression::Expr;
use crate::plan::logical::Plan;
use crate::plan::physical::{ByCount, Physical};

/// An optimized plan, and another one for few rows if only that does without the sort.
pub(crate) struct Planned {
    plan: Plan,
    few: Option<FewRows>,
}

impl Planned {
    /// # Errors
    /// Those of `optimize`.
    pub(crate) fn of(mut plan: Plan, optimize: &dyn Fn(&mut Plan) -> Result<()>) -> Result<Self> {
        let few = FewRows::of(&mut plan);
        optimize(&mut plan)?;
        let few = few.map(|few| few.optimized(optimize)).transpose()?.flatten();
        let few = few.filter(|_| last_limit(&mut plan).is_some_and(|(input, ..)| sorts(input)));
        Ok(Self { plan, few })
    }

    pub(crate) fn lowered(&self, lower: &dyn Fn(&Plan) -> Physical) -> Physical {
        let many = lower(&self.plan);
        let Some(FewRows { plan, limit, offset }) = &self.few else { return many };
        let (few, most) = (lower(plan), usize::try_from(FEW).unwrap_or(usize::MAX));
        let (limit, offset) = (limit.clone(), offset.clone());
        Physical::ByCount(Arc::new(ByCount { few, many, most, limit, offset }))
    }
}

/// A plan for few rows, and the numbers in its limit.
struct FewRows {
    plan: Plan,
    limit: Option<Expr>,
    offset: Option<Expr>,
}

impl FewRows {
    /// `None` unless the query sorts the rows of a relation with indexes and ends in a limit by
    /// parameters.
    fn of(plan: &mut Plan) -> Option<Self> {
        let (input, limit, offset) = last_limit(plan)?;
        let (limit, offset) = (limit.clone(), offset.clone());
        let mut bounds = limit.iter().chain(&offset);
        let is_open = |bound: &Expr| bound.as_literal().is_none();
        let is_known = bounds.clone().all(Expr::is_given) && bounds.any(is_open);
        if !is_known || !sorts_indexed(input) || reads_shared(plan) {
            return None;
        }
        Some(Self { plan: plan.clone(), limit, offset })
    }

    /// Optimized with the most rows that are few; `None` if it sorts nevertheless.
    fn optimized(mut self, optimize: &dyn Fn(&mut Plan) -> Result<()>) -> Result<Option<Self>> {
        let most = Value::Integer(i64::try_from(FEW).unwrap_or(i64::MAX));
        self.put(Some(Expr::literal(most, ColumnType::Int64)), None);
        optimize(&mut self.plan)?;
        let does_sort = self.put(self.limit.clone(), self.offset.clone()).is_none_or(sorts);
        Ok((!does_sort).then_some(self))
    }

    /// Puts numbers into the limit, and returns its input.
    fn put(&mut self, limit: Option<Expr>, offset: Option<Expr>) -> Option<&Plan> {
        let (input, own_limit, own_offset) = last_limit(&mut self.plan)?;
        (*own_limit, *own_offset) = (limit, offset);
        Some(input)
    }
}

/// What the limit that a query ends in has: its input, and both numbers.
type Limited<'p> = (&'p Plan, &'p mut Option<Expr>, &'p mut Option<Expr>);

fn last_limit(plan: &mut Plan) -> Option<Limited<'_>> {
    match plan {
        Plan::Project { input, .. } => last_limit(input),
        Plan::Limit { input, limit, offset, ties } if limit.is_some() && ties.is_empty() => {
            Some((&**input, limit, offset))
        }
        _ => None,
    }
}

/// Whether a plan ends in a sort.
fn sorts(plan: &Plan) -> bool {
    match plan {
        Plan::Project { input, .. } => sorts(input),
        plan => matches!(plan, Plan::Sort { .. }),
    }
}

/// Whether a plan ends in a sort of the rows of one relation, which has indexes.
fn sorts_indexed(plan: &Plan) -> bool {
    let mut below = plan;
    while let Plan::Project { input, .. } | Plan::Filter { input, .. } | Plan::Sort { input, .. } =
        below
    {
        below = input;
    }
    sorts(plan) && matches!(below, Plan::Scan(scan) if !scan.relation.indexes.is_empty())
}

/// Whether a plan reads a shared query, which is optimized once.
fn reads_shared(plan: &mut Plan) -> bool {
    let mut is_found = false;
    plan.transform(&mut |part| {
        is_found |= matches!(part, Plan::Shared { .. });
        part.for_each_own_expression_mut(&mut |expression| {
            expression.transform(&mut |part| {
                if let Expr::Subquery(subquery) = part
                    && let Some(inner) = subquery.plan_mut()
                {
                    is_found |= reads_shared(inner);
                }
            });
        });
    });
    is_found
}
