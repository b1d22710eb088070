//! Comma-separated values (RFC 4180); each row becomes a flat object.
//!
//! The reader accepts more than the RFC: LF and CRLF line ends, any single-byte delimiter, quotes
//! inside a field that does not begin with one. A row with more or fewer fields than the header is
//! rejected, not shifted.

use super::cell::{Kind, Sample, kind_of};
use super::row::{Field, RowScan};
use crate::error::Result;
use crate::format::input::{Input, MAX_RECORD_SIZE};
use crate::format::{Format, Reading, Record};
use crate::push_json_string;

/// Rows sampled to infer column types, as far as the first window holds them.
const SAMPLE_ROW_LIMIT: usize = 1_000;

/// The rows of an input.
pub(crate) struct Csv {
    pub(crate) input: Input,
    delimiter: u8,
    columns: Columns,
    scan: RowScan,
    json: Vec<u8>,
    /// Bytes and line ends of the last row, consumed once it is no longer borrowed.
    lent: (usize, u64),
}

/// How cells become values.
#[derive(Default)]
struct Columns {
    /// `"name":` for each column.
    keys: Vec<Vec<u8>>,
    is_text: Vec<bool>,
    /// The unquoted cell that means null.
    null: String,
}

impl Csv {
    /// Reads the header and samples the first rows.
    ///
    /// # Errors
    /// `syntax` when the header names no columns or one twice.
    pub(crate) fn new(input: Input, reading: &Reading) -> Result<Self> {
        let delimiter = reading.delimiter.or(reading.format.and_then(Format::delimiter));
        let delimiter = delimiter.unwrap_or_else(|| guess_delimiter(input.window()));
        let mut csv = Self {
            input,
            delimiter,
            columns: Columns { null: reading.null.clone(), ..Columns::default() },
            scan: RowScan::default(),
            json: Vec::new(),
            lent: (0, 0),
        };
        let names = match &reading.columns {
            Some(names) => {
                csv.check_names(names)?;
                names.clone()
            }
            None => csv.read_header()?,
        };
        csv.columns.is_text = match reading.infer_types {
            true => csv.sample(names.len()),
            false => vec![true; names.len()],
        };
        for (name, is_text) in names.iter().zip(&mut csv.columns.is_text) {
            *is_text |= name == "_id";
            let mut key = Vec::new();
            push_json_string(name, &mut key);
            key.push(b':');
            csv.columns.keys.push(key);
        }
        Ok(csv)
    }

    /// An object of all columns, each an empty text.
    #[cfg(feature = "sql")]
    pub(crate) fn empty_texts(&self) -> Vec<u8> {
        self.columns.empty_texts()
    }

    pub(crate) fn position(&self) -> u64 {
        self.input.position() + self.lent.0 as u64
    }

