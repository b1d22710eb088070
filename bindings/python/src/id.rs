//! Ids from Python: text, or an int, which becomes its digits.

use std::borrow::Cow;
use std::ops::Deref;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyString};

use crate::error::invalid;

/// An id that a method takes.
pub(crate) struct Id<'a>(Cow<'a, str>);

impl Deref for Id<'_> {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Id<'a> {
    type Error = PyErr;

    #[inline]
    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        match value.extract::<&'a str>() {
            Ok(text) => Ok(Self(Cow::Borrowed(text))),
            Err(_) => digits(&value).map(|digits| Self(Cow::Owned(digits))),
        }
    }
}

#[cold]
fn digits(value: &Bound<'_, PyAny>) -> PyResult<String> {
    if value.is_instance_of::<PyString>() {
        return Err(lone_surrogate(value));
    }
    if value.is_instance_of::<PyInt>() && !value.is_instance_of::<PyBool>() {
        return Ok(value.str()?.to_string_lossy().into_owned());
    }
    let kind = value.get_type().name()?;
    Err(PyTypeError::new_err(format!("an id is text or an int, not a {kind}")))
}

/// The error of a text that has no form in UTF-8.
#[cold]
pub(crate) fn lone_surrogate(id: &Bound<'_, PyAny>) -> PyErr {
    match id.repr() {
        Ok(shown) => invalid(format!(
            "the id {shown} holds half of a surrogate pair, which UTF-8 cannot hold"
        )),
        Err(error) => error,
    }
}
