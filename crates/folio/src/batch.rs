//! The public handle of an atomic batch.

use std::sync::Arc;

use folio_document::{BatchCounts, EncodedLine, Record, Records};
use folio_json::plain_string;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::identity::{derived_id, generated_id, identify_document};
use crate::store::SharedCollection;

/// An open batch. Nothing of it is visible before [`Batch::commit`]; dropping it undoes it.
#[derive(Debug)]
pub struct Batch {
    core: folio_document::Batch,
    /// Documents that came in arrays.
    count: u64,
    shared: SharedCollection,
    /// Keeps the store alive, and with it the only writer's lock of the process.
    _handle: Arc<Handle>,
}

impl Batch {
    pub(crate) fn new(
        core: folio_document::Batch,
        shared: SharedCollection,
        handle: Arc<Handle>,
    ) -> Self {
        Self { core, count: 0, shared, _handle: handle }
    }

    /// Adds a document.
    ///
    /// # Errors
    /// As [`crate::Collection::put`].
    pub fn put(&mut self, id: &str, document: &Value) -> Result<()> {
        Ok(self.core.put(id, document)?)
    }

    /// Adds JSON text, under its own `_id` if none is given. Key order and the text of every number
    /// survive.
    ///
    /// # Errors
    /// As [`crate::Collection::put_raw`], and `invalid_input` without any id.
    pub fn put_raw(&mut self, id: Option<&str>, json: &str) -> Result<()> {
        Ok(self.core.put_raw(id, json)?)
    }

    /// Adds a finished line: one JSON object with its `_id`, without a line end.
    ///
    /// # Errors
    /// As [`crate::Collection::put_raw`], and `invalid_input` without an `_id`.
    pub fn put_line(&mut self, line: &[u8]) -> Result<()> {
        Ok(self.core.put_line(line)?)
    }

    /// Adds a line written by an encoder, without validating it again.
    ///
    /// # Errors
    /// As [`crate::Collection::put`].
    pub fn put_encoded(&mut self, line: EncodedLine<'_>) -> Result<()> {
        Ok(self.core.put_encoded(line)?)
    }

    /// Does some of the work of [`Batch::commit`] now. Useful every few thousand documents, while
    /// the caller waits for its next document.
    pub fn work_ahead(&mut self) {
        self.core.work_ahead();
    }

    /// Adds the documents of a JSON array. Each goes under its own `_id`, or under a new id if it
    /// has none. When `id_field` names another field (a dotted path), its value is the id. Text
    /// that is not a valid id, such as a mail address, is turned into one by
    /// [`derived_id`]. Numbers are used as text.
    ///
    /// # Errors
    /// As [`Batch::put_raw`], naming the document by its number.
    pub fn put_array(&mut self, json: &str, id_field: Option<&str>) -> Result<()> {
        let field = id_field.filter(|&field| field != "_id");
        for record in Records::new(json, field) {
            self.count += 1;
            let stored =
                record.map_err(Error::from).and_then(|record| self.put_record(&record, field));
            stored
                .map_err(|cause| Error::InBatch { number: self.count, cause: Box::new(cause) })?;
        }
        Ok(())
    }

    fn put_record(&mut self, record: &Record<'_>, field: Option<&str>) -> Result<()> {
        let carried = record.id().and_then(plain_string);
        let named = record.field().and_then(plain_string).filter(|id| !id.is_empty());
        match (field, carried, named) {
            (None, Some(_), _) => Ok(self.core.put_record(None, record)?),
            (None, None, _) if record.id().is_none() => {
                Ok(self.core.put_record(Some(&generated_id()), record)?)
            }
            (Some(_), None, Some(id)) if record.id().is_none() => {
                Ok(self.core.put_record(Some(&derived_id(id)), record)?)
            }
            _ => {
                let found = identify_document(record.text(), field);
                let (id, text) = found.map_err(|reason| Error::Invalid(reason.to_string()))?;
                self.put_raw(Some(&id), &text)
            }
        }
    }

    /// Deletes a document.
    ///
    /// # Errors
    /// As [`crate::Collection::delete`].
    pub fn delete(&mut self, id: &str) -> Result<()> {
        Ok(self.core.delete(id)?)
    }

    /// Whether a document has the id, in this batch or before it.
    ///
    /// # Errors
    /// As [`crate::Collection::exists`].
    pub fn exists(&mut self, id: &str) -> Result<bool> {
        Ok(self.core.exists(id)?)
    }

    /// The document under an id, from this batch or before it.
    #[cfg(feature = "sql")]
    pub(crate) fn get(&mut self, id: &str) -> Result<Option<folio_document::Document>> {
        Ok(self.core.get(id)?)
    }

    /// Bytes of lines added so far.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.core.size()
    }

    /// Commits the position of an import in its source together with the batch.
    pub fn set_import_position(&mut self, source: u64, position: u64) {
        self.core.set_import_position(source, position);
    }

    /// Makes the batch durable (unless durability is `None`) and visible.
    ///
    /// # Errors
    /// `io`; then nothing of the batch is there.
    pub fn commit(self) -> Result<BatchCounts> {
        let counts = self.core.commit()?;
        self.shared.note_lines();
        Ok(counts)
    }
}
