//! Errors in an Ion stream.
//!
//! Every error has the byte offset, from the start of the stream, where the problem was found.
//! Callers that know the file and the row add them.

use std::fmt;

/// The result of reading or writing Ion.
pub type Result<T> = std::result::Result<T, Error>;

/// The kind of an error, coarse enough to act on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The bytes end inside a value; more input may complete it.
    Incomplete,
    /// The bytes are not Ion 1.0.
    Syntax,
    /// A symbol identifier or an import that no symbol table defines.
    Symbol,
    /// Valid so far, but larger or deeper than the configured [`crate::Limits`].
    Limit,
    /// A value larger than [`crate::Limits::value_size`].
    Size,
    /// Another version of Ion.
    Unsupported,
    /// A value that does not fit the requested column.
    Type,
    /// A record that is not a struct.
    Record,
    /// The source of the bytes failed.
    Io,
}

/// A located error. One pointer wide, so that hot paths return it cheaply.
#[derive(Clone)]
pub struct Error(Box<Repr>);

#[derive(Clone)]
struct Repr {
    kind: ErrorKind,
    offset: u64,
    message: String,
}

/// Bytes of a message before which names of columns are put.
const NAMES_SIZE: usize = 500;

impl Error {
    /// Builds an error of `kind` at byte `offset` of the stream.
    #[cold]
    pub fn new(kind: ErrorKind, offset: u64, message: impl Into<String>) -> Error {
        Error(Box::new(Repr { kind, offset, message: message.into() }))
    }

    #[cold]
    pub(crate) fn syntax(offset: usize, message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Syntax, offset as u64, message)
    }

    #[cold]
    pub(crate) fn incomplete(offset: usize) -> Error {
        Error::new(ErrorKind::Incomplete, offset as u64, "the value continues beyond the input")
    }

    #[cold]
    pub(crate) fn limit(offset: usize, message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Limit, offset as u64, message)
    }

    /// A value larger than `allowed` bytes.
    #[cold]
    pub(crate) fn size(allowed: usize) -> Error {
        Error::new(ErrorKind::Size, 0, format!("a value is larger than {allowed} bytes"))
    }

    /// The kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The offset of the error from the start of the stream, in bytes.
    pub fn offset(&self) -> u64 {
        self.0.offset
    }

    /// The sentence without the offset, for callers that print the position themselves.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The same error with its offset increased by `base`.
    #[must_use]
    pub fn shifted(mut self, base: u64) -> Error {
        self.0.offset += base;
        self
    }

    /// The same error with `context` before its message.
    #[must_use]
    pub fn within(mut self, context: &str) -> Error {
        self.0.message = format!("{context}: {}", self.0.message);
        self
    }

    /// The same error with the column's name, if the value is the problem. A long message stays as
    /// it is: columns nest deep, and names are as long as the input has them.
    #[cold]
    pub(crate) fn within_column(mut self, name: &str) -> Error {
        match self.0.kind {
            ErrorKind::Incomplete | ErrorKind::Io => {}
            _ if self.0.message.len() + name.len() > NAMES_SIZE => {}
            _ => self.0.message = in_column(name, &self.0.message),
        }
        self
    }

    pub(crate) fn is_incomplete(&self) -> bool {
        self.0.kind == ErrorKind::Incomplete
    }
}

/// A message about a value with the name of its column: of a field in a struct, the path to it.
#[must_use]
pub fn in_column(name: &str, message: &str) -> String {
    match message.strip_prefix("column `") {
        Some(below) => format!("column `{name}.{below}"),
        None => format!("column `{name}`: {message}"),
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.kind {
            // The offset at which the source failed is unknown.
            ErrorKind::Io => f.write_str(&self.0.message),
            _ => write!(f, "{} at byte {}", self.0.message, self.0.offset),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)
    }
}

impl std::error::Error for Error {}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Error {
        Error::new(ErrorKind::Io, 0, error.to_string())
    }
}
