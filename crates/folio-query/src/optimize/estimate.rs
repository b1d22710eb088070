//! How many rows a plan will have, roughly: enough to tell small from large.

use crate::expression::{Comparison, Expr};
use crate::plan::logical::{JoinKind, Plan, Scan};
use crate::source::Source;

/// Rows of a relation nobody has counted.
const UNKNOWN_ROWS: f64 = 10_000.0;

pub(super) fn rows(plan: &Plan, source: &dyn Source) -> f64 {
    match plan {
        Plan::OneRow => 1.0,
        Plan::Scan(scan) => scan_rows(scan, source),
        Plan::Values { rows, .. } => rows.len() as f64,
        Plan::Project { input, .. } | Plan::Sort { input, .. } | Plan::Window { input, .. } => {
            rows(input, source)
        }
        Plan::Filter { input, terms } => {
            terms.iter().fold(rows(input, source), |rows, term| rows * selectivity(term))
        }
        Plan::Join { kind, left, right, terms, .. } => {
            let (left, right) = (rows(left, source), rows(right, source));
            match kind {
                JoinKind::Semi => left * 0.5,
                JoinKind::Anti | JoinKind::NullAnti => left * 0.5,
                _ if terms.is_empty() => left * right,
                _ => left.max(right),
            }
        }
        Plan::Aggregate { input, groups, .. } => {
            if groups.is_empty() {
                1.0
            } else {
                rows(input, source) * 0.2
            }
        }
        Plan::Limit { input, limit, .. } => match limit.as_ref().and_then(Expr::as_literal) {
            Some(folio_types::Value::Integer(limit)) => rows(input, source).min(*limit as f64),
            _ => rows(input, source),
        },
        Plan::Distinct { input, .. } => rows(input, source) * 0.5,
        Plan::SetOperation { left, right, .. } => rows(left, source) + rows(right, source),
        Plan::TableFunction { .. } | Plan::WorkTable { .. } => 100.0,
        Plan::Recursive { base, .. } => rows(base, source) * 100.0,
        Plan::Fetch(fetch) => rows(&fetch.input, source) * 4.0,
        Plan::Follow { input, .. } => rows(input, source),
        Plan::Cut(cut) => rows(&cut.input, source),
        Plan::Mark(mark) => rows(&mark.input, source),
    }
}

fn scan_rows(scan: &Scan, source: &dyn Source) -> f64 {
    let all =
        source.row_count(&scan.relation).ok().flatten().map_or(UNKNOWN_ROWS, |count| count as f64);
    let is_one = |key: &[usize]| {
        !key.is_empty()
            && key
                .iter()
                .all(|index| scan.filters.iter().any(|term| equals_column(term, scan, *index)))
    };
    let unique = scan.relation.indexes.iter().filter(|index| index.unique);
    let mut unique =
        unique.map(|index| index.columns.iter().map(|(column, _)| *column).collect::<Vec<_>>());
    if is_one(&scan.relation.schema.primary_key) || unique.any(|key| is_one(&key)) {
        return 1.0;
    }
    scan.filters.iter().fold(all, |rows, term| rows * selectivity(term)).max(1.0)
}

fn equals_column(term: &Expr, scan: &Scan, index: usize) -> bool {
    let Expr::Compare { op: Comparison::Equal, left, right } = term else { return false };
    let is_it = |side: &Expr| {
        let side = match side {
            Expr::Cast { input, .. } => input,
            side => side,
        };
        matches!(side, Expr::Column(column) if scan.columns.iter().any(|(at, own)| *at == index && own.id == column.id))
    };
    is_it(left) != is_it(right)
}

/// The share of rows a condition lets through.
pub(super) fn selectivity(term: &Expr) -> f64 {
    match term {
        Expr::Compare { op: Comparison::Equal | Comparison::NotDistinct, .. } => 0.02,
        Expr::Compare { op: Comparison::NotEqual | Comparison::Distinct, .. } => 0.9,
        Expr::Compare { .. } => 0.3,
        Expr::InList { list, .. } => (list.len() as f64 * 0.02).min(0.5),
        Expr::Match { .. } => 0.1,
        Expr::IsNull(_) => 0.05,
        Expr::Not(inner) => 1.0 - selectivity(inner),
        Expr::And(terms) => terms.iter().map(selectivity).product(),
        Expr::Or(terms) => terms.iter().map(selectivity).sum::<f64>().min(0.9),
        _ => 0.5,
    }
}
