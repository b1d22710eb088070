//! The errors of tables, and what the caller can do about them.

use std::io;
use std::path::{Path, PathBuf};

use folio_file::{LockError, advice};
use folio_types::{ErrorCode, SchemaError};
use thiserror::Error;

use crate::ids::PageId;

/// The result of every fallible operation in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error from the table store.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system returned an error.
    #[error("cannot {action} {path:?}: {source}{}", advice(.source))]
    Io {
        /// The attempted action.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },

    /// Stored bytes are invalid.
    #[error(
        "{file} is damaged at byte {offset}: {problem}; `folio salvage` saves what can be read"
    )]
    Corrupted {
        /// The file.
        file: String,
        /// The offset in bytes.
        offset: u64,
        /// What was expected and what was found.
        problem: String,
    },

    /// A page of a tree is not the expected one.
    #[error("page {page} is damaged: {problem}; `folio check` lists all damage")]
    CorruptedPage {
        /// The page.
        page: PageId,
        /// What is wrong with it.
        problem: String,
    },

    /// The files were written by a newer release.
    #[error("{file} has {what}, which this release does not read; use a newer one")]
    Unsupported {
        /// The file.
        file: String,
        /// The version or feature.
        what: String,
    },

    /// All frames of the buffer pool are pinned at once.
    #[error(
        "all {frames} frames of the buffer pool are held, {pins} times in all; \
         give it more memory or hold fewer pages at a time"
    )]
    PoolExhausted {
        /// Frames of the pool.
        frames: usize,
        /// Pins on them.
        pins: u64,
    },

    /// A page stayed in use for longer than any operation takes.
    #[error("page {page} stayed in use by another operation; drop the rows you hold and try again")]
    PageBusy {
        /// The page.
        page: PageId,
    },

    /// An earlier sync failed, or a write that could not be undone: it is unknown how much of it
    /// reached the disk.
    #[error(
        "after an earlier failure the content of {file} on the disk is unknown; writes are \
         refused until the database is reopened"
    )]
    Poisoned {
        /// The file.
        file: String,
    },

    /// The store was opened for reading.
    #[error("the tables are open for reading only; open the database for writing")]
    ReadOnly,

    /// Another writer did not finish in time.
    #[error("another transaction has been writing for {waited_ms} ms; try again when it is done")]
    Busy {
        /// How long this one waited, in milliseconds.
        waited_ms: u128,
    },

    /// Another process holds the writer's lock, or that of this one protects nothing any more.
    #[error(transparent)]
    Locked(#[from] LockError),

    /// An operation failed half-way and the transaction can only be rolled back.
    #[error(
        "an earlier operation of this transaction failed; roll it back or return to a savepoint"
    )]
    TransactionFailed,

    /// A checkpoint has replaced pages that this snapshot needs: the log outgrew its limit, or the
    /// checkpoint did not wait for another process.
    #[error("the snapshot is too old: newer pages have replaced those it needs; start a new one")]
    SnapshotTooOld,

    /// No table or index of this name.
    #[error("{kind} {name:?} does not exist{}", .near.as_ref().map(|near| format!("; did you mean {near:?}?")).unwrap_or_default())]
    NotFound {
        /// `table` or `index`.
        kind: &'static str,
        /// The requested name.
        name: String,
        /// The nearest existing name.
        near: Option<String>,
    },

    /// The name is in use.
    #[error("{kind} {name:?} already exists; choose another name or drop it first")]
    Exists {
        /// `table` or `index`.
        kind: &'static str,
        /// The name.
        name: String,
    },

    /// A row with this key already exists.
    #[error(
        "a row with this key already exists in {constraint:?}; update it, or choose another key"
    )]
    Conflict {
        /// The table or unique index.
        constraint: String,
    },

    /// A value that does not fit its column.
    #[error("column {column:?} takes {expected}, not {found}")]
    TypeMismatch {
        /// The column.
        column: String,
        /// What it takes.
        expected: String,
        /// What was given.
        found: String,
    },

    /// A row or key has the wrong number of values.
    #[error("{what} has {expected} values, not {found}")]
    ValueCount {
        /// `a row of table "t"` and the like.
        what: String,
        /// How many it has.
        expected: usize,
        /// How many were given.
        found: usize,
    },

    /// A key that fits no page.
    #[error("the key is {size} bytes long as stored; at most {limit} are allowed here")]
    KeyTooLong {
        /// Its size.
        size: usize,
        /// The limit, a quarter of a page.
        limit: usize,
    },

    /// A row larger than 1 GiB.
    #[error("the row is {size} bytes long as stored; at most {limit} are allowed")]
    RowTooLong {
        /// Its size.
        size: usize,
        /// The limit.
        limit: usize,
    },

    /// Rows of a bulk load that are not in ascending order.
    #[error(
        "row {row} of the load does not come after its predecessor in key order; sort the rows"
    )]
    Unsorted {
        /// The position of the row, from 0.
        row: u64,
    },

    /// The caller asked for the work to stop.
    #[error("cancelled")]
    Cancelled,

    /// A schema that breaks a rule.
    #[error(transparent)]
    Schema(#[from] SchemaError),

    /// An option or argument that breaks a rule.
    #[error("{what}")]
    InvalidInput {
        /// The object and the rule.
        what: String,
    },
}

impl Error {
    /// The stable kind of this error.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Io { .. } | Self::PoolExhausted { .. } | Self::PageBusy { .. } => ErrorCode::Io,
            Self::Corrupted { .. } | Self::CorruptedPage { .. } => ErrorCode::Corrupted,
            Self::Unsupported { .. } => ErrorCode::Unsupported,
            Self::Poisoned { .. } => ErrorCode::Poisoned,
            Self::ReadOnly => ErrorCode::ReadOnly,
            Self::Cancelled => ErrorCode::Cancelled,
            Self::Locked(LockError::Replaced { .. }) => ErrorCode::Conflict,
            Self::Locked(LockError::Forked) => ErrorCode::Closed,
            Self::Locked(LockError::Io { source, .. }) => ErrorCode::of_io(source.kind()),
            Self::Busy { .. } | Self::Locked(_) => ErrorCode::Locked,
            Self::TransactionFailed | Self::SnapshotTooOld | Self::Conflict { .. } => {
                ErrorCode::Conflict
            }
            Self::Exists { .. } => ErrorCode::Conflict,
            Self::NotFound { .. } => ErrorCode::NotFound,
            Self::TypeMismatch { .. } => ErrorCode::TypeMismatch,
            Self::ValueCount { .. }
            | Self::KeyTooLong { .. }
            | Self::RowTooLong { .. }
            | Self::Unsorted { .. }
            | Self::Schema(_)
            | Self::InvalidInput { .. } => ErrorCode::InvalidInput,
        }
    }

    /// Wraps a system error with the action and the file.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, path: path.to_owned(), source }
    }

    pub(crate) fn page(page: PageId, problem: impl Into<String>) -> Self {
        Self::CorruptedPage { page, problem: problem.into() }
    }
}
