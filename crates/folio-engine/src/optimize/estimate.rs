//! Rough estimates of row counts, enough to tell small from large.

use folio_types::Value;

use super::join_graph::{Graph, INPUTS_MAX};
use crate::expression::Expr;
use crate::plan::logical::{Plan, Scan};
use crate::plan::terms::JoinKind;
use crate::source::{Comparison, Relation, Source};

/// Rows of a relation without a known count.
const UNKNOWN_ROWS: f64 = 10_000.0;

/// The share of rows that pass an equality. Conditions ask for kinds and states more often than
/// for names.
const EQUAL: f64 = 0.05;

/// Values of a range are expected in at least this share of rows.
const SHARE_MIN: f64 = 1e-4;

pub(super) fn rows(plan: &Plan, source: &dyn Source) -> f64 {
    sizes(plan, source).rows
}

/// The rows expected of a scan or join, if the counts of all relations that it reads are known.
pub(crate) fn known_rows(plan: &Plan, source: &dyn Source) -> Option<u64> {
    let limit = match plan {
        Plan::Scan(scan) => scan.limit.unwrap_or(u64::MAX),
        Plan::Join { .. } => u64::MAX,
        _ => return None,
    };
    has_counts(plan, source).then(|| (rows(plan, source).round() as u64).clamp(1, limit.max(1)))
}

fn has_counts(plan: &Plan, source: &dyn Source) -> bool {
    match plan {
        Plan::Scan(scan) => matches!(source.row_count(&scan.relation), Ok(Some(_))),
        Plan::Join { left, right, .. } | Plan::SetOperation { left, right, .. } => {
            has_counts(left, source) && has_counts(right, source)
        }
        Plan::Project { input, .. }
        | Plan::Filter { input, .. }
        | Plan::Aggregate { input, .. }
        | Plan::Sort { input, .. }
        | Plan::Ordered { input, .. }
        | Plan::Limit { input, .. }
        | Plan::Distinct { input, .. } => has_counts(input, source),
        Plan::OneRow | Plan::Values { .. } => true,
        _ => false,
    }
}

/// The estimated size of a plan.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub(super) rows: f64,
    /// Rows of the relation it reads, before any filter.
    pub(super) base: f64,
}

/// Estimates both numbers in one pass, so that each input is visited once in deep plans.
pub(super) fn sizes(plan: &Plan, source: &dyn Source) -> Sizes {
    match plan {
        Plan::Scan(scan) => {
            Sizes { rows: scan_rows(scan, source), base: relation_rows(&scan.relation, source) }
        }
        Plan::Project { input, .. } | Plan::Sort { input, .. } => sizes(input, source),
        Plan::Filter { input, terms } => {
            let Sizes { rows, base } = sizes(input, source);
            Sizes { rows: terms.iter().fold(rows, |rows, term| rows * selectivity(term)), base }
        }
        Plan::Join { kind, left, right, terms, .. } => joined(*kind, left, right, terms, source),
        other => {
            let rows = other_rows(other, source);
            Sizes { rows, base: rows }
        }
    }
}

fn other_rows(plan: &Plan, source: &dyn Source) -> f64 {
    match plan {
        Plan::OneRow => 1.0,
        Plan::Scan(_)
        | Plan::Project { .. }
        | Plan::Filter { .. }
        | Plan::Sort { .. }
        | Plan::Join { .. } => rows(plan, source),
        Plan::Values { rows, .. } => rows.len() as f64,
        Plan::Ordered { input, .. } | Plan::Window { input, .. } => rows(input, source),
        Plan::Aggregate { input, groups, .. } => {
            if groups.is_empty() {
                1.0
            } else {
                rows(input, source) * 0.2
            }
        }
        Plan::Limit { input, limit, .. } => match limit.as_ref().and_then(Expr::as_literal) {
            Some(Value::Integer(limit)) => rows(input, source).min(*limit as f64),
            _ => rows(input, source),
        },
        Plan::Distinct { input, .. } => rows(input, source) * 0.5,
        Plan::SetOperation { left, right, .. } => rows(left, source) + rows(right, source),
        Plan::TableFunction { .. } | Plan::WorkTable { .. } => 100.0,
        Plan::Recursive { base, .. } => rows(base, source) * 100.0,
        Plan::Shared { query, .. } => query.rows(|plan| rows(plan, source)),
        Plan::Fetch(fetch) => rows(&fetch.input, source) * 4.0,
        Plan::Follow { input, .. } => rows(input, source),
        Plan::LimitPerParent(cut) => rows(&cut.input, source),
        Plan::SemiJoin(mark) => rows(&mark.input, source),
    }
}

