//! Evaluates a lowered expression over a batch.
//!
//! The result is an array with one value per row, or one value for all rows: a constant is
//! computed once and passed to the kernels as a scalar.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, Datum};
use folio_compute::{Batch, Error, Evaluated, Result, arithmetic, array, cast, compare, pattern};
use folio_types::{ColumnType, Value};

use super::function::quotient;
use super::{Expr, case, membership, subquery};
use crate::context::{Context, Parameters};

/// Evaluates an expression over columns given by position.
///
/// # Errors
/// Overflow, division by zero, failed casts, each with its place in the statement.
pub fn evaluate(expression: &Expr, batch: &Batch, context: &Context) -> Result<Evaluated> {
    match expression {
        Expr::Column(column) => {
            Ok(Evaluated::Array(ArrayRef::clone(&batch.columns[column.id.0 as usize])))
        }
        Expr::Outer(slot, _) => match context.outer.get(*slot) {
            Some(value) => Ok(Evaluated::Scalar(ArrayRef::clone(value))),
            None => Err(Error::unsupported("a column of the outer query cannot be used here")
                .help("write the query as a join, and report this")),
        },
        Expr::Literal { value, ty, .. } => Ok(Evaluated::Scalar(array::repeat(value, ty, 1)?)),
        Expr::Parameter { index, ty, .. } => {
            Ok(Evaluated::Scalar(array::repeat(context.parameter(*index)?, ty, 1)?))
        }
        Expr::Cast { input, to, is_try, span } => {
            if let Some(whole) = quotient::evaluate(input, to, batch) {
                return Ok(Evaluated::Array(whole));
            }
            let operand = evaluate(input, batch, context)?;
            let array = cast::cast_array(operand.inner(), &input.ty(), to, *is_try)
                .map_err(|error| error.at(*span))?;
            Ok(operand.with(array))
        }
        Expr::Arithmetic { op, left, right, ty, span } => {
            let operands = (evaluate(left, batch, context)?, evaluate(right, batch, context)?);
            arithmetic::evaluate(*op, (&operands.0, &left.ty()), (&operands.1, &right.ty()), ty)
                .map_err(|error| error.at(*span))
        }
        Expr::Compare { op, left, right } => compare::compare(
            *op,
            &evaluate(left, batch, context)?,
            &evaluate(right, batch, context)?,
        ),
        Expr::And(terms) => connect(terms, true, batch, context),
        Expr::Or(terms) => connect(terms, false, batch, context),
        Expr::Not(input) => unary(input, batch, context, |array| {
            Ok(Arc::new(arrow_arith::boolean::not(array.as_boolean())?))
        }),
        Expr::IsNull(input) => unary(input, batch, context, |array| {
            Ok(Arc::new(arrow_arith::boolean::is_null(array)?))
        }),
        Expr::IsTrue(input) => unary(input, batch, context, |array| {
            let array = array.as_boolean();
            Ok(match array.nulls() {
                Some(nulls) => Arc::new(BooleanArray::new(array.values() & nulls.inner(), None)),
                None => Arc::new(array.clone()),
            })
        }),
        Expr::Case { branches, otherwise, ty } => {
            case::case(branches, otherwise.as_deref(), ty, batch, context)
        }
        Expr::Coalesce(terms, ty) => case::coalesce(terms, ty, batch, context),
        Expr::InList { input, list } => membership::in_list(input, list, batch, context),
        Expr::InSet { input, set } => membership::in_set(input, set, batch, context),
        Expr::Match { kind, input, pattern, escape } => {
            let operands = (evaluate(input, batch, context)?, evaluate(pattern, batch, context)?);
            pattern::matches(*kind, &operands.0, &operands.1, *escape)
        }
        Expr::Function { function, arguments, span } => {
            call(function, arguments, batch, context).map_err(|error| error.at(*span))
        }
        Expr::Subquery(subquery) => {
            subquery::evaluate(subquery, batch, context).map_err(|error| error.at(subquery.span))
        }
    }
}

/// The values of an expression for every row.
///
/// # Errors
/// As [`evaluate`].
pub(crate) fn evaluate_array(
    expression: &Expr,
    batch: &Batch,
    context: &Context,
) -> Result<ArrayRef> {
    evaluate(expression, batch, context)?.to_array(batch.row_count)
}

