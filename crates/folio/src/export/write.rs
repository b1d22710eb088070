//! Writes documents to one output, in any file format.

use std::io::Write;
use std::path::Path;

use folio_document::Progress;

use super::columns::{Columns, report_progress};
use super::{ExportOptions, ExportReport, Format};
use crate::collection::Collection;
use crate::error::{Error, Result};
use crate::format::OutputFile;
use crate::format::csv::CsvWriter;
use crate::format::ion::IonLines;
use crate::format::json::Marks;

/// A batch of columns ends after this many bytes of lines.
#[cfg(feature = "sql")]
const BATCH_BYTES: usize = 64 << 20;

/// Bytes buffered before they go to the output: a few calls per megabyte, and the buffer fits in
/// the second-level cache.
const BUFFER_SIZE: usize = 256 << 10;

/// Writes documents to an output, which needs no buffer of its own. The format is JSON Lines unless
/// the options name one. Nothing is compressed.
///
/// # Errors
/// Errors of the output, as `io`; `cancelled` when `progress` answers `false`; `invalid_input` for
/// [`Format::Zds`], which is a directory.
pub fn write(
    collection: &Collection,
    out: &mut dyn Write,
    options: &ExportOptions,
    progress: Progress<'_>,
) -> Result<ExportReport> {
    let buffer = Vec::with_capacity(BUFFER_SIZE * 2);
    let mut export = Export { collection, options, progress, out, buffer, size: 0 };
    let document_count = match options.format.unwrap_or_default() {
        format @ (Format::JsonLines | Format::Json) => export.lines(&Marks::of(format))?,
        Format::Csv => export.cells(b',')?,
        Format::Tsv => export.cells(b'\t')?,
        Format::Ion => export.ion(false)?,
        Format::IonBinary => export.ion(true)?,
        format @ (Format::Arrow | Format::Parquet) => export.rows(format)?,
        Format::Zds => {
            let text = "the zds format is a directory; name one to export to";
            return Err(Error::Invalid(text.to_owned()));
        }
    };
    export.flush()?;
    Ok(ExportReport { document_count, size: export.size })
}

/// Writes documents to a file that appears once it is complete.
pub(super) fn write_file(
    collection: &Collection,
    target: &Path,
    options: &ExportOptions,
    progress: Progress<'_>,
) -> Result<ExportReport> {
    let files = &collection.handle().store.host;
    let (mut file, format) = OutputFile::create(files, target, options.format)?;
    let options = ExportOptions { format: Some(format), ..options.clone() };
    let report = write(collection, &mut file, &options, progress).map_err(|error| match error {
        Error::Output(source) => Error::io("write", target)(source),
        other => other,
    })?;
    Ok(ExportReport { size: file.commit(target)?, ..report })
}

/// A running export.
struct Export<'a> {
    collection: &'a Collection,
    options: &'a ExportOptions,
    progress: Progress<'a>,
    out: &'a mut dyn Write,
    /// Bytes not yet written to the output.
    buffer: Vec<u8>,
    /// Bytes written.
    size: u64,
}

impl Export<'_> {
    /// Writes lines as stored.
    fn lines(&mut self, marks: &Marks) -> Result<u64> {
        let mut documents = self.options.scan(self.collection, true)?;
        let mut count = 0;
        while let Some(line) = documents.next_line()? {
            let mark = if count == 0 { marks.before } else { marks.between };
            self.buffer.extend_from_slice(mark.as_bytes());
            self.buffer.extend_from_slice(line);
            count += 1;
            if self.is_full() {
                self.step(documents.progress())?;
            }
        }
        let mark = if count == 0 { marks.none } else { marks.after };
        self.buffer.extend_from_slice(mark.as_bytes());
        Ok(count)
    }

    fn ion(&mut self, is_binary: bool) -> Result<u64> {
        let mut documents = self.options.scan(self.collection, true)?;
        let mut lines = IonLines::new(is_binary);
        let mut count = 0;
        while let Some(line) = documents.next_line()? {
            lines.push(line)?;
            count += 1;
            if lines.size() >= BUFFER_SIZE {
                self.buffer.append(&mut lines.take());
                self.step(documents.progress())?;
            }
        }
        self.buffer.append(&mut lines.take());
        // The writer separates lines; the last one gets a line feed too.
        if !is_binary && count > 0 {
            self.buffer.push(b'\n');
        }
        Ok(count)
    }

    fn cells(&mut self, delimiter: u8) -> Result<u64> {
        let writer = CsvWriter::new(Some(delimiter), "");
        let has_two_passes = self.options.fields.is_empty();
        let mut columns = Columns::of(self.collection, self.options, self.progress)?;
        writer.push_header(columns.names(), &mut self.buffer);
        let mut count = 0;
        while let Some(row) = columns.next_row()? {
            writer.push_json_row(row, &mut self.buffer);
            count += 1;
            if self.is_full() {
                let (done, total) = columns.progress();
                self.step((if has_two_passes { total.midpoint(done) } else { done }, total))?;
            }
        }
        Ok(count)
    }

    /// Writes typed columns: one pass over the documents finds them, a second fills them.
    #[cfg(feature = "sql")]
    fn rows(&mut self, format: Format) -> Result<u64> {
        use super::lines::FlatLines;
        use crate::format::column_writer;
        use arrow_schema::Schema;
        use folio_compute::{BATCH_SIZE, Batch};
        use folio_json::{Columns, Field, Others};

        let fields = super::lines::fields_of(self.collection, self.options, self.progress)?;
        let schema = Schema::new(fields.iter().map(Field::to_arrow).collect::<Vec<_>>());
        let types: Vec<_> = fields.iter().map(|field| field.field_type.to_column()).collect();
        let mut writer = column_writer(format, schema, &types)?;
        let mut lines = FlatLines::of(self.collection, self.options)?;
        let (mut rows, mut count, mut size) = (Columns::new(&fields, Others::Refuse), 0, 0);
        loop {
            let is_end = match lines.next()? {
                Some(line) => {
                    rows.push(line.as_bytes()).map_err(|_| self.changed())?;
                    size += line.len();
                    false
                }
                None => true,
            };
            let is_full = rows.row_count() == BATCH_SIZE || size >= BATCH_BYTES;
            if is_full || (is_end && rows.row_count() > 0) {
                let row_count = rows.row_count();
                count += row_count as u64;
                let (_, columns, _) = rows.finish().into_parts();
                writer.write(Batch::new(columns, row_count), &mut self.buffer)?;
                size = 0;
                let (done, total) = lines.progress();
                self.step((total.midpoint(done), total))?;
            }
            if is_end {
                writer.finish(&mut self.buffer)?;
                return Ok(count);
            }
        }
    }

    #[cfg(feature = "sql")]
    fn changed(&self) -> Error {
        let text = "was changed while it was exported; export it again";
        Error::Invalid(format!("collection {:?} {text}", self.collection.name()))
    }

    #[cfg(not(feature = "sql"))]
    fn rows(&mut self, format: Format) -> Result<u64> {
        let name = format.name();
        Err(Error::Invalid(format!("this build does not write {name}; use the feature \"sql\"")))
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.buffer.len() >= BUFFER_SIZE
    }

    /// Writes the buffer to the output, and reports progress.
    fn step(&mut self, (done, total): (u64, u64)) -> Result<()> {
        self.flush()?;
        report_progress(self.progress, done, total)
    }

    fn flush(&mut self) -> Result<()> {
        self.out.write_all(&self.buffer).map_err(Error::Output)?;
        self.size += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}
