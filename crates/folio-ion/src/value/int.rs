//! Integers of any size.
//!
//! Nearly all integers fit 64 bits, so [`Int`] stores those inline. Others are a magnitude of
//! 64-bit limbs, least significant first. There are only the operations for reading and writing,
//! digits and bytes in and out, and no arithmetic.

use std::cmp::Ordering;
use std::fmt;

/// A signed integer of any size. Values that fit `i64` are always [`Int::Small`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Int {
    /// Fits 64 bits.
    Small(i64),
    /// Does not fit 64 bits.
    Big(Big),
}

/// A sign and the limbs of a magnitude above 64 bits, least significant limb first. The last limb
/// is not zero.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Big {
    negative: bool,
    limbs: Box<[u64]>,
}

const DIGITS_PER_LIMB: usize = 19;
const LIMB_OF_DIGITS: u64 = 10_000_000_000_000_000_000;

impl Int {
    /// Zero.
    pub const ZERO: Int = Int::Small(0);

    fn from_limbs(negative: bool, mut limbs: Vec<u64>) -> Int {
        while limbs.last() == Some(&0) {
            limbs.pop();
        }
        match limbs.as_slice() {
            [] => Int::ZERO,
            [limb] if *limb <= i64::MAX as u64 => {
                let value = *limb as i64;
                Int::Small(if negative { -value } else { value })
            }
            [limb] if negative && *limb == 1 << 63 => Int::Small(i64::MIN),
            _ => Int::Big(Big { negative, limbs: limbs.into() }),
        }
    }

    /// The integer whose decimal digits are `digits` (ASCII `0` to `9`, most significant first).
    pub(crate) fn from_decimal(negative: bool, digits: &[u8]) -> Int {
        debug_assert!(digits.iter().all(u8::is_ascii_digit));
        let mut limbs: Vec<u64> = Vec::with_capacity(digits.len() / DIGITS_PER_LIMB + 1);
        let head = digits.len() % DIGITS_PER_LIMB;
        let (first, rest) = digits.split_at(head);
        let groups = std::iter::once(first).chain(rest.chunks(DIGITS_PER_LIMB));
        for group in groups.filter(|group| !group.is_empty()) {
            let value = group.iter().fold(0u64, |n, digit| n * 10 + u64::from(digit - b'0'));
            multiply_add(&mut limbs, 10u64.pow(group.len() as u32 % 20), value);
        }
        Int::from_limbs(negative, limbs)
    }

    /// The integer whose digits in base `1 << shift` are `digits` (ASCII hexadecimal digits).
    pub(crate) fn from_power_of_two(negative: bool, digits: &[u8], shift: u32) -> Int {
        let mut limbs = Vec::with_capacity(digits.len() * shift as usize / 64 + 1);
        let (mut limb, mut filled) = (0u64, 0);
        for digit in digits.iter().rev() {
            let value = (*digit as char).to_digit(16).unwrap_or(0);
            limb |= u64::from(value) << filled;
            filled += shift;
            if filled == 64 {
                limbs.push(limb);
                (limb, filled) = (0, 0);
            }
        }
        limbs.push(limb);
        Int::from_limbs(negative, limbs)
    }

    /// The integer whose magnitude is `bytes`, most significant first.
    pub(crate) fn from_be_bytes(negative: bool, bytes: &[u8]) -> Int {
        let limbs = bytes
            .rchunks(8)
            .map(|chunk| chunk.iter().fold(0u64, |limb, byte| limb << 8 | u64::from(*byte)));
        Int::from_limbs(negative, limbs.collect())
    }

    /// The magnitude's bytes, most significant first, without leading zeros; empty for zero.
    pub(crate) fn to_be_bytes(&self) -> Vec<u8> {
        let limbs = match self {
            Int::Small(value) => &[value.unsigned_abs()][..],
            Int::Big(big) => &big.limbs[..],
        };
        let bytes = limbs.iter().rev().flat_map(|limb| limb.to_be_bytes());
        bytes.skip_while(|byte| *byte == 0).collect()
    }

    /// Whether the integer is negative.
    pub fn is_negative(&self) -> bool {
        match self {
            Int::Small(value) => *value < 0,
            Int::Big(big) => big.negative,
        }
    }

    /// Whether the integer is zero.
    pub fn is_zero(&self) -> bool {
        *self == Int::ZERO
    }

    /// The value, if it fits 64 bits.
    pub fn to_i64(&self) -> Option<i64> {
        match self {
            Int::Small(value) => Some(*value),
            Int::Big(_) => None,
        }
    }

