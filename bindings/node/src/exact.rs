//! Integers that a JavaScript number cannot hold.
//!
//! `JSON.parse` rounds integers beyond 2^53 - 1. If exact ones are requested, such an integer
//! becomes a string that starts with U+0000 and `i`. A string that itself starts with U+0000 gets
//! another U+0000 and `s` prepended, so that the two differ. `../lib/exact.js` converts them back.
//! A text without `\u0000` needs no conversion.

use napi_derive::napi;

use crate::text::Text;

/// The largest integer up to which JavaScript numbers have no gaps.
pub(crate) const SAFE_MAX: u64 = (1 << 53) - 1;

const NUL: &[u8] = b"\\u0000";

/// A document's text with its large integers marked.
#[napi]
pub fn mark_integers(json: String) -> Text {
    let mut marked = Vec::with_capacity(json.len() + 16);
    push_marked(json.as_bytes(), &mut marked);
    Text(marked)
}

/// Appends a valid JSON text with its large integers marked.
pub(crate) fn push_marked(json: &[u8], out: &mut Vec<u8>) {
    let mut at = 0;
    let mut kept = 0; // start of the piece not yet copied
    while let Some(&byte) = json.get(at) {
        let end = match byte {
            b'"' => string_end(json, at),
            b'-' | b'0'..=b'9' => number_end(json, at),
            _ => {
                at += 1;
                continue;
            }
        };
        let token = &json[at..end];
        let mark = match byte {
            b'"' if token[1..].starts_with(NUL) && !is_key(json, end) => Some(("s", &token[1..])),
            b'"' => None,
            _ if is_large(token) => Some(("i", token)),
            _ => None,
        };
        if let Some((mark, rest)) = mark {
            out.extend_from_slice(&json[kept..at]);
            out.push(b'"');
            out.extend_from_slice(NUL);
            out.extend_from_slice(mark.as_bytes());
            out.extend_from_slice(rest);
            if byte != b'"' {
                out.push(b'"');
            }
            kept = end;
        }
        at = end;
    }
    out.extend_from_slice(&json[kept..]);
}

/// The position after the closing quote of the string that starts at `at`.
fn string_end(json: &[u8], at: usize) -> usize {
    let mut end = at + 1;
    while let Some(&byte) = json.get(end) {
        match byte {
            b'"' => return end + 1,
            b'\\' => end += 2,
            _ => end += 1,
        }
    }
    json.len()
}

fn number_end(json: &[u8], at: usize) -> usize {
    let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
    at + json[at..].iter().take_while(|byte| is_part(byte)).count()
}

fn is_key(json: &[u8], end: usize) -> bool {
    json[end..].iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':')
}

fn is_large(number: &[u8]) -> bool {
    let digits = number.strip_prefix(b"-").unwrap_or(number);
    if digits.len() < 16 || !digits.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let value = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse::<u64>().ok());
    value.is_none_or(|value| value > SAFE_MAX)
}
