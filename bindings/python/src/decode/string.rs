//! Strings: decodes the bytes between two quotes to `str`.

use folio::json::find_quote;
use pyo3::ffi;

use super::cursor::Cursor;
use super::{Decoded, Decoder, Fault};

impl Decoder {
    /// Decodes the string whose opening quote is at the cursor, as an owned object.
    #[inline(always)]
    pub(super) fn string(&mut self, cursor: &mut Cursor<'_>) -> Decoded<*mut ffi::PyObject> {
        let start = cursor.at + 1;
        let Some(length) = find_quote(&cursor.text[start..]) else {
            return cursor.fault("a string has no end");
        };
        let end = start + length;
        if cursor.text[end] == b'\\' {
            return self.escaped_string(cursor, start, end);
        }
        cursor.at = end + 1;
        let text = &cursor.text[start..end];
        if text.len() == self.id.len() && length > 0 && text == &cursor.text[self.id.clone()] {
            return Ok(self.first_value_again());
        }
        self.texts.get(text)
    }

    /// Another reference to the document's first value.
    #[inline(always)]
    fn first_value_again(&self) -> *mut ffi::PyObject {
        // SAFETY: the stack owns it until the document is complete, and the interpreter's
        // lock is held throughout the decoder.
        unsafe {
            ffi::Py_IncRef(self.values[0]);
        }
        self.values[0]
    }

    /// Decodes a string with escapes, the first of which is at `first`.
    #[inline(never)]
    fn escaped_string(
        &mut self,
        cursor: &mut Cursor<'_>,
        start: usize,
        first: usize,
    ) -> Decoded<*mut ffi::PyObject> {
        self.scratch.clear();
        self.scratch.extend_from_slice(&cursor.text[start..first]);
        cursor.at = first;
        loop {
            if cursor.peek() == b'"' {
                cursor.at += 1;
                return make(&self.scratch);
            }
            unescape(cursor, &mut self.scratch)?;
            let Some(length) = find_quote(&cursor.text[cursor.at..]) else {
                return cursor.fault("a string has no end");
            };
            self.scratch.extend_from_slice(&cursor.text[cursor.at..cursor.at + length]);
            cursor.at += length;
        }
    }
}

/// A `str` from UTF-8. Allows lone surrogates, which JSON escapes can express and Python can hold.
#[inline(always)]
pub(super) fn make(text: &[u8]) -> Decoded<*mut ffi::PyObject> {
    // SAFETY: pointer and length are those of one slice, the error handler is a C
    // string, and the interpreter's lock is held throughout the decoder.
    let object = unsafe {
        ffi::PyUnicode_DecodeUTF8(
            text.as_ptr().cast(),
            text.len() as ffi::Py_ssize_t,
            c"surrogatepass".as_ptr(),
        )
    };
    if object.is_null() { Err(Fault::Raised.into()) } else { Ok(object) }
}

/// Decodes the escape at the cursor and appends the character.
fn unescape(cursor: &mut Cursor<'_>, out: &mut Vec<u8>) -> Decoded<()> {
    let Some(&kind) = cursor.text.get(cursor.at + 1) else {
        return cursor.fault("a string has no end");
    };
    cursor.at += 2;
    out.push(match kind {
        b'"' | b'\\' | b'/' => kind,
        b'b' => 0x08,
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'u' => return unescape_unicode(cursor, out),
        _ => return cursor.fault("an escape that JSON does not have"),
    });
    Ok(())
}

/// `\uXXXX`, or two of them for one character (RFC 8259, section 7).
fn unescape_unicode(cursor: &mut Cursor<'_>, out: &mut Vec<u8>) -> Decoded<()> {
    let high = hexadecimal(cursor)?;
    let mut code = high;
    if (0xd800..0xdc00).contains(&high) && cursor.text[cursor.at..].starts_with(b"\\u") {
        let after_high = cursor.at;
        cursor.at += 2;
        let low = hexadecimal(cursor)?;
        if (0xdc00..0xe000).contains(&low) {
            code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
        } else {
            cursor.at = after_high;
        }
    }
    push_code(code, out);
    Ok(())
}

fn hexadecimal(cursor: &mut Cursor<'_>) -> Decoded<u32> {
    let digits = cursor.text.get(cursor.at..cursor.at + 4).and_then(|digits| {
        let all = digits.iter().all(u8::is_ascii_hexdigit);
        std::str::from_utf8(digits).ok().filter(|_| all)
    });
    match digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()) {
        Some(code) => {
            cursor.at += 4;
            Ok(code)
        }
        None => cursor.fault("four hexadecimal digits expected"),
    }
}

/// Appends a code point as UTF-8, even a lone surrogate.
fn push_code(code: u32, out: &mut Vec<u8>) {
    match char::from_u32(code) {
        Some(character) => {
            out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
        None => out.extend_from_slice(&[
            0xe0 | (code >> 12) as u8,
            0x80 | (code >> 6 & 0x3f) as u8,
            0x80 | (code & 0x3f) as u8,
        ]),
    }
}
