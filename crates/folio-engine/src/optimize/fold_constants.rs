//! Evaluates constant expressions once, and drops conditions that are always true.

use folio_types::Value;

use crate::expression::Expr;
use crate::expression::fold::fold;
use crate::plan::logical::Plan;

pub(super) fn apply(plan: &mut Plan) {
    plan.for_each_expression_mut(&mut fold);
    plan.transform(&mut |part| match part {
        Plan::Filter { terms, .. } => terms.retain(decides),
        Plan::Scan(scan) => scan.filters.retain(decides),
        _ => {}
    });
}

fn decides(term: &Expr) -> bool {
    term.as_literal() != Some(&Value::Boolean(true))
}
