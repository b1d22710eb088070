//! Tells a scan how many rows are wanted; drops a sort whose order is that of the
//! key the scan follows anyway.

use folio_types::Value;

use crate::expression::{ColumnId, Expr};
use crate::plan::logical::{Path, Plan, Scan, SortKey};

/// A column of a projection and what it is made of.
type Output = (crate::expression::Column, Expr);

pub(super) fn apply(plan: &mut Plan) {
    plan.transform(&mut |part| {
        if let Plan::Sort { input, keys } = part
            && follow_key(input, keys)
        {
            *part = input.take();
        }
        if let Plan::Limit { input, limit, offset } = part {
            let count = |bound: &Option<Expr>, otherwise| match bound {
                None => otherwise,
                Some(bound) => match bound.as_literal() {
                    Some(Value::Integer(count)) => u64::try_from(*count).ok(),
                    _ => None,
                },
            };
            if let (Some(limit), Some(offset)) = (count(limit, None), count(offset, Some(0)))
                && let Some(scan) = scan_below(input, &mut |_| {})
            {
                scan.limit = Some(limit.saturating_add(offset));
            }
        }
    });
}

/// The scan whose rows come through one by one, and which of its columns a column
/// of the plan is.
fn scan_below<'p>(plan: &'p mut Plan, seen: &mut dyn FnMut(&[Output])) -> Option<&'p mut Scan> {
    match plan {
        Plan::Scan(scan) => Some(scan),
        Plan::Project { input, outputs } => {
            seen(outputs);
            scan_below(input, seen)
        }
        _ => None,
    }
}

/// Has the scan below follow its key in the order of a sort, if it can.
fn follow_key(input: &mut Plan, keys: &[SortKey]) -> bool {
    let mut columns: Vec<Option<ColumnId>> = keys
        .iter()
        .map(|key| match &key.expression {
            Expr::Column(column) => Some(column.id),
            _ => None,
        })
        .collect();
    let Some(scan) = scan_below(input, &mut |outputs| {
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
    let position = |id: ColumnId| {
        scan.columns.iter().find(|(_, own)| own.id == id).map(|(position, _)| *position)
    };
    let wanted: Option<Vec<usize>> = columns.iter().map(|id| id.and_then(position)).collect();
    let (Some(wanted), Path::Full | Path::Range { index: None, .. }) = (wanted, &scan.path) else {
        return false;
    };
    let key = &scan.relation.schema.primary_key;
    // Behind a whole key nothing is left to order.
    let is_prefix = wanted.iter().zip(key).all(|(wanted, own)| wanted == own) && !key.is_empty();
    let reverse = keys.first().is_some_and(|key| key.descending);
    let is_one_way = keys.iter().take(key.len()).all(|key| key.descending == reverse);
    if is_prefix && is_one_way && !wanted.is_empty() {
        scan.reverse = reverse;
        return true;
    }
    false
}
