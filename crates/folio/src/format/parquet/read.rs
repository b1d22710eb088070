//! A Parquet file as a relation.

use std::io::{BufReader, Read};
use std::sync::Arc;

use arrow_schema::ArrowError;
use bytes::{Buf, Bytes};
use folio_compute::{BATCH_SIZE, Batch, Result as QueryResult};
use folio_engine::source::{Relation, RowStream, ScanRequest};
use folio_types::{Column, ColumnType};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::basic::{ConvertedType, LogicalType};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};
use parquet::schema::types::Type;

use super::{damaged, guarded};
use crate::format::arrow::{check_types, column_type, columns, convert};
use crate::format::row_file::RowFile;
use crate::format::whole::Whole;

/// An open file with its footer.
struct ParquetFile {
    path: String,
    bytes: FileBytes,
    metadata: ArrowReaderMetadata,
}

/// Opens a file, and returns its columns.
///
/// # Errors
/// `io`; `corrupted` for a file of another format.
pub(crate) fn open(path: &str, whole: Whole) -> QueryResult<(Vec<Column>, Arc<dyn RowFile>)> {
    let bytes = FileBytes::File(whole);
    // Ignore the Arrow types that writers note: Parquet's own types are enough.
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let metadata = guarded(path, || ArrowReaderMetadata::load(&bytes, options))?;
    let mut columns = columns(metadata.schema().fields());
    mark(path, &metadata, &mut columns);
    let path = path.to_owned();
    Ok((columns, Arc::new(ParquetFile { path, bytes, metadata })))
}

/// Marks text that is JSON, and bytes that are UUIDs: Parquet's own types say so, and for JSON the
/// noted Arrow types.
fn mark(path: &str, metadata: &ArrowReaderMetadata, columns: &mut [Column]) {
    let fields = metadata.parquet_schema().root_schema().get_fields();
    // Ignore a note that cannot be read.
    let noted = guarded(path, || {
        ArrowReaderMetadata::try_new(Arc::clone(metadata.metadata()), ArrowReaderOptions::new())
    });
    for (column, own) in columns.iter_mut().zip(fields) {
        let field =
            noted.iter().find_map(|noted| noted.schema().field_with_name(&column.name).ok());
        if let Some(noted) = field.and_then(column_type) {
            mark_as_noted(&mut column.column_type, &noted);
        }
        mark_as_typed(&mut column.column_type, own);
    }
}

fn mark_as_typed(found: &mut ColumnType, own: &Type) {
    // A list is a group of a repeated group of its items, a map one of keys and values.
    let inner = |own: &Type| match own {
        Type::GroupType { fields, .. } => fields.first().cloned(),
        Type::PrimitiveType { .. } => None,
    };
    match (found, own) {
        (ColumnType::List(item), _) => {
            let repeated = inner(own);
            let single = repeated.as_deref().filter(
                |group| matches!(group, Type::GroupType { fields, .. } if fields.len() == 1),
            );
            if let Some(own) = single.and_then(inner).or(repeated) {
                mark_as_typed(item, &own);
            }
        }
        (ColumnType::Map(value), _) => {
            if let Some(Type::GroupType { fields, .. }) = inner(own).as_deref()
                && let Some(own) = fields.get(1)
            {
                mark_as_typed(value, own);
            }
        }
        (ColumnType::Struct(members), Type::GroupType { fields, .. }) => {
            for ((_, found), own) in members.iter_mut().zip(fields) {
                mark_as_typed(found, own);
            }
        }
        (found, Type::PrimitiveType { basic_info, .. }) => {
            let logical = basic_info.logical_type_ref();
            let is_json = logical == Some(&LogicalType::Json)
                || basic_info.converted_type() == ConvertedType::JSON;
            match found {
                ColumnType::Text if is_json => *found = ColumnType::Json,
                ColumnType::Binary if logical == Some(&LogicalType::Uuid) => {
                    *found = ColumnType::Uuid;
                }
                _ => {}
            }
        }
        _ => {}
    }
}

fn mark_as_noted(found: &mut ColumnType, noted: &ColumnType) {
    match (found, noted) {
        (found @ ColumnType::Text, ColumnType::Json) => *found = ColumnType::Json,
        (ColumnType::List(found), ColumnType::List(noted))
        | (ColumnType::Map(found), ColumnType::Map(noted)) => mark_as_noted(found, noted),
        (ColumnType::Struct(found), ColumnType::Struct(noted)) => {
            for ((_, found), (_, noted)) in found.iter_mut().zip(noted) {
                mark_as_noted(found, noted);
            }
        }
        _ => {}
    }
}

impl RowFile for ParquetFile {
    fn path(&self) -> &str {
        &self.path
    }

    /// The number of rows in the footer.
    fn row_count(&self) -> Option<u64> {
        u64::try_from(self.metadata.metadata().file_metadata().num_rows()).ok()
    }

    fn scan(
        self: Arc<Self>,
        relation: &Relation,
        request: &ScanRequest,
    ) -> QueryResult<Box<dyn RowStream>> {
        let whose = format!("file {:?}", self.path);
        check_types(self.metadata.schema().fields(), &request.columns, &whose)?;
        // The reader returns columns in file order, each once.
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
    /// The position of each column in the reader's output.
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

/// Unwraps an error that passed through Arrow.
pub(super) fn unwrapped(error: ArrowError) -> ParquetError {
    match error {
        ArrowError::ParquetError(text) => ParquetError::General(text),
        other => ParquetError::ArrowError(other.to_string()),
    }
}

/// A file, as the parser reads it.
#[derive(Clone)]
pub(super) enum FileBytes {
    File(Whole),
    Mapped(Bytes),
}

impl Length for FileBytes {
    fn len(&self) -> u64 {
        match self {
            Self::File(whole) => whole.size(),
            Self::Mapped(bytes) => bytes.len() as u64,
        }
    }
}

impl ChunkReader for FileBytes {
    type T = Box<dyn Read>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        match self {
            Self::File(whole) => Ok(Box::new(BufReader::new(whole.reader(start)))),
            Self::Mapped(bytes) => {
                let start = usize::try_from(start).ok().filter(|start| *start <= bytes.len());
                let start = start.ok_or_else(|| ParquetError::EOF("beyond the end".to_owned()))?;
                Ok(Box::new(bytes.slice(start..).reader()))
            }
        }
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        // A footer may claim anything: allocate only for what the file contains.
        let is_inside = start.checked_add(length as u64).is_some_and(|end| end <= self.len());
        if !is_inside {
            return Err(ParquetError::EOF(format!(
                "{length} bytes at {start} were requested of {}",
                self.len()
            )));
        }
        match self {
            Self::File(whole) => {
                let mut bytes = vec![0; length];
                whole.reader(start).read_exact(&mut bytes)?;
                Ok(bytes.into())
            }
            Self::Mapped(bytes) => Ok(bytes.slice(start as usize..start as usize + length)),
        }
    }
}
