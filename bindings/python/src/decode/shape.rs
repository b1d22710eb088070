//! Shapes: the keys that objects at one place of the documents have, in order.
//!
//! An object is read against the shape of its place: the pattern `"key":` of
//! the entry behind the last one found is compared with the bytes at hand, and a
//! match gives the key object, hash included, without looking it up. An object
//! that has all keys of its shape, in order, is made from a template: a copy of a dict costs
//! less than one that grows key by key.
//!
//! Shapes are learnt from the documents read and are bounded, so that objects
//! that are really maps cannot fill the memory.
//!
//! A copy that takes its keys along holds two objects per member, the key and the value. The
//! interpreter can do with one: the `__dict__`s of a class's instances share their keys, each
//! holds values alone (PEP 412), and so does a copy of one. So a template is the `__dict__`
//! of an instance of a class that serves nothing else. A dict of nine members takes 144
//! bytes instead of 272, and is filled and dropped without a look at its keys. For the program
//! it is a dict like any other: the first key that is put in or taken out ends the sharing
//! where it has to. Before Python 3.11, and with more keys than are ever shared, the copies
//! are ordinary ones.

use folio::json::Pattern;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple, PyType};

/// Index of a shape.
pub(super) type ShapeId = u32;

/// The shape of the document itself.
pub(super) const ROOT: ShapeId = 0;

/// Keys a shape remembers.
const ENTRIES_MAX: usize = 128;

/// Shapes remembered in all; the last one takes every other place.
const SHAPES_MAX: usize = 512;

/// Longer keys are made anew each time.
const KEY_SIZE_MAX: usize = 64;

/// So many objects with all keys of their shape come before it has a template. That takes
/// 8 µs, and leaves a class of 2 KB to the collector.
const ALIKE_MIN: u32 = 16;

/// The interpreter shares so many keys at most (`SHARED_KEYS_MAX_SIZE` in `pycore_dict.h`).
const SHARED_KEYS_MAX: usize = 30;

pub(super) struct Shapes {
    shapes: Vec<Shape>,
}

#[derive(Default)]
struct Shape {
    entries: Vec<Entry>,
    /// A dict with these keys, once there were enough objects that have them all.
    template: Option<Py<PyDict>>,
    /// How many there were without it.
    alike: u32,
}

struct Entry {
    /// The key as it stands in the text: `"key":`.
    pattern: Pattern,
    key: Py<PyString>,
    child: Option<ShapeId>,
}

impl Shapes {
    pub(super) fn new() -> Self {
        Self { shapes: vec![Shape::default()] }
    }

    /// The entry whose pattern begins `text`, looked for from `guess` on.
    #[inline(always)]
    pub(super) fn find(&self, shape: ShapeId, guess: usize, text: &[u8]) -> Option<usize> {
        let entries = &self.shapes[shape as usize].entries;
        match entries.get(guess) {
            Some(entry) if entry.pattern.begins(text) => Some(guess),
            _ => Self::search(entries, text),
        }
    }

    #[inline(never)]
    fn search(entries: &[Entry], text: &[u8]) -> Option<usize> {
        entries.iter().position(|entry| entry.pattern.begins(text))
    }

    /// The length of an entry's pattern, and its key, borrowed.
    #[inline(always)]
    pub(super) fn entry(&self, shape: ShapeId, index: usize) -> (usize, *mut ffi::PyObject) {
        let entry = &self.shapes[shape as usize].entries[index];
        (entry.pattern.size(), entry.key.as_ptr())
    }

    /// Learns a key that stands in the text as `"name":`, unless the shape is
    /// full. The key is borrowed from the shape.
    pub(super) fn learn(&mut self, shape: ShapeId, name: &[u8], key: &Bound<'_, PyString>) -> bool {
        let shape = &mut self.shapes[shape as usize];
        if shape.entries.len() >= ENTRIES_MAX || name.len() > KEY_SIZE_MAX {
            return false;
        }
        shape.entries.push(Entry {
            pattern: Pattern::of_key(name),
            key: key.clone().unbind(),
            child: None,
        });
        (shape.template, shape.alike) = (None, 0);
        true
    }

    /// The shape of objects under a key, made at the first need.
    #[inline(always)]
    pub(super) fn child(&mut self, shape: ShapeId, index: usize) -> ShapeId {
        match self.shapes[shape as usize].entries[index].child {
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
        self.shapes[shape as usize].entries[index].child = Some(child);
        child
    }

    /// How many keys the shape has.
    #[inline(always)]
    pub(super) fn len(&self, shape: ShapeId) -> usize {
        self.shapes[shape as usize].entries.len()
    }

    /// A dict with all keys of the shape; `None` where there were too few objects for that.
    ///
    /// # Errors
    /// What Python raises.
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
    /// Counts an object that is like its shape, which has a template from some number on.
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

/// A dict with these keys and `None`s.
///
/// # Errors
/// What Python raises: it has no memory.
fn template<'a>(
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
