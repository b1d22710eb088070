//! How a document looks in its own file: one field per line, indented by two
//! spaces, so that version control shows and merges fields.
//!
//! ```json
//! {
//!   "_id": "u1",
//!   "name": "Ann",
//!   "tags": ["a", "b"],
//!   "address": {
//!     "city": "Rome"
//!   }
//! }
//! ```
//!
//! An array without objects and arrays in it stays on one line: a vector of 1,536
//! numbers is one change, not 1,536. Only white space between tokens changes, so a
//! line without any comes back to the byte when it is taken out again.

/// Appends a line, which must be one valid JSON object, in the form above, with a
/// line feed at the end.
pub(crate) fn write_pretty(line: &[u8], out: &mut Vec<u8>) {
    // One entry for every container that is open: whether it is spread over lines.
    let mut spread: Vec<bool> = Vec::new();
    let mut at = 0;
    while at < line.len() {
        let byte = line[at];
        at += 1;
        match byte {
            b'"' => {
                let end = at + string_size(&line[at..]);
                out.extend_from_slice(&line[at - 1..end]);
                at = end;
            }
            b' ' | b'\t' | b'\r' | b'\n' => {}
            b'{' | b'[' => {
                out.push(byte);
                let next = line[at..].iter().find(|next| !next.is_ascii_whitespace());
                let is_empty = matches!(next, Some(b'}' | b']'));
                spread.push(!is_empty && (byte == b'{' || holds_containers(&line[at..])));
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
    out.push(b'\n');
}

/// The line of a string up to and with its closing quote.
fn string_size(rest: &[u8]) -> usize {
    let mut at = 0;
    while let Some(found) = memchr::memchr2(b'"', b'\\', &rest[at..]) {
        if rest[at + found] == b'"' {
            return at + found + 1;
        }
        at = (at + found + 2).min(rest.len());
    }
    rest.len()
}

/// Whether an array, whose opening bracket is just behind us, holds anything but
/// scalars. Looks no further than the first container in it, so that nested arrays
/// are not looked at again and again.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line;
    use proptest::prelude::*;
    use serde_json::Value;

    fn pretty(line: &str) -> String {
        let mut out = Vec::new();
        write_pretty(line.as_bytes(), &mut out);
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
        assert_eq!(pretty(line), expected);
    }

    #[test]
    fn white_space_that_was_there_makes_no_difference() {
        assert_eq!(pretty(r#"{"_id":"x"}"#), "{\n  \"_id\": \"x\"\n}\n");
        let spaced = " { \"_id\" : \"x\" , \"e\" : { } , \"v\":[ 1 ,\t[ ] ] } ";
        assert_eq!(pretty(spaced), pretty(r#"{"_id":"x","e":{},"v":[1,[]]}"#));
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
            let text = serde_json::json!({"a": value}).to_string();
            let (_, line) = line::normalize(Some("x"), &text).unwrap();
            let pretty = pretty(std::str::from_utf8(&line).unwrap());
            prop_assert_eq!(line::normalize(Some("x"), &pretty).unwrap().1, line);
        }
    }
}
