//! Apache Parquet files (<https://parquet.apache.org/docs/file-format/>).
//!
//! A file is a footer that says where the chunks of each column lie. The footer is read
//! when a statement names the file; a scan then reads the columns it wants, group of rows
//! by group of rows, through the file system of the database. Columns have the types of
//! the file, as far as there are such: unsigned integers become wider ones, times of
//! other units microseconds, maps lists of pairs. Pages may be plain, or compressed with
//! Snappy or gzip; the file names the codec where it is another.
//!
//! The parser is the one of the Arrow project. Should it panic on what a file holds, the
//! statement ends with an error, and nothing else does.

mod read;
mod write;

pub(crate) use read::open;
pub(crate) use write::ParquetRows;

use folio_engine::{Error as QueryError, Result as QueryResult};
use folio_types::ErrorCode;
use parquet::errors::ParquetError;

use super::guard;

/// What a file calls its codec, where this build has none for it.
const CODECS: &str = "write the file with Snappy, gzip or no compression";

/// Runs the parser. What a file holds never ends the process.
fn guarded<T>(path: &str, work: impl FnOnce() -> Result<T, ParquetError>) -> QueryResult<T> {
    match guard::guarded(work) {
        Some(Ok(value)) => Ok(value),
        Some(Err(error)) => Err(refused(path, &error)),
        None => Err(damaged(path, "its content makes no sense")),
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
            format!("file {path:?} is compressed with a codec that is not there: {text}"),
        )
        .help(CODECS),
        _ => damaged(path, &text),
    }
}

fn damaged(path: &str, problem: &str) -> QueryError {
    let text = format!("file {path:?} cannot be read as Parquet: {problem}");
    QueryError::new(ErrorCode::Corrupted, text).help("check that the file is whole")
}