/// The same for several expressions.
///
/// # Errors
/// As [`evaluate`].
pub(crate) fn evaluate_arrays<'e>(
    expressions: impl IntoIterator<Item = &'e Expr>,
    batch: &Batch,
    context: &Context,
) -> Result<Vec<ArrayRef>> {
    let expressions = expressions.into_iter();
    expressions.map(|expression| evaluate_array(expression, batch, context)).collect()
}

/// The rows for which a condition is true. Each term is evaluated only for the rows that passed
/// the terms before it.
///
/// # Errors
/// As [`evaluate`].
pub(crate) fn filter(terms: &[Expr], mut batch: Batch, context: &Context) -> Result<Batch> {
    for term in terms {
        if batch.row_count == 0 {
            break;
        }
        match evaluate(term, &batch, context)? {
            Evaluated::Array(mask) => batch = batch.filter(mask.as_boolean())?,
            Evaluated::Scalar(truth) => {
                let truth = truth.as_boolean();
                if truth.is_null(0) || !truth.value(0) {
                    batch = batch.slice(0, 0);
                }
            }
        }
    }
    Ok(batch)
}

/// Evaluates an expression that reads no columns.
///
/// # Errors
/// As [`evaluate`].
pub fn constant(expression: &Expr, given: &impl Parameters) -> Result<Value> {
    constant_ref(expression, given).map(Cow::into_owned)
}

/// The same, borrowed from the statement or its parameters where possible.
///
/// # Errors
/// As [`evaluate`].
pub(crate) fn constant_ref<'v>(
    expression: &'v Expr,
    given: &'v impl Parameters,
) -> Result<Cow<'v, Value>> {
    match expression {
        Expr::Literal { value, .. } => Ok(Cow::Borrowed(value)),
        Expr::Parameter { index, .. } => given.parameter(*index).map(Cow::Borrowed),
        // The most common case: a parameter cast to the type of a column.
        Expr::Cast { input, to, is_try: false, span }
            if matches!(**input, Expr::Parameter { .. }) =>
        {
            let value = constant_ref(input, given)?;
            let value = cast::cast_value(&value, &input.ty(), to);
            value.map(Cow::Owned).map_err(|error| error.at(*span))
        }
        other => {
            let values = evaluate(other, &Batch::new(Vec::new(), 1), given.context())?;
            Ok(Cow::Owned(array::value_at(values.get().0, 0, &other.ty())))
        }
    }
}

/// Evaluates an expression for one row. Simple expressions, typical of statements about a
/// single row, need no arrays.
///
/// # Errors
/// As [`evaluate`].
pub(crate) fn value_of(
    expression: &Expr,
    row: &[Value],
    types: &[ColumnType],
    given: &impl Parameters,
) -> Result<Value> {
    match expression {
        Expr::Column(column) => Ok(row[column.id.0 as usize].clone()),
        Expr::Literal { .. } | Expr::Parameter { .. } => constant(expression, given),
        Expr::Cast { input, to, is_try: false, span } => {
            let value = value_of(input, row, types, given)?;
            cast::cast_value(&value, &input.ty(), to).map_err(|error| error.at(*span))
        }
        Expr::Arithmetic { op, left, right, ty, span } => {
            let values = (value_of(left, row, types, given)?, value_of(right, row, types, given)?);
            if let Some(answer) = arithmetic::of_values(*op, &values.0, &values.1, ty) {
                return Ok(answer);
            }
            let operand = |value: &Value, side: &Expr| -> Result<Evaluated> {
                Ok(Evaluated::Scalar(array::repeat(value, &side.ty(), 1)?))
            };
            let operands = (operand(&values.0, left)?, operand(&values.1, right)?);
            let answer = arithmetic::evaluate(
                *op,
                (&operands.0, &left.ty()),
                (&operands.1, &right.ty()),
                ty,
            )
            .map_err(|error| error.at(*span))?;
            Ok(array::value_at(answer.inner(), 0, ty))
        }
        other => {
            let columns = row.iter().zip(types).map(|(value, ty)| array::repeat(value, ty, 1));
            let batch = Batch::new(columns.collect::<Result<_>>()?, 1);
            let values = evaluate(other, &batch, given.context())?;
            Ok(array::value_at(values.inner(), 0, &other.ty()))
        }
    }
}

