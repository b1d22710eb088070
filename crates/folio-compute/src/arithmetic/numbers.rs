//! Checked arithmetic over columns of integers and floats. Supports the five types that SQL has
//! here; Arrow's kernels support all of Arrow's types and are a megabyte larger.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
};
use arrow_array::{Array, ArrayRef, ArrowNativeTypeOp, Datum, PrimitiveArray};
use arrow_schema::ArrowError;
use folio_types::ColumnType;

use super::Arithmetic;
use crate::cast;
use crate::error::Result;
use crate::evaluated::Evaluated;

/// Computes an operation on operands of one type.
///
/// # Errors
/// `invalid_input` for overflow and division by zero, also of floats.
pub(super) fn evaluate(
    op: Arithmetic,
    left: &Evaluated,
    right: &Evaluated,
    ty: &ColumnType,
) -> Result<ArrayRef> {
    if !op.is_of_numbers() {
        return bits(op, left, right, ty);
    }
    match ty {
        ColumnType::Int16 => integers::<Int16Type>(op, left, right),
        ColumnType::Int32 => integers::<Int32Type>(op, left, right),
        ColumnType::Float32 => floats::<Float32Type>(op, left, right),
        ColumnType::Float64 => floats::<Float64Type>(op, left, right),
        _ => integers::<Int64Type>(op, left, right),
    }
}

impl Arithmetic {
    fn is_of_numbers(self) -> bool {
        matches!(self, Self::Add | Self::Subtract | Self::Multiply | Self::Divide | Self::Remainder)
    }
}

fn integers<T: ArrowPrimitiveType>(
    op: Arithmetic,
    left: &Evaluated,
    right: &Evaluated,
) -> Result<ArrayRef>
where
    T::Native: ArrowNativeTypeOp,
{
    Ok(Arc::new(match op {
        Arithmetic::Add => checked::<T>(left, right, ArrowNativeTypeOp::add_checked)?,
        Arithmetic::Subtract => checked::<T>(left, right, ArrowNativeTypeOp::sub_checked)?,
        Arithmetic::Multiply => checked::<T>(left, right, ArrowNativeTypeOp::mul_checked)?,
        Arithmetic::Divide => checked::<T>(left, right, ArrowNativeTypeOp::div_checked)?,
        // The least integer modulo -1 is 0, though the quotient overflows.
        _ => checked::<T>(left, right, |left, right| match right.is_zero() {
            true => Err(ArrowError::DivideByZero),
            false => Ok(left.mod_wrapping(right)),
        })?,
    }))
}

fn floats<T: ArrowPrimitiveType>(
    op: Arithmetic,
    left: &Evaluated,
    right: &Evaluated,
) -> Result<ArrayRef>
where
    T::Native: ArrowNativeTypeOp,
{
    if matches!(op, Arithmetic::Divide | Arithmetic::Remainder) {
        refuse_zero::<T>(left, right)?;
    }
    let result = match op {
        Arithmetic::Add => each::<T>(left, right, ArrowNativeTypeOp::add_wrapping)?,
        Arithmetic::Subtract => each::<T>(left, right, ArrowNativeTypeOp::sub_wrapping)?,
        Arithmetic::Multiply => each::<T>(left, right, ArrowNativeTypeOp::mul_wrapping)?,
        Arithmetic::Divide => each::<T>(left, right, ArrowNativeTypeOp::div_wrapping)?,
        _ => each::<T>(left, right, ArrowNativeTypeOp::mod_wrapping)?,
    };
    refuse_overflow(&result, left, right)?;
    Ok(Arc::new(result))
}

/// Fails if finite operands gave an infinite result, which is an overflow.
fn refuse_overflow<T: ArrowPrimitiveType>(
    result: &PrimitiveArray<T>,
    left: &Evaluated,
    right: &Evaluated,
) -> Result<()>
where
    T::Native: ArrowNativeTypeOp,
{
    // Infinity minus itself is NaN, and so is NaN minus itself.
    let is_finite = |value: T::Native| value.sub_wrapping(value).is_zero();
    if result.values().iter().all(|value| is_finite(*value)) {
        return Ok(());
    }
    let (left_array, right_array) = primitives::<T>(left, right);
    let at = |operand: &Evaluated, array: &PrimitiveArray<T>, row: usize| {
        array.value(if operand.is_scalar() { 0 } else { row })
    };
    let overflows = (0..result.len()).any(|row| {
        !result.is_null(row)
            && !is_finite(result.value(row))
            && is_finite(at(left, left_array, row))
            && is_finite(at(right, right_array, row))
    });
    match overflows {
        true => Err(ArrowError::ArithmeticOverflow(String::new()).into()),
        false => Ok(()),
    }
}

