//! Byte keys for JSON: equal for equal values, and ordered like PostgreSQL's `jsonb`: null,
//! texts, numbers, booleans, arrays, objects. Arrays and objects order by length, then element
//! by element.
//!
//! ```text
//! null      1
//! text      2, the bytes with 0 as 0 255, 0 0
//! number    3, sign, exponent and digits, turned around below zero
//! boolean   4, 0 or 1
//! array     5, count, elements
//! object    6, count, names and values by name
//! ```

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BinaryArray};
use serde_json::Value as Json;

/// The keys of a JSON column.
pub(crate) fn order_keys(column: &ArrayRef) -> ArrayRef {
    let texts = column.as_string::<i32>().iter();
    Arc::new(texts.map(|text| text.map(order_key)).collect::<BinaryArray>())
}

/// The key of a JSON text. Invalid or too deeply nested text is its own key.
pub(crate) fn order_key(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 8);
    match serde_json::from_str(text) {
        Ok(json) => push(&json, &mut out),
        Err(_) => {
            out.push(7);
            out.extend_from_slice(text.as_bytes());
        }
    }
    out
}

fn push(json: &Json, out: &mut Vec<u8>) {
    match json {
        Json::Null => out.push(1),
        Json::String(text) => {
            out.push(2);
            push_text(text, out);
        }
        Json::Number(number) => {
            out.push(3);
            push_number(&number.to_string(), out);
        }
        Json::Bool(truth) => out.extend([4, u8::from(*truth)]),
        Json::Array(items) => {
            out.push(5);
            push_count(items.len(), out);
            items.iter().for_each(|item| push(item, out));
        }
        Json::Object(members) => {
            out.push(6);
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
    for byte in text.bytes() {
        out.push(byte);
        if byte == 0 {
            out.push(255);
        }
    }
    out.extend([0, 0]);
}

/// Appends `0.d₁d₂… · 10ᵏ` as sign, k and digits.
fn push_number(text: &str, out: &mut Vec<u8>) {
    let (is_negative, text) = match text.strip_prefix('-') {
        Some(text) => (true, text),
        None => (false, text),
    };
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).map(|digit| digit - b'0').collect();
    let Some(first) = digits.iter().position(|digit| *digit != 0) else {
        out.push(0x80);
        return;
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
}

#[cfg(test)]
mod tests {
    use super::order_key;

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
        ] {
            assert_eq!(order_key(one), order_key(other), "{one} {other}");
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
            "0",
            "1e-400",
            "0.05",
            "0.5",
            "1",
            "1.5",
            "9",
            "10",
            "100",
            "1e400",
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
            assert!(order_key(pair[0]) < order_key(pair[1]), "{pair:?}");
        }
    }
}
