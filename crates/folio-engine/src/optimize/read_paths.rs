//! Reads members of structs directly from scans that can: `geo.lat` becomes a column of the scan,
//! which then need not build the whole of `geo`. Projections in between, of views and subqueries,
//! pass the member on.
//!
//! Groupings, set operations and queries that are read in several places keep the access to the
//! member above them.

use crate::expression::{Column, ColumnId, Expr};
use crate::plan::logical::{Plan, Scan};

/// Columns made by the rule have ids from here on. No statement has as many.
const FIRST_COLUMN: u32 = 1 << 30;

/// Replaces accesses to members in all expressions of a plan. `count` is the number of columns
/// that the rule has made in the statement.
pub(super) fn apply(plan: &mut Plan, count: &mut u32) {
    let mut is_wanted = false;
    plan.for_each_expression_mut(&mut |expression| {
        is_wanted = is_wanted || expression.any(&mut |part| accessed(part).is_some());
    });
    if is_wanted {
        keeping_columns(plan, &mut |plan| rewrite(plan, count));
    }
}

/// Changes a plan whose columns are used by position: those it had remain.
fn keeping_columns(plan: &mut Plan, change: &mut dyn FnMut(&mut Plan)) {
    let before = plan.columns();
    change(plan);
    if plan.column_ids().len() > before.len() {
        let through = |column: Column| (column.clone(), Expr::Column(column));
        let outputs = before.into_iter().map(through).collect();
        *plan = Plan::Project { input: Box::new(plan.take()), outputs };
    }
}

fn rewrite(plan: &mut Plan, count: &mut u32) {
    let is_by_position = matches!(
        plan,
        Plan::Distinct { on: None, .. }
            | Plan::SetOperation { .. }
            | Plan::Recursive { .. }
            | Plan::Follow { .. }
            | Plan::SemiJoin(_)
    );
    for input in plan.inputs_mut() {
        match is_by_position {
            true => keeping_columns(input, &mut |input| rewrite(input, count)),
            false => rewrite(input, count),
        }
    }
    if let Plan::Join { left, right, lateral: true, .. } = plan {
        right.for_each_expression_mut(&mut |expression| {
            replace(expression, &mut |id, member| provide(left, id, member, count));
        });
    }
    // The inputs change while the expressions do.
    let mut own = Vec::new();
    plan.for_each_own_expression_mut(&mut |expression| own.push(take(expression)));
    for expression in &mut own {
        replace(expression, &mut |id, member| match &mut *plan {
            Plan::Scan(scan) => in_scan(scan, id, member, count),
            _ if is_by_position => None,
            plan => {
                let mut inputs = plan.inputs_mut().into_iter();
                inputs.find_map(|input| provide(input, id, member, count))
            }
        });
    }
    let mut own = own.into_iter();
    plan.for_each_own_expression_mut(&mut |expression| {
        if let Some(changed) = own.next() {
            *expression = changed;
        }
    });
}

fn take(expression: &mut Expr) -> Expr {
    std::mem::replace(expression, Expr::And(Vec::new()))
}

/// Replaces accesses to members by the columns found for them.
fn replace(expression: &mut Expr, find: &mut dyn FnMut(ColumnId, usize) -> Option<Column>) {
    expression.transform(&mut |part| {
        if let Some((id, member)) = accessed(part)
            && let Some(column) = find(id, member)
        {
            *part = Expr::Column(column);
        }
    });
}

/// The column and the position of the member that an expression accesses.
fn accessed(expression: &Expr) -> Option<(ColumnId, usize)> {
    let Expr::Function { function, arguments, .. } = expression else { return None };
    match (&arguments[..], function.member) {
        ([Expr::Column(column)], Some(member)) => Some((column.id, member)),
        _ => None,
    }
}

/// The member of a column as a column of the plan; `None` if the plan cannot provide it.
fn provide(plan: &mut Plan, id: ColumnId, member: usize, count: &mut u32) -> Option<Column> {
    match plan {
        Plan::Scan(scan) => in_scan(scan, id, member, count),
        Plan::Project { input, outputs } => {
            let (_, own) = outputs.iter().find(|(column, _)| column.id == id)?;
            let Expr::Column(own) = own else { return None };
            let below = provide(input, own.id, member, count)?;
            let known = outputs.iter().find(|(_, output)| *output == Expr::Column(below.clone()));
            if let Some((column, _)) = known {
                return Some(column.clone());
            }
            let column = Column { id: fresh(count), ..below.clone() };
            outputs.push((column.clone(), Expr::Column(below)));
            Some(column)
        }
        Plan::Filter { input, .. }
        | Plan::Sort { input, .. }
        | Plan::Ordered { input, .. }
        | Plan::Limit { input, .. }
        | Plan::Window { input, .. }
        | Plan::Distinct { input, on: Some(_) } => provide(input, id, member, count),
        Plan::Join { kind, left, right, .. } => match provide(left, id, member, count) {
            None if kind.has_right() => provide(right, id, member, count),
            found => found,
        },
        _ => None,
    }
}

fn in_scan(scan: &mut Scan, id: ColumnId, member: usize, count: &mut u32) -> Option<Column> {
    let (at, _) = scan.columns.iter().find(|(_, column)| column.id == id)?;
    let at = scan.relation.paths.member(*at, member)?;
    if let Some((_, column)) = scan.columns.iter().find(|(known, _)| *known == at) {
        return Some(column.clone());
    }
    let (name, ty) = (scan.relation.column_name(at).into(), scan.relation.column_type(at).clone());
    let column = Column { id: fresh(count), ty, name };
    scan.columns.push((at, column.clone()));
    Some(column)
}

fn fresh(count: &mut u32) -> ColumnId {
    *count += 1;
    ColumnId(FIRST_COLUMN + *count)
}
