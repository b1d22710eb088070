//! Factors out conditions common to all OR branches: `a AND b OR a AND c` becomes `a AND (b OR c)`.
//! Valid in three-valued logic. Join conditions that every branch repeats become conditions of
//! the join, and conditions on one side move there.

use super::push_filters::is_movable;
use crate::expression::Expr;
use crate::plan::logical::Plan;

pub(super) fn apply(plan: &mut Plan) {
    plan.for_each_expression_mut(&mut |expression| {
        expression.transform(&mut |part| {
            if let Expr::Or(terms) = part
                && let Some(factored) = factor(terms)
            {
                *part = factored;
            }
        });
    });
}

/// The condition with its common parts factored out; `None` if there are none.
fn factor(terms: &[Expr]) -> Option<Expr> {
    let branches = terms.iter().cloned().flat_map(disjuncts);
    let mut branches: Vec<Vec<Expr>> = branches.map(Expr::into_conjuncts).collect();
    let (first, others) = branches.split_first()?;
    let is_common =
        |term: &&Expr| is_movable(term) && others.iter().all(|branch| branch.contains(term));
    let mut common: Vec<Expr> = Vec::new();
    for term in first.iter().filter(is_common) {
        if !common.contains(term) {
            common.push(term.clone());
        }
    }
    if common.is_empty() || others.is_empty() {
        return None;
    }
    branches.iter_mut().for_each(|branch| branch.retain(|term| !common.contains(term)));
    // A branch without further terms is true wherever the common part is.
    if branches.iter().all(|branch| !branch.is_empty()) {
        let all = |mut branch: Vec<Expr>| match branch.len() {
            1 => branch.remove(0),
            _ => Expr::And(branch),
        };
        common.push(Expr::Or(branches.into_iter().map(all).collect()));
    }
    Some(if common.len() == 1 { common.remove(0) } else { Expr::And(common) })
}

fn disjuncts(term: Expr) -> Vec<Expr> {
    match term {
        Expr::Or(terms) => terms.into_iter().flat_map(disjuncts).collect(),
        other => vec![other],
    }
}
