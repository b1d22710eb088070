//! Functions on dates, times and timestamps.

use std::sync::Arc;

use crate::{Error, Result};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, TimestampMicrosecondType};
use arrow_array::{ArrayRef, Float64Array};
use folio_types::temporal::{self, DAY, SECOND};
use folio_types::{ColumnType, Interval, Value};

use super::Body::{Stated, Strict, Typed, Whole};
use super::Takes::{Date, Float, Integer, Text, Timestamp};
use super::to_char::{field, to_char};
use super::{Call, Given, Overload, Returns, Takes, float_of, function, integer_of, text_of};

pub(super) const OVERLOADS: &[Overload] = &[
    function("now", &[], Returns::Instant, Stated(Given::Now)),
    function("current_timestamp", &[], Returns::Instant, Stated(Given::Now)),
    function("localtimestamp", &[], Returns::Timestamp, Stated(Given::Now)),
    function("current_date", &[], Returns::Date, Stated(Given::Now)),
    function("current_time", &[], Returns::Time, Stated(Given::Now)),
    function("date_part", &[Text, Timestamp], Returns::Float, Whole(date_parts)),
    function("date_part", &[Text, Takes::Interval], Returns::Float, Strict(date_part)),
    function("date_part", &[Text, Takes::Time], Returns::Float, Strict(date_part)),
    function("date_trunc", &[Text, Timestamp], Returns::As(1), Strict(date_trunc)),
    function(
        "date_bin",
        &[Takes::Interval, Timestamp, Timestamp],
        Returns::As(1),
        Strict(date_bin),
    ),
    function("year", &[Timestamp], Returns::Integer, Strict(|a| whole_part("year", &a[0]))),
    function("month", &[Timestamp], Returns::Integer, Strict(|a| whole_part("month", &a[0]))),
    function("day", &[Timestamp], Returns::Integer, Strict(|a| whole_part("day", &a[0]))),
    function("hour", &[Timestamp], Returns::Integer, Strict(|a| whole_part("hour", &a[0]))),
    function("hour", &[Takes::Time], Returns::Integer, Strict(|a| whole_part("hour", &a[0]))),
    function("minute", &[Timestamp], Returns::Integer, Strict(|a| whole_part("minute", &a[0]))),
    function("minute", &[Takes::Time], Returns::Integer, Strict(|a| whole_part("minute", &a[0]))),
    function("second", &[Timestamp], Returns::Integer, Strict(|a| whole_part("second", &a[0]))),
    function("second", &[Takes::Time], Returns::Integer, Strict(|a| whole_part("second", &a[0]))),
    function("make_date", &[Integer, Integer, Integer], Returns::Date, Strict(make_date)),
    function("make_time", &[Integer, Integer, Float], Returns::Time, Strict(make_time)),
    function(
        "make_timestamp",
        &[Integer, Integer, Integer, Integer, Integer, Float],
        Returns::Timestamp,
        Strict(make_timestamp),
    ),
    function("to_timestamp", &[Float], Returns::Instant, Whole(to_timestamp)),
    function("age", &[Timestamp, Timestamp], Returns::Interval, Strict(age)),
    function("date_diff", &[Text, Timestamp, Timestamp], Returns::Integer, Strict(date_diff)),
    function("date_add", &[Timestamp, Takes::Interval], Returns::As(0), Strict(date_add)),
    function("last_day", &[Date], Returns::Date, Strict(last_day)),
    function("to_char", &[Timestamp, Text], Returns::Text, Strict(to_char)),
    function("strftime", &[Timestamp, Text], Returns::Text, Strict(strftime)),
    function("at_time_zone", &[Timestamp, Text], Returns::OtherZone, Typed(at_time_zone)),
];

fn timestamp_of(value: &Value) -> i64 {
    match value {
        Value::Timestamp(time) | Value::Time(time) => *time,
        _ => 0,
    }
}

fn unit_of(unit: &str) -> String {
    let unit = unit.to_lowercase();
    match unit.strip_suffix('s') {
        Some(singular) if !singular.is_empty() => singular.to_owned(),
        _ => unit,
    }
}

