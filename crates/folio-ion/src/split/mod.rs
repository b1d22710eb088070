//! Cuts a stream into blocks of whole values.
//!
//! ```text
//! bytes → buffer → step over values until the buffer is used up → block (whole values)
//!                → version marker, symbol table: taken out here, blocks never hold them
//! ```
//!
//! Skipping a value costs a fraction of reading it (text: brackets are counted 64 bytes at a time;
//! binary: its length is known). So one thread splits and many read. A block has its offset, its
//! first row and its symbol table, which is all that a reader needs. The splitter also counts, so a
//! row count needs nothing more.

mod binary;
mod piece;
mod relay;
mod text;

pub use piece::next_opening_line;
pub use relay::{Ahead, Place, Relay};

use crate::buffer::Buffer;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::reader::Encoding;
use crate::shred::Block;
use crate::symbol::SymbolTable;
use crate::text::{Context, TopLevel};
use std::io::Read;
use std::sync::Arc;

/// What the records of a stream are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Elements if the stream is one list, otherwise top-level values. It counts as one list if no
    /// value follows the list within the first 64 KiB.
    Auto,
    /// Top-level values.
    Values,
    /// Elements of top-level lists.
    List,
}

/// Cuts a stream into [`Block`]s.
pub struct Splitter<R> {
    source: R,
    block_size: usize,
    limits: Limits,
    format: Format,
    /// Whether it is known that the stream is not several lists.
    format_known: bool,
    /// Bytes read after the last block.
    carry: Vec<u8>,
    /// Where `carry` starts in the stream.
    base: u64,
    last: bool,
    done: bool,
    is_eager: bool,
    encoding: Option<Encoding>,
    symbols: Arc<SymbolTable>,
    rows: u64,
    /// Inside a top-level list: for binary its end, for text the number of values before it.
    list: Option<u64>,
    /// Whether the last scan stopped because it needed more bytes.
    starved: bool,
    /// The ends of the block's first records; for text, if they were found line by line.
    ends: Vec<u32>,
    /// Symbols copied because blocks still hold an older table.
    copied: usize,
    /// Values to skip one by one before trying to find records line by line again.
    detour: u32,
}

/// How many bytes decide whether a stream is one list. Independent of the block size, so that all
/// splitters of a stream agree.
const LOOK: usize = 64 << 10;

/// How many full symbol tables a stream may cause to be copied.
const COPIES: usize = 256;

/// Where a scan of the buffer stopped.
enum Stop {
    /// At the end of the bytes; whole values end at this offset.
    Incomplete(usize),
    /// At something that is not a value: the block ends before it.
    System(usize),
    /// At the end of the stream.
    End(usize),
}

impl<R: Read> Splitter<R> {
    /// Cuts `source` into blocks of about `block_size` bytes.
    pub fn new(source: R, block_size: usize, format: Format, limits: Limits) -> Splitter<R> {
        Splitter {
            source,
            block_size: block_size.max(16),
            limits,
            format,
            format_known: format != Format::Auto,
            carry: Vec::new(),
            base: 0,
            last: false,
            done: false,
            is_eager: false,
            encoding: None,
            symbols: SymbolTable::system(),
            rows: 0,
            list: None,
            starved: false,
            ends: Vec::new(),
            copied: 0,
            detour: 0,
        }
    }

    /// Cuts the rest of a stream from `place` on.
    pub fn resumed(
        source: R,
        block_size: usize,
        format: Format,
        limits: Limits,
        place: Place,
    ) -> Splitter<R> {
        Splitter {
            base: place.offset,
            rows: place.rows,
            encoding: Some(place.encoding),
            symbols: place.symbols,
            ..Splitter::new(source, block_size, format, limits)
        }
    }

    /// Whether a block ends after one read of the source, instead of waiting until it is full. For
    /// slow sources.
    pub fn set_eager(&mut self, is_eager: bool) {
        self.is_eager = is_eager;
    }

    /// The source.
    pub fn get_ref(&self) -> &R {
        &self.source
    }

