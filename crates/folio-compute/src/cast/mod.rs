//! Casts from one type to another.
//!
//! Columns of numbers and dates are cast as a whole (`columns`), those of structs member by
//! member, all others value by value.
//! Numbers round half away from zero. Text must consist of the value alone.
//!
//! The text of values is here too ([`parse`], [`format()`]), and their JSON in [`json`].

mod array_text;
mod columns;
pub mod json;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, StructArray};
use arrow_schema::DataType;
use folio_types::{ColumnType, Value, temporal};

use crate::array;
use crate::error::{Error, Result};
use crate::type_name::{member_type_name, type_name};
use crate::type_rules::{aligned, is_integer, is_numeric, scale_of};

/// Casts a whole array of type `from`. With `is_try`, values that do not fit become null.
///
/// # Errors
/// `type_mismatch` if there is no such cast; `invalid_input` for values that do not fit,
/// unless they become null.
pub fn cast_array(
    array: &ArrayRef,
    from: &ColumnType,
    to: &ColumnType,
    is_try: bool,
) -> Result<ArrayRef> {
    if from.to_arrow() == to.to_arrow()
        && !matches!((from, to), (ColumnType::Text, ColumnType::Json))
    {
        return Ok(ArrayRef::clone(array));
    }
    if let (ColumnType::Date, ColumnType::Timestamp { utc: true }) = (from, to) {
        // A date becomes an instant at midnight UTC.
        let midnight = cast_array(array, from, &ColumnType::Timestamp { utc: false }, is_try)?;
        let midnight = midnight.as_primitive::<TimestampMicrosecondType>();
        return Ok(Arc::new(midnight.clone().with_data_type(to.to_arrow())));
    }
    if let (
        ColumnType::Decimal { precision: own, scale },
        ColumnType::Decimal { precision, scale: wanted },
    ) = (from, to)
        && scale == wanted
        && own <= precision
    {
        // The digits stay; only the precision grows.
        if matches!(array.data_type(), DataType::Decimal64(..)) {
            return Ok(ArrayRef::clone(array));
        }
        let digits = array.as_primitive::<Decimal128Type>().clone();
        return Ok(Arc::new(digits.with_data_type(to.to_arrow())));
    }
    if let Some(cast) = columns::cast(array, from, to, is_try)? {
        return Ok(cast);
    }
    if let (ColumnType::Struct(from), ColumnType::Struct(members), false) = (from, to, is_try)
        && let Some(aligned) = aligned(from, members)
    {
        let own = array.as_struct();
        let columns = aligned.iter().zip(members).map(|(found, (_, ty))| match found {
            Some(at) => cast_array(&array::member_of(own, *at)?, &from[*at].1, ty, false),
            None => Ok(arrow_array::new_null_array(&ty.to_arrow(), own.len())),
        });
        let columns = columns.collect::<Result<_>>()?;
        let DataType::Struct(fields) = to.to_arrow() else { return Err(no_cast(to, to)) };
        return Ok(Arc::new(StructArray::try_new(fields, columns, own.nulls().cloned())?));
    }
    let mut values = Vec::with_capacity(array.len());
    for row in 0..array.len() {
        values.push(match cast_value(&array::value_at(array, row, from), from, to) {
            Ok(value) => value,
            Err(_) if is_try => Value::Null,
            Err(error) => return Err(error),
        });
    }
    array::to_array(values.iter(), to)
}

fn range(to: &ColumnType) -> Error {
    let (own, sql) = (member_type_name(to), type_name(to));
    // In ZiQL, only a sum can exceed the integer type.
    let help = match to {
        ColumnType::Int64 => "as a float: `AVG(member) * COUNT(member)`".to_owned(),
        _ => format!("the column is {sql}: SQL can make it a wider type"),
    };
    Error::invalid(format!("a value is out of range for type {sql}"))
        .help("use a wider type, or try_cast to get null instead")
        .of_entities(format!("a value is out of range for {own}"), help)
}

