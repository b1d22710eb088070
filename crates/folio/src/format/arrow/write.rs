//! Rows as a file of Arrow's IPC format, with a footer.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, Schema};
use folio_compute::{Batch, Error as QueryError, Result as QueryResult};
use folio_types::ErrorCode;

use crate::format::RowWriter;
use crate::format::row_writer::Shared;

pub(crate) struct ArrowRows {
    writer: FileWriter<Shared>,
    bytes: Shared,
}

impl ArrowRows {
    /// # Errors
    /// `unsupported` for types that Arrow lacks.
    pub(crate) fn new(schema: &Schema) -> QueryResult<Self> {
        let bytes = Shared::default();
        let writer = FileWriter::try_new(bytes.clone(), schema);
        Ok(Self { writer: writer.map_err(|error| unwritten(&error))?, bytes })
    }
}

impl RowWriter for ArrowRows {
    fn write(&mut self, batch: Batch, out: &mut Vec<u8>) -> QueryResult<()> {
        let batch = RecordBatch::try_new(Arc::clone(self.writer.schema()), batch.columns)?;
        self.writer.write(&batch).map_err(|error| unwritten(&error))?;
        self.bytes.take(out);
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> QueryResult<()> {
        self.writer.finish().map_err(|error| unwritten(&error))?;
        self.bytes.take(out);
        Ok(())
    }
}

fn unwritten(error: &ArrowError) -> QueryError {
    let text = format!("the rows cannot be written as Arrow: {error}");
    QueryError::new(ErrorCode::Unsupported, text)
}
