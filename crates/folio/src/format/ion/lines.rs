//! Documents as Ion.
//!
//! JSON is a subset of Ion's text form, so a stored line is parsed as Ion. Integers become int,
//! numbers with a point become decimal, digit by digit, and those with an exponent become float if
//! a float has the same digits, otherwise decimal. Ion's int has no `-0`, so that is a decimal too.

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

/// A JSON text with its numbers as Ion writes their values.
fn ion_text(json: &[u8]) -> Vec<u8> {
    let mut ion = Vec::with_capacity(json.len() + 1);
    let mut rest = json;
    while let Some(first) = rest.first() {
        let size = match first {
            b'"' => string_size(rest),
            b'-' | b'0'..=b'9' => {
                let is_of_number =
                    |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
                rest.iter().position(|byte| !is_of_number(byte)).unwrap_or(rest.len())
            }
            _ => 1,
        };
        let (token, after) = rest.split_at(size);
        let exponent = token.iter().position(|byte| matches!(byte, b'e' | b'E'));
        let start = ion.len();
        ion.extend_from_slice(token);
        match exponent {
            Some(at) if *first != b'"' && !is_float(token) => ion[start + at] = b'd',
            None if token == b"-0" => ion.push(b'.'),
            _ => {}
        }
        rest = after;
    }
    ion
}

/// The size of the string that a text begins with.
fn string_size(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(step) = memchr::memchr2(b'"', b'\\', text.get(at..).unwrap_or_default()) {
        match text[at + step] {
            b'"' => return at + step + 1,
            _ => at += step + 2,
        }
    }
    text.len()
}

/// Whether the nearest double has the digits of a number.
fn is_float(number: &[u8]) -> bool {
    let mut key = Vec::new();
    let text = std::str::from_utf8(number).unwrap_or_default();
    folio_json::push_number_key(text, &mut key);
    folio_json::take_scalar(&mut &key[..]).is_some()
}

/// A JSON text, parsed as Ion.
///
/// # Errors
/// Where the text is neither.
pub fn of_json(text: &[u8]) -> folio_ion::Result<Element> {
    let block = Block {
        encoding: Encoding::Text,
        bytes: ion_text(text),
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
