//! Rows as JSON, straight from their arrays.
//!
//! A writer is made per column once for each batch; a row then asks each to append
//! its value. Nothing stands between array and text.

use std::fmt::Write;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, FixedSizeBinaryArray, ListArray, PrimitiveArray, StringArray,
    StructArray,
};
use folio_types::ColumnType;

use crate::batch::Batch;
use crate::error::Result;
use crate::expression::json::{write_json, write_string};
use crate::expression::value::value_at;
use crate::rows::Rows;

/// Writes rows as JSON objects whose members are the columns, in order.
pub struct JsonRows {
    /// Per column: `,"name":`, without the comma for the first.
    prefixes: Vec<String>,
    types: Vec<ColumnType>,
}

impl JsonRows {
    /// For columns of these names and types.
    #[must_use]
    pub fn new(names: &[String], types: &[ColumnType]) -> Self {
        Self { prefixes: prefixes(names.iter().map(String::as_str)), types: types.to_vec() }
    }

    /// Appends every row of a batch with `between` before each but the first;
    /// `is_first` says whether any came yet.
    pub fn write(&self, batch: &Batch, between: &str, is_first: &mut bool, out: &mut String) {
        let cells: Vec<Cells<'_>> =
            batch.columns.iter().zip(&self.types).map(|(array, ty)| Cells::of(array, ty)).collect();
        for row in 0..batch.row_count {
            if !std::mem::take(is_first) {
                out.push_str(between);
            }
            write_object(&self.prefixes, &cells, row, out);
        }
    }
}

impl Rows {
    /// All rows that are left as one JSON array of objects.
    ///
    /// # Errors
    /// As [`Rows::next_batch`].
    pub fn to_json(&mut self) -> Result<String> {
        let writer = JsonRows::new(self.names(), self.types());
        let (mut out, mut is_first) = (String::from("["), true);
        while let Some(batch) = self.next_batch()? {
            writer.write(&batch, ",", &mut is_first, &mut out);
        }
        out.push(']');
        Ok(out)
    }
}

fn prefixes<'n>(names: impl Iterator<Item = &'n str>) -> Vec<String> {
    names
        .enumerate()
        .map(|(index, name)| {
            let mut prefix = String::from(if index > 0 { "," } else { "" });
            write_string(name, &mut prefix);
            prefix.push(':');
            prefix
        })
        .collect()
}

