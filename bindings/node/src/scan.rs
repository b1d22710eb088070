//! A scan, batch by batch.

use std::sync::{Arc, Mutex, PoisonError};

use folio::json::id_first;
use folio::{Documents, Result};
use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;

use crate::error::thrown;
use crate::exact::push_marked;
use crate::task::{Work, promise};
use crate::text::Text;

/// A scan under way. Batches are taken one after another, from any thread.
#[napi]
pub struct NativeScan {
    documents: Arc<Mutex<Documents>>,
    exact: bool,
}

impl NativeScan {
    pub(crate) fn new(documents: Documents, exact: bool) -> Self {
        Self { documents: Arc::new(Mutex::new(documents)), exact }
    }
}

#[napi]
impl NativeScan {
    /// The next documents as a JSON array of about `size` bytes; null at the end.
    #[napi]
    pub fn next_array(&self, size: u32) -> napi::Result<Option<Text>> {
        next_array(&self.documents, size as usize, self.exact).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn next_array_async(&self, size: u32) -> AsyncTask<Work<Option<Text>>> {
        let (documents, exact) = (Arc::clone(&self.documents), self.exact);
        promise(move || next_array(&documents, size as usize, exact))
    }

    /// The next lines of about `size` bytes, each with its line end; null at the end.
    #[napi]
    pub fn next_lines(&self, size: u32) -> napi::Result<Option<Text>> {
        next_lines(&self.documents, size as usize).map_err(thrown)
    }

    /// The same on another thread.
    #[napi]
    pub fn next_lines_async(&self, size: u32) -> AsyncTask<Work<Option<Text>>> {
        let documents = Arc::clone(&self.documents);
        promise(move || next_lines(&documents, size as usize))
    }
}

fn next_array(documents: &Mutex<Documents>, size: usize, exact: bool) -> Result<Option<Text>> {
    let mut documents = documents.lock().unwrap_or_else(PoisonError::into_inner);
    let mut array = Vec::with_capacity(size + size / 4);
    while array.len() < size {
        let Some(line) = documents.next_line()? else { break };
        array.push(if array.is_empty() { b'[' } else { b',' });
        push_document(line, exact, &mut array)?;
    }
    if array.is_empty() {
        return Ok(None);
    }
    array.push(b']');
    Ok(Some(Text(array)))
}

fn next_lines(documents: &Mutex<Documents>, size: usize) -> Result<Option<Text>> {
    let mut documents = documents.lock().unwrap_or_else(PoisonError::into_inner);
    let mut lines = Vec::with_capacity(size + size / 4);
    while lines.len() < size {
        let Some(line) = documents.next_line()? else { break };
        lines.extend_from_slice(line);
        lines.push(b'\n');
    }
    Ok((!lines.is_empty()).then_some(Text(lines)))
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