fn no_unit(unit: &str) -> Error {
    Error::invalid(format!("{unit:?} is not a unit of time"))
        .help("use year, month, day, hour, minute, second, week, quarter, dow, doy or epoch")
}

#[allow(clippy::cast_precision_loss, reason = "parts are small")]
fn date_part(arguments: &[Value]) -> Result<Value> {
    let unit = unit_of(text_of(&arguments[0]));
    let part = match &arguments[1] {
        Value::Interval(interval) => interval_part(&unit, *interval),
        other => temporal::part(&unit, timestamp_of(other)),
    };
    part.map(Value::Float).ok_or_else(|| no_unit(text_of(&arguments[0])))
}

/// The parts of many timestamps. The unit is usually the same for all.
fn date_parts(call: &Call<'_>) -> Result<ArrayRef> {
    let units = call.arrays[0].as_string::<i32>();
    let times = call.arrays[1].as_primitive::<TimestampMicrosecondType>();
    let mut known: Option<(&str, String)> = None;
    let parts = units.iter().zip(times.iter()).map(|(unit, time)| {
        let (Some(unit), Some(time)) = (unit, time) else { return Ok(None) };
        let name = match &known {
            Some((last, name)) if *last == unit => name,
            _ => &known.insert((unit, unit_of(unit))).1,
        };
        temporal::part(name, time).map(Some).ok_or_else(|| no_unit(unit))
    });
    Ok(Arc::new(parts.collect::<Result<Float64Array>>()?))
}

#[allow(clippy::cast_precision_loss, reason = "parts are small")]
fn interval_part(unit: &str, interval: Interval) -> Option<f64> {
    let micros = interval.nanoseconds / 1000;
    // A year has 365.25 days; the remaining months have 30.
    let days = f64::from(interval.months / 12) * 365.25
        + f64::from(interval.months % 12) * 30.0
        + f64::from(interval.days);
    Some(match unit {
        "year" => f64::from(interval.months / 12),
        "month" => f64::from(interval.months % 12),
        "day" => f64::from(interval.days),
        "epoch" => days * 86_400.0 + interval.nanoseconds as f64 / (SECOND * 1000) as f64,
        "hour" => (micros / temporal::HOUR) as f64,
        "minute" => (micros / temporal::MINUTE % 60) as f64,
        "second" => {
            (interval.nanoseconds % (temporal::MINUTE * 1000)) as f64 / (SECOND * 1000) as f64
        }
        _ => return None,
    })
}

#[allow(clippy::cast_possible_truncation, reason = "calendar parts are small")]
fn whole_part(unit: &str, time: &Value) -> Result<Value> {
    let part = temporal::part(unit, timestamp_of(time)).unwrap_or_default();
    Ok(Value::Integer(part as i64))
}

fn date_trunc(arguments: &[Value]) -> Result<Value> {
    let truncated =
        temporal::truncate(&unit_of(text_of(&arguments[0])), timestamp_of(&arguments[1]));
    truncated.map(Value::Timestamp).ok_or_else(|| no_unit(text_of(&arguments[0])))
}

/// The beginning of the stride that a time is in, counted from an origin.
fn date_bin(arguments: &[Value]) -> Result<Value> {
    let Value::Interval(stride) = arguments[0] else { return Ok(Value::Null) };
    if stride.months != 0 {
        return Err(Error::invalid("date_bin takes no months and years: they differ in length")
            .help("use date_trunc"));
    }
    let length = i128::from(stride.days) * i128::from(DAY) * 1000 + i128::from(stride.nanoseconds);
    if length <= 0 {
        return Err(Error::invalid("the stride of date_bin must be longer than nothing"));
    }
    let nanoseconds = |time: &Value| i128::from(timestamp_of(time)) * 1000;
    let (time, origin) = (nanoseconds(&arguments[1]), nanoseconds(&arguments[2]));
    let begin = (time - (time - origin).rem_euclid(length)).div_euclid(1000);
    let begin =
        i64::try_from(begin).map_err(|_| Error::invalid("the timestamp is out of range"))?;
    Ok(Value::Timestamp(begin))
}

