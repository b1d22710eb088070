//! Timestamps as text.

use super::cursor::Cursor;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::value::{Decimal, Int, Precision, Timestamp};

impl Cursor<'_> {
    /// Whether four digits and a `-` or `T` follow.
    #[inline]
    pub(super) fn at_timestamp(&self) -> bool {
        let rest = self.rest();
        rest.len() > 4 && matches!(rest[4], b'-' | b'T') && rest[..4].iter().all(u8::is_ascii_digit)
    }

    /// The timestamp that starts here, at the end of the bytes or before something else.
    pub(super) fn timestamp(&mut self, limits: &Limits) -> Result<Timestamp> {
        let start = self.at;
        let mut timestamp = Timestamp::START;
        timestamp.year = self.field(4)? as u16;
        if self.date_rest(&mut timestamp)? {
            self.clock(&mut timestamp, limits)?;
        }
        timestamp.checked().ok_or_else(|| Error::syntax(start, "a timestamp field is out of range"))
    }

    /// Month and day, as far as they are written. Returns whether a time of day follows.
    fn date_rest(&mut self, timestamp: &mut Timestamp) -> Result<bool> {
        if self.eat(b'T') {
            return Ok(false);
        }
        self.expect(b'-')?;
        timestamp.precision = Precision::Month;
        timestamp.month = self.field(2)? as u8;
        if self.need()? == b'T' {
            self.at += 1;
            return Ok(false);
        }
        self.expect(b'-')?;
        timestamp.precision = Precision::Day;
        timestamp.day = self.field(2)? as u8;
        self.check_complete()?;
        if !self.eat(b'T') {
            return Ok(false);
        }
        self.check_complete()?;
        Ok(self.byte().is_some_and(|byte| byte.is_ascii_digit()))
    }

    fn clock(&mut self, timestamp: &mut Timestamp, limits: &Limits) -> Result<()> {
        timestamp.precision = Precision::Minute;
        timestamp.hour = self.field(2)? as u8;
        self.expect(b':')?;
        timestamp.minute = self.field(2)? as u8;
        if self.need()? == b':' {
            self.at += 1;
            timestamp.precision = Precision::Second;
            timestamp.second = self.field(2)? as u8;
            if self.need()? == b'.' {
                self.at += 1;
                timestamp.precision = Precision::Fraction;
                timestamp.fraction = Some(Box::new(self.fraction(limits)?));
            }
        }
        timestamp.offset = self.offset()?;
        Ok(())
    }

    fn fraction(&mut self, limits: &Limits) -> Result<Decimal> {
        let rest = self.rest();
        let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if length > limits.digit_count {
            return Err(Error::limit(self.at, "a fraction of a second has too many digits"));
        }
        self.at += length;
        self.need()?;
        if length == 0 {
            return Err(self.unexpected("a digit"));
        }
        Ok(Decimal::new(Int::from_decimal(false, &rest[..length]), -(length as i32)))
    }

    fn offset(&mut self) -> Result<Option<i16>> {
        let sign = self.need()?;
        let start = self.at;
        if !matches!(sign, b'Z' | b'+' | b'-') {
            return Err(self.unexpected("`Z` or an offset such as `+02:00`"));
        }
        self.at += 1;
        if sign == b'Z' {
            return Ok(Some(0));
        }
        let hours = self.field(2)? as i16;
        self.expect(b':')?;
        let minutes = self.field(2)? as i16;
        if hours >= 24 || minutes >= 60 {
            return Err(Error::syntax(start, "a timestamp's offset is out of range"));
        }
        let total = hours * 60 + minutes;
        Ok(match sign {
            b'-' if total == 0 => None,
            b'-' => Some(-total),
            _ => Some(total),
        })
    }

    fn field(&mut self, digits: usize) -> Result<u32> {
        let mut value = 0;
        for _ in 0..digits {
            let byte = self.need()?;
            if !byte.is_ascii_digit() {
                return Err(self.unexpected("a digit of a timestamp"));
            }
            value = value * 10 + u32::from(byte - b'0');
            self.at += 1;
        }
        Ok(value)
    }

    pub(super) fn expect(&mut self, byte: u8) -> Result<()> {
        if self.need()? != byte {
            return Err(self.unexpected(&format!("`{}`", byte as char)));
        }
        self.at += 1;
        Ok(())
    }
}
