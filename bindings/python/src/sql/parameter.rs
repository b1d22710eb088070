//! Converts Python objects to parameter values, each with its type.

use folio::{ColumnType, Interval, Parameters, Value, list_of};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple, PyType,
};

use crate::encode::Encoder;
use crate::error::invalid;
use crate::id::{half_of_pair, lone_surrogate};

/// Microseconds per second.
pub(super) const SECOND: i64 = 1_000_000;

/// The maximum number of digits of `numeric`.
const DIGITS_MAX: usize = 38;

/// The maximum nesting of lists.
const DEPTH_MAX: usize = 16;

type Typed = (Value, Option<ColumnType>);

/// The parameters of a statement: a sequence by position, a dict by name.
pub(crate) fn parameters(given: Option<&Bound<'_, PyAny>>) -> PyResult<Parameters> {
    let mut parameters = Parameters::default();
    let Some(given) = given.filter(|given| !given.is_none()) else { return Ok(parameters) };
    if let Ok(named) = given.cast::<PyDict>() {
        return by_name(Some(named), ':');
    }
    if given.is_instance_of::<PyString>() || given.is_instance_of::<PyBytes>() {
        return Err(invalid("params is text, not a sequence; write [text]"));
    }
    let values = given.try_iter().map_err(|_| {
        let kind = kind_of(given);
        invalid(format!("params is a {kind}, neither a sequence nor a dict; write [value]"))
    })?;
    for (index, value) in values.enumerate() {
        let (value, ty) = typed(&value?, 0).map_err(|mismatch| fault(index + 1, mismatch))?;
        parameters.push(value, ty);
    }
    Ok(parameters)
}

/// Parameters by name; the sign is the language's prefix of a name.
pub(super) fn by_name(given: Option<&Bound<'_, PyDict>>, sign: char) -> PyResult<Parameters> {
    let mut parameters = Parameters::default();
    for (name, value) in given.into_iter().flatten() {
        let name: String = name.extract().map_err(|_| match name.is_instance_of::<PyString>() {
            true => lone_surrogate("name of a parameter", &name),
            false => invalid(format!("the name of a parameter is a {}, not text", kind_of(&name))),
        })?;
        let place = format!("{sign}{name}");
        let (value, ty) = typed(&value, 0).map_err(|mismatch| fault(place, mismatch))?;
        parameters.push_named(name, value, ty);
    }
    Ok(parameters)
}

/// The result of a program's function, and its type unless it is null.
pub(super) fn typed_answer(answer: &Bound<'_, PyAny>) -> PyResult<Typed> {
    typed(answer, 0).map_err(|mismatch| match mismatch {
        Mismatch::Text(text) => invalid(format!("its result {text}")),
        Mismatch::Raised(error) => error,
    })
}

/// Reads the value of an object of a class.
type Read = fn(&Bound<'_, PyAny>) -> Result<Typed, Mismatch>;

/// Why an object is not a value.
enum Mismatch {
    Text(String),
    Raised(PyErr),
}

impl From<PyErr> for Mismatch {
    fn from(error: PyErr) -> Self {
        Self::Raised(error)
    }
}

fn fault(place: impl std::fmt::Display, mismatch: Mismatch) -> PyErr {
    match mismatch {
        Mismatch::Text(text) => invalid(format!("parameter {place} {text}")),
        Mismatch::Raised(error) => error,
    }
}

fn mismatch<T>(text: impl Into<String>) -> Result<T, Mismatch> {
    Err(Mismatch::Text(text.into()))
}

/// The value of an object. The most frequent types are tested first.
fn typed(object: &Bound<'_, PyAny>, depth: usize) -> Result<Typed, Mismatch> {
    let ty = |value, ty| Ok((value, Some(ty)));
    if object.is_none() {
        return Ok((Value::Null, None));
    }
    if let Ok(text) = object.cast::<PyString>() {
        let text = text.to_cow().map_err(|_| Mismatch::Text(half_of_pair(object)))?;
        return ty(Value::Text(text.into_owned()), ColumnType::Text);
    }
    if let Ok(value) = object.cast::<PyBool>() {
        return ty(Value::Boolean(value.is_true()), ColumnType::Boolean);
    }
    if object.is_instance_of::<PyInt>() {
        return match object.extract::<i64>() {
            Ok(value) => ty(Value::Integer(value), ColumnType::Int64),
            Err(_) => mismatch(
                "is an int beyond 64 bits, larger than any integer type; pass a decimal.Decimal",
            ),
        };
    }
    if let Ok(value) = object.cast::<PyFloat>() {
        return ty(Value::Float(value.value()), ColumnType::Float64);
    }
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return ty(Value::Bytes(bytes.as_bytes().to_vec()), ColumnType::Binary);
    }
    if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        if let Some(interval) = interval(object)? {
            return Ok(interval);
        }
        return list(object, depth);
    }
    if object.is_instance_of::<PyDict>() {
        let mut text = Vec::new();
        Encoder::new(None).value(object, &mut text)?;
        let text = String::from_utf8(text).map_err(|error| Mismatch::Text(error.to_string()))?;
        return ty(Value::Text(text), ColumnType::Json);
    }
    foreign(object, depth)
}

