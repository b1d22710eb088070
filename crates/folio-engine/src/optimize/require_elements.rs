//! Where a condition compares an element of an unnested list with a constant, rows without that
//! element are dropped before the list is unnested: `from c, unnest(c.tags) as u(t) where t = 'x'`
//! reads only documents whose `tags` have `'x'`, by an index on the elements if there is one.
//!
//! The condition itself stays, since a document that has the element has others too. Floating
//! point numbers are left alone: their equality is not that of a list's search.

use folio_compute::Span;
use folio_types::ColumnType;

use super::push_filters::is_movable;
use crate::expression::{Expr, function};
use crate::plan::logical::{Plan, Scan};
use crate::plan::terms::{JoinKind, TableFunction};
use crate::source::Comparison;

pub(super) fn apply(plan: &mut Plan) {
    plan.transform(&mut |part| {
        let Plan::Filter { input, terms } = part else { return };
        let Plan::Join { kind: JoinKind::Inner, left, right, lateral: true, .. } = &mut **input
        else {
            return;
        };
        if let Plan::Scan(scan) = &mut **left {
            terms.iter().for_each(|term| require(scan, right, term));
        }
    });
}

/// Adds the condition that a row has the element, if `term` requires one.
fn require(scan: &mut Scan, unnested: &Plan, term: &Expr) {
    let Plan::TableFunction { function: TableFunction::Unnest { .. }, arguments, columns } =
        unnested
    else {
        return;
    };
    let Expr::Compare { op: Comparison::Equal, left, right } = term else { return };
    for (element, value) in [(left, right), (right, left)] {
        let Expr::Column(column) = &**element else { continue };
        let at = columns.iter().position(|own| own.id == column.id);
        let Some(list @ Expr::Column(list_column)) = at.and_then(|at| arguments.get(at)) else {
            continue;
        };
        let is_scanned = scan.columns.iter().any(|(_, own)| own.id == list_column.id);
        let is_fit = is_searched(&column.ty)
            && value.ty() == column.ty
            && list.ty() == ColumnType::List(Box::new(column.ty.clone()))
            && value.columns().is_empty()
            && is_movable(value);
        if !(is_scanned && is_fit) {
            continue;
        }
        let arguments = vec![list.clone(), (**value).clone()];
        if let Ok(has) = function::resolve("array_contains", arguments, Span::NONE)
            && !scan.filters.contains(&has)
        {
            scan.filters.push(has);
        }
    }
}

/// Whether values that are equal are the same value.
fn is_searched(ty: &ColumnType) -> bool {
    use ColumnType::{Boolean, Date, Int16, Int32, Int64, Text, Time, Uuid};
    matches!(ty, Boolean | Int16 | Int32 | Int64 | Text | Date | Time | Uuid)
}
