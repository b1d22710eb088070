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
const KEY_SIZE_MAX: usize = 32;

pub(super) struct Keys {
    slots: Vec<Option<Entry>>,
}

struct Entry {
    key: Py<PyAny>,
    /// Copied whole, which is quicker than to copy just as much as there is.
    text: [u8; KEY_SIZE_MAX],
    size: usize,
}

impl Keys {
    pub(super) fn new() -> Self {
        Self { slots: Vec::new() }
    }

    /// Appends `,"name":` for a key seen before; answers whether it was.
    #[inline(always)]
    pub(super) fn push(&self, key: *mut ffi::PyObject, line: &mut Vec<u8>) -> bool {
        match self.slots.get(slot(key)) {
            Some(Some(entry)) if entry.key.as_ptr() == key => {
                let end = line.len() + entry.size;
                line.extend_from_slice(&entry.text);
                line.truncate(end);
                true
            }
            _ => false,
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
            let mut padded = [0; KEY_SIZE_MAX];
            padded[..text.len()].copy_from_slice(text);
            *slot = Some(Entry { key, text: padded, size: text.len() });
        }
    }
}

/// Objects lie 16 bytes apart; mixing in higher bits spreads neighbours.
#[inline(always)]
fn slot(key: *mut ffi::PyObject) -> usize {
    let address = key as usize >> 4;
    (address ^ address >> 8) % SLOTS
}
