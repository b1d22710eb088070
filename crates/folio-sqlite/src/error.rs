//! What can go wrong with a file.

use std::io;
use std::path::{Path, PathBuf};

use folio_types::ErrorCode;
use thiserror::Error;

/// The result of everything that reads a file.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a file cannot be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// Its content is not what it must be, or somebody writes to it.
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

    /// There is a directory at the path.
    #[error("{0:?} is a directory; name the file to import")]
    Directory(PathBuf),

    /// The operating system refused.
    #[error("cannot {action} {path:?}: {source}")]
    Io {
        /// What was tried: `read`, `lock`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's words.
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

    /// Something about a file as a whole.
    pub(crate) fn file(path: &Path, code: ErrorCode, reason: &str) -> Self {
        Self::File { path: path.to_owned(), place: String::new(), reason: reason.to_owned(), code }
    }

    /// Wraps a system error with what was tried on which file.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, path: path.to_owned(), source }
    }
}
