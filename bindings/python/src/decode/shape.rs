//! Shapes: the keys that objects at one place of the documents have, in order.
//!
//! An object is read against the shape of its place: the pattern `"key":` of
//! the entry behind the last one found is compared with the bytes at hand, and a
//! match gives the key object, hash included, without looking it up. An object
//! that has all keys of its shape, in order, is made from a template (`template`): a copy
//! of a dict costs less than one that grows key by key.
//!
//! Shapes are learnt from the documents read and are bounded, so that objects
//! that are really maps cannot fill the memory.

use folio::json::Pattern;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use super::template::template;

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

/// Of so many shapes, the first ones, dicts are made ahead.
const PREPARED_MAX: usize = 4;

pub(super) struct Shapes {
    shapes: Vec<Shape>,
}

#[derive(Default)]
struct Shape {
    entries: Vec<Entry>,
    /// A dict with these keys, once there were enough objects that have them all.
    template: Option<Py<PyDict>>,
    /// A copy of it that was made before it is needed.
    prepared: Option<Py<PyDict>>,
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
        (shape.template, shape.prepared, shape.alike) = (None, None, 0);
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
        if let Some(dict) = shape.prepared.take() {
            return Ok(Some(dict.into_ptr()));
        }
        match &shape.template {
            Some(template) => template.bind(py).copy().map(|copy| Some(copy.into_ptr())),
            None => shape.count(py),
        }
    }

    /// Makes copies ahead, for one document.
    #[inline]
    pub(super) fn prepare(&mut self, py: Python<'_>) {
        for shape in self.shapes.iter_mut().take(PREPARED_MAX) {
            if let (None, Some(template)) = (&shape.prepared, &shape.template) {
                // Should there be no memory, the document's turn says so.
                shape.prepared = template.bind(py).copy().map(Bound::unbind).ok();
            }
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