/// Casts one value.
///
/// # Errors
/// `invalid_input` for a value out of range or a text that is not of the type;
/// `type_mismatch` if there is no such cast.
pub fn cast_value(value: &Value, from: &ColumnType, to: &ColumnType) -> Result<Value> {
    use ColumnType as Type;
    if matches!(value, Value::Null) {
        return Ok(Value::Null);
    }
    if from == to {
        return Ok(value.clone());
    }
    match (value, to) {
        // JSON has no such numbers, so they are written into it as text.
        (Value::Text(text), Type::Float32 | Type::Float64)
            if *from == Type::Json
                && matches!(&**text, r#""NaN""# | r#""Infinity""# | r#""-Infinity""#) =>
        {
            parse(text.trim_matches('"'), to)
        }
        // A number of JSON rounds as a numeric does.
        (Value::Text(text), to)
            if *from == Type::Json && is_integer(to) && text.contains(['.', 'e', 'E']) =>
        {
            let whole = parse_decimal(text.trim(), 0).and_then(|whole| i64::try_from(whole).ok());
            let whole = whole.map(Value::Integer).filter(|whole| to.accepts(whole.as_ref()));
            whole.map_or_else(|| parse(text, to), Ok)
        }
        (Value::Text(text), to) if !matches!(to, Type::Text) => parse(text, to),
        (value, Type::Text) => Ok(Value::Text(format(value, from))),
        (value, Type::Json) => Ok(Value::Text(json::to_json(value, from))),
        (Value::Boolean(value), to) if is_integer(to) => Ok(Value::Integer((*value).into())),
        (Value::Integer(value), Type::Boolean) => Ok(Value::Boolean(*value != 0)),
        (value, to) if is_numeric(from) && is_numeric(to) => cast_number(value, from, to),
        (Value::Date(day), Type::Timestamp { .. }) => {
            Ok(Value::Timestamp(i64::from(*day) * temporal::DAY))
        }
        (Value::Timestamp(time), Type::Timestamp { .. }) => Ok(Value::Timestamp(*time)),
        (Value::Timestamp(time), Type::Date) => {
            i32::try_from(time.div_euclid(temporal::DAY)).map(Value::Date).map_err(|_| range(to))
        }
        (Value::Timestamp(time), Type::Time) => Ok(Value::Time(time.rem_euclid(temporal::DAY))),
        (Value::Time(time), Type::Interval) => {
            let nanoseconds = time * 1000;
            Ok(Value::Interval(folio_types::Interval { nanoseconds, ..Default::default() }))
        }
        (Value::List(values), Type::List(to)) => {
            let Type::List(from) = from else { return Err(no_cast(from, to)) };
            values
                .iter()
                .map(|value| cast_value(value, from, to))
                .collect::<Result<_>>()
                .map(Value::List)
        }
        (Value::List(entries), Type::Map(to)) => {
            let Type::Map(from) = from else { return Err(no_cast(from, to)) };
            let (from, to) = (Type::entry(from), Type::entry(to));
            let cast = entries.iter().map(|entry| cast_value(entry, &from, &to));
            cast.collect::<Result<_>>().map(Value::List)
        }
        (Value::Struct(values), Type::Struct(to)) => {
            let own = if let Type::Struct(own) = from { &own[..] } else { &[] };
            let found = aligned(own, to);
            let found = found.ok_or_else(|| no_cast(from, &Type::Struct(to.clone())))?;
            let members = found.into_iter().zip(to).map(|(found, (_, ty))| match found {
                Some(at) => cast_value(&values[at], &own[at].1, ty),
                None => Ok(Value::Null),
            });
            members.collect::<Result<_>>().map(Value::Struct)
        }
        _ => Err(no_cast(from, to)),
    }
}

/// Whether the cast exists. A value may still not fit.
#[must_use]
pub fn can_cast(from: &ColumnType, to: &ColumnType) -> bool {
    use ColumnType as Type;
    from == to
        || matches!(from, Type::Text | Type::Json)
        || matches!(to, Type::Text | Type::Json)
        || (is_numeric(from) && is_numeric(to))
        || (matches!(from, Type::Boolean) && is_integer(to))
        || (is_integer(from) && matches!(to, Type::Boolean))
        || match (from, to) {
            (Type::Date | Type::Timestamp { .. }, Type::Date | Type::Timestamp { .. })
            | (Type::Timestamp { .. }, Type::Time)
            | (Type::Time, Type::Interval) => true,
            (Type::List(from), Type::List(to)) | (Type::Map(from), Type::Map(to)) => {
                can_cast(from, to)
            }
            (Type::Struct(from), Type::Struct(to)) => aligned(from, to).is_some_and(|found| {
                let mut pairs = found.iter().zip(to);
                pairs.all(|(at, (_, to))| at.is_none_or(|at| can_cast(&from[at].1, to)))
            }),
            _ => false,
        }
}

/// The error for a cast that does not exist.
pub fn no_cast(from: &ColumnType, to: &ColumnType) -> Error {
    Error::mismatch(format!("type {} cannot be cast to {}", type_name(from), type_name(to)))
}

#[allow(clippy::cast_possible_truncation, reason = "ranges are checked")]
#[allow(clippy::cast_precision_loss, reason = "double precision is what was asked for")]
fn cast_number(value: &Value, from: &ColumnType, to: &ColumnType) -> Result<Value> {
    use ColumnType as Type;
    let from_scale = scale_of(from);
    let single = |value| {
        let nearest = columns::single(value).ok_or_else(|| range(to));
        nearest.map(|nearest| Value::Float(nearest.into()))
    };
    let result = match (value, to) {
        (Value::Integer(value), Type::Float32) => Value::Float(f64::from(*value as f32)),
        (Value::Integer(value), Type::Float64) => Value::Float(*value as f64),
        (Value::Float(value), Type::Float32) => single(*value)?,
        (Value::Float(value), Type::Float64) => Value::Float(*value),
        (Value::Decimal(value), Type::Float32) => single(columns::float(*value, from_scale))?,
        (Value::Decimal(value), Type::Float64) => Value::Float(columns::float(*value, from_scale)),
        (Value::Integer(value), Type::Decimal { scale, .. }) => {
            Value::Decimal(rescale((*value).into(), 0, *scale).ok_or_else(|| range(to))?)
        }
        (Value::Decimal(value), Type::Decimal { scale, .. }) => {
            Value::Decimal(rescale(*value, from_scale, *scale).ok_or_else(|| range(to))?)
        }
        (Value::Float(value), Type::Decimal { scale, .. }) => {
            let scaled = (value * 10f64.powi((*scale).into())).round();
            if !scaled.is_finite() || scaled.abs() >= 1e38 {
                return Err(range(to));
            }
            // Beyond 53 bits the product is rounded twice, so the shortest text is parsed instead.
            let is_exact = scaled.abs() < 9_007_199_254_740_992.0;
            let digits = if is_exact { None } else { parse_decimal(&value.to_string(), *scale) };
            Value::Decimal(digits.unwrap_or(scaled as i128))
        }
        (Value::Decimal(value), _) => {
            let whole = rescale(*value, from_scale, 0).ok_or_else(|| range(to))?;
            Value::Integer(i64::try_from(whole).map_err(|_| range(to))?)
        }
        (Value::Float(value), _) => {
            let rounded = value.round_ties_even();
            // The bounds are powers of two, and exact.
            if !(i64::MIN as f64..-(i64::MIN as f64)).contains(&rounded) {
                return Err(range(to));
            }
            Value::Integer(rounded as i64)
        }
        (value, _) => value.clone(),
    };
    if to.accepts(result.as_ref()) { Ok(result) } else { Err(range(to)) }
}

/// A power of ten; `None` if it does not fit.
#[inline]
pub(crate) fn power_of_ten(exponent: u32) -> Option<i128> {
    const POWERS: [i128; 39] = {
        let mut powers = [1; 39];
        let mut at = 1;
        while at < powers.len() {
            powers[at] = powers[at - 1] * 10;
            at += 1;
        }
        powers
    };
    POWERS.get(exponent as usize).copied()
}

/// Changes the scale of a decimal, rounding half away from zero; `None` if the digits do not fit.
#[inline]
#[must_use]
pub fn rescale(digits: i128, from: i8, to: i8) -> Option<i128> {
    if from == to {
        return Some(digits);
    }
    let steps = u32::from(from.abs_diff(to));
    if to > from {
        return digits.checked_mul(power_of_ten(steps)?);
    }
    let Some(divisor) = power_of_ten(steps) else { return Some(0) };
    let whole = quotient(digits, divisor);
    let rest = digits - whole * divisor;
    let up = i128::from(rest.unsigned_abs() * 2 >= divisor.unsigned_abs());
    Some(whole + up * digits.signum())
}

/// A quotient, cut towards zero. A division of 128 bits is a call; few digits need none.
#[inline]
fn quotient(digits: i128, divisor: i128) -> i128 {
    match (i64::try_from(digits), i64::try_from(divisor)) {
        (Ok(digits), Ok(divisor)) if divisor > 0 => (digits / divisor).into(),
        _ => digits / divisor,
    }
}

/// Parses a value.
///
/// # Errors
/// `invalid_input` if the text is not of that type.
pub fn parse(text: &str, to: &ColumnType) -> Result<Value> {
    use ColumnType as Type;
    let trimmed = text.trim();
    let parsed = match to {
        Type::Text => Some(Value::Text(text.to_owned())),
        Type::Boolean => parse_boolean(trimmed).map(Value::Boolean),
        Type::Int16 | Type::Int32 | Type::Int64 => trimmed.parse().ok().map(Value::Integer),
        Type::Float32 | Type::Float64 => parse_float(trimmed, to)?.map(Value::Float),
        Type::Decimal { scale, .. } => parse_decimal(trimmed, *scale).map(Value::Decimal),
        Type::Date => temporal::parse_clock(trimmed)
            .and_then(|time| i32::try_from(time.div_euclid(temporal::DAY)).ok())
            .map(Value::Date),
        Type::Time => temporal::parse_time(trimmed).map(Value::Time),
        Type::Timestamp { utc: false } => temporal::parse_clock(trimmed).map(Value::Timestamp),
        Type::Timestamp { .. } => temporal::parse_timestamp(trimmed).map(Value::Timestamp),
        Type::Interval => temporal::parse_interval(trimmed).map(Value::Interval),
        Type::Uuid => parse_uuid(trimmed).map(Value::Uuid),
        Type::Binary => parse_bytes(text).map(Value::Bytes),
        Type::Json => serde_json::from_str::<&serde_json::value::RawValue>(trimmed)
            .ok()
            .map(|_| Value::Text(text.to_owned())),
        Type::List(element) if trimmed.starts_with('{') => array_text::read(trimmed, element),
        ty if ty.is_nested() => json::from_json(trimmed, to),
        _ => None,
    };
    parsed.filter(|value| to.accepts(value.as_ref())).ok_or_else(|| {
        let shown: String = text.chars().take(40).collect();
        let name = type_name(to);
        let error = Error::invalid(format!("{shown:?} is not a value of type {name}"));
        let own = format!("'{shown}' is not a valid {}", member_type_name(to));
        let Some(example) = example(to) else {
            return error
                .help("try_cast gives null instead")
                .of_entities(own, "write it as JSON in a string");
        };
        let help = format!("write it as {}", example.trim_matches('\''));
        error.help(format!("write it as {example}")).of_entities(own, help)
    })
}

/// An example of a type's text form.
fn example(ty: &ColumnType) -> Option<&'static str> {
    Some(match ty {
        ColumnType::Boolean => "true",
        ColumnType::Int16 | ColumnType::Int32 | ColumnType::Int64 => "42",
        ColumnType::Float32 | ColumnType::Float64 => "1.5e3",
        ColumnType::Decimal { .. } => "12.50",
        ColumnType::Date => "'2024-12-31'",
        ColumnType::Time => "'23:59:59'",
        ColumnType::Timestamp { .. } => "'2024-12-31 23:59:59'",
        ColumnType::Interval => "'3 days 4 hours'",
        ColumnType::Binary => "'\\x01ff'",
        ColumnType::Uuid => "'123e4567-e89b-12d3-a456-426614174000'",
        ColumnType::Json => "'{\"a\": [1]}'",
        _ => return None,
    })
}

