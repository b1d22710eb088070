//! A part of a table or a collection as the only relation of a statement: what a worker reads of a
//! [`crate::Partition`].
//!
//! It has no key and no indexes, so that the engine reads it by scans only, which keep to the range.
//! Everything else about the scan is as in other statements: columns, conditions, the copies in
//! columns.

use std::sync::Arc;

use folio_compute::{Error as QueryError, Result as QueryResult};
use folio_document::DocumentRange;
use folio_engine::ScalarFunction;
use folio_engine::source::{
    Condition, FileReading, Reads, Relation, RelationKind, RowStream, ScanRequest, Source,
    SpillFile, Statistics,
};
use folio_table::RowRange;
use folio_types::{ErrorCode, Value, ValueRef};

use super::{View, documents, tables};

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
        self.view.statistics(relation, column)
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

    fn scan(&self, relation: &Relation, request: &ScanRequest) -> QueryResult<Box<dyn RowStream>> {
        match (&self.range, relation.kind) {
            (Some(PartRange::Documents(range)), RelationKind::Collection) => {
                let handle = &self.view.handle;
                let parts = documents::scan_parts(handle, relation, request, (Some(range), 1))?;
                parts.into_iter().next().ok_or_else(unreadable)
            }
            (Some(PartRange::Rows(range)), RelationKind::Table) => {
                tables::scan_range(&self.view, relation, range, request)
            }
            _ => Err(unreadable()),
        }
    }

    fn spill_file(&self) -> QueryResult<Option<Box<dyn SpillFile>>> {
        self.view.spill_file()
    }
}
