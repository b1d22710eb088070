//! `x in (a, b, …)`: null if no value equals `x` and one of them is null.
//!
//! A long list of constants becomes a set once per statement ([`ConstantSet`]), a long list of
//! parameters once per batch, so that the cost of a row does not depend on the length. Short
//! lists are compared one by one, which is faster.

use std::sync::Arc;

use folio_compute::{Batch, ConstantSet, Evaluated, Result, array, compare};
use folio_types::Value;

use super::Expr;
use super::evaluate::{connected, evaluate};
use crate::context::Context;
use crate::source::Comparison;

/// Minimum number of values for a set.
const SET_COUNT_MIN: usize = 16;

/// Turns a long list of constants into a set.
pub(super) fn make_set(expression: &mut Expr) {
    let Expr::InList { input, list } = expression else { return };
    if list.len() < SET_COUNT_MIN {
        return;
    }
    let constants = list.iter().map(|term| term.as_literal().cloned());
    let Some(constants) = constants.collect::<Option<Vec<Value>>>() else { return };
    // Values that do not fit are reported when the list is evaluated.
    if let Ok(set) = ConstantSet::new(constants, input.ty()) {
        let input = std::mem::replace(&mut **input, Expr::boolean(true));
        *expression = Expr::InSet { input: Box::new(input), set: Arc::new(set) };
    }
}

/// Evaluates `input in set`.
pub(super) fn in_set(
    input: &Expr,
    set: &ConstantSet,
    batch: &Batch,
    context: &Context,
) -> Result<Evaluated> {
    set.look_up(&evaluate(input, batch, context)?)
}

/// Evaluates `input in (list)`.
pub(super) fn in_list(
    input: &Expr,
    list: &[Expr],
    batch: &Batch,
    context: &Context,
) -> Result<Evaluated> {
    let operand = evaluate(input, batch, context)?;
    let mut known = None;
    let given = list.iter().filter(|term| term.is_given());
    let is_long = given.clone().count() >= SET_COUNT_MIN;
    if is_long {
        let values = given.map(|term| {
            let array = evaluate(term, batch, context)?;
            Ok(array::value_at(array.inner(), 0, &term.ty()))
        });
        let set = ConstantSet::new(values.collect::<Result<_>>()?, input.ty())?;
        known = Some(set.look_up(&operand)?);
    }
    for term in list.iter().filter(|term| !(is_long && term.is_given())) {
        let other = evaluate(term, batch, context)?;
        let equal = compare::compare(Comparison::Equal, &operand, &other)?;
        known = Some(match known {
            None => equal,
            Some(known) => connected(&known, &equal, false, batch.row_count)?,
        });
    }
    Ok(known.unwrap_or_else(|| Evaluated::boolean(Some(false))))
}