/// Parses a float. Only words give infinity; digits that overflow are an error.
fn parse_float(text: &str, to: &ColumnType) -> Result<Option<f64>> {
    let Ok(value) = text.parse::<f64>() else { return Ok(None) };
    let is_infinite =
        value.is_infinite() || (*to == ColumnType::Float32 && columns::single(value).is_none());
    match is_infinite && text.bytes().any(|byte| byte.is_ascii_digit()) {
        true => Err(range(to)),
        false => Ok(Some(value)),
    }
}

fn parse_boolean(text: &str) -> Option<bool> {
    match &*text.to_ascii_lowercase() {
        "t" | "true" | "yes" | "y" | "on" | "1" => Some(true),
        "f" | "false" | "no" | "n" | "off" | "0" => Some(false),
        _ => None,
    }
}

/// Parses digits with a point and an exponent, and rounds them to a scale; `None` for a text
/// that is not of this form or has more than 60 digits.
#[must_use]
pub fn parse_decimal(text: &str, scale: i8) -> Option<i128> {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], text[at + 1..].parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (negative, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, mantissa.strip_prefix('+').unwrap_or(mantissa)),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: String = [whole, fraction].concat();
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) || digits.len() > 60 {
        return None;
    }
    // Cuts digits beyond the scale, except the one that rounding needs.
    let point = i32::try_from(whole.len()).ok()? + exponent;
    let wanted = point + i32::from(scale);
    let (kept, round) = match usize::try_from(wanted) {
        Ok(wanted) if wanted < digits.len() => {
            (digits[..wanted].to_owned(), digits.as_bytes()[wanted] >= b'5')
        }
        Ok(wanted) if wanted <= 60 => (format!("{digits:0<wanted$}"), false),
        Ok(_) => return digits.bytes().all(|byte| byte == b'0').then_some(0),
        Err(_) => (String::new(), false),
    };
    let number: i128 = if kept.is_empty() { 0 } else { kept.parse().ok()? };
    let number = number.checked_add(round.into())?;
    Some(if negative { -number } else { number })
}

