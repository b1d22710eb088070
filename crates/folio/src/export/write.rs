//! Documents to one output, line by line.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use folio_document::Progress;

use super::columns::{Columns, tell};
use super::csv::{push_csv_row, push_name};
use super::ion::IonLines;
use super::{ExportOptions, ExportReport, Format};
use crate::collection::Collection;
use crate::error::{Error, Result};
use crate::write::AtomicFile;

/// Bytes gathered before they go to the output: a few calls per megabyte, and
/// the buffer stays in the second-level cache.
const BUFFER_SIZE: usize = 256 << 10;

/// Writes documents to an output, which needs no buffer of its own.
///
/// # Errors
/// What the output says, as `io`; `cancelled` when `progress` answers `false`;
/// `invalid_input` for [`Format::Zds`], which is a directory.
pub fn write(
    collection: &Collection,
    out: &mut dyn Write,
    options: &ExportOptions,
    progress: Progress<'_>,
) -> Result<ExportReport> {
    let mut output = Output { out, buffer: Vec::with_capacity(BUFFER_SIZE * 2), size: 0 };
    let document_count = match options.format {
        Format::JsonLines => write_lines(collection, &mut output, options, progress)?,
        Format::Json => write_array(collection, &mut output, options, progress)?,
        Format::Csv => write_csv(collection, &mut output, options, progress)?,
        Format::Ion | Format::IonBinary => write_ion(collection, &mut output, options, progress)?,
        Format::Zds => {
            let text = "the zds format is a directory; name one to export to";
            return Err(Error::Invalid(text.to_owned()));
        }
    };
    output.flush()?;
    Ok(ExportReport { document_count, size: output.size })
}

/// Writes documents to a file that appears when it is whole.
pub(super) fn write_file(
    collection: &Collection,
    target: &Path,
    options: &ExportOptions,
    progress: Progress<'_>,
) -> Result<ExportReport> {
    let files = Arc::clone(&collection.handle().store.host);
    let mut file = AtomicFile::create(files, target)?;
    let report = write(collection, &mut file, options, progress).map_err(|error| match error {
        Error::Output(source) => Error::io("write", target)(source),
        other => other,
    })?;
    file.commit()?;
    Ok(report)
}

fn write_lines(
    collection: &Collection,
    output: &mut Output<'_>,
    options: &ExportOptions,
    progress: Progress<'_>,
) -> Result<u64> {
    let mut documents = options.scan(collection, true)?;
    let mut count = 0;
    while let Some(line) = documents.next_line()? {
        output.buffer.extend_from_slice(line);
        output.buffer.push(b'\n');
        count += 1;
        if output.is_full() {
            output.flush()?;
            let (done, total) = documents.progress();
            tell(progress, done, total)?;
        }
    }
    Ok(count)
}

fn write_array(
    collection: &Collection,
    output: &mut Output<'_>,
    options: &ExportOptions,
    progress: Progress<'_>,
) -> Result<u64> {
    let mut documents = options.scan(collection, true)?;
    let mut count = 0;
    while let Some(line) = documents.next_line()? {
        output.buffer.extend_from_slice(if count == 0 { b"[\n" } else { b",\n" });
        output.buffer.extend_from_slice(line);
        count += 1;
        if output.is_full() {
            output.flush()?;
            let (done, total) = documents.progress();
            tell(progress, done, total)?;
        }
    }
    output.buffer.extend_from_slice(if count == 0 { b"[]\n" } else { b"\n]\n" });
    Ok(count)
}

fn write_ion(
    collection: &Collection,
    output: &mut Output<'_>,
    options: &ExportOptions,
    progress: Progress<'_>,
) -> Result<u64> {
    let mut documents = options.scan(collection, true)?;
    let mut lines = IonLines::new(options.format == Format::IonBinary);
    let mut count = 0;
    while let Some(line) = documents.next_line()? {
        lines.push(line)?;
        count += 1;
        if lines.size() >= BUFFER_SIZE {
            output.buffer.append(&mut lines.take());
            output.flush()?;
            let (done, total) = documents.progress();
            tell(progress, done, total)?;
        }
    }
    output.buffer.append(&mut lines.take());
    // The writer separates lines; the last one gets a line feed too.
    if options.format == Format::Ion && count > 0 {
        output.buffer.push(b'\n');
    }
    Ok(count)
}

fn write_csv(
    collection: &Collection,
    output: &mut Output<'_>,
    options: &ExportOptions,
    progress: Progress<'_>,
) -> Result<u64> {
    let has_two_passes = options.fields.is_empty();
    let mut columns = Columns::of(collection, options, progress)?;
    for (index, name) in columns.names().iter().enumerate() {
        output.separate(index);
        push_name(name, &mut output.buffer);
    }
    output.buffer.push(b'\n');
    let mut count = 0;
    while let Some(row) = columns.next_row()? {
        push_csv_row(row, &mut output.buffer);
        count += 1;
        if output.is_full() {
            output.flush()?;
            let (done, total) = columns.progress();
            let done = if has_two_passes { total.midpoint(done) } else { done };
            tell(progress, done, total)?;
        }
    }
    Ok(count)
}

/// An output with the bytes that wait for it.
struct Output<'a> {
    out: &'a mut dyn Write,
    buffer: Vec<u8>,
    size: u64,
}

impl Output<'_> {
    #[inline]
    fn is_full(&self) -> bool {
        self.buffer.len() >= BUFFER_SIZE
    }

    fn separate(&mut self, index: usize) {
        if index > 0 {
            self.buffer.push(b',');
        }
    }

    fn flush(&mut self) -> Result<()> {
        self.out.write_all(&self.buffer).map_err(Error::Output)?;
        self.size += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}
