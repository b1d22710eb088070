//! Decimals: `coefficient × 10^exponent`, exact, with trailing zeros and the sign of zero
//! preserved.

use super::int::Int;
use std::fmt;

/// An exact decimal number. `1.0` and `1.00` differ, and so do `0.` and `-0.`, as in Ion.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Decimal {
    coefficient: Int,
    exponent: i32,
    negative_zero: bool,
}

impl Decimal {
    /// `coefficient × 10^exponent`.
    pub fn new(coefficient: impl Into<Int>, exponent: i32) -> Decimal {
        Decimal { coefficient: coefficient.into(), exponent, negative_zero: false }
    }

    /// Negative zero, which no integer coefficient can represent.
    pub fn negative_zero(exponent: i32) -> Decimal {
        Decimal { coefficient: Int::ZERO, exponent, negative_zero: true }
    }

    /// The digits with their sign; zero for both zeros.
    pub fn coefficient(&self) -> &Int {
        &self.coefficient
    }

    /// The power of ten.
    pub fn exponent(&self) -> i32 {
        self.exponent
    }

    /// Whether the number has a minus sign.
    pub fn is_negative(&self) -> bool {
        self.negative_zero || self.coefficient.is_negative()
    }

    /// Whether the number is zero of either sign.
    pub fn is_zero(&self) -> bool {
        self.coefficient.is_zero()
    }

    /// The value as an integer in units of `10^-scale`, if that is exact and fits.
    pub fn to_scaled(&self, scale: u8) -> Option<i128> {
        let coefficient = self.coefficient.to_i128()?;
        let shift = self.exponent.checked_add(i32::from(scale))?;
        if coefficient == 0 {
            return Some(0);
        }
        let factor = 10i128.checked_pow(shift.unsigned_abs())?;
        if shift >= 0 {
            return coefficient.checked_mul(factor);
        }
        (coefficient % factor == 0).then(|| coefficient / factor)
    }

    /// The nearest binary floating-point number.
    pub fn to_f64(&self) -> f64 {
        if self.negative_zero {
            return -0.0;
        }
        // The standard parser rounds correctly and limits the work for any exponent.
        format!("{}e{}", self.coefficient, self.exponent).parse().unwrap_or(f64::NAN)
    }
}

/// Ion notation: `12.50`, `-0.`, `5d3`, `1d-20`.
impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.coefficient.digits();
        let sign = if self.is_negative() { "-" } else { "" };
        let point = digits.len() as i64 + i64::from(self.exponent);
        if self.exponent == 0 {
            return write!(f, "{sign}{digits}.");
        }
        if self.exponent < 0 && point > -6 {
            let leading = "0".repeat((1 - point).max(0) as usize);
            let padded = format!("{leading}{digits}");
            let (whole, fraction) = padded.split_at(point.max(1) as usize);
            return write!(f, "{sign}{whole}.{fraction}");
        }
        write!(f, "{sign}{digits}d{}", self.exponent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notation() {
        let shown = |coefficient: i64, exponent| Decimal::new(coefficient, exponent).to_string();
        assert_eq!(shown(1250, -2), "12.50");
        assert_eq!(shown(-5, -3), "-0.005");
        assert_eq!(shown(5, 0), "5.");
        assert_eq!(shown(5, 3), "5d3");
        assert_eq!(shown(0, -2), "0.00");
        assert_eq!(shown(1, -20), "1d-20");
        assert_eq!(Decimal::negative_zero(-1).to_string(), "-0.0");
    }

    #[test]
    fn scaling_is_exact_or_nothing() {
        assert_eq!(Decimal::new(125i64, -1).to_scaled(2), Some(1250));
        assert_eq!(Decimal::new(1250i64, -2).to_scaled(1), Some(125));
        assert_eq!(Decimal::new(125i64, -2).to_scaled(1), None);
        assert_eq!(Decimal::new(1i64, i32::MAX).to_scaled(3), None);
        assert_eq!(Decimal::new(0i64, i32::MAX).to_scaled(0), Some(0));
    }
}
