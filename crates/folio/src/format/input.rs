//! A forward-moving window on a source, with line numbers.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use folio_stream::{decompress, decompress_ahead};

use super::Source;
use crate::error::{Error, Result};

/// The size of the window, until a record needs more.
const WINDOW_SIZE: usize = 1 << 20;

/// The size of the longest record. A longer one is rejected, so that a file without line ends
/// cannot use up all memory.
pub(crate) const MAX_RECORD_SIZE: usize = 256 << 20;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Decompressed bytes of a source.
pub(crate) struct Input {
    name: String,
    reader: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    is_at_end: bool,
    /// Bytes before the window.
    offset: u64,
    /// The number of the window's first line, from 1.
    line: u64,
    read_size: Arc<AtomicU64>,
    /// Whether reads may block for long.
    is_pipe: bool,
}

impl Input {
    /// Opens a source and fills the first window. Skips a byte-order mark.
    ///
    /// # Errors
    /// Errors of the reader; `syntax` for UTF-16.
    pub(crate) fn open(source: Source) -> Result<Self> {
        let Source { name, reader, read_size, flow, .. } = source;
        // What a pipe has at hand must not wait for more: a thread reads it already.
        let decompress = if flow.is_some() { decompress } else { decompress_ahead };
        let reader = decompress(reader).map_err(Error::io("read", name.as_ref()))?;
        let mut input = Self {
            name,
            reader,
            buffer: vec![0; WINDOW_SIZE],
            start: 0,
            end: 0,
            is_at_end: false,
            offset: 0,
            line: 1,
            read_size,
            is_pipe: flow.is_some(),
        };
        // For a pipe, the first line is enough to begin.
        let is_wanted = |input: &Self| match &flow {
            Some(flow) => flow.is_ready() || !is_enough(input.window()),
            None => true,
        };
        while input.end < WINDOW_SIZE && is_wanted(&input) && input.fill()? {}
        if input.window().starts_with(BYTE_ORDER_MARK) {
            input.consume(BYTE_ORDER_MARK.len(), 0);
        }
        if input.window().starts_with(b"\xff\xfe") || input.window().starts_with(b"\xfe\xff") {
            return Err(
                input.fault("it is UTF-16; convert it to UTF-8 first, for instance with iconv")
            );
        }
        Ok(input)
    }

    /// The source's name in messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Bytes of the source read so far, as stored.
    pub(crate) fn read_size(&self) -> u64 {
        self.read_size.load(Ordering::Relaxed)
    }

    /// The available bytes, not consumed yet.
    #[inline]
    pub(crate) fn window(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Whether reads may block for long, so that available data must not wait for more.
    pub(crate) fn is_pipe(&self) -> bool {
        self.is_pipe
    }

    /// Whether the window reaches the end of the source.
    pub(crate) fn holds_all(&self) -> bool {
        self.is_at_end
    }

    /// The number of the window's first line, from 1.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// Decompressed bytes consumed so far.
    pub(crate) fn position(&self) -> u64 {
        self.offset
    }

    /// Reads more bytes into the window, growing it if needed; `false` at the end of the source.
    ///
    /// # Errors
    /// Errors of the reader.
    pub(crate) fn fill(&mut self) -> Result<bool> {
        if self.is_at_end {
            return Ok(false);
        }
        if self.end == self.buffer.len() {
            self.make_room();
        }
        let size = loop {
            match self.reader.read(&mut self.buffer[self.end..]) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                result => break result.map_err(Error::io("read", self.name.as_ref()))?,
            }
        };
        self.end += size;
        self.is_at_end = size == 0;
        Ok(size > 0)
    }

    fn make_room(&mut self) {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end > self.buffer.len() / 2 {
            let size = self.buffer.len() * 2;
            self.buffer.resize(size, 0);
        }
    }

    /// Moves the window past `size` bytes that hold `line_end_count` line feeds.
    #[inline]
    pub(crate) fn consume(&mut self, size: usize, line_end_count: u64) {
        debug_assert!(size <= self.end - self.start, "only what is at hand can be consumed");
        self.start += size;
        self.offset += size as u64;
        self.line += line_end_count;
    }

    /// Moves the window to a position ahead, counting lines.
    ///
    /// # Errors
    /// Errors of the reader; `syntax` when the source ends earlier.
    pub(crate) fn skip_to(&mut self, position: u64) -> Result<()> {
        while self.offset < position {
            let wanted = usize::try_from(position - self.offset).unwrap_or(usize::MAX);
            let size = self.window().len().min(wanted);
            let line_end_count = memchr::memchr_iter(b'\n', &self.window()[..size]).count() as u64;
            self.consume(size, line_end_count);
            if size == 0 && !self.fill()? {
                return Err(
                    self.fault("it is shorter than it was when the import began; restart it")
                );
            }
        }
        Ok(())
    }

    /// An error at the start of the window.
    pub(crate) fn fault(&self, reason: impl Into<String>) -> Error {
        Error::Source { source_name: self.name.clone(), line: self.line, reason: reason.into() }
    }
}

/// Whether the format can be recognised: from a whole line, or a distinctive first byte.
fn is_enough(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    let is_distinctive = |first: &u8| *first == b'[' || !first.is_ascii();
    text.first().is_some_and(is_distinctive) || memchr::memchr(b'\n', text).is_some()
}
