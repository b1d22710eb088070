//! A Parquet file as a relation.

use std::io::{BufReader, Read};
use std::sync::Arc;

use arrow_schema::ArrowError;
use bytes::Bytes;
use folio_engine::source::{Relation, RowStream, ScanRequest};
use folio_engine::{BATCH_SIZE, Batch, Result as QueryResult};
use folio_types::{Column, ColumnType};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::basic::{ConvertedType, LogicalType};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};
use parquet::schema::types::ColumnDescriptor;

use super::{damaged, guarded};
use crate::format::arrow::{column_type, columns, convert};
use crate::format::row_file::RowFile;
use crate::format::whole::{Whole, WholeReader};

/// An open file with its footer.
struct ParquetFile {
    path: String,
    bytes: FileBytes,
    metadata: ArrowReaderMetadata,
}

/// The columns of a file, and the file.
///
/// # Errors
/// `io`; `corrupted` for what is no Parquet file; `unsupported` for columns of types that have no
/// counterpart.
pub(crate) fn open(path: &str, whole: Whole) -> QueryResult<(Vec<Column>, Arc<dyn RowFile>)> {
    let bytes = FileBytes(whole);
    // What writers note of Arrow's types is passed over: Parquet's own say what there is.
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let metadata = guarded(path, || ArrowReaderMetadata::load(&bytes, options))?;
    let mut columns = columns(metadata.schema().fields(), &format!("file {path:?}"))?;
    mark_json(path, &metadata, &mut columns);
    let path = path.to_owned();
    Ok((columns, Arc::new(ParquetFile { path, bytes, metadata })))
}

/// Has text that is JSON as such: Parquet's type says so of a column, or the note of Arrow's type
/// of whatever is in one.
fn mark_json(path: &str, metadata: &ArrowReaderMetadata, columns: &mut [Column]) {
    let leaves = metadata.parquet_schema().columns().iter();
    let is_json = |leaf: &&Arc<ColumnDescriptor>| {
        leaf.path().parts().len() == 1
            && (leaf.logical_type_ref() == Some(&LogicalType::Json)
                || leaf.converted_type() == ConvertedType::JSON)
    };
    let names: Vec<&str> = leaves.filter(is_json).map(|leaf| leaf.name()).collect();
    // A note that cannot be read says nothing.
    let noted = guarded(path, || {
        ArrowReaderMetadata::try_new(Arc::clone(metadata.metadata()), ArrowReaderOptions::new())
    });
    for column in columns {
        let field =
            noted.iter().find_map(|noted| noted.schema().field_with_name(&column.name).ok());
        if let Some(noted) = field.and_then(column_type) {
            mark_as_noted(&mut column.column_type, &noted);
        }
        if column.column_type == ColumnType::Text && names.contains(&&*column.name) {
            column.column_type = ColumnType::Json;
        }
    }
}

fn mark_as_noted(found: &mut ColumnType, noted: &ColumnType) {
    match (found, noted) {
        (found @ ColumnType::Text, ColumnType::Json) => *found = ColumnType::Json,
        (ColumnType::List(found), ColumnType::List(noted)) => mark_as_noted(found, noted),
        (ColumnType::Struct(found), ColumnType::Struct(noted)) => {
            for ((_, found), (_, noted)) in found.iter_mut().zip(noted) {
                mark_as_noted(found, noted);
            }
        }
        _ => {}
    }
}

impl RowFile for ParquetFile {
    /// How many rows the footer says there are.
    fn row_count(&self) -> Option<u64> {
        u64::try_from(self.metadata.metadata().file_metadata().num_rows()).ok()
    }

    fn scan(
        self: Arc<Self>,
        relation: &Relation,
        request: &ScanRequest,
    ) -> QueryResult<Box<dyn RowStream>> {
        // The reader answers columns in the order of the file, each once.
        let mut roots = request.columns.clone();
        roots.sort_unstable();
        roots.dedup();
        let place = |column: &usize| roots.binary_search(column).unwrap_or_default();
        let places = request.columns.iter().map(place).collect();
        let mask = ProjectionMask::roots(self.metadata.parquet_schema(), roots.iter().copied());
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(
            self.bytes.clone(),
            self.metadata.clone(),
        );
        let reader = guarded(&self.path, || {
            builder.with_projection(mask).with_batch_size(BATCH_SIZE).build()
        })?;
        let types = request.columns.iter().map(|column| relation.column_type(*column).clone());
        Ok(Box::new(FileRows { path: self.path.clone(), reader, places, types: types.collect() }))
    }
}

struct FileRows {
    path: String,
    reader: ParquetRecordBatchReader,
    /// Where in what the reader answers each column is.
    places: Vec<usize>,
    types: Vec<ColumnType>,
}

impl RowStream for FileRows {
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
struct FileBytes(Whole);

impl Length for FileBytes {
    fn len(&self) -> u64 {
        self.0.size()
    }
}

impl ChunkReader for FileBytes {
    type T = BufReader<WholeReader>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        Ok(BufReader::new(self.0.reader(start)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        // A footer may say anything: memory is taken for what the file has.
        let is_inside = start.checked_add(length as u64).is_some_and(|end| end <= self.0.size());
        if !is_inside {
            return Err(ParquetError::EOF(format!(
                "{length} bytes at {start} are wanted of {}",
                self.0.size()
            )));
        }
        let mut bytes = vec![0; length];
        self.0.reader(start).read_exact(&mut bytes)?;
        Ok(bytes.into())
    }
}
