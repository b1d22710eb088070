//! Rows to a file: text or binary, a list or a sequence, perhaps compressed.

use crate::background::{Background, Target};
use crate::files::{Compression, File};
use crate::vector_value::View;
use folio_ion::Symbol;
use folio_ion::write::{BinaryWriter, Container, Layout, TextWriter, ValueWriter};
use std::io::{self, Write};

const FLUSH_SIZE: usize = 1 << 20;

/// How rows are spelled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RowFormat {
    pub(crate) binary: bool,
    pub(crate) array: bool,
    pub(crate) pretty: bool,
    pub(crate) compression: Compression,
}

impl Default for RowFormat {
    fn default() -> RowFormat {
        RowFormat { binary: false, array: false, pretty: false, compression: Compression::Auto }
    }
}

/// Writes rows to a file.
pub(crate) struct RowWriter {
    spelling: Spelling,
    array: bool,
    sink: Background<Sink>,
}

enum Spelling {
    Text(TextWriter),
    Binary(BinaryWriter),
}

enum Sink {
    Plain(File),
    Gzip(flate2::write::GzEncoder<File>),
    Zstd(zstd::Encoder<'static, File>),
}

impl RowWriter {
    pub(crate) fn new(file: File, path: &str, format: &RowFormat) -> Result<RowWriter, String> {
        let sink = match format.compression.of(path) {
            Compression::Gzip => {
                Sink::Gzip(flate2::write::GzEncoder::new(file, flate2::Compression::default()))
            }
            Compression::Zstd => {
                Sink::Zstd(zstd::Encoder::new(file, 0).map_err(|error| error.to_string())?)
            }
            _ => Sink::Plain(file),
        };
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
        Ok(RowWriter { spelling, array: format.array, sink: Background::new(sink) })
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
        for row in 0..count {
            // SAFETY: the caller's promise.
            unsafe {
                match &mut self.spelling {
                    Spelling::Text(writer) => write_row(writer, names, columns, row)?,
                    Spelling::Binary(writer) => write_row(writer, names, columns, row)?,
                }
            }
        }
        self.flush(FLUSH_SIZE)
    }

    /// Hands over what was written if it is at least `size` bytes.
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

/// What a row's columns are called.
pub(crate) enum Names {
    /// One struct column is the record itself.
    Record,
    /// A name for each column.
    Columns(Vec<Symbol>),
}

/// # Safety
///
/// As [`RowWriter::write`].
unsafe fn write_row(
    writer: &mut impl ValueWriter,
    names: &Names,
    columns: &[View<'_>],
    row: usize,
) -> Result<(), String> {
    // SAFETY: the caller's promise.
    unsafe {
        match names {
            Names::Record => columns[0].write(row, writer)?,
            Names::Columns(names) => {
                writer.begin(Container::Struct);
                for (name, column) in names.iter().zip(columns) {
                    writer.field(name);
                    column.write(row, writer)?;
                }
                writer.end();
            }
        }
    }
    Ok(())
}

impl Target for Sink {
    fn finish(self) -> io::Result<()> {
        match self {
            Sink::Plain(file) => file.close(),
            Sink::Gzip(encoder) => encoder.finish()?.close(),
            Sink::Zstd(encoder) => encoder.finish()?.close(),
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Sink::Plain(file) => file.write(bytes),
            Sink::Gzip(encoder) => encoder.write(bytes),
            Sink::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
