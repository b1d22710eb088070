//! Documents fetched into the processor's cache before their turn, and their members, which
//! are found on the way.
//!
//! A list of a hundred thousand dicts lies all over the memory, and encoding would wait for
//! every object of it. Some documents ahead the dict itself is fetched, closer what it
//! points at, and closest its values. Fetching is a hint: whatever the address, nothing
//! is read, and an address that is none does nothing.
//!
//! The members are kept until it is the document's turn, and borrowed. That is right as long
//! as no other code of Python runs, which could change a dict or drop it: whoever lets some
//! run says so ([`Ahead::forget`]).

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

type Object = *mut ffi::PyObject;

/// So many documents ahead for the dict, for what it points at, and for its values.
const AHEAD: [isize; 3] = [12, 8, 4];

/// A line of the processor's cache.
const LINE_SIZE: usize = 64;

/// Lines fetched of what a dict points at, the keys of eight members and their places.
const TABLE_LINES: usize = 4;

/// Where the text of a short `str` begins, or a little behind it: an object of 48 bytes
/// and more seldom lies within one line.
const TEXT_OFFSET: usize = 56;

/// Documents whose members are kept: more than lie between a look at them and their turn.
const KEPT: usize = 8;

/// Members that are kept of one document, at most.
const MEMBERS_MAX: usize = 64;

/// Documents that are not looked at as plain ones behind one that was not.
const PAUSE: usize = 64;

/// Key and value, borrowed from their dict.
pub(crate) type Member = (Object, Object);

pub(crate) struct Ahead<'a, 'py> {
    list: &'a Bound<'py, PyList>,
    /// Words of a dict behind count and type, which all objects begin with.
    words: usize,
    /// The members of a few documents, by their number in the list modulo [`KEPT`].
    kept: [Kept; KEPT],
    /// No members are given of documents before this one.
    plain_from: usize,
}

/// The members of a document, in their order.
#[derive(Default)]
struct Kept {
    /// The document's number in the list; `None` where nothing is known.
    index: Option<usize>,
    members: Vec<Member>,
}

impl<'a, 'py> Ahead<'a, 'py> {
    pub(crate) fn new(list: &'a Bound<'py, PyList>) -> PyResult<Self> {
        let size: usize = list.py().get_type::<PyDict>().getattr("__basicsize__")?.extract()?;
        let words = (size / size_of::<usize>()).clamp(2, 8) - 2;
        Ok(Self { list, words, kept: Default::default(), plain_from: 0 })
    }

    /// The members of a document, all of them; `None` where they are too many or it is none.
    #[inline]
    pub(crate) fn members(&mut self, index: usize) -> Option<&[Member]> {
        if index < self.plain_from {
            return None;
        }
        if self.kept[index % KEPT].index != Some(index)
            && let Some(document) = self.document(index as isize)
        {
            self.keep(index, document);
        }
        let kept = &self.kept[index % KEPT];
        (kept.index == Some(index)).then_some(&kept.members[..])
    }

    /// Forgets all members: other code has run.
    pub(crate) fn forget(&mut self) {
        self.kept.iter_mut().for_each(|kept| kept.index = None);
    }

    /// The same for a document that is not plain; those behind it mostly are like it.
    pub(crate) fn pause(&mut self, index: usize) {
        self.forget();
        if index >= self.plain_from {
            self.plain_from = index + PAUSE;
        }
    }

    /// Fetches for the documents behind the one at hand.
    #[inline]
    pub(crate) fn fetch(&mut self, index: usize) {
        let [far, near, next] = AHEAD.map(|ahead| self.document(index as isize + ahead));
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
        if let Some(dict) = next {
            self.keep(index + AHEAD[2] as usize, dict);
        }
    }

    /// Fetches the values of a document, and keeps its members if there are not too many.
    #[inline]
    fn keep(&mut self, index: usize, dict: Object) {
        let Kept { index: known, members } = &mut self.kept[index % KEPT];
        members.clear();
        let mut position: ffi::Py_ssize_t = 0;
        let (mut key, mut value): (Object, Object) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: an object that the list holds, and three places to write to. For what
        // is no dict the answer is that there is nothing.
        while unsafe { ffi::PyDict_Next(dict, &raw mut position, &raw mut key, &raw mut value) }
            != 0
        {
            fetch(value.cast());
            fetch(value.cast::<u8>().wrapping_add(TEXT_OFFSET));
            if members.len() <= MEMBERS_MAX {
                members.push((key, value));
            }
        }
        *known = (1..=MEMBERS_MAX).contains(&members.len()).then_some(index);
    }

    #[inline]
    fn document(&self, index: isize) -> Option<Object> {
        let list = self.list.as_ptr();
        // SAFETY: a live list, and an index within it.
        unsafe { (index < ffi::PyList_Size(list)).then(|| ffi::PyList_GetItem(list, index)) }
    }
}

/// Asks for the line of the cache that an address lies in.
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
