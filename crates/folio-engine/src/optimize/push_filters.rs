//! Moves conditions towards the scans: through projections, below joins and groupings, into scans.
//! Conditions between two sides of a join become join conditions.

use super::join_scalars::is_dear;
use crate::expression::{ColumnId, Expr};
use crate::plan::logical::Plan;
use crate::plan::terms::JoinKind;

pub(super) fn apply(plan: &mut Plan) {
    if let Plan::Filter { input, terms } = plan {
        let (terms, input) = (std::mem::take(terms), input.take());
        *plan = push(input, terms.into_iter().flat_map(Expr::into_conjuncts).collect());
    }
    if let Plan::Join { kind, left, right, terms, lateral } = plan {
        let own = std::mem::take(terms).into_iter().flat_map(Expr::into_conjuncts).collect();
        *terms = push_own(*kind, left, right, own, *lateral);
    }
    sink_semi_join(plan);
    plan.for_each_input_mut(&mut apply);
}

/// Moves a semi or anti join down to the join input that it is about, which keeps the joins above
/// small. If its partners can be looked up, its cost depends on the remaining rows, and it stays.
fn sink_semi_join(plan: &mut Plan) {
    let Plan::Join { kind: JoinKind::Semi | JoinKind::Anti, left, right, terms, .. } = plan else {
        return;
    };
    if matches!(**right, Plan::Scan(_)) || terms.iter().any(Expr::has_subquery) {
        return;
    }
    let Plan::Join { kind: JoinKind::Inner, left: one, right: two, lateral: false, .. } =
        &mut **left
    else {
        return;
    };
    let columns = right.column_ids();
    let asks = |side: &Plan| {
        let own: Vec<ColumnId> = side.column_ids().into_iter().chain(columns.clone()).collect();
        terms.iter().all(|term| term.reads_only(&own))
    };
    let is_first = match (asks(one), asks(two)) {
        (true, false) => true,
        (false, true) => false,
        _ => return,
    };
    let mut joins = left.take();
    let Plan::Join { left: one, right: two, .. } = &mut joins else { return };
    let side = if is_first { one } else { two };
    // The semi join moves to the side it is about.
    **left = side.take();
    **side = plan.take();
    *plan = joins;
}

/// Applies these conditions to the plan, as deep as possible.
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
            let (dear, cheap): (Vec<Expr>, Vec<Expr>) = terms.into_iter().partition(is_dear);
            scan.filters.extend(cheap);
            Plan::Scan(scan).filtered(dear)
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
            below.iter_mut().for_each(|term| term.replace_outputs(&groups));
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

/// Whether a condition has the same value anywhere in a plan.
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
    below.iter_mut().for_each(|term| term.replace_outputs(&outputs));
    let input = Box::new(push(input, below));
    Plan::Project { input, outputs }.filtered(above)
}

type JoinParts = (JoinKind, Plan, Plan, Vec<Expr>, bool);

fn push_join(
    (mut kind, mut left, mut right, mut own, lateral): JoinParts,
    terms: Vec<Expr>,
) -> Plan {
    let (left_columns, right_columns) = (left.column_ids(), right.column_ids());
    kind = simplify_outer(kind, &terms, &left_columns, &right_columns);
    let (mut to_left, mut to_right, mut above) = (Vec::new(), Vec::new(), Vec::new());
    for term in terms {
        let (reads_left, reads_right) = (reads(&term, &left_columns), reads(&term, &right_columns));
        let keeps_left = matches!(kind, JoinKind::Inner | JoinKind::Left) || !kind.has_right();
        let keeps_right = matches!(kind, JoinKind::Inner | JoinKind::Right);
        match (reads_left, reads_right) {
            // Conditions that run subqueries stay above the join, which leaves fewer rows.
            _ if is_dear(&term) => above.push(term),
            (_, false) if keeps_left => to_left.push(term),
            (false, true) if keeps_right && !lateral => to_right.push(term),
            (true, true) if kind == JoinKind::Inner => {
                to_left.extend(implied(&term, &left_columns));
                to_right.extend(implied(&term, &right_columns).filter(|_| !lateral));
                own.push(term);
            }
            _ => above.push(term),
        }
    }
    left = push(left, to_left);
    right = push(right, to_right);
    Plan::Join { kind, left: Box::new(left), right: Box::new(right), terms: own, lateral }
        .filtered(above)
}

/// What an OR implies for these columns alone, if every branch restricts them: `a = 1 AND b = 2
/// OR a = 3 AND b = 4` implies that a is 1 or 3.
fn implied(term: &Expr, columns: &[ColumnId]) -> Option<Expr> {
    let Expr::Or(branches) = term else { return None };
    let part = |branch: &Expr| {
        let own = branch.clone().into_conjuncts().into_iter().filter(|conjunct| {
            reads(conjunct, columns) && conjunct.reads_only(columns) && is_movable(conjunct)
        });
        match own.collect::<Vec<_>>() {
            own if own.is_empty() => None,
            mut own if own.len() == 1 => own.pop(),
            own => Some(Expr::And(own)),
        }
    };
    branches.iter().map(part).collect::<Option<_>>().map(Expr::Or)
}

/// Turns an outer join into an inner one, if a condition refuses the nulls that it adds.
fn simplify_outer(
    kind: JoinKind,
    terms: &[Expr],
    left: &[ColumnId],
    right: &[ColumnId],
) -> JoinKind {
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

/// Whether a condition is never true if one of these columns is null.
fn refuses_null(term: &Expr, columns: &[ColumnId]) -> bool {
    use crate::source::Comparison;
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
        Expr::InList { input, .. } | Expr::InSet { input, .. } | Expr::Match { input, .. } => {
            is_strict(input)
        }
        Expr::Not(inner) => matches!(&**inner, Expr::IsNull(column) if is_strict(column)),
        Expr::And(terms) => terms.iter().any(|term| refuses_null(term, columns)),
        _ => false,
    }
}

fn reads(term: &Expr, columns: &[ColumnId]) -> bool {
    term.columns().iter().any(|column| columns.contains(column))
}

/// Moves conditions of a join that are about one side to that side, if the join drops rows that
/// fail them.
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
