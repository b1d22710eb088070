//! Parses a line: values, arrays and objects (RFC 8259).
//!
//! Objects of incomplete containers are on the decoder's stacks, which own them, so that an error
//! leaks nothing.

use std::rc::Rc;

use folio::json::find_quote;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString};

use super::cursor::Cursor;
use super::shape::{Entry, ROOT, ShapeId, Shapes};
use super::{Decoded, Decoder, Fault};

/// Lines nest at most 127 deep; this limit protects the stack from other texts.
const DEPTH_MAX: u32 = 512;

type Object = *mut ffi::PyObject;

impl Decoder {
    /// Decodes the only value in `text`, as an owned object.
    #[inline]
    pub(super) fn parse(&mut self, py: Python<'_>, text: &[u8]) -> Decoded<Object> {
        let mut cursor = Cursor::new(text);
        self.id = 0..0;
        let value = self.value(py, &mut cursor, 0, |_| ROOT)?;
        if cursor.at < text.len() {
            cursor.peek_token();
        }
        if cursor.at < text.len() {
            self.values.push(value);
            return cursor.fault("text after the end of the document");
        }
        Ok(value)
    }

    /// Decodes the value at the cursor; `shape` is that of objects in it.
    #[inline(always)]
    fn value(
        &mut self,
        py: Python<'_>,
        cursor: &mut Cursor<'_>,
        depth: u32,
        shape: impl FnOnce(&mut Shapes) -> ShapeId,
    ) -> Decoded<Object> {
        match cursor.peek_token() {
            b'"' => self.string(cursor),
            b'-' | b'0'..=b'9' => self.number(cursor),
            b'{' => {
                let shape = shape(&mut self.shapes);
                self.object(py, cursor, shape, depth)
            }
            b'[' => {
                let shape = shape(&mut self.shapes);
                self.array(py, cursor, shape, depth)
            }
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
    ) -> Decoded<Object> {
        if depth >= DEPTH_MAX {
            return cursor.fault("nested too deep");
        }
        cursor.at += 1;
        let base = self.values.len();
        if cursor.peek_token() == b']' {
            cursor.at += 1;
        } else {
            loop {
                let value = self.value(py, cursor, depth + 1, |_| shape)?;
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
    fn close_array(&mut self, base: usize) -> Decoded<Object> {
        let count = self.values.len() - base;
        // SAFETY: the interpreter's lock is held; every place of the list is filled
        // with an object that the stack gives up.
        unsafe {
            let list = ffi::PyList_New(count as ffi::Py_ssize_t);
            if list.is_null() {
                return Err(Fault::Raised.into());
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
    ) -> Decoded<Object> {
        if depth >= DEPTH_MAX {
            return cursor.fault("nested too deep");
        }
        cursor.at += 1;
        let base = self.values.len();
        let key_base = self.keys.len();
        // As long as the keys are those of the shape, in its order, the stack of keys is not needed.
        let mut expected = Some(Rc::clone(self.shapes.entries(shape)));
        // The expected next entry.
        let mut next = 0;
        if cursor.peek_token() == b'}' {
            cursor.at += 1;
        } else {
            loop {
                cursor.peek_token();
                let entry = expected.as_ref().and_then(|entries| entries.get(next));
                let found = match entry {
                    Some(entry) if entry.pattern.begins(&cursor.text[cursor.at..]) => {
                        cursor.at += entry.pattern.size();
                        Some(next)
                    }
                    _ => {
                        self.keep_keys(expected.take(), next);
                        self.other_key(py, cursor, shape, next)?
                    }
                };
                next = found.map_or(next, |index| index + 1);
                let start = cursor.at;
                let value = self.value(py, cursor, depth + 1, |shapes| match found {
                    Some(index) => shapes.child(shape, index),
                    None => shape,
                })?;
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
        match expected {
            Some(entries) if next > 1 && next == entries.len() => {
                let dict = self.copy(py, shape)?;
                self.close_object(dict, base, entries.iter().map(Entry::key))
            }
            expected => {
                self.keep_keys(expected, next);
                let keys = std::mem::take(&mut self.keys);
                let dict = self.close_object(None, base, keys[key_base..].iter().copied());
                self.keys = keys;
                self.keys.truncate(key_base);
                if key_base == 0 {
                    self.drop_strays();
                }
                dict
            }
        }
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

    /// Keeps the first `count` keys of a shape for the object that has them.
    #[inline(always)]
    fn keep_keys(&mut self, entries: Option<Rc<Vec<Entry>>>, count: usize) {
        if let Some(entries) = entries {
            self.keys.extend(entries[..count].iter().map(Entry::key));
        }
    }

    /// Reads a key that is not the expected one, and its colon, and keeps it. Returns its entry in
    /// the shape.
    #[inline(never)]
    fn other_key(
        &mut self,
        py: Python<'_>,
        cursor: &mut Cursor<'_>,
        shape: ShapeId,
        next: usize,
    ) -> Decoded<Option<usize>> {
        if let Some(index) = self.shapes.find(shape, next, &cursor.text[cursor.at..]) {
            let entry = &self.shapes.entries(shape)[index];
            cursor.at += entry.pattern.size();
            self.keys.push(entry.key());
            return Ok(Some(index));
        }
        if cursor.peek() != b'"' {
            return cursor.fault("a key expected");
        }
        self.stray_key(py, cursor, shape)
    }

    /// Handles a key that the shape does not have, and adds it if possible.
    fn stray_key(
        &mut self,
        py: Python<'_>,
        cursor: &mut Cursor<'_>,
        shape: ShapeId,
    ) -> Decoded<Option<usize>> {
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
                return Ok(Some(self.shapes.entries(shape).len() - 1));
            }
        }
        self.keys.push(key);
        Ok(None)
    }

    /// An owned dict from the shape's template, if there is one.
    #[inline(always)]
    fn copy(&mut self, py: Python<'_>, shape: ShapeId) -> Decoded<Option<Object>> {
        self.shapes.copy(py, shape).map_err(|error| {
            error.restore(py);
            Fault::Raised.into()
        })
    }

    /// Moves the values from `base` on into a dict, a new one if there is none, under their keys.
    #[inline(always)]
    fn close_object(
        &mut self,
        dict: Option<Object>,
        base: usize,
        keys: impl Iterator<Item = Object>,
    ) -> Decoded<Object> {
        // SAFETY: the interpreter's lock is held; the stack owns the values, and the
        // keys are owned by the shapes or the stack of strays.
        unsafe {
            let dict = dict.unwrap_or_else(|| ffi::PyDict_New());
            if dict.is_null() {
                return Err(Fault::Raised.into());
            }
            let mut status = 0;
            for (key, value) in keys.zip(self.values.drain(base..)) {
                status |= ffi::PyDict_SetItem(dict, key, value);
                ffi::Py_DecRef(value);
            }
            if status != 0 {
                ffi::Py_DecRef(dict);
                return Err(Fault::Raised.into());
            }
            Ok(dict)
        }
    }

    /// Drops the keys that are in no shape, when no object uses them any more.
    fn drop_strays(&mut self) {
        for key in self.strays.drain(..) {
            // SAFETY: the stack owns them, and the interpreter's lock is held.
            unsafe { ffi::Py_DecRef(key) }
        }
    }
}

/// The one `True` or `False`, as an owned reference.
fn py_bool(py: Python<'_>, value: bool) -> Object {
    PyBool::new(py, value).to_owned().into_ptr()
}
