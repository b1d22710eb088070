//! The file that rows or documents are written to.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use folio_file::FileSystem;
use folio_stream::Compressor;

use super::{Format, to_write};
use crate::error::{Error, Result};
use crate::write::{AtomicFile, file_target};

/// An output file, compressed as its name says. It appears at [`OutputFile::commit`]; if it is
/// dropped earlier, nothing remains.
pub(crate) struct OutputFile(Compressor<AtomicFile>);

impl OutputFile {
    /// Begins a file at `path`, and returns the format to write.
    ///
    /// # Errors
    /// As [`to_write`]; `invalid_input` when something other than a file is there; `io`.
    pub(crate) fn create(
        files: &Arc<dyn FileSystem>,
        path: &Path,
        asked: Option<Format>,
    ) -> Result<(Self, Format)> {
        // Whatever its name, first refuse what a rename would destroy.
        file_target(&**files, path)?;
        let (format, compression) = to_write(path, asked)?;
        let file = AtomicFile::create(Arc::clone(files), path)?;
        Ok((Self(Compressor::new(compression, file)), format))
    }

    /// Renames the file to its path, durably. Returns its size in bytes.
    ///
    /// # Errors
    /// `io`.
    pub(crate) fn commit(self, path: &Path) -> Result<u64> {
        self.0.finish().map_err(Error::io("write", path))?.commit()
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