    /// The source. Callers must not read from it.
    pub fn get_mut(&mut self) -> &mut R {
        &mut self.source
    }

    /// Bytes of the stream in the blocks returned so far.
    pub fn offset(&self) -> u64 {
        self.base
    }

    /// Values in the blocks returned so far.
    pub fn row_count(&self) -> u64 {
        self.rows
    }

    /// The stream's encoding, after the first block.
    pub fn encoding(&self) -> Option<Encoding> {
        self.encoding
    }

    /// The next block, in the memory of `recycled`; `None` at the end.
    ///
    /// # Errors
    ///
    /// As [`crate::Reader::read`]. Blocks before the error were already returned. Text inside
    /// values is checked only when it is read.
    pub fn next_block(&mut self, recycled: Vec<u8>) -> Result<Option<Block>> {
        let mut buffer = Buffer { bytes: recycled, filled: 0 };
        buffer.append(&self.carry);
        self.carry.clear();
        if std::mem::take(&mut self.starved) {
            self.fill(&mut buffer).map_err(|error| error.shifted(self.base))?;
        }
        while !self.done {
            let scanned = self.scan(&mut buffer);
            let scanned = scanned.inspect_err(|_| self.done = true);
            if let Some(block) = scanned.map_err(|error| error.shifted(self.base))? {
                return Ok(Some(block));
            }
        }
        Ok(None)
    }

    /// Reads the first bytes, and treats a stream of several lists as a stream of values. A slow
    /// source is judged by the bytes that came first.
    fn look_for_lists(&mut self, buffer: &mut Buffer) -> Result<()> {
        while buffer.filled < LOOK && !self.last {
            self.fill(buffer)?;
            if self.is_eager {
                break;
            }
        }
        let bytes = &buffer.bytes[..buffer.filled.min(LOOK)];
        self.format_known = true;
        let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
        if first.is_some_and(|first| *first != b'{') && begins_with_lists(bytes) {
            self.format = Format::Values;
        }
        Ok(())
    }

    /// One pass over the buffer: a block, or progress towards one.
    fn scan(&mut self, buffer: &mut Buffer) -> Result<Option<Block>> {
        if !self.format_known {
            self.look_for_lists(buffer)?;
        }
        let bytes = &buffer.bytes[..buffer.filled];
        let Some(encoding) = self.encoding.or(Encoding::detect(bytes, self.last)) else {
            self.fill(buffer)?;
            return Ok(None);
        };
        self.encoding = Some(encoding);
        let (stop, count) = match encoding {
            Encoding::Text => self.scan_text(bytes)?,
            Encoding::Binary => self.scan_binary(bytes)?,
        };
        let end = match stop {
            Stop::Incomplete(at) | Stop::System(at) | Stop::End(at) => at,
        };
        if count > 0 {
            self.carry.clear();
            self.carry.extend_from_slice(&bytes[end..]);
            let mut bytes = std::mem::take(&mut buffer.bytes);
            bytes.truncate(end);
            let block = Block {
                encoding,
                bytes,
                start: 0,
                offset: self.base,
                first_row: self.rows,
                row_count: count,
                ends: self.take_ends(),
                in_list: self.list.is_some(),
                symbols: self.symbols.clone(),
            };
            self.rows += count;
            self.base += end as u64;
            self.starved = matches!(stop, Stop::Incomplete(_))
                && !self.last
                && self.carry.len() < self.block_size;
            // An incomplete scan continues after the block; so does one stopped by a symbol table.
            return Ok(Some(block));
        }
        match stop {
            Stop::Incomplete(_) => self.fill(buffer)?,
            Stop::System(at) => self.system(buffer, at)?,
            Stop::End(_) => self.done = true,
        }
        Ok(None)
    }

