//! Quoted text: strings, long strings, quoted symbols, and their common escapes.

use super::cursor::Cursor;
use crate::error::{Error, Result};
use crate::kernel::plain_run;
use std::borrow::Cow;

/// The content of a quoted text: characters, or the bytes of a clob.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    Text,
    Clob,
}

impl<'a> Cursor<'a> {
    /// The text between `quote`s, from the opening one.
    #[inline]
    pub(crate) fn quoted(&mut self, quote: u8) -> Result<Cow<'a, str>> {
        let start = self.at + 1;
        let rest = self.bytes.get(start..).unwrap_or_default();
        let (length, ascii) = plain_run(rest, quote);
        if ascii && rest.get(length) == Some(&quote) {
            self.at = start + length + 1;
            if let Ok(text) = std::str::from_utf8(&rest[..length]) {
                return Ok(Cow::Borrowed(text));
            }
        }
        let mut bytes = Vec::new();
        self.short(quote, Content::Text, &mut bytes)?;
        self.text(bytes, start).map(Cow::Owned)
    }

    /// The text of one or more long strings, joined, from the first opening quote.
    pub(crate) fn long_strings(&mut self) -> Result<String> {
        let start = self.at;
        let mut bytes = Vec::new();
        loop {
            self.long(Content::Text, &mut bytes)?;
            let end = self.at;
            self.space()?;
            if !self.looking_at(b"'''")? {
                // At the very end, more input could bring another segment.
                self.check_complete()?;
                self.at = end;
                return self.text(bytes, start);
            }
        }
    }

    fn text(&self, bytes: Vec<u8>, start: usize) -> Result<String> {
        String::from_utf8(bytes).map_err(|_| Error::syntax(start, "the text is not valid utf-8"))
    }

    /// Appends the content of a text in single or double quotes.
    pub(super) fn short(&mut self, quote: u8, content: Content, out: &mut Vec<u8>) -> Result<()> {
        self.at += 1;
        loop {
            let (length, ascii) = plain_run(self.rest(), quote);
            self.plain(length, ascii, content, out)?;
            match self.need()? {
                b'\\' => self.escape(content, out)?,
                byte if byte == quote => {
                    self.at += 1;
                    return Ok(());
                }
                byte @ (b'\t' | 0x0b | 0x0c) => {
                    out.push(byte);
                    self.at += 1;
                }
                b'\n' | b'\r' => {
                    return Err(Error::syntax(self.at, "a line break inside quotes; write \\n"));
                }
                _ => return Err(self.unexpected("an escape instead of a control character")),
            }
        }
    }

    /// Appends the content of one text in triple quotes.
    pub(super) fn long(&mut self, content: Content, out: &mut Vec<u8>) -> Result<()> {
        self.at += 3;
        loop {
            let (length, ascii) = plain_run(self.rest(), b'\'');
            self.plain(length, ascii, content, out)?;
            match self.need()? {
                b'\\' => self.escape(content, out)?,
                b'\'' if self.looking_at(b"'''")? => {
                    self.at += 3;
                    return Ok(());
                }
                // Every form of a line break is read as one line feed.
                b'\r' => {
                    self.at += 1;
                    self.check_complete()?;
                    self.eat(b'\n');
                    out.push(b'\n');
                }
                byte @ (b'\'' | b'\n' | b'\t' | 0x0b | 0x0c) => {
                    out.push(byte);
                    self.at += 1;
                }
                _ => return Err(self.unexpected("an escape instead of a control character")),
            }
        }
    }

    fn plain(
        &mut self,
        length: usize,
        ascii: bool,
        content: Content,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        if content == Content::Clob && !ascii {
            return Err(Error::syntax(self.at, "a clob holds a character beyond ascii; write \\x"));
        }
        out.extend_from_slice(&self.rest()[..length]);
        self.at += length;
        Ok(())
    }

    fn escape(&mut self, content: Content, out: &mut Vec<u8>) -> Result<()> {
        let start = self.at;
        self.at += 1;
        let kind = self.need()?;
        self.at += 1;
        let byte = match kind {
            b'0' => 0,
            b'a' => 7,
            b'b' => 8,
            b't' => b'\t',
            b'n' => b'\n',
            b'v' => 0x0b,
            b'f' => 0x0c,
            b'r' => b'\r',
            b'"' | b'\'' | b'\\' | b'/' | b'?' => kind,
            b'\n' => return Ok(()),
            b'\r' => {
                self.check_complete()?;
                self.eat(b'\n');
                return Ok(());
            }
            b'x' if content == Content::Clob => self.hexadecimal(2)? as u8,
            b'x' => return self.character(start, 2, out),
            b'u' if content == Content::Text => return self.character(start, 4, out),
            b'U' if content == Content::Text => return self.character(start, 8, out),
            _ => return Err(Error::syntax(start, "there is no such escape")),
        };
        out.push(byte);
        Ok(())
    }

    fn character(&mut self, start: usize, digits: usize, out: &mut Vec<u8>) -> Result<()> {
        let mut code = self.hexadecimal(digits)?;
        // Characters above U+FFFF may be written as two escaped surrogates, as in JSON.
        if digits == 4 && (0xd800..0xdc00).contains(&code) && self.looking_at(b"\\u")? {
            self.at += 2;
            let low = self.hexadecimal(4)?;
            if !(0xdc00..0xe000).contains(&low) {
                return Err(Error::syntax(start, "half of a surrogate pair"));
            }
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        }
        let character = char::from_u32(code)
            .ok_or_else(|| Error::syntax(start, "the escape names no unicode character"))?;
        out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        Ok(())
    }

    fn hexadecimal(&mut self, digits: usize) -> Result<u32> {
        let mut value = 0u32;
        for _ in 0..digits {
            let digit = (self.need()? as char).to_digit(16);
            value = value << 4 | digit.ok_or_else(|| self.unexpected("a hexadecimal digit"))?;
            self.at += 1;
        }
        Ok(value)
    }
}
