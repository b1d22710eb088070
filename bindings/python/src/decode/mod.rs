//! Decodes lines to Python objects, straight from the buffer the line was read into.
//!
//! Three things make it fast, the most effective first. The garbage collector is paused, so that it
//! does not traverse a million new dicts again and again. Documents of a collection are similar, so
//! each object is compared with the *shape* of the last one at the same place (`shape`): a key
//! becomes one comparison of bytes, and a dict becomes a copy that is filled in. Text becomes `str`
//! directly, and a short repeated text reuses the previous `str` (`texts`).
//!
//! Lines were validated when they were indexed. A line that is not JSON gives an error with its
//! position, never undefined behaviour.
//!
//! Numbers with a fraction or an exponent become `float`, or on request `Decimal` with the digits
//! of the line. Others become `int`, of any size.

mod cursor;
mod number;
mod parser;
mod shape;
mod string;
mod texts;

use std::ops::Range;

use folio::ErrorCode;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::with_code;
use shape::Shapes;
use texts::Texts;

/// State reused between documents.
pub(crate) struct Decoder {
    shapes: Shapes,
    /// Owned objects of incomplete containers.
    values: Vec<*mut ffi::PyObject>,
    /// The keys for `values`, borrowed from `shapes` or from `strays`.
    keys: Vec<*mut ffi::PyObject>,
    /// Owned keys that are not in a shape.
    strays: Vec<*mut ffi::PyObject>,
    /// Text with its escapes resolved.
    scratch: Vec<u8>,
    /// A cache of texts that occur in many documents.
    texts: Texts,
    /// The range of the document's first text value, which is its id and often occurs in another
    /// field too. Empty if there is none.
    id: Range<usize>,
    /// `decimal.Decimal`, if fractions must keep their digits.
    decimal: Option<Py<PyAny>>,
}

// SAFETY: the pointers, and the counts of shared entries, are used and dropped with the
// interpreter's lock held only: `decode` takes a `Python` token.
unsafe impl Send for Decoder {}

/// The result of decoding. The fault is boxed, so that the result fits two registers.
type Decoded<T> = Result<T, Box<Fault>>;

/// Why a line did not become an object.
enum Fault {
    /// Not JSON: the offset in bytes, and the reason.
    Syntax(usize, &'static str),
    /// Python raised; the exception is set.
    Raised,
}

impl Decoder {
    pub(crate) fn new(decimal: Option<Py<PyAny>>) -> Self {
        Self {
            shapes: Shapes::new(),
            values: Vec::new(),
            keys: Vec::new(),
            strays: Vec::new(),
            scratch: Vec::new(),
            texts: Texts::default(),
            id: 0..0,
            decimal,
        }
    }

    /// A decoder that makes a `Decimal` of a number with a fraction.
    ///
    /// # Errors
    /// Exceptions of Python.
    pub(crate) fn with_decimals(py: Python<'_>) -> PyResult<Self> {
        Ok(Self::new(Some(py.import("decimal")?.getattr("Decimal")?.unbind())))
    }

    /// Decodes JSON text.
    ///
    /// # Errors
    /// `syntax`, and `ValueError` for integers beyond `sys.get_int_max_str_digits()`.
    #[inline]
    pub(crate) fn decode<'py>(
        &mut self,
        py: Python<'py>,
        text: &[u8],
    ) -> PyResult<Bound<'py, PyAny>> {
        let result = {
            let _paused = PausedCollector::new(py);
            self.parse(py, text)
        };
        match result {
            // SAFETY: `parse` answers an owned reference.
            Ok(object) => Ok(unsafe { Bound::from_owned_ptr(py, object) }),
            Err(fault) => Err(self.fail(py, &fault)),
        }
    }

    /// Decodes the document on a line, `_id` first.
    ///
    /// # Errors
    /// As [`Decoder::decode`].
    #[inline]
    pub(crate) fn document<'py>(
        &mut self,
        py: Python<'py>,
        line: &[u8],
    ) -> PyResult<Bound<'py, PyAny>> {
        let document = self.decode(py, line)?;
        if line.starts_with(b"{\"_id\"") { Ok(document) } else { id_first(document) }
    }

    #[cold]
    fn fail(&mut self, py: Python<'_>, fault: &Fault) -> PyErr {
        let error = match fault {
            Fault::Raised => PyErr::fetch(py),
            Fault::Syntax(offset, reason) => with_code(
                ErrorCode::Syntax,
                format!("document is not valid JSON at byte {offset}: {reason}"),
            ),
        };
        self.clear(py);
        error
    }

    /// Drops the objects that an interrupted document left on the stacks.
    fn clear(&mut self, _py: Python<'_>) {
        self.keys.clear();
        for object in self.values.drain(..).chain(self.strays.drain(..)) {
            // SAFETY: the stacks own their objects, and the interpreter's lock is held.
            unsafe { ffi::Py_DecRef(object) }
        }
    }
}

/// Decodes a line that was edited by hand, with `_id` moved to the front.
#[cold]
fn id_first(document: Bound<'_, PyAny>) -> PyResult<Bound<'_, PyAny>> {
    let dict = document.cast_into::<PyDict>()?;
    let Some(id) = dict.get_item("_id")? else { return Ok(dict.into_any()) };
    let ordered = PyDict::new(dict.py());
    ordered.set_item("_id", id)?;
    ordered.update(dict.as_mapping())?;
    Ok(ordered.into_any())
}

impl Drop for Decoder {
    fn drop(&mut self) {
        // Shapes and texts drop their objects through `Py`, which needs no lock. The stacks are
        // empty between documents.
        debug_assert!(
            self.values.is_empty() && self.strays.is_empty(),
            "a document was left behind"
        );
    }
}

/// Disables Python's garbage collector until dropped. The new objects of a document cannot be
/// garbage.
pub(crate) struct PausedCollector {
    was_enabled: bool,
}

impl PausedCollector {
    #[inline]
    pub(crate) fn new(_py: Python<'_>) -> Self {
        // SAFETY: the token says that the interpreter's lock is held.
        Self { was_enabled: unsafe { ffi::PyGC_Disable() } != 0 }
    }
}

impl Drop for PausedCollector {
    #[inline]
    fn drop(&mut self) {
        if self.was_enabled {
            // SAFETY: it lives no longer than the token it was made with.
            unsafe { ffi::PyGC_Enable() };
        }
    }
}
