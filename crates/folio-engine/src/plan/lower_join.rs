//! Lowers joins: finds the keys in their conditions and chooses the operator. Two inputs in the
//! order of their keys are merged. A probe that the optimizer chose becomes a lookup join. Other
//! equalities use a hash join.

use std::sync::Arc;

use super::join_keys::probe_keys;
use super::logical::Plan;
use super::lower::{Outer, Places, lower_within};
use super::order::column_of;
use super::physical::{self, Physical};
use super::terms::{JoinKind, OrderedBy, Path};
use crate::expression::{Column, ColumnId, Expr};
use crate::plan::join_keys::{SplitTerms, split_keys};

pub(super) fn lower_join(plan: &Plan, outer: &Outer<'_>) -> Physical {
    let Plan::Join { kind, left, right, terms, lateral } = plan else {
        unreachable!("the caller has looked");
    };
    let (left_columns, right_columns) = (left.columns(), right.columns());
    let both: Vec<Column> = left_columns.iter().chain(&right_columns).cloned().collect();
    let places = Places::of(&both, outer);
    let (left_types, right_types) = (left.types(), right.types());
    let lowered_left = lower_within(left, outer);
    if *lateral {
        return lower_apply(plan, lowered_left, &places, outer);
    }
    if let Some(join) = lower_lookup(plan, &lowered_left, &places, outer) {
        return join;
    }
    let split = split_keys(terms, &left.column_ids(), &right.column_ids());
    let right_is_constant = outer.is_read() && right.is_constant();
    let right_plan = &**right;
    let right = lower_within(right, outer);
    if split.pairs.is_empty() {
        return Physical::LoopJoin(Arc::new(physical::LoopJoin {
            kind: *kind,
            left: lowered_left,
            right,
            terms: places.resolve_all(terms),
            left_types,
            right_types,
        }));
    }
    let sides = (Places::of(&left_columns, outer), Places::of(&right_columns, outer));
    let merged = merged_by(left, right_plan, &split);
    let merges = merged.is_some();
    let pairs = split.pairs.iter().map(|(left, right)| (left.clone(), right.clone(), false));
    let by = merged.unwrap_or_else(|| pairs.collect());
    let join = Arc::new(physical::KeyJoin {
        kind: *kind,
        left: lowered_left,
        right,
        left_keys: by.iter().map(|(key, ..)| sides.0.resolve(key)).collect(),
        right_keys: by.iter().map(|(_, key, _)| sides.1.resolve(key)).collect(),
        descending: by.iter().map(|(.., descending)| *descending).collect(),
        null_equal: split.null_equal,
        right_is_constant,
        is_in_order: left.is_in_order(),
        reads_left_first: !right_is_constant
            && right_plan.is_narrowed()
            && matches!(kind, JoinKind::Left | JoinKind::Semi | JoinKind::Anti),
        residual: places.resolve_all(&split.residual),
        left_types,
        right_types,
    });
    if merges { Physical::MergeJoin(join) } else { Physical::HashJoin(join) }
}

/// A lookup join, if the optimizer chose a probe.
fn lower_lookup(
    plan: &Plan,
    lowered_left: &Physical,
    places: &Places<'_>,
    outer: &Outer<'_>,
) -> Option<Physical> {
    let Plan::Join { kind, left, right, terms, .. } = plan else { return None };
    let Plan::Scan(scan) = &**right else { return None };
    let Path::Probe(probe) = scan.path else { return None };
    let keys = probe_keys(scan, probe, terms, &left.column_ids(), &right.column_ids())?;
    // Terms that the key does not cover are checked on the pair.
    let residual: Vec<Expr> = keys.residual.iter().chain(&scan.filters).cloned().collect();
    Some(Physical::LookupJoin(Arc::new(physical::LookupJoin {
        kind: *kind,
        left: lowered_left.clone(),
        relation: Arc::clone(&scan.relation),
        index: probe.index,
        columns: scan.columns.iter().map(|(position, _)| *position).collect(),
        key: Places::of(&left.columns(), outer).resolve_all(&keys.values),
        residual: places.resolve_all(&residual),
        right_types: right.types(),
    })))
}

/// The keys of a merge join, if the optimizer chose one: pairs in the order of both inputs, each
/// with whether it is descending.
fn merged_by(left: &Plan, right: &Plan, split: &SplitTerms) -> Option<Vec<(Expr, Expr, bool)>> {
    let (Plan::Ordered { keys, .. }, Plan::Ordered { keys: others, .. }) = (left, right) else {
        return None;
    };
    let pair = |((own, descending), (other, _)): (&OrderedBy, &OrderedBy)| {
        let is_it = |(one, two): &&(Expr, Expr)| {
            column_of(one) == Some(*own) && column_of(two) == Some(*other)
        };
        let (one, two) = split.pairs.iter().find(is_it)?;
        Some((one.clone(), two.clone(), *descending))
    };
    let pairs = keys.iter().zip(others).map(pair).collect::<Option<Vec<_>>>()?;
    (pairs.len() == split.pairs.len()).then_some(pairs)
}

fn lower_apply(plan: &Plan, left: Physical, places: &Places<'_>, outer: &Outer<'_>) -> Physical {
    let Plan::Join { kind, left: left_plan, right, terms, .. } = plan else {
        unreachable!("the caller has looked");
    };
    let left_places = Places::of(&left_plan.columns(), outer);
    let free = right.free_columns();
    let inner = outer.of(&free);
    let feed: Vec<Expr> = free.into_iter().map(Expr::Column).collect();
    Physical::Apply(Arc::new(physical::Apply {
        kind: *kind,
        left,
        right: lower_within(right, &inner),
        outer: left_places.resolve_all(&feed),
        terms: places.resolve_all(terms),
        right_types: right.types(),
        unread: Vec::new(),
    }))
}

/// Notes in a lateral join which columns of its left the expressions above it do not read.
pub(super) fn narrow(lowered: &mut Physical, plan: &Plan, above: &[Expr]) {
    let (Physical::Apply(apply), Plan::Join { left, .. }) = (lowered, plan) else { return };
    if let Some(apply) = Arc::get_mut(apply)
        && matches!(apply.kind, JoinKind::Inner | JoinKind::Left)
    {
        let read: Vec<ColumnId> = above.iter().flat_map(Expr::columns).collect();
        let is_unread = |at: &usize| !read.iter().any(|column| column.0 as usize == *at);
        apply.unread = (0..left.columns().len()).filter(is_unread).collect();
    }
}
