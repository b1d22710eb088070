//! Files of records as relations: JSON Lines, JSON arrays and CSV, plain or compressed. They are
//! read as in an import.
//!
//! The first pass runs when a statement names the file, and finds columns that hold all values. It
//! is skipped if the statement says that all cells are text. Small files stay in memory afterwards;
//! a larger file is read again as rows are needed.

use std::path::Path;
use std::sync::Arc;

use folio_engine::source::{FileReading, Relation, RowStream, ScanRequest};
use folio_engine::{BATCH_SIZE, Batch, Error as QueryError, Result as QueryResult};
use folio_file::FileSystem;
use folio_json::Tree;
use folio_types::ErrorCode;

use super::json::{LineColumns, schema_of};
use super::row_file::{RowFile, relation_of_schema};
use super::{Format, Reading, Record, Records, Source, stem};

/// The maximum number of bytes of records to hold in memory.
const MAX_HELD: usize = 16 << 20;

/// A file and its reading options.
pub(crate) struct RecordFile {
    files: Arc<dyn FileSystem>,
    path: String,
    reading: Reading,
    /// The file's fingerprint when its columns were found.
    fingerprint: Option<u64>,
    /// The number of records, if counted.
    row_count: Option<u64>,
    /// All records, if they are few.
    held: Option<Vec<String>>,
    /// No object of a record has a key twice.
    keys_are_distinct: bool,
}

impl RecordFile {
    pub(crate) fn new(
        files: &Arc<dyn FileSystem>,
        path: &str,
        reading: FileReading<'_>,
        format: Option<Format>,
    ) -> Self {
        let mut own = Reading { format, infer_types: reading.infer_types, ..Reading::default() };
        if let Some((csv, names)) = reading.csv {
            own.delimiter = csv.delimiter;
            if !csv.has_header {
                // Without column names, nothing in the first line identifies the delimiter.
                let delimiter = format.and_then(Format::delimiter);
                own.delimiter = csv.delimiter.or(delimiter).or(Some(b','));
                own.columns = Some(names.to_vec());
            }
            own.null.clone_from(&csv.null);
        }
        Self {
            files: Arc::clone(files),
            path: path.to_owned(),
            reading: own,
            fingerprint: None,
            row_count: None,
            held: None,
            keys_are_distinct: false,
        }
    }

    fn source(&self) -> QueryResult<Source> {
        Ok(Source::file_in(&*self.files, Path::new(&self.path))?)
    }

    /// Opens the records from the start.
    ///
    /// # Errors
    /// Errors of the file.
    pub(crate) fn open(&mut self) -> QueryResult<Records> {
        let source = self.source()?;
        self.fingerprint = source.fingerprint;
        self.records(source)
    }

    fn records(&self, source: Source) -> QueryResult<Records> {
        Ok(Records::open(source, &self.reading)?)
    }

    /// The relation of the file.
    ///
    /// # Errors
    /// `syntax` with the line where the records cannot be parsed.
    pub(crate) fn relation(
        mut self,
        mut records: Records,
        reading: FileReading<'_>,
    ) -> QueryResult<Arc<Relation>> {
        let is_csv = matches!(records, Records::Csv(_));
        reading.csv.map_or(Ok(()), |(csv, _)| csv.check(is_csv))?;
        let mut types = Tree::default();
        match &records {
            Records::Csv(csv) if !self.reading.infer_types => {
                let row = Record { raw: &[], line: 1, json: Ok(&csv.empty_texts()) };
                self.observe(&row, &mut types)?;
            }
            _ => self.look(&mut records, &mut types)?,
        }
        // A CSV cell contains JSON as text; a JSON member is JSON already.
        let json = if is_csv { &[] } else { reading.json };
        let (schema, paths) = schema_of(&types, &stem(&self.path), None, None, json);
        self.keys_are_distinct = types.keys_are_distinct();
        let relation = relation_of_schema(schema, Arc::new(self));
        Ok(Arc::new(Relation { paths, ..relation }))
    }

    /// Reads all records to find their types, and holds them while they are few.
    fn look(&mut self, records: &mut Records, types: &mut Tree) -> QueryResult<()> {
        let (mut held, mut size, mut count) = (Vec::new(), 0, 0);
        while let Some(record) = records.next()? {
            let text = self.observe(&record, types)?;
            count += 1;
            size += text.len() + size_of::<String>();
            if size > MAX_HELD {
                held = Vec::new();
            } else {
                held.push(text.to_owned());
            }
        }
        self.row_count = Some(count);
        self.held = (size <= MAX_HELD).then_some(held);
        Ok(())
    }

    /// Adds the types of a record. Returns its JSON text.
    fn observe<'r>(&self, record: &Record<'r>, types: &mut Tree) -> QueryResult<&'r str> {
        let text = self.line(record)?;
        let observed = types.observe(text.as_bytes());
        observed.map_err(|fault| self.broken(record.line, &fault.to_string()))?;
        Ok(text)
    }

    /// The JSON text of a record.
    fn line<'r>(&self, record: &Record<'r>) -> QueryResult<&'r str> {
        let json = record.json.as_ref().map_err(|problem| self.broken(record.line, problem))?;
        std::str::from_utf8(json).map_err(|_| self.broken(record.line, "not valid UTF-8"))
    }

    fn changed(&self) -> QueryError {
        let text = format!("file {:?} was changed while the statement began", self.path);
        QueryError::new(ErrorCode::Conflict, text).help("run the statement again")
    }

    fn broken(&self, line: u64, problem: &str) -> QueryError {
        QueryError::new(ErrorCode::Syntax, format!("file {:?}, line {line}: {problem}", self.path))
    }
}

impl RowFile for RecordFile {
    fn row_count(&self) -> Option<u64> {
        self.row_count
    }

    fn scan(
        self: Arc<Self>,
        relation: &Relation,
        request: &ScanRequest,
    ) -> QueryResult<Box<dyn RowStream>> {
        let (columns, conditions) = (&request.columns, &request.conditions);
        let columns = LineColumns::new(relation, columns, conditions, self.keys_are_distinct);
        if self.held.is_some() {
            return Ok(Box::new(HeldRows { file: self, columns, next: 0 }));
        }
        let source = self.source()?;
        if source.fingerprint != self.fingerprint {
            return Err(self.changed());
        }
        let records = self.records(source)?;
        Ok(Box::new(ReadRows { file: self, records, columns }))
    }
}

/// Rows of records in memory.
struct HeldRows {
    file: Arc<RecordFile>,
    columns: LineColumns,
    next: usize,
}

impl RowStream for HeldRows {
    fn next(&mut self) -> QueryResult<Option<Batch>> {
        let lines = self.file.held.as_deref().unwrap_or_default();
        let lines = &lines[self.next..];
        for line in lines.iter().take(BATCH_SIZE) {
            self.columns.push(line.as_bytes()).map_err(|_| self.file.changed())?;
        }
        self.next += lines.len().min(BATCH_SIZE);
        Ok((!lines.is_empty()).then(|| self.columns.finish()))
    }
}

/// Rows of records, read on demand.
struct ReadRows {
    file: Arc<RecordFile>,
    records: Records,
    columns: LineColumns,
}

impl RowStream for ReadRows {
    fn next(&mut self) -> QueryResult<Option<Batch>> {
        let mut count = 0;
        while count < BATCH_SIZE
            && let Some(record) = self.records.next()?
        {
            let line = self.file.line(&record)?;
            self.columns.push(line.as_bytes()).map_err(|_| self.file.changed())?;
            count += 1;
        }
        Ok((count > 0).then(|| self.columns.finish()))
    }
}