/// Rows of a join.
fn joined(kind: JoinKind, left: &Plan, right: &Plan, terms: &[Expr], source: &dyn Source) -> Sizes {
    let alone = |rows: f64| Sizes { rows, base: rows };
    if kind == JoinKind::Inner {
        let (mut inputs, mut all) = (Vec::new(), terms.to_vec());
        flatten(left, &mut inputs, &mut all);
        flatten(right, &mut inputs, &mut all);
        if inputs.len() <= INPUTS_MAX {
            return alone(Graph::new(&inputs, all, source).rows());
        }
    }
    let graph = Graph::new(&[left, right], terms.to_vec(), source);
    let [one, two] = &graph.nodes[..] else { return alone(UNKNOWN_ROWS) };
    // Filters on the key side tell how many rows of the left find a partner.
    let found = (two.rows / two.base.max(1.0)).min(1.0);
    let found = if found < 1.0 { found } else { 0.5 };
    let of_left = |rows: f64| Sizes { rows, base: one.base };
    match kind {
        JoinKind::Semi => of_left(one.rows * found),
        JoinKind::Anti | JoinKind::NullAnti => of_left(one.rows * (1.0 - found)),
        JoinKind::Inner => alone(graph.rows()),
        JoinKind::Left => alone(graph.rows().max(one.rows)),
        JoinKind::Right => alone(graph.rows().max(two.rows)),
        JoinKind::Full => alone(graph.rows().max(one.rows + two.rows)),
    }
}

/// The inputs and conditions of a tree of inner joins.
fn flatten<'p>(plan: &'p Plan, inputs: &mut Vec<&'p Plan>, all: &mut Vec<Expr>) {
    match plan {
        Plan::Join { kind: JoinKind::Inner, left, right, terms, lateral: false } => {
            flatten(left, inputs, all);
            flatten(right, inputs, all);
            all.extend(terms.iter().cloned());
        }
        other => inputs.push(other),
    }
}

/// Rows of a relation.
pub(super) fn relation_rows(relation: &Relation, source: &dyn Source) -> f64 {
    source.row_count(relation).ok().flatten().map_or(UNKNOWN_ROWS, |count| count as f64)
}

fn scan_rows(scan: &Scan, source: &dyn Source) -> f64 {
    let all = relation_rows(&scan.relation, source);
    let is_one = |key: &[usize]| {
        !key.is_empty()
            && key
                .iter()
                .all(|index| scan.filters.iter().any(|term| equals_column(term, scan, *index)))
    };
    let unique = scan.relation.indexes.iter().filter(|index| index.unique && index.is_whole());
    let mut unique =
        unique.map(|index| index.columns.iter().map(|(column, _)| *column).collect::<Vec<_>>());
    if is_one(&scan.relation.schema.primary_key) || unique.any(|key| is_one(&key)) {
        return 1.0;
    }
    // An equality is expected to find at least one row.
    let least = |term: &Expr| match term {
        Expr::Or(branches) => branches.len() as f64,
        Expr::InList { list, .. } => list.len() as f64,
        Expr::InSet { set, .. } => set.values.len() as f64,
        _ => 1.0,
    };
    let pass = |rows: f64, term: &Expr| {
        let share = known_share(term, scan, source).unwrap_or_else(|| selectivity(term));
        (rows * share).max(least(term)).min(rows)
    };
    let mut rows = all;
    let mut ranges: Vec<Range> = Vec::new();
    for term in &scan.filters {
        match Range::of(term, scan, source) {
            // Conditions on one column are the ends of one range.
            Some(range) => match ranges.iter_mut().find(|own| own.column == range.column) {
                Some(own) => *own = own.within(&range),
                None => ranges.push(range),
            },
            None => rows = pass(rows, term),
        }
    }
    ranges.iter().fold(rows, |rows, range| rows * range.share()).max(1.0)
}

