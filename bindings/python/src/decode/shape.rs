//! Shapes: the keys of objects at one place of the documents, in order.
//!
//! An object is decoded with the shape of its place. The pattern `"key":` of the next expected
//! entry is compared with the text; a match gives the key object, with its hash, without a lookup.
//! An object with all keys of its shape, in order, is made from a template: copying a dict costs
//! less than growing one key by key.
//!
//! Shapes are learnt from the documents and limited in size, so that objects used as maps cannot
//! fill the memory.
//!
//! An ordinary copy holds two objects per member, the key and the value. The `__dict__`s of a
//! class's instances share their keys and hold only values (PEP 412), and so does a copy of one. So
//! a template is the `__dict__` of an instance of a class created for it. A dict of nine members
//! takes 144 bytes instead of 272, and is filled and dropped without touching its keys. It behaves
//! like any other dict: adding or removing a key ends the sharing if necessary. Before Python 3.11,
//! and with more keys than can be shared, the copies are ordinary ones.

use std::cell::Cell;
use std::rc::Rc;

use folio::json::Pattern;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple, PyType};

/// The index of a shape.
pub(super) type ShapeId = u32;

/// The shape of the document itself.
pub(super) const ROOT: ShapeId = 0;

/// The maximum number of keys of a shape.
const ENTRIES_MAX: usize = 128;

/// The maximum number of shapes; the last one is used for all other places.
const SHAPES_MAX: usize = 512;

/// Longer keys are not cached.
const KEY_SIZE_MAX: usize = 64;

/// The number of objects with all keys of their shape before it gets a template. A template takes 8
/// µs, and leaves a class of 2 KB to the garbage collector.
const ALIKE_MIN: u32 = 16;

/// The most keys that the interpreter shares (`SHARED_KEYS_MAX_SIZE` in `pycore_dict.h`).
const SHARED_KEYS_MAX: usize = 30;

pub(super) struct Shapes {
    shapes: Vec<Shape>,
}

#[derive(Default)]
struct Shape {
    /// Shared with the objects that are being decoded like this shape.
    entries: Rc<Vec<Entry>>,
    /// A dict with these keys, once enough objects had them all.
    template: Option<Py<PyDict>>,
    /// The number of such objects so far.
    alike: u32,
}

/// A key of a shape.
pub(super) struct Entry {
    /// The key in the form of the text: `"key":`.
    pub(super) pattern: Pattern,
    key: Py<PyString>,
    /// The shape of objects under the key, once there were any.
    child: Cell<Option<ShapeId>>,
}

impl Entry {
    /// The key, borrowed from the shape.
    #[inline(always)]
    pub(super) fn key(&self) -> *mut ffi::PyObject {
        self.key.as_ptr()
    }
}

impl Shapes {
    pub(super) fn new() -> Self {
        Self { shapes: vec![Shape::default()] }
    }

    /// The keys of a shape, in order.
    #[inline(always)]
    pub(super) fn entries(&self, shape: ShapeId) -> &Rc<Vec<Entry>> {
        &self.shapes[shape as usize].entries
    }

    /// The entry whose pattern begins `text`, searched from `guess` on.
    pub(super) fn find(&self, shape: ShapeId, guess: usize, text: &[u8]) -> Option<usize> {
        let entries = self.entries(shape);
        match entries.get(guess) {
            Some(entry) if entry.pattern.begins(text) => Some(guess),
            _ => entries.iter().position(|entry| entry.pattern.begins(text)),
        }
    }

    /// Adds a key, which is `"name":` in the text, unless the shape is full, or an outer object is
    /// being decoded like it. The shape then owns the key.
    pub(super) fn learn(&mut self, shape: ShapeId, name: &[u8], key: &Bound<'_, PyString>) -> bool {
        let shape = &mut self.shapes[shape as usize];
        let Some(entries) = Rc::get_mut(&mut shape.entries) else { return false };
        if entries.len() >= ENTRIES_MAX || name.len() > KEY_SIZE_MAX {
            return false;
        }
        let key = key.clone().unbind();
        entries.push(Entry { pattern: Pattern::of_key(name), key, child: Cell::new(None) });
        (shape.template, shape.alike) = (None, 0);
        true
    }

    /// The shape of objects under a key, created on first use.
    #[inline(always)]
    pub(super) fn child(&mut self, shape: ShapeId, index: usize) -> ShapeId {
        match self.shapes[shape as usize].entries[index].child.get() {
            Some(child) => child,
            None => self.make_child(shape, index),
        }
    }

    #[cold]
    fn make_child(&mut self, shape: ShapeId, index: usize) -> ShapeId {
        if self.shapes.len() < SHAPES_MAX {
            self.shapes.push(Shape::default());
        }
        let child = (self.shapes.len() - 1) as ShapeId;
        self.shapes[shape as usize].entries[index].child.set(Some(child));
        child
    }

    /// A dict with all keys of the shape; `None` if there were too few objects.
    ///
    /// # Errors
    /// Exceptions of Python.
    #[inline(always)]
    pub(super) fn copy(
        &mut self,
        py: Python<'_>,
        shape: ShapeId,
    ) -> PyResult<Option<*mut ffi::PyObject>> {
        let shape = &mut self.shapes[shape as usize];
        match &shape.template {
            Some(template) => template.bind(py).copy().map(|copy| Some(copy.into_ptr())),
            None => shape.count(py),
        }
    }
}

impl Shape {
    /// Counts an object like its shape, and makes the template when there are enough.
    #[cold]
    fn count(&mut self, py: Python<'_>) -> PyResult<Option<*mut ffi::PyObject>> {
        self.alike += 1;
        if self.alike >= ALIKE_MIN {
            let keys = self.entries.iter().map(|entry| &entry.key);
            self.template = Some(template(py, keys)?);
        }
        Ok(None)
    }
}

/// A dict with these keys and `None` values.
///
/// # Errors
/// Python is out of memory.
fn template<'a>(
    py: Python<'_>,
    keys: impl Iterator<Item = &'a Py<PyString>> + Clone,
) -> PyResult<Py<PyDict>> {
    let class = py.get_type::<PyType>().call1(("Shape", PyTuple::empty(py), PyDict::new(py)))?;
    fill(&class.call0()?, keys.clone())?;
    // The values of an instance have room for more keys. Each instance that the class makes reduces
    // the room of the next.
    for _ in 0..SHARED_KEYS_MAX {
        class.call0()?;
    }
    fill(&class.call0()?, keys)
}

/// Adds the keys to an instance's `__dict__`, because setting `__class__` and the like has effects.
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
