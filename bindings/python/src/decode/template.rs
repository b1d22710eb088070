//! Templates: dicts to be copied, whose copies share one table of keys.
//!
//! A copy that takes its keys along holds two objects per member, the key and the value. The
//! interpreter can do with one: the `__dict__`s of a class's instances share their keys, each
//! holds values alone (PEP 412), and so does a copy of one. So a template is the `__dict__`
//! of an instance of a class that serves nothing else. A dict of nine members takes 144
//! bytes instead of 272, and is filled and dropped without a look at its keys.
//!
//! For the program it is a dict like any other: the first key that is put in or taken out
//! ends the sharing where it has to. Before Python 3.11, and with more keys than are ever
//! shared, the copies are ordinary ones.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple, PyType};

/// The interpreter shares so many keys at most (`SHARED_KEYS_MAX_SIZE` in `pycore_dict.h`).
const SHARED_KEYS_MAX: usize = 30;

/// A dict with these keys and `None`s.
///
/// # Errors
/// What Python raises: it has no memory.
pub(super) fn template<'a>(
    py: Python<'_>,
    keys: impl Iterator<Item = &'a Py<PyString>> + Clone,
) -> PyResult<Py<PyDict>> {
    let class = py.get_type::<PyType>().call1(("Shape", PyTuple::empty(py), PyDict::new(py)))?;
    fill(&class.call0()?, keys.clone())?;
    // The values of an instance have room for keys to come; with each the class makes, the
    // next has less.
    for _ in 0..SHARED_KEYS_MAX {
        class.call0()?;
    }
    fill(&class.call0()?, keys)
}

/// Puts the keys into an instance's `__dict__`: as attributes, some would be more than that.
fn fill<'a>(
    instance: &Bound<'_, PyAny>,
    keys: impl Iterator<Item = &'a Py<PyString>>,
) -> PyResult<Py<PyDict>> {
    let dict = instance.getattr("__dict__")?.cast_into::<PyDict>()?;
    for key in keys {
        dict.set_item(key, instance.py().None())?;
    }
    Ok(dict.unbind())
}
