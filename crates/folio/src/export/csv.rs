//! CSV cells (RFC 4180), written so that an import reads the same values back.
//!
//! | value | cell |
//! |---|---|
//! | null, or no such field | empty |
//! | number, true, false | as it is written in JSON |
//! | text | as it is; in quotes where it could be taken for something else |
//! | object, array | its JSON text |

use crate::import::is_bare_value;
use crate::json::unquote;

/// Appends the cell of a value.
pub(super) fn push_cell(value: Option<&str>, out: &mut Vec<u8>) {
    let Some(value) = value.filter(|&value| value != "null") else { return };
    match unquote(value) {
        Some(text) if needs_quotes(&text) => push_quoted(&text, out),
        Some(text) => out.extend_from_slice(text.as_bytes()),
        None if value.starts_with(['{', '[']) => push_quoted(value, out),
        None => out.extend_from_slice(value.as_bytes()),
    }
}

/// Appends a row of JSON values as a line of CSV.
pub fn push_csv_row<'a>(values: impl IntoIterator<Item = Option<&'a str>>, out: &mut Vec<u8>) {
    for (index, value) in values.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        push_cell(value, out);
    }
    out.push(b'\n');
}

/// Appends a column's name.
pub(super) fn push_name(name: &str, out: &mut Vec<u8>) {
    if needs_quotes(name) && !is_bare_value(name) {
        push_quoted(name, out);
    } else {
        out.extend_from_slice(name.as_bytes());
    }
}

/// Whether a text without quotes would be read as something else.
fn needs_quotes(text: &str) -> bool {
    let splits = |byte: u8| matches!(byte, b',' | b'"' | b'\n' | b'\r' | b'\t' | b';' | b'|');
    text.bytes().any(splits) || text.starts_with(' ') || text.ends_with(' ') || is_bare_value(text)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells() {
        for (value, cell) in [
            ("null", ""),
            ("1.10", "1.10"),
            ("true", "true"),
            (r#""plain""#, "plain"),
            (r#""""#, r#""""#),
            (r#""42""#, r#""42""#),
            (r#""true""#, r#""true""#),
            (r#""a,b""#, r#""a,b""#),
            (r#""a \"b\"\n""#, "\"a \"\"b\"\"\n\""),
            (r#"{"a":[1,"x"]}"#, r#""{""a"":[1,""x""]}""#),
        ] {
            let mut out = Vec::new();
            push_cell(Some(value), &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), cell, "{value}");
        }
    }
}
