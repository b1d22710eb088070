//! Plain numbers and timestamps of text, read without a tree.
//!
//! Each reader takes the bytes from a value's start and returns the value with its length, or
//! nothing when anything unusual comes up; the caller then takes the general way.

use crate::text::after_value;
use crate::value::{IonType, days_from_civil};

/// The powers of ten that floats hold exactly.
const EXACT: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// Up to eighteen digits from the start of `bytes`, added to `value`; how many there were.
#[inline(always)]
fn digits(bytes: &[u8], value: &mut u64) -> usize {
    let mut length = 0;
    while let Some(digit) = bytes.get(length).map(|byte| byte.wrapping_sub(b'0'))
        && digit < 10
        && length < 19
    {
        *value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        length += 1;
    }
    length
}

#[inline(always)]
fn ends(bytes: &[u8], at: usize) -> bool {
    bytes.get(at).is_some_and(|byte| after_value(*byte) && *byte != b'/')
}

/// A null, plain or of a named type, and its length.
#[inline(always)]
pub(super) fn null(bytes: &[u8]) -> Option<(IonType, usize)> {
    if !bytes.starts_with(b"null") {
        return None;
    }
    if ends(bytes, 4) {
        return Some((IonType::Null, 4));
    }
    let name = bytes[4..].strip_prefix(b".")?;
    let named = |ion_type: &IonType| name.starts_with(ion_type.name().as_bytes());
    let ion_type = IonType::ALL.into_iter().find(named)?;
    let length = 5 + ion_type.name().len();
    ends(bytes, length).then_some((ion_type, length))
}

/// A decimal integer of up to eighteen digits.
#[inline(always)]
pub(super) fn int(bytes: &[u8]) -> Option<(i64, usize)> {
    let sign = usize::from(bytes.first() == Some(&b'-'));
    let mut value = 0;
    let length = digits(&bytes[sign..], &mut value);
    let plain = (1..19).contains(&length) && (bytes[sign] != b'0' || length == 1);
    if !plain || !ends(bytes, sign + length) {
        return None;
    }
    let value = value as i64;
    Some((if sign == 1 { -value } else { value }, sign + length))
}

/// A decimal number without an exponent, of up to eighteen digits: its digits as an integer, the
/// number of them after the point, and the length.
#[inline(always)]
pub(super) fn decimal(bytes: &[u8]) -> Option<(i64, usize, usize)> {
    let sign = usize::from(bytes.first() == Some(&b'-'));
    let mut value = 0;
    let whole = digits(&bytes[sign..], &mut value);
    let plain = (1..19).contains(&whole) && (bytes[sign] != b'0' || whole == 1);
    let mut at = sign + whole;
    let mut scale = 0;
    if bytes.get(at) == Some(&b'.') {
        scale = digits(&bytes[at + 1..], &mut value);
        at += 1 + scale;
    }
    if !plain || whole + scale > 18 || !ends(bytes, at) {
        return None;
    }
    let value = value as i64;
    Some((if sign == 1 { -value } else { value }, scale, at))
}

/// A number with a point or an exponent, or neither, as the nearest float.
#[inline(always)]
pub(super) fn float(bytes: &[u8]) -> Option<(f64, usize)> {
    let sign = usize::from(bytes.first() == Some(&b'-'));
    let mut mantissa = 0;
    let whole = digits(&bytes[sign..], &mut mantissa);
    let plain = (1..19).contains(&whole) && (bytes[sign] != b'0' || whole == 1);
    let mut at = sign + whole;
    let mut scale = 0;
    if bytes.get(at) == Some(&b'.') {
        scale = digits(&bytes[at + 1..], &mut mantissa);
        at += 1 + scale;
    }
    let mut exponent = 0i32;
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        at += 1;
        let negative = bytes.get(at) == Some(&b'-');
        at += usize::from(negative || bytes.get(at) == Some(&b'+'));
        let mut magnitude = 0;
        let length = digits(bytes.get(at..)?, &mut magnitude);
        if !(1..5).contains(&length) {
            return None;
        }
        at += length;
        exponent = if negative { -(magnitude as i32) } else { magnitude as i32 };
    }
    if !plain || !ends(bytes, at) {
        return None;
    }
    let power = exponent - scale as i32;
    // Both operands are exact, so one rounding gives the nearest float (Clinger 1990).
    if whole + scale < 19 && mantissa < 1 << 53 && power.unsigned_abs() < EXACT.len() as u32 {
        let value = mantissa as f64;
        let factor = EXACT[power.unsigned_abs() as usize];
        let value = if power < 0 { value / factor } else { value * factor };
        return Some((if sign == 1 { -value } else { value }, at));
    }
    let text = std::str::from_utf8(&bytes[..at]).ok()?;
    text.parse().ok().map(|value| (value, at))
}