fn day_number(arguments: &[Value]) -> Result<i64> {
    let part = |index: usize| integer_of(&arguments[index]);
    let day = i32::try_from(part(0)).ok().and_then(|year| {
        temporal::days(year, u32::try_from(part(1)).ok()?, u32::try_from(part(2)).ok()?)
    });
    let (year, month, day_of_month) = (part(0), part(1), part(2));
    day.ok_or_else(|| Error::invalid(format!("there is no day {year}-{month}-{day_of_month}")))
}

fn make_date(arguments: &[Value]) -> Result<Value> {
    i32::try_from(day_number(arguments)?)
        .map(Value::Date)
        .map_err(|_| Error::invalid("the date is out of range"))
}

#[allow(clippy::cast_possible_truncation, reason = "checked to be within a minute")]
fn clock(hour: &Value, minute: &Value, second: &Value) -> Result<i64> {
    let (hour, minute, second) = (integer_of(hour), integer_of(minute), float_of(second));
    let fits =
        (0..24).contains(&hour) && (0..60).contains(&minute) && (0.0..60.0).contains(&second);
    if !fits {
        return Err(Error::invalid(format!("there is no time {hour}:{minute}:{second}")));
    }
    let micros = (second * SECOND as f64).round() as i64;
    Ok(hour * temporal::HOUR + minute * temporal::MINUTE + micros)
}

fn make_time(arguments: &[Value]) -> Result<Value> {
    Ok(Value::Time(clock(&arguments[0], &arguments[1], &arguments[2])?))
}

fn make_timestamp(arguments: &[Value]) -> Result<Value> {
    let time = clock(&arguments[3], &arguments[4], &arguments[5])?;
    Ok(Value::Timestamp(day_number(arguments)? * DAY + time))
}

#[allow(clippy::cast_possible_truncation, reason = "the range is checked")]
fn to_timestamp(call: &Call<'_>) -> Result<ArrayRef> {
    let seconds = call.arrays[0].as_primitive::<Float64Type>();
    let times = seconds.try_unary::<_, TimestampMicrosecondType, Error>(|seconds| {
        let micros = seconds * SECOND as f64;
        match micros.is_nan() || micros.abs() >= 9.2e18 {
            true => Err(Error::invalid("the timestamp is out of range")),
            false => Ok(micros.round() as i64),
        }
    });
    Ok(Arc::new(times?.with_data_type(call.returns.to_arrow())))
}

/// The difference part by part: years and months, days, time. A borrowed month has the length
/// of the earlier date's month.
fn age(arguments: &[Value]) -> Result<Value> {
    let (later, earlier) = (timestamp_of(&arguments[0]), timestamp_of(&arguments[1]));
    if later < earlier {
        let Value::Interval(interval) = age(&[arguments[1].clone(), arguments[0].clone()])? else {
            return Ok(Value::Null);
        };
        return Ok(temporal::negate(interval).map_or(Value::Null, Value::Interval));
    }
    let parts = |time: i64| {
        let (year, month, day) = temporal::civil(time.div_euclid(DAY));
        (i64::from(year) * 12 + i64::from(month), i64::from(day), time.rem_euclid(DAY))
    };
    let (after, before) = (parts(later), parts(earlier));
    let (mut months, mut days, mut micros) =
        (after.0 - before.0, after.1 - before.1, after.2 - before.2);
    if micros < 0 {
        (micros, days) = (micros + DAY, days - 1);
    }
    if days < 0 {
        let (year, month, _) = temporal::civil(earlier.div_euclid(DAY));
        (days, months) = (days + i64::from(temporal::month_length(year, month)), months - 1);
    }
    let small = |number: i64| i32::try_from(number).unwrap_or(i32::MAX);
    let (months, days) = (small(months), small(days));
    Ok(Value::Interval(Interval { months, days, nanoseconds: micros * 1000 }))
}

