//! Reads bytes of a file, and the numbers in them.

use std::path::Path;

use folio_file::File;

use crate::error::{Error, Result};

/// Reads until the buffer is full or the file ends.
pub(crate) fn read_up_to(
    file: &dyn File,
    path: &Path,
    buffer: &mut [u8],
    offset: u64,
) -> Result<usize> {
    file.read_at(buffer, offset).map_err(Error::io("read", path))
}

/// Four bytes as a number; 0 if out of bounds.
pub(crate) fn be32(bytes: &[u8], offset: usize) -> u32 {
    let four = bytes.get(offset..).and_then(|bytes| bytes.first_chunk::<4>());
    four.map_or(0, |four| u32::from_be_bytes(*four))
}
