//! Encodes Python objects as lines, without intermediate text or trees.
//!
//! It writes `dict` (with `str` keys), `list`, `tuple`, `str`, `int` of any size, `float`, `bool`
//! and `None`, and their subclasses; a `Decimal` with its digits; any other `Mapping` as an object;
//! a NumPy scalar as a number. Everything else is passed to the caller's `default`, if there is
//! one, and is otherwise refused with the path of the value. So are NaN, infinities, keys that are
//! not strings, containers inside themselves and too deep nesting. The output reads back equal.

mod ahead;
mod foreign;
mod keys;
mod place;

use folio::json::ID_PREFIX;
use folio::{push_json_number, push_json_string};
use pyo3::ffi;
use pyo3::prelude::*;

use crate::error::invalid;
use crate::id::Id;
pub(crate) use ahead::Ahead;
use keys::Keys;
use place::{Place, Step};

/// The maximum depth of documents in the core.
const DEPTH_MAX: u32 = 127;

/// State reused between documents.
pub(crate) struct Encoder {
    keys: Keys,
    /// Converts foreign objects to JSON types.
    default: Option<Py<PyAny>>,
}

type Object = *mut ffi::PyObject;

impl Encoder {
    pub(crate) fn new(default: Option<Py<PyAny>>) -> Self {
        Self { keys: Keys::new(), default }
    }

    /// Appends a document as one line, `_id` first, without a line end.
    ///
    /// # Errors
    /// `invalid_input` for a bad id, with the path of a value that cannot be written, or when the
    /// document carries another `_id`; exceptions of `default`.
    #[inline]
    pub(crate) fn document(
        &mut self,
        document: &Bound<'_, PyAny>,
        id: &str,
        line: &mut Vec<u8>,
    ) -> PyResult<()> {
        folio::check_document_id(id).map_err(invalid)?;
        push_id(id, line);
        let py = document.py();
        let object = document.as_ptr();
        if is_dict(object) {
            self.members(py, object, Some(id), &Place::root(object, Some(id)), line)?;
        } else {
            let dict = foreign::mapping_to_dict(document)?.ok_or_else(|| {
                let kind = foreign::type_name(document);
                invalid(format!("document {id:?} is a {kind}, not a dict; wrap it in one"))
            })?;
            self.members(
                py,
                dict.as_ptr(),
                Some(id),
                &Place::root(document.as_ptr(), Some(id)),
                line,
            )?;
        }
        line.push(b'}');
        Ok(())
    }

    /// Appends any value as compact JSON.
    ///
    /// # Errors
    /// As [`Encoder::document`].
    pub(crate) fn value(&mut self, value: &Bound<'_, PyAny>, text: &mut Vec<u8>) -> PyResult<()> {
        let place = Place::root(std::ptr::null_mut(), None);
        self.any(value.py(), value.as_ptr(), &place, text)
    }

    /// Appends `,"key":value` for each member of a dict. At the top level `_id` is left out, after
    /// a check of its value.
    fn members(
        &mut self,
        py: Python<'_>,
        dict: Object,
        id: Option<&str>,
        place: &Place<'_>,
        line: &mut Vec<u8>,
    ) -> PyResult<()> {
        let mut position: ffi::Py_ssize_t = 0;
        let (mut key, mut value): (Object, Object) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: a dict that the caller holds, and three places to write to. Whatever a
        // callback did to it in between, the position is checked against its size. Key and
        // value are borrowed until a callback runs; `foreign` holds them from there on.
        while unsafe { ffi::PyDict_Next(dict, &raw mut position, &raw mut key, &raw mut value) }
            != 0
        {
            place.step.set(Step::Key(key));
            if !self.keys.push(key, line) {
                if let Some(id) = id.filter(|_| is_id_key(py, key)) {
                    check_carried_id(py, value, id)?;
                    continue;
                }
                self.key(py, key, place, line)?;
            }
            self.any(py, value, place, line)?;
        }
        Ok(())
    }

