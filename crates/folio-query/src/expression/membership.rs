//! `x in (a, b, …)`: null where no value equals and one of them is null.
//!
//! Many constants are made a set when the statement is made ready ([`ConstantSet`]), and many
//! parameters for each batch, so that a row costs the same however long the list is. A few are
//! compared one by one, which is faster.

use std::sync::Arc;

use arrow_array::{Array, BooleanArray};
use folio_types::{ColumnType, Value};

use super::evaluate::{Evaluated, connected, evaluate};
use super::{Comparison, Expr, compare, value};
use crate::batch::Batch;
use crate::error::Result;
use crate::execute::context::Context;
use crate::execute::keys::KeyTable;

/// Values that are worth a set, at least.
const SET_COUNT_MIN: usize = 16;

/// Constants of one type to look values up in.
pub(crate) struct ConstantSet {
    /// Those that are not null, as they were written.
    pub(crate) values: Vec<Value>,
    pub(crate) ty: ColumnType,
    keys: KeyTable,
    has_null: bool,
}

impl ConstantSet {
    /// # Errors
    /// `type_mismatch` for a value of another type.
    fn new(values: Vec<Value>, ty: ColumnType) -> Result<Self> {
        let count = values.len();
        let values: Vec<Value> =
            values.into_iter().filter(|value| !matches!(value, Value::Null)).collect();
        let mut keys = KeyTable::new(std::slice::from_ref(&ty))?;
        let array = value::to_array(values.iter(), &ty)?;
        keys.intern(&[array], values.len(), &mut Vec::new())?;
        Ok(Self { has_null: values.len() < count, values, ty, keys })
    }

    /// Whether each value is one of the set.
    fn look_up(&self, operand: &Evaluated) -> Result<Evaluated> {
        let array = operand.inner();
        let found = self.keys.find(std::slice::from_ref(array), array.len())?;
        let missing = (!self.has_null).then_some(false);
        let verdicts = found.iter().enumerate().map(|(row, found)| match found {
            _ if array.is_null(row) => None,
            Some(_) => Some(true),
            None => missing,
        });
        Ok(operand.with(Arc::new(verdicts.collect::<BooleanArray>())))
    }
}

impl std::fmt::Debug for ConstantSet {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} values", self.values.len())
    }
}

impl PartialEq for ConstantSet {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
            || self.ty == other.ty && self.has_null == other.has_null && self.values == other.values
    }
}

/// Makes a long list of constants a set.
pub(super) fn make_set(expression: &mut Expr) {
    let Expr::InList { input, list } = expression else { return };
    if list.len() < SET_COUNT_MIN {
        return;
    }
    let constants = list.iter().map(|term| term.as_literal().cloned());
    let Some(constants) = constants.collect::<Option<Vec<Value>>>() else { return };
    // What does not fit is said when the list is evaluated.
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
            Ok(value::value_at(array.inner(), 0, &term.ty()))
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
