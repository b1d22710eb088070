//! What can go wrong with a collection, and what the caller can do about it.

use std::io;
use std::path::{Path, PathBuf};

use folio_file::{LockError, RemoteError, advice};
use folio_types::{ErrorCode, NameError};
use thiserror::Error;

/// The result of every fallible operation in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error from a collection.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The id or the name is invalid.
    #[error(transparent)]
    Name(#[from] NameError),

    /// The collection does not exist and the operation does not create it.
    #[error("collection {name:?} does not exist; create it by writing to it")]
    NoCollection {
        /// The requested collection.
        name: String,
    },

    /// The text is not a JSON object.
    #[error("document is not valid JSON at byte {offset}: {reason}")]
    Json {
        /// The position in the text, in bytes.
        offset: usize,
        /// What is wrong there.
        reason: &'static str,
    },

    /// The document has a different `_id` than the one it is put under.
    #[error(
        "document carries \"_id\" {found:?} but is put under {asked:?}; make them equal or leave \"_id\" out"
    )]
    IdMismatch {
        /// The id in the document.
        found: String,
        /// The id it is put under.
        asked: String,
    },

    /// The document has no `_id` and none was given.
    #[error("document has no \"_id\"; give it one, or name the field that holds it")]
    NoId,

    /// The document does not follow the collection's schema.
    #[error(
        "Schema mismatch in collection {collection:?}, document {id:?}, at {path:?}: {reason}; \
         correct the document, or change the collection's schema"
    )]
    Schema {
        /// The strict collection.
        collection: String,
        /// The document.
        id: String,
        /// The dotted path of the value that does not fit.
        path: String,
        /// What was expected and what was found.
        reason: String,
    },

    /// The schema uses something that this release does not support.
    #[error("schema is not usable at {path:?}: {reason}")]
    BadSchema {
        /// The dotted path inside the schema.
        path: String,
        /// What is wrong.
        reason: String,
    },

    /// A document with this id already exists.
    #[error(
        "document {id:?} already exists in collection {collection:?}; use put to replace it, or \
         choose another id"
    )]
    Conflict {
        /// The collection.
        collection: String,
        /// The id that is taken.
        id: String,
    },

    /// A unique index already has the values of a document.
    #[error(
        "document {id:?} of collection {collection:?} already has {values}, which is \
         unique by index {index:?}; choose another value, or change that document"
    )]
    Duplicate {
        /// The collection.
        collection: String,
        /// The index.
        index: String,
        /// Its fields with their values.
        values: String,
        /// The document that has them.
        id: String,
    },

    /// The collection already has an index on fields with this name.
    #[error(
        "collection {collection:?} already has an index {index:?}; choose another name, or drop it"
    )]
    IndexExists {
        /// The collection.
        collection: String,
        /// The name that is taken.
        index: String,
    },

    /// The collection has no such index on fields.
    #[error("collection {collection:?} has no index {index:?}")]
    NoIndex {
        /// The collection.
        collection: String,
        /// The requested index.
        index: String,
    },

    /// Another process is writing.
    #[error(
        "database {path:?} is open for writing in another process{holder}; close it there, or open read-only"
    )]
    Locked {
        /// The database directory.
        path: PathBuf,
        /// ` (pid 123)`, or empty if the holder is unknown.
        holder: String,
    },

    /// The lock that this process took protects nothing any more.
    #[error(transparent)]
    LockLost(LockError),

    /// The handle, the archive or the file system is read-only.
    #[error("collection {collection:?} is open read-only: {reason}")]
    ReadOnly {
        /// The collection.
        collection: String,
        /// Why, and what to do.
        reason: String,
    },

    /// A sync failed earlier, or the files were gone, so nothing written since can be promised.
    #[error(
        "collection {collection:?} refuses writes after a failure ({cause}); reads continue, \
         reopen it to write again"
    )]
    Poisoned {
        /// The collection.
        collection: String,
        /// The message of that failure.
        cause: String,
    },

    /// The documents of a range are not those it was planned for.
    #[error(
        "collection {collection:?} was changed since its partitions were planned; plan them again"
    )]
    Changed {
        /// The collection.
        collection: String,
    },

    /// Somebody edited the data file while it was read.
    #[error("collection {collection:?} was changed while it was read; repeat the scan")]
    Edited {
        /// The collection.
        collection: String,
    },

    /// The data file does not begin with the lines that it had up to a position.
    #[error(
        "collection {collection:?} was compacted, rewritten or edited since the position at byte \
         {size}; nothing tells what was read before it, so begin again without a position"
    )]
    Moved {
        /// The collection.
        collection: String,
        /// Bytes before the position.
        size: u64,
    },

    /// The handle was closed, by itself or because the collection was dropped or renamed.
    #[error(
        "collection {collection:?} was dropped, renamed or closed; ask the database for it again"
    )]
    Closed {
        /// The collection.
        collection: String,
    },

    /// Bytes on disk are not as expected.
    #[error("{path:?} is damaged at byte {offset}: {reason}; {repair}")]
    Corrupted {
        /// The damaged file.
        path: PathBuf,
        /// The position in the file, in bytes.
        offset: u64,
        /// What was expected and what was found.
        reason: String,
        /// The command or step that repairs it.
        repair: String,
    },

    /// The file has a newer format version than this release supports.
    #[error(
        "{path:?} has format version {found}, this release knows up to {known}; use a newer release"
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// The version found.
        found: u64,
        /// The newest supported version.
        known: u64,
    },

    /// An option that is not valid here.
    #[error("{0}")]
    Invalid(String),

    /// The caller stopped the work. What was already committed remains.
    #[error("cancelled")]
    Cancelled,

    /// The operating system returned an error.
    #[error("cannot {action} {path:?}: {source}{}", advice(.source))]
    Io {
        /// The attempted action: `read`, `append to`, `sync`, …
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

impl Error {
    /// The stable code that every surface reports.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Name(_) | Self::IdMismatch { .. } | Self::NoId | Self::Invalid(_) => {
                ErrorCode::InvalidInput
            }
            Self::BadSchema { .. } => ErrorCode::InvalidInput,
            Self::NoCollection { .. } | Self::NoIndex { .. } => ErrorCode::NotFound,
            Self::Json { .. } => ErrorCode::Syntax,
            Self::Schema { .. } => ErrorCode::TypeMismatch,
            Self::Conflict { .. }
            | Self::Duplicate { .. }
            | Self::IndexExists { .. }
            | Self::Changed { .. }
            | Self::Edited { .. }
            | Self::Moved { .. } => ErrorCode::Conflict,
            Self::LockLost(LockError::Forked) => ErrorCode::Closed,
            Self::LockLost(_) => ErrorCode::Conflict,
            Self::Locked { .. } => ErrorCode::Locked,
            Self::ReadOnly { .. } => ErrorCode::ReadOnly,
            Self::Poisoned { .. } => ErrorCode::Poisoned,
            Self::Closed { .. } => ErrorCode::Closed,
            Self::Corrupted { .. } => ErrorCode::Corrupted,
            Self::Version { .. } => ErrorCode::Unsupported,
            Self::Cancelled => ErrorCode::Cancelled,
            Self::Io { source, .. } => ErrorCode::of_io(source.kind()),
        }
    }

    /// Turns a lock error into one that names the holder, or why the lock cannot be taken.
    pub fn lock(database: &Path) -> impl FnOnce(LockError) -> Self {
        move |error| match error {
            LockError::Held { pid } => Self::Locked {
                path: database.to_owned(),
                holder: pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default(),
            },
            LockError::Io { path, source } => Self::Io { action: "lock", path, source },
            other => Self::LockLost(other),
        }
    }

    /// Wraps a system error with the action and the file: `.map_err(Error::io("append to",
    /// &path))`. Of a file that proved to be damaged, it is the error that says so.
    pub fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| match source.downcast::<Self>() {
            Ok(damage) => damage,
            Err(source) if RemoteError::is_end(&source) => Self::Cancelled,
            Err(source) => Self::Io { action, path: path.to_owned(), source },
        }
    }
}
