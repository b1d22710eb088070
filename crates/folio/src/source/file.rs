//! Files as relations: `select … from 'events.jsonl'`. JSON Lines, JSON arrays and CSV are
//! files of records (`super::records`), Ion has values (`crate::ion::file`); both are looked at
//! whole, for their columns, when a statement names them. Parquet and Arrow say their columns
//! themselves (`crate::parquet`, `crate::arrow`).

use std::path::Path;
use std::sync::Arc;

use folio_file::FileSystem;
use folio_query::source::{FileFormat, FileReading, Relation, RowStream, ScanRequest};
use folio_query::{Error as QueryError, Result as QueryResult};
use folio_types::ErrorCode;

use super::records::RecordFile;
use crate::arrow::{ArrowFile, is_arrow};
use crate::import::{Format, Records};
use crate::ion::file::IonFile;

/// The relation a file holds.
pub(super) fn relation(
    files: &Arc<dyn FileSystem>,
    path: &str,
    reading: FileReading<'_>,
) -> QueryResult<Arc<Relation>> {
    if is_parquet(path, reading) {
        no_csv(reading)?;
        return parquet_relation(&**files, path);
    }
    if reading.format.map_or_else(|| is_arrow(path), |format| format == FileFormat::Arrow) {
        no_csv(reading)?;
        return crate::arrow::relation(&**files, path);
    }
    let mut records = RecordFile::new(files, path, reading, reading.format.and_then(format_of));
    match records.open()? {
        Records::Ion(_) => {
            no_csv(reading)?;
            crate::ion::file::relation(&**files, path, reading.json)
        }
        opened => records.relation(opened, reading),
    }
}

/// Refuses what is said of CSV.
fn no_csv(reading: FileReading<'_>) -> QueryResult<()> {
    reading.csv.map_or(Ok(()), |(csv, _)| csv.check(false))
}

/// Whether a file is to be read as Parquet: it is said to be, or called so.
fn is_parquet(path: &str, reading: FileReading<'_>) -> bool {
    let is_called =
        || Path::new(path).extension().is_some_and(|it| it.eq_ignore_ascii_case("parquet"));
    reading.format.map_or_else(is_called, |format| format == FileFormat::Parquet)
}

fn format_of(format: FileFormat) -> Option<Format> {
    match format {
        FileFormat::JsonLines => Some(Format::JsonLines),
        FileFormat::Json => Some(Format::Json),
        FileFormat::Csv => Some(Format::Csv),
        FileFormat::Ion | FileFormat::IonBinary => Some(Format::Ion),
        FileFormat::Parquet | FileFormat::Arrow => None,
    }
}

#[cfg(feature = "parquet")]
fn parquet_relation(files: &dyn FileSystem, path: &str) -> QueryResult<Arc<Relation>> {
    crate::parquet::relation(files, path)
}

#[cfg(not(feature = "parquet"))]
fn parquet_relation(_: &dyn FileSystem, _: &str) -> QueryResult<Arc<Relation>> {
    Err(no_parquet())
}

/// What a build without Parquet says.
#[cfg(not(feature = "parquet"))]
pub(crate) fn no_parquet() -> QueryError {
    QueryError::new(ErrorCode::Unsupported, "this build neither reads nor writes Parquet")
        .help("build with the feature \"parquet\", or use CSV or JSON Lines")
}

/// How many rows a file has, where it says so itself.
pub(super) fn row_count(relation: &Relation) -> Option<u64> {
    #[cfg(feature = "parquet")]
    if let Some(file) = relation.handle.downcast_ref::<crate::parquet::ParquetFile>() {
        return Some(file.row_count());
    }
    if let Some(file) = relation.handle.downcast_ref::<IonFile>() {
        return Some(file.row_count());
    }
    relation.handle.downcast_ref::<RecordFile>()?.row_count()
}

/// The rows of a file.
pub(super) fn scan(relation: &Relation, request: &ScanRequest) -> QueryResult<Box<dyn RowStream>> {
    #[cfg(feature = "parquet")]
    if let Some(file) = relation.handle.downcast_ref::<crate::parquet::ParquetFile>() {
        return crate::parquet::scan(file, relation, request);
    }
    if let Ok(file) = Arc::clone(&relation.handle).downcast::<IonFile>() {
        return crate::ion::file::scan(&file, request);
    }
    if let Some(file) = relation.handle.downcast_ref::<ArrowFile>() {
        return crate::arrow::scan(file, relation, request);
    }
    let records = Arc::clone(&relation.handle).downcast::<RecordFile>().map_err(|_| {
        QueryError::new(
            ErrorCode::InvalidInput,
            format!("{:?} is not a file", relation.schema.name),
        )
    })?;
    let columns = request.columns.iter().map(|index| relation.schema.columns[*index].clone());
    records.scan(columns.collect())
}
