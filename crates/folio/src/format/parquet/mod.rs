//! Apache Parquet files (<https://parquet.apache.org/docs/file-format/>).
//!
//! A file has a footer with the positions of each column's chunks. The footer is read when a
//! statement names the file. A scan then reads the wanted columns, one row group at a time, through
//! the file system of the database. Columns keep their types where there is a counterpart: unsigned
//! integers become wider ones, times of other units become microseconds, maps become lists of
//! pairs. Pages may be plain, or compressed with Snappy or gzip; the error for another codec names
//! it.
//!
//! The parser is the Arrow project's. If it panics on a file, only the statement ends, with an
//! error.

pub(crate) mod part;
mod read;
mod write;

pub(crate) use read::open;
pub(crate) use write::ParquetRows;

use folio_types::ErrorCode;
use parquet::errors::ParquetError;

use folio_compute::{Error as QueryError, Result as QueryResult};

use super::guard;

/// Advice for a file whose codec this build lacks.
const CODECS: &str = "write the file with Snappy, gzip or no compression";

/// Runs the parser. A panic on a file's content becomes an error.
fn guarded<T>(path: &str, work: impl FnOnce() -> Result<T, ParquetError>) -> QueryResult<T> {
    match guard::guarded(work) {
        Some(Ok(value)) => Ok(value),
        Some(Err(error)) => Err(refused(path, &error)),
        None => Err(damaged(path, "its content is invalid")),
    }
}

fn refused(path: &str, error: &ParquetError) -> QueryError {
    let text = error.to_string();
    match error {
        ParquetError::NYI(_) => {
            QueryError::new(ErrorCode::Unsupported, format!("file {path:?} cannot be read: {text}"))
                .help(CODECS)
        }
        _ if text.contains("Disabled feature") => QueryError::new(
            ErrorCode::Unsupported,
            format!("file {path:?} is compressed with a codec that is not supported: {text}"),
        )
        .help(CODECS),
        _ => damaged(path, &text),
    }
}

fn damaged(path: &str, problem: &str) -> QueryError {
    let text = format!("file {path:?} cannot be read as Parquet: {problem}");
    QueryError::new(ErrorCode::Corrupted, text).help("check that the file is complete")
}
