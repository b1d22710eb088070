//! Functions on numbers.

use std::sync::Arc;

use crate::cast::{cast_array, rescale};
use crate::type_rules::scale_of;
use crate::{Error, Result};
use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float32Type, Float64Type};
use arrow_schema::DataType;
use folio_types::{ColumnType, Value};

use super::Body::{Stated, Strict, Typed, Whole};
use super::Takes::{Float, Integer, Number, Same};
use super::{Call, Given, Overload, Returns, float_of, function, integer_of};

pub(super) const OVERLOADS: &[Overload] = &[
    function(
        "negate",
        &[Number],
        Returns::As(0),
        Whole(|call| crate::arithmetic::negate(&call.arrays[0], &call.types[0])),
    ),
    function(
        "negate",
        &[super::Takes::Interval],
        Returns::As(0),
        Whole(|call| crate::arithmetic::negate(&call.arrays[0], &call.types[0])),
    ),
    function(
        "bit_not",
        &[Integer],
        Returns::Integer,
        Strict(|a| Ok(Value::Integer(!integer_of(&a[0])))),
    ),
    function("abs", &[Number], Returns::As(0), Typed(abs)),
    function("sign", &[Number], Returns::Integer, Strict(sign)),
    function("ceil", &[Number], Returns::Rounded, Whole(|call| whole(call, Direction::Up))),
    function("ceiling", &[Number], Returns::Rounded, Whole(|call| whole(call, Direction::Up))),
    function("floor", &[Number], Returns::Rounded, Whole(|call| whole(call, Direction::Down))),
    function("trunc", &[Number], Returns::Rounded, Whole(|call| whole(call, Direction::Zero))),
    function("trunc", &[Number, Integer], Returns::Rounded, Typed(cut)),
    function("round", &[Number], Returns::Rounded, Typed(round)),
    function("round", &[Number, Integer], Returns::Rounded, Typed(round)),
    function("sqrt", &[Float], Returns::Float, Strict(|a| real(a, |x| x >= 0.0, f64::sqrt))),
    function("cbrt", &[Float], Returns::Float, Strict(|a| real(a, |_| true, f64::cbrt))),
    function("exp", &[Float], Returns::Float, Strict(|a| real(a, |_| true, f64::exp))),
    function("ln", &[Float], Returns::Float, Strict(|a| real(a, |x| x > 0.0, f64::ln))),
    function("log", &[Float], Returns::Float, Strict(|a| real(a, |x| x > 0.0, f64::log10))),
    function("log10", &[Float], Returns::Float, Strict(|a| real(a, |x| x > 0.0, f64::log10))),
    function("log2", &[Float], Returns::Float, Strict(|a| real(a, |x| x > 0.0, f64::log2))),
    function(
        "log",
        &[Float, Float],
        Returns::Float,
        Strict(|a| finite(float_of(&a[1]).ln() / float_of(&a[0]).ln())),
    ),
    function("sin", &[Float], Returns::Float, Strict(|a| real(a, |_| true, f64::sin))),
    function("cos", &[Float], Returns::Float, Strict(|a| real(a, |_| true, f64::cos))),
    function("tan", &[Float], Returns::Float, Strict(|a| real(a, |_| true, f64::tan))),
    function("asin", &[Float], Returns::Float, Strict(|a| real(a, |x| x.abs() <= 1.0, f64::asin))),
    function("acos", &[Float], Returns::Float, Strict(|a| real(a, |x| x.abs() <= 1.0, f64::acos))),
    function("atan", &[Float], Returns::Float, Strict(|a| real(a, |_| true, f64::atan))),
    function(
        "atan2",
        &[Float, Float],
        Returns::Float,
        Strict(|a| finite(float_of(&a[0]).atan2(float_of(&a[1])))),
    ),
    function("degrees", &[Float], Returns::Float, Strict(|a| real(a, |_| true, f64::to_degrees))),
    function("radians", &[Float], Returns::Float, Strict(|a| real(a, |_| true, f64::to_radians))),
    function("pi", &[], Returns::Float, Strict(|_| finite(std::f64::consts::PI))),
    function("power", &[Float, Float], Returns::Float, Strict(power)),
    function("pow", &[Float, Float], Returns::Float, Strict(power)),
    function("mod", &[Integer, Integer], Returns::Integer, Strict(modulo)),
    function("mod", &[Same, Same], Returns::As(0), Typed(remainder)),
    function("div", &[Integer, Integer], Returns::Integer, Strict(divide)),
    function("div", &[Same, Same], Returns::Rounded, Typed(quotient)),
    function(
        "gcd",
        &[Integer, Integer],
        Returns::Integer,
        Strict(|a| integer(gcd(integer_of(&a[0]), integer_of(&a[1])))),
    ),
    function("lcm", &[Integer, Integer], Returns::Integer, Strict(lcm)),
    function("factorial", &[Integer], Returns::Integer, Strict(factorial)),
    function(
        "isnan",
        &[Float],
        Returns::Boolean,
        Strict(|a| Ok(Value::Boolean(float_of(&a[0]).is_nan()))),
    ),
    function("random", &[], Returns::Float, Stated(Given::Random)),
];

