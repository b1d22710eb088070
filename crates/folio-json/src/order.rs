//! Keys of JSON values: bytes that are equal for equal values, and sort like PostgreSQL's `jsonb`:
//! null, texts, numbers, booleans, arrays, objects. Arrays and objects order by length, then element
//! by element. No key is the beginning of another.
//!
//! ```text
//! null      1
//! text      2, the bytes with 0 as 0 255, 0 0
//! number    3, the nearest double in 8 bytes, 128 if its shortest decimal is the number; otherwise
//!           64 or 192 for a number below or above that, then sign, exponent and digits
//! boolean   4, 0 or 1
//! array     5, count, elements
//! object    6, count, names and values by name
//! ```
//!
//! Numbers with one nearest double share their first 9 bytes, so a range of keys finds all values
//! that are equal as doubles.

use folio_types::key::{KeyColumn, decode, encode};
use folio_types::{ColumnType, ValueRef};
use serde_json::Value as Json;

use crate::number::double;
use crate::scan::Scanner;
use crate::unquote;

const NULL: u8 = 1;
const TEXT: u8 = 2;
const NUMBER: u8 = 3;
const BOOLEAN: u8 = 4;
const ARRAY: u8 = 5;
const OBJECT: u8 = 6;
const INVALID: u8 = 7;

/// After the double: how the number compares with the shortest decimal of the double.
const BELOW: u8 = 0x40;
const SAME: u8 = 0x80;
const ABOVE: u8 = 0xC0;

/// How the double of a number is written.
const DOUBLE: KeyColumn = KeyColumn {
    column_type: ColumnType::Float64,
    nullable: false,
    descending: false,
    compact: false,
};

/// A decimal of this many digits is the shortest one of its nearest double.
const SHORT_DIGITS: usize = 15;

/// Integers below this have no more digits.
const SHORT_INTEGER: u64 = 10_u64.pow(SHORT_DIGITS as u32);

/// The key of a JSON text. Invalid or too deeply nested text is its own key.
#[must_use]
pub fn order_key(json: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len() + 12);
    push_order_key(json, &mut out);
    out
}

/// Appends the key of a JSON text.
pub fn push_order_key(json: &str, out: &mut Vec<u8>) {
    let start = out.len();
    let is_scalar = match json.as_bytes().first() {
        Some(b'"') => unquote(json).map(|text| push_text_key(&text, out)).is_some(),
        Some(b'0'..=b'9' | b'-') if is_number(json) => {
            push_number_key(json, out);
            true
        }
        _ => false,
    };
    if is_scalar {
        return;
    }
    match serde_json::from_str(json) {
        Ok(json) => push(&json, out),
        Err(_) => {
            out.truncate(start);
            out.push(INVALID);
            push_text(json, out);
        }
    }
}

/// Appends the key of a text.
pub fn push_text_key(text: &str, out: &mut Vec<u8>) {
    out.push(TEXT);
    push_text(text, out);
}

/// Appends the key of a boolean.
pub fn push_boolean_key(truth: bool, out: &mut Vec<u8>) {
    out.extend([BOOLEAN, u8::from(truth)]);
}

/// Appends the key of a number by its JSON text.
pub fn push_number_key(text: &str, out: &mut Vec<u8>) {
    let value = nearest(text);
    push_double_key(value, out);
    let digit_count = text.bytes().filter(u8::is_ascii_digit).count();
    if digit_count <= SHORT_DIGITS && !text.contains(['e', 'E']) {
        out.push(SAME);
        return;
    }
    let exact = digits_of(text);
    let side = match value.is_finite() {
        true => match exact.cmp(&digits_of(&format!("{value:e}"))) {
            std::cmp::Ordering::Less => BELOW,
            std::cmp::Ordering::Equal => SAME,
            std::cmp::Ordering::Greater => ABOVE,
        },
        false if value < 0.0 => BELOW,
        false => ABOVE,
    };
    out.push(side);
    if side != SAME {
        out.extend(exact);
    }
}

/// Appends the key of a number that is an integer.
pub fn push_integer_key(value: i64, out: &mut Vec<u8>) {
    if value.unsigned_abs() >= SHORT_INTEGER {
        return push_number_key(&value.to_string(), out);
    }
    push_double_key(value as f64, out);
    out.push(SAME);
}

