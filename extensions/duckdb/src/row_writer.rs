//! Writes rows as text or binary, and to a plain or compressed file.

use crate::background::Target;
use crate::files::{Compression, File};
use crate::vector_value::{View, within_column};
use folio_ion::Symbol;
use folio_ion::write::{BinaryWriter, Container, TextWriter, ValueWriter};
use std::io::{self, Write};

/// The format of rows.
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

/// A writer of either format.
pub(crate) enum Spelling {
    Text(TextWriter),
    Binary(BinaryWriter),
}

impl Spelling {
    /// Writes `count` rows of `columns`.
    ///
    /// # Safety
    ///
    /// Every view has at least `count` values.
    pub(crate) unsafe fn write_rows(
        &mut self,
        names: &Names,
        columns: &[View<'_>],
        count: usize,
    ) -> Result<(), String> {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                Spelling::Text(writer) => write_rows(writer, names, columns, count),
                Spelling::Binary(writer) => write_rows(writer, names, columns, count),
            }
        }
    }
}

/// The destination of the bytes.
pub(crate) enum Sink {
    Plain(File),
    Gzip(flate2::write::GzEncoder<File>),
    Zstd(zstd::Encoder<'static, File>),
}

impl Sink {
    pub(crate) fn new(file: File, path: &str, format: &RowFormat) -> Result<Sink, String> {
        Ok(match format.compression.of(path) {
            Compression::Gzip => {
                Sink::Gzip(flate2::write::GzEncoder::new(file, flate2::Compression::default()))
            }
            Compression::Zstd => {
                Sink::Zstd(zstd::Encoder::new(file, 0).map_err(|error| error.to_string())?)
            }
            _ => Sink::Plain(file),
        })
    }
}

/// The names of a row's columns.
pub(crate) enum Names {
    /// One struct column is the record itself.
    Record,
    /// A name for each column.
    Columns(Vec<Symbol>),
}

/// # Safety
///
/// As [`Spelling::write_rows`].
unsafe fn write_rows(
    writer: &mut impl ValueWriter,
    names: &Names,
    columns: &[View<'_>],
    count: usize,
) -> Result<(), String> {
    for row in 0..count {
        // SAFETY: the caller's promise.
        unsafe {
            match names {
                Names::Record => columns[0].write(row, writer)?,
                Names::Columns(names) => {
                    writer.begin(Container::Struct);
                    for (name, column) in names.iter().zip(columns) {
                        writer.field(name);
                        column.write(row, writer).map_err(|why| within_column(name, &why))?;
                    }
                    writer.end();
                }
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
