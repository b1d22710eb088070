//! Writes rows as CSV lines, so that a reader gets the same values back.

#[cfg(feature = "sql")]
use folio_compute::array::value_at;
#[cfg(feature = "sql")]
use folio_compute::{Batch, Result as QueryResult, cast};
#[cfg(feature = "sql")]
use folio_engine::source::CsvOptions;
#[cfg(feature = "sql")]
use folio_types::{ColumnType, Value};

use super::cell::is_bare_value;
use crate::json::unquote;

/// Writes cells.
pub(crate) struct CsvWriter {
    delimiter: u8,
    /// The cell that is NULL.
    null: String,
}

impl CsvWriter {
    /// Uses this delimiter; a comma if none is given.
    pub(crate) fn new(delimiter: Option<u8>, null: &str) -> Self {
        Self { delimiter: delimiter.unwrap_or(b','), null: null.to_owned() }
    }

    /// Appends the names of the columns. A reader guesses the delimiter from them.
    pub(crate) fn push_header(&self, names: &[String], out: &mut Vec<u8>) {
        let misleads = |name: &str| name.is_empty() || name.contains([',', '\t', ';', '|']);
        self.push_row(names, out, |name, out| match misleads(name) || self.splits(name) {
            true => push_quoted(name, out),
            false => out.extend_from_slice(name.as_bytes()),
        });
    }

    /// Appends a row of JSON values.
    pub(crate) fn push_json_row<'v>(
        &self,
        values: impl IntoIterator<Item = Option<&'v str>>,
        out: &mut Vec<u8>,
    ) {
        self.push_row(values, out, |value, out| match value.filter(|value| *value != "null") {
            None => self.push_null(out),
            Some(value) => match unquote(value) {
                Some(text) => self.push_text(&text, out),
                None if value.starts_with(['{', '[']) => push_quoted(value, out),
                None => self.push_bare(value, out),
            },
        });
    }

    fn push_row<V>(
        &self,
        values: impl IntoIterator<Item = V>,
        out: &mut Vec<u8>,
        push: impl Fn(V, &mut Vec<u8>),
    ) {
        let start = out.len();
        for (index, value) in values.into_iter().enumerate() {
            if index > 0 {
                out.push(self.delimiter);
            }
            push(value, out);
        }
        // An empty line would not be a row.
        if out.len() == start {
            out.push(b' ');
        }
        out.push(b'\n');
    }

    fn push_null(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.null.as_bytes());
    }

    /// Appends a text, quoted if it would otherwise be read as something else.
    fn push_text(&self, text: &str, out: &mut Vec<u8>) {
        if is_bare_value(text) {
            return push_quoted(text, out);
        }
        self.push_bare(text, out);
    }

    /// Appends a number, a boolean, or a text that cannot be mistaken for one.
    fn push_bare(&self, text: &str, out: &mut Vec<u8>) {
        if self.splits(text) || text == self.null {
            return push_quoted(text, out);
        }
        out.extend_from_slice(text.as_bytes());
    }

    /// Whether a reader would split the text, or ignore its outer white space.
    fn splits(&self, text: &str) -> bool {
        let byte = |byte: u8| byte == self.delimiter || matches!(byte, b'"' | b'\n' | b'\r');
        text.bytes().any(byte) || text.trim() != text
    }
}

/// Appends a row of JSON values as a line of CSV.
pub fn push_csv_row<'v>(values: impl IntoIterator<Item = Option<&'v str>>, out: &mut Vec<u8>) {
    CsvWriter::new(None, "").push_json_row(values, out);
}

fn push_quoted(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for (index, piece) in text.split('"').enumerate() {
        if index > 0 {
            out.extend_from_slice(b"\"\"");
        }
        out.extend_from_slice(piece.as_bytes());
    }
    out.push(b'"');
}

/// Rows of a query under a header.
#[cfg(feature = "sql")]
pub(crate) struct CsvRows {
    writer: CsvWriter,
    types: Vec<ColumnType>,
    /// The column names, until they are written.
    header: Option<Vec<String>>,
}

#[cfg(feature = "sql")]
impl CsvRows {
    pub(crate) fn new(
        names: &[String],
        types: &[ColumnType],
        options: &CsvOptions,
        delimiter: Option<u8>,
    ) -> Self {
        Self {
            writer: CsvWriter::new(options.delimiter.or(delimiter), &options.null),
            types: types.to_vec(),
            header: options.has_header.then(|| names.to_vec()),
        }
    }
}

#[cfg(feature = "sql")]
impl crate::format::RowWriter for CsvRows {
    fn write(&mut self, batch: Batch, out: &mut Vec<u8>) -> QueryResult<()> {
        self.finish(out)?;
        for row in 0..batch.row_count {
            let cells = batch.columns.iter().zip(&self.types);
            self.writer.push_row(cells, out, |(array, ty), out| {
                let value = value_at(array, row, ty);
                match (&value, ty) {
                    (Value::Null, _) => self.writer.push_null(out),
                    (_, ColumnType::Text | ColumnType::Json) => {
                        self.writer.push_text(&cast::format(&value, ty), out);
                    }
                    _ => self.writer.push_bare(&cast::format(&value, ty), out),
                }
            });
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> QueryResult<()> {
        if let Some(names) = self.header.take() {
            self.writer.push_header(&names, out);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells() {
        for (value, cell) in [
            ("1.10", "1.10"),
            ("true", "true"),
            (r#""plain""#, "plain"),
            (r#""""#, r#""""#),
            (r#""42""#, r#""42""#),
            (r#""true""#, r#""true""#),
            (r#""a,b""#, r#""a,b""#),
            (r#""a \"b\"\n""#, "\"a \"\"b\"\"\n\""),
            (r#"{"a":[1,"x"]}"#, r#""{""a"":[1,""x""]}""#),
            ("null", " "),
        ] {
            let mut out = Vec::new();
            push_csv_row([Some(value)], &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), format!("{cell}\n"), "{value}");
        }
        let mut out = Vec::new();
        let writer = CsvWriter::new(Some(b'\t'), "NA");
        writer.push_json_row([Some(r#""NA""#), None, Some("1"), Some(r#""a\tb""#)], &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), "\"NA\"\tNA\t1\t\"a\tb\"\n");
    }
}
