//! Writes text as JSON strings. Only what RFC 8259 requires is escaped.
//!
//! Most strings of a document are two or three words long and need no escape. They are copied word
//! by word during the check.

use serde_json::Value;

use crate::scan::{DEPTH_MAX, plain_end};

/// Longer text is first checked and then copied at once.
const SHORT: usize = 64;

/// Appends `text` as a JSON string with its quotes.
#[inline(always)] // a call would cost more than the work
#[allow(clippy::inline_always)]
pub fn push_json_string(text: &str, out: &mut Vec<u8>) {
    let text = text.as_bytes();
    out.push(b'"');
    let start = out.len();
    if text.len() > SHORT || push_words(text, out) != 0 {
        out.truncate(start);
        push_long(text, out);
    }
    out.push(b'"');
}

/// Appends the text of a number, or other short text without escapes. Copies word by word, because
/// a call would cost more than the copy.
#[inline(always)]
#[allow(clippy::inline_always)]
pub fn push_json_number(text: &str, out: &mut Vec<u8>) {
    push_words(text.as_bytes(), out);
}

/// Appends text word by word, since most text is only two or three words. Returns marks for bytes
/// that must be escaped, or 0.
#[inline(always)]
#[allow(clippy::inline_always)]
fn push_words(text: &[u8], out: &mut Vec<u8>) -> u64 {
    let (words, rest) = text.as_chunks::<8>();
    let mut found = 0;
    for word in words {
        out.extend_from_slice(word);
        found |= escapes_in(*word);
    }
    if rest.is_empty() {
        return found;
    }
    let end = out.len() + rest.len();
    let last = match text.last_chunk::<8>() {
        Some(last) => {
            // Copies the last word again, shifted to the end of the text.
            out.truncate(end - 8);
            *last
        }
        None => padded(rest),
    };
    out.extend_from_slice(&last);
    out.truncate(end);
    found | escapes_in(last)
}

/// Pads less than eight bytes with spaces: two halves that may overlap.
#[inline(always)]
#[allow(clippy::inline_always)]
fn padded(text: &[u8]) -> [u8; 8] {
    let size = text.len();
    let word = match (text.first_chunk::<4>(), text.last_chunk::<4>(), text) {
        (Some(first), Some(last), _) => {
            let [first, last] = [first, last].map(|half| u64::from(u32::from_le_bytes(*half)));
            first | last << (8 * (size - 4))
        }
        (_, _, [first, .., last]) => {
            let second = u64::from(text[1]) << 8;
            u64::from(*first) | second | u64::from(*last) << (8 * (size - 1))
        }
        (_, _, [only]) => u64::from(*only),
        _ => 0,
    };
    (word | splat(b' ') << (8 * size)).to_le_bytes()
}

#[inline(never)]
fn push_long(text: &[u8], out: &mut Vec<u8>) {
    match plain_end(text, 0) {
        end if end == text.len() => out.extend_from_slice(text),
        first => push_escaped(text, first, out),
    }
}

/// Marks the bytes that must be escaped; the lowest mark is exact. XOR turns equal bytes into zero,
/// and a subtraction borrows from bytes that are too small ("Hacker's Delight", 6-1).
#[inline(always)]
#[allow(clippy::inline_always)]
fn escapes_in(word: [u8; 8]) -> u64 {
    let word = u64::from_le_bytes(word);
    let quote = word ^ splat(b'"');
    let backslash = word ^ splat(b'\\');
    let found = (word.wrapping_sub(splat(0x20)) & !word)
        | (quote.wrapping_sub(splat(1)) & !quote)
        | (backslash.wrapping_sub(splat(1)) & !backslash);
    found & splat(0x80)
}

const fn splat(byte: u8) -> u64 {
    u64::MAX / 255 * byte as u64
}

#[inline(never)]
fn push_escaped(mut text: &[u8], mut plain: usize, out: &mut Vec<u8>) {
    while let Some(byte) = text.get(plain) {
        out.extend_from_slice(&text[..plain]);
        out.extend_from_slice(escape(*byte).as_bytes());
        text = &text[plain + 1..];
        plain = plain_end(text, 0);
    }
    out.extend_from_slice(text);
}

/// Appends `text` to other text as a JSON string with its quotes.
pub fn write_json_string(text: &str, out: &mut String) {
    out.push('"');
    let mut rest = text;
    loop {
        let (plain, special) = rest.split_at(plain_end(rest.as_bytes(), 0));
        out.push_str(plain);
        let Some(byte) = special.bytes().next() else { break };
        out.push_str(escape(byte));
        rest = &special[1..];
    }
    out.push('"');
}

/// Appends a value as compact JSON, inside `depth` open objects and lists. `false` if it nests
/// deeper than [`DEPTH_MAX`]; the deeper parts become null.
pub fn push_json_value(value: &Value, depth: u32, out: &mut Vec<u8>) -> bool {
    let mut is_whole = true;
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(number) => out.extend_from_slice(number.as_str().as_bytes()),
        Value::String(text) => push_json_string(text, out),
        Value::Array(_) | Value::Object(_) if depth >= DEPTH_MAX => {
            out.extend_from_slice(b"null");
            is_whole = false;
        }
        Value::Array(items) => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                is_whole &= push_json_value(item, depth + 1, out);
            }
            out.push(b']');
        }
        Value::Object(object) => {
            out.push(b'{');
            for (index, (key, item)) in object.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                push_json_string(key, out);
                out.push(b':');
                is_whole &= push_json_value(item, depth + 1, out);
            }
            out.push(b'}');
        }
    }
    is_whole
}

/// The escape of a byte that a string cannot contain directly.
fn escape(byte: u8) -> &'static str {
    const CONTROL: [&str; 32] = [
        "\\u0000", "\\u0001", "\\u0002", "\\u0003", "\\u0004", "\\u0005", "\\u0006", "\\u0007",
        "\\b", "\\t", "\\n", "\\u000b", "\\f", "\\r", "\\u000e", "\\u000f", "\\u0010", "\\u0011",
        "\\u0012", "\\u0013", "\\u0014", "\\u0015", "\\u0016", "\\u0017", "\\u0018", "\\u0019",
        "\\u001a", "\\u001b", "\\u001c", "\\u001d", "\\u001e", "\\u001f",
    ];
    match byte {
        b'"' => "\\\"",
        b'\\' => "\\\\",
        byte => CONTROL[usize::from(byte & 31)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_and_every_byte_is_as_serde_writes_it() {
        let plain = "aé日🙂z".repeat(20);
        let mut texts: Vec<String> =
            plain.char_indices().map(|(at, _)| plain[..at].into()).collect();
        for byte in 0..128_u8 {
            for before in [0, 1, 6, 7, 8, 15, 16, 63, 64, 100] {
                texts.push(format!("{}{}b", "a".repeat(before), char::from(byte)));
            }
        }
        for text in texts {
            let mut out = b"before".to_vec();
            push_json_string(&text, &mut out);
            let expected = serde_json::to_string(&text).unwrap();
            assert_eq!(out, format!("before{expected}").into_bytes(), "{text:?}");
            let mut out = "before".to_owned();
            write_json_string(&text, &mut out);
            assert_eq!(out, format!("before{expected}"), "{text:?}");
        }
    }
}