fn parse_uuid(text: &str) -> Option<[u8; 16]> {
    let text = text.trim_start_matches('{').trim_end_matches('}');
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b'-').collect();
    if digits.len() != 32 {
        return None;
    }
    let mut bytes = [0; 16];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = hex_byte(pair)?;
    }
    Some(bytes)
}

fn hex_byte(pair: &[u8]) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(pair[0])? * 16 + digit(pair[1])?).ok()
}

/// Reads `\x` and hexadecimal digits, or the bytes of a text with escapes.
fn parse_bytes(text: &str) -> Option<Vec<u8>> {
    match text.strip_prefix("\\x") {
        Some(digits) if digits.len() % 2 == 0 => {
            digits.as_bytes().chunks_exact(2).map(hex_byte).collect()
        }
        Some(_) => None,
        None => unescape(text),
    }
}

/// The bytes of a text in which a backslash begins another or three octal digits, as in PostgreSQL;
/// `None` if it begins something else.
#[must_use]
pub(crate) fn unescape(text: &str) -> Option<Vec<u8>> {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        rest = match (first, after) {
            (b'\\', [b'\\', after @ ..]) => {
                bytes.push(b'\\');
                after
            }
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..]) => {
                bytes.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                after
            }
            (b'\\', _) => return None,
            _ => {
                bytes.push(*first);
                after
            }
        };
    }
    Some(bytes)
}

