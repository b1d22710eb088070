//! Passes limits to scans. Drops a sort if the scan follows its order anyway, or can follow an
//! index with that order when few rows are wanted. Applies limits before links are looked up.

use folio_types::Value;

use super::choose_path;
use crate::constraint::Reference;
use crate::expression::{ColumnId, Expr};
use crate::plan::follow::{Fetch, LimitPerParent};
use crate::plan::logical::{Plan, Scan};
use crate::plan::terms::{JoinKind, Path, SortKey};
use crate::source::RelationKind;

/// Maximum number of rows for which following an index is better than sorting everything.
pub(super) const FEW: u64 = 1000;

/// A column of a projection and its expression.
type Output = (crate::expression::Column, Expr);

/// Returns whether a sort was dropped, and with it perhaps the only use of its keys.
pub(super) fn apply(plan: &mut Plan) -> bool {
    let mut has_dropped = false;
    plan.transform(&mut |part| {
        if let Plan::Sort { input, keys } = part
            && follow_key(input, keys)
        {
            *part = input.take();
            has_dropped = true;
        }
        cut_early(part);
        // With ties, the number of rows is not known.
        if let Plan::Limit { input, limit, offset, ties } = part
            && ties.is_empty()
        {
            let count = |bound: &Option<Expr>, otherwise| match bound {
                None => otherwise,
                Some(bound) => match bound.as_literal() {
                    Some(Value::Integer(count)) => u64::try_from(*count).ok(),
                    _ => None,
                },
            };
            if let (Some(limit), Some(offset)) = (count(limit, None), count(offset, Some(0))) {
                let wanted = limit.saturating_add(offset);
                if limit <= FEW {
                    has_dropped |= follow_index(input, wanted > FEW);
                }
                if let Some(scan) = scan_below(input) {
                    scan.limit = Some(wanted);
                }
            }
        }
    });
    has_dropped
}

/// Moves a limit below a fetch that finds exactly one row for each input row.
fn cut_early(part: &mut Plan) {
    let is_late =
        |cut: &LimitPerParent| matches!(&cut.input, Plan::Fetch(fetch) if finds_one(fetch));
    if !matches!(part, Plan::LimitPerParent(cut) if is_late(cut)) {
        return;
    }
    if let Plan::LimitPerParent(mut cut) = part.take()
        && let Plan::Fetch(mut fetch) = cut.input.take()
    {
        cut.input = fetch.input.take();
        fetch.input = Plan::LimitPerParent(cut);
        cut_early(&mut fetch.input);
        *part = Plan::Fetch(fetch);
    }
}

/// Whether each row of the input finds exactly one row: its key is a column of a link's table,
/// which references the relation's whole key and is never null.
fn finds_one(fetch: &Fetch) -> bool {
    let (Plan::Fetch(links), Expr::Column(key)) = (&fetch.input, &fetch.key) else { return false };
    let Some((position, _)) = links.columns.iter().find(|(_, column)| column.id == key.id) else {
        return false;
    };
    let (target, column) = (&fetch.relation, &links.relation.schema.columns[*position]);
    let refers = |reference: &Reference| {
        let target_column = &target.schema.columns[fetch.column].name;
        reference.columns == [column.name.as_str()]
            && reference.table.eq_ignore_ascii_case(&target.schema.name)
            && (reference.target.is_empty() || reference.target == [target_column.as_str()])
    };
    target.schema.primary_key == [fetch.column]
        && !column.nullable
        && links.relation.constraints.references.iter().any(refers)
}

/// Drops the sort below by following an index with its order, if there is one. Where many rows are
/// skipped, only if the entries of the index are counted for that.
fn follow_index(plan: &mut Plan, skips_many: bool) -> bool {
    match plan {
        Plan::Project { input, .. } => follow_index(input, skips_many),
        Plan::Sort { input, keys } => {
            let Some(scan) = scan_below(input) else { return false };
            let is_plain = matches!(scan.path, Path::Full) && scan.row_number.is_none();
            let is_counted = scan.relation.kind == RelationKind::Table && scan.filters.is_empty();
            if !is_plain || (skips_many && !is_counted) {
                return false;
            }
            for index in 0..scan.relation.indexes.len() {
                let Some(scan) = scan_below(input) else { return false };
                if let Some(path) = choose_path::in_order_of(scan, index) {
                    scan.path = path;
                    if follow_key(input, keys) {
                        *plan = input.take();
                        return true;
                    }
                }
                if let Some(scan) = scan_below(input) {
                    scan.path = Path::Full;
                }
            }
            false
        }
        _ => false,
    }
}

