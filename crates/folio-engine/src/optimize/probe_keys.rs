//! Chooses lookup joins: a small input looks up its keys in a large relation's primary key or
//! index. The cost depends on the number of lookups, not on the size of the relation.
//!
//! For inner joins this is decided with the join order; this rule handles the other kinds.

use folio_compute::keys::is_integer_key;

use super::estimate;
use super::join_graph::Graph;
use crate::expression::{ColumnId, Expr};
use crate::plan::join_keys::split_keys;
use crate::plan::logical::{Plan, Scan};
use crate::plan::terms::{COLUMNS_ADVANTAGE, JoinKind, Path, Probe, ROWS_PER_FETCH};
use crate::source::{RelationKind, Source};

/// A lookup costs about as much as reading this many rows.
const ROWS_PER_LOOKUP: f64 = 12.0;

/// Looking up a key costs so many times as much, where the scan would leave out rows by their keys.
const KEY_ADVANTAGE: f64 = 24.0;

/// A side of a join is read first if the other has this many times as many rows.
const NARROWED: f64 = 8.0;

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

/// Lets joins with a small left side read it first, so that the columns of the right are read for its
/// keys only. Inner joins have their small side on the right, and lead to the same.
pub(super) fn narrow(plan: &mut Plan, source: &dyn Source) {
    plan.transform(&mut |part| {
        let Plan::Join { kind, left, right, terms, lateral: false } = part else { return };
        if !matches!(kind, JoinKind::Left | JoinKind::Semi | JoinKind::Anti) {
            return;
        }
        let left_rows = estimate::rows(left, source);
        let split = split_keys(terms, &left.column_ids(), &right.column_ids());
        for (_, key) in split.pairs.iter().filter(|_| !split.null_equal) {
            let Expr::Column(key) = key else { continue };
            if is_integer_key(&key.ty)
                && let Some(scan) = right.scan_of(key.id)
                && matches!(scan.path, Path::Full)
                && scan.limit.is_none()
                && !scan.relation.columns_indexes.is_empty()
                && left_rows * NARROWED < estimate::relation_rows(&scan.relation, source)
            {
                scan.is_narrowed = true;
            }
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
    let (per_key, per_found) = match scan.relation.columns_indexes.is_empty() {
        true => (1.0, 1.0),
        false => (KEY_ADVANTAGE, COLUMNS_ADVANTAGE),
    };
    let indexes = (0..scan.relation.indexes.len()).map(Some);
    let mut best: Option<(Probe, f64)> = None;
    for index in std::iter::once(None).chain(indexes) {
        if !scan.can_follow(index) {
            continue;
        }
        let key = scan.key_columns(index);
        let ids = key.iter().map_while(|position| scan.column(*position));
        let ids: Vec<ColumnId> = ids.map(|column| column.id).collect();
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
        let cost = left_rows * (ROWS_PER_LOOKUP * per_key + found * per_found);
        if best.is_none_or(|best| cost < best.1) {
            best = Some((Probe { index, columns }, cost));
        }
    }
    best
}
