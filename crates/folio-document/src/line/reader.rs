//! Splits a range of a file into lines with large reads.
//!
//! A line ends with LF, or at the end of the range. A carriage return before the LF and a
//! byte-order mark at the start of the file are not part of a line.

use std::io;

use folio_file::File;

/// Bytes per read: large enough to hide the cost of the call, small enough for the second-level
/// cache.
const READ_SIZE: usize = 256 << 10;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One line as found in the file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawLine<'a> {
    /// Where `text` starts in the file.
    pub(crate) offset: u64,
    /// The line without its end.
    pub(crate) text: &'a [u8],
    /// Where the next line starts.
    pub(crate) next: u64,
    /// Whether a line feed ends it.
    pub(crate) terminated: bool,
}

/// Reads the lines of `[start, end)` of a file in order.
#[derive(Debug)]
pub(crate) struct LineReader<'f> {
    file: &'f dyn File,
    buffer: Vec<u8>,
    /// File offset of `buffer[0]`.
    base: u64,
    /// First byte of the buffer that was not yet returned.
    at: usize,
    /// Bytes of the buffer that hold file content.
    filled: usize,
    /// From this offset on, the buffer was not yet searched for a line feed.
    searched: usize,
    end: u64,
}

impl<'f> LineReader<'f> {
    pub(crate) fn new(file: &'f dyn File, start: u64, end: u64) -> Self {
        Self { file, buffer: Vec::new(), base: start, at: 0, filled: 0, searched: 0, end }
    }

    /// The next line, or `None` at the end of the range or of the file.
    pub(crate) fn next(&mut self) -> io::Result<Option<RawLine<'_>>> {
        let terminated = loop {
            match memchr::memchr(b'\n', &self.buffer[self.searched..self.filled]) {
                Some(found) => {
                    self.searched += found;
                    break true;
                }
                None => {
                    self.searched = self.filled;
                    if !self.fill()? {
                        break false;
                    }
                }
            }
        };
        if !terminated && self.at == self.filled {
            return Ok(None);
        }
        let start = self.at;
        let stop = self.searched; // the line feed, or the end of the buffer
        self.at = stop + usize::from(terminated);
        self.searched = self.at;
        let next = self.base + self.at as u64;
        let mut text = &self.buffer[start..stop];
        let mut offset = self.base + start as u64;
        if offset == 0 && text.starts_with(BYTE_ORDER_MARK) {
            text = &text[BYTE_ORDER_MARK.len()..];
            offset += BYTE_ORDER_MARK.len() as u64;
        }
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        Ok(Some(RawLine { offset, text, next, terminated }))
    }

    /// Goes on at a line that starts further on.
    pub(crate) fn skip_to(&mut self, offset: u64) {
        let ahead = offset.saturating_sub(self.position());
        match usize::try_from(ahead) {
            Ok(ahead) if ahead <= self.filled - self.at => self.at += ahead,
            _ => (self.base, self.at, self.filled) = (offset, 0, 0),
        }
        self.searched = self.at;
    }

    /// Where the next line starts.
    pub(crate) fn position(&self) -> u64 {
        self.base + self.at as u64
    }

    /// Reads more after the buffered bytes; `false` at the end.
    fn fill(&mut self) -> io::Result<bool> {
        let kept = self.filled - self.at;
        self.buffer.copy_within(self.at..self.filled, 0);
        self.base += self.at as u64;
        self.searched -= self.at;
        self.at = 0;
        self.filled = kept;
        let position = self.base + kept as u64;
        let left = self.end.saturating_sub(position);
        // A line longer than the buffer doubles the buffer, so its bytes are copied O(1) times.
        let wanted = left.min(READ_SIZE.max(kept) as u64) as usize;
        if wanted == 0 {
            return Ok(false);
        }
        if self.buffer.len() < kept + wanted {
            self.buffer.resize(kept + wanted, 0);
        }
        let buffer = &mut self.buffer[kept..kept + wanted];
        let read = self.file.read_on(buffer, position, self.end)?;
        self.filled += read;
        Ok(read > 0)
    }
}
