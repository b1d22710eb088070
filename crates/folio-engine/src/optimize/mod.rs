//! The optimizer: rewrites a plan into a cheaper one with the same result. One rule per file.
//!
//! | rule | what it does |
//! |---|---|
//! | [`read_shared`] | computes of a query that is read several times what some reader needs |
//! | [`fold_constants`] | evaluates constant expressions |
//! | [`factor_conditions`] | factors out conditions common to all OR branches |
//! | [`decorrelate`] | turns EXISTS and IN into joins |
//! | [`push_filters`] | moves conditions towards the scans |
//! | [`read_paths`] | reads members of structs directly from scans |
//! | [`require_elements`] | drops rows before a list is unnested, if an element is asked for |
//! | [`join_scalars`] | turns correlated aggregates into joins |
//! | [`choose_path`] | chooses keys and indexes for scans |
//! | [`order_joins`] | finds the cheapest join order |
//! | [`probe_keys`] | joins a small input with a large relation by lookups |
//! | [`read_ends`] | reads the least and the greatest value of a column at the ends of an index |
//! | [`prune_columns`] | drops columns that are not used |
//! | [`push_limits`] | passes limits to scans, and drops sorts that a scan's order replaces |
//! | [`use_orders`] | uses existing orders for merge joins, streaming groups and dropped sorts |
//! | [`common_subexpressions`] | computes repeated parts of one operator's expressions once |
//! | [`few_rows`] | plans a query with `LIMIT $1` for few rows, too |

mod choose_path;
mod common_subexpressions;
mod decorrelate;
mod estimate;
mod factor_conditions;
mod few_rows;
mod fold_constants;
mod join_graph;
mod join_scalars;
mod order_joins;
pub(crate) mod probe_keys;
mod prune_columns;
mod push_filters;
mod push_limits;
mod read_ends;
mod read_paths;
mod read_shared;
mod require_elements;
mod use_orders;

pub(crate) use estimate::known_rows;
pub(crate) use few_rows::Planned;

use folio_compute::Result;

use crate::expression::Expr;
use crate::limits::Limits;
use crate::plan::logical::Plan;
use crate::plan::shared::replace_single;
use crate::source::Source;

/// Which rules are applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Level {
    /// All rules.
    #[default]
    Full,
    /// None, for tests that compare results with and without rules.
    None,
}

/// Applies the rules, to subqueries and shared queries too.
///
/// # Errors
/// `cancelled`, `timeout`.
pub(crate) fn optimize(
    plan: &mut Plan,
    source: &dyn Source,
    level: Level,
    limits: &Limits,
) -> Result<()> {
    if level == Level::None {
        return Ok(());
    }
    limits.check()?;
    let (mut made, mut shared) = (0, Vec::new());
    replace_single(plan, &mut shared);
    for query in read_shared::apply(plan, shared, &mut made) {
        query.change(|plan| optimize_one(plan, source, limits, &mut made))?;
    }
    optimize_one(plan, source, limits, &mut made)
}

/// Applies the rules to a plan whose shared queries are settled.
fn optimize_one(
    plan: &mut Plan,
    source: &dyn Source,
    limits: &Limits,
    made: &mut u32,
) -> Result<()> {
    rewrite(plan, source, limits, made)?;
    limits.check()?;
    finish(plan, source, false);
    limits.check()
}

/// The last rules. A `repeated` plan runs for each row of an outer query.
fn finish(plan: &mut Plan, source: &dyn Source, is_repeated: bool) {
    read_ends::apply(plan);
    prune_columns::apply(plan);
    let has_limits = push_limits::apply(plan);
    let has_orders = use_orders::apply(plan, source, is_repeated);
    if has_limits || has_orders {
        prune_columns::apply(plan);
    }
    common_subexpressions::apply(plan, source);
}

/// The first rules. `made` counts the columns that they have made in the statement.
fn rewrite(plan: &mut Plan, source: &dyn Source, limits: &Limits, made: &mut u32) -> Result<()> {
    fold_constants::apply(plan);
    factor_conditions::apply(plan);
    if decorrelate::apply(plan) {
        fold_constants::apply(plan);
    }
    push_filters::apply(plan);
    if join_scalars::apply(plan, source) {
        fold_constants::apply(plan);
        push_filters::apply(plan);
    }
    read_paths::apply(plan, made);
    require_elements::apply(plan);
    limits.check()?;
    let mut done = Ok(());
    within_subqueries(plan, &mut |inner, _| {
        if done.is_ok() {
            done = rewrite(inner, source, limits, made);
        }
    });
    done?;
    limits.check()?;
    choose_path::apply(plan, source);
    if has_join(plan) {
        // The cost of a lookup depends on the columns read.
        prune_columns::apply(plan);
    }
    order_joins::apply(plan, source);
    probe_keys::apply(plan, source);
    probe_keys::narrow(plan, source);
    limits.check()?;
    within_subqueries(plan, &mut |inner, is_repeated| finish(inner, source, is_repeated));
    Ok(())
}

fn has_join(plan: &mut Plan) -> bool {
    matches!(plan, Plan::Join { .. }) || plan.inputs_mut().into_iter().any(has_join)
}

/// Calls `change` with the plan of every subquery and whether it is correlated, and updates the
/// list of outer columns it reads.
fn within_subqueries(plan: &mut Plan, change: &mut dyn FnMut(&mut Plan, bool)) {
    plan.for_each_expression_mut(&mut |expression| {
        expression.transform(&mut |part| {
            let Expr::Subquery(subquery) = part else { return };
            let reads_outside = !subquery.outer.is_empty();
            if let Some(inner) = subquery.plan_mut() {
                change(inner, reads_outside);
                let outer = inner.free_columns().into_iter().map(Expr::Column).collect();
                subquery.outer = outer;
            }
        });
    });
}