#[inline(always)]
fn pair(bytes: &[u8], at: usize) -> u8 {
    let (tens, ones) = (bytes[at].wrapping_sub(b'0'), bytes[at + 1].wrapping_sub(b'0'));
    if tens > 9 || ones > 9 { u8::MAX } else { tens * 10 + ones }
}

/// Whether a month has 31 days.
#[inline(always)]
pub(super) fn month_is_long(month: u8) -> bool {
    0b1_0101_1010_1010u32 >> month & 1 == 1
}

/// `YYYY-MM-DD` as days since the epoch.
#[inline(always)]
fn days(bytes: &[u8]) -> Option<i64> {
    let (century, year) = (pair(bytes, 0), pair(bytes, 2));
    let (month, day) = (pair(bytes, 5), pair(bytes, 8));
    let dashes = bytes[4] == b'-' && bytes[7] == b'-';
    let plain = century < 100 && year < 100 && (1..=12).contains(&month) && (1..=31).contains(&day);
    let year = i64::from(century) * 100 + i64::from(year);
    // The last days of February, and whatever a month does not have, are left to the general reader.
    let plain = plain && (day < 29 || (month != 2 && (day < 31 || month_is_long(month))));
    (dashes && plain && year > 0).then(|| days_from_civil(year, month, day))
}

/// `YYYY-MM-DD` or `YYYY-MM-DDT`, as days since the epoch.
pub(super) fn date(bytes: &[u8]) -> Option<(i32, usize)> {
    let days = days(bytes.first_chunk::<10>()?)?;
    let length = 10 + usize::from(bytes.get(10) == Some(&b'T'));
    ends(bytes, length).then_some((days as i32, length))
}

/// `YYYY-MM-DDThh:mm:ss`, up to six digits of fraction, an offset: microseconds since the epoch.
#[inline(always)]
pub(super) fn timestamp(bytes: &[u8]) -> Option<(i64, usize)> {
    let head = bytes.first_chunk::<20>()?;
    let days = days(head)?;
    let (hour, minute, second) = (pair(head, 11), pair(head, 14), pair(head, 17));
    let marks = head[10] == b'T' && head[13] == b':' && head[16] == b':';
    if !marks || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let seconds = i64::from(hour) * 3_600 + i64::from(minute) * 60 + i64::from(second);
    let mut micros = (days * 86_400 + seconds) * 1_000_000;
    let mut at = 19;
    if head[19] == b'.' {
        let mut fraction = 0;
        let length = digits(&bytes[20..], &mut fraction);
        if !(1..=6).contains(&length) {
            return None;
        }
        micros += fraction as i64 * 10i64.pow(6 - length as u32);
        at = 20 + length;
    }
    if bytes.get(at) == Some(&b'Z') {
        return ends(bytes, at + 1).then_some((micros, at + 1));
    }
    let zone = bytes.get(at..)?.first_chunk::<6>()?;
    let (hours, minutes) = (pair(zone, 1), pair(zone, 4));
    let sign = match zone[0] {
        b'+' => -1,
        b'-' => 1,
        _ => return None,
    };
    let plain = zone[3] == b':' && hours < 24 && minutes < 60 && ends(bytes, at + 6);
    let offset = i64::from(hours) * 60 + i64::from(minutes);
    plain.then_some((micros + sign * offset * 60_000_000, at + 6))
}
