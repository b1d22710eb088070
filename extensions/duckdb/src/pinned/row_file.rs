//! Writes rows to a file from several threads, a batch at a time.
//!
//! A [`Batch`] is formatted in any thread, without the file. Batches are appended in order. In text
//! they are separated by a line feed or a comma. In binary the names of all fields are defined at
//! the start of the file, and every batch is a fork of the writer that did so. A batch with other
//! names is a separate stream, after which the definitions are repeated. A binary list begins with
//! its length, so one writer converts it at the end, from batches of text.

use crate::background::Background;
use crate::files::File;
use crate::row_writer::{Names, RowFormat, Sink, Spelling};
use crate::vector_value::{Shape, View};
use folio_ion::write::{BinaryWriter, Container, Layout, TextWriter, ValueWriter, write_element};
use folio_ion::{Element, Symbol, read_all};

/// A file to which batches are appended.
pub(crate) struct RowFile {
    sink: Background<Sink>,
    format: RowFormat,
    /// Binary: the writer that has defined the names of all fields.
    root: BinaryWriter,
    /// Whether these definitions are in force at the end of the file.
    is_defined: bool,
    /// Whether any row was written.
    has_rows: bool,
}

/// Formatted rows to be written.
pub(crate) struct Batch {
    spelling: Spelling,
    count: usize,
}

impl RowFile {
    /// A file for rows with columns of these names and shapes.
    pub(crate) fn new(
        file: File,
        path: &str,
        format: &RowFormat,
        names: &Names,
        shapes: &[Shape],
    ) -> Result<RowFile, String> {
        let mut root = BinaryWriter::new();
        if let Names::Columns(names) = names {
            root.number_symbols(names);
        }
        shapes.iter().for_each(|shape| number_fields(&mut root, shape));
        if format.binary && format.array {
            root.begin(Container::List);
        }
        Ok(RowFile {
            sink: Background::new(Sink::new(file, path, format)?),
            format: format.clone(),
            root,
            is_defined: false,
            has_rows: false,
        })
    }

    /// Whether all rows are one binary value.
    fn is_binary_list(&self) -> bool {
        self.format.binary && self.format.array
    }

    /// An empty batch.
    pub(crate) fn batch(&self) -> Batch {
        let spelling = match (self.format.binary, self.format.pretty) {
            (true, _) if !self.format.array => Spelling::Binary(self.root.fork()),
            (false, true) => Spelling::Text(TextWriter::new(Layout::Pretty)),
            _ => Spelling::Text(TextWriter::new(Layout::Compact)),
        };
        let mut batch = Batch { spelling, count: 0 };
        if let (Spelling::Text(writer), true) = (&mut batch.spelling, self.format.array) {
            writer.begin(Container::List);
        }
        batch
    }

    /// Appends a batch.
    pub(crate) fn append(&mut self, batch: Batch) -> Result<(), String> {
        if batch.count == 0 {
            return Ok(());
        }
        let bytes = match batch.spelling {
            Spelling::Text(mut writer) if self.is_binary_list() => {
                writer.end();
                let rows = read_all(&writer.take()).map_err(|error| error.to_string())?;
                let rows = rows.first().and_then(Element::elements).unwrap_or_default();
                rows.iter().for_each(|row| write_element(&mut self.root, row));
                return Ok(());
            }
            Spelling::Text(mut writer) => {
                let mut bytes = writer.take();
                match (self.format.array, self.has_rows) {
                    // Every batch begins with the list's bracket; after the first one it becomes a
                    // comma.
                    (true, true) => bytes[0] = b',',
                    (false, true) => bytes.insert(0, b'\n'),
                    _ => {}
                }
                bytes
            }
            Spelling::Binary(writer) => self.binary(writer),
        };
        self.has_rows = true;
        self.write(bytes)
    }

    /// The bytes of a binary batch, with the definitions it needs.
    fn binary(&mut self, mut writer: BinaryWriter) -> Vec<u8> {
        if writer.has_new_symbols() {
            self.is_defined = false;
            return writer.take_stream();
        }
        match std::mem::replace(&mut self.is_defined, true) {
            true => writer.take(),
            false => {
                let mut bytes = self.root.take_stream();
                bytes.append(&mut writer.take());
                bytes
            }
        }
    }

    fn write(&mut self, bytes: Vec<u8>) -> Result<(), String> {
        self.sink.write(bytes).map_err(|error| error.to_string())
    }

    /// Ends the file.
    pub(crate) fn finish(mut self) -> Result<(), String> {
        if self.is_binary_list() {
            self.root.end();
            let list = self.root.take();
            return self.sink.finish(&list).map_err(|error| error.to_string());
        }
        let end: Vec<u8> = match (self.format.binary, self.format.array, self.has_rows) {
            (true, _, true) => Vec::new(),
            (true, _, false) => self.root.take_stream(),
            (false, true, true) if self.format.pretty => b"\n]\n".to_vec(),
            (false, true, true) => b"]\n".to_vec(),
            (false, true, false) => b"[]\n".to_vec(),
            (false, false, _) => b"\n".to_vec(),
        };
        self.sink.finish(&end).map_err(|error| error.to_string())
    }
}

impl Batch {
    /// Adds `count` rows of `columns`.
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
        self.count += count;
        Ok(())
    }
}

/// Defines the names of all fields in values of this shape.
fn number_fields(writer: &mut BinaryWriter, shape: &Shape) {
    match shape {
        Shape::List(child) | Shape::Array(child, _) | Shape::Map(child) | Shape::Pairs(child) => {
            number_fields(writer, child);
        }
        Shape::Struct(fields) => {
            writer.number_symbols(fields.iter().map(|(name, _): &(Symbol, Shape)| name));
            fields.iter().for_each(|(_, child)| number_fields(writer, child));
        }
        Shape::Tuple(shapes) => shapes.iter().for_each(|child| number_fields(writer, child)),
        _ => {}
    }
}
