//! The errors of the facade: one enum, with a stable code for each.

mod reason;
mod report;

use std::io;
use std::path::{Path, PathBuf};

use folio_file::{LockError, RemoteError, advice};
use folio_types::{ErrorCode, NameError, legible};
use thiserror::Error;

pub use reason::{OptionNames, Reason};
pub use report::{ImportReport, Rejected};

/// The result of every fallible operation of the facade.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error from a database. Match on [`Error::code`]; the text is for people.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// An error of a collection.
    #[error(transparent)]
    Collection(#[from] folio_document::Error),

    /// An error of the tables.
    #[error(transparent)]
    Table(#[from] folio_table::Error),

    /// An error of a statement.
    #[cfg(feature = "sql")]
    #[error(transparent)]
    Query(#[from] folio_compute::Error),

    /// An id or a collection name breaks a rule.
    #[error(transparent)]
    Name(#[from] NameError),

    /// Nothing is at the path, and the operation does not create it.
    #[error("no database at {path:?}; check the path, or create it by writing to it")]
    NoDatabase {
        /// The path asked for.
        path: PathBuf,
    },

    /// Nothing is at the path, which has the name of an archive.
    #[error("no archive at {path:?}; check the path, or pack a database into it")]
    NoArchive {
        /// The path asked for.
        path: PathBuf,
    },

    /// Something other than a database is at the path.
    #[error("{path:?} is not a database: {reason}")]
    NotADatabase {
        /// The path asked for.
        path: PathBuf,
        /// What is there, and what to do.
        reason: String,
    },

    /// The collection does not exist, and the operation does not create it.
    #[error("no collection {name:?} in {database:?}; {hint}")]
    NoCollection {
        /// The collection asked for.
        name: String,
        /// The database.
        database: PathBuf,
        /// A near match, or what there is.
        hint: String,
    },

    /// No collection or table has the name.
    #[error("no collection or table {name:?} in {database:?}; {hint}")]
    NoRelation {
        /// The name asked for.
        name: String,
        /// The database.
        database: PathBuf,
        /// A near match, or what there is.
        hint: String,
    },

    /// The database has no tables.
    #[error("no tables in {path:?}; a `create table` statement makes the first")]
    NoTables {
        /// The database.
        path: PathBuf,
    },

    /// The target of a backup, an export or an unpacking already exists.
    #[error("{path:?} already exists; choose another name, or remove it first")]
    Exists {
        /// The target.
        path: PathBuf,
    },

    /// A directory that a process is still building, or died while building.
    #[error(
        "{path:?} is incomplete: the command that creates it is running, or was stopped; let it \
         finish, or delete the directory and run the command again"
    )]
    Unfinished {
        /// The directory.
        path: PathBuf,
    },

    /// Another transaction writes tables, perhaps of another process, and the session does not wait
    /// for it any longer.
    #[error("another transaction is writing; try again when it is done")]
    Writing(Option<LockError>),

    /// The handle was closed.
    #[error("database {path:?} was closed; open it again")]
    Closed {
        /// The database.
        path: PathBuf,
    },

    /// The handle takes no writes.
    #[error("database {path:?} is open read-only; {hint}")]
    ReadOnly {
        /// The database.
        path: PathBuf,
        /// What to do instead.
        hint: &'static str,
    },

    /// A collection cannot have the name.
    #[error("a collection or table {name:?} already exists; choose another name, or drop it first")]
    NameTaken {
        /// The name.
        name: String,
    },

    /// A document to be added has an id that is in use.
    #[error(
        "collection {collection:?} already has a document {id:?}; use put, or leave out its \"_id\""
    )]
    DocumentExists {
        /// The collection.
        collection: String,
        /// The id.
        id: String,
    },

    /// An option that makes no sense here.
    #[error("{0}")]
    Invalid(String),

    /// The source of an import cannot be understood at all.
    #[error("cannot import {source_name} at line {line}: {reason}")]
    Source {
        /// The file, or `standard input`.
        source_name: String,
        /// The line, from 1.
        line: u64,
        /// What is wrong there, and what to do.
        reason: String,
    },

    /// A file is not valid Ion from some point on.
    #[error("{source_name}: value {value}: {reason}")]
    Ion {
        /// The file, or `standard input`.
        source_name: String,
        /// The number of the top-level value, from 1.
        value: u64,
        /// What is wrong, and at which byte.
        reason: String,
    },

    /// A file of SQLite cannot be read.
    #[error("SQLite file {path:?}{place}: {reason}")]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// Where in it: the table and the page, as far as they are known.
        place: String,
        /// What is wrong there, or what to do.
        reason: String,
        /// The stable code.
        code: ErrorCode,
    },

    /// None of many records could be imported.
    #[error("{}", self.message(&OptionNames::default()))]
    AllRejected {
        /// How many were looked at.
        count: u64,
        /// The first.
        first: Box<Rejected>,
    },

    /// A document has the id of a record, and the import was asked to stop then.
    #[error("{}", self.message(&OptionNames::default()))]
    ImportConflict {
        /// The collection.
        collection: String,
        /// The id.
        id: String,
        /// The line of the record, from 1.
        line: u64,
    },

    /// One of many documents cannot be stored.
    #[error("document {number} of the batch: {cause}")]
    InBatch {
        /// Its number, from 1.
        number: u64,
        /// Why not.
        cause: Box<Error>,
    },

    /// A prepared statement failed for one of many sets of parameters.
    #[error(
        "element {number}{}: {cause}",
        if *.is_kept { " (what those before it changed stays)" } else { "" }
    )]
    InElement {
        /// Its number, from 1.
        number: u64,
        /// Whether what the statement has changed for those before it stays.
        is_kept: bool,
        /// Why it failed.
        cause: Box<Error>,
    },

    /// An import stopped after a part of it was committed.
    #[error("{}", self.message(&OptionNames::default()))]
    Interrupted {
        /// What had been done.
        report: Box<ImportReport>,
        /// Why the import stopped.
        cause: Box<Error>,
    },

    /// The receiver of the output refused it.
    #[error("cannot write the output: {}{}", .0, advice(.0))]
    Output(io::Error),

    /// The operating system refused.
    #[error("cannot {action} {path:?}: {source}{}", advice(.source))]
    Io {
        /// What was tried: `read`, `create`, `rename`, …
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's message.
        source: io::Error,
    },
}