/// The number of boundaries of a unit between two timestamps.
fn date_diff(arguments: &[Value]) -> Result<Value> {
    let unit = unit_of(text_of(&arguments[0]));
    let number = |time: &Value| {
        let time = timestamp_of(time);
        let (year, month, _) = temporal::civil(time.div_euclid(DAY));
        let months = i64::from(year) * 12 + i64::from(month) - 1;
        Some(match &*unit {
            "year" => i64::from(year),
            "quarter" => months.div_euclid(3),
            "month" => months,
            "week" => (time.div_euclid(DAY) + 3).div_euclid(7),
            "day" => time.div_euclid(DAY),
            "hour" => time.div_euclid(temporal::HOUR),
            "minute" => time.div_euclid(temporal::MINUTE),
            "second" => time.div_euclid(SECOND),
            "millisecond" => time.div_euclid(1000),
            "microsecond" => time,
            _ => return None,
        })
    };
    match (number(&arguments[1]), number(&arguments[2])) {
        (Some(from), Some(to)) => Ok(Value::Integer(to - from)),
        _ => Err(no_unit(text_of(&arguments[0]))),
    }
}

fn date_add(arguments: &[Value]) -> Result<Value> {
    let Value::Interval(interval) = arguments[1] else { return Ok(Value::Null) };
    temporal::add(timestamp_of(&arguments[0]), interval)
        .map(Value::Timestamp)
        .ok_or_else(|| Error::invalid("the timestamp is out of range"))
}

fn last_day(arguments: &[Value]) -> Result<Value> {
    let Value::Date(day) = arguments[0] else { return Ok(Value::Null) };
    let (year, month, of_month) = temporal::civil(day.into());
    let left = temporal::month_length(year, month) - of_month;
    Ok(Value::Date(day.saturating_add(i32::try_from(left).unwrap_or(0))))
}

fn strftime(arguments: &[Value]) -> Result<Value> {
    let time = timestamp_of(&arguments[0]);
    let mut out = String::new();
    let mut characters = text_of(&arguments[1]).chars();
    while let Some(character) = characters.next() {
        if character != '%' {
            out.push(character);
            continue;
        }
        let name = match characters.next() {
            Some('Y') => "YYYY",
            Some('y') => "YY",
            Some('m') => "MM",
            Some('d') => "DD",
            Some('H') => "HH24",
            Some('I') => "HH12",
            Some('M') => "MI",
            Some('S') => "SS",
            Some('f') => "US",
            Some('p') => "AM",
            Some('B') => "Month",
            Some('b') => "Mon",
            Some('A') => "Day",
            Some('a') => "Dy",
            Some('j') => "DDD",
            Some('W') => "%W",
            Some('U') => "%U",
            Some('w') => "%w",
            Some('u') => "ID",
            Some('V') => "IW",
            Some('G') => "IYYY",
            Some('%') => {
                out.push('%');
                continue;
            }
            other => {
                let shown = other.map_or_else(String::new, |other| other.to_string());
                return Err(Error::invalid(format!("strftime does not know %{shown}")));
            }
        };
        out.push_str(&field(name, time).unwrap_or_default());
    }
    Ok(Value::Text(out))
}

/// Converts between zones. Timestamps are stored in UTC; other zones are offsets.
fn at_time_zone(arguments: &[Value], types: &[ColumnType]) -> Result<Value> {
    let zone = text_of(&arguments[1]);
    let is_utc = ["utc", "gmt", "z", "+00", "+00:00"].contains(&&*zone.to_lowercase());
    let probe = format!("1970-01-01 00:00:00{zone}");
    let offset = match temporal::parse_timestamp(&probe) {
        _ if is_utc => 0,
        Some(before) if zone.starts_with(['+', '-']) => -before,
        _ => {
            return Err(Error::unsupported(format!("time zone {zone:?} is not known"))
                .help("give an offset such as '+02:00', or 'UTC'"));
        }
    };
    let is_instant = matches!(types[0], ColumnType::Timestamp { utc: true });
    let time = timestamp_of(&arguments[0]);
    Ok(Value::Timestamp(if is_instant { time + offset } else { time - offset }))
}
