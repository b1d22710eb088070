//! Error codes: the part of an error that programs may match on.
//!
//! The text of an error may be bettered in any release; its code may not
//! change. Python exception classes and JavaScript's `error.code` mirror these.

use std::fmt;

/// The stable, machine-readable kind of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorCode {
    /// A named thing (document, collection, database, file) does not exist.
    NotFound,
    /// The document exists already and the caller asked for that to be an error.
    Conflict,
    /// Stored bytes are not what they must be.
    Corrupted,
    /// A write through a handle, archive or file system that takes none.
    ReadOnly,
    /// Another process holds the writer's lock.
    Locked,
    /// A sync failed earlier; writes are refused until the handle is reopened.
    Poisoned,
    /// An id, name, option or document that breaks a rule.
    InvalidInput,
    /// Text that does not follow its grammar (JSON, SQL, ZiQL).
    Syntax,
    /// A value whose type does not fit the schema.
    TypeMismatch,
    /// A format version this release does not know.
    Unsupported,
    /// The handle was closed.
    Closed,
    /// The caller, or a signal, asked for the work to stop.
    Cancelled,
    /// A statement took longer than it may.
    Timeout,
    /// A statement needs more memory than it may hold.
    MemoryLimit,
    /// The operating system refused; the message carries its words.
    Io,
}

impl ErrorCode {
    /// The code as every surface spells it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::Conflict => "conflict",
            Self::Corrupted => "corrupted",
            Self::ReadOnly => "read_only",
            Self::Locked => "locked",
            Self::Poisoned => "poisoned",
            Self::InvalidInput => "invalid_input",
            Self::Syntax => "syntax",
            Self::TypeMismatch => "type_mismatch",
            Self::Unsupported => "unsupported",
            Self::Closed => "closed",
            Self::Cancelled => "cancelled",
            Self::Timeout => "timeout",
            Self::MemoryLimit => "memory_limit",
            Self::Io => "io",
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}
