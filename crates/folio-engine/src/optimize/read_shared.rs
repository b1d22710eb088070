//! A query that a statement reads in several places computes what some reader needs, and no more:
//! columns that nobody reads are dropped, and members of structs that readers ask for become columns,
//! so that a scan below need not build whole documents.
//!
//! Readers come before what they read. The query of the statement is the first reader; queries read
//! only those with smaller numbers.

use std::cmp::Reverse;
use std::sync::Arc;

use super::{prune_columns, read_paths, within_subqueries};
use crate::plan::logical::Plan;
use crate::plan::shared::SharedQuery;

/// Returns the queries that were not settled before, those that others read first. `count` is the
/// number of columns that rules have made in the statement.
pub(super) fn apply(
    plan: &mut Plan,
    mut queries: Vec<Arc<SharedQuery>>,
    count: &mut u32,
) -> Vec<Arc<SharedQuery>> {
    if queries.is_empty() {
        return queries;
    }
    read(plan, count);
    queries.sort_by_key(|query| Reverse(query.number));
    queries.retain(|query| {
        query.settle(|plan, columns| {
            prune_columns::keep(plan, columns);
            read(plan, count);
        })
    });
    queries.reverse();
    queries
}

/// Notes what a plan and its subqueries read.
fn read(plan: &mut Plan, count: &mut u32) {
    read_paths::apply(plan, count);
    within_subqueries(plan, &mut |inner, _| read(inner, count));
    prune_columns::apply(plan);
    plan.transform(&mut |part| {
        if let Plan::Shared { query, columns } = part {
            query.want(columns.iter().map(|(place, _)| *place));
        }
    });
}
