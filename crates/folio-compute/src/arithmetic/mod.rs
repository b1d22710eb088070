//! Checked arithmetic: a result that does not fit its type is an error, and so is division by
//! zero, for floats too.
//!
//! Columns of integers and floats are computed in loops of their own (`numbers`), and so are decimals
//! that have 64 bits (`narrow`).

mod narrow;
mod numbers;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, IntervalMonthDayNanoType};
use arrow_array::{ArrayRef, Datum, PrimitiveArray};
use arrow_schema::ArrowError;
use folio_types::{ColumnType, Interval, Value, temporal};

use crate::error::{Error, Result};
use crate::evaluated::Evaluated;
use crate::type_name::type_name;
use crate::type_rules::{COMPUTED_PRECISION, decimal, is_integer, is_numeric, scale_of, unify};
use crate::{array, cast};
use array::plain;
use numbers::{checked, each};

/// `+ - * / %` and the bit operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arithmetic {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`, truncating for integers
    Divide,
    /// `%`
    Remainder,
    /// `&`
    BitAnd,
    /// `|`
    BitOr,
    /// `#`
    BitXor,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
}

/// Maximum scale of a product or quotient of decimals, unless an operand has more.
const PRODUCT_SCALE: i8 = 12;
const QUOTIENT_SCALE: i8 = 9;

impl Arithmetic {
    /// As SQL writes it.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
            Self::BitAnd => "&",
            Self::BitOr => "|",
            Self::BitXor => "#",
            Self::ShiftLeft => "<<",
            Self::ShiftRight => ">>",
        }
    }
}

/// The types of the operands and the result: left, right, result.
///
/// # Errors
/// `type_mismatch` if there is no such operation.
pub fn signature(
    op: Arithmetic,
    left: &ColumnType,
    right: &ColumnType,
) -> Result<(ColumnType, ColumnType, ColumnType)> {
    use Arithmetic::{Add, Divide, Multiply, Remainder, Subtract};
    use ColumnType as Type;
    let none = || {
        let (left, right) = (type_name(left), type_name(right));
        Error::mismatch(format!("operator does not exist: {left} {} {right}", op.symbol()))
    };
    if let Some(found) = temporal_signature(op, left, right) {
        return Ok(found);
    }
    if !is_numeric(left) || !is_numeric(right) {
        return Err(none());
    }
    let common = unify(left, right).ok_or_else(none)?;
    if !matches!(op, Add | Subtract | Multiply | Divide | Remainder) && !is_integer(&common) {
        return Err(none());
    }
    if !matches!(common, Type::Decimal { .. }) {
        return Ok((common.clone(), common.clone(), common));
    }
    // Decimals keep their scales; integers become decimals of scale 0.
    let own = |ty: &Type| match ty {
        Type::Decimal { scale, .. } => decimal(*scale),
        _ => decimal(0),
    };
    let (left_scale, right_scale) = (scale_of(left), scale_of(right));
    let widest = left_scale.max(right_scale);
    let scale = match op {
        Multiply => (left_scale + right_scale).min(widest.max(PRODUCT_SCALE)),
        Divide => widest.max(QUOTIENT_SCALE),
        _ => widest,
    };
    Ok((own(left), own(right), decimal(scale)))
}

