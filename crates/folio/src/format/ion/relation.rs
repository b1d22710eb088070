//! An Ion file as a relation: `select … from 'events.ion'`.
//!
//! The file is read twice, block by block, and never held in memory. The first pass, when a
//! statement names the file, reads every value and finds columns that hold all of them. The second
//! reads the wanted columns, and skips the others without decoding them.
//!
//! | Ion | column |
//! |---|---|
//! | bool · float · string, symbol, clob · blob | `boolean` · `double precision` · `text` · `bytea` |
//! | int · decimal | `bigint`, or `numeric` where that is too narrow |
//! | timestamp | `timestamptz`, or `date` where all are of day precision |
//! | list, sexp · struct | an array · a struct, or a map where its fields look like keys |
//! | a mix of those, a number of more than 38 digits, a float beside an integer that it would round | `json` |
//!
//! Values that are not structs make one column, `ion`.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use folio_compute::{BATCH_SIZE, Batch, Error as QueryError, Result as QueryResult};
use folio_engine::source::{FileReading, Relation, RowStream, ScanRequest};
use folio_file::{File, FileSystem, OpenMode};
use folio_ion::shred::{Batch as Shredded, Block, Field, Inference, Layout, Rules, Type};
use folio_ion::{Format, Limits, Splitter};
use folio_stream::decompress_ahead;
use folio_types::{Column, ErrorCode};

use super::columns::{column_type, storable, to_array};
use crate::error::Error;
use crate::format::input::MAX_RECORD_SIZE;
use crate::format::row_file::{RowFile, relation_with};
use crate::format::source::FileReader;

/// Bytes of whole values per block.
const BLOCK_SIZE: usize = 512 << 10;

/// The name of the column for values that are not structs.
const VALUE_COLUMN: &str = "ion";

/// A file and the layout of its values.
pub(crate) struct IonFile {
    path: String,
    file: Arc<dyn File>,
    layout: Layout,
    row_count: u64,
}

impl IonFile {
    fn open(&self) -> QueryResult<Splitter<Box<dyn Read + Send>>> {
        let reader = FileReader { file: Arc::clone(&self.file), offset: 0 };
        let bytes =
            decompress_ahead(Box::new(reader)).map_err(|error| unread(&self.path, error))?;
        Ok(Splitter::new(bytes, BLOCK_SIZE, Format::Auto, limits()))
    }
}

fn limits() -> Limits {
    Limits { value_size: MAX_RECORD_SIZE, ..Limits::default() }
}

/// The relation of a file.
///
/// # Errors
/// `not_found`, `io`; `syntax` with the row and the byte where the file stops being Ion.
pub(crate) fn relation(
    files: &dyn FileSystem,
    path: &str,
    reading: FileReading<'_>,
) -> QueryResult<Arc<Relation>> {
    let file = files.open(Path::new(path), OpenMode::Read).map_err(|error| unread(path, error))?;
    let mut found =
        IonFile { path: path.to_owned(), file, layout: Layout::Records(Vec::new()), row_count: 0 };
    found.observe(reading)?;
    let mut columns = Vec::new();
    match &found.layout {
        Layout::Records(fields) => {
            for field in fields {
                let name = free_name(&field.name, &columns);
                columns.push(Column::optional(name, column_type(&field.field_type)));
            }
        }
        Layout::Values(value) => columns.push(Column::optional(VALUE_COLUMN, column_type(value))),
    }
    Ok(relation_with(path, columns, Arc::new(found)))
}

/// A name that no column has yet: SQL ignores case, Ion does not. An empty one becomes that of its
/// place, as in CSV.
fn free_name(name: &str, columns: &[Column]) -> String {
    let plain = match name {
        "" => format!("column_{}", columns.len() + 1),
        name => name.to_owned(),
    };
    let is_taken =
        |name: &str| columns.iter().any(|column| column.name.to_lowercase() == name.to_lowercase());
    let mut own = plain.clone();
    let mut number = 0;
    while is_taken(&own) {
        number += 1;
        own = format!("{plain}_{number}");
    }
    own
}