/// Appends what the keys of all numbers with this nearest double begin with.
pub fn push_double_key(value: f64, out: &mut Vec<u8>) {
    out.push(NUMBER);
    encode(&DOUBLE, ValueRef::Float(value), out);
}

/// A value read from its key.
#[derive(Debug, Clone, PartialEq)]
pub enum KeyScalar {
    /// A text.
    Text(String),
    /// A number whose key is that of its nearest double alone: this double's shortest decimal.
    Number(f64),
    /// A boolean.
    Boolean(bool),
}

/// Takes the key of a text, a number or a boolean from the front; `None` for the keys of other values,
/// and of numbers that no double is equal to.
#[must_use]
pub fn take_scalar(key: &mut &[u8]) -> Option<KeyScalar> {
    let (kind, mut rest) = key.split_first()?;
    let scalar = match *kind {
        TEXT => KeyScalar::Text(take_text(&mut rest)?),
        NUMBER => {
            let value = decode(&DOUBLE, &mut rest)?;
            let (SAME, after) = rest.split_first().map(|(side, after)| (*side, after))? else {
                return None;
            };
            rest = after;
            let folio_types::Value::Float(value) = value else { return None };
            KeyScalar::Number(value)
        }
        BOOLEAN => {
            let (truth, after) = rest.split_first()?;
            rest = after;
            KeyScalar::Boolean(*truth == 1)
        }
        _ => return None,
    };
    *key = rest;
    Some(scalar)
}

fn take_text(key: &mut &[u8]) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let end = key.iter().position(|byte| *byte == 0)?;
        bytes.extend_from_slice(&key[..end]);
        let after = *key.get(end + 1)?;
        *key = &key[end + 2..];
        match after {
            0 => return String::from_utf8(bytes).ok(),
            _ => bytes.push(0),
        }
    }
}

fn nearest(text: &str) -> f64 {
    let value = double(text.as_bytes()).or_else(|| text.parse().ok()).unwrap_or(0.0);
    value + 0.0
}

fn is_number(text: &str) -> bool {
    let mut scanner = Scanner::new(text.as_bytes());
    scanner.value(1).is_ok() && scanner.at == text.len()
}

fn push(json: &Json, out: &mut Vec<u8>) {
    match json {
        Json::Null => out.push(NULL),
        Json::String(text) => push_text_key(text, out),
        Json::Number(number) => push_number_key(&number.to_string(), out),
        Json::Bool(truth) => push_boolean_key(*truth, out),
        Json::Array(items) => {
            out.push(ARRAY);
            push_count(items.len(), out);
            items.iter().for_each(|item| push(item, out));
        }
        Json::Object(members) => {
            out.push(OBJECT);
            push_count(members.len(), out);
            let mut members: Vec<(&String, &Json)> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            for (name, value) in members {
                push_text(name, out);
                push(value, out);
            }
        }
    }
}

fn push_count(count: usize, out: &mut Vec<u8>) {
    out.extend(u32::try_from(count).unwrap_or(u32::MAX).to_be_bytes());
}

fn push_text(text: &str, out: &mut Vec<u8>) {
    out.reserve(text.len() + 2);
    let mut pieces = text.split('\0');
    out.extend_from_slice(pieces.next().unwrap_or_default().as_bytes());
    for piece in pieces {
        out.extend([0, 255]);
        out.extend_from_slice(piece.as_bytes());
    }
    out.extend([0, 0]);
}

