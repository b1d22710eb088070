//! Joins a small input with a large relation by looking its keys up, where they are
//! the relation's primary key: it costs by what is looked up, not by what is there.

use super::estimate;
use crate::expression::{ColumnId, Expr};
use crate::plan::logical::{JoinKind, Path, Plan, Scan};
use crate::plan::lower::split_keys;
use crate::source::Source;

/// A look-up costs about as much as reading so many rows.
const ROWS_PER_LOOKUP: f64 = 8.0;

pub(super) fn apply(plan: &mut Plan, source: &dyn Source) {
    plan.transform(&mut |part| {
        let Plan::Join { kind, left, right, terms, lateral: false } = part else { return };
        if !matches!(kind, JoinKind::Inner | JoinKind::Left | JoinKind::Semi | JoinKind::Anti) {
            return;
        }
        // An inner join may look up either side.
        if *kind == JoinKind::Inner
            && can_probe(right, left, terms, source)
            && !can_probe(left, right, terms, source)
        {
            std::mem::swap(left, right);
        }
        if can_probe(left, right, terms, source)
            && let Plan::Scan(scan) = &mut **right
        {
            scan.path = Path::Probe;
        }
    });
}

fn can_probe(left: &Plan, right: &Plan, terms: &[Expr], source: &dyn Source) -> bool {
    let Plan::Scan(scan) = right else { return false };
    let is_plain =
        matches!(scan.path, Path::Full) && scan.row_number.is_none() && scan.limit.is_none();
    if !is_plain || probe_keys(scan, terms, &left.column_ids(), &right.column_ids()).is_none() {
        return false;
    }
    let all = source.row_count(&scan.relation).ok().flatten().unwrap_or(0);
    estimate::rows(left, source) * ROWS_PER_LOOKUP < all as f64
}

/// What each column of the primary key is to equal, in the order of the key.
pub(crate) fn probe_keys(
    scan: &Scan,
    terms: &[Expr],
    left: &[ColumnId],
    right: &[ColumnId],
) -> Option<Vec<Expr>> {
    let split = split_keys(terms, left, right);
    let key = &scan.relation.schema.primary_key;
    if split.null_equal || key.is_empty() {
        return None;
    }
    let probe = |index: &usize| {
        let (_, own) = scan.columns.iter().find(|(position, _)| position == index)?;
        let pair = split
            .pairs
            .iter()
            .find(|(_, other)| matches!(other, Expr::Column(column) if column.id == own.id))?;
        (pair.0.ty() == own.ty).then(|| pair.0.clone())
    };
    key.iter().map(probe).collect()
}
