//! Text from Python, and ids: text, or an int, which becomes its digits.

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
        return Err(lone_surrogate("id", value));
    }
    if value.is_instance_of::<PyInt>() && !value.is_instance_of::<PyBool>() {
        return Ok(value.str()?.to_string_lossy().into_owned());
    }
    let kind = value.get_type().name()?;
    Err(PyTypeError::new_err(format!("an id is text or an int, not a {kind}")))
}

/// A text that a method takes: a statement, a condition, a name.
pub(crate) struct Text<'a>(&'a str);

impl Deref for Text<'_> {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        self.0
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Text<'a> {
    type Error = PyErr;

    #[inline]
    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        value.extract::<&'a str>().map(Self).map_err(|error| {
            match value.is_instance_of::<PyString>() {
                true => lone_surrogate("text", &value),
                false => error,
            }
        })
    }
}

/// Characters that are shown on either side of half of a pair.
const SHOWN: usize = 30;

/// The error of a text that has no form in UTF-8; `what` it is.
#[cold]
pub(crate) fn lone_surrogate(what: &str, text: &Bound<'_, PyAny>) -> PyErr {
    invalid(format!("the {what} {}", half_of_pair(text)))
}

/// What is wrong with such a text, with the text about it.
#[cold]
pub(crate) fn half_of_pair(text: &Bound<'_, PyAny>) -> String {
    let shown = text.repr().map_or_else(|_| String::new(), |shown| shown.to_string_lossy().into());
    let at = shown.find("\\ud").unwrap_or_default();
    let before = shown[..at].chars().rev().take(SHOWN).map(char::len_utf8).sum::<usize>();
    let after = shown[at..].chars().take(SHOWN).map(char::len_utf8).sum::<usize>();
    let (start, end) = (at - before, at + after);
    let (left, right) =
        (if start > 0 { "…" } else { "" }, if end < shown.len() { "…" } else { "" });
    let shown = &shown[start..end];
    format!(
        "{left}{shown}{right} holds half of a surrogate pair, which UTF-8 cannot hold; write the \
         whole character"
    )
}