/// The part of a column's values that passes comparisons with constants.
struct Range {
    column: usize,
    present: f64,
    /// The share of values before those that pass, and before the end of those.
    from: f64,
    to: f64,
}

impl Range {
    fn of(term: &Expr, scan: &Scan, source: &dyn Source) -> Option<Self> {
        let Expr::Compare { op, left, right } = term else { return None };
        let (op, side, value) = match (left.as_literal(), right.as_literal()) {
            (None, Some(value)) => (*op, left, (value, right.ty())),
            (Some(value), None) => (op.mirrored(), right, (value, left.ty())),
            _ => return None,
        };
        let Expr::Column(own) = side.uncast_number() else { return None };
        let column = scan.position(own.id)?;
        let known = source.statistics(&scan.relation, column).ok().flatten()?;
        let at = known.ends?.share_before(value.0, &value.1)?;
        let (from, to) = match op {
            Comparison::Less | Comparison::LessOrEqual => (0.0, at),
            Comparison::Greater | Comparison::GreaterOrEqual => (at, 1.0),
            _ => return None,
        };
        Some(Self { column, present: known.present, from, to })
    }

    fn within(&self, other: &Self) -> Self {
        Self { from: self.from.max(other.from), to: self.to.min(other.to), ..*self }
    }

    /// The share of rows.
    fn share(&self) -> f64 {
        (self.present * (self.to - self.from)).max(SHARE_MIN)
    }
}

/// The share of rows that pass a condition on one column, from its statistics.
fn known_share(term: &Expr, scan: &Scan, source: &dyn Source) -> Option<f64> {
    let statistics = |side: &Expr| {
        let Expr::Column(column) = side.uncast_number() else { return None };
        source.statistics(&scan.relation, scan.position(column.id)?).ok().flatten()
    };
    let equal = |side: &Expr, count: usize| {
        let known = statistics(side)?;
        Some((known.present * count as f64 / known.distinct?).min(known.present))
    };
    match term {
        Expr::Compare { op: Comparison::Equal, left, right } if right.is_given() => equal(left, 1),
        Expr::Compare { op: Comparison::Equal, left, right } if left.is_given() => equal(right, 1),
        Expr::InList { input, list } => equal(input, list.len()),
        Expr::InSet { input, set } => equal(input, set.values.len()),
        Expr::IsNull(input) => Some(1.0 - statistics(input)?.present),
        Expr::Not(inner) => Some(1.0 - known_share(inner, scan, source)?),
        _ => None,
    }
}

fn equals_column(term: &Expr, scan: &Scan, index: usize) -> bool {
    let Expr::Compare { op: Comparison::Equal, left, right } = term else { return false };
    let is_it = |side: &Expr| {
        let side = match side {
            Expr::Cast { input, .. } => input,
            side => side,
        };
        matches!(side, Expr::Column(column) if scan.column(index) == Some(column))
    };
    is_it(left) != is_it(right)
}

/// The share of rows that pass a condition.
pub(super) fn selectivity(term: &Expr) -> f64 {
    match term {
        Expr::Compare { op: Comparison::Equal | Comparison::NotDistinct, .. } => EQUAL,
        Expr::Compare { op: Comparison::NotEqual | Comparison::Distinct, .. } => 0.9,
        Expr::Compare { .. } => 0.3,
        Expr::InList { list, .. } => (list.len() as f64 * EQUAL).min(0.5),
        Expr::InSet { set, .. } => (set.values.len() as f64 * EQUAL).min(0.5),
        Expr::Match { pattern, .. } => match pattern.as_literal() {
            Some(Value::Text(pattern)) if !pattern.starts_with(['%', '_']) => 0.02,
            _ => 0.1,
        },
        Expr::IsNull(_) => 0.05,
        Expr::Not(inner) => 1.0 - selectivity(inner),
        Expr::And(terms) => terms.iter().map(selectivity).product(),
        Expr::Or(terms) => terms.iter().map(selectivity).sum::<f64>().min(0.9),
        _ => 0.5,
    }
}
