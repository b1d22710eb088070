//! Converts values to Python objects, each to a type that holds it exactly.
//!
//! | type | object |
//! |---|---|
//! | boolean, integers, floats, text, bytea | `bool`, `int`, `float`, `str`, `bytes` |
//! | numeric | `decimal.Decimal` |
//! | date, time | `datetime.date`, `datetime.time` |
//! | timestamp, timestamptz | `datetime.datetime`, without and with `timezone.utc` |
//! | interval | `foliodb.Interval`: months, days and nanoseconds |
//! | uuid | `uuid.UUID` |
//! | json | what the JSON holds |
//! | arrays | `list` |
//! | structs, maps | `dict` |

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int16Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef};
use folio::{ColumnType, Value, format_value, members_of, value_at};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyList, PyString, PyType};

use super::parameter::SECOND;
use crate::decode::Decoder;
use crate::error::invalid;

const DAY: i64 = 86_400 * SECOND;

/// Makes objects, and caches the shapes of JSON values.
pub(super) struct Converter {
    decoder: Decoder,
}

impl Converter {
    pub(super) fn new() -> Self {
        Self { decoder: Decoder::new(None) }
    }

    /// The value in a row of a column.
    pub(super) fn cell<'py>(
        &mut self,
        py: Python<'py>,
        array: &ArrayRef,
        row: usize,
        ty: &ColumnType,
    ) -> PyResult<Bound<'py, PyAny>> {
        if array.is_null(row) {
            return Ok(py.None().into_bound(py));
        }
        Ok(match ty {
            ColumnType::Int16 => int(py, array.as_primitive::<Int16Type>().value(row).into()),
            ColumnType::Int32 => int(py, array.as_primitive::<Int32Type>().value(row).into()),
            ColumnType::Int64 => int(py, array.as_primitive::<Int64Type>().value(row)),
            ColumnType::Float32 => {
                let value = array.as_primitive::<Float32Type>().value(row);
                PyFloat::new(py, value.into()).into_any()
            }
            ColumnType::Float64 => {
                PyFloat::new(py, array.as_primitive::<Float64Type>().value(row)).into_any()
            }
            ColumnType::Text => PyString::new(py, array.as_string::<i32>().value(row)).into_any(),
            ColumnType::Json => {
                self.decoder.decode(py, array.as_string::<i32>().value(row).as_bytes())?
            }
            ColumnType::Binary => PyBytes::new(py, array.as_binary::<i32>().value(row)).into_any(),
            ColumnType::List(element) => {
                let items = array.as_list::<i32>().value(row);
                let list = PyList::empty(py);
                for item in 0..items.len() {
                    list.append(self.cell(py, &items, item, element)?)?;
                }
                list.into_any()
            }
            ColumnType::Struct(fields) => {
                let dict = PyDict::new(py);
                for ((name, ty), column) in fields.iter().zip(array.as_struct().columns()) {
                    dict.set_item(name, self.cell(py, column, row, ty)?)?;
                }
                dict.into_any()
            }
            ColumnType::Map(ty) => {
                let (map, dict) = (array.as_map(), PyDict::new(py));
                let keys = map.keys().as_string::<i32>();
                for at in map.value_offsets()[row] as usize..map.value_offsets()[row + 1] as usize {
                    dict.set_item(keys.value(at), self.cell(py, map.values(), at, ty)?)?;
                }
                dict.into_any()
            }
            ty => return self.value(py, &value_at(array, row, ty), ty),
        })
    }

    /// A single value.
    pub(super) fn value<'py>(
        &mut self,
        py: Python<'py>,
        value: &Value,
        ty: &ColumnType,
    ) -> PyResult<Bound<'py, PyAny>> {
        Ok(match (value, ty) {
            (Value::Null, _) => py.None().into_bound(py),
            (Value::Boolean(value), _) => PyBool::new(py, *value).to_owned().into_any(),
            (Value::Integer(value), _) => int(py, *value),
            (Value::Float(value), _) => PyFloat::new(py, *value).into_any(),
            (Value::Decimal(_), ty) => decimal(py, &format_value(value, ty))?,
            (Value::Text(text), ColumnType::Json) => self.decoder.decode(py, text.as_bytes())?,
            (Value::Text(text), _) => PyString::new(py, text).into_any(),
            (Value::Bytes(bytes), _) => PyBytes::new(py, bytes).into_any(),
            (Value::Uuid(bytes), _) => uuid(py, bytes)?,
            (Value::Date(day), _) => date(py, *day)?,
            (Value::Time(time), _) => time_of_day(py, *time)?,
            (Value::Timestamp(time), ty) => {
                timestamp(py, *time, matches!(ty, ColumnType::Timestamp { utc: true }))?
            }
            (Value::Interval(interval), _) => {
                static INTERVAL: PyOnceLock<Py<PyType>> = PyOnceLock::new();
                let class = INTERVAL.import(py, "foliodb.values", "Interval")?;
                class.call1((interval.months, interval.days, interval.nanoseconds))?
            }
            (Value::List(values), ColumnType::List(element)) => {
                let list = PyList::empty(py);
                for value in values {
                    list.append(self.value(py, value, element)?)?;
                }
                list.into_any()
            }
            (value, ty) => match members_of(value, ty) {
                Some(members) => {
                    let dict = PyDict::new(py);
                    for (name, value, ty) in members {
                        dict.set_item(name, self.value(py, value, ty)?)?;
                    }
                    dict.into_any()
                }
                None => PyString::new(py, &format_value(value, ty)).into_any(),
            },
        })
    }
}

