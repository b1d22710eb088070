//! Files of records as relations: JSON Lines, JSON arrays and CSV, plain or compressed. They are
//! read as in an import.
//!
//! The first pass runs when a statement names the file, and finds columns that hold all values. It
//! is skipped if the statement says that all cells are text. Small files stay in memory afterwards;
//! a larger file is read again as rows are needed, and its columns are known to the next statement
//! ([`crate::known::KnownFiles`]). Both passes read files of lines on several
//! threads, unless they are compressed.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use folio_compute::{Batch, Error as QueryError, Result as QueryResult};
use folio_engine::source::{
    Condition, FileReading, Relation, RelationKind, RowStream, ScanRequest,
};
use folio_file::{File, FileSystem, Stat};
use folio_json::Tree;
use folio_types::ErrorCode;

use super::json::{LineBatches, checks, parts, schema_of};
use super::row_file::{RowFile, relation_of_schema};
use super::{Format, Reading, Record, Records, Source, stem};
use crate::error::Error;
use crate::known::FileKey;
use crate::threads;

/// The maximum number of bytes of records to hold in memory.
const MAX_HELD: usize = 16 << 20;

/// A file whose last change is older than this gets another time with the next one, on every file
/// system.
const SETTLED_NS: i128 = 2_000_000_000;

