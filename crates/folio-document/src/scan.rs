//! Streaming scans.

use crate::{Document, Result};

/// The documents of a scan, in file order.
#[derive(Debug)]
pub struct Documents {}

#[allow(clippy::todo, missing_docs)]
impl Documents {
    /// The next document's exact line, valid until the next call; no allocation.
    /// (`fields` and `filter` apply.)
    pub fn next_line(&mut self) -> Result<Option<&[u8]>> {
        todo!()
    }
    /// Bytes of the data file gone through so far, and in all.
    pub fn progress(&self) -> (u64, u64) {
        todo!()
    }
}

impl Iterator for Documents {
    type Item = Result<Document>;
    #[allow(clippy::todo)]
    fn next(&mut self) -> Option<Self::Item> {
        todo!()
    }
}