fn temporal_signature(
    op: Arithmetic,
    left: &ColumnType,
    right: &ColumnType,
) -> Option<(ColumnType, ColumnType, ColumnType)> {
    use Arithmetic::{Add, Divide, Multiply, Subtract};
    use ColumnType as Type;
    let plain = Type::Timestamp { utc: false };
    Some(match (op, left, right) {
        (Add | Subtract, Type::Date, ty) if is_integer(ty) => (Type::Date, Type::Int32, Type::Date),
        (Add, ty, Type::Date) if is_integer(ty) => (Type::Int32, Type::Date, Type::Date),
        (Subtract, Type::Date, Type::Date) => (Type::Date, Type::Date, Type::Int32),
        (Add | Subtract, Type::Date, Type::Interval) => (plain.clone(), Type::Interval, plain),
        (Add, Type::Interval, Type::Date) => (Type::Interval, plain.clone(), plain),
        (Add | Subtract, Type::Timestamp { .. }, Type::Interval) => {
            (left.clone(), Type::Interval, left.clone())
        }
        (Add, Type::Interval, Type::Timestamp { .. }) => {
            (Type::Interval, right.clone(), right.clone())
        }
        (Subtract, Type::Timestamp { .. } | Type::Date, Type::Timestamp { .. } | Type::Date) => {
            let common = unify(left, right)?;
            (common.clone(), common, Type::Interval)
        }
        (Add | Subtract, Type::Interval, Type::Interval) => {
            (Type::Interval, Type::Interval, Type::Interval)
        }
        (Multiply | Divide, Type::Interval, ty) if is_numeric(ty) => {
            (Type::Interval, Type::Float64, Type::Interval)
        }
        (Multiply, ty, Type::Interval) if is_numeric(ty) => {
            (Type::Float64, Type::Interval, Type::Interval)
        }
        (Add | Subtract, Type::Time, Type::Interval) => (Type::Time, Type::Interval, Type::Time),
        (Add, Type::Interval, Type::Time) => (Type::Interval, Type::Time, Type::Time),
        (Subtract, Type::Time, Type::Time) => (Type::Time, Type::Time, Type::Interval),
        (Add, Type::Date, Type::Time) => (Type::Date, Type::Time, plain),
        (Add, Type::Time, Type::Date) => (Type::Time, Type::Date, plain),
        _ => return None,
    })
}

/// Computes common operations on two values without arrays. `None` means that the kernels must
/// compute the result or the error.
#[inline]
#[must_use]
pub fn of_values(op: Arithmetic, left: &Value, right: &Value, ty: &ColumnType) -> Option<Value> {
    match (left, right, ty) {
        (Value::Float(left), Value::Float(right), ColumnType::Float64) => {
            let answer = match op {
                Arithmetic::Add => left + right,
                Arithmetic::Subtract => left - right,
                Arithmetic::Multiply => left * right,
                _ => return None,
            };
            answer.is_finite().then_some(Value::Float(answer))
        }
        (Value::Integer(left), Value::Integer(right), ty) => {
            let answer = Value::Integer(match op {
                Arithmetic::Add => left.checked_add(*right)?,
                Arithmetic::Subtract => left.checked_sub(*right)?,
                Arithmetic::Multiply => left.checked_mul(*right)?,
                _ => return None,
            });
            (is_integer(ty) && ty.accepts(answer.as_ref())).then_some(answer)
        }
        _ => None,
    }
}

/// Computes an operation on operands of the types that [`signature`] gives.
///
/// # Errors
/// `invalid_input` for overflow and division by zero.
pub fn evaluate(
    op: Arithmetic,
    (left, left_type): (&Evaluated, &ColumnType),
    (right, right_type): (&Evaluated, &ColumnType),
    result: &ColumnType,
) -> Result<Evaluated> {
    use ColumnType as Type;
    let both_scalar = left.is_scalar() && right.is_scalar();
    let array = match (left_type, right_type) {
        (Type::Decimal { .. }, _) => {
            let scales = (scale_of(left_type), scale_of(right_type), scale_of(result));
            decimals(op, left, right, scales)?
        }
        (left_type, right_type) if is_numeric(left_type) && is_numeric(right_type) => {
            numbers::evaluate(op, left, right, left_type)?
        }
        _ => by_value(op, (left, left_type), (right, right_type), result)?,
    };
    Ok(if both_scalar { Evaluated::Scalar(array) } else { Evaluated::Array(array) })
}