#[derive(Clone, Copy)]
enum Direction {
    Up,
    Down,
    Zero,
}

fn overflow() -> Error {
    Error::invalid("the result is out of range for its type").help("cast to a wider type first")
}

fn integer(value: Option<i64>) -> Result<Value> {
    value.map(Value::Integer).ok_or_else(overflow)
}

fn finite(value: f64) -> Result<Value> {
    if value.is_nan() {
        Err(Error::invalid("the result is not a number"))
    } else {
        Ok(Value::Float(value))
    }
}

fn real(arguments: &[Value], is_in: fn(f64) -> bool, apply: fn(f64) -> f64) -> Result<Value> {
    let value = float_of(&arguments[0]);
    if !is_in(value) && !value.is_nan() {
        return Err(Error::invalid(format!("{value} is outside the domain of the function")));
    }
    let result = apply(value);
    if result.is_infinite() && value.is_finite() {
        return Err(overflow());
    }
    Ok(Value::Float(result))
}

fn abs(arguments: &[Value], types: &[ColumnType]) -> Result<Value> {
    let value = match &arguments[0] {
        Value::Integer(value) => integer(value.checked_abs())?,
        Value::Float(value) => Value::Float(value.abs()),
        Value::Decimal(value) => Value::Decimal(value.abs()),
        other => other.clone(),
    };
    if types[0].accepts(value.as_ref()) { Ok(value) } else { Err(overflow()) }
}

fn sign(arguments: &[Value]) -> Result<Value> {
    Ok(Value::Integer(match &arguments[0] {
        Value::Integer(value) => value.signum(),
        Value::Decimal(value) => i64::try_from(value.signum()).unwrap_or(0),
        Value::Float(value) if *value > 0.0 => 1,
        Value::Float(value) if *value < 0.0 => -1,
        _ => 0,
    }))
}

/// The greatest multiple of a unit up to a value. A division of 128 bits is a call; few digits need
/// none.
#[inline]
fn floor(value: i128, unit: i128) -> i128 {
    match (i64::try_from(value), i64::try_from(unit)) {
        (Ok(value), Ok(unit)) => i128::from(value.div_euclid(unit)) * i128::from(unit),
        _ => value.div_euclid(unit) * unit,
    }
}

/// The whole numbers in a direction. Numeric keeps its scale.
fn whole(call: &Call<'_>, direction: Direction) -> Result<ArrayRef> {
    let (array, ty) = (&call.arrays[0], &call.types[0]);
    let returns = call.returns;
    let of_float = |value: f64| match direction {
        Direction::Up => value.ceil(),
        Direction::Down => value.floor(),
        Direction::Zero => value.trunc(),
    };
    Ok(match array.data_type() {
        DataType::Float32 => {
            let floats = array.as_primitive::<Float32Type>();
            #[allow(clippy::cast_possible_truncation, reason = "it was one before")]
            let whole = |value| of_float(f64::from(value)) as f32;
            Arc::new(floats.unary::<_, Float32Type>(whole))
        }
        DataType::Float64 => {
            Arc::new(array.as_primitive::<Float64Type>().unary::<_, Float64Type>(of_float))
        }
        DataType::Decimal128(..) => {
            let unit = 10i128.pow(u32::from(scale_of(ty).unsigned_abs()));
            let digits = array.as_primitive::<Decimal128Type>();
            let digits = digits.unary::<_, Decimal128Type>(|value| match direction {
                Direction::Up => -floor(-value, unit),
                Direction::Down => floor(value, unit),
                Direction::Zero => floor(value.abs(), unit) * value.signum(),
            });
            Arc::new(digits.with_data_type(returns.to_arrow()))
        }
        _ => cast_array(array, ty, returns, false)?,
    })
}

