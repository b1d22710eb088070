//! Files as relations: `select … from 'events.jsonl'`. Parquet and Arrow files say their columns;
//! files of records, and Ion, are read once when a statement names them, to find the columns.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use folio_file::FileSystem;
use folio_query::source::{FileReading, Relation, RelationKind, RowStream, ScanRequest};
use folio_query::{Constraints, Error as QueryError, Result as QueryResult};
use folio_types::{Column, ErrorCode, TableSchema};

use super::record_file::RecordFile;
use super::whole::Whole;
use super::{Format, Records, stem};
use crate::error::Error;
use crate::source::from_facade;

/// A file whose columns are known.
pub(crate) trait RowFile: Send + Sync {
    /// How many rows there are, if that is known without reading them.
    fn row_count(&self) -> Option<u64>;

    /// The rows, of the columns that are wanted.
    ///
    /// # Errors
    /// What the file says.
    fn scan(
        self: Arc<Self>,
        relation: &Relation,
        request: &ScanRequest,
    ) -> QueryResult<Box<dyn RowStream>>;
}

/// What a relation of a file holds.
struct Opened(Arc<dyn RowFile>);

/// The relation of a file that was opened.
pub(crate) fn relation_with(
    path: &str,
    columns: Vec<Column>,
    file: Arc<dyn RowFile>,
) -> Arc<Relation> {
    Arc::new(Relation {
        kind: RelationKind::File,
        schema: TableSchema::new(stem(path), columns, Vec::new()),
        constraints: Constraints::default(),
        indexes: Vec::new(),
        handle: Arc::new(Opened(file)),
    })
}

/// The relation a file holds.
///
/// # Errors
/// `not_found`, `io`; `syntax`, `corrupted` for what is not of its format; `unsupported` for
/// columns of types that have no counterpart; `invalid_input` for a format that is unknown, and
/// for options of CSV where the file is none.
pub(crate) fn relation(
    files: &Arc<dyn FileSystem>,
    path: &str,
    reading: FileReading<'_>,
) -> QueryResult<Arc<Relation>> {
    let asked = reading.format.map(Format::named).transpose().map_err(from_facade)?;
    let format = match asked.or_else(|| Format::of_path(path)) {
        None => columnar_magic(&**files, path)?,
        known => known,
    };
    if let Some(format @ (Format::Parquet | Format::Arrow)) = format {
        no_csv(reading)?;
        let whole = Whole::open(&**files, path).map_err(from_facade)?;
        return relation_of(path, whole, format).map(|(relation, _)| relation);
    }
    let mut records = RecordFile::new(files, path, reading, format);
    match records.open()? {
        Records::Ion(_) => {
            no_csv(reading)?;
            super::ion::relation(&**files, path, reading.json)
        }
        opened => records.relation(opened, reading),
    }
}

/// The relation of a file of columns, and the file.
///
/// # Errors
/// As [`relation`].
pub(crate) fn relation_of(
    path: &str,
    whole: Whole,
    format: Format,
) -> QueryResult<(Arc<Relation>, Arc<dyn RowFile>)> {
    let (columns, file) = match format {
        Format::Arrow => super::arrow::open(path, whole)?,
        _ => parquet(path, whole)?,
    };
    Ok((relation_with(path, columns, Arc::clone(&file)), file))
}

/// Tells Parquet and Arrow by their first bytes, where the name tells nothing.
fn columnar_magic(files: &dyn FileSystem, path: &str) -> QueryResult<Option<Format>> {
    let whole = super::Source::file_in(files, Path::new(path)).map_err(from_facade)?;
    let mut head = Vec::new();
    let io = |error| from_facade(Error::io("read", Path::new(path))(error));
    super::decompress(whole.reader).map_err(io)?.take(8).read_to_end(&mut head).map_err(io)?;
    Ok(super::guess::columnar(&head))
}

/// Refuses what is said of CSV.
fn no_csv(reading: FileReading<'_>) -> QueryResult<()> {
    reading.csv.map_or(Ok(()), |(csv, _)| csv.check(false))
}

#[cfg(feature = "parquet")]
use super::parquet::open as parquet;

#[cfg(not(feature = "parquet"))]
fn parquet(_: &str, _: Whole) -> QueryResult<(Vec<Column>, Arc<dyn RowFile>)> {
    Err(no_parquet())
}

/// What a build without Parquet says.
#[cfg(not(feature = "parquet"))]
pub(crate) fn no_parquet() -> QueryError {
    QueryError::new(ErrorCode::Unsupported, "this build neither reads nor writes Parquet")
        .help("build with the feature \"parquet\", or use CSV or JSON Lines")
}

fn opened(relation: &Relation) -> Option<&Arc<dyn RowFile>> {
    relation.handle.downcast_ref::<Opened>().map(|opened| &opened.0)
}

/// How many rows a file has, where it says so itself.
pub(crate) fn row_count(relation: &Relation) -> Option<u64> {
    opened(relation)?.row_count()
}

/// The rows of a file.
///
/// # Errors
/// What the file says.
pub(crate) fn scan(relation: &Relation, request: &ScanRequest) -> QueryResult<Box<dyn RowStream>> {
    let file = opened(relation).ok_or_else(|| {
        let text = format!("{:?} is not a file", relation.schema.name);
        QueryError::new(ErrorCode::InvalidInput, text)
    })?;
    Arc::clone(file).scan(relation, request)
}