/// Decimal arithmetic on the digits, rounding half away from zero. Each operation has its own
/// loop, and checks scales before the loop.
fn decimals(
    op: Arithmetic,
    left: &Evaluated,
    right: &Evaluated,
    (left_scale, right_scale, scale): (i8, i8, i8),
) -> Result<ArrayRef> {
    if let Some(array) = narrow::evaluate(op, left, right, (left_scale, right_scale, scale))? {
        return Ok(array);
    }
    let (left, right) = (&left.with(plain(left.inner())), &right.with(plain(right.inner())));
    let limit = 10i128.pow(u32::from(COMPUTED_PRECISION));
    let within = |digits: Option<i128>| {
        let digits = digits.filter(|digits| -limit < *digits && *digits < limit);
        digits.ok_or_else(|| ArrowError::ArithmeticOverflow(String::new()))
    };
    let common = left_scale.max(right_scale);
    let left_factor = 10i128.pow(u32::from(common.abs_diff(left_scale)));
    let right_factor = 10i128.pow(u32::from(common.abs_diff(right_scale)));
    let aligned = |left, right| Some((product(left, left_factor)?, product(right, right_factor)?));
    let in_range =
        left_factor.max(right_factor) <= SMALL_FACTOR && is_small(left) && is_small(right);
    if in_range
        && let Some(array) =
            small(op, left, right, (left_factor, right_factor), left_scale + right_scale == scale)?
    {
        return Ok(Arc::new(array.with_precision_and_scale(COMPUTED_PRECISION, scale)?));
    }
    let is_zero = |right: i128| match right {
        0 => Err(ArrowError::DivideByZero),
        _ => Ok(()),
    };
    let array = match op {
        Arithmetic::Add => checked::<Decimal128Type>(left, right, |left, right| {
            within(aligned(left, right).and_then(|(left, right)| left.checked_add(right)))
        }),
        Arithmetic::Subtract => checked(left, right, |left, right| {
            within(aligned(left, right).and_then(|(left, right)| left.checked_sub(right)))
        }),
        Arithmetic::Multiply if left_scale + right_scale == scale => {
            checked(left, right, |left, right| within(product(left, right)))
        }
        Arithmetic::Multiply => checked(left, right, |left, right| {
            let digits = product(left, right);
            within(digits.and_then(|digits| cast::rescale(digits, left_scale + right_scale, scale)))
        }),
        Arithmetic::Remainder => checked(left, right, |left, right| {
            is_zero(right)?;
            within(aligned(left, right).map(|(left, right)| left % right))
        }),
        _ => checked(left, right, |left, right| {
            is_zero(right)?;
            within(divide(left, right, scale + right_scale - left_scale))
        }),
    };
    Ok(Arc::new(array?.with_precision_and_scale(COMPUTED_PRECISION, scale)?))
}

/// Factors up to this one leave the sum of two 64-bit integers within the computed precision.
const SMALL_FACTOR: i128 = 10i128.pow(18);

/// Whether all digits are 64-bit integers.
fn is_small(operand: &Evaluated) -> bool {
    let values = operand.get().0.as_primitive::<Decimal128Type>().values();
    let rest = values.iter().map(|digits| (digits ^ i128::from(*digits as i64)) as u128);
    rest.fold(0, |all, rest| all | rest) == 0
}

/// Sums, differences and exact products of 64-bit integers, which cannot overflow; `None` for other
/// operations.
fn small(
    op: Arithmetic,
    left: &Evaluated,
    right: &Evaluated,
    (left_factor, right_factor): (i128, i128),
    is_exact: bool,
) -> Result<Option<PrimitiveArray<Decimal128Type>>> {
    let wide = |digits: i128| i128::from(digits as i64);
    Ok(Some(match op {
        Arithmetic::Multiply if is_exact => {
            each(left, right, |left, right| wide(left) * wide(right))?
        }
        Arithmetic::Add if left_factor == right_factor => each(left, right, i128::wrapping_add)?,
        Arithmetic::Subtract if left_factor == right_factor => {
            each(left, right, i128::wrapping_sub)?
        }
        Arithmetic::Add => {
            each(left, right, |left, right| wide(left) * left_factor + wide(right) * right_factor)?
        }
        Arithmetic::Subtract => {
            each(left, right, |left, right| wide(left) * left_factor - wide(right) * right_factor)?
        }
        _ => return Ok(None),
    }))
}

/// A product. Two 64-bit factors cannot overflow and need no check.
fn product(left: i128, right: i128) -> Option<i128> {
    match (i64::try_from(left), i64::try_from(right)) {
        (Ok(left), Ok(right)) => Some(i128::from(left) * i128::from(right)),
        _ => left.checked_mul(right),
    }
}

