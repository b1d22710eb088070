//! The public type of a streaming scan.

use folio_document::Document;

use crate::error::Result;

/// The documents of a scan, in file order.
#[derive(Debug)]
pub struct Documents {
    core: folio_document::Documents,
}

impl Documents {
    pub(crate) fn new(core: folio_document::Documents) -> Self {
        Self { core }
    }

    /// The next document's exact line, valid until the next call. The fast path for text: no
    /// allocation.
    ///
    /// # Errors
    /// `io`.
    #[inline]
    pub fn next_line(&mut self) -> Result<Option<&[u8]>> {
        Ok(self.core.next_line()?)
    }

    /// Bytes of the data processed so far, and in total.
    #[must_use]
    pub fn progress(&self) -> (u64, u64) {
        self.core.progress()
    }
}

impl Iterator for Documents {
    type Item = Result<Document>;

    fn next(&mut self) -> Option<Self::Item> {
        self.core.next().map(|document| Ok(document?))
    }
}
