//! Reads plain numbers and timestamps of text without a tree.
//!
//! Each reader takes an offset and returns the value there and the offset after it, or `None` for
//! anything unusual; the caller then takes the general path. Digits are read eight at a time as one
//! integer, so that no branch depends on their number.

use crate::text::after_value;
use crate::value::{IonType, days_from_civil};

/// The powers of ten that are exact as floats.
const EXACT: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// The powers of ten that fit integers.
pub(super) const POWERS: [i64; 19] = {
    let mut powers = [1; 19];
    let mut index = 1;
    while index < powers.len() {
        powers[index] = powers[index - 1] * 10;
        index += 1;
    }
    powers
};

/// The bytes that end a plain value.
const ENDS: [bool; 256] = {
    let mut ends = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        ends[byte] = after_value(byte as u8) && byte as u8 != b'/';
        byte += 1;
    }
    ends
};

#[inline(always)]
fn ends(bytes: &[u8], at: usize) -> bool {
    bytes.get(at).is_some_and(|byte| ENDS[usize::from(*byte)])
}

/// A word of eight equal bytes.
const fn eight(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// The eight bytes at `at`, lowest first. `None` near the end of the bytes, where the general path
/// is taken.
#[inline(always)]
fn word(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|chunk| u64::from_le_bytes(*chunk))
}

/// The high bit of each byte of `word` that is greater than 0x7f minus the byte of `excess`.
#[inline(always)]
fn beyond(word: u64, excess: u64) -> u64 {
    (((word & eight(0x7f)) + excess) | word) & eight(0x80)
}

/// The digits at the start of `word` as a number, and their count.
#[inline(always)]
fn leading_digits(word: u64) -> (u64, usize) {
    let digits = word ^ eight(b'0');
    let count = beyond(digits, eight(0x76)).trailing_zeros() / 8;
    // Leading zeros do not change the number.
    let digits = digits.checked_shl(64 - 8 * count).unwrap_or(0);
    // Joins neighbours: digits to pairs, pairs to fours, fours to all eight.
    let pairs = digits * 10 + (digits >> 8);
    let low = (pairs & 0xff_0000_00ff).wrapping_mul(1_000_000 << 32 | 100);
    let high = (pairs >> 16 & 0xff_0000_00ff).wrapping_mul(10_000 << 32 | 1);
    (low.wrapping_add(high) >> 32, count as usize)
}

/// The digits at `at` as a number, and their count. With more than eighteen digits, the number is
/// meaningless and the count may be too small.
#[inline(always)]
fn digits(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let (value, count) = leading_digits(word(bytes, at)?);
    if count < 8 {
        return Some((value, count));
    }
    let (more, count) = leading_digits(word(bytes, at + 8)?);
    let value = joined(value, more, count);
    if count < 8 {
        return Some((value, 8 + count));
    }
    let (more, count) = leading_digits(word(bytes, at + 16)?);
    Some((joined(value, more, count), 16 + count))
}

/// Appends `count` digits to a number.
#[inline(always)]
fn joined(value: u64, digits: u64, count: usize) -> u64 {
    value.wrapping_mul(POWERS[count] as u64).wrapping_add(digits)
}

#[inline(always)]
fn signed(value: u64, negative: bool) -> i64 {
    if negative { (value as i64).wrapping_neg() } else { value as i64 }
}

/// A null, plain or typed, and its end.
pub(super) fn null(bytes: &[u8], at: usize) -> Option<(IonType, usize)> {
    let rest = bytes.get(at..)?.strip_prefix(b"null")?;
    if ends(rest, 0) {
        return Some((IonType::Null, at + 4));
    }
    let name = rest.strip_prefix(b".")?;
    let named = |ion_type: &IonType| name.starts_with(ion_type.name().as_bytes());
    let ion_type = IonType::ALL.into_iter().find(named)?;
    let end = at + 5 + ion_type.name().len();
    ends(bytes, end).then_some((ion_type, end))
}

/// `true` or `false`, as 1 or 0.
#[inline(always)]
pub(super) fn boolean(bytes: &[u8], at: usize) -> Option<(u8, usize)> {
    const TRUE: u64 = u64::from_le_bytes(*b"true\0\0\0\0");
    const FALSE: u64 = u64::from_le_bytes(*b"false\0\0\0");
    let word = word(bytes, at)?;
    // The value is unpredictable, so the code does not branch on it.
    let is_true = word & 0xffff_ffff == TRUE;
    let is_false = word & 0xff_ffff_ffff == FALSE;
    let length = 5 - usize::from(is_true);
    let ends = matches!((word >> (8 * length)) as u8, b',' | b'}' | b']');
    ((is_true | is_false) & ends).then_some((u8::from(is_true), at + length))
}

