//! Writes batches of rows as the bytes of a file.

use folio_compute::{Batch, Result as QueryResult};

use crate::lock::lock;

/// Turns batches into bytes.
pub(crate) trait RowWriter {
    /// Appends the bytes of some rows. A format with row groups may buffer them.
    ///
    /// # Errors
    /// `invalid_input`, `unsupported` for values that the format cannot represent.
    fn write(&mut self, batch: Batch, out: &mut Vec<u8>) -> QueryResult<()>;

    /// Appends the end of the file. Called once, after the last batch.
    ///
    /// # Errors
    /// As [`RowWriter::write`].
    fn finish(&mut self, out: &mut Vec<u8>) -> QueryResult<()>;
}

/// A buffer shared by a third-party writer and its owner.
#[derive(Clone, Default)]
pub(crate) struct Shared(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

impl Shared {
    /// Moves the bytes written so far to `out`.
    pub(crate) fn take(&self, out: &mut Vec<u8>) {
        out.append(&mut lock(&self.0));
    }
}

impl std::io::Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut shared = lock(&self.0);
        shared.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
