//! Skips a value without reading it.
//!
//! Containers go through the block kernel. Only quoted symbols, long strings, comments and lobs are
//! read byte by byte. Skipped bytes are checked only as far as needed to find the end: brackets may
//! be of the wrong kind, names may be undefined.

use super::cursor::Cursor;
use crate::error::{Error, Result};
use crate::kernel::{Container, is_token_end, plain_run, skip_container, token_end};

/// The bytes that end a bare token.
pub(crate) const fn after_value(byte: u8) -> bool {
    matches!(byte, b',' | b'}' | b']' | b')' | b' ' | b'\n' | b'\t' | b'\r' | b'/')
}

impl Cursor<'_> {
    /// Skips the value here, annotations included.
    #[inline]
    pub(crate) fn skip_value(&mut self) -> Result<()> {
        loop {
            match self.need()? {
                b'"' => return self.skip_quoted(b'"'),
                b'{' if self.looking_at(b"{{")? => return self.skip_lob(),
                b'{' | b'[' | b'(' => {
                    self.at += 1;
                    return self.skip_open(1);
                }
                b'\'' if self.looking_at(b"'''")? => return self.skip_long(),
                b'\'' => self.skip_quoted(b'\'')?,
                byte if after_value(byte) => return Err(self.unexpected("a value")),
                _ => self.skip_token()?,
            }
            if !self.colons_ahead()? {
                return Ok(());
            }
            self.space()?;
        }
    }

    /// Whether an annotation's colons follow. Most values are followed by a comma instead.
    #[inline(always)]
    fn colons_ahead(&mut self) -> Result<bool> {
        match self.byte() {
            Some(b',' | b'}' | b']') => Ok(false),
            _ => self.colons(),
        }
    }

    /// Skips to the end of the outermost of `depth` open containers.
    #[inline]
    pub(crate) fn skip_open(&mut self, mut depth: usize) -> Result<()> {
        loop {
            match skip_container(self.bytes, self.at, depth) {
                Container::End(end) => {
                    self.at = end;
                    return Ok(());
                }
                Container::Special(at, open) => {
                    self.at = at;
                    depth = open;
                    self.skip_special()?;
                }
                Container::Broken(at) => {
                    return Err(Error::syntax(at, "a line break inside quotes; write \\n"));
                }
                Container::Incomplete => return Err(self.end()),
            }
        }
    }

    /// Skips a construct that the kernel does not handle.
    fn skip_special(&mut self) -> Result<()> {
        match self.need()? {
            b'\'' if self.looking_at(b"'''")? => self.skip_long_segment(),
            b'\'' => self.skip_quoted(b'\''),
            b'{' => self.skip_lob(),
            _ => {
                let start = self.at;
                self.space()?;
                // A single slash is an operator.
                self.at += usize::from(self.at == start);
                Ok(())
            }
        }
    }

    /// Skips a text in single or double quotes.
    #[inline]
    pub(crate) fn skip_quoted(&mut self, quote: u8) -> Result<()> {
        self.at += 1;
        loop {
            self.at += plain_run(self.rest(), quote).0;
            match self.need()? {
                b'\\' if self.ahead(1) == Some(b'\r') && self.ahead(2) == Some(b'\n') => {
                    self.at += 3;
                }
                b'\\' => self.at += 2,
                b'\n' | b'\r' => {
                    return Err(Error::syntax(self.at, "a line break inside quotes; write \\n"));
                }
                byte => {
                    self.at += 1;
                    if byte == quote {
                        return Ok(());
                    }
                }
            }
        }
    }

    fn skip_long_segment(&mut self) -> Result<()> {
        self.at += 3;
        loop {
            let found = memchr::memchr2(b'\'', b'\\', self.rest());
            self.at += found.ok_or_else(|| self.end())?;
            if self.byte() == Some(b'\\') {
                self.at += 2;
            } else if self.looking_at(b"'''")? {
                self.at += 3;
                return Ok(());
            } else {
                self.at += 1;
            }
        }
    }

    fn skip_long(&mut self) -> Result<()> {
        loop {
            self.skip_long_segment()?;
            let end = self.at;
            self.space()?;
            self.check_complete()?;
            if !self.looking_at(b"'''")? {
                self.at = end;
                return Ok(());
            }
        }
    }

    fn skip_lob(&mut self) -> Result<()> {
        self.at += 2;
        loop {
            let found = self.rest().iter().position(|byte| matches!(byte, b'}' | b'"' | b'\''));
            self.at += found.ok_or_else(|| self.end())?;
            match self.need()? {
                b'"' => self.skip_quoted(b'"')?,
                b'\'' if self.looking_at(b"'''")? => self.skip_long_segment()?,
                b'}' if self.looking_at(b"}}")? => {
                    self.at += 2;
                    return Ok(());
                }
                _ => return Err(self.unexpected("`}}` at the end of a blob or clob")),
            }
        }
    }

    /// Skips a number, a keyword, a timestamp or a bare symbol.
    #[inline]
    fn skip_token(&mut self) -> Result<()> {
        // A colon inside a timestamp belongs to it; a colon after a word makes the word an
        // annotation.
        let colon = !self.byte().is_some_and(|byte| byte.is_ascii_digit());
        let rest = self.rest();
        let mut at = 0;
        while let Some(chunk) = rest.get(at..).and_then(|rest| rest.first_chunk::<16>()) {
            let stop = token_end(chunk, colon);
            if stop != 0 {
                self.at += at + stop.trailing_zeros() as usize;
                return Ok(());
            }
            at += chunk.len();
        }
        let stops = |byte: &u8| is_token_end(*byte, colon);
        let end = rest[at..].iter().position(stops);
        self.at += end.map_or(rest.len(), |end| at + end);
        self.check_complete()
    }
}
