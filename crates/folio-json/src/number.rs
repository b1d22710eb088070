//! Classifies numbers by their digits, and converts short ones to the nearest double.

/// Any integer with this many digits fits an `i64`.
const INT_DIGITS_MAX: usize = 18;

/// Powers of ten that a double holds exactly.
pub const EXACT_POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// Every integer up to here is exact as a double.
const EXACT_MAX: u64 = 1 << 53;

/// A number with more digits may exceed the largest double.
const FINITE_DIGITS: usize = 300;

/// What the choice of a type needs to know of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Number {
    /// An integer within 64 bits, and whether it is exact as a double.
    Integer { is_exact: bool },
    /// Has a point or an exponent.
    Fraction,
    /// An integer or a fraction that neither type holds.
    Beyond,
}

impl Number {
    #[inline]
    pub(crate) fn of(digits: &[u8]) -> Self {
        let others = digits.iter().filter(|byte| !matches!(byte, b'0'..=b'9' | b'-'));
        let (mut other_count, mut point_count) = (0, 0);
        for byte in others {
            other_count += 1;
            point_count += usize::from(*byte == b'.');
        }
        match (other_count, point_count) {
            // Fifteen digits always fit both types.
            (0, _) if digits.len() <= 15 => Self::Integer { is_exact: true },
            (0, _) if digits.len() <= INT_DIGITS_MAX => match integer(digits) {
                Some(value) => Self::Integer { is_exact: is_exact(value) },
                None => Self::Beyond,
            },
            (1, 1) if digits.len() <= FINITE_DIGITS => Self::Fraction,
            _ => Self::of_any(digits),
        }
    }

    fn of_any(digits: &[u8]) -> Self {
        let Ok(text) = std::str::from_utf8(digits) else { return Self::Beyond };
        let has_exponent = text.contains(['e', 'E']);
        if has_exponent || text.contains('.') {
            let may_be_beyond = has_exponent || digits.len() > FINITE_DIGITS;
            return match may_be_beyond && is_beyond(text) {
                true => Self::Beyond,
                false => Self::Fraction,
            };
        }
        match text.parse::<i64>() {
            Ok(value) => Self::Integer { is_exact: is_exact(value) },
            Err(_) => Self::Beyond,
        }
    }
}

/// Whether the double nearest to a fraction is infinite, or zero for another number.
fn is_beyond(text: &str) -> bool {
    let value = text.parse().unwrap_or(f64::NAN);
    let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
    !value.is_finite() || value == 0.0 && mantissa.bytes().any(|digit| matches!(digit, b'1'..=b'9'))
}

/// Whether an integer is exact as a double.
#[inline]
fn is_exact(value: i64) -> bool {
    let size = value.unsigned_abs();
    size <= EXACT_MAX || 64 - size.leading_zeros() - size.trailing_zeros() <= 53
}

/// An integer within 64 bits; `None` for any other number.
#[inline]
#[must_use]
pub fn integer(digits: &[u8]) -> Option<i64> {
    if digits.len() > INT_DIGITS_MAX || digits.first() == Some(&b'-') {
        return std::str::from_utf8(digits).ok()?.parse().ok();
    }
    let mut value = 0;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        value = value * 10 + i64::from(digit - b'0');
    }
    (!digits.is_empty()).then_some(value)
}

/// The double nearest to a fraction, or an integer that is exact as a double; `None` if a double
/// would lose digits of an integer, or is infinite.
#[inline]
#[must_use]
pub fn double(digits: &[u8]) -> Option<f64> {
    match short_decimal(digits) {
        Some(value) => Some(value),
        None => long_double(digits),
    }
}

fn long_double(digits: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(digits).ok()?;
    let is_held = match Number::of_any(digits) {
        Number::Integer { is_exact } => is_exact,
        Number::Fraction => true,
        // Types that were found before have doubles where a number was too small for one.
        Number::Beyond => text.contains(['.', 'e', 'E']),
    };
    text.parse().ok().filter(|value: &f64| is_held && value.is_finite())
}

/// Converts a number without an exponent and with few digits to the nearest double. Such a number
/// is a quotient of two exact doubles, which the division rounds correctly (Clinger, "How to read
/// floating point numbers accurately", 1990). `None` for all other text.
#[inline]
fn short_decimal(text: &[u8]) -> Option<f64> {
    let (is_negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.len() > INT_DIGITS_MAX {
        return None;
    }
    let (mut number, mut point) = (0u64, None);
    for (place, &byte) in digits.iter().enumerate() {
        match byte {
            b'0'..=b'9' => number = number * 10 + u64::from(byte - b'0'),
            b'.' if point.is_none() => point = Some(place),
            _ => return None,
        }
    }
    let fraction_count = point.map_or(0, |point| digits.len() - point - 1);
    let is_number = digits.len() > usize::from(point.is_some());
    let value = number as f64 / EXACT_POWERS[fraction_count];
    (is_number && number <= EXACT_MAX).then_some(if is_negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_numbers() {
        let exact = Number::Integer { is_exact: true };
        for (digits, kind) in [
            ("0", exact),
            ("-999999999999999", exact),
            ("9007199254740992", exact),
            ("9007199254740993", Number::Integer { is_exact: false }),
            ("1152921504606846976", exact),
            ("-9223372036854775808", exact),
            ("9223372036854775807", Number::Integer { is_exact: false }),
            ("9223372036854775808", Number::Beyond),
            ("999999999999999999", Number::Integer { is_exact: false }),
            ("-1732206349000999", exact),
            ("1.5", Number::Fraction),
            ("-12345678901234567890.5", Number::Fraction),
            ("1e5", Number::Fraction),
            ("1e400", Number::Beyond),
            ("-1E-400", Number::Beyond),
            ("-0.0E-400", Number::Fraction),
            ("5e-324", Number::Fraction),
        ] {
            assert_eq!(Number::of(digits.as_bytes()), kind, "{digits}");
        }
        let long = format!("{}.5", "9".repeat(400));
        assert_eq!(Number::of(long.as_bytes()), Number::Beyond);
        let small = format!("0.{}1", "0".repeat(400));
        assert_eq!(Number::of(small.as_bytes()), Number::Beyond);
    }

    #[test]
    fn a_double_loses_no_digit_of_an_integer() {
        assert_eq!(double(b"9007199254740993"), None);
        assert_eq!(double(b"1152921504606846976"), Some(1_152_921_504_606_846_976.0));
        assert_eq!(double(b"0.1"), Some(0.1));
        assert_eq!(double(b"1e300"), Some(1e300));
        assert_eq!(double(b"1e400"), None);
        assert_eq!(integer(b"-9223372036854775808"), Some(i64::MIN));
        assert_eq!(integer(b"1.0"), None);
        assert_eq!(integer(b""), None);
    }
}
