//! Values as JSON text that JavaScript converts to exact ones.
//!
//! A value without a JSON form is a string that starts with U+0000 and a letter. The form extends
//! that of [`crate::exact`]:
//!
//! | letter | followed by | meaning |
//! |---|---|---|
//! | `i` | digits | a bigint: an integer beyond 2^53 - 1 |
//! | `s` | text | a string that starts with U+0000 by itself |
//! | `b` | `start,size` | a Buffer of those bytes, which are beside the text |
//! | `b` | hexadecimal digits | a Buffer, if none are |
//! | `f` | `NaN`, `Infinity`, `-Infinity` | that number |
//!
//! A numeric is its digits; dates, times, intervals and UUIDs are text, because no JavaScript type
//! holds them exactly.

use std::fmt::Write;

use folio::{
    ColumnBatch, ColumnType, Value, format_value, members_of, value_at, write_json,
    write_json_string,
};

use crate::exact::{SAFE_MAX, push_marked};

/// Writes rows as JSON objects whose members are the columns, in order.
pub(crate) struct RowWriter {
    /// Per column: `"name":`, after a comma except for the first.
    prefixes: Vec<String>,
    types: Vec<ColumnType>,
}

impl RowWriter {
    pub(crate) fn new(names: &[String], types: &[ColumnType]) -> Self {
        let prefix = |(index, name): (usize, &String)| {
            let mut prefix = String::from(if index > 0 { "," } else { "" });
            write_json_string(name, &mut prefix);
            prefix.push(':');
            prefix
        };
        Self { prefixes: names.iter().enumerate().map(prefix).collect(), types: types.to_vec() }
    }

    /// The rows of a batch as one JSON array, and the bytes beside it.
    pub(crate) fn write(&self, batch: &ColumnBatch) -> (String, Vec<u8>) {
        let mut out = String::with_capacity(16 + batch.row_count * 32);
        let mut bytes = Some(Vec::new());
        for row in 0..batch.row_count {
            out.push(if row > 0 { ',' } else { '[' });
            out.push('{');
            let columns = batch.columns.iter().zip(&self.types).zip(&self.prefixes);
            for ((array, ty), prefix) in columns {
                out.push_str(prefix);
                push_value(&value_at(array, row, ty), ty, &mut bytes, &mut out);
            }
            out.push('}');
        }
        out.push(']');
        (out, bytes.unwrap_or_default())
    }
}

/// Appends values as a JSON array.
pub(crate) fn push_values(values: &[Value], types: &[ColumnType], out: &mut String) {
    out.push('[');
    for (index, (value, ty)) in values.iter().zip(types).enumerate() {
        if index > 0 {
            out.push(',');
        }
        push_value(value, ty, &mut None, out);
    }
    out.push(']');
}

/// Appends a value. Its bytes go to `beside`, if there is such a place.
fn push_value(value: &Value, ty: &ColumnType, beside: &mut Option<Vec<u8>>, out: &mut String) {
    match (value, ty) {
        (Value::Integer(integer), _) if integer.unsigned_abs() > SAFE_MAX => {
            // Writing to a string does not fail.
            let _ = write!(out, "\"\\u0000i{integer}\"");
        }
        (Value::Float(float), _) if !float.is_finite() => out.push_str(match float {
            _ if float.is_nan() => "\"\\u0000fNaN\"",
            _ if *float > 0.0 => "\"\\u0000fInfinity\"",
            _ => "\"\\u0000f-Infinity\"",
        }),
        (Value::Decimal(_), ty) => {
            let _ = write!(out, "\"{}\"", format_value(value, ty));
        }
        (Value::Bytes(bytes), _) => {
            out.push_str("\"\\u0000b");
            if let Some(beside) = beside.as_mut().filter(|_| !bytes.is_empty()) {
                let _ = write!(out, "{},{}", beside.len(), bytes.len());
                beside.extend_from_slice(bytes);
            } else {
                for byte in bytes {
                    let _ = write!(out, "{byte:02x}");
                }
            }
            out.push('"');
        }
        (Value::Text(json), ColumnType::Json) => {
            let mut marked = Vec::with_capacity(json.len());
            push_marked(json.as_bytes(), &mut marked);
            out.push_str(&String::from_utf8_lossy(&marked));
        }
        (Value::Text(text), _) if text.starts_with('\0') => {
            let mut rest = String::new();
            write_json_string(text, &mut rest);
            // `"` and U+0000 itself, then the mark, then all of the text.
            out.push_str("\"\\u0000s");
            out.push_str(&rest[1..]);
        }
        (Value::List(values), ColumnType::List(element)) => {
            for (index, value) in values.iter().enumerate() {
                out.push(if index > 0 { ',' } else { '[' });
                push_value(value, element, beside, out);
            }
            out.push_str(if values.is_empty() { "[]" } else { "]" });
        }
        (value, ty) => match members_of(value, ty) {
            Some(members) => {
                out.push('{');
                for (index, (name, value, ty)) in members.enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    write_json_string(name, out);
                    out.push(':');
                    push_value(value, ty, beside, out);
                }
                out.push('}');
            }
            None => write_json(value, ty, out),
        },
    }
}
