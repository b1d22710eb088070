//! The changes of a statement to a collection. They take effect together when the statement is
//! done, or not at all.
//!
//! A statement that changes one document puts or deletes it at its end, as
//! [`Collection::put_raw`] does. The second change opens a batch.

use std::sync::{Arc, Mutex};

use folio_document::Document;

use crate::batch::Batch;
use crate::collection::Collection;
use crate::error::Result;

/// The changes of a statement, shared by its parts.
pub(crate) type SharedDocuments = Arc<Mutex<PendingDocuments>>;

/// The changes of a statement to one collection.
#[derive(Debug, Default)]
pub(crate) struct PendingDocuments {
    /// The only change so far, if there is just one.
    first: Option<First>,
    /// From the second change on.
    batch: Option<Batch>,
}

#[derive(Debug)]
struct First {
    collection: Collection,
    id: String,
    /// `None` deletes the document.
    json: Option<String>,
}

impl PendingDocuments {
    /// Whether a document exists, with the changes of the statement.
    pub(super) fn exists(&mut self, collection: &Collection, id: &str) -> Result<bool> {
        match &self.first {
            Some(first) if first.id == id => Ok(first.json.is_some()),
            _ => match &mut self.batch {
                Some(batch) => batch.exists(id),
                None => collection.exists(id),
            },
        }
    }

    /// The line of a document, with the changes of the statement.
    pub(super) fn get(&mut self, collection: &Collection, id: &str) -> Result<Option<String>> {
        if self.first.as_ref().is_some_and(|first| first.id == id) {
            self.open_batch()?;
        }
        let document = match &mut self.batch {
            Some(batch) => batch.get(id)?,
            None => collection.get(id)?,
        };
        Ok(document.map(Document::into_raw))
    }

    /// Puts a document.
    pub(super) fn put(&mut self, collection: &Collection, id: &str, json: String) -> Result<()> {
        self.change(collection, id, Some(json))
    }

    /// Deletes a document. Returns whether it existed.
    pub(super) fn delete(&mut self, collection: &Collection, id: &str) -> Result<bool> {
        let is_there = self.exists(collection, id)?;
        if is_there {
            self.change(collection, id, None)?;
        }
        Ok(is_there)
    }

    fn change(&mut self, collection: &Collection, id: &str, json: Option<String>) -> Result<()> {
        if self.first.is_none() && self.batch.is_none() {
            let (collection, id) = (collection.clone(), id.to_owned());
            self.first = Some(First { collection, id, json });
            return Ok(());
        }
        self.open_batch()?;
        match &mut self.batch {
            Some(batch) => push(batch, id, json.as_deref()),
            None => Ok(()),
        }
    }

    fn open_batch(&mut self) -> Result<()> {
        let Some(First { collection, id, json }) = self.first.take() else { return Ok(()) };
        let mut batch = collection.batch()?;
        push(&mut batch, &id, json.as_deref())?;
        self.batch = Some(batch);
        Ok(())
    }

    /// Commits the changes.
    ///
    /// # Errors
    /// As [`Collection::put_raw`] and [`Batch::commit`]; nothing is changed then.
    pub(crate) fn commit(&mut self) -> Result<()> {
        if let Some(First { collection, id, json }) = self.first.take() {
            return match json {
                Some(json) => collection.put_raw(&id, &json).map(drop),
                None => collection.delete(&id).map(drop),
            };
        }
        self.batch.take().map_or(Ok(()), |batch| batch.commit().map(drop))
    }

    /// Undoes the changes.
    pub(crate) fn undo(&mut self) {
        *self = Self::default();
    }
}

fn push(batch: &mut Batch, id: &str, json: Option<&str>) -> Result<()> {
    match json {
        Some(json) => batch.put_raw(Some(id), json),
        None => batch.delete(id),
    }
}
