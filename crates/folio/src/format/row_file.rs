//! A file with known columns, or rows of the program, as a relation.

use std::sync::Arc;

use folio_compute::{Error as QueryError, Result as QueryResult};
use folio_engine::source::{Condition, Relation, RelationKind, RowStream, ScanRequest};
use folio_types::{Column, ErrorCode, TableSchema};

use super::stem;

/// A file with known columns.
pub(crate) trait RowFile: Send + Sync {
    /// The path that a statement names, without secrets. Empty for rows of the program.
    fn path(&self) -> &str {
        ""
    }

    /// The number of rows, if it is known without reading them.
    fn row_count(&self) -> Option<u64>;

    /// The line of a row, by its position, in a file of text.
    ///
    /// # Errors
    /// Errors of the file.
    fn line_of(&self, row: u64) -> QueryResult<Option<u64>> {
        let _ = row;
        Ok(None)
    }

    /// Whether scans leave out every row that fails a condition.
    fn checks(&self, relation: &Relation, condition: &Condition) -> bool {
        let _ = (relation, condition);
        false
    }

    /// The rows, with the wanted columns.
    ///
    /// # Errors
    /// Errors of the file.
    fn scan(
        self: Arc<Self>,
        relation: &Relation,
        request: &ScanRequest,
    ) -> QueryResult<Box<dyn RowStream>>;

    /// The rows in about `count` parts, which threads may read at the same time.
    ///
    /// # Errors
    /// Errors of the file.
    fn scan_parts(
        self: Arc<Self>,
        relation: &Relation,
        request: &ScanRequest,
        count: usize,
    ) -> QueryResult<Vec<Box<dyn RowStream>>> {
        let _ = count;
        Ok(vec![self.scan(relation, request)?])
    }
}

/// The data attached to the relation of a file.
struct Opened(Arc<dyn RowFile>);

/// The relation of an open file.
pub(crate) fn relation_with(
    path: &str,
    columns: Vec<Column>,
    file: Arc<dyn RowFile>,
) -> Arc<Relation> {
    let schema = TableSchema::new(stem(path), columns, Vec::new());
    Arc::new(relation_of_schema(RelationKind::File, schema, file))
}

/// The same, with a schema.
pub(crate) fn relation_of_schema(
    kind: RelationKind,
    schema: TableSchema,
    file: Arc<dyn RowFile>,
) -> Relation {
    Relation::new(kind, schema, Arc::new(Opened(file)))
}

/// The file of a relation.
///
/// # Errors
/// `invalid_input` for relations of other kinds.
pub(crate) fn file_of(relation: &Relation) -> QueryResult<&Arc<dyn RowFile>> {
    relation.handle.downcast_ref::<Opened>().map(|opened| &opened.0).ok_or_else(|| {
        let text = format!("{:?} is not a file", relation.schema.name);
        QueryError::new(ErrorCode::InvalidInput, text)
    })
}
