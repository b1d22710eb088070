//! Files as relations: `select … from 'events.jsonl'`. JSON Lines, JSON arrays and CSV,
//! plain or compressed, are read as an import reads them: whole, when a statement
//! names the file, since its columns are inferred from all of it. Ion is looked at whole,
//! too, and read as the rows are wanted (`crate::ion::file`); so are Parquet and Arrow, which
//! say their columns themselves (`crate::parquet`, `crate::arrow`).

use std::path::Path;
use std::sync::Arc;

use folio_file::FileSystem;
use folio_query::source::{
    FileFormat, FileReading, Relation, RelationKind, RowStream, ScanRequest,
};
use folio_query::{BATCH_SIZE, Batch, Constraints, Error as QueryError, Result as QueryResult};
use folio_types::{ColumnType, ErrorCode, TableSchema};

use super::from_facade;
use super::infer::Inferred;
use super::lines::LineColumns;
use crate::arrow::{ArrowFile, is_arrow};
use crate::import::{Format, ImportOptions, Records, Source};
use crate::ion::file::IonFile;

/// The records of a file, as JSON objects.
struct FileLines {
    lines: Vec<String>,
}

/// The relation a file holds.
pub(super) fn relation(
    files: &dyn FileSystem,
    path: &str,
    reading: FileReading<'_>,
) -> QueryResult<Arc<Relation>> {
    if is_parquet(path, reading) {
        return parquet_relation(files, path);
    }
    if reading.format.map_or_else(|| is_arrow(path), |format| format == FileFormat::Arrow) {
        return crate::arrow::relation(files, path);
    }
    let options = ImportOptions {
        format: reading.format.and_then(format_of),
        infer_types: reading.infer_types,
        ..ImportOptions::default()
    };
    let name = Path::new(path).file_stem().map_or(path.into(), std::ffi::OsStr::to_string_lossy);
    let source = Source::file_in(files, Path::new(path)).map_err(from_facade)?;
    let mut records = Records::open(source, &options).map_err(from_facade)?;
    if matches!(records, Records::Ion(_)) {
        return crate::ion::file::relation(files, path, reading.json);
    }
    // A cell of CSV spells JSON; a member of JSON is it.
    let json = if matches!(records, Records::Csv(_)) { &[] } else { reading.json };
    let (mut lines, mut inferred) = (Vec::new(), Inferred::default());
    while let Some(record) = records.next().map_err(from_facade)? {
        let bad = |problem: &str| {
            let line = record.line;
            QueryError::new(ErrorCode::Syntax, format!("file {path:?}, line {line}: {problem}"))
        };
        let json = record.json.as_ref().map_err(|problem| bad(problem))?;
        let text = std::str::from_utf8(json).map_err(|_| bad("not valid UTF-8"))?;
        inferred.observe(text).map_err(|error| bad(&error.to_string()))?;
        lines.push(text.to_owned());
    }
    Ok(Arc::new(Relation {
        kind: RelationKind::File,
        schema: with_json(inferred.schema(&name, None, None), json),
        constraints: Constraints::default(),
        indexes: Vec::new(),
        handle: Arc::new(FileLines { lines }),
    }))
}

/// The schema with columns of these names as JSON.
fn with_json(mut schema: TableSchema, names: &[&str]) -> TableSchema {
    for column in &mut schema.columns {
        if names.iter().any(|name| name.eq_ignore_ascii_case(&column.name)) {
            column.column_type = ColumnType::Json;
        }
    }
    schema
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
    let lines = relation.handle.downcast_ref::<FileLines>()?;
    Some(lines.lines.len() as u64)
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
    let lines = Arc::clone(&relation.handle).downcast::<FileLines>().map_err(|_| {
        QueryError::new(
            ErrorCode::InvalidInput,
            format!("{:?} is not a file", relation.schema.name),
        )
    })?;
    let columns = request.columns.iter().map(|index| relation.schema.columns[*index].clone());
    let columns = LineColumns::new(columns.collect());
    Ok(Box::new(FileRows { lines, columns, next: 0 }))
}

struct FileRows {
    lines: Arc<FileLines>,
    columns: LineColumns,
    next: usize,
}

impl RowStream for FileRows {
    fn next(&mut self) -> QueryResult<Option<Batch>> {
        while self.columns.row_count() < BATCH_SIZE
            && let Some(line) = self.lines.lines.get(self.next)
        {
            self.columns.push(line)?;
            self.next += 1;
        }
        Ok((self.columns.row_count() > 0).then(|| self.columns.finish()))
    }
}
