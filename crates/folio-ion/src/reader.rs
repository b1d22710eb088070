//! Reads a stream value by value.
//!
//! ```text
//! bytes → buffer → cursor (text or binary) → value          → the caller
//!                                          → version marker → symbol table reset
//!                                          → its name, not as the marker → nothing
//!                                          → symbol table   → symbol table replaced
//! ```
//!
//! The buffer holds at least the value being read. If a cursor finds the value incomplete, the
//! buffer is refilled, at twice the size if the value fills it, and the value is read again from
//! its start. So no state is kept inside a value, and the work stays linear.

use crate::binary::{self, VERSION_MARKER};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::symbol::SymbolTable;
use crate::text::{self, Context, TopLevel};
use crate::value::Element;
use std::io::Read;
use std::sync::Arc;

const FIRST_BUFFER: usize = 64 << 10;

/// The encoding of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Text Ion, a superset of JSON.
    Text,
    /// Binary Ion, which starts with [`VERSION_MARKER`].
    Binary,
}

impl Encoding {
    /// The encoding of a stream that starts with `bytes`; `None` if more bytes are needed.
    pub fn detect(bytes: &[u8], last: bool) -> Option<Encoding> {
        match bytes.first() {
            Some(first) if *first == VERSION_MARKER[0] => Some(Encoding::Binary),
            None if !last => None,
            _ => Some(Encoding::Text),
        }
    }
}

/// An iterator over the top-level values of a stream. It ends after an error.
pub struct Reader<R> {
    source: R,
    buffer: Vec<u8>,
    /// Where the unread part of the buffer starts.
    at: usize,
    /// Bytes of the stream before the buffer.
    base: u64,
    last: bool,
    done: bool,
    encoding: Option<Encoding>,
    symbols: Arc<SymbolTable>,
    limits: Limits,
}

impl<R: Read> Reader<R> {
    /// Reads from `source` with the default limits.
    pub fn new(source: R) -> Reader<R> {
        Reader {
            source,
            buffer: Vec::new(),
            at: 0,
            base: 0,
            last: false,
            done: false,
            encoding: None,
            symbols: SymbolTable::system(),
            limits: Limits::default(),
        }
    }

    /// The same reader with other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Reader<R> {
        self.limits = limits;
        self
    }

    /// The number of bytes consumed.
    pub fn offset(&self) -> u64 {
        self.base + self.at as u64
    }

    /// The stream's encoding, after the first value was read.
    pub fn encoding(&self) -> Option<Encoding> {
        self.encoding
    }

    /// The current symbol table.
    pub fn symbols(&self) -> &Arc<SymbolTable> {
        &self.symbols
    }

    /// The next value.
    ///
    /// # Errors
    ///
    /// Any [`crate::ErrorKind`], with its offset. The stream cannot be read further.
    pub fn read(&mut self) -> Result<Option<Element>> {
        while !self.done {
            match self.step() {
                Ok(Some(element)) => return Ok(Some(element)),
                Ok(None) => {}
                Err(error) if error.is_incomplete() && !self.last => self.fill()?,
                Err(error) => {
                    self.done = true;
                    return Err(error.shifted(self.base));
                }
            }
        }
        Ok(None)
    }

    fn step(&mut self) -> Result<Option<Element>> {
        let Some(encoding) = self.encoding.or(Encoding::detect(&self.buffer, self.last)) else {
            return Err(Error::incomplete(0));
        };
        self.encoding = Some(encoding);
        let context = Context { symbols: &self.symbols, limits: &self.limits };
        let (found, at) = match encoding {
            Encoding::Text => {
                let mut cursor = text::Cursor::new(&self.buffer, self.at, self.last);
                (cursor.top_level(context), cursor.at)
            }
            Encoding::Binary => {
                let mut cursor = binary::Cursor::new(&self.buffer, self.at, self.last);
                (cursor.top_level(context), cursor.at)
            }
        };
        let found = found?;
        let start = std::mem::replace(&mut self.at, at);
        match found {
            TopLevel::End => self.done = true,
            TopLevel::Version => self.symbols = SymbolTable::system(),
            TopLevel::Nop => {}
            TopLevel::Element(element) if SymbolTable::is_definition(&element) => {
                let current = std::mem::replace(&mut self.symbols, SymbolTable::system());
                let defined = SymbolTable::define(current, &element, &self.limits);
                self.symbols = defined.map_err(|error| error.shifted(start as u64))?;
            }
            TopLevel::Element(element) => return Ok(Some(element)),
        }
        Ok(None)
    }

    /// Reads more bytes after the unread ones.
    fn fill(&mut self) -> Result<()> {
        self.buffer.drain(..self.at);
        self.base += self.at as u64;
        self.at = 0;
        let filled = self.buffer.len();
        if filled >= self.limits.value_size {
            self.done = true;
            return Err(Error::size(self.limits.value_size).shifted(self.base));
        }
        let wanted = (filled * 2).clamp(FIRST_BUFFER, self.limits.value_size.max(FIRST_BUFFER));
        self.buffer.resize(wanted.max(filled + 1), 0);
        let mut end = filled;
        // A slow source must not cause a long value to be read again for every byte.
        while end - filled <= filled / 2 && !self.last {
            match self.source.read(&mut self.buffer[end..]) {
                Ok(read) => {
                    end += read;
                    self.last = read == 0;
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.done = true;
                    return Err(error.into());
                }
            }
        }
        self.buffer.truncate(end);
        Ok(())
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Result<Element>;

    fn next(&mut self) -> Option<Result<Element>> {
        self.read().transpose()
    }
}

/// All values of `bytes`.
///
/// # Errors
///
/// As [`Reader::read`].
pub fn read_all(bytes: &[u8]) -> Result<Vec<Element>> {
    Reader::new(bytes).collect()
}
