//! Timestamps and decimals in binary form.

use super::cursor::Cursor;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::value::{Decimal, Int, Precision, Timestamp};

impl Cursor<'_> {
    /// The decimal whose content ends at `end`.
    pub(crate) fn decimal(&mut self, end: usize, limits: &Limits) -> Result<Decimal> {
        let start = self.at;
        if start == end {
            return Ok(Decimal::new(Int::ZERO, 0));
        }
        let (negative, magnitude) = self.var_int()?;
        if self.at > end {
            return Err(Error::syntax(start, "a decimal's exponent reaches beyond its end"));
        }
        if magnitude > i64::from(limits.decimal_exponent) {
            let allowed = limits.decimal_exponent;
            return Err(Error::limit(start, format!("a decimal's exponent is beyond ±{allowed}")));
        }
        let exponent = if negative { -(magnitude as i32) } else { magnitude as i32 };
        let (negative, coefficient) = self.signed(end, limits)?;
        Ok(match negative && coefficient.is_zero() {
            true => Decimal::negative_zero(exponent),
            false => Decimal::new(coefficient, exponent),
        })
    }

    /// An Int: sign and magnitude, most significant byte first, up to `end`.
    fn signed(&mut self, end: usize, limits: &Limits) -> Result<(bool, Int)> {
        let start = self.at;
        let bytes = self.take(end);
        let Some(first) = bytes.first() else { return Ok((false, Int::ZERO)) };
        // Every byte is 2.4 digits.
        if bytes.len() > limits.digit_count / 12 * 5 {
            return Err(Error::limit(start, "a number has too many digits"));
        }
        let negative = first & 0x80 != 0;
        let mut magnitude = bytes.to_vec();
        magnitude[0] &= 0x7f;
        Ok((negative, Int::from_be_bytes(negative, &magnitude)))
    }

    /// The timestamp whose content ends at `end`.
    pub(crate) fn timestamp(&mut self, end: usize, limits: &Limits) -> Result<Timestamp> {
        let start = self.at;
        let wrong = || Error::syntax(start, "a timestamp field is out of range");
        let (negative, minutes) = self.var_int()?;
        let mut timestamp = Timestamp::START;
        timestamp.year = u16::try_from(self.field(end)?).map_err(|_| wrong())?;
        self.timestamp_fields(&mut timestamp, end, limits)?;
        if timestamp.precision < Precision::Minute {
            return timestamp.checked().ok_or_else(wrong);
        }
        if minutes >= 1_440 {
            return Err(wrong());
        }
        // Fields are stored in UTC but represented in local time.
        let minutes = if negative { -minutes } else { minutes };
        timestamp.offset = if negative && minutes == 0 { None } else { Some(minutes as i16) };
        let checked = timestamp.checked_utc().ok_or_else(wrong)?;
        checked.shifted(minutes).and_then(Timestamp::checked).ok_or_else(wrong)
    }

    fn timestamp_fields(
        &mut self,
        timestamp: &mut Timestamp,
        end: usize,
        limits: &Limits,
    ) -> Result<()> {
        for precision in [Precision::Month, Precision::Day, Precision::Minute, Precision::Second] {
            if self.at >= end {
                return Ok(());
            }
            let field = self.small_field(end)?;
            match precision {
                Precision::Month => timestamp.month = field,
                Precision::Day => timestamp.day = field,
                Precision::Minute => {
                    timestamp.hour = field;
                    timestamp.minute = self.small_field(end)?;
                }
                _ => timestamp.second = field,
            }
            timestamp.precision = precision;
        }
        if self.at < end {
            self.fraction(timestamp, end, limits)?;
        }
        Ok(())
    }

    fn fraction(&mut self, timestamp: &mut Timestamp, end: usize, limits: &Limits) -> Result<()> {
        let start = self.at;
        let fraction = self.decimal(end, limits)?;
        if fraction.exponent() >= 0 {
            // Whole seconds belong in the field before this one.
            return match fraction.is_zero() {
                true => Ok(()),
                false => Err(Error::syntax(start, "a fraction of a second is not below one")),
            };
        }
        if fraction.exponent().unsigned_abs() as usize > limits.digit_count {
            return Err(Error::limit(start, "a fraction of a second has too many digits"));
        }
        if fraction.is_negative() && !fraction.is_zero() {
            return Err(Error::syntax(start, "a fraction of a second is negative"));
        }
        timestamp.precision = Precision::Fraction;
        timestamp.fraction =
            Some(Box::new(Decimal::new(fraction.coefficient().clone(), fraction.exponent())));
        Ok(())
    }

    fn field(&mut self, end: usize) -> Result<usize> {
        let start = self.at;
        let value = self.var_uint()?;
        if self.at > end {
            return Err(Error::syntax(start, "a timestamp reaches beyond its end"));
        }
        Ok(value)
    }

    fn small_field(&mut self, end: usize) -> Result<u8> {
        let start = self.at;
        let value = self.field(end)?;
        u8::try_from(value).map_err(|_| Error::syntax(start, "a timestamp field is out of range"))
    }
}
