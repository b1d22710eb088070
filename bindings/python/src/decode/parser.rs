//! Parses a line: values, arrays and objects (RFC 8259).
//!
//! Objects of incomplete containers are on the decoder's stacks, which own them, so that an error
//! leaks nothing.

use folio::json::find_quote;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString};

use super::cursor::Cursor;
use super::shape::{ROOT, ShapeId};
use super::{Decoder, Fault};

/// Lines nest at most 127 deep; this limit protects the stack from other texts.
const DEPTH_MAX: u32 = 512;

type Object = *mut ffi::PyObject;

impl Decoder {
    /// Decodes the only value in `text`, as an owned object.
    #[inline]
    pub(super) fn parse(&mut self, py: Python<'_>, text: &[u8]) -> Result<Object, Fault> {
        let mut cursor = Cursor::new(text);
        self.id = 0..0;
        let value = self.value(py, &mut cursor, ROOT, 0)?;
        if cursor.at < text.len() {
            cursor.peek_token();
        }
        if cursor.at < text.len() {
            self.values.push(value);
            return cursor.fault("text after the end of the document");
        }
        Ok(value)
    }

    /// Decodes the value at the cursor; objects in it have the given shape.
    #[inline(always)]
    fn value(
        &mut self,
        py: Python<'_>,
        cursor: &mut Cursor<'_>,
        shape: ShapeId,
        depth: u32,
    ) -> Result<Object, Fault> {
        match cursor.peek_token() {
            b'"' => self.string(cursor),
            b'-' | b'0'..=b'9' => self.number(cursor),
            b'{' => self.object(py, cursor, shape, depth),
            b'[' => self.array(py, cursor, shape, depth),
            b't' if cursor.take(b"true") => Ok(py_bool(py, true)),
            b'f' if cursor.take(b"false") => Ok(py_bool(py, false)),
            b'n' if cursor.take(b"null") => Ok(py.None().into_ptr()),
            _ => cursor.fault("a value expected"),
        }
    }

    fn array(
        &mut self,
        py: Python<'_>,
        cursor: &mut Cursor<'_>,
        shape: ShapeId,
        depth: u32,
    ) -> Result<Object, Fault> {
        if depth >= DEPTH_MAX {
            return cursor.fault("nested too deep");
        }
        cursor.at += 1;
        let base = self.values.len();
        if cursor.peek_token() == b']' {
            cursor.at += 1;
        } else {
            loop {
                let value = self.value(py, cursor, shape, depth + 1)?;
                self.values.push(value);
                match cursor.peek_token() {
                    b',' => cursor.at += 1,
                    b']' => break cursor.at += 1,
                    _ => return cursor.fault("\",\" or \"]\" expected"),
                }
            }
        }
        self.close_array(base)
    }

    /// Moves the values from `base` on into a list.
    #[inline(always)]
    fn close_array(&mut self, base: usize) -> Result<Object, Fault> {
        let count = self.values.len() - base;
        // SAFETY: the interpreter's lock is held; every place of the list is filled
        // with an object that the stack gives up.
        unsafe {
            let list = ffi::PyList_New(count as ffi::Py_ssize_t);
            if list.is_null() {
                return Err(Fault::Raised);
            }
            for (index, value) in self.values.drain(base..).enumerate() {
                ffi::PyList_SetItem(list, index as ffi::Py_ssize_t, value);
            }
            Ok(list)
        }
    }

    fn object(
        &mut self,
        py: Python<'_>,
        cursor: &mut Cursor<'_>,
        shape: ShapeId,
        depth: u32,
    ) -> Result<Object, Fault> {
        if depth >= DEPTH_MAX {
            return cursor.fault("nested too deep");
        }
        cursor.at += 1;
        let base = self.values.len();
        let key_base = self.keys.len();
        // The expected next entry. As long as it matches, the object is like its shape.
        let mut next = 0;
        let mut is_alike = true;
        if cursor.peek_token() == b'}' {
            cursor.at += 1;
        } else {
            loop {
                let found = self.key(py, cursor, shape, next)?;
                is_alike &= found == Some(next);
                next = found.map_or(next, |index| index + 1);
                let child = match (cursor.peek_token(), found) {
                    (b'{' | b'[', Some(index)) => self.shapes.child(shape, index),
                    _ => shape,
                };
                let start = cursor.at;
                let value = self.value(py, cursor, child, depth + 1)?;
                self.values.push(value);
                if depth == 0 && self.values.len() == 1 {
                    self.note_id(cursor, start);
                }
                match cursor.peek_token() {
                    b',' => cursor.at += 1,
                    b'}' => break cursor.at += 1,
                    _ => return cursor.fault("\",\" or \"}\" expected"),
                }
            }
        }
        let is_alike = is_alike && next > 1 && next == self.shapes.len(shape);
        self.close_object(py, shape, base, key_base, is_alike)
    }