    /// The next non-blank row, as an object.
    pub(crate) fn next(&mut self) -> Result<Option<Record<'_>>> {
        loop {
            self.input.consume(self.lent.0, self.lent.1);
            self.lent = (0, 0);
            let Some(size) = self.find_row()? else { return Ok(None) };
            self.lent = (size, self.scan.line_end_count);
            if !self.is_blank(&self.input.window()[..size]) {
                break;
            }
        }
        self.json.clear();
        let row = &self.input.window()[..self.lent.0];
        let written = match self.scan.fault {
            Some(fault) => Err(fault.to_owned()),
            None => self.columns.write_object(row, &self.scan.fields, &mut self.json),
        };
        let json = written.map(|()| &*self.json);
        Ok(Some(Record { raw: row.trim_ascii_end(), line: self.input.line(), json }))
    }

    /// Whether a line is not a row. In a file of one column, a line of spaces is a NULL row.
    fn is_blank(&self, line: &[u8]) -> bool {
        let is_row = self.columns.keys.len() == 1 && line.contains(&b' ');
        !is_row && line.trim_ascii().is_empty()
    }

    /// Scans the row at the start of the window. Returns its size with its line end.
    fn find_row(&mut self) -> Result<Option<usize>> {
        self.scan.begin();
        loop {
            if let Some(size) = self.scan.step(self.input.window(), self.delimiter) {
                return Ok(Some(size));
            }
            if self.input.window().len() > MAX_RECORD_SIZE {
                let text =
                    "the row that begins here does not end; look for a quote that is not closed";
                return Err(self.input.fault(text));
            }
            if !self.input.fill()? {
                let size = self.input.window().len();
                self.scan.end(size);
                return Ok((size > 0).then_some(size));
            }
        }
    }

    fn read_header(&mut self) -> Result<Vec<String>> {
        let Some(size) = self.find_row()? else {
            return Ok(Vec::new());
        };
        let row = &self.input.window()[..size];
        let mut names = Vec::new();
        for (index, field) in self.scan.fields.iter().enumerate() {
            match field.text(row) {
                Some(name) if name.is_empty() => names.push(format!("column_{}", index + 1)),
                Some(name) => names.push(name.into_owned()),
                None => {
                    let text =
                        "the header is not UTF-8; convert the file first, for instance with iconv";
                    return Err(self.input.fault(text));
                }
            }
        }
        self.check_names(&names)?;
        let line_end_count = self.scan.line_end_count;
        self.input.consume(size, line_end_count);
        Ok(names)
    }

    fn check_names(&self, names: &[String]) -> Result<()> {
        for (index, name) in names.iter().enumerate() {
            if names[..index].contains(name) {
                return Err(self
                    .input
                    .fault(format!("the column {name:?} appears twice; rename one")));
            }
        }
        Ok(())
    }

    /// Samples the rows in the first window, without consuming them.
    fn sample(&self, column_count: usize) -> Vec<bool> {
        let mut sample = Sample::new(column_count);
        let mut scan = RowScan::default();
        let mut rest = self.input.window();
        for _ in 0..SAMPLE_ROW_LIMIT {
            scan.begin();
            let size = match scan.step(rest, self.delimiter) {
                Some(size) => size,
                None if rest.is_empty() || !self.input.holds_all() => break,
                None => {
                    scan.end(rest.len());
                    rest.len()
                }
            };
            let (row, after) = rest.split_at(size);
            rest = after;
            for (column, field) in scan.fields.iter().enumerate() {
                if let Some(cell) = field.text(row) {
                    sample.add(column, &cell, field.is_quoted);
                }
            }
        }
        sample.text_columns()
    }
}

/// The byte that splits the header into most fields; a comma by default.
fn guess_delimiter(head: &[u8]) -> u8 {
    let end = memchr::memchr(b'\n', head).unwrap_or(head.len());
    let count = |delimiter: u8| head[..end].iter().filter(|&&byte| byte == delimiter).count();
    let mut best = b',';
    for delimiter in [b'\t', b';', b'|'] {
        if count(delimiter) > count(best) {
            best = delimiter;
        }
    }
    best
}