/// Values of the standard library, and scalars of NumPy.
fn foreign(object: &Bound<'_, PyAny>, depth: usize) -> Result<Typed, Mismatch> {
    static CLASSES: [PyOnceLock<Py<PyType>>; 6] = [const { PyOnceLock::new() }; 6];
    const NAMES: [(&str, &str); 6] = [
        ("decimal", "Decimal"),
        ("datetime", "datetime"),
        ("datetime", "date"),
        ("datetime", "time"),
        ("datetime", "timedelta"),
        ("uuid", "UUID"),
    ];
    const READ: [Read; 6] = [decimal, datetime, date, time, timedelta, uuid];
    if is_missing(object) {
        return Ok((Value::Null, None));
    }
    for ((class, (module, name)), read) in CLASSES.iter().zip(NAMES).zip(READ) {
        if object.is_instance(class.import(object.py(), module, name)?)? {
            return read(object);
        }
    }
    if let Ok(bytes) = object.cast::<PyByteArray>() {
        return Ok((Value::Bytes(bytes.to_vec()), Some(ColumnType::Binary)));
    }
    // A scalar of NumPy or a compatible library.
    let dimensions = object.getattr("ndim").and_then(|count| count.extract::<u64>());
    if dimensions.is_ok_and(|count| count == 0) && depth < DEPTH_MAX {
        return typed(&object.call_method0("item")?, depth + 1);
    }
    mismatch(format!(
        "is a {}, which has no SQL type; convert it, or pass it as text",
        kind_of(object)
    ))
}

/// Whether it is one of pandas's values that stand for none: `NaT`, which passes for a time, or `NA`.
fn is_missing(object: &Bound<'_, PyAny>) -> bool {
    let class = object.get_type();
    let is_named = class.name().is_ok_and(|name| name == "NaTType" || name == "NAType");
    is_named && class.module().is_ok_and(|module| module.to_string_lossy().starts_with("pandas."))
}

fn list(object: &Bound<'_, PyAny>, depth: usize) -> Result<Typed, Mismatch> {
    if depth >= DEPTH_MAX {
        return mismatch("nests deeper than 16 levels");
    }
    let mut items = Vec::new();
    for item in object.try_iter()? {
        items.push(typed(&item?, depth + 1)?);
    }
    let several =
        || Mismatch::Text("is a list of mixed types; all elements must have one type".to_owned());
    list_of(items).ok_or_else(several)
}

fn decimal(object: &Bound<'_, PyAny>) -> Result<Typed, Mismatch> {
    if !object.call_method0("is_finite")?.is_truthy()? {
        return mismatch(format!("is {object}, which numeric cannot represent; pass a float"));
    }
    let text: String = object.call_method1("__format__", ("f",))?.extract()?;
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let digits = format!("{whole}{fraction}");
    let count = digits.trim_start_matches('-').trim_start_matches('0').len().max(fraction.len());
    match digits.parse::<i128>() {
        Ok(digits) if count <= DIGITS_MAX => {
            let scale = i8::try_from(fraction.len()).unwrap_or(i8::MAX);
            Ok((Value::Decimal(digits), Some(ColumnType::Decimal { precision: 38, scale })))
        }
        _ => mismatch("is a decimal of more than 38 digits; round it, or pass a float"),
    }
}

