//! Compiles bound statements: optimizes and lowers their plans.

use std::sync::Arc;

use folio_compute::Result;

use super::Body;
use super::query::Query;
use super::steps::Steps;
use crate::bound;
use crate::change::{ByKey, ChangePlan, InsertPlan, MergeClause, MergePlan};
use crate::limits::Limits;
use crate::optimize::{Level, Planned, known_rows, optimize};
use crate::plan::advice::advice;
use crate::plan::logical::Plan;
use crate::plan::lower::{lower, lower_estimated};
use crate::plan::physical::Physical;
use crate::rows::make_unique;
use crate::source::Source;

impl Body {
    pub(super) fn of(
        bound: bound::Statement,
        source: &dyn Source,
        level: Level,
        limits: &Limits,
    ) -> Result<Self> {
        use bound::Statement as Bound;
        let planned = |plan: Plan| {
            Planned::of(plan, &|plan: &mut Plan| optimize(plan, source, level, limits))
        };
        let physical = |plan: Plan| -> Result<Physical> { Ok(planned(plan)?.lowered(&lower)) };
        Ok(match bound {
            Bound::Query(mut query) => {
                make_unique(&mut query.names);
                Self::Query(Query::of(query, &physical)?)
            }
            Bound::CopyTo { mut query, target } => {
                make_unique(&mut query.names);
                Self::CopyTo(Query::of(query, &physical)?, target)
            }
            Bound::Explain { shows, statement } => {
                let plan = match *statement {
                    Bound::Query(query) => query.plan,
                    Bound::Insert(insert) => insert.input,
                    Bound::Merge(merge) => merge.input,
                    Bound::Update(change) | Bound::Delete(change) => change.input,
                    _ => Plan::OneRow,
                };
                explain(&planned(plan)?, shows, source)
            }
            Bound::Insert(insert) => Self::Insert(Box::new(insert.lowered(&physical)?)),
            Bound::Update(change) => {
                let plan = change.lowered(&physical)?;
                let by_key = ByKey::of(&plan, source);
                Self::Update(Box::new(plan), by_key)
            }
            Bound::Delete(change) => {
                let plan = change.lowered(&physical)?;
                let by_key = ByKey::of(&plan, source);
                Self::Delete(Box::new(plan), by_key)
            }
            Bound::Merge(merge) => Self::Merge(Box::new(merge_plan(merge, &physical)?)),
            Bound::Control(control) => Self::Control(control),
            Bound::Show(setting) => Self::Show(setting),
            Bound::Steps(steps) => Self::Steps(Steps::of(steps, &physical)?),
            other => Self::Define(Box::new(other)),
        })
    }
}

fn merge_plan(
    merge: bound::Merge,
    physical: &dyn Fn(Plan) -> Result<Physical>,
) -> Result<MergePlan> {
    use bound::MergeAction as Action;
    let bound::Merge { table, input, actions, rules } = merge;
    // The rows come from the MERGE.
    let change = |changed: Vec<usize>, rules: bound::Rules| ChangePlan {
        table: Arc::clone(&table),
        input: Physical::OneRow,
        changed,
        rules,
        returning: None,
        read: None,
    };
    let clauses = actions.into_iter().map(|action| match action {
        Action::Nothing => MergeClause::Nothing,
        Action::Update(changed) => MergeClause::Update(change(changed, rules.clone())),
        Action::Delete => MergeClause::Delete(change(Vec::new(), bound::Rules::default())),
        Action::Insert(numbered) => MergeClause::Insert(InsertPlan {
            table: Arc::clone(&table),
            input: Physical::OneRow,
            numbered,
            on_conflict: bound::OnConflict::Fail,
            rules: rules.clone(),
            returning: None,
        }),
    });
    let clauses = clauses.collect();
    Ok(MergePlan { input: physical(input)?, table, clauses })
}

/// What EXPLAIN shows of a plan.
fn explain(plan: &Planned, shows: bound::Explained, source: &dyn Source) -> Body {
    let lowered = plan.lowered(&lower);
    let with_estimates = |plan: &Plan| lower_estimated(plan, &|plan| known_rows(plan, source));
    let estimated = (shows.estimates || shows.advice).then(|| plan.lowered(&with_estimates));
    let advised = estimated.as_ref().filter(|_| shows.advice);
    let advice = advised.map_or_else(Vec::new, |estimated| advice(estimated, source));
    let shown = estimated.filter(|_| shows.estimates).unwrap_or_else(|| lowered.clone());
    Body::Explain { shown, advice, analyzed: shows.analyze.then_some(lowered) }
}
