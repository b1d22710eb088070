//! Batches of rows as the bytes of a file.

use folio_engine::{Batch, Result as QueryResult};

/// Turns batches into bytes.
pub(crate) trait RowWriter {
    /// Appends the bytes of some rows; a format with groups of rows may hold them back.
    ///
    /// # Errors
    /// `invalid_input`, `unsupported` for values that the format has no form for.
    fn write(&mut self, batch: Batch, out: &mut Vec<u8>) -> QueryResult<()>;

    /// Appends what ends the file. Called once, after the last batch.
    ///
    /// # Errors
    /// As [`RowWriter::write`].
    fn finish(&mut self, out: &mut Vec<u8>) -> QueryResult<()>;
}

/// Bytes that a writer of another crate and its owner share.
#[derive(Clone, Default)]
pub(crate) struct Shared(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

impl Shared {
    /// Moves the bytes so far.
    pub(crate) fn take(&self, out: &mut Vec<u8>) {
        out.append(&mut self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
    }
}

impl std::io::Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut shared = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        shared.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
