//! Orders inner joins: the smallest input first, then always the one that, joined
//! by a condition, makes the least of it (greedy, after Fegaras 1998).
//!
//! The larger side of each join comes left: the right one is kept in memory.

use super::estimate;
use crate::expression::{ColumnId, Expr};
use crate::plan::logical::{JoinKind, Plan};
use crate::source::Source;

pub(super) fn apply(plan: &mut Plan, source: &dyn Source) {
    if is_inner(plan) {
        let (mut inputs, mut terms) = (Vec::new(), Vec::new());
        flatten(plan.take(), &mut inputs, &mut terms);
        inputs.iter_mut().for_each(|input| apply(input, source));
        *plan = order(inputs, terms, source);
        return;
    }
    plan.inputs_mut().into_iter().for_each(|input| apply(input, source));
}

fn is_inner(plan: &Plan) -> bool {
    matches!(plan, Plan::Join { kind: JoinKind::Inner, lateral: false, .. })
}

/// The inputs and conditions of a tree of inner joins.
fn flatten(plan: Plan, inputs: &mut Vec<Plan>, terms: &mut Vec<Expr>) {
    match plan {
        Plan::Join { kind: JoinKind::Inner, left, right, terms: own, lateral: false } => {
            flatten(*left, inputs, terms);
            flatten(*right, inputs, terms);
            terms.extend(own);
        }
        other => inputs.push(other),
    }
}

/// A part of the joined whole.
struct Part {
    plan: Plan,
    rows: f64,
    columns: Vec<ColumnId>,
}

impl Part {
    fn new(plan: Plan, source: &dyn Source) -> Self {
        let (rows, columns) = (estimate::rows(&plan, source), plan.column_ids());
        Self { plan, rows, columns }
    }
}

fn order(inputs: Vec<Plan>, mut terms: Vec<Expr>, source: &dyn Source) -> Plan {
    let mut parts: Vec<Part> = inputs.into_iter().map(|input| Part::new(input, source)).collect();
    let all: Vec<ColumnId> = parts.iter().flat_map(|part| part.columns.clone()).collect();
    let smallest = least(parts.iter().map(|part| part.rows));
    let mut whole = parts.remove(smallest);
    while !parts.is_empty() {
        let costs = parts.iter().map(|part| joined_rows(&whole, part, &terms, &all));
        let next = parts.remove(least(costs));
        let rows = joined_rows(&whole, &next, &terms, &all);
        let columns: Vec<ColumnId> = whole.columns.iter().chain(&next.columns).copied().collect();
        let is_ready = |term: &mut Expr| reads_within(term, &columns, &all);
        let own = terms.extract_if(.., is_ready).collect();
        let (left, right) =
            if whole.rows < next.rows { (next.plan, whole.plan) } else { (whole.plan, next.plan) };
        let (left, right) = (Box::new(left), Box::new(right));
        let plan = Plan::Join { kind: JoinKind::Inner, left, right, terms: own, lateral: false };
        whole = Part { plan, rows, columns };
    }
    whole.plan.filtered(terms)
}

/// The position of the least.
fn least(values: impl Iterator<Item = f64>) -> usize {
    let least = values.enumerate().min_by(|left, right| left.1.total_cmp(&right.1));
    least.map_or(0, |(position, _)| position)
}

/// Whether all columns a condition reads of the join are among these.
fn reads_within(term: &Expr, columns: &[ColumnId], all: &[ColumnId]) -> bool {
    term.columns().iter().all(|column| columns.contains(column) || !all.contains(column))
}

fn joined_rows(whole: &Part, part: &Part, terms: &[Expr], all: &[ColumnId]) -> f64 {
    let columns: Vec<ColumnId> = whole.columns.iter().chain(&part.columns).copied().collect();
    let between: Vec<&Expr> = terms
        .iter()
        .filter(|term| {
            let read = term.columns();
            reads_within(term, &columns, all)
                && read.iter().any(|column| part.columns.contains(column))
                && read.iter().any(|column| whole.columns.contains(column))
        })
        .collect();
    if between.is_empty() {
        // A product is worse than any join, in the order of their sizes.
        return 1e12 + whole.rows * part.rows;
    }
    let is_equality = |term: &&&Expr| {
        matches!(term, Expr::Compare { op: crate::expression::Comparison::Equal, .. })
    };
    let equalities = between.iter().filter(is_equality).count();
    let product = whole.rows * part.rows;
    match equalities {
        0 => product * 0.3,
        _ => (product / whole.rows.max(part.rows).max(1.0)).max(1.0),
    }
}