    /// Appends `,"key":`.
    #[inline(never)]
    fn key(
        &mut self,
        py: Python<'_>,
        key: Object,
        place: &Place<'_>,
        line: &mut Vec<u8>,
    ) -> PyResult<()> {
        let start = line.len();
        line.push(b',');
        // SAFETY: a live object.
        let held = unsafe { Bound::from_borrowed_ptr(py, key) };
        // SAFETY: as above.
        if unsafe { ffi::PyUnicode_Check(key) } == 0 {
            let kind = foreign::type_name(&held);
            let path = place.path(py);
            return Err(invalid(format!("key {path} is a {kind}, not a str; JSON keys are text")));
        }
        push_json_string(utf8(py, key, place)?, line);
        line.push(b':');
        // Do not cache `_id`: its meaning depends on the level.
        if &line[start..] != b",\"_id\":" {
            self.keys.remember(py, key, &line[start..]);
        }
        Ok(())
    }

    /// Appends a value.
    #[inline]
    fn any(
        &mut self,
        py: Python<'_>,
        value: Object,
        place: &Place<'_>,
        line: &mut Vec<u8>,
    ) -> PyResult<()> {
        // SAFETY: a live object has a type; the types compared with are statics of the
        // interpreter; each conversion is called on the type it is for.
        unsafe {
            let kind = ffi::Py_TYPE(value);
            if kind == &raw mut ffi::PyUnicode_Type {
                push_json_string(utf8(py, value, place)?, line);
            } else if kind == &raw mut ffi::PyLong_Type {
                self.int(py, value, place, line)?;
            } else if kind == &raw mut ffi::PyFloat_Type {
                push_float(py, ffi::PyFloat_AsDouble(value), place, line)?;
            } else if kind == &raw mut ffi::PyDict_Type {
                self.dict(py, value, place, line)?;
            } else if kind == &raw mut ffi::PyList_Type {
                self.list(py, value, place, line)?;
            } else if value == ffi::Py_None() {
                line.extend_from_slice(b"null");
            } else if value == ffi::Py_True() {
                line.extend_from_slice(b"true");
            } else if value == ffi::Py_False() {
                line.extend_from_slice(b"false");
            } else {
                return self.foreign(&Bound::from_borrowed_ptr(py, value), place, line);
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn int(
        &mut self,
        py: Python<'_>,
        value: Object,
        place: &Place<'_>,
        line: &mut Vec<u8>,
    ) -> PyResult<()> {
        let mut overflow = 0;
        // SAFETY: a live int.
        let small = unsafe { ffi::PyLong_AsLongLongAndOverflow(value, &raw mut overflow) };
        if overflow != 0 {
            return foreign::push_big_int(py, value, place, line);
        }
        push_json_number(itoa::Buffer::new().format(small), line);
        Ok(())
    }

    fn dict(
        &mut self,
        py: Python<'_>,
        dict: Object,
        place: &Place<'_>,
        line: &mut Vec<u8>,
    ) -> PyResult<()> {
        let inside = enter(py, dict, place)?;
        // SAFETY: a live dict, held on to because callbacks may change what it lies in.
        let _held = unsafe { Bound::from_borrowed_ptr(py, dict) };
        let start = line.len();
        self.members(py, dict, None, &inside, line)?;
        // The comma before the first member becomes the brace.
        match line.get_mut(start) {
            Some(comma) => *comma = b'{',
            None => line.push(b'{'),
        }
        line.push(b'}');
        Ok(())
    }

    fn list(
        &mut self,
        py: Python<'_>,
        list: Object,
        place: &Place<'_>,
        line: &mut Vec<u8>,
    ) -> PyResult<()> {
        let inside = enter(py, list, place)?;
        // SAFETY: a live list, held on to while callbacks may change it.
        let held = unsafe { Bound::from_borrowed_ptr(py, list) };
        let start = line.len();
        let mut index = 0;
        // SAFETY: a list; the index is below its size of this moment.
        while index < unsafe { ffi::PyList_Size(held.as_ptr()) } {
            // SAFETY: as above. The item is borrowed until a callback runs; `foreign` holds it.
            let item = unsafe { ffi::PyList_GetItem(held.as_ptr(), index) };
            line.push(b',');
            inside.step.set(Step::Index(index as usize));
            self.any(py, item, &inside, line)?;
            index += 1;
        }
        match line.get_mut(start) {
            Some(comma) => *comma = b'[',
            None => line.push(b'['),
        }
        line.push(b']');
        Ok(())
    }
}

/// Appends the start of a document.
#[inline]
fn push_id(id: &str, line: &mut Vec<u8>) {
    line.extend_from_slice(ID_PREFIX.as_bytes());
    line.extend_from_slice(id.as_bytes());
    line.push(b'"');
}

/// Enters a container, unless that is too deep or circular.
fn enter<'a>(py: Python<'_>, container: Object, place: &'a Place<'a>) -> PyResult<Place<'a>> {
    if place.depth < DEPTH_MAX {
        return Ok(place.inside(container));
    }
    let path = place.path(py);
    if place.is_inside_itself(container) {
        return Err(invalid(format!(
            "the container at {path} contains itself; JSON has no cycles"
        )));
    }
    Err(invalid(format!("the document nests deeper than {DEPTH_MAX} levels at {path}; flatten it")))
}

fn is_dict(object: Object) -> bool {
    // SAFETY: a live object.
    unsafe { ffi::PyDict_Check(object) != 0 }
}

#[inline]
fn is_id_key(py: Python<'_>, key: Object) -> bool {
    key == pyo3::intern!(py, "_id").as_ptr() || plain_text(key) == Some(b"_id")
}

#[inline]
fn check_carried_id(py: Python<'_>, value: Object, id: &str) -> PyResult<()> {
    if plain_text(value) == Some(id.as_bytes()) {
        return Ok(());
    }
    // SAFETY: a live object.
    let found = unsafe { Bound::from_borrowed_ptr(py, value) };
    if found.extract::<Id<'_>>().is_ok_and(|found| *found == *id) {
        return Ok(()); // an int
    }
    let found = found.repr()?;
    Err(invalid(format!(
        "document carries \"_id\" {found} but is put under {id:?}; make them equal or leave \"_id\" out"
    )))
}

