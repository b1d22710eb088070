//! Error codes: the part of an error that programs may match on.
//!
//! The text of an error may be improved in any release; its code never changes. Python exception
//! classes and JavaScript's `error.code` mirror these.

use std::fmt;
use std::io;

/// The stable, machine-readable kind of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorCode {
    /// A named thing (document, collection, database, file) does not exist.
    NotFound,
    /// The document already exists, and the caller asked for an error in that case.
    Conflict,
    /// Stored bytes are not as expected.
    Corrupted,
    /// A write through a read-only handle, archive or file system.
    ReadOnly,
    /// Another process holds the writer's lock.
    Locked,
    /// A sync failed earlier; writes are rejected until the handle is reopened.
    Poisoned,
    /// An invalid id, name, option or document.
    InvalidInput,
    /// Text that does not follow its grammar (JSON, SQL, ZiQL).
    Syntax,
    /// A value whose type does not fit the schema.
    TypeMismatch,
    /// A format version that this release does not support.
    Unsupported,
    /// The handle was closed.
    Closed,
    /// The caller, or a signal, stopped the work.
    Cancelled,
    /// A statement exceeded its time limit.
    Timeout,
    /// A statement needs more memory than its limit.
    MemoryLimit,
    /// The operating system returned an error; the message contains it.
    Io,
}

impl ErrorCode {
    /// The code of an error of the operating system, or of another machine.
    #[must_use]
    pub fn of_io(kind: io::ErrorKind) -> Self {
        match kind {
            // A file at a URL is not the one that was opened.
            io::ErrorKind::StaleNetworkFileHandle => Self::Conflict,
            io::ErrorKind::Unsupported => Self::Unsupported,
            _ => Self::Io,
        }
    }

    /// The code as text, the same on every surface.
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