impl IonFile {
    /// Reads every value to find the columns.
    fn observe(&mut self, reading: FileReading<'_>) -> QueryResult<()> {
        let rules = Rules { conflict: Type::Json, ..Rules::default() };
        let (limits, mut splitter) = (limits(), self.open()?);
        let (mut inference, mut bytes) = (Inference::new(), Vec::new());
        loop {
            let next = splitter.next_block(bytes);
            let next = next.map_err(|error| located(&self.path, splitter.row_count(), &error))?;
            let Some(block) = next else { break };
            let (rows, seen) = inference.observe_block(&block, block.row_count, &limits);
            seen.map_err(|error| located(&self.path, block.first_row + rows, &error))?;
            self.row_count += rows;
            bytes = block.bytes;
        }
        // With this rule every struct is a map.
        let maps = Rules { field_appearance: f64::INFINITY, ..rules.clone() };
        self.layout = match (inference.layout(&rules), inference.layout(&maps)) {
            // Without any values, assume structs.
            _ if self.row_count == 0 => Layout::Records(Vec::new()),
            (Layout::Records(fields), Layout::Records(maps)) => {
                let typed = fields.into_iter().zip(maps).map(|(field, map)| {
                    let field_type = match &field.name {
                        name if is_among(reading.json, name) => Type::Json,
                        name if is_among(reading.maps, name) => storable(map.field_type),
                        _ => storable(field.field_type),
                    };
                    Field { name: field.name, field_type }
                });
                Layout::Records(typed.collect())
            }
            (Layout::Values(value), _) => Layout::Values(storable(value)),
            (records, _) => records,
        };
        Ok(())
    }
}

/// Whether a field is among columns, whose names ignore case.
fn is_among(columns: &[&str], field: &str) -> bool {
    columns.iter().any(|name| name.eq_ignore_ascii_case(field))
}

impl RowFile for IonFile {
    fn path(&self) -> &str {
        &self.path
    }

    /// The number of values when the file was first read.
    fn row_count(&self) -> Option<u64> {
        Some(self.row_count)
    }

    fn scan(
        self: Arc<Self>,
        _: &Relation,
        request: &ScanRequest,
    ) -> QueryResult<Box<dyn RowStream>> {
        let file = self;
        let mut wanted = request.columns.clone();
        wanted.sort_unstable();
        wanted.dedup();
        let places = request.columns.iter().map(|column| wanted.binary_search(column));
        let places = places.map(Result::unwrap_or_default).collect();
        let layout = match &file.layout {
            Layout::Records(fields) => {
                Layout::Records(wanted.iter().map(|column| fields[*column].clone()).collect())
            }
            value => value.clone(),
        };
        Ok(Box::new(IonRows {
            splitter: file.open()?,
            rows: Shredded::new(&layout, limits()),
            block: None,
            at: 0,
            done: 0,
            places,
            path: file.path.clone(),
        }))
    }
}

struct IonRows {
    splitter: Splitter<Box<dyn Read + Send>>,
    rows: Shredded,
    block: Option<Block>,
    /// The position of the next value in the block.
    at: usize,
    /// The number of values of the block that were read.
    done: u64,
    /// The position of each wanted column among the columns that are read.
    places: Vec<usize>,
    path: String,
}

impl RowStream for IonRows {
    fn next(&mut self) -> QueryResult<Option<Batch>> {
        self.rows.clear();
        while self.rows.row_count() < BATCH_SIZE && self.find_block()? {
            let Some(block) = &self.block else { break };
            let before = self.rows.row_count();
            let read = self.rows.read(block, &mut self.at, BATCH_SIZE - before);
            self.done += (self.rows.row_count() - before) as u64;
            read.map_err(|error| located(&self.path, block.first_row + self.done, &error))?;
        }
        let count = self.rows.row_count();
        if count == 0 {
            return Ok(None);
        }
        let columns = self.rows.columns().iter().map(to_array).collect::<Result<Vec<_>, _>>()?;
        let columns = self.places.iter().map(|place| Arc::clone(&columns[*place])).collect();
        Ok(Some(Batch::new(columns, count)))
    }
}

impl IonRows {
    /// Ensures that the block has something left; `false` at the end of the file.
    fn find_block(&mut self) -> QueryResult<bool> {
        while self.block.as_ref().is_none_or(|block| self.at >= block.bytes.len()) {
            let recycled = self.block.take().map(|block| block.bytes).unwrap_or_default();
            let next = self.splitter.next_block(recycled);
            let next =
                next.map_err(|error| located(&self.path, self.splitter.row_count(), &error))?;
            let Some(block) = next else { return Ok(false) };
            (self.at, self.done) = (block.start, 0);
            self.block = Some(block);
        }
        Ok(true)
    }
}

fn unread(path: &str, error: std::io::Error) -> QueryError {
    let error = Error::io("read", Path::new(path))(error);
    QueryError::from_source(error.code(), error)
}

/// An error in the row after `rows` others.
fn located(path: &str, rows: u64, error: &folio_ion::Error) -> QueryError {
    let code = match error.kind() {
        folio_ion::ErrorKind::Io => ErrorCode::Io,
        folio_ion::ErrorKind::Type | folio_ion::ErrorKind::Record => ErrorCode::TypeMismatch,
        folio_ion::ErrorKind::Unsupported => ErrorCode::Unsupported,
        _ => ErrorCode::Syntax,
    };
    let (row, byte, why) = (rows + 1, error.offset(), error.message());
    QueryError::new(code, format!("file {path:?}, row {row}, byte {byte}: {why}"))
}
