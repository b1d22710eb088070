//! A cache of encoded keys: `,"name":` for each key object.
//!
//! The keys of literal dicts are the same objects in every document, so their address identifies
//! them. They come in the same order, so the key after the last one is tried first. The cache owns
//! its keys, so an address cannot be reused for another key. It never replaces an entry: if the
//! keys of all documents differ, it only costs the lookup.

use std::cell::Cell;

use pyo3::ffi;
use pyo3::prelude::*;

const SLOTS: usize = 256;

/// Longer keys are not cached.
const KEY_SIZE_MAX: usize = 32;

pub(super) struct Keys {
    /// In the order in which they were first seen.
    entries: Vec<Entry>,
    /// For the slot of an address: the index of its entry plus one, or 0.
    slots: [u16; SLOTS],
    /// The index of the expected next entry.
    next: Cell<usize>,
}

struct Entry {
    key: Py<PyAny>,
    /// Copied whole, which is faster than copying the exact size.
    text: [u8; KEY_SIZE_MAX],
    size: usize,
}

impl Keys {
    pub(super) fn new() -> Self {
        Self { entries: Vec::new(), slots: [0; SLOTS], next: Cell::new(0) }
    }

    /// Appends `,"name":` for a cached key. Returns whether it was cached.
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

    /// Looks up a key that was not the expected one, and makes it the last one.
    #[inline(never)]
    fn find(&self, key: *mut ffi::PyObject) -> Option<&Entry> {
        let index = usize::from(self.slots[slot(key)]).checked_sub(1)?;
        let entry = self.entries.get(index).filter(|entry| entry.key.as_ptr() == key)?;
        self.next.set(index);
        Some(entry)
    }

    /// Caches the encoded form of a key.
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

/// Hashes an address. Objects are 16 bytes apart; mixing in higher bits spreads neighbours.
#[inline(always)]
fn slot(key: *mut ffi::PyObject) -> usize {
    let address = key as usize >> 4;
    (address ^ address >> 8) % SLOTS
}
