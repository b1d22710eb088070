//! Inserts white space between tokens for readability, and removes it.

use crate::text::find_quote;

/// Which arrays are spread over lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arrays {
    /// All.
    Spread,
    /// Those that contain objects or arrays.
    Nested,
}

/// Spreads valid JSON text over lines, with two spaces per level. Strings and numbers stay
/// unchanged. Empty objects and arrays stay on one line.
///
/// ```
/// assert_eq!(folio_json::pretty(r#"{"a":[1.10,{}]}"#), "{\n  \"a\": [\n    1.10,\n    {}\n  ]\n}");
/// ```
#[must_use]
pub fn pretty(json: &str) -> String {
    let mut out = Vec::with_capacity(json.len() * 2);
    spread(json.as_bytes(), Arrays::Spread, &mut out);
    String::from_utf8(out).unwrap_or_default()
}

/// Appends valid JSON text as a document looks in its own file: one field per line, indented by
/// two spaces, so that version control shows and merges fields; a line feed at the end.
///
/// ```json
/// {
///   "_id": "u1",
///   "name": "Ann",
///   "tags": ["a", "b"],
///   "address": {
///     "city": "Rome"
///   }
/// }
/// ```
///
/// An array without objects and arrays in it stays on one line: a vector of 1,536 numbers is one
/// change, not 1,536. Only white space between tokens changes, so a line without any is restored
/// byte for byte when the white space is removed.
pub fn push_pretty_fields(line: &[u8], out: &mut Vec<u8>) {
    spread(line, Arrays::Nested, out);
    out.push(b'\n');
}

fn spread(bytes: &[u8], arrays: Arrays, out: &mut Vec<u8>) {
    // One entry per open container: whether it is spread over lines.
    let mut spread: Vec<bool> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        at += 1;
        match byte {
            b'"' => {
                let end = at + string_size(&bytes[at..]);
                out.extend_from_slice(&bytes[at - 1..end]);
                at = end;
            }
            b' ' | b'\t' | b'\r' | b'\n' => {}
            b'{' | b'[' => {
                out.push(byte);
                let next = bytes[at..].iter().find(|next| !next.is_ascii_whitespace());
                let is_empty = matches!(next, Some(b'}' | b']'));
                let is_spread = byte == b'{' || arrays == Arrays::Spread;
                spread.push(!is_empty && (is_spread || holds_containers(&bytes[at..])));
                if spread.last() == Some(&true) {
                    new_line(spread.len(), out);
                }
            }
            b'}' | b']' => {
                if spread.pop() == Some(true) {
                    new_line(spread.len(), out);
                }
                out.push(byte);
            }
            b',' => {
                out.push(byte);
                match spread.last() {
                    Some(true) => new_line(spread.len(), out),
                    _ => out.push(b' '),
                }
            }
            b':' => out.extend_from_slice(b": "),
            _ => out.push(byte),
        }
    }
}

/// The size of a string up to and including its closing quote.
pub(crate) fn string_size(rest: &[u8]) -> usize {
    let mut at = 0;
    while let Some(found) = find_quote(&rest[at..]) {
        if rest[at + found] == b'"' {
            return at + found + 1;
        }
        at = (at + found + 2).min(rest.len());
    }
    rest.len()
}

/// Whether an array, whose opening bracket was just read, contains anything but scalars. Stops at
/// the first container in it, so that nested arrays are not read repeatedly.
fn holds_containers(rest: &[u8]) -> bool {
    let mut at = 0;
    while let Some(&byte) = rest.get(at) {
        at += 1;
        match byte {
            b'"' => at += string_size(&rest[at..]),
            b'{' | b'[' => return true,
            b']' => return false,
            _ => {}
        }
    }
    false
}

fn new_line(depth: usize, out: &mut Vec<u8>) {
    out.push(b'\n');
    out.resize(out.len() + 2 * depth, b' ');
}

/// Appends valid JSON text without the white space between its tokens.
pub fn push_minified(json: &[u8], out: &mut Vec<u8>) {
    let (mut at, mut kept) = (0, 0); // `kept` is the start of the piece not yet copied
    while let Some(byte) = json.get(at) {
        at += 1;
        match byte {
            b'"' => at += string_size(&json[at..]),
            b' ' | b'\n' | b'\r' | b'\t' => {
                out.extend_from_slice(&json[kept..at - 1]);
                kept = at;
            }
            _ => {}
        }
    }
    out.extend_from_slice(&json[kept..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    fn fields(line: &str) -> String {
        let mut out = Vec::new();
        push_pretty_fields(line.as_bytes(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn fields_get_lines_and_vectors_do_not() {
        let line = concat!(
            r#"{"_id":"u1","a":"x\",:{\\","v":[1,"[",null],"e":{},"f":[],"#,
            r#""o":{"n":[[1,2],{"k":1.50}]}}"#
        );
        let expected = r#"{
  "_id": "u1",
  "a": "x\",:{\\",
  "v": [1, "[", null],
  "e": {},
  "f": [],
  "o": {
    "n": [
      [1, 2],
      {
        "k": 1.50
      }
    ]
  }
}
"#;
        assert_eq!(fields(line), expected);
    }

    #[test]
    fn white_space_that_was_there_makes_no_difference() {
        assert_eq!(fields(r#"{"_id":"x"}"#), "{\n  \"_id\": \"x\"\n}\n");
        let spaced = " { \"_id\" : \"x\" , \"e\" : { } , \"v\":[ 1 ,\t[ ] ] } ";
        assert_eq!(fields(spaced), fields(r#"{"_id":"x","e":{},"v":[1,[]]}"#));
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,6}".prop_map(Value::from),
            r#"["\\\[\]{}:,]{0,6}"#.prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 60, 6, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                proptest::collection::hash_map(".{0,3}", inner, 0..5)
                    .prop_map(|object| Value::Object(object.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_line_comes_back_to_the_byte(value in values()) {
            let line = serde_json::json!({"a": value}).to_string();
            for spread in [fields(&line), pretty(&line)] {
                let mut minified = Vec::new();
                push_minified(spread.as_bytes(), &mut minified);
                prop_assert_eq!(&*minified, line.as_bytes());
            }
        }
    }

    #[test]
    fn only_white_space_changes() {
        for json in [
            r#"{"a":{},"b":[],"c":[ ],"d":{"e":"{[,:]}\"","f":[1,[2,3]]},"é":"ü\\"}"#,
            "[]",
            "1.10",
            r#""text""#,
        ] {
            let spread = pretty(json);
            let (before, after): (Value, Value) =
                (serde_json::from_str(json).unwrap(), serde_json::from_str(&spread).unwrap());
            assert_eq!(before, after, "{spread}");
            assert_eq!(pretty(&spread), spread, "indenting twice changes nothing");
        }
    }

    #[test]
    fn text_that_is_not_json_neither_panics_nor_hangs() {
        for text in ["", "{", "\"", "\"\\", "}}]]", "[1,", "é{\"", "{ "] {
            let _ = pretty(text);
        }
    }
}