#[inline]
fn int(py: Python<'_>, value: i64) -> Bound<'_, PyAny> {
    match value.into_pyobject(py) {
        Ok(value) => value.into_any(),
        Err(never) => match never {},
    }
}

fn decimal<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    static DECIMAL: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    DECIMAL.import(py, "decimal", "Decimal")?.call1((text,))
}

fn uuid<'py>(py: Python<'py>, bytes: &[u8; 16]) -> PyResult<Bound<'py, PyAny>> {
    static UUID: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    UUID.import(py, "uuid", "UUID")?.call1((py.None(), PyBytes::new(py, bytes)))
}

fn date(py: Python<'_>, day: i32) -> PyResult<Bound<'_, PyAny>> {
    static DATE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let (year, month, day) = civil(day.into())?;
    DATE.import(py, "datetime", "date")?.call1((year, month, day))
}

fn time_of_day(py: Python<'_>, time: i64) -> PyResult<Bound<'_, PyAny>> {
    static TIME: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    if time == DAY {
        return Err(invalid("a time of day ends before 24:00:00 in Python; cast it to text"));
    }
    let (hour, minute, second, micro) = clock(time);
    TIME.import(py, "datetime", "time")?.call1((hour, minute, second, micro))
}

fn timestamp(py: Python<'_>, time: i64, is_utc: bool) -> PyResult<Bound<'_, PyAny>> {
    static DATETIME: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    static UTC: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let (year, month, day) = civil(time.div_euclid(DAY))?;
    let (hour, minute, second, micro) = clock(time.rem_euclid(DAY));
    let class = DATETIME.import(py, "datetime", "datetime")?;
    if !is_utc {
        return class.call1((year, month, day, hour, minute, second, micro));
    }
    let utc = UTC.get_or_try_init(py, || {
        py.import("datetime")?.getattr("timezone")?.getattr("utc").map(Bound::unbind)
    })?;
    class.call1((year, month, day, hour, minute, second, micro, utc))
}

fn clock(time: i64) -> (i64, i64, i64, i64) {
    let seconds = time / SECOND;
    (seconds / 3600, seconds / 60 % 60, seconds % 60, time % SECOND)
}

/// Year, month and day of a day since 1970-01-01 (Hinnant, "chrono-Compatible Low-Level Date
/// Algorithms", 2013: `civil_from_days`), if Python supports the year.
fn civil(day: i64) -> PyResult<(i64, i64, i64)> {
    let shifted = day + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day_of_month = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    if (1..=9999).contains(&year) {
        return Ok((year, month, day_of_month));
    }
    Err(invalid(format!(
        "a date of the year {year} is outside of Python's years 1 to 9999; cast it to text"
    )))
}
