//! Documents as Ion.
//!
//! JSON is a subset of Ion's text form, so a stored line is parsed as Ion. Integers become int,
//! numbers with a point become decimal, digit by digit, and those with an exponent become float.

use folio_document::Error as CollectionError;
use folio_ion::shred::Block;
use folio_ion::write::{BinaryWriter, Layout, TextWriter, write_element};
use folio_ion::{Element, Encoding, Limits, SymbolTable};

use crate::error::Result;

/// Writes lines as one stream.
pub(crate) enum IonLines {
    Text(TextWriter),
    Binary(BinaryWriter),
}

impl IonLines {
    pub(crate) fn new(is_binary: bool) -> Self {
        match is_binary {
            true => Self::Binary(BinaryWriter::new()),
            false => Self::Text(TextWriter::new(Layout::Compact)),
        }
    }

    /// Adds a line.
    ///
    /// # Errors
    /// `syntax` when it is not JSON, as after a manual edit.
    pub(crate) fn push(&mut self, line: &[u8]) -> Result<()> {
        let element = of_json(line).map_err(|error| {
            let offset = usize::try_from(error.offset()).unwrap_or(usize::MAX);
            CollectionError::Json { offset, reason: "not a JSON object" }
        })?;
        match self {
            Self::Text(writer) => write_element(writer, &element),
            Self::Binary(writer) => write_element(writer, &element),
        }
        Ok(())
    }

    /// Bytes ready to be taken.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Text(writer) => writer.bytes().len(),
            Self::Binary(writer) => writer.size(),
        }
    }

    /// The next bytes of the stream.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        match self {
            Self::Text(writer) => writer.take(),
            Self::Binary(writer) => writer.take(),
        }
    }
}

/// A JSON text, parsed as Ion.
///
/// # Errors
/// Where the text is neither.
pub(super) fn of_json(text: &[u8]) -> folio_ion::Result<Element> {
    let block = Block {
        encoding: Encoding::Text,
        bytes: text.to_vec(),
        start: 0,
        offset: 0,
        first_row: 0,
        row_count: 1,
        ends: Vec::new(),
        in_list: false,
        symbols: SymbolTable::system(),
    };
    let limits = Limits { value_size: usize::MAX, ..Limits::default() };
    let nothing = || folio_ion::Error::new(folio_ion::ErrorKind::Syntax, 0, "there is no value");
    Ok(block.element(0, &limits)?.ok_or_else(nothing)?.0)
}
