//! Computes what does not change from row to row, once.

use crate::expression::fold::fold;
use crate::plan::logical::Plan;

pub(super) fn apply(plan: &mut Plan) {
    plan.for_each_expression_mut(&mut fold);
}