fn unary(
    input: &Expr,
    batch: &Batch,
    context: &Context,
    apply: impl Fn(&dyn Array) -> Result<ArrayRef>,
) -> Result<Evaluated> {
    let operand = evaluate(input, batch, context)?;
    let array = apply(operand.get().0)?;
    Ok(operand.with(array))
}

/// AND or OR in Kleene's logic.
fn connect(terms: &[Expr], is_and: bool, batch: &Batch, context: &Context) -> Result<Evaluated> {
    let mut known: Option<Evaluated> = None;
    for term in terms {
        let next = match (evaluate(term, batch, context), &known) {
            (Err(error), Some(before)) => undecided(before, is_and, (term, error), batch, context)?,
            (next, _) => next?,
        };
        let joined = match known {
            None => next,
            Some(before) => connected(&before, &next, is_and, batch.row_count)?,
        };
        if is_decided(&joined, is_and) {
            return Ok(Evaluated::boolean(Some(!is_and)));
        }
        known = Some(joined);
    }
    Ok(known.unwrap_or_else(|| Evaluated::boolean(Some(is_and))))
}

/// `before and next`, or `or`, in Kleene's logic.
pub(super) fn connected(
    before: &Evaluated,
    next: &Evaluated,
    is_and: bool,
    row_count: usize,
) -> Result<Evaluated> {
    let is_scalar = before.is_scalar() && next.is_scalar();
    let count = if is_scalar { 1 } else { row_count };
    let (left, right) = (before.to_array(count)?, next.to_array(count)?);
    let (left, right) = (left.as_boolean(), right.as_boolean());
    let array: ArrayRef = Arc::new(if is_and {
        arrow_arith::boolean::and_kleene(left, right)?
    } else {
        arrow_arith::boolean::or_kleene(left, right)?
    });
    Ok(if is_scalar { Evaluated::Scalar(array) } else { Evaluated::Array(array) })
}

/// Evaluates a failed term again, for only the rows that the terms before it left undecided:
/// errors of other rows do not count. Terms are first tried for all rows because that is faster.
#[cold]
fn undecided(
    before: &Evaluated,
    is_and: bool,
    (term, error): (&Expr, Error),
    batch: &Batch,
    context: &Context,
) -> Result<Evaluated> {
    let before = before.to_array(batch.row_count)?;
    let before = before.as_boolean();
    let decided =
        if is_and { arrow_arith::boolean::not(before)? } else { BooleanArray::clone(before) };
    case::unless(&decided, term, batch, context)?.ok_or(error)
}

/// Whether no further term can change the result: all rows are false (or true).
fn is_decided(known: &Evaluated, is_and: bool) -> bool {
    let array = known.inner().as_boolean();
    if array.null_count() > 0 || array.is_empty() {
        return false;
    }
    if is_and { array.true_count() == 0 } else { array.true_count() == array.len() }
}

/// Calls a function with whole arrays, or once if no argument depends on the row.
fn call(
    function: &super::Function,
    arguments: &[Expr],
    batch: &Batch,
    context: &Context,
) -> Result<Evaluated> {
    let operands: Vec<Evaluated> = arguments
        .iter()
        .map(|argument| evaluate(argument, batch, context))
        .collect::<Result<_>>()?;
    let once = operands.iter().all(Evaluated::is_scalar) && !function.is_volatile;
    let count = if once { 1 } else { batch.row_count };
    let arrays: Vec<ArrayRef> =
        operands.iter().map(|operand| operand.to_array(count)).collect::<Result<_>>()?;
    let array = function.call(&arrays, count, context)?;
    Ok(if once { Evaluated::Scalar(array) } else { Evaluated::Array(array) })
}

/// The types of several expressions.
pub(crate) fn types(expressions: &[Expr]) -> Vec<ColumnType> {
    expressions.iter().map(Expr::ty).collect()
}
