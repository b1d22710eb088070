//! Compares JSON numbers exactly by value, from their text.
//!
//! With `f64`, 9007199254740993 would not exceed a maximum of 9007199254740992. A number is reduced
//! to its sign, its digits without zeros at either end, and the decimal exponent of the first
//! digit. The exponent is compared, never expanded, so `1e999999999` costs nothing.

use std::cmp::Ordering;

/// Compares two numbers given as JSON text (RFC 8259, section 6).
pub(super) fn compare(left: &str, right: &str) -> Ordering {
    let (left, right) = (Decimal::of(left), Decimal::of(right));
    match (left.sign(), right.sign()) {
        (1, 1) => left.magnitude(&right),
        (-1, -1) => right.magnitude(&left),
        (left, right) => left.cmp(&right),
    }
}

struct Decimal {
    is_negative: bool,
    /// Significant digits; none for zero.
    digits: Vec<u8>,
    /// The power of ten of the first digit.
    exponent: i64,
}

impl Decimal {
    fn of(text: &str) -> Self {
        let (is_negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let mut digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
        let leading = digits.iter().take_while(|&&digit| digit == b'0').count();
        digits.drain(..leading);
        while digits.last() == Some(&b'0') {
            digits.pop();
        }
        let first = whole.len() as i64 - leading as i64 - 1;
        Self { is_negative, digits, exponent: saturating_parse(exponent).saturating_add(first) }
    }

    fn sign(&self) -> i8 {
        match (self.digits.is_empty(), self.is_negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }

    /// Compares absolute values; neither is zero.
    fn magnitude(&self, other: &Self) -> Ordering {
        self.exponent.cmp(&other.exponent).then_with(|| self.digits.cmp(&other.digits))
    }
}

/// Parses an exponent. One that does not fit becomes the nearest that does.
fn saturating_parse(text: &str) -> i64 {
    let text = text.strip_prefix('+').unwrap_or(text);
    text.parse().unwrap_or(if text.starts_with('-') { i64::MIN / 2 } else { i64::MAX / 2 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn compares_by_value() {
        let ascending = [
            "-1e99999999999999999999",
            "-10",
            "-9.5",
            "-1e-3",
            "0",
            "1e-99999999999999999999",
            "0.001",
            "1",
            "1.000000000000000000000000001",
            "9007199254740992",
            "9007199254740993",
            "1e20",
            "1e999999999",
        ];
        for (at, left) in ascending.iter().enumerate() {
            for (other, right) in ascending.iter().enumerate() {
                assert_eq!(compare(left, right), at.cmp(&other), "{left} {right}");
            }
        }
        for (left, right) in [("1", "1.0"), ("100", "1E+2"), ("0", "-0.0e7"), ("12e-1", "1.20")] {
            assert_eq!(compare(left, right), Ordering::Equal, "{left} {right}");
        }
    }

    proptest! {
        #[test]
        fn agrees_with_integers(left in any::<i64>(), right in any::<i64>()) {
            prop_assert_eq!(compare(&left.to_string(), &right.to_string()), left.cmp(&right));
        }

        #[test]
        fn agrees_with_fractions(left in -10_000i64..10_000, right in -10_000i64..10_000) {
            let text = |hundredths: i64| {
                let sign = if hundredths < 0 { "-" } else { "" };
                format!("{sign}{}.{:02}", hundredths.abs() / 100, hundredths.abs() % 100)
            };
            prop_assert_eq!(compare(&text(left), &text(right)), left.cmp(&right));
            prop_assert_eq!(compare(&format!("{left}e-2"), &text(right)), left.cmp(&right));
        }
    }
}