/// The text of a value among others, as functions that join texts write it.
#[must_use]
pub(crate) fn format_short(value: &Value, ty: &ColumnType) -> String {
    match value {
        Value::Boolean(value) => if *value { "t" } else { "f" }.to_owned(),
        value => format(value, ty),
    }
}

/// The text of a value.
#[must_use]
pub fn format(value: &Value, ty: &ColumnType) -> String {
    match value {
        Value::Null => String::new(),
        Value::Boolean(value) => value.to_string(),
        Value::Integer(value) => value.to_string(),
        Value::Float(value) => format_float(*value, ty),
        Value::Decimal(digits) => format_decimal(*digits, scale_of(ty)),
        Value::Text(text) => text.clone(),
        Value::Bytes(bytes) => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("\\x{digits}")
        }
        Value::Uuid(bytes) => format_uuid(bytes),
        Value::Date(day) => temporal::format_date(*day),
        Value::Time(time) => temporal::format_time(*time),
        Value::Timestamp(time) => {
            temporal::format_timestamp(*time, matches!(ty, ColumnType::Timestamp { utc: true }))
        }
        Value::Interval(interval) => temporal::format_interval(*interval),
        Value::List(_) | Value::Struct(_) => json::to_json(value, ty),
    }
}

/// The shortest text that reads as this float, of a type with 32 or 64 bits. Very large and very
/// small ones have an exponent.
#[allow(clippy::cast_possible_truncation, reason = "real has what was put in")]
#[must_use]
pub fn format_float(value: f64, ty: &ColumnType) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let magnitude = value.abs();
    if magnitude != 0.0 && !(1e-5..1e15).contains(&magnitude) {
        return match ty {
            ColumnType::Float32 => format!("{:e}", value as f32),
            _ => format!("{value:e}"),
        };
    }
    match ty {
        ColumnType::Float32 => (value as f32).to_string(),
        _ => value.to_string(),
    }
}

