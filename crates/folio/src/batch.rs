//! An atomic batch, as users hold it.

use std::sync::Arc;

use folio_document::BatchCounts;
use serde_json::Value;

use crate::error::Result;
use crate::handle::Handle;

/// An open batch: nothing of it is visible before [`Batch::commit`], and dropping it undoes it.
#[derive(Debug)]
pub struct Batch {
    core: folio_document::Batch,
    /// Keeps the store, and with it the writer's lock, the only one in the process.
    _handle: Arc<Handle>,
}

impl Batch {
    pub(crate) fn new(core: folio_document::Batch, handle: Arc<Handle>) -> Self {
        Self { core, _handle: handle }
    }

    /// Adds a document.
    ///
    /// # Errors
    /// As [`crate::Collection::put`].
    pub fn put(&mut self, id: &str, document: &Value) -> Result<()> {
        Ok(self.core.put(id, document)?)
    }

    /// Adds JSON text, under the `_id` it carries when none is given: key order
    /// and the text of every number survive.
    ///
    /// # Errors
    /// As [`crate::Collection::put_raw`], and `invalid_input` without any id.
    pub fn put_raw(&mut self, id: Option<&str>, json: &str) -> Result<()> {
        Ok(self.core.put_raw(id, json)?)
    }

    /// Adds a ready line: one JSON object that carries its `_id`, without line end.
    ///
    /// # Errors
    /// As [`crate::Collection::put_raw`], and `invalid_input` without an `_id`.
    pub fn put_line(&mut self, line: &[u8]) -> Result<()> {
        Ok(self.core.put_line(line)?)
    }

    /// As [`Batch::put_line`] for lines this library has written: valid, `_id`
    /// first. Only the id is looked at.
    ///
    /// # Errors
    /// As [`Batch::put_line`].
    pub fn put_line_trusted(&mut self, line: &[u8]) -> Result<()> {
        Ok(self.core.put_line_trusted(line)?)
    }

    /// Deletes a document.
    ///
    /// # Errors
    /// As [`crate::Collection::delete`].
    pub fn delete(&mut self, id: &str) -> Result<()> {
        Ok(self.core.delete(id)?)
    }

    /// Whether the id has a document, in this batch or before it.
    ///
    /// # Errors
    /// As [`crate::Collection::exists`].
    pub fn exists(&mut self, id: &str) -> Result<bool> {
        Ok(self.core.exists(id)?)
    }

    /// Bytes of lines added so far.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.core.size()
    }

    /// Remembers with the commit how far into which source an import has come.
    pub fn set_import_position(&mut self, source: u64, position: u64) {
        self.core.set_import_position(source, position);
    }

    /// Makes the batch durable (unless durability is `None`) and visible.
    ///
    /// # Errors
    /// `io`; then nothing of the batch is there.
    pub fn commit(self) -> Result<BatchCounts> {
        Ok(self.core.commit()?)
    }
}
