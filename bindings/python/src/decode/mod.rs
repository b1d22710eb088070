//! Lines to Python objects, straight from the buffer the line was read into.
//!
//! What makes it quick, in order of what it brings: the collector is paused, so
//! that a million new dicts are not traversed again and again; the documents
//! of a collection look alike, so that each object is held against the *shape*
//! of the last one at the same place (`shape`), which turns a key into one
//! comparison of bytes and a whole dict into a copy that is filled in; text
//! becomes `str` without a detour, and short text that comes again the `str` it was
//! before (`texts`).
//!
//! Lines were validated when they were indexed. A line that is not JSON after
//! all is an error that says where, never undefined behaviour.
//!
//! Numbers with a fraction or an exponent become `float`, or `Decimal` with the
//! digits of the line when asked for; others `int`, of any size.

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

/// What is kept from one document to the next.
pub(crate) struct Decoder {
    shapes: Shapes,
    /// Owned objects of containers that are not complete yet.
    values: Vec<*mut ffi::PyObject>,
    /// The keys that go with `values`, borrowed from `shapes` or from `strays`.
    keys: Vec<*mut ffi::PyObject>,
    /// Owned keys that no shape holds.
    strays: Vec<*mut ffi::PyObject>,
    /// Text without its escapes.
    scratch: Vec<u8>,
    /// Texts that many documents have.
    texts: Texts,
    /// Where the text of the document's first value stands, which is its id; it often stands
    /// in another field too. Empty while there is none.
    id: Range<usize>,
    /// `decimal.Decimal`, when fractions are to keep their digits.
    decimal: Option<Py<PyAny>>,
}

// SAFETY: the pointers are used and dropped with the interpreter's lock held only:
// `decode` takes a `Python` token, and so does `Drop`.
unsafe impl Send for Decoder {}

/// Why a line did not become an object.
pub(crate) enum Fault {
    /// Not JSON: where, in bytes, and why.
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

    /// A decoder that makes a `Decimal` of a number with a fraction, if that is wanted.
    ///
    /// # Errors
    /// What Python raises.
    pub(crate) fn with_decimals(py: Python<'_>, is_wanted: bool) -> PyResult<Self> {
        let class = || py.import("decimal")?.getattr("Decimal").map(Bound::unbind);
        Ok(Self::new(is_wanted.then(class).transpose()?))
    }

    /// The value that JSON text stands for.
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

    /// The document on a line, `_id` first.
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

    /// Drops what an interrupted document left on the stacks.
    fn clear(&mut self, _py: Python<'_>) {
        self.keys.clear();
        for object in self.values.drain(..).chain(self.strays.drain(..)) {
            // SAFETY: the stacks own their objects, and the interpreter's lock is held.
            unsafe { ffi::Py_DecRef(object) }
        }
    }
}

/// What stands in a line that somebody wrote by hand, with `_id` moved to the front.
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
        // The shapes and texts drop what they hold through `Py`, which needs no lock; the
        // stacks are empty between documents.
        debug_assert!(
            self.values.is_empty() && self.strays.is_empty(),
            "a document was left behind"
        );
    }
}

/// Switches Python's collector off until dropped. New objects of a document
/// refer to nothing that could be garbage.
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