/// The number `0.d₁d₂… · 10ᵏ` as sign, k and digits.
fn digits_of(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 10);
    let (is_negative, text) = match text.strip_prefix('-') {
        Some(text) => (true, text),
        None => (false, text),
    };
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).map(|digit| digit - b'0').collect();
    let Some(first) = digits.iter().position(|digit| *digit != 0) else {
        out.push(0x80);
        return out;
    };
    let last = digits.iter().rposition(|digit| *digit != 0).unwrap_or(first);
    let limit = if exponent.starts_with('-') { i64::MIN } else { i64::MAX };
    let exponent: i64 = exponent.trim_start_matches('+').parse().unwrap_or(limit);
    let shift = i64::try_from(whole.len()).unwrap_or(i64::MAX) - first as i64;
    // Orders negative exponents first.
    let exponent = exponent.saturating_add(shift) ^ i64::MIN;
    let turned = if is_negative { 0xFF } else { 0 };
    out.push(if is_negative { 0x40 } else { 0xC0 });
    out.extend(exponent.to_be_bytes().map(|byte| byte ^ turned));
    out.extend(digits[first..=last].iter().map(|digit| (digit + 1) ^ turned));
    out.push(turned);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_are_equal_have_one_key() {
        for (one, other) in [
            (r#"{"a":1,"b":[2]}"#, r#" { "b" : [2.0], "a" : 1e0 } "#),
            ("1", "1.00"),
            ("100", "1e2"),
            ("-0.0", "0"),
            ("0.001", "1e-3"),
            (r#""a""#, r#""\u0061""#),
            (r#"{"a":1,"a":2}"#, r#"{"a":2}"#),
            ("9007199254740993", "9007199254740993.0"),
            ("0.1000000000000000055511151231257827", "1000000000000000055511151231257827e-34"),
            ("1e400", "10e399"),
            ("0.1", "0.10000000000000000000"),
        ] {
            assert_eq!(order_key(one), order_key(other), "{one} {other}");
        }
    }

    #[test]
    fn an_integer_has_the_key_of_its_digits() {
        let edge = SHORT_INTEGER as i64;
        for value in [0, 7, -12, edge - 1, edge, 1 - edge, -edge, (1 << 53) + 1, i64::MIN, i64::MAX]
        {
            let mut key = Vec::new();
            push_integer_key(value, &mut key);
            assert_eq!(key, order_key(&value.to_string()), "{value}");
        }
    }

    #[test]
    fn keys_come_in_the_order_of_values() {
        let values = [
            "null",
            r#""""#,
            r#""\u0000""#,
            r#""a""#,
            r#""ab""#,
            r#""b""#,
            "-1e400",
            "-100",
            "-12.5",
            "-12",
            "-0.5",
            "-1e-400",
            "0",
            "1e-400",
            "0.05",
            "0.1",
            "0.10000000000000000001",
            "0.5",
            "0.99999999999999999999",
            "1",
            "1.00000000000000000001",
            "1.5",
            "9",
            "10",
            "100",
            "9007199254740991",
            "9007199254740992",
            "9007199254740993",
            "9007199254740994",
            "1e400",
            "2e400",
            "false",
            "true",
            "[]",
            "[9]",
            "[1,2]",
            "{}",
            r#"{"a":1}"#,
            r#"{"a":2}"#,
            r#"{"b":1}"#,
            r#"{"a":1,"b":2}"#,
        ];
        for pair in values.windows(2) {
            let (one, other) = (order_key(pair[0]), order_key(pair[1]));
            assert!(one < other && !other.starts_with(&one), "{pair:?}");
        }
    }

    #[test]
    fn scalars_are_read_from_their_keys() {
        let text = |text: &str| Some(KeyScalar::Text(text.to_owned()));
        for (json, expected) in [
            (r#""""#, text("")),
            (r#""a\u0000b\u0000""#, text("a\0b\0")),
            (r#""\u00ff""#, text("\u{ff}")),
            ("-12.5", Some(KeyScalar::Number(-12.5))),
            ("1e2", Some(KeyScalar::Number(100.0))),
            ("9007199254740993", None),
            ("1e400", None),
            ("true", Some(KeyScalar::Boolean(true))),
            ("null", None),
            ("[1]", None),
        ] {
            let mut key = order_key(json);
            key.push(7);
            let mut rest = &key[..];
            assert_eq!(take_scalar(&mut rest), expected, "{json}");
            assert!(expected.is_none() || rest == [7], "{json}");
            for size in 0..key.len() - 1 {
                assert_eq!(take_scalar(&mut &key[..size]), None, "{size} bytes of {json}");
            }
        }
    }

    #[test]
    fn numbers_of_one_double_share_a_prefix() {
        let mut prefix = Vec::new();
        push_double_key(0.1, &mut prefix);
        for text in ["0.1", "1e-1", "0.10000000000000000001", "0.09999999999999999999"] {
            assert!(order_key(text).starts_with(&prefix), "{text}");
        }
        assert!(!order_key("0.11").starts_with(&prefix));
    }

    #[test]
    fn other_text_is_its_own_key() {
        for text in ["", "-", "1-2", "01", "+1", "1.", ".5", "nul", "\"a", "[1", "1e5e"] {
            assert_eq!(order_key(text)[0], INVALID, "{text}");
        }
    }
}