/// A quotient with `steps` more digits, rounded half away from zero.
fn divide(left: i128, right: i128, steps: i8) -> Option<i128> {
    let factor = cast::power_of_ten(u32::from(steps.unsigned_abs()))?;
    let is_negative = (left < 0) != (right < 0);
    let found = match divide_small(left, right, factor) {
        Some(found) if steps >= 0 => found,
        _ => {
            let (left, right) = match steps >= 0 {
                true => (left.checked_mul(factor)?, right),
                false => (left, right.checked_mul(factor)?),
            };
            let (whole, right) = (left.checked_div(right)?, right.unsigned_abs());
            let rest = left.unsigned_abs() - whole.unsigned_abs() * right;
            rounded(whole.unsigned_abs(), rest, right)
        }
    };
    let found = i128::try_from(found).ok()?;
    Some(if is_negative { -found } else { found })
}

/// The size of a quotient with a factor, if divisions of 64 bits are enough: one of 128 is a call.
#[inline]
fn divide_small(left: i128, right: i128, factor: i128) -> Option<u128> {
    let small = |digits: i128| u64::try_from(digits.unsigned_abs()).ok();
    let (left, right, factor) =
        (small(left)?, small(right).filter(|own| *own > 0)?, small(factor)?);
    let wide = (left % right).checked_mul(factor)?;
    let more = rounded((wide / right).into(), (wide % right).into(), right.into());
    Some(u128::from(left / right) * u128::from(factor) + more)
}

/// A quotient of which this is left, rounded half up.
#[inline]
fn rounded(whole: u128, rest: u128, divisor: u128) -> u128 {
    whole + u128::from(rest >= divisor - rest)
}

/// Dates, times and intervals, value by value: they are rare.
fn by_value(
    op: Arithmetic,
    (left, left_type): (&Evaluated, &ColumnType),
    (right, right_type): (&Evaluated, &ColumnType),
    result: &ColumnType,
) -> Result<ArrayRef> {
    let count = match (left.is_scalar(), right.is_scalar()) {
        (true, true) => 1,
        (false, _) => left.len(),
        _ => right.len(),
    };
    let at = |operand: &Evaluated, row: usize, ty: &ColumnType| {
        array::value_at(operand.get().0, if operand.is_scalar() { 0 } else { row }, ty)
    };
    let overflow = || Error::from(ArrowError::ArithmeticOverflow(String::new()));
    let mut values = Vec::with_capacity(count);
    for row in 0..count {
        let (left, right) = (at(left, row, left_type), at(right, row, right_type));
        values.push(match (left, right) {
            (Value::Null, _) | (_, Value::Null) => Value::Null,
            (_, Value::Float(0.0)) if op == Arithmetic::Divide => {
                return Err(ArrowError::DivideByZero.into());
            }
            (left, right) => temporal_value(op, &left, &right).ok_or_else(overflow)?,
        });
    }
    array::to_array(values.iter(), result)
}

fn temporal_value(op: Arithmetic, left: &Value, right: &Value) -> Option<Value> {
    let is_minus = op == Arithmetic::Subtract;
    let signed = |interval: Interval| {
        if is_minus { temporal::negate(interval) } else { Some(interval) }
    };
    Some(match (left, right) {
        (Value::Date(day), Value::Integer(count)) | (Value::Integer(count), Value::Date(day)) => {
            let count = if is_minus { count.checked_neg()? } else { *count };
            Value::Date(i32::try_from(i64::from(*day).checked_add(count)?).ok()?)
        }
        (Value::Date(left), Value::Date(right)) => {
            Value::Integer(i64::from(*left) - i64::from(*right))
        }
        (Value::Timestamp(time), Value::Interval(interval))
        | (Value::Interval(interval), Value::Timestamp(time)) => {
            Value::Timestamp(temporal::add(*time, signed(*interval)?)?)
        }
        (Value::Time(left), Value::Time(right)) => {
            let nanoseconds = left.checked_sub(*right)?.checked_mul(1000)?;
            Value::Interval(Interval { nanoseconds, ..Interval::default() })
        }
        (Value::Date(day), Value::Time(time)) | (Value::Time(time), Value::Date(day)) => {
            Value::Timestamp(i64::from(*day).checked_mul(temporal::DAY)?.checked_add(*time)?)
        }
        (Value::Time(time), Value::Interval(interval))
        | (Value::Interval(interval), Value::Time(time)) => {
            let sum = time + signed(*interval)?.nanoseconds / 1000;
            Value::Time(sum.rem_euclid(temporal::DAY))
        }
        (Value::Timestamp(left), Value::Timestamp(right)) => {
            let micros = left.checked_sub(*right)?;
            Value::Interval(Interval {
                months: 0,
                days: i32::try_from(micros / temporal::DAY).ok()?,
                nanoseconds: micros % temporal::DAY * 1000,
            })
        }
        (Value::Interval(left), Value::Interval(right)) => {
            let right = signed(*right)?;
            Value::Interval(Interval {
                months: left.months.checked_add(right.months)?,
                days: left.days.checked_add(right.days)?,
                nanoseconds: left.nanoseconds.checked_add(right.nanoseconds)?,
            })
        }
        (Value::Interval(interval), Value::Float(factor))
        | (Value::Float(factor), Value::Interval(interval)) => {
            let factor = if op == Arithmetic::Divide { 1.0 / factor } else { *factor };
            scale_interval(*interval, factor)?
        }
        _ => return None,
    })
}

