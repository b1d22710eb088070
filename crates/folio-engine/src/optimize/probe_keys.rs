//! Chooses lookup joins: a small input looks up its keys in a large relation's primary key or
//! index. The cost depends on the number of lookups, not on the size of the relation.
//!
//! For inner joins this is decided with the join order; this rule handles the other kinds.

use super::join_graph::Graph;
use crate::expression::ColumnId;
use crate::plan::logical::{Plan, Scan};
use crate::plan::terms::{JoinKind, Path, Probe};
use crate::source::{RelationKind, Source};

/// A lookup costs about as much as reading this many rows.
const ROWS_PER_LOOKUP: f64 = 12.0;

/// Fetching a row that an index entry points at costs about as much as reading this many rows.
const ROWS_PER_FETCH: f64 = 64.0;

/// A row that is looked up costs about as much as so many that are scanned in columns, on all cores.
const COLUMNS_ADVANTAGE: f64 = 8.0;

pub(super) fn apply(plan: &mut Plan, source: &dyn Source) {
    plan.transform(&mut |part| {
        let Plan::Join { kind, left, right, terms, lateral: false } = part else { return };
        if !matches!(kind, JoinKind::Left | JoinKind::Semi | JoinKind::Anti) {
            return;
        }
        let Plan::Scan(scan) = &**right else { return };
        let graph = Graph::new(&[left, right], terms.clone(), source);
        let left_rows = graph.nodes[0].rows;
        let found = cheapest(scan, left_rows, |key| graph.fan_out(1, 1, key));
        let Plan::Scan(scan) = &mut **right else { return };
        if let Some((probe, cost)) = found
            && cost < graph.nodes[1].base
        {
            scan.path = Path::Probe(probe);
        }
    });
}

/// The key that finds the partners of the left rows at the least cost, and the cost in rows read.
/// `fan_out` gives how many rows one value of these columns finds, if every column has a value
/// to look up.
pub(super) fn cheapest(
    scan: &Scan,
    left_rows: f64,
    fan_out: impl Fn(&[ColumnId]) -> Option<f64>,
) -> Option<(Probe, f64)> {
    let is_plain =
        matches!(scan.path, Path::Full) && scan.row_number.is_none() && scan.limit.is_none();
    if !is_plain {
        return None;
    }
    let is_table = scan.relation.kind == RelationKind::Table;
    let copied = if scan.relation.columns_indexes.is_empty() { 1.0 } else { COLUMNS_ADVANTAGE };
    let indexes = (0..scan.relation.indexes.len()).map(Some);
    let mut best: Option<(Probe, f64)> = None;
    for index in std::iter::once(None).chain(indexes) {
        if !scan.can_follow(index) {
            continue;
        }
        let key = scan.key_columns(index);
        let ids = key.iter().map_while(|position| {
            let own = scan.columns.iter().find(|(own, _)| own == position);
            own.map(|(_, column)| column.id)
        });
        let ids: Vec<ColumnId> = ids.collect();
        let found = (1..=ids.len())
            .rev()
            .find_map(|count| fan_out(&ids[..count]).map(|rows| (count, rows)));
        let Some((columns, rows)) = found else { continue };
        let is_whole = index.is_none() && columns == key.len();
        // The key of a collection finds one document.
        if !is_table && index.is_none() && !is_whole {
            continue;
        }
        let per_row = match index {
            Some(index) if !scan.is_covered_by(index) => ROWS_PER_FETCH,
            _ => 1.0,
        };
        let found = if is_whole { 0.0 } else { rows * per_row };
        let cost = left_rows * (ROWS_PER_LOOKUP + found) * copied;
        if best.is_none_or(|best| cost < best.1) {
            best = Some((Probe { index, columns }, cost));
        }
    }
    best
}
