//! Atomic batches.

use serde_json::Value;

use crate::{BatchCounts, Put, Result};

/// An open batch: nothing of it is visible before `commit`, and dropping it undoes it.
/// One batch or other write is under way at a time; readers go on undisturbed.
#[derive(Debug)]
pub struct Batch {}

#[allow(unused_variables, clippy::todo, missing_docs)]
impl Batch {
    /// Adds a document. The count of inserted and replaced is known at commit.
    pub fn put(&mut self, id: &str, document: &Value) -> Result<()> {
        todo!()
    }
    pub fn put_raw(&mut self, id: &str, json: &str) -> Result<()> {
        todo!()
    }
    /// Adds a ready line (one JSON object with `_id`, no line end), validated.
    pub fn put_line(&mut self, line: &[u8]) -> Result<()> {
        todo!()
    }
    /// As `put_line` for lines the caller has written with this library before:
    /// `_id` first, valid JSON. Only the id is looked at.
    pub fn put_line_trusted(&mut self, line: &[u8]) -> Result<()> {
        todo!()
    }
    pub fn delete(&mut self, id: &str) -> Result<()> {
        todo!()
    }
    /// Whether the id has a document, in this batch or before it.
    pub fn exists(&mut self, id: &str) -> Result<bool> {
        todo!()
    }
    /// Bytes of lines added so far.
    pub fn size(&self) -> u64 {
        todo!()
    }
    /// Remembers with the commit how far into which source the import has come.
    pub fn set_import_position(&mut self, source: u64, position: u64) {
        todo!()
    }
    /// Makes the batch durable (unless durability is `None`) and visible.
    pub fn commit(self) -> Result<BatchCounts> {
        todo!()
    }
}
#[allow(dead_code)]
fn unused(_: Put) {}
