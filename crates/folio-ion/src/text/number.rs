//! Numbers: integers in three bases, decimals and floats.

use super::cursor::Cursor;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::value::{Decimal, Int, Value};
use std::borrow::Cow;

impl<'a> Cursor<'a> {
    /// The number or timestamp that starts here, with a digit or a minus sign.
    pub(super) fn number(&mut self, limits: &Limits) -> Result<Value> {
        let start = self.at;
        let value = match self.at_timestamp() {
            true => Value::Timestamp(self.timestamp(limits)?),
            false => self.unsigned(start, limits)?,
        };
        self.stop()?;
        Ok(value)
    }

    fn unsigned(&mut self, start: usize, limits: &Limits) -> Result<Value> {
        let negative = self.eat(b'-');
        if self.need()? == b'0' {
            self.check_complete()?;
            match self.ahead(1) {
                Some(b'x' | b'X') => return self.based(negative, 4, limits),
                Some(b'b' | b'B') => return self.based(negative, 1, limits),
                None if !self.last => return Err(self.end()),
                _ => {}
            }
        }
        let whole = self.digits(10, limits)?;
        if whole.len() > 1 && whole[0] == b'0' {
            return Err(Error::syntax(start, "a number starts with a superfluous zero"));
        }
        match self.byte() {
            Some(b'.' | b'd' | b'D' | b'e' | b'E') => self.real(start, negative, &whole, limits),
            _ => Ok(Value::Int(Int::from_decimal(negative, &whole))),
        }
    }

    /// An integer after `0x` or `0b`, with `shift` bits per digit.
    fn based(&mut self, negative: bool, shift: u32, limits: &Limits) -> Result<Value> {
        self.at += 2;
        let digits = self.digits(1 << shift, limits)?;
        Ok(Value::Int(Int::from_power_of_two(negative, &digits, shift)))
    }

    /// The rest of a number with a point or an exponent.
    fn real(
        &mut self,
        start: usize,
        negative: bool,
        whole: &[u8],
        limits: &Limits,
    ) -> Result<Value> {
        let mut digits = whole.to_vec();
        let mut exponent = 0i64;
        if self.eat(b'.') {
            self.check_complete()?;
            if self.byte().is_some_and(|byte| byte.is_ascii_digit()) {
                let fraction = self.digits(10, limits)?;
                exponent = -(fraction.len() as i64);
                digits.extend_from_slice(&fraction);
            }
        }
        let marker = self.byte().filter(|byte| matches!(byte, b'd' | b'D' | b'e' | b'E'));
        if marker.is_some() {
            self.at += 1;
            exponent += self.exponent()?;
        }
        if matches!(marker, Some(b'e' | b'E')) {
            return Ok(Value::Float(float(negative, &digits, exponent)));
        }
        if exponent.unsigned_abs() > u64::from(limits.decimal_exponent) {
            let allowed = limits.decimal_exponent;
            return Err(Error::limit(start, format!("a decimal's exponent is beyond ±{allowed}")));
        }
        let coefficient = Int::from_decimal(negative, &digits);
        Ok(Value::Decimal(match coefficient.is_zero() && negative {
            true => Decimal::negative_zero(exponent as i32),
            false => Decimal::new(coefficient, exponent as i32),
        }))
    }

    fn exponent(&mut self) -> Result<i64> {
        let negative = self.need()? == b'-';
        if negative || self.need()? == b'+' {
            self.at += 1;
        }
        let mut value = 0i64;
        let mut count = 0;
        while let Some(digit) = self.byte().filter(u8::is_ascii_digit) {
            // Saturates far above every limit and every float.
            value = (value * 10 + i64::from(digit - b'0')).min(1 << 40);
            self.at += 1;
            count += 1;
        }
        self.check_complete()?;
        if count == 0 {
            return Err(self.unexpected("a digit of an exponent"));
        }
        Ok(if negative { -value } else { value })
    }

    /// Digits of `base`. Underscores between them are allowed and removed.
    fn digits(&mut self, base: u32, limits: &Limits) -> Result<Cow<'a, [u8]>> {
        let rest = self.rest();
        let is_digit = |byte: u8| (byte as char).is_digit(base);
        let length = rest.iter().take_while(|byte| is_digit(**byte) || **byte == b'_').count();
        let text = &rest[..length];
        self.at += length;
        self.check_complete()?;
        if length > limits.digit_count {
            return Err(Error::limit(self.at - length, "a number has too many digits"));
        }
        let stray = text.first().is_none_or(|byte| *byte == b'_')
            || text.last() == Some(&b'_')
            || memchr::memmem::find(text, b"__").is_some();
        if stray {
            return Err(self.unexpected("digits, with single underscores between them at most"));
        }
        if !text.contains(&b'_') {
            return Ok(Cow::Borrowed(text));
        }
        Ok(text.iter().copied().filter(|byte| *byte != b'_').collect())
    }

    /// Checks that one of the specification's "numeric stop characters" follows.
    pub(super) fn stop(&self) -> Result<()> {
        self.check_complete()?;
        match self.byte() {
            Some(byte) if !is_stop(byte) => Err(self.unexpected("the end of a number")),
            _ => Ok(()),
        }
    }
}

/// The specification's "numeric stop characters".
pub(super) fn is_stop(byte: u8) -> bool {
    matches!(byte, b'{' | b'}' | b'[' | b']' | b'(' | b')' | b',' | b'"' | b'\'')
        || matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

fn float(negative: bool, digits: &[u8], exponent: i64) -> f64 {
    let digits = std::str::from_utf8(digits).unwrap_or("0");
    let magnitude: f64 = format!("{digits}e{exponent}").parse().unwrap_or(f64::NAN);
    if negative { -magnitude } else { magnitude }
}
