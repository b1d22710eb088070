//! Reads members of structs and values of maps directly from scans that can: `geo.lat` becomes a
//! column of the scan, which then need not build the whole of `geo`, and so does `visits['paris']`.
//! Projections in between, of views and subqueries, pass the column on.
//!
//! Groupings and set operations keep the access to the member above them.

use std::sync::Arc;

use folio_types::Value;

use crate::expression::{Column, ColumnId, Expr};
use crate::plan::logical::{Plan, Scan};
use crate::plan::shared;
use crate::source::Relation;

/// Columns made by the rule have ids from here on. No statement has as many.
const FIRST_COLUMN: u32 = 1 << 30;

/// What is read of a column.
#[derive(Debug, Clone, Copy)]
enum Part<'e> {
    /// A member of a struct, by its position.
    Member(usize),
    /// The value of a key of a map.
    Key(&'e str),
}

impl Part<'_> {
    fn owned(self) -> shared::Part {
        match self {
            Self::Member(member) => shared::Part::Member(member),
            Self::Key(key) => shared::Part::Key(key.to_owned()),
        }
    }
}

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
        *plan = plan.take().only(before);
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
            replace(expression, &mut |id, part| provide(left, id, part, count));
        });
    }
    // The inputs change while the expressions do.
    let mut own = Vec::new();
    plan.for_each_own_expression_mut(&mut |expression| own.push(take(expression)));
    for expression in &mut own {
        replace(expression, &mut |id, part| match &mut *plan {
            Plan::Scan(scan) => in_scan(scan, id, part, count),
            _ if is_by_position => None,
            plan => {
                let mut inputs = plan.inputs_mut().into_iter();
                inputs.find_map(|input| provide(input, id, part, count))
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
fn replace(expression: &mut Expr, find: &mut dyn FnMut(ColumnId, Part<'_>) -> Option<Column>) {
    expression.transform(&mut |access| {
        if let Some((id, part)) = accessed(access)
            && let Some(column) = find(id, part)
        {
            *access = Expr::Column(column);
        }
    });
}

/// The column that an expression accesses, and what it reads of it.
fn accessed(expression: &Expr) -> Option<(ColumnId, Part<'_>)> {
    let Expr::Function { function, arguments, .. } = expression else { return None };
    match (&arguments[..], function.member()) {
        ([Expr::Column(column)], Some(member)) => Some((column.id, Part::Member(member))),
        ([Expr::Column(column), Expr::Literal { value: Value::Text(key), .. }], None)
            if function.name == "map_get" =>
        {
            Some((column.id, Part::Key(key)))
        }
        _ => None,
    }
}

/// A part of a column as a column of the plan; `None` if the plan cannot provide it.
fn provide(plan: &mut Plan, id: ColumnId, part: Part<'_>, count: &mut u32) -> Option<Column> {
    match plan {
        Plan::Scan(scan) => in_scan(scan, id, part, count),
        Plan::Project { input, outputs } => {
            let (_, own) = outputs.iter().find(|(column, _)| column.id == id)?;
            let Expr::Column(own) = own else { return None };
            let below = provide(input, own.id, part, count)?;
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
        | Plan::Distinct { input, on: Some(_) } => provide(input, id, part, count),
        Plan::Shared { query, columns } => {
            let (place, _) = columns.iter().find(|(_, column)| column.id == id)?;
            let mut find = |plan: &mut Plan, id| provide(plan, id, part, count);
            let (place, found) = query.part(*place, &part.owned(), &mut find)?;
            if let Some((_, column)) = columns.iter().find(|(known, _)| *known == place) {
                return Some(column.clone());
            }
            let column = Column { id: fresh(count), ..found };
            columns.push((place, column.clone()));
            Some(column)
        }
        Plan::Join { kind, left, right, .. } => match provide(left, id, part, count) {
            None if kind.has_right() => provide(right, id, part, count),
            found => found,
        },
        _ => None,
    }
}

fn in_scan(scan: &mut Scan, id: ColumnId, part: Part<'_>, count: &mut u32) -> Option<Column> {
    let at = scan.position(id)?;
    let at = match part {
        Part::Member(member) => scan.relation.paths.member(at, member)?,
        Part::Key(key) => key_of(&mut scan.relation, at, key)?,
    };
    if let Some(column) = scan.column(at) {
        return Some(column.clone());
    }
    let (name, ty) = (scan.relation.column_name(at).into(), scan.relation.column_type(at).clone());
    let column = Column { id: fresh(count), ty, name };
    scan.columns.push((at, column.clone()));
    Some(column)
}

/// Where the value of a key of a map is read. The relation of the scan gets a path for it.
fn key_of(relation: &mut Arc<Relation>, column: usize, key: &str) -> Option<usize> {
    if let Some(known) = relation.paths.key(column, key) {
        return Some(known);
    }
    let (paths, at) = relation.paths.with_key(column, key)?;
    *relation = Arc::new(Relation { paths, ..Relation::clone(relation) });
    Some(at)
}

fn fresh(count: &mut u32) -> ColumnId {
    *count += 1;
    ColumnId(FIRST_COLUMN + *count)
}
