//! Rows as JSON Lines.

use std::io::BufRead;

use folio_query::{read_json, write_json, write_json_string};
use folio_types::{Column, ColumnType, Value};

use super::broken;
use crate::error::{Error, Result};
use crate::json::members;

/// Appends a row; what is null is left out.
pub(super) fn push_row(names: &[String], types: &[ColumnType], values: &[Value], out: &mut String) {
    let mut separator = '{';
    for ((name, ty), value) in names.iter().zip(types).zip(values) {
        if matches!(value, Value::Null) {
            continue;
        }
        out.push(separator);
        separator = ',';
        write_json_string(name, out);
        out.push(':');
        match value {
            // A line end in JSON text stands between its words only.
            Value::Text(text) if *ty == ColumnType::Json => {
                out.push_str(&text.replace(['\n', '\r'], " "));
            }
            value => write_json(value, ty, out),
        }
    }
    out.push_str(if separator == '{' { "{}\n" } else { "}\n" });
}

/// Rows of a file, line by line.
pub(super) struct Lines<'r> {
    input: &'r mut dyn BufRead,
    line: String,
    number: u64,
}

impl<'r> Lines<'r> {
    pub(super) fn new(input: &'r mut dyn BufRead) -> Self {
        Self { input, line: String::new(), number: 0 }
    }

    /// The next row, a value per column; `None` behind the last.
    pub(super) fn next(&mut self, columns: &[Column]) -> Result<Option<Vec<Value>>> {
        loop {
            self.line.clear();
            self.number += 1;
            if self.input.read_line(&mut self.line).map_err(Error::Output)? == 0 {
                return Ok(None);
            }
            if !self.line.trim().is_empty() {
                break;
            }
        }
        let found = members(self.line.trim())
            .map_err(|error| broken(self.number, &format!("this is no JSON object: {error}")))?;
        let mut row = vec![Value::Null; columns.len()];
        for (name, text) in found {
            let Some(at) = columns.iter().position(|column| column.name == name) else {
                return Err(broken(self.number, &format!("the table has no column {name:?}")));
            };
            let ty = &columns[at].column_type;
            row[at] = match ty {
                ColumnType::Json => Value::Text(text.to_owned()),
                _ => read_json(text, ty).ok_or_else(|| {
                    broken(self.number, &format!("column {name:?} does not take {text}"))
                })?,
            };
        }
        Ok(Some(row))
    }
}
