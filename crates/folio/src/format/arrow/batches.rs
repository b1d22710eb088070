//! Batches in memory as a relation.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use folio_compute::{BATCH_SIZE, Batch, Error as QueryError, Result as QueryResult};
use folio_engine::source::{Relation, RelationKind, RowStream, ScanRequest};
use folio_types::{ColumnType, ErrorCode, TableSchema};

use super::{check_types, columns, convert};
use crate::format::row_file::{RowFile, relation_of_schema};

/// The registered rows.
#[derive(Debug)]
struct ArrowBatches {
    batches: Vec<RecordBatch>,
}

impl RowFile for ArrowBatches {
    fn row_count(&self) -> Option<u64> {
        Some(self.batches.iter().map(|batch| batch.num_rows() as u64).sum())
    }

    fn scan(
        self: Arc<Self>,
        relation: &Relation,
        request: &ScanRequest,
    ) -> QueryResult<Box<dyn RowStream>> {
        let slices = Slices::new(relation, request, &format!("{:?}", relation.schema.name));
        Ok(Box::new(BatchRows { rows: self, next: 0, slices }))
    }
}

/// Batches of one schema under a name.
///
/// # Errors
/// `unsupported` for columns of types without a counterpart; `invalid_input` for two columns of one
/// name.
pub(crate) fn relation_of(
    name: &str,
    schema: &Schema,
    batches: Vec<RecordBatch>,
) -> QueryResult<Relation> {
    let columns = columns(schema.fields());
    check_types(schema.fields(), &(0..columns.len()).collect::<Vec<_>>(), &format!("{name:?}"))?;
    let mut taken = std::collections::HashSet::new();
    if let Some(twice) = columns.iter().find(|column| !taken.insert(column.name.to_lowercase())) {
        let text = format!("{name:?} has two columns {:?}", twice.name);
        return Err(QueryError::new(ErrorCode::InvalidInput, text).help("rename one of them"));
    }
    let schema = TableSchema::new(name, columns, Vec::new());
    let rows = Arc::new(ArrowBatches { batches });
    Ok(relation_of_schema(RelationKind::Registered, schema, rows))
}

struct BatchRows {
    rows: Arc<ArrowBatches>,
    /// The index of the next batch.
    next: usize,
    slices: Slices,
}

impl RowStream for BatchRows {
    fn next(&mut self) -> QueryResult<Option<Batch>> {
        loop {
            if let Some(batch) = self.slices.next()? {
                return Ok(Some(batch));
            }
            let Some(batch) = self.rows.batches.get(self.next) else { return Ok(None) };
            self.slices.begin(batch.clone());
            self.next += 1;
        }
    }
}

/// Splits a foreign batch into batches of our size and types.
pub(crate) struct Slices {
    /// The name of the source, for errors.
    whose: String,
    columns: Vec<usize>,
    types: Vec<ColumnType>,
    /// The current batch, and how many of its rows are done.
    current: Option<(RecordBatch, usize)>,
}

impl Slices {
    pub(crate) fn new(relation: &Relation, request: &ScanRequest, whose: &str) -> Self {
        let types = request.columns.iter().map(|column| relation.column_type(*column).clone());
        Self {
            whose: whose.to_owned(),
            types: types.collect(),
            columns: request.columns.clone(),
            current: None,
        }
    }

    pub(crate) fn begin(&mut self, batch: RecordBatch) {
        self.current = Some((batch, 0));
    }

    /// The next rows of the batch; `None` at its end.
    pub(crate) fn next(&mut self) -> QueryResult<Option<Batch>> {
        let Some((batch, done)) = &mut self.current else { return Ok(None) };
        let count = (batch.num_rows() - *done).min(BATCH_SIZE);
        if count == 0 {
            self.current = None;
            return Ok(None);
        }
        let wanted = self.columns.iter().zip(&self.types);
        let columns = wanted.map(|(column, ty)| {
            convert(&batch.column(*column).slice(*done, count), ty).map_err(|error| {
                let column = batch.schema_ref().field(*column).name();
                let text = format!("column {column:?} of {} cannot be read: {error}", self.whose);
                QueryError::new(ErrorCode::InvalidInput, text)
            })
        });
        let columns = columns.collect::<QueryResult<_>>()?;
        *done += count;
        Ok(Some(Batch::new(columns, count)))
    }
}
