//! Numbers: `int` of any size, correctly rounded `float`, or `Decimal`.

use std::ffi::CString;
use std::ptr;

use folio::json::EXACT_POWERS;
use pyo3::ffi;
use pyo3::prelude::*;

use super::cursor::Cursor;
use super::{Decoded, Decoder, Fault};

/// Any number of this many digits fits an `i64`.
const INT_DIGITS_MAX: usize = 18;

/// Every integer up to this one is exact as a double.
const EXACT_MAX: u64 = 1 << 53;

impl Decoder {
    /// Decodes the number at the cursor, as an owned object.
    #[inline(always)]
    pub(super) fn number(&mut self, cursor: &mut Cursor<'_>) -> Decoded<*mut ffi::PyObject> {
        let start = cursor.at;
        let is_negative = cursor.peek() == b'-';
        cursor.at += usize::from(is_negative);
        let first = cursor.at;
        let mut digits = 0u64;
        while cursor.peek().is_ascii_digit() {
            digits = digits.wrapping_mul(10).wrapping_add(u64::from(cursor.peek() - b'0'));
            cursor.at += 1;
        }
        let digit_count = cursor.at - first;
        if digit_count == 0 {
            return cursor.fault("a value expected");
        }
        if matches!(cursor.peek(), b'.' | b'e' | b'E') {
            return self.fraction(cursor, start, digits, digit_count);
        }
        if digit_count > INT_DIGITS_MAX {
            return big_int(&cursor.text[start..cursor.at]);
        }
        let value = if is_negative { -(digits as i64) } else { digits as i64 };
        // SAFETY: the interpreter's lock is held throughout the decoder.
        owned(unsafe { ffi::PyLong_FromLongLong(value) })
    }

    /// Decodes the rest of a number with a fraction or an exponent.
    ///
    /// Short ones are quotients of two exact doubles, and the division rounds correctly (Clinger,
    /// "How to read floating point numbers accurately", 1990).
    #[inline(always)]
    fn fraction(
        &mut self,
        cursor: &mut Cursor<'_>,
        start: usize,
        mut digits: u64,
        mut digit_count: usize,
    ) -> Decoded<*mut ffi::PyObject> {
        let mut fraction_count = 0;
        if cursor.peek() == b'.' {
            cursor.at += 1;
            while cursor.peek().is_ascii_digit() {
                digits = digits.wrapping_mul(10).wrapping_add(u64::from(cursor.peek() - b'0'));
                cursor.at += 1;
                fraction_count += 1;
            }
            digit_count += fraction_count;
        }
        let has_exponent = matches!(cursor.peek(), b'e' | b'E');
        let is_short = digit_count <= INT_DIGITS_MAX && digits <= EXACT_MAX;
        if has_exponent || !is_short || self.decimal.is_some() {
            return self.long_fraction(cursor, start);
        }
        let value = digits as f64 / EXACT_POWERS[fraction_count];
        let is_negative = cursor.text[start] == b'-';
        // SAFETY: the interpreter's lock is held throughout the decoder.
        owned(unsafe { ffi::PyFloat_FromDouble(if is_negative { -value } else { value }) })
    }

    #[inline(never)]
    fn long_fraction(
        &mut self,
        cursor: &mut Cursor<'_>,
        start: usize,
    ) -> Decoded<*mut ffi::PyObject> {
        while matches!(cursor.peek(), b'0'..=b'9' | b'e' | b'E' | b'+' | b'-') {
            cursor.at += 1;
        }
        let text = std::str::from_utf8(&cursor.text[start..cursor.at]).expect("digits are ASCII");
        if let Some(decimal) = &self.decimal {
            return Python::attach(|py| match decimal.call1(py, (text,)) {
                Ok(value) => Ok(value.into_ptr()),
                Err(error) => {
                    error.restore(py);
                    Err(Fault::Raised.into())
                }
            });
        }
        let Ok(value) = text.parse() else { return cursor.fault("not a number") };
        // SAFETY: the interpreter's lock is held throughout the decoder.
        owned(unsafe { ffi::PyFloat_FromDouble(value) })
    }
}

#[inline(never)]
fn big_int(digits: &[u8]) -> Decoded<*mut ffi::PyObject> {
    let digits = CString::new(digits).expect("digits are no zero bytes");
    // SAFETY: a C string, and no interest in where its number ends.
    owned(unsafe { ffi::PyLong_FromString(digits.as_ptr(), ptr::null_mut(), 10) })
}

#[inline(always)]
fn owned(object: *mut ffi::PyObject) -> Decoded<*mut ffi::PyObject> {
    if object.is_null() { Err(Fault::Raised.into()) } else { Ok(object) }
}
