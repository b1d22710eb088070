//! Encodes keys as bytes that sort like their values.
//!
//! A B+tree compares keys with `memcmp`, without their types. Each column of a key becomes a
//! segment; the segments follow each other:
//!
//! | type | segment |
//! |---|---|
//! | integers, date, time, timestamp | big endian in the column's width, sign bit inverted |
//! | `real`, `double precision` | IEEE bits: all inverted when negative, else the sign bit only; −0 is 0, every NaN is one and the greatest |
//! | `numeric` | the 16 bytes of its digits, as an integer |
//! | `boolean` | one byte |
//! | `uuid` | its 16 bytes |
//! | text, bytes | each 0 followed by 255, then 0, 0 |
//!
//! A nullable column is preceded by one byte: 1 for a value, 2 for null, so null sorts last. A
//! descending column has all its bytes inverted. A compact column stores integers in as many bytes
//! as they need ([`compact`]).

pub mod compact;

use crate::{ColumnType, Value, ValueRef};

const PRESENT: u8 = 1;
const ABSENT: u8 = 2;

/// One column of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyColumn {
    /// The type; [`ColumnType::is_ordered`] holds.
    pub column_type: ColumnType,
    /// Whether null is allowed.
    pub nullable: bool,
    /// Whether greater values come first.
    pub descending: bool,
    /// Whether integers take only as many bytes as they need, instead of the width of their type.
    pub compact: bool,
}

/// Appends the segment of one value. The caller has checked that the column accepts it; null in a
/// column that is not nullable is also the caller's error.
///
/// # Panics
/// If the value does not fit the column.
#[inline]
pub fn encode(column: &KeyColumn, value: ValueRef<'_>, out: &mut Vec<u8>) {
    let is_bare = !column.nullable && !column.descending;
    match (&column.column_type, value) {
        // The most frequent keys in large numbers.
        (ColumnType::Uuid, ValueRef::Uuid(value)) if is_bare => out.extend_from_slice(&value),
        _ => encode_any(column, value, out),
    }
}

