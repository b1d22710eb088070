//! Rows as CSV (RFC 4180): a null is an empty cell, empty text stands in quotes.

use std::io::BufRead;

use folio_query::source::CsvOptions;
use folio_query::{format_value, parse_value};
use folio_types::{Column, ColumnType, Value};

use super::broken;
use crate::error::{Error, Result};

/// How cells are written.
pub(crate) struct Cells<'o> {
    delimiter: char,
    null: &'o str,
}

impl<'o> Cells<'o> {
    pub(crate) fn new(options: &'o CsvOptions) -> Self {
        Self { delimiter: options.delimiter.unwrap_or(b',').into(), null: &options.null }
    }

    /// Appends the names of the columns.
    pub(crate) fn push_header(&self, names: &[String], out: &mut String) {
        for (at, name) in names.iter().enumerate() {
            self.push_separator(at, out);
            self.push_text(name, out);
        }
        out.push('\n');
    }

    /// Appends a row.
    pub(crate) fn push_row(&self, types: &[ColumnType], values: &[Value], out: &mut String) {
        for (at, (ty, value)) in types.iter().zip(values).enumerate() {
            self.push_separator(at, out);
            match value {
                Value::Null => out.push_str(self.null),
                _ => self.push_text(&format_value(value, ty), out),
            }
        }
        // One empty cell would be an empty line, which is no row.
        if let ([_], [Value::Null], "") = (types, values, self.null) {
            out.push(' ');
        }
        out.push('\n');
    }

    fn push_separator(&self, at: usize, out: &mut String) {
        if at > 0 {
            out.push(self.delimiter);
        }
    }

    fn push_text(&self, text: &str, out: &mut String) {
        let splits = |it| matches!(it, '"' | '\n' | '\r') || it == self.delimiter;
        let is_plain = !text.is_empty() && text != self.null && text.trim() == text;
        if is_plain && !text.contains(splits) {
            out.push_str(text);
            return;
        }
        out.push('"');
        out.push_str(&text.replace('"', "\"\""));
        out.push('"');
    }
}

/// Rows of a file, record by record.
pub(super) struct Records<'r> {
    input: &'r mut dyn BufRead,
    columns: &'r [Column],
    /// Where each cell goes.
    places: Vec<usize>,
    record: String,
    number: u64,
}

impl<'r> Records<'r> {
    /// Reads the header.
    pub(super) fn begin(input: &'r mut dyn BufRead, columns: &'r [Column]) -> Result<Self> {
        let mut records =
            Self { input, columns, places: Vec::new(), record: String::new(), number: 0 };
        if !records.read()? {
            return Err(broken(1, "the names of the columns are missing"));
        }
        for (name, _) in cells(&records.record) {
            let place = columns.iter().position(|column| column.name == name);
            let missing = || broken(1, &format!("the table has no column {name:?}"));
            records.places.push(place.ok_or_else(missing)?);
        }
        Ok(records)
    }

    /// The next row, a value per column; `None` behind the last.
    pub(super) fn next(&mut self) -> Result<Option<Vec<Value>>> {
        if !self.read()? {
            return Ok(None);
        }
        let found = cells(&self.record);
        if found.len() != self.places.len() {
            let (cells, columns) = (found.len(), self.places.len());
            return Err(broken(self.number, &format!("{cells} cells for {columns} columns")));
        }
        let mut row = vec![Value::Null; self.columns.len()];
        for ((text, is_quoted), place) in found.into_iter().zip(&self.places) {
            let Column { name, column_type: ty, .. } = &self.columns[*place];
            if !is_quoted && text.trim().is_empty() {
                continue;
            }
            row[*place] = match ty {
                ColumnType::Text | ColumnType::Json => Value::Text(text),
                _ => parse_value(&text, ty).map_err(|error| {
                    broken(self.number, &format!("column {name:?}: {}", error.message()))
                })?,
            };
        }
        Ok(Some(row))
    }

    /// Reads a record: a line, and more of them while a quote is open.
    fn read(&mut self) -> Result<bool> {
        self.record.clear();
        loop {
            let before = self.record.len();
            self.number += 1;
            self.input.read_line(&mut self.record).map_err(Error::Output)?;
            let is_end = self.record.len() == before;
            let is_open = self.record.matches('"').count() % 2 == 1;
            match (is_end, is_open) {
                (true, true) => return Err(broken(self.number, "a quote is not closed")),
                (true, false) => return Ok(false),
                (false, true) => {}
                (false, false) if self.record == "\n" => self.record.clear(),
                (false, false) => {
                    // Programs that write CSV often end lines with both.
                    for end in ['\n', '\r'] {
                        if self.record.ends_with(end) {
                            self.record.pop();
                        }
                    }
                    return Ok(true);
                }
            }
        }
    }
}

/// The cells of a record, and whether each stood in quotes.
fn cells(record: &str) -> Vec<(String, bool)> {
    let mut found = vec![(String::new(), false)];
    let (mut is_open, mut characters) = (false, record.chars().peekable());
    while let Some(character) = characters.next() {
        let last = found.len() - 1;
        match character {
            '"' if is_open && characters.next_if_eq(&'"').is_some() => found[last].0.push('"'),
            '"' => {
                is_open = !is_open;
                found[last].1 = true;
            }
            ',' if !is_open => found.push((String::new(), false)),
            _ => found[last].0.push(character),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_told_apart() {
        let cell = |text: &str, is_quoted| (text.to_owned(), is_quoted);
        for (record, expected) in [
            ("a,,\"\"", vec![cell("a", false), cell("", false), cell("", true)]),
            ("\"a\"\"b,\nc\",d", vec![cell("a\"b,\nc", true), cell("d", false)]),
        ] {
            assert_eq!(cells(record), expected, "{record:?}");
        }
    }
}
