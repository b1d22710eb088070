//! Memory for a block that is being read and scanned.

/// A buffer whose first `filled` bytes are being scanned. The bytes after them are from an older
/// block; they are reused so that the memory need not be initialised again.
pub(crate) struct Buffer {
    pub(crate) bytes: Vec<u8>,
    pub(crate) filled: usize,
}

impl Buffer {
    /// Appends `more` to the filled part.
    pub(crate) fn append(&mut self, more: &[u8]) {
        let end = self.filled + more.len();
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        self.bytes[self.filled..end].copy_from_slice(more);
        self.filled = end;
    }
}