impl Columns {
    /// A row of empty texts, as a JSON object.
    #[cfg(feature = "sql")]
    fn empty_texts(&self) -> Vec<u8> {
        let members: Vec<Vec<u8>> =
            self.keys.iter().map(|key| [&key[..], br#""""#].concat()).collect();
        [&b"{"[..], &members.join(&b','), b"}"].concat()
    }

    /// Appends a row as a JSON object.
    fn write_object(
        &self,
        row: &[u8],
        fields: &[Field],
        json: &mut Vec<u8>,
    ) -> std::result::Result<(), String> {
        if fields.len() != self.keys.len() {
            return Err(format!("{} fields under a header of {}", fields.len(), self.keys.len()));
        }
        json.push(b'{');
        for (index, field) in fields.iter().enumerate() {
            let Some(cell) = field.text(row) else {
                return Err(format!("field {} is not UTF-8", index + 1));
            };
            if index > 0 {
                json.push(b',');
            }
            json.extend_from_slice(&self.keys[index]);
            let is_space = fields.len() == 1 && self.null.is_empty() && cell.trim().is_empty();
            match kind_of(&cell) {
                _ if is_space && !field.is_quoted => json.extend_from_slice(b"null"),
                _ if !field.is_quoted && *cell == *self.null => json.extend_from_slice(b"null"),
                Kind::Number if !self.is_text[index] => json.extend_from_slice(cell.as_bytes()),
                Kind::Boolean(value) if !self.is_text[index] => {
                    json.extend_from_slice(if value { b"true" } else { b"false" });
                }
                _ => push_json_string(&cell, json),
            }
        }
        json.push(b'}');
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Source;

    fn read(text: &'static str, reading: &Reading) -> Vec<String> {
        let input = Input::open(Source::reader("-", text.as_bytes())).unwrap();
        let mut csv = Csv::new(input, reading).unwrap();
        let mut rows = Vec::new();
        while let Some(record) = csv.next().unwrap() {
            let json = record.json.map(|json| String::from_utf8(json.to_vec()).unwrap());
            rows.push(json.unwrap_or_else(|reason| format!("{}: {reason}", record.line)));
        }
        rows
    }

    fn check(text: &'static str, expected: &[&str]) {
        assert_eq!(read(text, &Reading::default()), expected, "{text}");
    }

    #[test]
    fn rows_become_objects() {
        check("a,b\n1,x\n2,\n", &[r#"{"a":1,"b":"x"}"#, r#"{"a":2,"b":null}"#]);
        check(
            "a,b\r\n1.50,true\r\n\r\n-2e5,FALSE",
            &[r#"{"a":1.50,"b":true}"#, r#"{"a":-2e5,"b":false}"#],
        );
        check("a\tb\n1\t2,3\n", &[r#"{"a":1,"b":"2,3"}"#]);
        check("a;b\n1,5;2\n", &[r#"{"a":"1,5","b":2}"#]);
        check("", &[]);
        check("a,b\n", &[]);
        check(",b\n0,1\n", &[r#"{"column_1":0,"b":1}"#]);
    }

    #[test]
    fn quotes_hold_everything() {
        check(
            "a,b\n\"x,\"\"y\"\"\n\r\nz\",1\n\"\",2\n",
            &[r#"{"a":"x,\"y\"\n\r\nz","b":1}"#, r#"{"a":"","b":2}"#],
        );
        check("a,b\n5\" pipe,1\n", &[r#"{"a":"5\" pipe","b":1}"#]);
    }

    #[test]
    fn types_belong_to_columns() {
        check(
            "zip,n\n10001,1\n01234,2\n",
            &[r#"{"zip":"10001","n":1}"#, r#"{"zip":"01234","n":2}"#],
        );
        check("a,b\n\"42\",1\n\"x\",2", &[r#"{"a":"42","b":1}"#, r#"{"a":"x","b":2}"#]);
        check("\"a\",\"b\"\n\"42\",\"1\"\n", &[r#"{"a":42,"b":1}"#]);
        check("_id,b\n42,1\n", &[r#"{"_id":"42","b":1}"#]);
        let text = Reading { infer_types: false, ..Reading::default() };
        assert_eq!(read("a,b\n1,\n", &text), [r#"{"a":"1","b":null}"#]);
        let named =
            Reading { columns: Some(vec!["x".to_owned(), "y".to_owned()]), ..Reading::default() };
        assert_eq!(read("1,2\n", &named), [r#"{"x":1,"y":2}"#]);
    }

    #[test]
    fn wrong_rows_are_told_with_their_line() {
        check(
            "a,b\n\"1\n\",2\n3\n4,5,6\n\"7\"x,8\n9,\"",
            &[
                r#"{"a":"1\n","b":2}"#,
                "4: 1 fields under a header of 2",
                "5: 3 fields under a header of 2",
                "6: text after a closing quote",
                "7: a quote that is opened here is not closed",
            ],
        );
    }

    #[test]
    fn a_column_named_twice_is_refused() {
        let input = Input::open(Source::reader("-", &b"a,b,a\n"[..])).unwrap();
        let error = Csv::new(input, &Reading::default()).err().unwrap();
        assert!(error.to_string().contains("\"a\" appears twice"), "{error}");
    }
}
