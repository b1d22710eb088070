//! Dates and times as text, in the ISO 8601 forms that SQLite's own functions write.

/// The meaning of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// Days since 1970-01-01.
    Date(i32),
    /// Microseconds since midnight.
    Time(i64),
    /// Microseconds since 1970-01-01T00:00.
    Timestamp(i64),
    /// The same in UTC, from a text with an offset.
    Instant(i64),
}

const DAY: i64 = 86_400_000_000;

impl Moment {
    /// Reads `2024-05-06`, `07:08`, `07:08:09.123456`, or both with a blank or a `T` between them
    /// and an optional offset after them. Refuses everything else, and anything that would lose a
    /// digit.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        if bytes.get(2) == Some(&b':') {
            return time(bytes).map(Self::Time);
        }
        let days = date(bytes.get(..10)?)?;
        let Some((separator, rest)) = bytes[10..].split_first() else {
            return Some(Self::Date(days));
        };
        if !matches!(separator, b' ' | b'T') {
            return None;
        }
        let (clock, offset) = match rest.iter().position(|byte| matches!(byte, b'Z' | b'+' | b'-'))
        {
            Some(at) => (&rest[..at], Some(offset(&rest[at..])?)),
            None => (rest, None),
        };
        let local = i64::from(days) * DAY + time(clock)?;
        Some(match offset {
            None => Self::Timestamp(local),
            Some(offset) => Self::Instant(local - offset),
        })
    }
}

fn digits(bytes: &[u8]) -> Option<i64> {
    if bytes.is_empty() || !bytes.iter().all(u8::is_ascii_digit) {
        return None;
    }
    bytes
        .iter()
        .try_fold(0i64, |value, byte| value.checked_mul(10)?.checked_add(i64::from(byte - b'0')))
}

fn date(bytes: &[u8]) -> Option<i32> {
    let (&[_, _, _, _, b'-', _, _, b'-', _, _], [year, month, day]) =
        (bytes, [bytes.get(..4)?, bytes.get(5..7)?, bytes.get(8..10)?])
    else {
        return None;
    };
    let year = i16::try_from(digits(year)?).ok().filter(|year| *year > 0)?;
    let (month, day) = (i8::try_from(digits(month)?).ok()?, i8::try_from(digits(day)?).ok()?);
    let date = jiff::civil::Date::new(year, month, day).ok()?;
    let epoch = jiff::civil::Date::constant(1970, 1, 1);
    (date - epoch).get_days().into()
}

fn time(bytes: &[u8]) -> Option<i64> {
    let two = |at: usize| digits(bytes.get(at..at + 2)?);
    let (hour, minute) = (two(0)?, two(3)?);
    let (second, fraction) = match bytes.get(5..)? {
        [] => (0, 0),
        [b':', _, _] => (two(6)?, 0),
        [b':', _, _, b'.', fraction @ ..] if fraction.len() <= 6 => {
            let scale = 10i64.pow(6 - u32::try_from(fraction.len()).ok()?);
            (two(6)?, digits(fraction)? * scale)
        }
        _ => return None,
    };
    let is_time = bytes[2] == b':' && hour < 24 && minute < 60 && second < 60;
    is_time.then_some(((hour * 60 + minute) * 60 + second) * 1_000_000 + fraction)
}

fn offset(bytes: &[u8]) -> Option<i64> {
    let (sign, rest) = bytes.split_first()?;
    if *sign == b'Z' {
        return rest.is_empty().then_some(0);
    }
    let [_, _, b':', _, _] = rest else { return None };
    let (hours, minutes) = (digits(&rest[..2])?, digits(&rest[3..])?);
    let size = (hours < 24 && minutes < 60).then_some((hours * 60 + minutes) * 60_000_000)?;
    Some(if *sign == b'-' { -size } else { size })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        for (text, moment) in [
            ("1970-01-02", Some(Moment::Date(1))),
            ("2024-02-29", Some(Moment::Date(19_782))),
            ("2023-02-29", None),
            ("0001-01-01", Some(Moment::Date(-719_162))),
            ("0000-01-01", None),
            ("2024-5-6", None),
            ("07:08", Some(Moment::Time(25_680_000_000))),
            ("00:00:01.5", Some(Moment::Time(1_500_000))),
            ("00:00:01.1234567", None),
            ("24:00", None),
            ("1970-01-01 00:00:00", Some(Moment::Timestamp(0))),
            ("1969-12-31T23:59:59.999999", Some(Moment::Timestamp(-1))),
            ("1970-01-01T01:00:00+01:00", Some(Moment::Instant(0))),
            ("1970-01-01 00:00Z", Some(Moment::Instant(0))),
            ("1970-01-01 00:00 ", None),
            ("1970-01-01x00:00", None),
            ("1970-01-01 ", None),
            ("é970-01-01", None),
            ("", None),
        ] {
            assert_eq!(Moment::parse(text), moment, "{text}");
        }
    }
}