/// The text of a decimal, with `scale` digits after the point.
#[must_use]
pub fn format_decimal(digits: i128, scale: i8) -> String {
    let scale = usize::try_from(scale).unwrap_or(0);
    if scale == 0 {
        return digits.to_string();
    }
    let sign = if digits < 0 { "-" } else { "" };
    let padded = format!("{:0>width$}", digits.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = padded.split_at(padded.len() - scale);
    format!("{sign}{whole}.{fraction}")
}

/// A UUID as text, with hyphens.
#[must_use]
pub fn format_uuid(bytes: &[u8; 16]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let part = |from: usize, to: usize| &digits[from..to];
    [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-")
}

/// Converts a function's result, of a type of its language, to the declared return type.
///
/// # Errors
/// Those of a cast; `type_mismatch` for a fraction if an integer is declared.
pub fn returned_value(value: &Value, from: &ColumnType, returns: &ColumnType) -> Result<Value> {
    let cast = cast_value(value, from, returns)?;
    let is_rounded = is_integer(returns)
        && is_numeric(from)
        && !is_integer(from)
        && cast_value(&cast, returns, from)? != *value;
    if is_rounded {
        let (shown, ty) = (format(value, from), type_name(returns));
        let error = Error::mismatch(format!("{shown} is not a valid {ty}"));
        return Err(error.help("round it, or return another type"));
    }
    Ok(cast)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_round_half_away_from_zero() {
        assert_eq!(parse_decimal("1.005", 2), Some(101));
        assert_eq!(parse_decimal("-1.005", 2), Some(-101));
        assert_eq!(parse_decimal("12e2", 1), Some(12_000));
        assert_eq!(parse_decimal("1e-3", 2), Some(0));
        assert_eq!(parse_decimal("1x", 2), None);
        assert_eq!(rescale(-25, 1, 0), Some(-3));
        assert_eq!(format_decimal(-5, 2), "-0.05");
    }

    #[test]
    fn text_must_be_the_whole_value() {
        for (text, ty) in
            [("1x", ColumnType::Int32), ("", ColumnType::Int64), ("40000", ColumnType::Int16)]
        {
            assert!(parse(text, &ty).is_err(), "{text:?}");
        }
        assert_eq!(parse(" 12 ", &ColumnType::Int32).ok(), Some(Value::Integer(12)));
    }
}
