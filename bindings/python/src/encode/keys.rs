//! Keys ready to be copied: `,"name":` for each key object seen.
//!
//! The keys of literal dicts are the same objects in every document, so their
//! address tells them apart. The cache owns what it remembers, so an address
//! cannot come to mean another key. It never replaces an entry: documents
//! whose keys are all different cost it nothing but the look.

use pyo3::ffi;
use pyo3::prelude::*;

const SLOTS: usize = 256;

/// Longer keys are written each time.
const KEY_SIZE_MAX: usize = 64;

pub(super) struct Keys {
    slots: Vec<Option<Entry>>,
}

struct Entry {
    key: Py<PyAny>,
    text: Box<[u8]>,
}

impl Keys {
    pub(super) fn new() -> Self {
        Self { slots: Vec::new() }
    }

    /// `,"name":` for a key seen before.
    #[inline(always)]
    pub(super) fn find(&self, key: *mut ffi::PyObject) -> Option<&[u8]> {
        match self.slots.get(slot(key)) {
            Some(Some(entry)) if entry.key.as_ptr() == key => Some(&entry.text),
            _ => None,
        }
    }

    /// Remembers what a key was written as.
    pub(super) fn remember(&mut self, py: Python<'_>, key: *mut ffi::PyObject, text: &[u8]) {
        if self.slots.is_empty() {
            self.slots.resize_with(SLOTS, || None);
        }
        let slot = &mut self.slots[slot(key)];
        if slot.is_none() && text.len() <= KEY_SIZE_MAX {
            // SAFETY: a live object, whose reference count is taken up by one.
            let key = unsafe { Bound::from_borrowed_ptr(py, key) }.unbind();
            *slot = Some(Entry { key, text: text.into() });
        }
    }
}

/// Objects lie 16 bytes apart; mixing in higher bits spreads neighbours.
#[inline(always)]
fn slot(key: *mut ffi::PyObject) -> usize {
    let address = key as usize >> 4;
    (address ^ address >> 8) % SLOTS
}