/// A file and its reading options.
pub(crate) struct RecordFile {
    files: Arc<dyn FileSystem>,
    path: String,
    reading: Reading,
    /// The file's fingerprint when its columns were found.
    fingerprint: Option<u64>,
    /// What the file system said of it then.
    stat: Option<Stat>,
    /// If it is a file of lines, the file and its size, until the columns are found.
    lines: Option<(Arc<dyn File>, u64)>,
    is_lines: bool,
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
            stat: None,
            lines: None,
            is_lines: false,
            row_count: None,
            held: None,
            keys_are_distinct: false,
        }
    }

    fn source(&self) -> QueryResult<Source> {
        Ok(Source::file_in(&*self.files, Path::new(&self.path))?)
    }

    /// The file again, as it was when its columns were found.
    fn same_source(&self) -> QueryResult<Source> {
        let source = self.source()?;
        match source.fingerprint == self.fingerprint {
            true => Ok(source),
            false => Err(self.changed()),
        }
    }

    /// Opens the records from the start.
    ///
    /// # Errors
    /// Errors of the file.
    pub(crate) fn open(&mut self) -> QueryResult<Records> {
        let source = self.source()?;
        self.fingerprint = source.fingerprint;
        self.stat = source.stat;
        let file = source.file.clone();
        let records = self.records(source)?;
        self.lines = file.filter(|_| matches!(records, Records::Lines(_)));
        self.is_lines = self.lines.is_some();
        Ok(records)
    }

    /// What identifies the content of the opened file and how it is read. `None` for a file that
    /// was written just now: its next change may leave the time as it is.
    pub(crate) fn key(&self, reading: FileReading<'_>) -> Option<FileKey> {
        let (fingerprint, stat) = (self.fingerprint?, self.stat?);
        let now = self.files.now().duration_since(UNIX_EPOCH).ok()?;
        let age = i128::try_from(now.as_nanos()).ok()? - stat.modified_ns.max(stat.changed_ns);
        (age > SETTLED_NS).then(|| FileKey {
            path: self.path.clone(),
            fingerprint,
            file: (stat.device, stat.inode, stat.changed_ns),
            reading: format!("{reading:?}"),
        })
    }

    fn records(&self, source: Source) -> QueryResult<Records> {
        Ok(Records::open(source, &self.reading)?)
    }

    /// The relation of the file, and whether finding its columns again costs much.
    ///
    /// # Errors
    /// `syntax` with the line where the records cannot be parsed.
    pub(crate) fn relation(
        mut self,
        mut records: Records,
        reading: FileReading<'_>,
    ) -> QueryResult<(Arc<Relation>, bool)> {
        let is_csv = matches!(records, Records::Csv(_));
        reading.csv.map_or(Ok(()), |(csv, _)| csv.check(is_csv))?;
        let mut types = Tree::default();
        match &records {
            Records::Csv(csv) if !self.reading.infer_types => {
                let row = Record { raw: &[], line: 1, json: Ok(&csv.empty_texts()) };
                self.observe(&row, &mut types)?;
            }
            _ => match self.look_in_parts()? {
                Some(found) => types = found,
                None => {
                    let header = match &records {
                        Records::Csv(csv) => csv.empty_texts(),
                        _ => Vec::new(),
                    };
                    self.look(&mut records, &mut types)?;
                    // A header without rows names columns of text.
                    if is_csv && self.row_count == Some(0) {
                        let row = Record { raw: &[], line: 1, json: Ok(&header) };
                        self.observe(&row, &mut types)?;
                    }
                }
            },
        }
        // A CSV cell contains JSON as text; a JSON member is JSON already.
        let json = if is_csv { &[] } else { reading.json };
        let (schema, paths) = schema_of(&types, &stem(&self.path), None, None, json);
        self.keys_are_distinct = types.keys_are_distinct();
        // A relation that is kept does not keep the file open.
        self.lines = None;
        let is_large = self.held.is_none();
        let relation = relation_of_schema(RelationKind::File, schema, Arc::new(self));
        Ok((Arc::new(Relation { paths, ..relation }), is_large))
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

    /// The same for a large file of lines, on several threads. `None` for other files, and for one
    /// with a fault, which a look at all lines in order reports with its number.
    fn look_in_parts(&mut self) -> QueryResult<Option<Tree>> {
        let large = self.lines.as_ref().filter(|(_, size)| *size > MAX_HELD as u64);
        let Some((file, size)) = large else { return Ok(None) };
        let parts = self.split(file, *size, threads::count())?;
        if parts.len() < 2 {
            return Ok(None);
        }
        let looked = threads::each(parts, |part| -> QueryResult<Tree> {
            let mut types = Tree::default();
            let mut records = self.part(file, part)?;
            while let Some(record) = records.next()? {
                self.observe(&record, &mut types)?;
            }
            Ok(types)
        });
        let Some(Ok(trees)) =
            looked.map(|looked| looked.into_iter().collect::<QueryResult<Vec<_>>>())
        else {
            return Ok(None);
        };
        let mut types = Tree::default();
        trees.iter().for_each(|tree| types.merge(tree));
        self.row_count = Some(types.document_count());
        Ok(Some(types))
    }

    fn split(&self, file: &Arc<dyn File>, size: u64, count: usize) -> QueryResult<Vec<Range<u64>>> {
        Ok(parts::split(&**file, size, count).map_err(Error::io("read", self.path.as_ref()))?)
    }

    /// The records in a part of a file of lines.
    fn part(&self, file: &Arc<dyn File>, part: Range<u64>) -> QueryResult<Records> {
        let reading = Reading { format: Some(Format::JsonLines), ..Reading::default() };
        Ok(Records::open(parts::source(&self.path, file, part), &reading)?)
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

impl RecordFile {
    fn batches_of(&self, relation: &Relation, request: &ScanRequest) -> LineBatches {
        LineBatches::new(relation, request, &request.conditions, self.keys_are_distinct)
    }
}

impl RowFile for RecordFile {
    fn path(&self) -> &str {
        &self.path
    }

    fn row_count(&self) -> Option<u64> {
        self.row_count
    }

    fn line_of(&self, row: u64) -> QueryResult<Option<u64>> {
        let mut records = self.records(self.same_source()?)?;
        for _ in 0..row {
            records.next()?;
        }
        Ok(records.next()?.map(|record| record.line))
    }

    fn checks(&self, relation: &Relation, condition: &Condition) -> bool {
        checks(relation, condition)
    }

    fn scan(
        self: Arc<Self>,
        relation: &Relation,
        request: &ScanRequest,
    ) -> QueryResult<Box<dyn RowStream>> {
        let batches = self.batches_of(relation, request);
        if self.held.is_some() {
            return Ok(Box::new(HeldRows { file: self, batches, next: 0 }));
        }
        let records = Some(self.records(self.same_source()?)?);
        Ok(Box::new(ReadRows { file: self, part: None, records, batches }))
    }

    fn scan_parts(
        self: Arc<Self>,
        relation: &Relation,
        request: &ScanRequest,
        count: usize,
    ) -> QueryResult<Vec<Box<dyn RowStream>>> {
        if count == 1 || self.held.is_some() || !self.is_lines {
            return Ok(vec![self.scan(relation, request)?]);
        }
        let source = self.same_source()?;
        let Some((file, size)) = source.file else { return Err(self.changed()) };
        let parts = self.split(&file, size, count)?;
        let rows = |part| -> Box<dyn RowStream> {
            let batches = self.batches_of(relation, request);
            let part = Some((Arc::clone(&file), part));
            Box::new(ReadRows { file: Arc::clone(&self), part, records: None, batches })
        };
        Ok(parts.into_iter().map(rows).collect())
    }
}

/// Rows of records in memory.
struct HeldRows {
    file: Arc<RecordFile>,
    batches: LineBatches,
    next: usize,
}

impl RowStream for HeldRows {
    fn next(&mut self) -> QueryResult<Option<Batch>> {
        let lines = self.file.held.as_deref().unwrap_or_default();
        while !self.batches.is_full()
            && let Some(line) = lines.get(self.next)
        {
            self.batches.push(line.as_bytes()).map_err(|_| self.file.changed())?;
            self.next += 1;
        }
        Ok(self.batches.finish())
    }
}

/// Rows of records, read on demand.
struct ReadRows {
    file: Arc<RecordFile>,
    /// A part that is opened when its first row is wanted: it holds a window of the file.
    part: Option<(Arc<dyn File>, Range<u64>)>,
    records: Option<Records>,
    batches: LineBatches,
}

impl RowStream for ReadRows {
    fn next(&mut self) -> QueryResult<Option<Batch>> {
        if let Some((file, part)) = self.part.take() {
            self.records = Some(self.file.part(&file, part)?);
        }
        let Some(records) = &mut self.records else { return Ok(None) };
        while !self.batches.is_full()
            && let Some(record) = records.next()?
        {
            // The first pass has found that it is valid UTF-8.
            let broken = |problem| self.file.broken(record.line, problem);
            let line = record.json.as_ref().map_err(|problem| broken(problem))?;
            self.batches.push(line).map_err(|_| self.file.changed())?;
        }
        Ok(self.batches.finish())
    }
}
