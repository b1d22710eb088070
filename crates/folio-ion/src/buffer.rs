//! Memory for a block that is being filled and scanned.

/// Bytes being scanned: the first `filled` of them. What lies behind is an older block's and spares
/// us making memory ready again.
pub(crate) struct Buffer {
    pub(crate) bytes: Vec<u8>,
    pub(crate) filled: usize,
}

impl Buffer {
    /// Puts `more` behind the filled part.
    pub(crate) fn append(&mut self, more: &[u8]) {
        let end = self.filled + more.len();
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        self.bytes[self.filled..end].copy_from_slice(more);
        self.filled = end;
    }
}