fn write_object(prefixes: &[String], cells: &[Cells<'_>], row: usize, out: &mut String) {
    out.push('{');
    for (prefix, cells) in prefixes.iter().zip(cells) {
        out.push_str(prefix);
        cells.write(row, out);
    }
    out.push('}');
}

/// The values of one column.
enum Cells<'a> {
    Boolean(&'a BooleanArray),
    Int16(&'a PrimitiveArray<Int16Type>),
    Int32(&'a PrimitiveArray<Int32Type>),
    Int64(&'a PrimitiveArray<Int64Type>),
    Float32(&'a PrimitiveArray<Float32Type>, &'a ColumnType),
    Float64(&'a PrimitiveArray<Float64Type>, &'a ColumnType),
    Date(&'a PrimitiveArray<Date32Type>),
    Text(&'a StringArray),
    Uuid(&'a FixedSizeBinaryArray),
    List(&'a ListArray, Box<Cells<'a>>),
    Struct { array: &'a StructArray, prefixes: Vec<String>, cells: Vec<Cells<'a>> },
    Other(&'a ArrayRef, &'a ColumnType),
}

impl<'a> Cells<'a> {
    fn of(array: &'a ArrayRef, ty: &'a ColumnType) -> Self {
        match ty {
            ColumnType::Boolean => Self::Boolean(array.as_boolean()),
            ColumnType::Int16 => Self::Int16(array.as_primitive()),
            ColumnType::Int32 => Self::Int32(array.as_primitive()),
            ColumnType::Int64 => Self::Int64(array.as_primitive()),
            ColumnType::Float32 => Self::Float32(array.as_primitive(), ty),
            ColumnType::Float64 => Self::Float64(array.as_primitive(), ty),
            ColumnType::Date => Self::Date(array.as_primitive()),
            ColumnType::Text => Self::Text(array.as_string()),
            ColumnType::Uuid => Self::Uuid(array.as_fixed_size_binary()),
            ColumnType::List(element) => {
                let list: &ListArray = array.as_list();
                Self::List(list, Box::new(Self::of(list.values(), element)))
            }
            ColumnType::Struct(fields) => {
                let array = array.as_struct();
                let cells = array.columns().iter().zip(fields);
                let cells = cells.map(|(column, (_, ty))| Self::of(column, ty)).collect();
                let prefixes = prefixes(fields.iter().map(|(name, _)| name.as_str()));
                Self::Struct { array, prefixes, cells }
            }
            _ => Self::Other(array, ty),
        }
    }

    fn is_null(&self, row: usize) -> bool {
        match self {
            Self::Boolean(array) => array.is_null(row),
            Self::Int16(array) => array.is_null(row),
            Self::Int32(array) => array.is_null(row),
            Self::Int64(array) => array.is_null(row),
            Self::Float32(array, _) => array.is_null(row),
            Self::Float64(array, _) => array.is_null(row),
            Self::Date(array) => array.is_null(row),
            Self::Text(array) => array.is_null(row),
            Self::Uuid(array) => array.is_null(row),
            Self::List(array, _) => array.is_null(row),
            Self::Struct { array, .. } => array.is_null(row),
            Self::Other(array, _) => array.is_null(row),
        }
    }

    fn write(&self, row: usize, out: &mut String) {
        if self.is_null(row) {
            out.push_str("null");
            return;
        }
        match self {
            Self::Boolean(array) => out.push_str(if array.value(row) { "true" } else { "false" }),
            Self::Int16(array) => write_integer(array.value(row).into(), out),
            Self::Int32(array) => write_integer(array.value(row).into(), out),
            Self::Int64(array) => write_integer(array.value(row), out),
            Self::Float32(array, ty) => {
                write_json(&folio_types::Value::Float(array.value(row).into()), ty, out);
            }
            Self::Float64(array, ty) => {
                write_json(&folio_types::Value::Float(array.value(row)), ty, out);
            }
            Self::Date(array) => {
                let text = crate::expression::temporal::format_date(array.value(row));
                // Writing to a string does not fail.
                let _ = write!(out, "\"{text}\"");
            }
            Self::Text(array) => write_string(array.value(row), out),
            Self::Uuid(array) => write_uuid(array.value(row), out),
            Self::List(array, cells) => {
                out.push('[');
                let offsets = array.value_offsets();
                let items = offsets[row] as usize..offsets[row + 1] as usize;
                for (index, item) in items.enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    cells.write(item, out);
                }
                out.push(']');
            }
            Self::Struct { prefixes, cells, .. } => write_object(prefixes, cells, row, out),
            Self::Other(array, ty) => write_json(&value_at(array, row, ty), ty, out),
        }
    }
}

/// Digits of an integer, from the last to the first.
fn write_integer(value: i64, out: &mut String) {
    let mut digits = [0u8; 20];
    let (mut at, mut rest) = (digits.len(), value.unsigned_abs());
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        out.push('-');
    }
    out.extend(digits[at..].iter().map(|digit| char::from(*digit)));
}

fn write_uuid(bytes: &[u8], out: &mut String) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut text = [b'-'; 38];
    (text[0], text[37]) = (b'"', b'"');
    let mut at = 1;
    for (index, byte) in bytes.iter().take(16).enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            at += 1;
        }
        text[at] = HEX[usize::from(byte >> 4)];
        text[at + 1] = HEX[usize::from(byte & 15)];
        at += 2;
    }
    out.push_str(std::str::from_utf8(&text).unwrap_or("\"\""));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_and_uuids_are_written_whole() {
        for value in [0, 7, -1, 10, i64::MAX, i64::MIN] {
            let mut out = String::new();
            write_integer(value, &mut out);
            assert_eq!(out, value.to_string());
        }
        let mut out = String::new();
        write_uuid(&0x0123_4567_89ab_cdef_0123_4567_89ab_cdefu128.to_be_bytes(), &mut out);
        assert_eq!(out, "\"01234567-89ab-cdef-0123-456789abcdef\"");
    }
}
