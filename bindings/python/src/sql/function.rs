//! Python functions that statements call.

use std::sync::{Arc, Mutex, PoisonError};

use folio::{ColumnType, ScalarFunction, Value, parse_type, returned_value};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::parameter::typed_answer;
use super::value::Converter;
use crate::error::OrRaise;

/// A callable as an SQL function.
///
/// # Errors
/// `InvalidInputError` for an invalid type name.
pub(crate) fn scalar_function(
    name: String,
    callable: Py<PyAny>,
    parameters: &[String],
    returns: &str,
    (is_volatile, takes_null): (bool, bool),
) -> PyResult<ScalarFunction> {
    let parameters = parameters.iter().map(|name| parse_type(name).map_err(folio::Error::from));
    let parameters = parameters.collect::<Result<Vec<_>, _>>().or_raise()?;
    let returns = parse_type(returns).map_err(folio::Error::from).or_raise()?;
    let called = Called {
        callable,
        parameters: parameters.clone(),
        returns: returns.clone(),
        converter: Mutex::new(Converter::new()),
    };
    let body = Arc::new(move |arguments: &[Value]| {
        // The statement runs without the interpreter's lock, possibly on several threads.
        Python::attach(|py| called.call(py, arguments).map_err(|error| error.to_string()))
    });
    let on_one_thread = false;
    Ok(ScalarFunction { name, parameters, returns, is_volatile, takes_null, on_one_thread, body })
}

struct Called {
    callable: Py<PyAny>,
    parameters: Vec<ColumnType>,
    returns: ColumnType,
    converter: Mutex<Converter>,
}

impl Called {
    fn call(&self, py: Python<'_>, arguments: &[Value]) -> PyResult<Value> {
        let objects = {
            let mut converter = self.converter.lock().unwrap_or_else(PoisonError::into_inner);
            let values = arguments.iter().zip(&self.parameters);
            let objects = values.map(|(value, ty)| converter.value(py, value, ty));
            objects.collect::<PyResult<Vec<_>>>()?
        };
        let answer = self.callable.bind(py).call1(PyTuple::new(py, objects)?)?;
        match typed_answer(&answer)? {
            (value, Some(ty)) => {
                returned_value(&value, &ty, &self.returns).map_err(folio::Error::from).or_raise()
            }
            (value, None) => Ok(value),
        }
    }
}
