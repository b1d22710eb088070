//! Blobs and clobs: `{{base64}}`, `{{"text"}}`, `{{'''long''' '''text'''}}`.

use super::cursor::Cursor;
use super::quoted::Content;
use crate::error::{Error, Result};
use crate::value::Value;

impl Cursor<'_> {
    /// The lob that starts here, at its first brace.
    pub(super) fn lob(&mut self) -> Result<Value> {
        self.at += 2;
        self.blanks();
        let mut bytes = Vec::new();
        let value = match self.need()? {
            b'"' => {
                self.short(b'"', Content::Clob, &mut bytes)?;
                Value::Clob(bytes)
            }
            b'\'' => {
                while self.looking_at(b"'''")? {
                    self.long(Content::Clob, &mut bytes)?;
                    self.blanks();
                }
                Value::Clob(bytes)
            }
            _ => Value::Blob(self.base64()?),
        };
        self.blanks();
        if !self.looking_at(b"}}")? {
            return Err(self.unexpected("`}}` at the end of a blob or clob"));
        }
        self.at += 2;
        Ok(value)
    }

    /// Skips white space only: inside double braces a slash is data.
    fn blanks(&mut self) {
        while matches!(self.byte(), Some(b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)) {
            self.at += 1;
        }
    }

    fn base64(&mut self) -> Result<Vec<u8>> {
        let start = self.at;
        let mut out = Vec::new();
        let (mut bits, mut count, mut padding) = (0u32, 0, 0);
        loop {
            self.blanks();
            let byte = self.need()?;
            let digit = match byte {
                b'A'..=b'Z' => byte - b'A',
                b'a'..=b'z' => byte - b'a' + 26,
                b'0'..=b'9' => byte - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                b'=' => 0,
                b'}' => break,
                _ => return Err(self.unexpected("a base64 digit")),
            };
            padding += usize::from(byte == b'=');
            if padding > 0 && byte != b'=' {
                return Err(self.unexpected("`}}` after the padding of a blob"));
            }
            bits = bits << 6 | u32::from(digit);
            count += 1;
            // One `=` leaves two unused bits in the last digit, two leave four.
            if count % 4 == 0 && padding > 0 && bits & ((1 << (8 * padding.min(2))) - 1) != 0 {
                return Err(Error::syntax(start, "the base64 digits of a blob hold stray bits"));
            }
            if count % 4 == 0 {
                out.extend_from_slice(&bits.to_be_bytes()[1..]);
                bits = 0;
            }
            self.at += 1;
        }
        if count % 4 != 0 || padding > 2 {
            return Err(Error::syntax(
                start,
                "the base64 digits of a blob do not fill whole groups of four",
            ));
        }
        out.truncate(out.len() - padding);
        Ok(out)
    }
}