fn encode_any(column: &KeyColumn, value: ValueRef<'_>, out: &mut Vec<u8>) {
    let start = out.len();
    if column.nullable {
        out.push(if value.is_null() { ABSENT } else { PRESENT });
    }
    match value {
        ValueRef::Integer(value) if column.compact => compact::encode(value, out),
        value => encode_present(&column.column_type, value, out),
    }
    if column.descending {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

#[allow(clippy::cast_possible_truncation, reason = "accepts() has checked the range")]
fn encode_present(column_type: &ColumnType, value: ValueRef<'_>, out: &mut Vec<u8>) {
    match (column_type, value) {
        (_, ValueRef::Null) => {}
        (ColumnType::Int64, ValueRef::Integer(value))
        | (ColumnType::Time, ValueRef::Time(value))
        | (ColumnType::Timestamp { .. }, ValueRef::Timestamp(value)) => {
            out.extend_from_slice(&(value ^ i64::MIN).to_be_bytes());
        }
        (ColumnType::Int32, ValueRef::Integer(value)) => {
            out.extend_from_slice(&(value as i32 ^ i32::MIN).to_be_bytes());
        }
        (ColumnType::Date, ValueRef::Date(value)) => {
            out.extend_from_slice(&(value ^ i32::MIN).to_be_bytes());
        }
        (ColumnType::Int16, ValueRef::Integer(value)) => {
            out.extend_from_slice(&(value as i16 ^ i16::MIN).to_be_bytes());
        }
        (ColumnType::Decimal { .. }, ValueRef::Decimal(value)) => {
            out.extend_from_slice(&(value ^ i128::MIN).to_be_bytes());
        }
        (ColumnType::Float64, ValueRef::Float(value)) => {
            out.extend_from_slice(&float_bits(value).to_be_bytes());
        }
        (ColumnType::Float32, ValueRef::Float(value)) => {
            out.extend_from_slice(&single_bits(value as f32).to_be_bytes());
        }
        (ColumnType::Boolean, ValueRef::Boolean(value)) => out.push(u8::from(value)),
        (ColumnType::Uuid, ValueRef::Uuid(value)) => out.extend_from_slice(&value),
        (ColumnType::Text, ValueRef::Text(value)) => encode_bytes(value.as_bytes(), out),
        (ColumnType::Binary, ValueRef::Bytes(value)) => encode_bytes(value, out),
        (column_type, value) => {
            panic!("{} in a key column of type {column_type:?} was not checked", value.kind())
        }
    }
}

fn float_bits(value: f64) -> u64 {
    let value = if value.is_nan() { f64::NAN } else { value + 0.0 };
    let bits = value.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

fn single_bits(value: f32) -> u32 {
    let value = if value.is_nan() { f32::NAN } else { value + 0.0 };
    let bits = value.to_bits();
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

fn encode_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    let mut parts = bytes.split(|&byte| byte == 0);
    out.extend_from_slice(parts.next().unwrap_or_default());
    for part in parts {
        out.extend_from_slice(&[0, 255]);
        out.extend_from_slice(part);
    }
    out.extend_from_slice(&[0, 0]);
}

/// Reads one segment from the front of `bytes`; `None` if there is no valid one.
pub fn decode(column: &KeyColumn, bytes: &mut &[u8]) -> Option<Value> {
    if !column.descending {
        return decode_ascending(column, bytes);
    }
    // Inverts more than needed, but descending keys are rare.
    let inverted: Vec<u8> = bytes.iter().map(|byte| !byte).collect();
    let mut rest = &inverted[..];
    let value = decode_ascending(column, &mut rest)?;
    *bytes = &bytes[inverted.len() - rest.len()..];
    Some(value)
}

/// The size of the segment at the front of `bytes`, without reading its value; `None` if the bytes
/// end before it.
pub fn segment_size(column: &KeyColumn, bytes: &[u8]) -> Option<usize> {
    let inverted = if column.descending { u8::MAX } else { 0 };
    let mark = usize::from(column.nullable);
    if column.nullable && bytes.first()? ^ inverted == ABSENT {
        return Some(1);
    }
    let value = bytes.get(mark..)?;
    let size = match column.column_type {
        ColumnType::Int16 | ColumnType::Int32 | ColumnType::Int64 if column.compact => {
            compact::size(value.first()? ^ inverted)
        }
        ColumnType::Int64
        | ColumnType::Time
        | ColumnType::Timestamp { .. }
        | ColumnType::Float64 => 8,
        ColumnType::Int32 | ColumnType::Date | ColumnType::Float32 => 4,
        ColumnType::Int16 => 2,
        ColumnType::Decimal { .. } | ColumnType::Uuid => 16,
        ColumnType::Boolean => 1,
        ColumnType::Text | ColumnType::Binary => end_of_bytes(value, inverted)?,
        _ => return None,
    };
    (size <= value.len()).then_some(mark + size)
}

/// The end of text or bytes: after the first zero that is followed by a zero. A zero followed by 255
/// is part of the value.
fn end_of_bytes(bytes: &[u8], inverted: u8) -> Option<usize> {
    let mut at = 0;
    loop {
        let zero = at + bytes[at..].iter().position(|byte| byte ^ inverted == 0)?;
        at = zero + 2;
        if bytes.get(zero + 1)? ^ inverted == 0 {
            return Some(at);
        }
    }
}

fn decode_ascending(column: &KeyColumn, bytes: &mut &[u8]) -> Option<Value> {
    if column.nullable {
        match take::<1>(bytes)? {
            [ABSENT] => return Some(Value::Null),
            [PRESENT] => {}
            _ => return None,
        }
    }
    let column_type = &column.column_type;
    if column.compact
        && matches!(column_type, ColumnType::Int16 | ColumnType::Int32 | ColumnType::Int64)
    {
        let value = Value::Integer(compact::decode(bytes)?);
        return column_type.accepts(value.as_ref()).then_some(value);
    }
    Some(match column_type {
        ColumnType::Int64 => Value::Integer(take_i64(bytes)?),
        ColumnType::Time => Value::Time(take_i64(bytes)?),
        ColumnType::Timestamp { .. } => Value::Timestamp(take_i64(bytes)?),
        ColumnType::Int32 => Value::Integer(i64::from(take_i32(bytes)?)),
        ColumnType::Date => Value::Date(take_i32(bytes)?),
        ColumnType::Int16 => Value::Integer(i64::from(i16::from_be_bytes(take(bytes)?) ^ i16::MIN)),
        ColumnType::Decimal { .. } => Value::Decimal(i128::from_be_bytes(take(bytes)?) ^ i128::MIN),
        ColumnType::Float64 => {
            let bits = u64::from_be_bytes(take(bytes)?);
            Value::Float(f64::from_bits(if bits >> 63 == 1 { bits & !(1 << 63) } else { !bits }))
        }
        ColumnType::Float32 => {
            let bits = u32::from_be_bytes(take(bytes)?);
            let bits = if bits >> 31 == 1 { bits & !(1 << 31) } else { !bits };
            Value::Float(f64::from(f32::from_bits(bits)))
        }
        ColumnType::Boolean => match take::<1>(bytes)? {
            [0] => Value::Boolean(false),
            [1] => Value::Boolean(true),
            _ => return None,
        },
        ColumnType::Uuid => Value::Uuid(take(bytes)?),
        ColumnType::Text => Value::Text(String::from_utf8(take_bytes(bytes)?).ok()?),
        ColumnType::Binary => Value::Bytes(take_bytes(bytes)?),
        _ => return None,
    })
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*first)
}

fn take_i64(bytes: &mut &[u8]) -> Option<i64> {
    Some(i64::from_be_bytes(take(bytes)?) ^ i64::MIN)
}

fn take_i32(bytes: &mut &[u8]) -> Option<i32> {
    Some(i32::from_be_bytes(take(bytes)?) ^ i32::MIN)
}

fn take_bytes(bytes: &mut &[u8]) -> Option<Vec<u8>> {
    let mut value = Vec::new();
    loop {
        let end = bytes.iter().position(|&byte| byte == 0)?;
        value.extend_from_slice(&bytes[..end]);
        let mark = *bytes.get(end + 1)?;
        *bytes = &bytes[end + 2..];
        match mark {
            0 => return Some(value),
            255 => value.push(0),
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(column_type: ColumnType, nullable: bool, descending: bool) -> KeyColumn {
        KeyColumn { column_type, nullable, descending, compact: false }
    }

    /// Values in ascending order. Their encodings must ascend, or descend if inverted, and decode
    /// to the same values, whatever follows them.
    fn check(column_type: &ColumnType, ascending: &[Value]) {
        for form in 0..8 {
            let (nullable, descending) = (form & 1 > 0, form & 2 > 0);
            let column = key(column_type.clone(), nullable, descending);
            let column = KeyColumn { compact: form & 4 > 0, ..column };
            let mut previous: Option<Vec<u8>> = None;
            let null = nullable.then_some(Value::Null);
            for value in ascending.iter().chain(&null) {
                let mut bytes = Vec::new();
                encode(&column, value.as_ref(), &mut bytes);
                if let Some(previous) = &previous {
                    assert_eq!(previous < &bytes, !descending, "{column:?} {value:?}");
                    assert!(!bytes.starts_with(previous), "no segment is a prefix of another");
                }
                previous = Some(bytes.clone());
                bytes.extend_from_slice(b"rest");
                let mut rest = &bytes[..];
                assert_eq!(decode(&column, &mut rest).as_ref(), Some(value), "{column:?}");
                assert_eq!(rest, b"rest");
                let size = bytes.len() - rest.len();
                assert_eq!(segment_size(&column, &bytes), Some(size), "{column:?} {value:?}");
                for size in 0..size {
                    assert_eq!(segment_size(&column, &bytes[..size]), None, "{column:?}");
                }
                for size in 0..bytes.len() - 4 {
                    let _ = decode(&column, &mut &bytes[..size]);
                }
            }
        }
    }

    #[test]
    fn encodings_sort_as_values() {
        let integers =
            |values: &[i64]| values.iter().map(|&v| Value::Integer(v)).collect::<Vec<_>>();
        check(&ColumnType::Int64, &integers(&[i64::MIN, -300, -1, 0, 1, 255, 256, i64::MAX]));
        check(&ColumnType::Int32, &integers(&[i32::MIN.into(), -1, 0, 1, i32::MAX.into()]));
        check(&ColumnType::Int16, &integers(&[i16::MIN.into(), -1, 0, 1, i16::MAX.into()]));
        let near = |power: u32| {
            let power = 1i64.checked_shl(power).unwrap_or(i64::MAX);
            [power - 1, power, power.saturating_add(1)].into_iter()
        };
        let powers = (8..63).step_by(4).flat_map(near);
        let mut sizes: Vec<i64> = [0, 1, 110, 111, 112, 113].into_iter().chain(powers).collect();
        sizes.push(i64::MAX);
        sizes.extend(sizes.clone().iter().map(|value| !value));
        sizes.sort_unstable();
        check(&ColumnType::Int64, &integers(&sizes));
        let floats = [f64::NEG_INFINITY, -1.5, -1e-300, 0.0, 1e-300, 1.5, f64::INFINITY];
        check(&ColumnType::Float64, &floats.map(Value::Float));
        let singles = [f32::NEG_INFINITY, -1.5, 0.0, 1.5, f32::INFINITY];
        check(&ColumnType::Float32, &singles.map(|value| Value::Float(f64::from(value))));
        let texts = ["", "\0", "\0\0", "\0a", "a", "a\0", "a\0b", "aa", "b", "ä"];
        check(&ColumnType::Text, &texts.map(Value::from));
        let decimal = ColumnType::Decimal { precision: 38, scale: 9 };
        check(&decimal, &[i128::MIN, -1, 0, 1, i128::MAX].map(Value::Decimal));
        check(&ColumnType::Boolean, &[false, true].map(Value::Boolean));
        check(&ColumnType::Date, &[i32::MIN, -1, 0, 20_000].map(Value::Date));
        check(&ColumnType::Binary, &[vec![], vec![0], vec![0, 255], vec![255]].map(Value::Bytes));
    }

    #[test]
    fn compact_integers_have_one_form() {
        for bytes in [&[240, 5][..], &[241, 0, 200], &[15, 250], &[247, 128, 0, 0, 0, 0, 0, 0, 0]] {
            assert_eq!(compact::decode(&mut &*bytes), None, "{bytes:?}");
        }
        for first in 0..=255 {
            let bytes = [[first; 1], [7; 1]].concat();
            if let Some(value) = compact::decode(&mut &bytes[..]) {
                let mut again = Vec::new();
                compact::encode(value, &mut again);
                assert!(bytes.starts_with(&again), "{bytes:?}");
            }
        }
    }

    #[test]
    fn equal_floats_have_one_key() {
        let column = key(ColumnType::Float64, false, false);
        let encoded = |value| {
            let mut bytes = Vec::new();
            encode(&column, ValueRef::Float(value), &mut bytes);
            bytes
        };
        assert_eq!(encoded(0.0), encoded(-0.0));
        assert_eq!(encoded(f64::NAN), encoded(-f64::NAN));
        assert!(encoded(f64::NAN) > encoded(f64::INFINITY));
    }
}