    /// The value, if it fits 128 bits.
    pub fn to_i128(&self) -> Option<i128> {
        let big = match self {
            Int::Small(value) => return Some(i128::from(*value)),
            Int::Big(big) => big,
        };
        let magnitude = match *big.limbs {
            [low] => u128::from(low),
            [low, high] => u128::from(high) << 64 | u128::from(low),
            _ => return None,
        };
        match (big.negative, magnitude.cmp(&(1 << 127))) {
            (true, Ordering::Equal) => Some(i128::MIN),
            (true, Ordering::Less) => Some(-(magnitude as i128)),
            (false, Ordering::Less) => Some(magnitude as i128),
            _ => None,
        }
    }

    /// The nearest binary floating-point number; infinite when out of range.
    pub fn to_f64(&self) -> f64 {
        match self {
            Int::Small(value) => *value as f64,
            Int::Big(_) => self.to_string().parse().unwrap_or(f64::NAN),
        }
    }

    /// Whether the value fits 64 bits and a float represents it.
    pub(crate) fn is_float(&self) -> bool {
        self.to_i64().is_some_and(|value| i128::from(value) == (value as f64) as i128)
    }

    /// The decimal digits of the magnitude, without a sign.
    pub(crate) fn digits(&self) -> String {
        match self {
            Int::Small(value) => value.unsigned_abs().to_string(),
            Int::Big(big) => big.digits(),
        }
    }

    /// The same integer with the other sign.
    #[must_use]
    pub fn negated(&self) -> Int {
        match self {
            Int::Small(value) => Int::from(-i128::from(*value)),
            Int::Big(big) => Int::from_limbs(!big.negative, big.limbs.to_vec()),
        }
    }
}

impl Big {
    fn digits(&self) -> String {
        let mut limbs = self.limbs.to_vec();
        let mut groups = Vec::with_capacity(limbs.len() + limbs.len() / 16 + 1);
        while !limbs.is_empty() {
            groups.push(divide(&mut limbs));
        }
        let mut text = groups.pop().unwrap_or(0).to_string();
        for group in groups.iter().rev() {
            text.push_str(&format!("{group:019}"));
        }
        text
    }
}

/// `limbs = limbs × factor + addend`.
fn multiply_add(limbs: &mut Vec<u64>, factor: u64, addend: u64) {
    let mut carry = u128::from(addend);
    for limb in limbs.iter_mut() {
        carry += u128::from(*limb) * u128::from(factor);
        *limb = carry as u64;
        carry >>= 64;
    }
    if carry != 0 {
        limbs.push(carry as u64);
    }
}

/// Divides `limbs` by 10^19 and returns the remainder.
fn divide(limbs: &mut Vec<u64>) -> u64 {
    let mut remainder = 0u128;
    for limb in limbs.iter_mut().rev() {
        let value = remainder << 64 | u128::from(*limb);
        *limb = (value / u128::from(LIMB_OF_DIGITS)) as u64;
        remainder = value % u128::from(LIMB_OF_DIGITS);
    }
    while limbs.last() == Some(&0) {
        limbs.pop();
    }
    remainder as u64
}

impl From<i64> for Int {
    fn from(value: i64) -> Int {
        Int::Small(value)
    }
}

impl From<i128> for Int {
    fn from(value: i128) -> Int {
        Int::from_be_bytes(value < 0, &value.unsigned_abs().to_be_bytes())
    }
}

impl From<u128> for Int {
    fn from(value: u128) -> Int {
        Int::from_be_bytes(false, &value.to_be_bytes())
    }
}

impl fmt::Display for Int {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad_integral(!self.is_negative(), "", &self.digits())
    }
}

#[cfg(test)]
mod tests {
    use super::Int;

    #[test]
    fn digits_go_in_and_out() {
        for text in ["0", "9", "-1", "9223372036854775807", "-9223372036854775808"] {
            check(text);
        }
        check("9223372036854775808");
        check("340282366920938463463374607431768211456");
        check("10000000000000000000");
        check(&"123456789".repeat(40));
        check(&format!("-1{}", "0".repeat(400)));
    }

    fn check(text: &str) {
        let negative = text.starts_with('-');
        let digits = text.trim_start_matches('-');
        let int = Int::from_decimal(negative, digits.as_bytes());
        assert_eq!(int.to_string(), text);
        assert_eq!(Int::from_be_bytes(negative, &int.to_be_bytes()), int);
        assert_eq!(matches!(int, Int::Small(_)), text.parse::<i64>().is_ok());
        assert_eq!(int.to_i128(), text.parse::<i128>().ok());
    }

    #[test]
    fn hexadecimal_and_binary_digits() {
        assert_eq!(Int::from_power_of_two(true, b"ff", 4), Int::Small(-255));
        assert_eq!(Int::from_power_of_two(false, b"101", 1), Int::Small(5));
        let wide = Int::from_power_of_two(false, b"10000000000000000", 4);
        assert_eq!(wide.to_string(), "18446744073709551616");
    }
}
