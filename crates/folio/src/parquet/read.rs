//! A Parquet file as a relation.

use std::io::{BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use arrow_schema::ArrowError;
use bytes::Bytes;
use folio_file::{File, FileSystem, OpenMode};
use folio_query::source::{Relation, RelationKind, RowStream, ScanRequest};
use folio_query::{BATCH_SIZE, Batch, Constraints, Error as QueryError, Result as QueryResult};
use folio_types::{ColumnType, TableSchema};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};

use super::{damaged, guarded};
use crate::arrow::{columns, convert};
use crate::error::Error;
use crate::import::FileReader;

/// An open file with its footer.
pub(crate) struct ParquetFile {
    path: String,
    bytes: FileBytes,
    metadata: ArrowReaderMetadata,
}

impl ParquetFile {
    /// How many rows the footer says there are.
    pub(crate) fn row_count(&self) -> u64 {
        let count = self.metadata.metadata().file_metadata().num_rows();
        u64::try_from(count).unwrap_or_default()
    }
}

/// The relation a file holds.
///
/// # Errors
/// `not_found`, `io`; `corrupted` for what is no Parquet file; `unsupported` for columns of
/// types that have no counterpart.
pub(crate) fn relation(files: &dyn FileSystem, path: &str) -> QueryResult<Arc<Relation>> {
    let name = Path::new(path).file_stem().map_or(path.into(), std::ffi::OsStr::to_string_lossy);
    let io = |error| {
        let error = Error::io("read", Path::new(path))(error);
        QueryError::from_source(error.code(), error)
    };
    let file = files.open(Path::new(path), OpenMode::Read).map_err(io)?;
    let size = file.stat().map_err(io)?.size;
    let bytes = FileBytes { file, size };
    // What writers note of Arrow's types is passed over: Parquet's own say what there is.
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let metadata = guarded(path, || ArrowReaderMetadata::load(&bytes, options))?;
    let columns = columns(metadata.schema().fields(), &format!("file {path:?}"))?;
    Ok(Arc::new(Relation {
        kind: RelationKind::File,
        schema: TableSchema::new(name, columns, Vec::new()),
        constraints: Constraints::default(),
        indexes: Vec::new(),
        handle: Arc::new(ParquetFile { path: path.to_owned(), bytes, metadata }),
    }))
}

/// The rows of a file, of the columns that are wanted.
///
/// # Errors
/// As [`relation`].
pub(crate) fn scan(
    file: &ParquetFile,
    relation: &Relation,
    request: &ScanRequest,
) -> QueryResult<Box<dyn RowStream>> {
    // The reader answers columns in the order of the file, each once.
    let mut roots = request.columns.clone();
    roots.sort_unstable();
    roots.dedup();
    let place = |column: &usize| roots.binary_search(column).unwrap_or_default();
    let places = request.columns.iter().map(place).collect();
    let mask = ProjectionMask::roots(file.metadata.parquet_schema(), roots.iter().copied());
    let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(
        file.bytes.clone(),
        file.metadata.clone(),
    );
    let reader =
        guarded(&file.path, || builder.with_projection(mask).with_batch_size(BATCH_SIZE).build())?;
    let types = request.columns.iter().map(|column| relation.column_type(*column).clone());
    Ok(Box::new(ParquetRows { path: file.path.clone(), reader, places, types: types.collect() }))
}

struct ParquetRows {
    path: String,
    reader: ParquetRecordBatchReader,
    /// Where in what the reader answers each column is.
    places: Vec<usize>,
    types: Vec<ColumnType>,
}

impl RowStream for ParquetRows {
    fn next(&mut self) -> QueryResult<Option<Batch>> {
        let reader = &mut self.reader;
        let next = guarded(&self.path, || reader.next().transpose().map_err(unwrapped))?;
        let Some(batch) = next else { return Ok(None) };
        let columns = self.places.iter().zip(&self.types).map(|(place, ty)| {
            convert(batch.column(*place), ty)
                .map_err(|error| damaged(&self.path, &error.to_string()))
        });
        Ok(Some(Batch::new(columns.collect::<QueryResult<_>>()?, batch.num_rows())))
    }
}

/// An error that passed through Arrow on its way.
fn unwrapped(error: ArrowError) -> ParquetError {
    match error {
        ArrowError::ParquetError(text) => ParquetError::General(text),
        other => ParquetError::ArrowError(other.to_string()),
    }
}

/// A file as the parser reads it.
#[derive(Clone)]
struct FileBytes {
    file: Arc<dyn File>,
    size: u64,
}

impl Length for FileBytes {
    fn len(&self) -> u64 {
        self.size
    }
}

impl ChunkReader for FileBytes {
    type T = BufReader<FileReader>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        Ok(BufReader::new(FileReader { file: Arc::clone(&self.file), offset: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        // A footer may say anything: memory is taken for what the file has.
        let is_inside = start.checked_add(length as u64).is_some_and(|end| end <= self.size);
        if !is_inside {
            return Err(ParquetError::EOF(format!(
                "{length} bytes at {start} are wanted of {}",
                self.size
            )));
        }
        let mut bytes = vec![0; length];
        self.get_read(start)?.read_exact(&mut bytes)?;
        Ok(bytes.into())
    }
}
