//! Drops columns that are not used.

use std::collections::HashSet;

use crate::expression::{Column, ColumnId, Expr};
use crate::plan::logical::Plan;

pub(super) fn apply(plan: &mut Plan) {
    let wanted = plan.column_ids().into_iter().collect();
    prune(plan, &wanted, true);
}

/// Drops all columns of a plan but these, which it has.
pub(super) fn keep(plan: &mut Plan, columns: Vec<Column>) {
    let wanted: Vec<ColumnId> = columns.iter().map(|column| column.id).collect();
    prune(plan, &wanted.iter().copied().collect(), false);
    if plan.column_ids() != wanted {
        *plan = plan.take().only(columns);
    }
}

type Wanted = HashSet<ColumnId>;

/// Drops unused columns of a plan. If `whole`, its columns are used by position and stay.
fn prune(plan: &mut Plan, wanted: &Wanted, whole: bool) {
    match plan {
        Plan::Scan(scan) => {
            let read: Vec<ColumnId> = scan.filters.iter().flat_map(Expr::columns).collect();
            let is_wanted = |id: &ColumnId| whole || wanted.contains(id);
            scan.columns.retain(|(_, column)| is_wanted(&column.id) || read.contains(&column.id));
            let ids = scan.columns.iter().map(|(_, column)| column.id);
            scan.only_filtered = ids.filter(|id| !is_wanted(id)).collect();
        }
        Plan::Project { input, outputs } => {
            if !whole {
                outputs.retain(|(column, _)| wanted.contains(&column.id));
            }
            let below = read_by(outputs.iter().map(|(_, output)| output));
            prune(input, &below, false);
        }
        Plan::Filter { input, terms } => {
            let below = with(wanted, terms.iter());
            prune(input, &below, whole);
        }
        Plan::Sort { input, keys } => {
            let below = with(wanted, keys.iter().map(|key| &key.expression));
            prune(input, &below, whole);
        }
        Plan::Limit { input, ties, .. } => prune(input, &with(wanted, ties.iter()), whole),
        Plan::Distinct { input, on } => match on {
            None => prune(input, &input.column_ids().into_iter().collect(), true),
            Some(on) => {
                let below = with(wanted, on.iter());
                prune(input, &below, whole);
            }
        },
        Plan::Join { kind, left, right, terms, .. } => {
            let mut below = with(wanted, terms.iter());
            below.extend(right.free_columns().iter().map(|column| column.id));
            prune(left, &below, whole);
            prune(right, &below, whole && kind.has_right());
        }
        Plan::Aggregate { input, groups, aggregates, .. } => {
            if !whole {
                aggregates.retain(|(column, _)| wanted.contains(&column.id));
            }
            let mut below = read_by(groups.iter().map(|(_, group)| group));
            let aggregates = aggregates.iter().flat_map(|(_, own)| own.expressions());
            below.extend(aggregates.flat_map(Expr::columns));
            prune(input, &below, false);
        }
        Plan::Window { input, calls } => {
            let mut below = wanted.clone();
            for (_, call) in calls {
                for expression in call.expressions_mut() {
                    below.extend(expression.columns());
                }
            }
            prune(input, &below, whole);
        }
        // Their inputs are matched by position.
        Plan::SetOperation { .. } | Plan::Recursive { .. } => {
            for input in plan.inputs_mut() {
                apply(input);
            }
        }
        other => prune_links(other, wanted, whole),
    }
}

/// The same for links and orders, and for plans without inputs.
fn prune_links(plan: &mut Plan, wanted: &Wanted, whole: bool) {
    match plan {
        Plan::Fetch(fetch) => {
            if !whole {
                fetch.columns.retain(|(_, column)| wanted.contains(&column.id));
            }
            let below = with(wanted, std::iter::once(&fetch.key));
            prune(&mut fetch.input, &below, whole);
        }
        Plan::Follow { input, branches } => {
            let below = with(wanted, branches.iter().map(|branch| &branch.key));
            prune(input, &below, whole);
            branches.iter_mut().for_each(|branch| apply(&mut branch.body));
        }
        Plan::Ordered { input, keys } => {
            let mut below = wanted.clone();
            below.extend(keys.iter().map(|(key, _)| *key));
            prune(input, &below, whole);
        }
        Plan::LimitPerParent(cut) => {
            let mut below = wanted.clone();
            below.insert(cut.parent.id);
            prune(&mut cut.input, &below, whole);
        }
        Plan::SemiJoin(mark) => {
            let below = with(wanted, std::iter::once(&mark.key));
            prune(&mut mark.input, &below, whole);
            apply(&mut mark.keys);
        }
        Plan::Shared { columns, .. } if !whole => {
            columns.retain(|(_, column)| wanted.contains(&column.id));
        }
        _ => {}
    }
}

fn read_by<'e>(expressions: impl Iterator<Item = &'e Expr>) -> Wanted {
    expressions.flat_map(Expr::columns).collect()
}

fn with<'e>(wanted: &Wanted, expressions: impl Iterator<Item = &'e Expr>) -> Wanted {
    let mut all = wanted.clone();
    all.extend(expressions.flat_map(Expr::columns));
    all
}