impl Error {
    /// The stable code that every surface reports.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Collection(error) => error.code(),
            Self::Table(error) => error.code(),
            #[cfg(feature = "sql")]
            Self::Query(error) => error.code(),
            Self::NoDatabase { .. }
            | Self::NoArchive { .. }
            | Self::NoCollection { .. }
            | Self::NoRelation { .. }
            | Self::NoTables { .. } => ErrorCode::NotFound,
            Self::Exists { .. }
            | Self::NameTaken { .. }
            | Self::DocumentExists { .. }
            | Self::ImportConflict { .. } => ErrorCode::Conflict,
            Self::Writing(_) => ErrorCode::Locked,
            Self::Closed { .. } => ErrorCode::Closed,
            Self::ReadOnly { .. } => ErrorCode::ReadOnly,
            Self::Name(_)
            | Self::NotADatabase { .. }
            | Self::Unfinished { .. }
            | Self::Invalid(_) => ErrorCode::InvalidInput,
            Self::Source { .. } | Self::Ion { .. } | Self::AllRejected { .. } => ErrorCode::Syntax,
            Self::Sqlite { code, .. } => *code,
            Self::InBatch { cause, .. }
            | Self::InElement { cause, .. }
            | Self::Interrupted { cause, .. } => cause.code(),
            Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                ErrorCode::NotFound
            }
            Self::Io { source, .. } => ErrorCode::of_io(source.kind()),
            Self::Output(_) => ErrorCode::Io,
        }
    }

    /// The text, with the surface's names for the options it mentions.
    #[must_use]
    pub fn message(&self, names: &OptionNames) -> String {
        match self {
            // A statement's error is readable as it is, and spans several lines.
            #[cfg(feature = "sql")]
            Self::Query(error) => error.to_string(),
            other => legible(other.raw_message(names)),
        }
    }

    fn raw_message(&self, names: &OptionNames) -> String {
        match self {
            Self::AllRejected { count, first } => format!(
                "the first {count} records were all rejected and nothing was imported; the \
                 first of them: {}",
                first.message(names)
            ),
            Self::ImportConflict { collection, id, line } => format!(
                "line {line} has the id {id:?}, which collection {collection:?} already has; let \
                 the import replace or skip such documents ({}), or remove the line",
                names.on_conflict
            ),
            Self::Interrupted { report, cause } => {
                let (cause, next) = (cause.message(names), report.next_step());
                match report.written() {
                    1 => format!("{cause}; 1 document was committed before; {next}"),
                    count => format!("{cause}; {count} documents were committed before; {next}"),
                }
            }
            other => other.to_string(),
        }
    }

    /// Names the holder of a database's writer lock, or says why the lock cannot be taken.
    pub(crate) fn lock(database: &Path) -> impl FnOnce(LockError) -> Self {
        move |error| Self::Collection(folio_document::Error::lock(database)(error))
    }

    /// Wraps a system error with the action and the file: `.map_err(Error::io("rename", &path))`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| match RemoteError::is_end(&source) {
            true => folio_document::Error::Cancelled.into(),
            false => Self::Io { action, path: path.to_owned(), source },
        }
    }
}

#[cfg(feature = "sql")]
impl From<folio_sqlite::Error> for Error {
    fn from(error: folio_sqlite::Error) -> Self {
        use folio_sqlite::Error as Sqlite;
        match error {
            Sqlite::File { path, place, reason, code } => {
                Self::Sqlite { path, place, reason, code }
            }
            Sqlite::Io { action, path, source } => Self::Io { action, path, source },
            other => Self::Invalid(other.to_string()),
        }
    }
}

/// Converts an error for the query engine.
#[cfg(feature = "sql")]
impl From<Error> for folio_compute::Error {
    fn from(error: Error) -> Self {
        Self::from_source(error.code(), error)
    }
}

/// Converts an error of the table store for the query engine.
#[cfg(feature = "sql")]
pub(crate) fn from_table(error: folio_table::Error) -> folio_compute::Error {
    folio_compute::Error::from_source(error.code(), error)
}