#[allow(clippy::cast_possible_truncation, reason = "ranges are checked")]
#[allow(clippy::cast_precision_loss, reason = "a fraction of an interval is a float's work")]
fn scale_interval(interval: Interval, factor: f64) -> Option<Value> {
    let months = f64::from(interval.months) * factor;
    let days = f64::from(interval.days) * factor + months.fract() * 30.0;
    let nanoseconds = interval.nanoseconds as f64 * factor + days.fract() * 86_400e9;
    if !(months.abs() < 2e9 && days.abs() < 2e9 && nanoseconds.abs() < 9e18) {
        return None;
    }
    Some(Value::Interval(Interval {
        months: months.trunc() as i32,
        days: days.trunc() as i32,
        nanoseconds: nanoseconds.round() as i64,
    }))
}

/// Negates numbers and intervals.
///
/// # Errors
/// `invalid_input` for overflow.
pub fn negate(operand: &ArrayRef, ty: &ColumnType) -> Result<ArrayRef> {
    match ty {
        ColumnType::Interval => {
            let array = operand.as_primitive::<IntervalMonthDayNanoType>();
            let values: Vec<Value> = (0..array.len())
                .map(|row| match array::value_at(array, row, ty) {
                    Value::Interval(interval) => temporal::negate(interval)
                        .map(Value::Interval)
                        .ok_or_else(|| ArrowError::ArithmeticOverflow(String::new()).into()),
                    other => Ok(other),
                })
                .collect::<Result<_>>()?;
            array::to_array(values.iter(), ty)
        }
        _ => numbers::negate(operand, ty),
    }
}

#[cfg(test)]
mod tests {
    use super::divide;

    /// The definition: twice the quotient, cut, and its half rounded up.
    fn expected(left: i128, right: i128, steps: i8) -> i128 {
        let factor = 10_i128.pow(u32::from(steps.unsigned_abs()));
        let (left, right) =
            if steps >= 0 { (left * factor, right) } else { (left, right * factor) };
        let twice = left.unsigned_abs() * 2 / right.unsigned_abs();
        let size = i128::try_from(twice.div_ceil(2)).unwrap();
        if (left < 0) == (right < 0) { size } else { -size }
    }

    #[test]
    fn quotients_are_rounded_half_away_from_zero_whatever_their_size() {
        let sides = [1, 2, 3, 7, 10, 4_999, 5_000, 5_001, 36_000_000_000, 1_732_206_349_000_167];
        let wide = [i128::from(i64::MAX), i128::from(u64::MAX), i128::from(u64::MAX) + 1, 1 << 90];
        let all = || sides.into_iter().chain(wide).flat_map(|side| [side, -side]);
        for (left, right) in all().flat_map(|left| all().map(move |right| (left, right))) {
            for steps in [-3, 0, 1, 7] {
                let found = divide(left, right, steps);
                assert_eq!(found, Some(expected(left, right, steps)), "{left} / {right}, {steps}");
            }
        }
        assert_eq!(divide(0, -3, 7), Some(0));
        assert_eq!(divide(3, 0, 7), None);
        assert_eq!(divide(i128::MAX, 3, 7), None);
    }
}
