//! Moves conditions down to where rows come from: through projections, below joins
//! and groupings, into scans. Conditions between two sides of a join become the
//! join's.

use crate::expression::{ColumnId, Expr};
use crate::plan::logical::{JoinKind, Plan};

pub(super) fn apply(plan: &mut Plan) {
    if let Plan::Filter { input, terms } = plan {
        let (terms, input) = (std::mem::take(terms), input.take());
        *plan = push(input, terms.into_iter().flat_map(Expr::into_conjuncts).collect());
    }
    if let Plan::Join { kind, left, right, terms, lateral } = plan {
        let own = std::mem::take(terms).into_iter().flat_map(Expr::into_conjuncts).collect();
        *terms = push_own(*kind, left, right, own, *lateral);
    }
    plan.inputs_mut().into_iter().for_each(apply);
}

/// The plan with these conditions, as deep in it as they can stand.
fn push(plan: Plan, terms: Vec<Expr>) -> Plan {
    if terms.is_empty() {
        return plan;
    }
    match plan {
        Plan::Filter { input, terms: more } => {
            let more = more.into_iter().flat_map(Expr::into_conjuncts);
            push(*input, more.chain(terms).collect())
        }
        Plan::Scan(mut scan) => {
            scan.filters.extend(terms);
            Plan::Scan(scan)
        }
        Plan::Sort { input, keys } => Plan::Sort { input: Box::new(push(*input, terms)), keys },
        Plan::Distinct { input, on: None } => {
            Plan::Distinct { input: Box::new(push(*input, terms)), on: None }
        }
        Plan::Project { input, outputs } => push_project(*input, outputs, terms),
        Plan::Aggregate { input, groups, aggregates, sets: None } if !groups.is_empty() => {
            let columns: Vec<ColumnId> = groups.iter().map(|(column, _)| column.id).collect();
            let (mut below, above): (Vec<Expr>, Vec<Expr>) =
                terms.into_iter().partition(|term| term.reads_only(&columns) && is_movable(term));
            for term in &mut below {
                term.replace_columns(&|id| {
                    groups
                        .iter()
                        .find(|(column, _)| column.id == id)
                        .map(|(_, group)| group.clone())
                });
            }
            let input = Box::new(push(*input, below));
            Plan::Aggregate { input, groups, aggregates, sets: None }.filtered(above)
        }
        Plan::SetOperation { kind, all, left, right, columns } => {
            let (both, above): (Vec<Expr>, Vec<Expr>) = terms.into_iter().partition(is_movable);
            let side = |side: Plan| {
                let own = side.columns();
                let mut below = both.clone();
                for term in &mut below {
                    term.replace_columns(&|id| {
                        let position = columns.iter().position(|column| column.id == id)?;
                        Some(Expr::Column(own[position].clone()))
                    });
                }
                Box::new(push(side, below))
            };
            let (left, right) = (side(*left), side(*right));
            Plan::SetOperation { kind, all, left, right, columns }.filtered(above)
        }
        Plan::Join { kind, left, right, terms: own, lateral } => {
            push_join((kind, *left, *right, own, lateral), terms)
        }
        other => other.filtered(terms),
    }
}

/// Whether a condition means the same anywhere.
pub(super) fn is_movable(term: &Expr) -> bool {
    !term.any(&mut |part| match part {
        Expr::Function { function, .. } => function.is_volatile,
        Expr::Subquery(_) => true,
        _ => false,
    })
}

fn push_project(
    input: Plan,
    outputs: Vec<(crate::expression::Column, Expr)>,
    terms: Vec<Expr>,
) -> Plan {
    let (mut below, above): (Vec<Expr>, Vec<Expr>) = terms.into_iter().partition(|term| {
        let read = term.columns();
        let stays = |output: &Expr| !is_movable(output);
        !outputs.iter().any(|(column, output)| read.contains(&column.id) && stays(output))
    });
    for term in &mut below {
        term.replace_columns(&|id| {
            outputs.iter().find(|(column, _)| column.id == id).map(|(_, output)| output.clone())
        });
    }
    let input = Box::new(push(input, below));
    Plan::Project { input, outputs }.filtered(above)
}

type JoinParts = (JoinKind, Plan, Plan, Vec<Expr>, bool);