/// Fails if a divisor is zero, except where the dividend is null.
fn refuse_zero<T: ArrowPrimitiveType>(dividend: &Evaluated, divisor: &Evaluated) -> Result<()>
where
    T::Native: ArrowNativeTypeOp,
{
    let (left, right) = primitives::<T>(dividend, divisor);
    if !right.iter().flatten().any(ArrowNativeTypeOp::is_zero) {
        return Ok(());
    }
    let is_divided = |row: usize| {
        let (at, by) =
            (if dividend.is_scalar() { 0 } else { row }, if divisor.is_scalar() { 0 } else { row });
        left.is_valid(at) && right.is_valid(by) && right.value(by).is_zero()
    };
    match (0..left.len().max(right.len())).any(is_divided) {
        true => Err(ArrowError::DivideByZero.into()),
        false => Ok(()),
    }
}

/// Bit operations on integers of any width.
fn bits(op: Arithmetic, left: &Evaluated, right: &Evaluated, ty: &ColumnType) -> Result<ArrayRef> {
    use arrow_arith::bitwise;
    let count = left.len().max(right.len());
    let wide = |operand: &Evaluated| -> Result<ArrayRef> {
        let array = operand.to_array(if operand.is_scalar() { count } else { operand.len() })?;
        cast::cast_array(&array, ty, &ColumnType::Int64, false)
    };
    let (left, right) = (wide(left)?, wide(right)?);
    let (left, right) = (left.as_primitive::<Int64Type>(), right.as_primitive::<Int64Type>());
    let array: ArrayRef = Arc::new(match op {
        Arithmetic::BitAnd => bitwise::bitwise_and(left, right)?,
        Arithmetic::BitOr => bitwise::bitwise_or(left, right)?,
        Arithmetic::BitXor => bitwise::bitwise_xor(left, right)?,
        Arithmetic::ShiftLeft => bitwise::bitwise_shift_left(left, right)?,
        _ => bitwise::bitwise_shift_right(left, right)?,
    });
    cast::cast_array(&array, &ColumnType::Int64, ty, false)
}

/// Applies a fallible operation to pairs; null if either side is null.
pub(super) fn checked<T: ArrowPrimitiveType>(
    left: &Evaluated,
    right: &Evaluated,
    apply: impl Fn(T::Native, T::Native) -> Result<T::Native, ArrowError>,
) -> Result<PrimitiveArray<T>> {
    let (left_array, right_array) = primitives::<T>(left, right);
    Ok(match (left.is_scalar(), right.is_scalar()) {
        (false, true) => match scalar(right_array) {
            Some(right) => left_array.try_unary(|left| apply(left, right))?,
            None => PrimitiveArray::new_null(left_array.len()),
        },
        (true, false) => match scalar(left_array) {
            Some(left) => right_array.try_unary(|right| apply(left, right))?,
            None => PrimitiveArray::new_null(right_array.len()),
        },
        _ => arrow_arith::arity::try_binary(left_array, right_array, apply)?,
    })
}

/// Applies an operation that cannot fail, so that the compiler can vectorize it.
pub(super) fn each<T: ArrowPrimitiveType>(
    left: &Evaluated,
    right: &Evaluated,
    apply: impl Fn(T::Native, T::Native) -> T::Native,
) -> Result<PrimitiveArray<T>> {
    let (left_array, right_array) = primitives::<T>(left, right);
    Ok(match (left.is_scalar(), right.is_scalar()) {
        (false, true) => match scalar(right_array) {
            Some(right) => left_array.unary(|left| apply(left, right)),
            None => PrimitiveArray::new_null(left_array.len()),
        },
        (true, false) => match scalar(left_array) {
            Some(left) => right_array.unary(|right| apply(left, right)),
            None => PrimitiveArray::new_null(right_array.len()),
        },
        _ => arrow_arith::arity::binary(left_array, right_array, apply)?,
    })
}

fn primitives<'a, T: ArrowPrimitiveType>(
    left: &'a Evaluated,
    right: &'a Evaluated,
) -> (&'a PrimitiveArray<T>, &'a PrimitiveArray<T>) {
    (left.get().0.as_primitive::<T>(), right.get().0.as_primitive::<T>())
}

fn scalar<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>) -> Option<T::Native> {
    (!array.is_null(0)).then(|| array.value(0))
}

/// Negates numbers.
///
/// # Errors
/// `invalid_input` for overflow.
pub(super) fn negate(operand: &ArrayRef, ty: &ColumnType) -> Result<ArrayRef> {
    fn checked<T: ArrowPrimitiveType>(operand: &ArrayRef) -> Result<PrimitiveArray<T>>
    where
        T::Native: ArrowNativeTypeOp,
    {
        let negate = |value: T::Native| value.neg_checked();
        Ok(operand.as_primitive::<T>().try_unary(negate)?)
    }
    Ok(match ty {
        ColumnType::Int16 => Arc::new(checked::<Int16Type>(operand)?),
        ColumnType::Int32 => Arc::new(checked::<Int32Type>(operand)?),
        ColumnType::Float32 => Arc::new(checked::<Float32Type>(operand)?),
        ColumnType::Float64 => Arc::new(checked::<Float64Type>(operand)?),
        ColumnType::Decimal { precision, scale } => Arc::new(
            checked::<Decimal128Type>(operand)?.with_precision_and_scale(*precision, *scale)?,
        ),
        _ => Arc::new(checked::<Int64Type>(operand)?),
    })
}
