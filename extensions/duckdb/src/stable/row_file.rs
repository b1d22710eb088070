//! Writes rows to a file from one thread, as a list or a sequence.

use crate::background::Background;
use crate::files::File;
use crate::row_writer::{Names, RowFormat, Sink, Spelling};
use crate::vector_value::View;
use folio_ion::write::{BinaryWriter, Container, Layout, TextWriter, ValueWriter};

const FLUSH_SIZE: usize = 1 << 20;

/// Writes rows to a file.
pub(crate) struct RowFile {
    spelling: Spelling,
    array: bool,
    sink: Background<Sink>,
}

impl RowFile {
    pub(crate) fn new(file: File, path: &str, format: &RowFormat) -> Result<RowFile, String> {
        let sink = Sink::new(file, path, format)?;
        let mut spelling = match (format.binary, format.pretty) {
            (true, _) => Spelling::Binary(BinaryWriter::new()),
            (false, true) => Spelling::Text(TextWriter::new(Layout::Pretty)),
            (false, false) => Spelling::Text(TextWriter::new(Layout::Compact)),
        };
        if format.array {
            match &mut spelling {
                Spelling::Text(writer) => writer.begin(Container::List),
                Spelling::Binary(writer) => writer.begin(Container::List),
            }
        }
        Ok(RowFile { spelling, array: format.array, sink: Background::new(sink) })
    }

    /// Writes `count` rows of `columns`.
    ///
    /// # Safety
    ///
    /// Every view has at least `count` values.
    pub(crate) unsafe fn write(
        &mut self,
        names: &Names,
        columns: &[View<'_>],
        count: usize,
    ) -> Result<(), String> {
        // SAFETY: the caller's promise.
        unsafe { self.spelling.write_rows(names, columns, count)? };
        self.flush(FLUSH_SIZE)
    }

    /// Writes out the buffer if it has at least `size` bytes.
    fn flush(&mut self, size: usize) -> Result<(), String> {
        let bytes = match &mut self.spelling {
            Spelling::Text(writer) if writer.bytes().len() >= size => writer.take(),
            // The length of a binary list is known only at its end.
            Spelling::Binary(writer) if !self.array && writer.size() >= size => writer.take(),
            _ => return Ok(()),
        };
        self.sink.write(bytes).map_err(|error| error.to_string())
    }

    /// Ends the file.
    pub(crate) fn finish(mut self) -> Result<(), String> {
        let bytes = match &mut self.spelling {
            Spelling::Text(writer) => {
                if self.array {
                    writer.end();
                }
                let mut bytes = writer.take();
                // Values are separated by line feeds; the last line gets one too.
                bytes.push(b'\n');
                bytes
            }
            Spelling::Binary(writer) => {
                if self.array {
                    writer.end();
                }
                writer.take()
            }
        };
        self.sink.finish(&bytes).map_err(|error| error.to_string())
    }
}