fn field(object: &Bound<'_, PyAny>, name: &str) -> Result<i64, Mismatch> {
    Ok(object.getattr(name)?.extract()?)
}

fn day_of(object: &Bound<'_, PyAny>) -> Result<i64, Mismatch> {
    // Day 1 of Python's calendar is 0001-01-01.
    let ordinal: i64 = object.call_method0("toordinal")?.extract()?;
    Ok(ordinal - 719_163)
}

fn clock_of(object: &Bound<'_, PyAny>) -> Result<i64, Mismatch> {
    let minutes = field(object, "hour")? * 60 + field(object, "minute")?;
    Ok((minutes * 60 + field(object, "second")?) * SECOND + field(object, "microsecond")?)
}

fn has_zone(object: &Bound<'_, PyAny>) -> Result<bool, Mismatch> {
    Ok(!object.call_method0("utcoffset")?.is_none())
}

fn datetime(object: &Bound<'_, PyAny>) -> Result<Typed, Mismatch> {
    let offset = object.call_method0("utcoffset")?;
    let local = day_of(object)? * 86_400 * SECOND + clock_of(object)?;
    if offset.is_none() {
        return Ok((Value::Timestamp(local), Some(ColumnType::Timestamp { utc: false })));
    }
    let utc = local - micros_of(&offset)?;
    Ok((Value::Timestamp(utc), Some(ColumnType::Timestamp { utc: true })))
}

fn date(object: &Bound<'_, PyAny>) -> Result<Typed, Mismatch> {
    let day = i32::try_from(day_of(object)?).unwrap_or(i32::MAX);
    Ok((Value::Date(day), Some(ColumnType::Date)))
}

fn time(object: &Bound<'_, PyAny>) -> Result<Typed, Mismatch> {
    if has_zone(object)? {
        return mismatch("is a time with a time zone, which has no SQL type; pass a datetime");
    }
    Ok((Value::Time(clock_of(object)?), Some(ColumnType::Time)))
}

/// Microseconds of a timedelta.
fn micros_of(delta: &Bound<'_, PyAny>) -> Result<i64, Mismatch> {
    let seconds = field(delta, "days")? * 86_400 + field(delta, "seconds")?;
    Ok(seconds * SECOND + field(delta, "microseconds")?)
}

fn timedelta(object: &Bound<'_, PyAny>) -> Result<Typed, Mismatch> {
    let days = i32::try_from(field(object, "days")?).unwrap_or(i32::MAX);
    let micros = field(object, "seconds")? * SECOND + field(object, "microseconds")?;
    let interval = Interval { months: 0, days, nanoseconds: micros * 1_000 };
    Ok((Value::Interval(interval), Some(ColumnType::Interval)))
}

/// `foliodb.Interval`, which is a tuple.
fn interval(object: &Bound<'_, PyAny>) -> Result<Option<Typed>, Mismatch> {
    static INTERVAL: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    if !object.is_instance(INTERVAL.import(object.py(), "foliodb.values", "Interval")?)? {
        return Ok(None);
    }
    let (months, days, nanoseconds) = object.extract()?;
    let interval = Value::Interval(Interval { months, days, nanoseconds });
    Ok(Some((interval, Some(ColumnType::Interval))))
}

fn uuid(object: &Bound<'_, PyAny>) -> Result<Typed, Mismatch> {
    let bytes: [u8; 16] = object.getattr("bytes")?.extract()?;
    Ok((Value::Uuid(bytes), Some(ColumnType::Uuid)))
}

fn kind_of(object: &Bound<'_, PyAny>) -> String {
    object.get_type().name().map_or_else(|_| "object".to_owned(), |name| name.to_string())
}
