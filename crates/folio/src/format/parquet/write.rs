//! Rows as a Parquet file, compressed with Snappy.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use folio_compute::{Batch, Error as QueryError, Result as QueryResult};
use folio_types::ErrorCode;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use crate::format::RowWriter;
use crate::format::row_writer::Shared;

/// Bytes of encoded rows to buffer before a row group is written.
const GROUP_SIZE: usize = 64 << 20;

pub(crate) struct ParquetRows {
    /// `None` once the footer is written.
    writer: Option<ArrowWriter<Shared>>,
    bytes: Shared,
    schema: SchemaRef,
}

impl ParquetRows {
    /// # Errors
    /// `unsupported` for types that Parquet lacks.
    pub(crate) fn new(schema: Schema) -> QueryResult<Self> {
        let (bytes, schema) = (Shared::default(), Arc::new(schema));
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let writer = ArrowWriter::try_new(bytes.clone(), Arc::clone(&schema), Some(properties));
        Ok(Self { writer: Some(writer.map_err(|error| refused(&error))?), bytes, schema })
    }
}

impl RowWriter for ParquetRows {
    fn write(&mut self, batch: Batch, out: &mut Vec<u8>) -> QueryResult<()> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), batch.columns)?;
        writer.write(&batch).map_err(|error| refused(&error))?;
        if writer.in_progress_size() > GROUP_SIZE {
            writer.flush().map_err(|error| refused(&error))?;
        }
        self.bytes.take(out);
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> QueryResult<()> {
        if let Some(writer) = self.writer.take() {
            writer.close().map_err(|error| refused(&error))?;
        }
        self.bytes.take(out);
        Ok(())
    }
}

fn refused(error: &ParquetError) -> QueryError {
    let text = format!("the rows cannot be written as Parquet: {error}");
    QueryError::new(ErrorCode::Unsupported, text)
}