    fn context(&self) -> Context<'_> {
        Context { symbols: &self.symbols, limits: &self.limits }
    }

    fn is_value(&self, found: &TopLevel) -> bool {
        matches!(found, TopLevel::Element(element) if !SymbolTable::is_definition(element))
    }

    fn opens_list(&self, count: u64) -> bool {
        match self.format {
            Format::Auto => self.rows + count == 0,
            Format::Values => false,
            Format::List => true,
        }
    }

    /// Returns the ends, and reserves room for as many of the next block.
    fn take_ends(&mut self) -> Vec<u32> {
        let room = self.ends.len() + self.ends.len() / 8;
        std::mem::replace(&mut self.ends, Vec::with_capacity(room))
    }

    /// Handles what is at `at` and is not a record: a version marker, its name in a form without
    /// meaning, a symbol table, the start or the end of a list.
    fn system(&mut self, buffer: &mut Buffer, at: usize) -> Result<()> {
        let bytes = &buffer.bytes[..buffer.filled];
        let taken = match self.encoding {
            Some(Encoding::Binary) => self.system_binary(bytes, at),
            _ => self.system_text(bytes, at),
        };
        match taken {
            Ok(end) => {
                buffer.bytes.copy_within(end..buffer.filled, 0);
                buffer.filled -= end;
                self.base += end as u64;
                Ok(())
            }
            Err(error) if error.is_incomplete() => self.fill(buffer),
            Err(error) => Err(error),
        }
    }

    /// Counts the copy that an append to a table needs while a block still holds the table. The
    /// limit stops a file of tiny appends to a huge table from taking forever.
    fn charge(&mut self, at: usize) -> Result<()> {
        if Arc::strong_count(&self.symbols) > 1 {
            self.copied = self.copied.saturating_add(self.symbols.len());
        }
        match self.copied > self.limits.symbol_count.saturating_mul(COPIES) {
            true => Err(Error::limit(at, "symbol tables are appended to too often")),
            false => Ok(()),
        }
    }

    fn define(&mut self, found: TopLevel, at: usize) -> Result<()> {
        match found {
            TopLevel::End | TopLevel::Nop => Ok(()),
            TopLevel::Version => {
                self.symbols = SymbolTable::system();
                Ok(())
            }
            TopLevel::Element(element) if SymbolTable::is_definition(&element) => {
                self.charge(at)?;
                let current = std::mem::replace(&mut self.symbols, SymbolTable::system());
                let defined = SymbolTable::define(current, &element, &self.limits);
                self.symbols = defined.map_err(|error| error.shifted(at as u64))?;
                Ok(())
            }
            TopLevel::Element(_) => unreachable!("values are told from system values before"),
        }
    }

    /// Reads more bytes after those in the buffer.
    fn fill(&mut self, buffer: &mut Buffer) -> Result<()> {
        let filled = buffer.filled;
        if filled >= self.limits.value_size && filled > self.block_size {
            return Err(Error::size(self.limits.value_size));
        }
        let wanted = if filled < self.block_size { self.block_size } else { filled * 2 };
        if buffer.bytes.len() < wanted {
            buffer.bytes.resize(wanted, 0);
        }
        while buffer.filled < wanted && !self.last {
            match self.source.read(&mut buffer.bytes[buffer.filled..wanted]) {
                Ok(read) => {
                    buffer.filled += read;
                    self.last = read == 0;
                    if self.is_eager {
                        return Ok(());
                    }
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// Whether the whole values in `bytes` are a list followed by something else.
fn begins_with_lists(bytes: &[u8]) -> bool {
    let mut splitter = Splitter::new(bytes, bytes.len(), Format::Values, Limits::default());
    let mut is_list = false;
    while let Ok(Some(block)) = splitter.next_block(Vec::new()) {
        if block.first_row == 0 {
            is_list = opens_with_list(&block);
        }
        if !is_list || block.first_row + block.row_count > 1 {
            return is_list;
        }
    }
    false
}

fn opens_with_list(block: &Block) -> bool {
    let first = block.seek(block.start).ok().and_then(|at| block.bytes.get(at));
    match block.encoding {
        Encoding::Text => first == Some(&b'['),
        Encoding::Binary => matches!(first, Some(0xb0..=0xbe)),
    }
}

enum Step {
    Value,
    System,
    End,
}