/// The text of a `str` or of a subclass; `None` for anything else.
#[inline]
fn plain_text<'a>(object: Object) -> Option<&'a [u8]> {
    let mut size: ffi::Py_ssize_t = 0;
    // SAFETY: a live object, whose type is looked at first. Its UTF-8 form lives as long
    // as it does, and both callers compare it at once.
    unsafe {
        if ffi::PyUnicode_Check(object) == 0 {
            return None;
        }
        let data = ffi::PyUnicode_AsUTF8AndSize(object, &raw mut size);
        if data.is_null() {
            // A lone surrogate.
            ffi::PyErr_Clear();
            return None;
        }
        Some(std::slice::from_raw_parts(data.cast(), size as usize))
    }
}

/// The text of a `str`, valid while the object is alive and unchanged.
#[inline(always)]
fn utf8<'a>(py: Python<'_>, text: Object, place: &Place<'_>) -> PyResult<&'a str> {
    let mut size: ffi::Py_ssize_t = 0;
    // SAFETY: a live str. Its UTF-8 form lives as long as it does, and every caller
    // copies the bytes before anything else happens.
    unsafe {
        let data = ffi::PyUnicode_AsUTF8AndSize(text, &raw mut size);
        if data.is_null() {
            return Err(lone_surrogate(py, place));
        }
        let bytes = std::slice::from_raw_parts(data.cast(), size as usize);
        Ok(std::str::from_utf8_unchecked(bytes))
    }
}

#[cold]
fn lone_surrogate(py: Python<'_>, place: &Place<'_>) -> PyErr {
    drop(PyErr::take(py));
    let path = place.path(py);
    invalid(format!("the text at {path} holds half of a surrogate pair, which UTF-8 cannot hold"))
}

/// Appends the shortest text that reads back as the same double, with a point or an exponent, so
/// that it stays a float.
#[inline(always)]
fn push_float(py: Python<'_>, value: f64, place: &Place<'_>, line: &mut Vec<u8>) -> PyResult<()> {
    if !value.is_finite() {
        let path = place.path(py);
        return Err(invalid(format!(
            "the value at {path} is {value}, which JSON cannot hold; use None"
        )));
    }
    push_json_number(zmij::Buffer::new().format_finite(value), line);
    Ok(())
}
