//! Counts from Python: how many of something a caller wants.

use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;

use crate::error::invalid;

/// A number that a method takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Count(pub(crate) u64);

impl Count {
    /// The same for a length in memory, which is never larger.
    pub(crate) fn size(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl<'py> FromPyObject<'_, 'py> for Count {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        value.extract().map(Self).map_err(|error: PyErr| {
            if error.is_instance_of::<PyOverflowError>(value.py()) {
                return invalid(format!("{} is no count: it is from 0 to 2^64 - 1", &*value));
            }
            error
        })
    }
}
