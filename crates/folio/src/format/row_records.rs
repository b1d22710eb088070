//! The rows of Parquet and Arrow files as JSON records, for an import into a collection.
//!
//! Values become JSON as in the result of a query: integers and decimals keep every digit, dates
//! and times are ISO text, bytes are `\x` and hexadecimal digits, lists and structs are nested.

use folio_compute::{Batch, JsonRows};
use folio_engine::source::{RowStream, ScanRequest};

use super::record::Record;
use super::relation::columnar;
use super::whole::Whole;
use super::{Format, Source};
use crate::error::{Error, Result};

/// Separates records. JSON never contains it.
const SEPARATOR: &str = "\x1e";

pub(crate) struct RowRecords {
    name: String,
    whole: Whole,
    rows: Box<dyn RowStream>,
    json: JsonRows,
    /// The records of a batch, and the position of the next one.
    text: Vec<u8>,
    at: usize,
    /// Records passed.
    count: u64,
}

impl RowRecords {
    /// # Errors
    /// As [`columnar`].
    pub(crate) fn open(source: Source, format: Format) -> Result<Self> {
        let name = source.name.clone();
        Self::new(name, Whole::of(source)?, format)
    }

    /// # Errors
    /// As [`columnar`].
    pub(crate) fn new(name: String, whole: Whole, format: Format) -> Result<Self> {
        let (relation, file) = columnar(&name, whole.clone(), format)?;
        let columns = &relation.schema.columns;
        let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
        let types: Vec<_> = columns.iter().map(|column| column.column_type.clone()).collect();
        let request =
            ScanRequest { columns: (0..columns.len()).collect(), ..ScanRequest::default() };
        let rows = file.scan(&relation, &request)?;
        let json = JsonRows::new(&names, &types);
        Ok(Self { name, whole, rows, json, text: Vec::new(), at: 0, count: 0 })
    }

    /// The next row, as JSON.
    ///
    /// # Errors
    /// Errors of the file.
    pub(crate) fn next(&mut self) -> Result<Option<Record<'_>>> {
        if !self.find()? {
            return Ok(None);
        }
        let start = self.at;
        let end = memchr::memchr(SEPARATOR.as_bytes()[0], &self.text[start..])
            .map_or(self.text.len(), |size| start + size);
        self.at = end + 1;
        self.count += 1;
        let raw = &self.text[start..end];
        Ok(Some(Record { raw, line: self.count, json: Ok(raw) }))
    }

    /// Ensures that a record begins at `at`; `false` at the end of the file.
    fn find(&mut self) -> Result<bool> {
        while self.at >= self.text.len() {
            let Some(batch) = self.rows.next()? else { return Ok(false) };
            (self.at, self.count) = (0, self.count);
            self.text.clear();
            self.write(&batch)?;
        }
        Ok(true)
    }

    fn write(&mut self, batch: &Batch) -> Result<()> {
        self.json.write(batch, SEPARATOR, &mut true, &mut self.text);
        let mut separators = 0;
        for byte in &mut self.text {
            match byte {
                b'\x1e' => separators += 1,
                // A line end in the text of a JSON column is between tokens.
                b'\n' | b'\r' => *byte = b' ',
                _ => {}
            }
        }
        if separators + 1 != batch.row_count && batch.row_count > 0 {
            return Err(Error::Source {
                source_name: self.name.clone(),
                line: self.count + 1,
                reason: "a column of JSON holds invalid JSON; check the file".to_owned(),
            });
        }
        Ok(())
    }

    /// The number of records read so far.
    pub(crate) fn position(&self) -> u64 {
        self.count
    }

    /// Continues after `count` records.
    ///
    /// # Errors
    /// `syntax` when the file has fewer.
    pub(crate) fn resume_at(&mut self, count: u64) -> Result<()> {
        while self.count < count {
            if self.next()?.is_none() {
                return Err(Error::Source {
                    source_name: self.name.clone(),
                    line: self.count,
                    reason: "it is shorter than it was when the import began; restart it"
                        .to_owned(),
                });
            }
        }
        Ok(())
    }

    pub(crate) fn read_size(&self) -> u64 {
        self.whole.read_size()
    }
}
