//! The strings and numbers of valid JSON text.

use std::ops::Range;

use crate::pretty::string_size;

/// Calls `scalar` with the place of each number, and of each string that is not a key, quotes
/// included.
///
/// ```
/// let json = r#"{"a": [1.10, "x", null], "b": "\"y\""}"#;
/// let mut found = Vec::new();
/// folio_json::for_each_scalar(json.as_bytes(), |place| found.push(&json[place]));
/// assert_eq!(found, ["1.10", r#""x""#, r#""\"y\"""#]);
/// ```
pub fn for_each_scalar(json: &[u8], mut scalar: impl FnMut(Range<usize>)) {
    let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
    let mut at = 0;
    while let Some(byte) = json.get(at) {
        let start = at;
        at += 1;
        match byte {
            b'"' => {
                at += string_size(&json[at..]);
                let next = json[at..].iter().find(|byte| !byte.is_ascii_whitespace());
                if next != Some(&b':') {
                    scalar(start..at);
                }
            }
            b'-' | b'0'..=b'9' => {
                at += json[at..].iter().take_while(|byte| is_part(byte)).count();
                scalar(start..at);
            }
            _ => {}
        }
    }
}
