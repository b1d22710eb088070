//! Converts errors of the facade to Python exceptions: a class per error code.
//!
//! The classes are defined in Python (`foliodb.errors`), so that each can also derive from the
//! expected built-in exception: a missing document is a `LookupError`, a bad id a `ValueError`.

use std::fmt::Display;

use folio::ErrorCode;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// The exception for an error of the facade.
pub(crate) fn to_python(error: &folio::Error) -> PyErr {
    with_code(error.code(), error)
}

/// The exception of a code with a text.
pub(crate) fn with_code(code: ErrorCode, text: impl Display) -> PyErr {
    let text = text.to_string();
    Python::attach(|py| match class_of(py, code.as_str()) {
        Ok(class) => PyErr::from_type(class, (text,)),
        Err(error) => error,
    })
}

/// A caller's error: a bad argument, or a value that JSON cannot represent.
pub(crate) fn invalid(text: impl Display) -> PyErr {
    with_code(ErrorCode::InvalidInput, text)
}

/// Whether it is the exception of a caller's error.
pub(crate) fn is_invalid(py: Python<'_>, error: &PyErr) -> bool {
    let class = class_of(py, ErrorCode::InvalidInput.as_str());
    class.is_ok_and(|class| error.is_instance(py, &class))
}

fn class_of<'py>(py: Python<'py>, code: &str) -> PyResult<Bound<'py, PyType>> {
    static BY_CODE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let by_code = BY_CODE.get_or_try_init(py, || {
        py.import("foliodb.errors")?.getattr("BY_CODE").map(Bound::unbind)
    })?;
    Ok(by_code.bind(py).get_item(code)?.cast_into::<PyType>()?)
}

/// `result.or_raise()?`: turns the facade's errors into exceptions.
pub(crate) trait OrRaise<T> {
    fn or_raise(self) -> PyResult<T>;
}

impl<T> OrRaise<T> for folio::Result<T> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(|error| to_python(&error))
    }
}