/// A number with a point.
struct Number {
    /// All its digits.
    digits: u64,
    /// The number of digits before the point.
    whole: usize,
    /// The number of digits after the point.
    scale: usize,
    end: usize,
}

impl Number {
    /// The digits at `at`, with or without a point among or after them.
    #[inline(always)]
    fn at(bytes: &[u8], at: usize) -> Option<Number> {
        let (value, whole) = digits(bytes, at)?;
        let end = at + whole;
        if bytes.get(end) != Some(&b'.') {
            return Some(Number { digits: value, whole, scale: 0, end });
        }
        let (fraction, scale) = digits(bytes, end + 1)?;
        let digits = joined(value, fraction, scale.min(18));
        Some(Number { digits, whole, scale, end: end + 1 + scale })
    }

    /// Whether all digits were read exactly.
    #[inline(always)]
    fn is_exact(&self) -> bool {
        self.whole + self.scale < 19
    }
}

/// Whether a number may begin with `whole` digits at `at`.
#[inline(always)]
fn begins(bytes: &[u8], at: usize, whole: usize) -> bool {
    (1..19).contains(&whole) && (bytes[at] != b'0' || whole == 1)
}

/// A decimal integer of up to eighteen digits.
#[inline(always)]
pub(super) fn int(bytes: &[u8], at: usize) -> Option<(i64, usize)> {
    let negative = bytes.get(at) == Some(&b'-');
    let start = at + usize::from(negative);
    let (value, length) = digits(bytes, start)?;
    let plain = begins(bytes, start, length) && ends(bytes, start + length);
    plain.then_some((signed(value, negative), start + length))
}

/// A decimal number without an exponent, of up to eighteen digits, in units of `10^-scale`, if that
/// is exact and has at most `precision` digits (itself at most eighteen).
#[inline(always)]
pub(super) fn decimal(bytes: &[u8], at: usize, precision: u8, scale: u8) -> Option<(i64, usize)> {
    let negative = bytes.get(at) == Some(&b'-');
    let start = at + usize::from(negative);
    let number = Number::at(bytes, start)?;
    if !begins(bytes, start, number.whole) || !number.is_exact() || !ends(bytes, number.end) {
        return None;
    }
    let shift = usize::from(scale).checked_sub(number.scale)?;
    let units = (number.digits as i64).checked_mul(*POWERS.get(shift)?)?;
    let fits = units < *POWERS.get(usize::from(precision))?;
    fits.then_some((signed(units as u64, negative), number.end))
}

/// A number, with or without a point or an exponent, as the nearest float.
#[inline(always)]
pub(super) fn float(bytes: &[u8], at: usize) -> Option<(f64, usize)> {
    let negative = bytes.get(at) == Some(&b'-');
    let start = at + usize::from(negative);
    let number = Number::at(bytes, start)?;
    let mut end = number.end;
    let mut exponent = 0;
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = bytes.get(end + 1);
        let below = sign == Some(&b'-');
        end += 1 + usize::from(below | (sign == Some(&b'+')));
        let (magnitude, length) = digits(bytes, end)?;
        if !(1..5).contains(&length) {
            return None;
        }
        end += length;
        exponent = if below { -(magnitude as i32) } else { magnitude as i32 };
    }
    // The general path handles that an integer has no negative zero.
    let is_zero = negative && number.digits == 0;
    if !begins(bytes, start, number.whole) || !ends(bytes, end) || is_zero {
        return None;
    }
    let power = exponent - number.scale as i32;
    let factor = EXACT.get(power.unsigned_abs() as usize);
    // Both operands are exact, so one rounding gives the nearest float (Clinger 1990).
    match factor.filter(|_| number.is_exact() && number.digits < 1 << 53) {
        Some(factor) => {
            let value = number.digits as f64;
            let value = if power < 0 { value / factor } else { value * factor };
            Some((if negative { -value } else { value }, end))
        }
        None => nearest(bytes.get(at..end)?).map(|value| (value, end)),
    }
}

#[inline(never)]
fn nearest(number: &[u8]) -> Option<f64> {
    std::str::from_utf8(number).ok()?.parse().ok()
}

/// Whether a month has 31 days.
#[inline(always)]
pub(super) fn month_is_long(month: u8) -> bool {
    0b1_0101_1010_1010u32 >> month & 1 == 1
}