fn push_join(
    (mut kind, mut left, mut right, mut own, lateral): JoinParts,
    terms: Vec<Expr>,
) -> Plan {
    let (left_columns, right_columns) = (left.column_ids(), right.column_ids());
    kind = strengthen(kind, &terms, &left_columns, &right_columns);
    let (mut to_left, mut to_right, mut above) = (Vec::new(), Vec::new(), Vec::new());
    for term in terms {
        let (reads_left, reads_right) = (reads(&term, &left_columns), reads(&term, &right_columns));
        let keeps_left = matches!(kind, JoinKind::Inner | JoinKind::Left) || !kind.has_right();
        let keeps_right = matches!(kind, JoinKind::Inner | JoinKind::Right);
        match (reads_left, reads_right) {
            (_, false) if keeps_left => to_left.push(term),
            (false, true) if keeps_right && !lateral => to_right.push(term),
            (true, true) if kind == JoinKind::Inner => own.push(term),
            _ => above.push(term),
        }
    }
    left = push(left, to_left);
    right = push(right, to_right);
    Plan::Join { kind, left: Box::new(left), right: Box::new(right), terms: own, lateral }
        .filtered(above)
}

/// An outer join whose added nulls no condition lets through is an inner one.
fn strengthen(kind: JoinKind, terms: &[Expr], left: &[ColumnId], right: &[ColumnId]) -> JoinKind {
    let refuses = |side: &[ColumnId]| terms.iter().any(|term| refuses_null(term, side));
    match kind {
        JoinKind::Left if refuses(right) => JoinKind::Inner,
        JoinKind::Right if refuses(left) => JoinKind::Inner,
        JoinKind::Full => match (refuses(left), refuses(right)) {
            (true, true) => JoinKind::Inner,
            (true, false) => JoinKind::Left,
            (false, true) => JoinKind::Right,
            _ => JoinKind::Full,
        },
        kind => kind,
    }
}

/// Whether a condition is never true where a column of these is null.
fn refuses_null(term: &Expr, columns: &[ColumnId]) -> bool {
    use crate::expression::Comparison;
    let is_strict = |side: &Expr| {
        let is_plain = !side.any(&mut |part| {
            !matches!(
                part,
                Expr::Column(_)
                    | Expr::Literal { .. }
                    | Expr::Arithmetic { .. }
                    | Expr::Cast { .. }
            )
        });
        is_plain && reads(side, columns)
    };
    match term {
        Expr::Compare { op: Comparison::Distinct | Comparison::NotDistinct, .. } => false,
        Expr::Compare { left, right, .. } => is_strict(left) || is_strict(right),
        Expr::InList { input, .. } | Expr::Match { input, .. } => is_strict(input),
        Expr::Not(inner) => matches!(&**inner, Expr::IsNull(column) if is_strict(column)),
        Expr::And(terms) => terms.iter().any(|term| refuses_null(term, columns)),
        _ => false,
    }
}

fn reads(term: &Expr, columns: &[ColumnId]) -> bool {
    term.columns().iter().any(|column| columns.contains(column))
}

/// A join's own conditions: those of one side alone go to that side, where the join
/// drops the rows that fail them.
fn push_own(
    kind: JoinKind,
    left: &mut Plan,
    right: &mut Plan,
    terms: Vec<Expr>,
    lateral: bool,
) -> Vec<Expr> {
    let (left_columns, right_columns) = (left.column_ids(), right.column_ids());
    let (mut to_left, mut to_right, mut own) = (Vec::new(), Vec::new(), Vec::new());
    for term in terms {
        let (reads_left, reads_right) = (reads(&term, &left_columns), reads(&term, &right_columns));
        match (reads_left, reads_right) {
            (true, false) if matches!(kind, JoinKind::Inner | JoinKind::Right | JoinKind::Semi) => {
                to_left.push(term);
            }
            (false, true)
                if !matches!(kind, JoinKind::Right | JoinKind::Full | JoinKind::NullAnti)
                    && !lateral =>
            {
                to_right.push(term);
            }
            _ => own.push(term),
        }
    }
    *left = push(left.take(), to_left);
    *right = push(right.take(), to_right);
    own
}
