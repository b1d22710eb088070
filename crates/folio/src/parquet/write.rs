//! Rows as a Parquet file, compressed with Snappy.

use std::io::Write;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use folio_query::{Batch, Error as QueryError, Result as QueryResult};
use folio_types::{ColumnType, ErrorCode};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use crate::arrow::schema;

/// Writes batches of rows.
pub(crate) struct ParquetWriter<W: Write + Send> {
    writer: ArrowWriter<W>,
    schema: SchemaRef,
}

impl<W: Write + Send> ParquetWriter<W> {
    /// Begins a file of columns of these names and types.
    ///
    /// # Errors
    /// `unsupported` for types that Parquet has not.
    pub(crate) fn begin(out: W, names: &[String], types: &[ColumnType]) -> QueryResult<Self> {
        let schema = Arc::new(schema(names, types));
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let writer = ArrowWriter::try_new(out, Arc::clone(&schema), Some(properties));
        Ok(Self { writer: writer.map_err(|error| refused(&error))?, schema })
    }

    /// Writes rows.
    ///
    /// # Errors
    /// What the file says.
    pub(crate) fn write(&mut self, batch: Batch) -> QueryResult<()> {
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), batch.columns)?;
        self.writer.write(&batch).map_err(|error| refused(&error))
    }

    /// Writes the footer, and gives the file back.
    ///
    /// # Errors
    /// What the file says.
    pub(crate) fn finish(self) -> QueryResult<W> {
        self.writer.into_inner().map_err(|error| refused(&error))
    }
}

fn refused(error: &ParquetError) -> QueryError {
    let code = match error {
        ParquetError::External(_) => ErrorCode::Io,
        _ => ErrorCode::Unsupported,
    };
    QueryError::new(code, format!("the rows cannot be written as Parquet: {error}"))
}