/// A pattern for eight bytes, in which `0` matches any digit.
struct Layout {
    pattern: u64,
    /// Sets the high bit of bytes that do not match, when added to the XOR with the pattern.
    excess: u64,
}

impl Layout {
    const fn new(pattern: &[u8; 8]) -> Layout {
        let mut excess = [0x7f; 8];
        let mut at = 0;
        while at < 8 {
            if pattern[at] == b'0' {
                excess[at] = 0x76;
            }
            at += 1;
        }
        Layout { pattern: u64::from_le_bytes(*pattern), excess: u64::from_le_bytes(excess) }
    }

    /// The pairs of digits in `word`, each as a number in its first byte; and zero if `word`
    /// matches the pattern.
    #[inline(always)]
    fn pairs(&self, word: u64) -> (u64, u64) {
        let digits = word ^ self.pattern;
        let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
        (pairs, beyond(digits, self.excess))
    }
}

const YEAR_MONTH: Layout = Layout::new(b"0000-00-");
const DAY_MINUTE: Layout = Layout::new(b"00T00:00");
/// The last byte is ignored.
const SECOND: Layout = Layout::new(b":00\0\0\0\0\0");
const OFFSET: Layout = Layout::new(b"00:00\0\0\0");

/// Days since the epoch of a date given as pairs of digits.
#[inline(always)]
fn days(year_month: u64, day: u8) -> Option<i64> {
    let year = (year_month & 0xff) * 100 + (year_month >> 16 & 0xff);
    let month = (year_month >> 40) as u8;
    // The general reader handles the last days of February and invalid days.
    let plain = (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && (day < 29 || (month != 2 && (day < 31 || month_is_long(month))));
    (plain && year > 0).then(|| days_from_civil(year as i64, month, day))
}

/// `YYYY-MM-DD` or `YYYY-MM-DDT`, as days since the epoch.
pub(super) fn date(bytes: &[u8], at: usize) -> Option<(i32, usize)> {
    let (year_month, others) = YEAR_MONTH.pairs(word(bytes, at)?);
    let (day, count) = leading_digits(word(bytes, at + 8)?);
    if others != 0 || count != 2 {
        return None;
    }
    let days = days(year_month, day as u8)?;
    let end = at + 10 + usize::from(bytes.get(at + 10) == Some(&b'T'));
    ends(bytes, end).then_some((days as i32, end))
}

/// `YYYY-MM-DDThh:mm:ss`, up to six digits of fraction, and an offset, as microseconds since the
/// epoch.
#[inline(always)]
pub(super) fn timestamp(bytes: &[u8], at: usize) -> Option<(i64, usize)> {
    let head = bytes.get(at..)?.first_chunk::<24>()?;
    let (year_month, not_year) = YEAR_MONTH.pairs(word(head, 0)?);
    let (day_minute, not_day) = DAY_MINUTE.pairs(word(head, 8)?);
    let after = word(head, 16)?;
    let (second, not_second) = SECOND.pairs(after & 0xff_ffff);
    let [day, hour, minute] = [0, 24, 48].map(|shift| (day_minute >> shift) as u8);
    let second = (second >> 8) as u8;
    let is_time = hour < 24 && minute < 60 && second < 60;
    if not_year | not_day | not_second != 0 || !is_time {
        return None;
    }
    let days = days(year_month, day)?;
    let seconds = i64::from(hour) * 3_600 + i64::from(minute) * 60 + i64::from(second);
    let mut micros = (days * 86_400 + seconds) * 1_000_000;
    let mut end = at + 19;
    if (after >> 24) as u8 == b'.' {
        let (fraction, length) = digits(bytes, at + 20)?;
        if !(1..=6).contains(&length) {
            return None;
        }
        micros += fraction as i64 * POWERS[6 - length];
        end += 1 + length;
    }
    let zone = word(bytes, end)?;
    let sign = match zone as u8 {
        b'Z' => return ends(bytes, end + 1).then_some((micros, end + 1)),
        b'+' => -1,
        b'-' => 1,
        _ => return None,
    };
    let (offset, others) = OFFSET.pairs(zone >> 8 & 0xff_ffff_ffff);
    let (hours, minutes) = (offset as u8, (offset >> 24) as u8);
    let plain = others == 0 && hours < 24 && minutes < 60 && ends(bytes, end + 6);
    let offset = i64::from(hours) * 60 + i64::from(minutes);
    plain.then_some((micros + sign * offset * 60_000_000, end + 6))
}
