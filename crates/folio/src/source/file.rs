//! Files as relations: `select … from 'events.jsonl'`. JSON Lines, JSON arrays and
//! CSV, plain or compressed, read as an import reads them. A file is read whole when
//! a statement names it, since its columns are inferred from all of it.

use std::path::Path;
use std::sync::Arc;

use folio_file::FileSystem;
use folio_query::source::{Relation, RelationKind, RowStream, ScanRequest};
use folio_query::{BATCH_SIZE, Batch, Constraints, Error as QueryError, Result as QueryResult};
use folio_types::ErrorCode;

use super::from_facade;
use super::infer::Inferred;
use super::lines::LineColumns;
use crate::import::{ImportOptions, Records, Source};

/// The records of a file, as JSON objects.
struct FileLines {
    lines: Vec<String>,
}

/// The relation a file holds.
pub(super) fn relation(files: &dyn FileSystem, path: &str) -> QueryResult<Arc<Relation>> {
    let name = Path::new(path).file_stem().map_or(path.into(), std::ffi::OsStr::to_string_lossy);
    let source = Source::file_in(files, Path::new(path)).map_err(from_facade)?;
    let mut records = Records::open(source, &ImportOptions::default()).map_err(from_facade)?;
    let (mut lines, mut inferred) = (Vec::new(), Inferred::default());
    while let Some(record) = records.next().map_err(from_facade)? {
        let bad = |problem: &str| {
            let line = record.line;
            QueryError::new(ErrorCode::Syntax, format!("file {path:?}, line {line}: {problem}"))
        };
        let json = record.json.as_ref().map_err(|problem| bad(problem))?;
        let text = std::str::from_utf8(json).map_err(|_| bad("not valid UTF-8"))?;
        inferred.observe(text).map_err(|error| bad(&error.to_string()))?;
        lines.push(text.to_owned());
    }
    Ok(Arc::new(Relation {
        kind: RelationKind::File,
        schema: inferred.schema(&name, None, None),
        constraints: Constraints::default(),
        indexes: Vec::new(),
        handle: Arc::new(FileLines { lines }),
    }))
}

/// The rows of a file.
pub(super) fn scan(relation: &Relation, request: &ScanRequest) -> QueryResult<Box<dyn RowStream>> {
    let lines = Arc::clone(&relation.handle).downcast::<FileLines>().map_err(|_| {
        QueryError::new(
            ErrorCode::InvalidInput,
            format!("{:?} is not a file", relation.schema.name),
        )
    })?;
    let columns = request.columns.iter().map(|index| relation.schema.columns[*index].clone());
    let columns = LineColumns::new(columns.collect());
    Ok(Box::new(FileRows { lines, columns, next: 0 }))
}

struct FileRows {
    lines: Arc<FileLines>,
    columns: LineColumns,
    next: usize,
}

impl RowStream for FileRows {
    fn next(&mut self) -> QueryResult<Option<Batch>> {
        while self.columns.row_count() < BATCH_SIZE
            && let Some(line) = self.lines.lines.get(self.next)
        {
            self.columns.push(line)?;
            self.next += 1;
        }
        Ok((self.columns.row_count() > 0).then(|| self.columns.finish()))
    }
}
