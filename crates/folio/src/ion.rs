//! Amazon Ion files without a database: inspect them, check them, convert them to JSON and back.
//!
//! Values are streamed one at a time, whatever the size of the file; gzip and zstd are
//! decompressed. Symbol tables are resolved and not copied: the output has its own.

use std::io::{BufReader, Write};

use folio_ion::write::{BinaryWriter, JsonWriter, Layout, TextWriter, write_element};
use folio_ion::{Element, Encoding, Reader};
use folio_stream::decompress;
use serde_json::value::RawValue;

use crate::error::{Error, Result};
use crate::format::Source;
use crate::format::ion::IonLines;
pub use crate::format::ion::of_json;

/// The output form of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Form {
    /// Ion text, a value per line.
    #[default]
    Text,
    /// Ion text, indented.
    Pretty,
    /// Binary Ion.
    Binary,
    /// JSON, a value per line. What JSON lacks is approximated: annotations are dropped; symbols,
    /// timestamps, clobs and blobs (base64) become text; `nan` and infinities become null.
    Json,
}

/// What was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IonReport {
    /// Top-level values.
    pub value_count: u64,
    /// Whether the stream was binary.
    pub is_binary: bool,
}

/// Bytes buffered before they go to the output.
const BUFFER_SIZE: usize = 256 << 10;

/// Reads every value of `source` and drops it.
///
/// # Errors
/// `syntax` with the number of the value and the byte where the stream stops being Ion.
pub fn check(source: Source) -> Result<IonReport> {
    each_value(source, None, |_| Ok(()))
}

/// Writes the values of `source`, which is Ion text or binary Ion, in `form`.
///
/// # Errors
/// As [`check`]; errors of the output, as `io`. Values before the error were written.
pub fn convert(source: Source, out: &mut dyn Write, form: Form) -> Result<IonReport> {
    let mut writer = Writer::new(form);
    let read = each_value(source, Some(form), |element| {
        match &mut writer {
            Writer::Text(writer) => write_element(writer, element),
            Writer::Binary(writer) => write_element(writer, element),
            Writer::Json(writer) => write_element(writer, element),
        }
        if writer.size() >= BUFFER_SIZE {
            out.write_all(&writer.take()).map_err(Error::Output)?;
        }
        Ok(())
    });
    let rest = writer.take();
    let has_lines = read.as_ref().map_or(!rest.is_empty(), |read| read.value_count > 0);
    end(out, rest, form != Form::Binary && has_lines)?;
    read
}

/// Writes the JSON values of `source`, one after another, as Ion: integers as int, numbers with a
/// point as decimal, with an exponent as float if it has the same digits, else as decimal. Answers
/// how many there are.
///
/// # Errors
/// `syntax` with the number of the value that is not JSON; errors of the output, as `io`. Values
/// before the error were written.
pub fn convert_json(source: Source, out: &mut dyn Write, is_binary: bool) -> Result<u64> {
    let name = source.name;
    let bytes = decompress(source.reader).map_err(Error::io("read", name.as_ref()))?;
    let values = serde_json::Deserializer::from_reader(BufReader::new(bytes));
    let (mut lines, mut count) = (IonLines::new(is_binary), 0);
    for value in values.into_iter::<Box<RawValue>>() {
        let failed =
            |reason: String| Error::Ion { source_name: name.clone(), value: count + 1, reason };
        let value = match value {
            Err(error) if error.is_io() => {
                return Err(Error::io("read", name.as_ref())(error.into()));
            }
            value => value.map_err(|error| failed(error.to_string()))?,
        };
        lines.push(value.get().as_bytes()).map_err(|error| failed(error.to_string()))?;
        count += 1;
        if lines.size() >= BUFFER_SIZE {
            out.write_all(&lines.take()).map_err(Error::Output)?;
        }
    }
    end(out, lines.take(), !is_binary && count > 0)?;
    Ok(count)
}

/// Writes the rest of the values. Lines are separated by line feeds; the last one gets one too.
fn end(out: &mut dyn Write, mut rest: Vec<u8>, is_line: bool) -> Result<()> {
    if is_line {
        rest.push(b'\n');
    }
    out.write_all(&rest).and_then(|()| out.flush()).map_err(Error::Output)
}

/// Reads values; with a form, only those that it can hold.
fn each_value(
    source: Source,
    form: Option<Form>,
    mut take: impl FnMut(&Element) -> Result<()>,
) -> Result<IonReport> {
    let source_name = source.name;
    let bytes = decompress(source.reader).map_err(Error::io("read", source_name.as_ref()))?;
    let mut reader = Reader::new(bytes);
    let mut report = IonReport::default();
    loop {
        let reason = match reader.read() {
            Ok(Some(element)) => {
                match form.and_then(|form| element.lost_symbol(form == Form::Json)) {
                    Some(reason) => reason,
                    None => {
                        take(&element)?;
                        report.value_count += 1;
                        continue;
                    }
                }
            }
            Ok(None) => {
                report.is_binary = reader.encoding() == Some(Encoding::Binary);
                return Ok(report);
            }
            Err(error) => error.to_string(),
        };
        return Err(Error::Ion { source_name, value: report.value_count + 1, reason });
    }
}

enum Writer {
    Text(TextWriter),
    Binary(BinaryWriter),
    Json(JsonWriter),
}

impl Writer {
    fn new(form: Form) -> Self {
        match form {
            Form::Text => Self::Text(TextWriter::new(Layout::Compact)),
            Form::Pretty => Self::Text(TextWriter::new(Layout::Pretty)),
            Form::Binary => Self::Binary(BinaryWriter::new()),
            Form::Json => Self::Json(JsonWriter::new()),
        }
    }

    fn size(&self) -> usize {
        match self {
            Self::Text(writer) => writer.bytes().len(),
            Self::Binary(writer) => writer.size(),
            Self::Json(writer) => writer.bytes().len(),
        }
    }

    fn take(&mut self) -> Vec<u8> {
        match self {
            Self::Text(writer) => writer.take(),
            Self::Binary(writer) => writer.take(),
            Self::Json(writer) => writer.take_text().into_bytes(),
        }
    }
}
