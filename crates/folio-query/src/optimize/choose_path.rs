//! Finds the key or index a scan can follow: equality with the first columns of a
//! key, then perhaps a range of the next.
//!
//! A whole primary key is a look-up. A condition that the path already says, and
//! says exactly, is not looked at again.

use crate::expression::coerce::is_integer;
use crate::expression::{Comparison, Expr};
use crate::plan::logical::{Path, Plan, Scan};

pub(super) fn apply(plan: &mut Plan) {
    plan.transform(&mut |part| {
        if let Plan::Scan(scan) = part {
            choose(scan);
        }
    });
}

/// A condition on one column: which filter, how compared, with what.
struct Sarg {
    filter: usize,
    column: usize,
    op: Comparison,
    value: Expr,
}

fn choose(scan: &mut Scan) {
    if scan.filters.is_empty() || !matches!(scan.path, Path::Full) {
        return;
    }
    let sargs = sargs(scan);
    let primary = scan.relation.schema.primary_key.clone();
    let equal = equalities(&sargs, &primary);
    if !primary.is_empty() && equal.len() == primary.len() {
        let used: Vec<usize> = equal.iter().map(|sarg| sarg.filter).collect();
        scan.path = Path::Key(equal.into_iter().map(|sarg| sarg.value.clone()).collect());
        let mut index = 0;
        scan.filters.retain(|_| {
            index += 1;
            !used.contains(&(index - 1))
        });
        return;
    }
    let mut best = range(&sargs, &primary, None);
    for (number, index) in scan.relation.indexes.iter().enumerate() {
        let columns: Vec<usize> = index.columns.iter().map(|(column, _)| *column).collect();
        let descends = index.columns.iter().any(|(_, descending)| *descending);
        let candidate = range(&sargs, &columns, Some(number));
        let candidate = if descends {
            candidate.filter(|found| found.1 >= 2 && !has_ends(&found.0))
        } else {
            candidate
        };
        if candidate.as_ref().map_or(0, |found| found.1) > best.as_ref().map_or(0, |found| found.1)
        {
            best = candidate;
        }
    }
    if let Some((path, _)) = best {
        scan.path = path;
    }
}

fn has_ends(path: &Path) -> bool {
    matches!(path, Path::Range { from, to, .. } if from.is_some() || to.is_some())
}

/// The path a key offers, and how good it is: two for each equality, one for a range.
fn range(sargs: &[Sarg], key: &[usize], index: Option<usize>) -> Option<(Path, usize)> {
    let equal = equalities(sargs, key);
    let next = key.get(equal.len());
    let bound = |is_from: bool| {
        let wanted = sargs.iter().filter(|sarg| Some(&sarg.column) == next);
        let mut bounds = wanted.filter_map(|sarg| match (sarg.op, is_from) {
            (Comparison::Greater, true) | (Comparison::Less, false) => {
                Some((sarg.value.clone(), false))
            }
            (Comparison::GreaterOrEqual, true) | (Comparison::LessOrEqual, false) => {
                Some((sarg.value.clone(), true))
            }
            _ => None,
        });
        bounds.next()
    };
    let (from, to) = (bound(true), bound(false));
    let score = 2 * equal.len() + usize::from(from.is_some() || to.is_some());
    let equal = equal.into_iter().map(|sarg| sarg.value.clone()).collect();
    (score > 0).then_some((Path::Range { index, equal, from, to }, score))
}

/// The equalities that cover the first columns of a key.
fn equalities<'s>(sargs: &'s [Sarg], key: &[usize]) -> Vec<&'s Sarg> {
    let find = |column: &usize| {
        sargs.iter().find(|sarg| sarg.column == *column && sarg.op == Comparison::Equal)
    };
    key.iter().map_while(find).collect()
}

fn sargs(scan: &Scan) -> Vec<Sarg> {
    let own: Vec<_> = scan.columns.iter().map(|(_, column)| column.id).collect();
    let column = |side: &Expr, value: &Expr| {
        let inner = match side {
            Expr::Cast { input, to, .. } if is_integer(to) && is_integer(&input.ty()) => input,
            side => side,
        };
        let Expr::Column(column) = inner else { return None };
        let (position, _) = scan.columns.iter().find(|(_, own)| own.id == column.id)?;
        let reads_own = value.columns().iter().any(|read| own.contains(read));
        let is_fit = value.ty() == column.ty || (is_integer(&value.ty()) && is_integer(&column.ty));
        (!reads_own && is_fit && !value.has_subquery() && !is_volatile(value)).then_some(*position)
    };
    let sarg = |(filter, term): (usize, &Expr)| {
        let Expr::Compare { op, left, right } = term else { return None };
        if matches!(op, Comparison::NotEqual | Comparison::Distinct | Comparison::NotDistinct) {
            return None;
        }
        if let Some(column) = column(left, right) {
            return Some(Sarg { filter, column, op: *op, value: (**right).clone() });
        }
        let column = column(right, left)?;
        Some(Sarg { filter, column, op: op.mirrored(), value: (**left).clone() })
    };
    scan.filters.iter().enumerate().filter_map(sarg).collect()
}

fn is_volatile(value: &Expr) -> bool {
    value.any(&mut |part| matches!(part, Expr::Function { function, .. } if function.is_volatile))
}
