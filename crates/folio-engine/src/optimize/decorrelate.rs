//! Decorrelation: turns EXISTS and IN in a filter into semi and anti joins. Scalar subqueries are
//! handled in [`super::join_scalars`].
//!
//! Subqueries that read the outer query in any other way stay, and run for every combination of
//! outer values.

use folio_types::Value;

use crate::expression::{Expr, Subquery, SubqueryKind};
use crate::plan::logical::Plan;
use crate::plan::terms::JoinKind;
use crate::source::Comparison;

/// Returns whether there were any.
pub(super) fn apply(plan: &mut Plan) -> bool {
    let mut has_changed = false;
    plan.transform(&mut |part| {
        let Plan::Filter { input, terms } = part else { return };
        let mut whole = input.take();
        let mut rest = Vec::new();
        for term in std::mem::take(terms).into_iter().flat_map(Expr::into_conjuncts) {
            match semi_join(&whole, without_hopeless(term)) {
                Ok((kind, right, on)) => {
                    has_changed = true;
                    let (left, right) = (Box::new(whole), Box::new(right));
                    whole = Plan::Join { kind, left, right, terms: on, lateral: false };
                }
                Err(term) => rest.push(term),
            }
        }
        *part = whole.filtered(rest);
    });
    has_changed
}

/// Drops the alternatives of a condition that are never true. They do not matter in a filter,
/// where unknown counts as false.
fn without_hopeless(mut term: Expr) -> Expr {
    let Expr::Or(alternatives) = &mut term else { return term };
    alternatives.retain(|alternative| !is_never_true(alternative));
    if alternatives.len() == 1 { alternatives.remove(0) } else { term }
}

fn is_never_true(condition: &Expr) -> bool {
    match condition {
        Expr::Case { branches, otherwise, .. } => {
            let mut results = branches.iter().map(|(_, result)| result);
            results.all(is_never_true) && otherwise.as_deref().is_none_or(is_never_true)
        }
        literal => matches!(literal.as_literal(), Some(Value::Null | Value::Boolean(false))),
    }
}

/// The join for a condition, or the condition itself if there is none.
#[allow(clippy::result_large_err, reason = "the condition goes back where it came from")]
fn semi_join(left: &Plan, term: Expr) -> Result<(JoinKind, Plan, Vec<Expr>), Expr> {
    let (negated, inner) = match &term {
        Expr::Not(inner) => (true, &**inner),
        inner => (false, inner),
    };
    let Expr::Subquery(subquery) = inner else { return Err(term) };
    match joined(left, subquery, negated) {
        Some(found) => Ok(found),
        None => Err(term),
    }
}

fn joined(left: &Plan, subquery: &Subquery, negated: bool) -> Option<(JoinKind, Plan, Vec<Expr>)> {
    let body = subquery.plan()?;
    let mut body = body.clone();
    let mut on = Vec::new();
    let own = left.column_ids();
    let free = body.free_columns();
    if !free.is_empty() {
        if !free.iter().all(|column| own.contains(&column.id)) {
            return None;
        }
        on = pull_up(&mut body)?;
    }
    let kind = match (subquery.kind, negated) {
        (SubqueryKind::Exists, false) => JoinKind::Semi,
        (SubqueryKind::Exists, true) => JoinKind::Anti,
        (SubqueryKind::Any(Comparison::Equal), false) => JoinKind::Semi,
        (SubqueryKind::Any(Comparison::Equal), true) if on.is_empty() => JoinKind::NullAnti,
        _ => return None,
    };
    apply(&mut body);
    if let Some(operand) = &subquery.operand {
        if operand.has_subquery() || operand.columns().is_empty() || !operand.reads_only(&own) {
            return None;
        }
        let value = Expr::Column(subquery.output.clone());
        on.push(Expr::compare(Comparison::Equal, operand.clone(), value));
    }
    Some((kind, without_projection(body, &mut on), on))
}

/// Removes projections from the top of a plan, and rewrites the join conditions over their
/// inputs, so that a key or index below can be used.
fn without_projection(mut body: Plan, on: &mut [Expr]) -> Plan {
    while let Plan::Project { input, outputs } = &mut body {
        let read: Vec<_> = on.iter().flat_map(Expr::columns).collect();
        let mut asked = outputs.iter().filter(|(own, _)| read.contains(&own.id));
        if !asked.all(|(_, output)| matches!(output, Expr::Column(_))) {
            break;
        }
        on.iter_mut().for_each(|term| term.replace_outputs(outputs));
        body = input.take();
    }
    body
}

/// Moves the conditions that read outer columns out of a plan of projections and filters, and
/// adds the columns that they need to its outputs. `None` if something else reads outer columns,
/// or if rows are grouped, limited or ordered in between.
pub(super) fn pull_up(body: &mut Plan) -> Option<Vec<Expr>> {
    match body {
        Plan::Project { input, outputs } => {
            let pulled = pull_up(input)?;
            if outputs.iter().any(|(_, output)| output.has_subquery()) {
                return None;
            }
            let inside = input.columns();
            for term in &pulled {
                for id in term.columns() {
                    if let Some(column) = inside.iter().find(|column| column.id == id)
                        && !outputs.iter().any(|(own, _)| own.id == id)
                    {
                        outputs.push(column.clone().passed_on());
                    }
                }
            }
            if body.free_columns().is_empty() { Some(pulled) } else { None }
        }
        Plan::Filter { input, terms } => {
            let mut pulled =
                if input.free_columns().is_empty() { Vec::new() } else { pull_up(input)? };
            let inside = input.column_ids();
            let terms = std::mem::take(terms).into_iter().flat_map(Expr::into_conjuncts);
            let (kept, outer): (Vec<Expr>, Vec<Expr>) =
                terms.partition(|term| term.reads_only(&inside));
            if outer.iter().any(Expr::has_subquery) {
                return None;
            }
            pulled.extend(outer);
            *body = input.take().filtered(kept);
            Some(pulled)
        }
        other => other.free_columns().is_empty().then(Vec::new),
    }
}
