//! Integers that a JavaScript number cannot hold.
//!
//! `JSON.parse` rounds integers beyond 2^53 - 1. If exact ones are requested, such an integer
//! becomes a string that starts with U+0000 and `i`. A string that itself starts with U+0000 gets
//! another U+0000 and `s` prepended, so that the two differ. `../lib/exact.js` converts them back.
//! A text without `\u0000` needs no conversion.

use folio::json::for_each_scalar;
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
    let mut kept = 0; // start of the piece not yet copied
    for_each_scalar(json, |place| {
        let token = &json[place.clone()];
        let (mark, text, end): (_, _, &[u8]) = match token.strip_prefix(b"\"") {
            Some(text) if text.starts_with(NUL) => (b"s", text, b""),
            None if is_large(token) => (b"i", token, b"\""),
            _ => return,
        };
        out.extend_from_slice(&json[kept..place.start]);
        for piece in [b"\"", NUL, mark, text, end] {
            out.extend_from_slice(piece);
        }
        kept = place.end;
    });
    out.extend_from_slice(&json[kept..]);
}

fn is_large(number: &[u8]) -> bool {
    let digits = number.strip_prefix(b"-").unwrap_or(number);
    if digits.len() < 16 || !digits.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let value = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse::<u64>().ok());
    value.is_none_or(|value| value > SAFE_MAX)
}
