//! Keys ready to be copied: `,"name":` for each key object seen.
//!
//! The keys of literal dicts are the same objects in every document, so their
//! address tells them apart, and they come in the same order: the key expected is
//! the one behind the last, and no other is looked for if it comes. The cache owns
//! what it remembers, so an address cannot come to mean another key. It never
//! replaces an entry: documents whose keys are all different cost it nothing but the look.

use std::cell::Cell;

use pyo3::ffi;
use pyo3::prelude::*;

const SLOTS: usize = 256;

/// Longer keys are written each time.
const KEY_SIZE_MAX: usize = 32;

pub(super) struct Keys {
    /// In the order in which they were first seen.
    entries: Vec<Entry>,
    /// For the slot of an address: one more than the index of its entry, or 0.
    slots: [u16; SLOTS],
    /// Index of the entry expected next.
    next: Cell<usize>,
}

struct Entry {
    key: Py<PyAny>,
    /// Copied whole, which is quicker than to copy just as much as there is.
    text: [u8; KEY_SIZE_MAX],
    size: usize,
}

impl Keys {
    pub(super) fn new() -> Self {
        Self { entries: Vec::new(), slots: [0; SLOTS], next: Cell::new(0) }
    }

    /// Appends `,"name":` for a key seen before; answers whether it was.
    #[inline(always)]
    pub(super) fn push(&self, key: *mut ffi::PyObject, line: &mut Vec<u8>) -> bool {
        let entry = match self.entries.get(self.next.get()) {
            Some(entry) if entry.key.as_ptr() == key => entry,
            _ => match self.find(key) {
                Some(entry) => entry,
                None => return false,
            },
        };
        self.next.set(self.next.get() + 1);
        let end = line.len() + entry.size;
        line.extend_from_slice(&entry.text);
        line.truncate(end);
        true
    }

    /// The entry of a key that was not expected; from here on it is the last one.
    #[inline(never)]
    fn find(&self, key: *mut ffi::PyObject) -> Option<&Entry> {
        let index = usize::from(self.slots[slot(key)]).checked_sub(1)?;
        let entry = self.entries.get(index).filter(|entry| entry.key.as_ptr() == key)?;
        self.next.set(index);
        Some(entry)
    }

    /// Remembers what a key was written as.
    pub(super) fn remember(&mut self, py: Python<'_>, key: *mut ffi::PyObject, text: &[u8]) {
        let place = &mut self.slots[slot(key)];
        if *place == 0 && text.len() <= KEY_SIZE_MAX {
            // SAFETY: a live object, whose reference count is taken up by one.
            let key = unsafe { Bound::from_borrowed_ptr(py, key) }.unbind();
            let mut padded = [0; KEY_SIZE_MAX];
            padded[..text.len()].copy_from_slice(text);
            self.entries.push(Entry { key, text: padded, size: text.len() });
            *place = self.entries.len() as u16;
            self.next.set(self.entries.len());
        }
    }
}

/// Objects lie 16 bytes apart; mixing in higher bits spreads neighbours.
#[inline(always)]
fn slot(key: *mut ffi::PyObject) -> usize {
    let address = key as usize >> 4;
    (address ^ address >> 8) % SLOTS
}
