//! Rows as a stream of Arrow record batches.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions, RecordBatchReader};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use folio::{ColumnBatch, ColumnType, Rows};

use crate::fork::Owned;

/// The columns of a result. Columns of type uuid and json have the names of Arrow's extension
/// types.
pub(super) fn schema(names: &[String], types: &[ColumnType]) -> Schema {
    let columns = names.iter().zip(types);
    let field =
        |(name, ty): (&String, &ColumnType)| folio::Column::optional(name, ty.clone()).to_arrow();
    Schema::new(columns.map(field).collect::<Vec<_>>())
}

/// Record batches of rows that are not yet read.
pub(super) struct Batches {
    schema: SchemaRef,
    /// Rows read for Python but not yet taken.
    begun: Option<ColumnBatch>,
    rows: Option<Owned<Rows>>,
}

impl Batches {
    pub(super) fn new(
        schema: Schema,
        begun: Option<ColumnBatch>,
        rows: Option<Owned<Rows>>,
    ) -> Self {
        Self { schema: Arc::new(schema), begun, rows }
    }

    fn next_batch(&mut self) -> Result<Option<ColumnBatch>, ArrowError> {
        if let Some(begun) = self.begun.take() {
            return Ok(Some(begun));
        }
        let Some(rows) = &mut self.rows else { return Ok(None) };
        let Some(rows) = rows.get_mut() else {
            return Err(ArrowError::ExternalError(
                "the stream was started before the fork; start a new one".into(),
            ));
        };
        rows.next_batch().map_err(|error| ArrowError::ExternalError(error.to_string().into()))
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = match self.next_batch() {
            Ok(batch) => batch?,
            Err(error) => {
                self.rows = None;
                return Some(Err(error));
            }
        };
        let options = RecordBatchOptions::new().with_row_count(Some(batch.row_count));
        let schema = Arc::clone(&self.schema);
        Some(RecordBatch::try_new_with_options(schema, batch.columns, &options))
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
