//! One record of a source, and how records are read.

use super::Format;

/// How the records of a source are read.
#[derive(Debug, Clone)]
pub(crate) struct Reading {
    /// The format; `None` is told by the name and the first bytes.
    pub(crate) format: Option<Format>,
    /// CSV: the byte between cells; `None` is told by the header.
    pub(crate) delimiter: Option<u8>,
    /// CSV: the names of the columns, for a file without a header.
    pub(crate) columns: Option<Vec<String>>,
    /// CSV: whether numbers, `true` and `false` become such; else all is text.
    pub(crate) infer_types: bool,
    /// CSV: the cell that is NULL where it is not in quotes.
    pub(crate) null: String,
}

impl Default for Reading {
    fn default() -> Self {
        let null = String::new();
        Self { format: None, delimiter: None, columns: None, infer_types: true, null }
    }
}

/// One record, lent until the next is asked for.
#[derive(Debug)]
pub(crate) struct Record<'a> {
    /// The record as it stands in the source.
    pub(crate) raw: &'a [u8],
    /// The line it starts on, from 1; its number where there are no lines.
    pub(crate) line: u64,
    /// JSON text on one line, not validated, or why there is none.
    pub(crate) json: Result<&'a [u8], String>,
}