/// The scan below whose rows come through one by one.
fn scan_below(plan: &mut Plan) -> Option<&mut Scan> {
    match plan {
        Plan::Scan(scan) => Some(scan),
        Plan::Project { input, .. } => scan_below(input),
        _ => None,
    }
}

/// The scan below whose order the plan preserves, and the projections in between. Rows may be dropped
/// or repeated.
fn ordered_scan_below<'p>(
    plan: &'p mut Plan,
    seen: &mut dyn FnMut(&[Output]),
) -> Option<&'p mut Scan> {
    match plan {
        Plan::Scan(scan) => Some(scan),
        Plan::Project { input, outputs } => {
            seen(outputs);
            ordered_scan_below(input, seen)
        }
        Plan::Filter { input, .. } | Plan::Follow { input, .. } => ordered_scan_below(input, seen),
        Plan::SemiJoin(mark) => ordered_scan_below(&mut mark.input, seen),
        Plan::Join { kind, left, .. } if *kind == JoinKind::Left || !kind.has_right() => {
            ordered_scan_below(left, seen)
        }
        _ => None,
    }
}

/// Makes the scan below follow its key in the order of a sort, if possible.
fn follow_key(input: &mut Plan, keys: &[SortKey]) -> bool {
    let mut columns: Vec<Option<ColumnId>> = keys
        .iter()
        .map(|key| match &key.expression {
            Expr::Column(column) => Some(column.id),
            _ => None,
        })
        .collect();
    let Some(scan) = ordered_scan_below(input, &mut |outputs| {
        for column in &mut columns {
            *column = column.and_then(|id| match outputs.iter().find(|(own, _)| own.id == id) {
                Some((_, Expr::Column(source))) => Some(source.id),
                Some(_) => None,
                None => Some(id),
            });
        }
    }) else {
        return false;
    };
    // Collections have no key order, only that of an index.
    let has_index = matches!(scan.path, Path::Range { index: Some(_), .. });
    if scan.relation.kind != RelationKind::Table && !has_index {
        return false;
    }
    let position = |id: &Option<ColumnId>| scan.position((*id)?);
    let wanted: Option<Vec<usize>> = columns.iter().map(position).collect();
    let Some(wanted) = wanted else { return false };
    let (key, fixed, is_primary) = match &scan.path {
        Path::Full => (primary_key(scan), 0, true),
        Path::Range { index: None, equal, .. } => (primary_key(scan), equal.len(), true),
        Path::Range { index: Some(index), equal, .. } => {
            (scan.relation.indexes[*index].columns.clone(), equal.len(), false)
        }
        Path::Key(_) | Path::Keys { .. } | Path::Probe(_) => return false,
    };
    // Fixed columns do not affect the order.
    let (fixed, rest) = key.split_at(fixed.min(key.len()));
    let is_fixed = |position: &usize| fixed.iter().any(|(own, _)| own == position);
    let asked: Vec<(usize, &SortKey)> =
        wanted.into_iter().zip(keys).filter(|(position, _)| !is_fixed(position)).collect();
    // After a whole unique key, further sort keys do not matter.
    let is_covered = asked.len() <= rest.len() || (is_primary && !rest.is_empty());
    let mut pairs = asked.iter().zip(rest);
    let Some(reverse) = asked
        .first()
        .zip(rest.first())
        .map(|((_, key), (_, descends))| key.descending != *descends)
    else {
        return false;
    };
    let follows = pairs.all(|((position, key), (own, descends))| {
        // Indexes order null as the greatest value; a primary key has no nulls.
        let has_null = scan.relation.is_nullable(*own);
        position == own
            && (key.descending != *descends) == reverse
            && (!has_null || key.nulls_first == key.descending)
    });
    if is_covered && follows {
        scan.reverse = reverse;
        scan.is_in_order = true;
        return true;
    }
    false
}

fn primary_key(scan: &Scan) -> Vec<(usize, bool)> {
    scan.relation.schema.primary_key.iter().map(|column| (*column, false)).collect()
}
