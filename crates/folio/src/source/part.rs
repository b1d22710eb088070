//! A part of a table or a collection as the only relation of a statement: what a worker reads of a
//! [`crate::Partition`].
//!
//! It has no key and no indexes, so that the engine reads it by scans only, which keep to the range.
//! Everything else about the scan is as in other statements: columns, conditions, the copies in
//! columns. Beside the columns of the relation it has *narrow* ones: columns with a part of the
//! members of others, which scans read instead of those.

use std::sync::Arc;

use folio_compute::{Batch, Error as QueryError, Result as QueryResult};
use folio_document::DocumentRange;
use folio_engine::ScalarFunction;
use folio_engine::source::{
    Condition, FileReading, Reads, Relation, RelationKind, RowStream, ScanRequest, Source,
    SpillFile, Statistics,
};
use folio_table::RowRange;
use folio_types::{Column, ColumnType, ErrorCode, Value, ValueRef};

use super::{View, documents, tables};
use crate::format::members::adapted;

/// The name that a statement reads the part by.
pub(crate) const PART: &str = "part";

/// Which rows or documents are in a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PartRange {
    Documents(DocumentRange),
    Rows(RowRange),
}

impl PartRange {
    /// Whether it is of documents between two positions.
    pub(crate) fn omits_replaced(&self) -> bool {
        matches!(self, Self::Documents(range) if range.omits_replaced)
    }
}

/// What one statement about a part reads.
#[derive(Clone)]
pub(crate) struct Part {
    view: View,
    relation: Arc<Relation>,
    /// `None` for a statement that is compiled but never run.
    range: Option<PartRange>,
    row_count: u64,
}

impl Part {
    pub(crate) fn new(
        view: View,
        relation: &Relation,
        range: Option<PartRange>,
        row_count: u64,
    ) -> Self {
        let mut relation = relation.clone();
        relation.schema.primary_key.clear();
        relation.indexes.clear();
        Self { view, relation: Arc::new(relation), range, row_count }
    }

    /// The relation that it is a part of, without keys.
    pub(crate) fn relation(&self) -> &Relation {
        &self.relation
    }

    /// Adds a narrow column for each name of a column and the type that is read of it. Returns the
    /// names of the narrow columns.
    pub(crate) fn with_narrow(mut self, narrow: Vec<(String, ColumnType)>) -> (Self, Vec<String>) {
        let mut relation = Relation::clone(&self.relation);
        let mut names = Vec::new();
        for (column, _) in &narrow {
            let mut name = format!("part of {column}");
            while relation.column_index(&name).is_some() {
                name.push('+');
            }
            relation.schema.columns.push(Column::optional(&name, ColumnType::Json));
            names.push(name);
        }
        relation.paths = relation.paths.with_parts(&relation.schema, narrow);
        self.relation = Arc::new(relation);
        (self, names)
    }

    /// Streams the rows of a table in a range. Narrow columns are made of whole ones.
    fn table_rows(
        &self,
        relation: &Relation,
        range: &RowRange,
        request: &ScanRequest,
    ) -> QueryResult<Box<dyn RowStream>> {
        let mut request = request.clone();
        let mut narrow = Vec::new();
        for (place, column) in request.columns.iter_mut().enumerate() {
            let Some(path) = relation.paths.get(*column) else { continue };
            *column = relation.column_index(&path.path[0]).ok_or_else(unreadable)?;
            narrow.push((place, relation.column_type(*column).clone(), path.ty.clone()));
        }
        let mut parts = tables::begin_parts(&self.view, (relation, Some(range)), &request, 1)?;
        let rows: Box<dyn RowStream> = Box::new(parts.pop().ok_or_else(unreadable)?);
        Ok(if narrow.is_empty() { rows } else { Box::new(NarrowRows { rows, narrow }) })
    }
}

/// Rows with some columns narrowed, by their places, from a type to another.
struct NarrowRows {
    rows: Box<dyn RowStream>,
    narrow: Vec<(usize, ColumnType, ColumnType)>,
}

impl RowStream for NarrowRows {
    fn next(&mut self) -> QueryResult<Option<Batch>> {
        let Some(mut batch) = self.rows.next()? else { return Ok(None) };
        for (place, own, wanted) in &self.narrow {
            batch.columns[*place] = adapted(&batch.columns[*place], own, wanted);
        }
        Ok(Some(batch))
    }
}

/// A part is read by scans.
fn unreadable() -> QueryError {
    QueryError::new(ErrorCode::Unsupported, "a partition has no keys to look rows up by")
}

impl Source for Part {
    fn version(&self, reads: &Reads) -> u64 {
        self.view.version(reads)
    }

    fn refresh(&self, _collection: &str) -> QueryResult<()> {
        Ok(())
    }

    fn relation(&self, name: &str) -> QueryResult<Option<Arc<Relation>>> {
        if name == PART {
            return Ok(Some(Arc::clone(&self.relation)));
        }
        let text =
            format!("the filter of a partition reads {name:?}, and may read only its own row");
        Err(QueryError::new(ErrorCode::Unsupported, text).help("join after reading"))
    }

    fn function(&self, name: &str) -> Option<Arc<ScalarFunction>> {
        self.view.function(name)
    }

    fn file(&self, path: &str, _reading: FileReading<'_>) -> QueryResult<Arc<Relation>> {
        let text =
            format!("the filter of a partition reads {path:?}, and may read only its own row");
        Err(QueryError::new(ErrorCode::Unsupported, text).help("join after reading"))
    }

    fn names(&self) -> QueryResult<Vec<String>> {
        Ok(vec![PART.to_owned()])
    }

    fn referrers(&self, _relation: &Relation) -> QueryResult<Arc<[Arc<Relation>]>> {
        Ok(Arc::default())
    }

    fn row_count(&self, _relation: &Relation) -> QueryResult<Option<u64>> {
        Ok(Some(self.row_count))
    }

    fn statistics(&self, relation: &Relation, column: usize) -> QueryResult<Option<Statistics>> {
        match relation.is_partial(relation.read_at(column)) {
            true => Ok(None),
            false => self.view.statistics(relation, column),
        }
    }

    fn get(
        &self,
        _relation: &Relation,
        _key: &[ValueRef<'_>],
        _columns: &[usize],
        _row: &mut Vec<Value>,
    ) -> QueryResult<bool> {
        Err(unreadable())
    }

    fn checks(&self, relation: &Relation, condition: &Condition) -> bool {
        self.view.checks(relation, condition)
    }

    fn scan_parts(
        &self,
        relation: &Relation,
        request: &ScanRequest,
        _count: usize,
    ) -> QueryResult<Vec<Box<dyn RowStream>>> {
        match (&self.range, relation.kind) {
            (Some(PartRange::Documents(range)), RelationKind::Collection) => {
                documents::scan_parts(&self.view.handle, relation, request, (Some(range), 1))
            }
            (Some(PartRange::Rows(range)), RelationKind::Table) => {
                Ok(vec![self.table_rows(relation, range, request)?])
            }
            _ => Err(unreadable()),
        }
    }

    fn spill_file(&self) -> QueryResult<Option<Box<dyn SpillFile>>> {
        self.view.spill_file()
    }
}
