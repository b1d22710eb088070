//! The encoder's position in a document, for error messages.
//!
//! Each container on the path has a link on the stack. The text is only made when there is an
//! error.

use std::cell::Cell;

use pyo3::ffi;
use pyo3::prelude::*;

/// One step of the path: the container it enters, and the steps before it.
pub(super) struct Place<'a> {
    pub(super) parent: Option<&'a Place<'a>>,
    pub(super) container: *mut ffi::PyObject,
    pub(super) depth: u32,
    pub(super) step: Cell<Step>,
    /// The document's id, at the root.
    id: Option<&'a str>,
}

/// The step from a container to one of its values.
#[derive(Clone, Copy)]
pub(super) enum Step {
    /// A key, borrowed from the dict.
    Key(*mut ffi::PyObject),
    Index(usize),
    /// To what the container was converted to, at the same place.
    Same,
}

impl<'a> Place<'a> {
    pub(super) fn root(container: *mut ffi::PyObject, id: Option<&'a str>) -> Self {
        Self { parent: None, container, depth: 1, step: Cell::new(Step::Index(0)), id }
    }

    pub(super) fn inside(&'a self, container: *mut ffi::PyObject) -> Self {
        let step = Cell::new(Step::Index(0));
        Self { parent: Some(self), container, depth: self.depth + 1, step, id: None }
    }

    /// The path of the current value in code syntax, and its document: `a.b[3] of document "u1"`.
    pub(super) fn path(&self, py: Python<'_>) -> String {
        let mut path = self.steps(py);
        const SHOWN: usize = 200;
        if let Some((cut, _)) = path.char_indices().nth(SHOWN) {
            path.truncate(cut);
            path.push('…');
        }
        match self.root_id() {
            Some(id) => format!("{path} of document {id:?}"),
            None => path,
        }
    }

    fn root_id(&self) -> Option<&'a str> {
        self.parent.map_or(self.id, Place::root_id)
    }

    fn steps(&self, py: Python<'_>) -> String {
        let mut path = match self.parent {
            Some(parent) => parent.steps(py),
            None => String::new(),
        };
        match self.step.get() {
            Step::Same => {}
            Step::Index(index) => path.push_str(&format!("[{index}]")),
            Step::Key(key) => {
                // SAFETY: the step was taken in the call that is still under way, which
                // holds on to the key.
                let key = unsafe { Bound::from_borrowed_ptr(py, key) };
                let key = key
                    .str()
                    .map_or_else(|_| "?".to_owned(), |key| key.to_string_lossy().into_owned());
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(&key);
            }
        }
        path
    }

    /// Holds references to the keys of the path, so that it can be reported even if the dicts
    /// change.
    pub(super) fn hold<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyAny>> {
        let mut keys = self.parent.map_or_else(Vec::new, |parent| parent.hold(py));
        if let Step::Key(key) = self.step.get() {
            // SAFETY: the dict holds the key: nothing has run since it was taken from
            // there, or a caller further up holds it already.
            keys.push(unsafe { Bound::from_borrowed_ptr(py, key) });
        }
        keys
    }

    /// Whether the object is one of the containers on the path.
    pub(super) fn is_inside_itself(&self, object: *mut ffi::PyObject) -> bool {
        self.container == object
            || self.parent.is_some_and(|parent| parent.is_inside_itself(object))
    }
}
