//! Reads UUIDs, datetimes, dates and times at the beginning of a text.

use folio_types::temporal::{DAY, HOUR, MINUTE, SECOND, days};

use crate::token::Token;

/// Characters of a UUID.
pub(super) const UUID_SIZE: usize = 36;

/// A value at the beginning of a text.
pub(crate) struct Found {
    /// Its length, in bytes.
    pub(crate) size: usize,
    /// The value, or why it is invalid.
    pub(crate) token: Result<Token, String>,
}

/// Reads a date, time or UUID at the beginning of a text; `None` if there is none.
pub(crate) fn leading(text: &str) -> Option<Found> {
    let bytes = text.as_bytes();
    if !bytes.first()?.is_ascii_hexdigit() {
        return None;
    }
    let uuid = uuid(bytes).map(|uuid| Found { size: UUID_SIZE, token: Ok(Token::Uuid(uuid)) });
    let found = uuid.or_else(|| dated(bytes)).or_else(|| timed(bytes));
    found.filter(|found| ends_word(bytes, found.size))
}

/// Whether a value may end here. It may not if a word or number continues.
pub(super) fn ends_word(bytes: &[u8], at: usize) -> bool {
    !bytes.get(at).is_some_and(|next| next.is_ascii_alphanumeric() || *next == b'_')
}

/// Reads a UUID in its usual form of 36 characters.
pub(super) fn uuid(bytes: &[u8]) -> Option<[u8; 16]> {
    let text: &[u8; 36] = bytes.first_chunk()?;
    let dashes = [text[8], text[13], text[18], text[23]];
    let eight = |high: &[u8], low: &[u8]| {
        let four = |part: &[u8]| part.first_chunk().map(|four| u32::from_be_bytes(*four));
        half_bytes(u64::from(four(high)?) << 32 | u64::from(four(low)?))
    };
    let parts = [
        eight(&text[..4], &text[4..])?,
        eight(&text[9..], &text[14..])?,
        eight(&text[19..], &text[24..])?,
        eight(&text[28..], &text[32..])?,
    ];
    let mut value = [0; 16];
    for (four, part) in value.as_chunks_mut().0.iter_mut().zip(parts) {
        *four = part.to_be_bytes();
    }
    (dashes == [b'-'; 4]).then_some(value)
}

/// Decodes eight hexadecimal digits, the first in the highest byte. Handles all at once, since
/// programs write thousands. `None` if one is no digit.
fn half_bytes(digits: u64) -> Option<u32> {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const TOPS: u64 = ONES << 7;
    // The highest bit of each byte that is at least `least`. Bytes are below 128.
    let from = |bytes: u64, least: u8| (bytes + ONES * u64::from(128 - least)) & TOPS;
    if digits & TOPS != 0 {
        return None;
    }
    let lower = digits | ONES << 5;
    let are_letters = from(lower, b'a') & !from(lower, b'g');
    let are_numbers = from(digits, b'0') & !from(digits, b':');
    if are_letters | are_numbers != TOPS {
        return None;
    }
    let mut halves = (digits & (ONES * 15)) + (are_letters >> 7) * 9;
    halves = (halves | halves >> 4) & 0x00ff_00ff_00ff_00ff;
    halves = (halves | halves >> 8) & 0x0000_ffff_0000_ffff;
    Some((halves | halves >> 16) as u32)
}

/// A number of exactly `count` digits.
fn digits(bytes: &[u8], at: usize, count: usize) -> Option<u32> {
    let text = bytes.get(at..at + count)?;
    text.iter().try_fold(0, |number, byte| {
        byte.is_ascii_digit().then(|| number * 10 + u32::from(byte - b'0'))
    })
}

