//! A collection as its users see it.

use std::path::Path;
use std::sync::Arc;

use folio_file::{FileSystem, WriterLock};
use serde_json::Value;

use crate::{
    Batch, BatchCounts, CheckReport, CollectionOptions, CompactReport, Document, Documents, Notice,
    Progress, Put, Result, Scan, Stats,
};

/// A collection of documents under ids. Cheap to clone; clones share one store.
#[derive(Debug, Clone)]
pub struct Collection {}

#[allow(unused_variables, clippy::todo, missing_docs)]
impl Collection {
    /// Opens `<database>/collections/<name>`. Nothing is created before the first write.
    pub fn open(
        files: Arc<dyn FileSystem>,
        database: &Path,
        name: &str,
        options: &CollectionOptions,
        lock: Arc<WriterLock>,
    ) -> Result<Self> {
        todo!()
    }
    pub fn name(&self) -> &str {
        todo!()
    }
    /// Whether the collection is on disk yet.
    pub fn is_created(&self) -> bool {
        todo!()
    }
    pub fn put(&self, id: &str, document: &Value) -> Result<Put> {
        todo!()
    }
    /// Stores JSON text as it stands: key order and number text survive;
    /// line breaks between tokens are taken out, `_id` is put first.
    pub fn put_raw(&self, id: &str, json: &str) -> Result<Put> {
        todo!()
    }
    /// Applies a JSON merge patch (RFC 7396) to a document, which must exist (`Ok(None)` if not).
    pub fn patch(&self, id: &str, patch: &Value) -> Result<Option<Document>> {
        todo!()
    }
    pub fn get(&self, id: &str) -> Result<Option<Document>> {
        todo!()
    }
    /// The exact line into a buffer that is reused; `false` when there is none.
    pub fn get_into(&self, id: &str, line: &mut Vec<u8>) -> Result<bool> {
        todo!()
    }
    pub fn exists(&self, id: &str) -> Result<bool> {
        todo!()
    }
    /// Whether there was a document to delete.
    pub fn delete(&self, id: &str) -> Result<bool> {
        todo!()
    }
    pub fn count(&self) -> Result<u64> {
        todo!()
    }
    /// All ids, in file order, streaming.
    pub fn ids(&self) -> Result<impl Iterator<Item = Result<String>> + use<>> {
        Ok(std::iter::empty())
    }
    pub fn scan(&self, scan: Scan) -> Result<Documents> {
        todo!()
    }
    /// Begins an atomic batch: all of it or none of it is there after a crash.
    pub fn batch(&self) -> Result<Batch> {
        todo!()
    }
    /// An atomic batch of `(id, document)` pairs.
    pub fn put_many<'a>(&self, documents: impl IntoIterator<Item = (&'a str, &'a Value)>) -> Result<BatchCounts> {
        todo!()
    }
    /// Makes every write so far durable and gives the writer's lock back.
    pub fn flush(&self) -> Result<()> {
        todo!()
    }
    /// Takes in what other processes and people have written since.
    pub fn refresh(&self) -> Result<()> {
        todo!()
    }
    pub fn compact(&self, progress: Progress<'_>) -> Result<CompactReport> {
        todo!()
    }
    pub fn check(&self, progress: Progress<'_>) -> Result<CheckReport> {
        todo!()
    }
    /// Builds the index again from the data file.
    pub fn reindex(&self, progress: Progress<'_>) -> Result<()> {
        todo!()
    }
    pub fn stats(&self) -> Result<Stats> {
        todo!()
    }
    /// What was noticed since the last call; taken, so each is told once.
    pub fn take_notices(&self) -> Vec<Notice> {
        todo!()
    }
    /// How far the import of the source with this fingerprint had been committed.
    pub fn import_position(&self, source: u64) -> Result<Option<u64>> {
        todo!()
    }
    /// Flushes and closes this handle's store for every clone; later calls answer `Closed`.
    pub fn close(&self) -> Result<()> {
        todo!()
    }
}
