//! Encodes other than plain types: subclasses, tuples, decimals, other mappings, NumPy scalars, and
//! types handled by the caller's `default`.

use folio::push_json_string;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple, PyType};

use super::place::{Place, Step};
use super::{Encoder, Object, enter, push_float, utf8};
use crate::error::invalid;

impl Encoder {
    /// Appends a value of any other type.
    #[inline(never)]
    pub(super) fn foreign(
        &mut self,
        value: &Bound<'_, PyAny>,
        place: &Place<'_>,
        line: &mut Vec<u8>,
    ) -> PyResult<()> {
        let py = value.py();
        let object = value.as_ptr();
        // From here on foreign code may run, and change any container.
        let _keys = place.hold(py);
        // SAFETY: a live object; each conversion is called on the type it is for.
        unsafe {
            if ffi::PyUnicode_Check(object) != 0 {
                push_json_string(utf8(py, object, place)?, line);
                return Ok(());
            }
            if ffi::PyLong_Check(object) != 0 {
                return self.int(py, object, place, line);
            }
            if ffi::PyFloat_Check(object) != 0 {
                return push_float(py, ffi::PyFloat_AsDouble(object), place, line);
            }
            if ffi::PyDict_Check(object) != 0 {
                return self.dict(py, object, place, line);
            }
            if ffi::PyList_Check(object) != 0 {
                return self.list(py, object, place, line);
            }
        }
        if let Ok(tuple) = value.cast::<PyTuple>() {
            return self.tuple(tuple, place, line);
        }
        if is_decimal(value)? {
            return push_decimal(value, place, line);
        }
        if let Some(dict) = mapping_to_dict(value)? {
            return self.dict(py, dict.as_ptr(), place, line);
        }
        self.converted(value, place, line)
    }

    fn tuple(
        &mut self,
        tuple: &Bound<'_, PyTuple>,
        place: &Place<'_>,
        line: &mut Vec<u8>,
    ) -> PyResult<()> {
        let inside = enter(tuple.py(), tuple.as_ptr(), place)?;
        line.push(b'[');
        for (index, item) in tuple.iter().enumerate() {
            if index > 0 {
                line.push(b',');
            }
            inside.step.set(Step::Index(index));
            self.any(tuple.py(), item.as_ptr(), &inside, line)?;
        }
        line.push(b']');
        Ok(())
    }

    /// Appends the content of a NumPy scalar, or the caller's `default` of the value.
    fn converted(
        &mut self,
        value: &Bound<'_, PyAny>,
        place: &Place<'_>,
        line: &mut Vec<u8>,
    ) -> PyResult<()> {
        let py = value.py();
        let converted = match &self.default {
            _ if is_array_scalar(value) => value.call_method0("item")?,
            Some(default) => default.bind(py).call1((value,))?,
            None => return Err(refuse(value, place)),
        };
        if converted.get_type().is(value.get_type()) {
            return Err(refuse(value, place));
        }
        // One level deeper, so that endless conversions reach the depth limit.
        let inside = enter(py, value.as_ptr(), place)?;
        inside.step.set(Step::Same);
        self.any(py, converted.as_ptr(), &inside, line)
    }
}

#[cold]
fn refuse(value: &Bound<'_, PyAny>, place: &Place<'_>) -> PyErr {
    let path = place.path(value.py());
    let kind = type_name(value);
    let hint = match kind.as_str() {
        "datetime" | "date" | "time" => "store value.isoformat()",
        "bytes" | "bytearray" | "memoryview" => "decode it, or store base64",
        "set" | "frozenset" | "ndarray" | "Series" | "deque" => "store it as a list",
        _ => "convert it, or pass default=",
    };
    invalid(format!("the value at {path} is a {kind}, which JSON cannot hold; {hint}"))
}

/// The name of an object's type, for people.
pub(crate) fn type_name(object: &Bound<'_, PyAny>) -> String {
    let name = object.get_type().name();
    name.map_or_else(|_| "value".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// A dict with the members of another mapping; `None` for anything else.
pub(super) fn mapping_to_dict<'py>(
    value: &Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    static MAPPING: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let py = value.py();
    let mapping = MAPPING.import(py, "collections.abc", "Mapping")?;
    if !value.is_instance(mapping)? {
        return model_to_dict(value);
    }
    let dict = PyDict::new(py);
    for item in value.call_method0("items")?.try_iter()? {
        let (key, value): (Bound<'py, PyAny>, Bound<'py, PyAny>) = item?.extract()?;
        dict.set_item(key, value)?;
    }
    Ok(Some(dict))
}

/// A dict with the fields of a pydantic model or a dataclass; `None` for anything else.
fn model_to_dict<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyDict>>> {
    let py = value.py();
    if value.is_instance_of::<PyType>() {
        return Ok(None);
    }
    if value.get_type().hasattr("model_fields")? && value.hasattr("model_dump")? {
        let options = PyDict::new(py);
        options.set_item("mode", "json")?;
        options.set_item("by_alias", true)?;
        return Ok(Some(value.call_method("model_dump", (), Some(&options))?.cast_into()?));
    }
    if value.get_type().hasattr("__dataclass_fields__")? {
        let dict = py.import("dataclasses")?.call_method1("asdict", (value,))?;
        return Ok(Some(dict.cast_into()?));
    }
    Ok(None)
}

fn is_decimal(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    static DECIMAL: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let decimal = DECIMAL.import(value.py(), "decimal", "Decimal")?;
    value.is_instance(decimal)
}

fn push_decimal(value: &Bound<'_, PyAny>, place: &Place<'_>, line: &mut Vec<u8>) -> PyResult<()> {
    if !value.call_method0("is_finite")?.is_truthy()? {
        let path = place.path(value.py());
        return Err(invalid(format!(
            "the value at {path} is {value}, which JSON cannot hold; use None"
        )));
    }
    let text = value.str()?;
    line.extend_from_slice(text.to_string_lossy().as_bytes());
    Ok(())
}

/// Whether it is a scalar of NumPy or a compatible library. Imports neither.
fn is_array_scalar(value: &Bound<'_, PyAny>) -> bool {
    let dimensions = value.getattr("ndim").and_then(|count| count.extract::<u64>());
    dimensions.is_ok_and(|count| count == 0) && value.hasattr("item").unwrap_or(false)
}

/// Appends an int of any size.
#[inline(never)]
pub(super) fn push_big_int(
    py: Python<'_>,
    value: Object,
    place: &Place<'_>,
    line: &mut Vec<u8>,
) -> PyResult<()> {
    // SAFETY: a live int, whose own text is asked for, whatever its subclass prints.
    let text = unsafe {
        let plain = Bound::from_owned_ptr_or_err(py, ffi::PyNumber_Long(value))?;
        Bound::from_owned_ptr_or_err(py, ffi::PyObject_Str(plain.as_ptr()))
    };
    match text {
        Ok(text) => {
            line.extend_from_slice(text.str()?.to_string_lossy().as_bytes());
            Ok(())
        }
        Err(_) => {
            let path = place.path(py);
            Err(invalid(format!(
                "the int at {path} has more digits than Python converts; raise sys.set_int_max_str_digits"
            )))
        }
    }
}