    /// Records the range of the first value, if it is text without escapes.
    #[inline(always)]
    fn note_id(&mut self, cursor: &Cursor<'_>, start: usize) {
        let value = &cursor.text[start..cursor.at];
        if let Some((b'"', text)) = value.split_first()
            && find_quote(text) == Some(value.len() - 2)
        {
            self.id = start + 1..cursor.at - 1;
        }
    }

    /// Reads a key and its colon and pushes the key. Returns its entry in the shape.
    #[inline(always)]
    fn key(
        &mut self,
        py: Python<'_>,
        cursor: &mut Cursor<'_>,
        shape: ShapeId,
        next: usize,
    ) -> Result<Option<usize>, Fault> {
        let byte = cursor.peek_token();
        if let Some(index) = self.shapes.find(shape, next, &cursor.text[cursor.at..]) {
            let (size, key) = self.shapes.entry(shape, index);
            cursor.at += size;
            self.keys.push(key);
            return Ok(Some(index));
        }
        if byte != b'"' {
            return cursor.fault("a key expected");
        }
        self.stray_key(py, cursor, shape)
    }

    /// Handles a key that the shape does not have, and adds it if possible.
    #[inline(never)]
    fn stray_key(
        &mut self,
        py: Python<'_>,
        cursor: &mut Cursor<'_>,
        shape: ShapeId,
    ) -> Result<Option<usize>, Fault> {
        let start = cursor.at + 1;
        let mut key = self.string(cursor)?;
        self.strays.push(key);
        let after = cursor.at;
        if cursor.peek_token() != b':' {
            return cursor.fault("\":\" expected");
        }
        cursor.at += 1;
        let name = &cursor.text[start..after - 1];
        let is_plain = cursor.at == after + 1 && find_quote(name).is_none();
        if is_plain {
            // SAFETY: `key` is owned by the stack of strays, and replaced there by
            // what interning makes of it.
            let interned = unsafe {
                ffi::PyUnicode_InternInPlace(&raw mut key);
                *self.strays.last_mut().expect("just pushed") = key;
                Bound::from_borrowed_ptr(py, key).cast_into_unchecked::<PyString>()
            };
            if self.shapes.learn(shape, name, &interned) {
                self.keys.push(key);
                return Ok(Some(self.shapes.len(shape) - 1));
            }
        }
        self.keys.push(key);
        Ok(None)
    }

    /// An owned dict from the shape's template, if the object has all keys and there is one.
    #[inline(always)]
    fn copy(
        &mut self,
        py: Python<'_>,
        shape: ShapeId,
        is_alike: bool,
    ) -> Result<Option<Object>, Fault> {
        if !is_alike {
            return Ok(None);
        }
        self.shapes.copy(py, shape).map_err(|error| {
            error.restore(py);
            Fault::Raised
        })
    }

    /// Moves keys and values from their bases on into a dict.
    #[inline(always)]
    fn close_object(
        &mut self,
        py: Python<'_>,
        shape: ShapeId,
        base: usize,
        key_base: usize,
        is_alike: bool,
    ) -> Result<Object, Fault> {
        // SAFETY: the interpreter's lock is held; the stacks own the values, and the
        // keys are owned by the shapes or the stack of strays.
        unsafe {
            let dict = match self.copy(py, shape, is_alike)? {
                Some(copy) => copy,
                None => ffi::PyDict_New(),
            };
            if dict.is_null() {
                return Err(Fault::Raised);
            }
            let mut status = 0;
            for (&key, value) in self.keys[key_base..].iter().zip(self.values.drain(base..)) {
                status |= ffi::PyDict_SetItem(dict, key, value);
                ffi::Py_DecRef(value);
            }
            self.keys.truncate(key_base);
            if depth_is_top(key_base) {
                for key in self.strays.drain(..) {
                    ffi::Py_DecRef(key);
                }
            }
            if status != 0 {
                ffi::Py_DecRef(dict);
                return Err(Fault::Raised);
            }
            Ok(dict)
        }
    }
}

/// Whether no key of an outer object is left, so that no stray is in use.
fn depth_is_top(key_base: usize) -> bool {
    key_base == 0
}

/// The one `True` or `False`, as an owned reference.
fn py_bool(py: Python<'_>, value: bool) -> Object {
    PyBool::new(py, value).to_owned().into_ptr()
}