/// Reads a date and an optional time.
fn dated(bytes: &[u8]) -> Option<Found> {
    let year = digits(bytes, 0, 4)?;
    let mark = *bytes.get(4).filter(|mark| matches!(mark, b'-' | b'/'))?;
    let (month, day) = (digits(bytes, 5, 2)?, digits(bytes, 8, 2)?);
    if bytes.get(7) != Some(&mark) {
        return None;
    }
    let year = i32::try_from(year).ok()?;
    let date = days(year, month, day)
        .ok_or_else(|| format!("there is no day {year:04}-{month:02}-{day:02}"));
    let joins = matches!(bytes.get(10), Some(b'T' | b't' | b'-'));
    let clock = if joins { clock(bytes, 11) } else { None };
    let Some((time, end)) = clock.filter(|(_, end)| *end >= 19) else {
        if matches!(bytes.get(10), Some(b'T' | b't')) {
            let rest = bytes[11..].iter();
            let size = 11 + rest.take_while(|b| b.is_ascii_digit() || **b == b':').count();
            let message = "expected a datetime with hours, minutes and seconds".to_owned();
            return Some(Found { size, token: Err(message) });
        }
        let date = date.map(|date| Token::Date(i32::try_from(date).unwrap_or(i32::MAX)));
        return Some(Found { size: 10, token: date });
    };
    let (offset, end) = match bytes.get(10) {
        Some(b'-') => (Some(0), end),
        _ => zone(bytes, end),
    };
    let token = date.and_then(|date| {
        let offset = offset.ok_or("the offset from UTC is out of range")?;
        Ok(Token::Timestamp(date * DAY + time? - offset))
    });
    Some(Found { size: end, token })
}

/// Reads `Z` or `±hh:mm`: microseconds east of UTC, and the end.
fn zone(bytes: &[u8], at: usize) -> (Option<i64>, usize) {
    let sign = match bytes.get(at) {
        Some(b'Z' | b'z') => return (Some(0), at + 1),
        Some(b'+') => 1,
        Some(b'-') => -1,
        _ => return (Some(0), at),
    };
    let (Some(hours), Some(minutes)) = (digits(bytes, at + 1, 2), digits(bytes, at + 4, 2)) else {
        return (Some(0), at);
    };
    if bytes.get(at + 3) != Some(&b':') {
        return (Some(0), at);
    }
    let is_possible = hours <= 18 && minutes < 60;
    let offset = sign * (i64::from(hours) * HOUR + i64::from(minutes) * MINUTE);
    (is_possible.then_some(offset), at + 6)
}

fn timed(bytes: &[u8]) -> Option<Found> {
    let (time, size) = clock(bytes, 0)?;
    Some(Found { size, token: time.map(Token::Time) })
}

/// Reads `12:04[:05[.123456]]`: microseconds since midnight, and the end.
fn clock(bytes: &[u8], at: usize) -> Option<(Result<i64, String>, usize)> {
    let (hour, minute) = (digits(bytes, at, 2)?, digits(bytes, at + 3, 2)?);
    if bytes.get(at + 2) != Some(&b':') {
        return None;
    }
    let mut end = at + 5;
    let (mut second, mut micros) = (0, 0);
    if bytes.get(end) == Some(&b':') {
        second = digits(bytes, end + 1, 2)?;
        end += 3;
        if bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit) {
            let fraction = bytes[end + 1..].iter().take_while(|byte| byte.is_ascii_digit());
            let fraction: Vec<u8> = fraction.copied().collect();
            end += 1 + fraction.len();
            if fraction.len() > 6 {
                let message = "a time is exact to the microsecond: six digits at most";
                return Some((Err(message.to_owned()), end));
            }
            let padded = fraction.iter().copied().chain(std::iter::repeat(b'0')).take(6);
            micros = padded.fold(0, |number, byte| number * 10 + i64::from(byte - b'0'));
        }
    }
    if hour > 23 || minute > 59 || second > 59 {
        return Some((Err(format!("there is no time {hour:02}:{minute:02}:{second:02}")), end));
    }
    let seconds = i64::from(second) * SECOND;
    Some((Ok(i64::from(hour) * HOUR + i64::from(minute) * MINUTE + seconds + micros), end))
}

#[cfg(test)]
mod tests {
    use super::uuid;

    #[test]
    fn uuids_are_digits_of_either_case_with_dashes_between() {
        let text = b"01234567-89ab-cdef-ABCD-EF0123456789";
        let value = 0x0123_4567_89ab_cdef_abcd_ef01_2345_6789u128;
        assert_eq!(uuid(text), Some(value.to_be_bytes()));
        assert_eq!(uuid(&text[..35]), None);
        for at in 0..text.len() {
            for byte in 0..=u8::MAX {
                let mut changed = *text;
                changed[at] = byte;
                let digits: String = changed.iter().map(|byte| char::from(*byte)).collect();
                let is_dash = [8, 13, 18, 23].contains(&at);
                let is_one = if is_dash { byte == b'-' } else { byte.is_ascii_hexdigit() };
                let expected = u128::from_str_radix(&digits.replace('-', ""), 16);
                let expected = expected.ok().filter(|_| is_one).map(u128::to_be_bytes);
                assert_eq!(uuid(&changed), expected, "{digits}");
            }
        }
    }
}
