//! A scan, batch by batch.
//!
//! Documents of known shapes come marked ([`crate::shape`]), a few at a time, because
//! a piece that is cut out of their text keeps all of it in memory. Others come as JSON
//! arrays, which grow as long as one follows another.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use folio::json::id_first;
use folio::{Documents, Result};
use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;

use crate::error::thrown;
use crate::exact::push_marked;
use crate::shape::{Marker, NativeShapes};
use crate::task::{Work, promise};
use crate::text::Text;

/// Bytes of documents that are marked together.
const MARKED_SIZE: usize = 1024;

/// Bytes of the first array behind marked documents; the next ones are larger and larger.
const ARRAY_SIZE: usize = 256;

/// A scan under way. Batches are taken one after another, from any thread.
#[napi]
pub struct NativeScan {
    lines: Arc<Mutex<Lines>>,
    exact: bool,
}

/// What is left of a scan.
struct Lines {
    documents: Documents,
    /// A document that had no place in a batch of its kind, and comes next.
    held: Vec<u8>,
    /// Bytes of the next array.
    array_size: usize,
}

impl NativeScan {
    pub(crate) fn new(documents: Documents, exact: bool) -> Self {
        let lines = Lines { documents, held: Vec::new(), array_size: ARRAY_SIZE };
        Self { lines: Arc::new(Mutex::new(lines)), exact }
    }
}

#[napi]
impl NativeScan {
    /// The next documents as a JSON array of about `size` bytes; null at the end.
    #[napi]
    pub fn next_array(&self, size: u32) -> napi::Result<Option<Text>> {
        next_array(&self.lines, size as usize, self.exact).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn next_array_async(&self, size: u32) -> AsyncTask<Work<Option<Text>>> {
        let (lines, exact) = (Arc::clone(&self.lines), self.exact);
        promise(move || next_array(&lines, size as usize, exact))
    }

    /// The next documents: a few with marks, or as an array of at most about `size`
    /// bytes; null at the end.
    #[napi]
    pub fn next_marked(&self, size: u32, shapes: &NativeShapes) -> napi::Result<Option<Text>> {
        let mut lines = lock(&self.lines);
        lines.next_marked(size as usize, &shapes.marker()).map_err(thrown)
    }

    /// The next lines of about `size` bytes, each with its line end; null at the end.
    #[napi]
    pub fn next_lines(&self, size: u32) -> napi::Result<Option<Text>> {
        next_lines(&self.lines, size as usize).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn next_lines_async(&self, size: u32) -> AsyncTask<Work<Option<Text>>> {
        let lines = Arc::clone(&self.lines);
        promise(move || next_lines(&lines, size as usize))
    }
}

fn lock(lines: &Mutex<Lines>) -> MutexGuard<'_, Lines> {
    lines.lock().unwrap_or_else(PoisonError::into_inner)
}

fn next_array(lines: &Mutex<Lines>, size: usize, exact: bool) -> Result<Option<Text>> {
    lock(lines).next_array(size, exact)
}

fn next_lines(lines: &Mutex<Lines>, size: usize) -> Result<Option<Text>> {
    let mut source = lock(lines);
    let mut lines = Vec::with_capacity(size + size / 4);
    while lines.len() < size {
        let Some(line) = source.documents.next_line()? else { break };
        lines.extend_from_slice(line);
        lines.push(b'\n');
    }
    Ok((!lines.is_empty()).then_some(Text(lines)))
}

impl Lines {
    fn next_marked(&mut self, size: usize, marker: &Marker) -> Result<Option<Text>> {
        marker.begin();
        let mut text = Vec::with_capacity(2 * MARKED_SIZE);
        while text.len() < MARKED_SIZE {
            let start = text.len();
            if !self.push_next(false, &mut text)? {
                break;
            }
            if !marker.mark_next(&text[start..]) {
                self.held = text.split_off(start);
                break;
            }
        }
        if !text.is_empty() {
            self.array_size = ARRAY_SIZE;
            return Ok(Some(Text(text)));
        }
        let array = self.next_array(self.array_size.min(size), false);
        self.array_size *= 4;
        self.array_size = self.array_size.min(size);
        array
    }

    fn next_array(&mut self, size: usize, exact: bool) -> Result<Option<Text>> {
        let mut array = Vec::with_capacity(size + size / 4);
        loop {
            array.push(if array.is_empty() { b'[' } else { b',' });
            if !self.push_next(exact, &mut array)? {
                array.pop();
                break;
            }
            if array.len() >= size {
                break;
            }
        }
        if array.is_empty() {
            return Ok(None);
        }
        array.push(b']');
        Ok(Some(Text(array)))
    }

    /// Appends the next document; `false` at the end.
    fn push_next(&mut self, exact: bool, out: &mut Vec<u8>) -> Result<bool> {
        if !self.held.is_empty() {
            out.append(&mut self.held);
            return Ok(true);
        }
        let Some(line) = self.documents.next_line()? else { return Ok(false) };
        push_document(line, exact, out)?;
        Ok(true)
    }
}

/// Appends a line as everybody is handed it: `_id` first, integers exact if asked for.
pub(crate) fn push_document(line: &[u8], exact: bool, out: &mut Vec<u8>) -> Result<()> {
    let ordered;
    let line = match line.starts_with(b"{\"_id\":\"") {
        true => line,
        false => {
            ordered = in_order(line)?;
            ordered.as_bytes()
        }
    };
    if exact {
        push_marked(line, out);
    } else {
        out.extend_from_slice(line);
    }
    Ok(())
}

#[cold]
fn in_order(line: &[u8]) -> Result<String> {
    let text = String::from_utf8_lossy(line);
    let ordered = id_first(&text).map_err(|error| {
        folio::Error::Invalid(format!("a document is no longer a JSON object: {error}"))
    })?;
    Ok(ordered.into_owned())
}
