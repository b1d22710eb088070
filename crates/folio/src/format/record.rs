//! One record of a source, and the options for reading records.

use super::Format;

/// Options for reading the records of a source.
#[derive(Debug, Clone)]
pub(crate) struct Reading {
    /// The format; `None` guesses it from the name and the first bytes.
    pub(crate) format: Option<Format>,
    /// CSV: the delimiter; `None` guesses it from the header.
    pub(crate) delimiter: Option<u8>,
    /// CSV: the names of the columns, for a file without a header.
    pub(crate) columns: Option<Vec<String>>,
    /// CSV: whether to recognise numbers, `true` and `false`; otherwise all cells are text.
    pub(crate) infer_types: bool,
    /// CSV: the unquoted cell that means NULL.
    pub(crate) null: String,
}

impl Default for Reading {
    fn default() -> Self {
        let null = String::new();
        Self { format: None, delimiter: None, columns: None, infer_types: true, null }
    }
}

/// One record, borrowed until the next one is read.
#[derive(Debug)]
pub(crate) struct Record<'a> {
    /// The record as it is in the source.
    pub(crate) raw: &'a [u8],
    /// The line it starts on, from 1; its number in formats without lines.
    pub(crate) line: u64,
    /// The record as unvalidated JSON on one line, or why there is none.
    pub(crate) json: Result<&'a [u8], String>,
}
