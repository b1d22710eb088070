//! Prefetches documents into the processor's cache.
//!
//! The dicts of a large list are scattered over memory, and encoding would wait for every object.
//! So the dict itself is prefetched several documents ahead, and the objects it refers to a little
//! later. A prefetch is only a hint: it reads nothing, and an invalid address has no effect. Its
//! values are not: walking a dict twice costs more than waiting for them.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

type Object = *mut ffi::PyObject;

/// The distances in documents for the dict, and for what it refers to.
const AHEAD: [isize; 2] = [12, 8];

/// The size of a cache line.
const LINE_SIZE: usize = 64;

/// Lines to prefetch of a dict's table: the keys of eight members and their indexes.
const TABLE_LINES: usize = 4;

pub(crate) struct Ahead<'a, 'py> {
    list: &'a Bound<'py, PyList>,
    /// Words of a dict after count and type, which all objects begin with.
    words: usize,
}

impl<'a, 'py> Ahead<'a, 'py> {
    pub(crate) fn new(list: &'a Bound<'py, PyList>) -> PyResult<Self> {
        let size: usize = list.py().get_type::<PyDict>().getattr("__basicsize__")?.extract()?;
        let words = (size / size_of::<usize>()).clamp(2, 8) - 2;
        Ok(Self { list, words })
    }

    /// Prefetches the documents after the current one.
    #[inline]
    pub(crate) fn fetch(&self, index: usize) {
        let [far, near] = AHEAD.map(|ahead| self.document(index as isize + ahead));
        if let Some(document) = far {
            fetch(document.cast());
        }
        // SAFETY: a live object has a type.
        if let Some(dict) = near.filter(|near| unsafe { ffi::PyDict_CheckExact(*near) } != 0) {
            // SAFETY: an object of the exact type dict has so many words, which may be
            // read as long as the interpreter's lock is held.
            let words = unsafe {
                std::slice::from_raw_parts(dict.cast::<usize>().cast_const().add(2), self.words)
            };
            for &word in words.iter().filter(|&&word| word > u32::MAX as usize) {
                (0..TABLE_LINES).for_each(|line| fetch((word + line * LINE_SIZE) as *const u8));
            }
        }
    }

    #[inline]
    fn document(&self, index: isize) -> Option<Object> {
        let list = self.list.as_ptr();
        // SAFETY: a live list, and an index within it.
        unsafe { (index < ffi::PyList_Size(list)).then(|| ffi::PyList_GetItem(list, index)) }
    }
}

/// Prefetches the cache line of an address.
#[inline(always)]
fn fetch(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint, which no address makes fail.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
