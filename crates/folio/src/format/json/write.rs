//! Writes objects as lines or as the elements of an array.

#[cfg(feature = "sql")]
use folio_compute::array::value_at;
#[cfg(feature = "sql")]
use folio_compute::cast::json::{write_json, write_string};
#[cfg(feature = "sql")]
use folio_compute::{Batch, JsonRows, Result as QueryResult};
#[cfg(feature = "sql")]
use folio_types::{ColumnType, Value};

use crate::format::Format;
#[cfg(feature = "sql")]
use crate::format::RowWriter;

/// The text before, between and after objects, and the text for no objects.
pub(crate) struct Marks {
    pub(crate) before: &'static str,
    pub(crate) between: &'static str,
    pub(crate) after: &'static str,
    pub(crate) none: &'static str,
}

impl Marks {
    pub(crate) fn of(format: Format) -> Self {
        match format {
            Format::Json => Self { before: "[\n", between: ",\n", after: "\n]\n", none: "[]\n" },
            _ => Self { before: "", between: "\n", after: "\n", none: "" },
        }
    }
}

/// Rows of a query.
#[cfg(feature = "sql")]
pub(crate) struct JsonFile {
    writer: JsonRows,
    marks: Marks,
    is_first: bool,
}

#[cfg(feature = "sql")]
impl JsonFile {
    pub(crate) fn lines(names: &[String], types: &[ColumnType]) -> Self {
        Self::new(names, types, Format::JsonLines)
    }

    pub(crate) fn array(names: &[String], types: &[ColumnType]) -> Self {
        Self::new(names, types, Format::Json)
    }

    fn new(names: &[String], types: &[ColumnType], format: Format) -> Self {
        Self { writer: JsonRows::new(names, types), marks: Marks::of(format), is_first: true }
    }
}

#[cfg(feature = "sql")]
impl RowWriter for JsonFile {
    fn write(&mut self, batch: Batch, out: &mut Vec<u8>) -> QueryResult<()> {
        if self.is_first && batch.row_count > 0 {
            out.extend_from_slice(self.marks.before.as_bytes());
        }
        self.writer.write(&batch, self.marks.between, &mut self.is_first, out);
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> QueryResult<()> {
        let mark = if self.is_first { self.marks.none } else { self.marks.after };
        out.extend_from_slice(mark.as_bytes());
        Ok(())
    }
}

/// Rows of a query as lines without the members that are NULL.
#[cfg(feature = "sql")]
pub(crate) struct SparseLines {
    names: Vec<String>,
    types: Vec<ColumnType>,
}

#[cfg(feature = "sql")]
impl SparseLines {
    pub(crate) fn new(names: &[String], types: &[ColumnType]) -> Self {
        Self { names: names.to_vec(), types: types.to_vec() }
    }
}

#[cfg(feature = "sql")]
impl RowWriter for SparseLines {
    fn write(&mut self, batch: Batch, out: &mut Vec<u8>) -> QueryResult<()> {
        let mut text = String::new();
        for row in 0..batch.row_count {
            let mut separator = '{';
            for ((name, ty), array) in self.names.iter().zip(&self.types).zip(&batch.columns) {
                let value = value_at(array, row, ty);
                if matches!(value, Value::Null) {
                    continue;
                }
                text.push(separator);
                separator = ',';
                write_string(name, &mut text);
                text.push(':');
                write_json(&value, ty, &mut text);
            }
            text.push_str(if separator == '{' { "{}\n" } else { "}\n" });
        }
        out.extend_from_slice(text.as_bytes());
        Ok(())
    }

    fn finish(&mut self, _: &mut Vec<u8>) -> QueryResult<()> {
        Ok(())
    }
}