/// Rounds half away from zero for numeric, and ties to even for floats.
fn round(arguments: &[Value], types: &[ColumnType]) -> Result<Value> {
    let places = arguments.get(1).map_or(0, integer_of).clamp(-38, 38);
    #[allow(clippy::cast_possible_truncation, reason = "clamped")]
    let places = places as i8;
    let scale = scale_of(&types[0]);
    Ok(match &arguments[0] {
        Value::Integer(value) if places >= 0 => Value::Decimal((*value).into()),
        Value::Integer(value) => {
            let cut = rescale((*value).into(), 0, places).unwrap_or(0);
            Value::Decimal(rescale(cut, places, 0).ok_or_else(overflow)?)
        }
        Value::Decimal(value) if places >= scale => Value::Decimal(*value),
        Value::Decimal(value) => {
            let cut = rescale(*value, scale, places).unwrap_or(0);
            Value::Decimal(rescale(cut, places, scale).ok_or_else(overflow)?)
        }
        Value::Float(value) if places == 0 => Value::Float(value.round_ties_even()),
        Value::Float(value) => {
            let factor = 10f64.powi(places.into());
            Value::Float((value * factor).round() / factor)
        }
        other => other.clone(),
    })
}

/// Truncates towards zero to a number of decimals.
fn cut(arguments: &[Value], types: &[ColumnType]) -> Result<Value> {
    let places = integer_of(&arguments[1]).clamp(-38, 38);
    #[allow(clippy::cast_possible_truncation, reason = "clamped")]
    let places = places as i8;
    let without = |digits: i128, scale: i8| match u32::try_from(scale - places) {
        Ok(dropped) => 10i128.checked_pow(dropped).map_or(0, |unit| digits / unit * unit),
        Err(_) => digits,
    };
    Ok(match &arguments[0] {
        Value::Integer(value) => Value::Decimal(without((*value).into(), 0)),
        Value::Decimal(value) => Value::Decimal(without(*value, scale_of(&types[0]))),
        Value::Float(value) => {
            let factor = 10f64.powi(places.into());
            Value::Float((value * factor).trunc() / factor)
        }
        other => other.clone(),
    })
}

/// The integer quotient of exact numbers.
fn quotient(arguments: &[Value], types: &[ColumnType]) -> Result<Value> {
    match (&arguments[0], &arguments[1]) {
        (Value::Decimal(_), Value::Decimal(0)) => Err(Error::invalid("division by zero")),
        (Value::Decimal(left), Value::Decimal(right)) => {
            Ok(Value::Decimal(rescale(left / right, 0, scale_of(&types[0])).ok_or_else(overflow)?))
        }
        _ => Err(no_numbers("div", types)),
    }
}

/// The remainder of exact numbers, with the sign of the left one.
fn remainder(arguments: &[Value], types: &[ColumnType]) -> Result<Value> {
    match (&arguments[0], &arguments[1]) {
        (Value::Decimal(_), Value::Decimal(0)) => Err(Error::invalid("division by zero")),
        (Value::Decimal(left), Value::Decimal(right)) => Ok(Value::Decimal(left % right)),
        _ => Err(no_numbers("mod", types)),
    }
}

fn no_numbers(name: &str, types: &[ColumnType]) -> Error {
    let ty = crate::type_name(&types[0]);
    Error::mismatch(format!("function {name} does not take {ty}"))
        .help("cast the arguments to numeric")
}

fn power(arguments: &[Value]) -> Result<Value> {
    let (base, exponent) = (float_of(&arguments[0]), float_of(&arguments[1]));
    let result = base.powf(exponent);
    if result.is_nan() || (result.is_infinite() && base.is_finite() && exponent.is_finite()) {
        return Err(overflow());
    }
    Ok(Value::Float(result))
}

fn divisor(arguments: &[Value]) -> Result<(i64, i64)> {
    match (integer_of(&arguments[0]), integer_of(&arguments[1])) {
        (_, 0) => Err(Error::invalid("division by zero")),
        pair => Ok(pair),
    }
}

fn modulo(arguments: &[Value]) -> Result<Value> {
    let (left, right) = divisor(arguments)?;
    Ok(Value::Integer(left.wrapping_rem(right)))
}

fn divide(arguments: &[Value]) -> Result<Value> {
    let (left, right) = divisor(arguments)?;
    integer(left.checked_div(right))
}

fn gcd(left: i64, right: i64) -> Option<i64> {
    let (mut left, mut right) = (left.unsigned_abs(), right.unsigned_abs());
    while right > 0 {
        (left, right) = (right, left % right);
    }
    i64::try_from(left).ok()
}

fn lcm(arguments: &[Value]) -> Result<Value> {
    let (left, right) = (integer_of(&arguments[0]), integer_of(&arguments[1]));
    match gcd(left, right) {
        Some(0) => Ok(Value::Integer(0)),
        Some(gcd) => integer((left / gcd).checked_mul(right).and_then(i64::checked_abs)),
        None => Err(overflow()),
    }
}

fn factorial(arguments: &[Value]) -> Result<Value> {
    let value = integer_of(&arguments[0]);
    if value < 0 {
        return Err(Error::invalid("factorial of a negative number is undefined"));
    }
    integer((1..=value.min(22)).try_fold(1i64, i64::checked_mul))
}
