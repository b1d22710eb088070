//! The errors of reading a file.

use std::io;
use std::path::{Path, PathBuf};

use folio_types::ErrorCode;
use thiserror::Error;

/// The result of every function that reads a file.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a file cannot be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// Its content is invalid, or another process writes to it.
    #[error("SQLite file {path:?}{place}: {reason}")]
    File {
        /// The file.
        path: PathBuf,
        /// Where in it: the table and the page, as far as they are known.
        place: String,
        /// What is wrong there, or what to do.
        reason: String,
        /// The stable code.
        code: ErrorCode,
    },

    /// The path is a directory.
    #[error("{0:?} is a directory; name the file to import")]
    Directory(PathBuf),

    /// The operating system returned an error.
    #[error("cannot {action} {path:?}: {source}")]
    Io {
        /// The attempted action: `read`, `lock`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl Error {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::File { code, .. } => *code,
            Self::Directory(_) => ErrorCode::InvalidInput,
            Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                ErrorCode::NotFound
            }
            Self::Io { .. } => ErrorCode::Io,
        }
    }

    /// An error about a file as a whole.
    pub(crate) fn file(path: &Path, code: ErrorCode, reason: &str) -> Self {
        Self::File { path: path.to_owned(), place: String::new(), reason: reason.to_owned(), code }
    }

    /// Wraps a system error with the action and the file.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, path: path.to_owned(), source }
    }
}
