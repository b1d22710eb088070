//! JSON text piece by piece, for readers that want to place the pieces themselves.
//!
//! Lines are valid JSON without white space between tokens as we write them, and
//! may have some as people do; text that is not JSON after all ends the walk.

use std::borrow::Cow;

use crate::pattern::Pattern;
use crate::text::{Malformed, find_quote, push_text};

/// A place in a line.
pub(crate) struct Tokens<'a> {
    text: &'a [u8],
    at: usize,
}

/// What comes next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    Null,
    Bool(bool),
    Number,
    Text,
    Array,
    Object,
}

type Result<T> = std::result::Result<T, Malformed>;

impl<'a> Tokens<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0 }
    }

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn byte(&mut self) -> u8 {
        loop {
            match self.text.get(self.at) {
                Some(&byte) if byte > b' ' => return byte,
                Some(b' ' | b'\t' | b'\r' | b'\n') => self.at += 1,
                _ => return 0,
            }
        }
    }

    /// The kind of the value to come.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    pub(crate) fn peek(&mut self) -> Result<Next> {
        match self.byte() {
            b'"' => Ok(Next::Text),
            b'-' | b'0'..=b'9' => Ok(Next::Number),
            b'{' => Ok(Next::Object),
            b'[' => Ok(Next::Array),
            b't' => Ok(Next::Bool(true)),
            b'f' => Ok(Next::Bool(false)),
            b'n' => Ok(Next::Null),
            _ => Err(Malformed),
        }
    }

    /// Steps over `null`, `true` or `false`.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    pub(crate) fn word(&mut self) -> Result<()> {
        let size = if self.byte() == b'f' { 5 } else { 4 };
        self.at = (self.at + size).min(self.text.len());
        Ok(())
    }

    /// The digits of a number.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    pub(crate) fn number(&mut self) -> Result<&'a [u8]> {
        self.byte();
        let rest = &self.text[self.at..];
        let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
        let size = rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
        self.at += size;
        Ok(&rest[..size])
    }

    /// The text between the quotes, and whether it has escapes.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    pub(crate) fn text(&mut self) -> Result<(&'a [u8], bool)> {
        self.byte();
        let start = self.at + 1;
        let mut at = start;
        let mut has_escapes = false;
        loop {
            let rest = self.text.get(at..).ok_or(Malformed)?;
            at += find_quote(rest).ok_or(Malformed)?;
            if self.text[at] == b'"' {
                self.at = at + 1;
                return Ok((&self.text[start..at], has_escapes));
            }
            has_escapes = true;
            at += 2;
        }
    }

    /// Steps into an array or an object; `false` when it is empty, and stepped over.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    pub(crate) fn enter(&mut self) -> Result<bool> {
        self.byte();
        self.at += 1;
        if matches!(self.byte(), b']' | b'}') {
            self.at += 1;
            return Ok(false);
        }
        Ok(true)
    }

    /// Behind a member: whether another follows.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    pub(crate) fn more(&mut self) -> Result<bool> {
        let byte = self.byte();
        self.at += 1;
        match byte {
            b',' => Ok(true),
            b']' | b'}' => Ok(false),
            _ => Err(Malformed),
        }
    }

    /// Steps over a key with its colon if it comes next.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    pub(crate) fn take(&mut self, pattern: &Pattern) -> bool {
        self.byte();
        let is_next = pattern.begins(&self.text[self.at.min(self.text.len())..]);
        if is_next {
            self.at += pattern.size();
        }
        is_next
    }

    /// A key, unescaped, and its colon.
    #[inline]
    pub(crate) fn key(&mut self) -> Result<Cow<'a, str>> {
        if self.byte() != b'"' {
            return Err(Malformed);
        }
        let (key, has_escapes) = self.text()?;
        if self.byte() != b':' {
            return Err(Malformed);
        }
        self.at += 1;
        if !has_escapes {
            return std::str::from_utf8(key).map(Cow::Borrowed).map_err(|_| Malformed);
        }
        let mut plain = Vec::new();
        push_text(key, has_escapes, &mut plain)?;
        String::from_utf8(plain).map(Cow::Owned).map_err(|_| Malformed)
    }

    /// The text of a whole value, which is stepped over.
    pub(crate) fn raw(&mut self) -> Result<&'a [u8]> {
        self.byte();
        let start = self.at;
        self.skip()?;
        Ok(&self.text[start..self.at])
    }

    /// Steps over a value.
    pub(crate) fn skip(&mut self) -> Result<()> {
        let mut depth = 0_usize;
        loop {
            match self.peek()? {
                Next::Text => drop(self.text()?),
                Next::Number => drop(self.number()?),
                Next::Null | Next::Bool(_) => self.word()?,
                kind @ (Next::Array | Next::Object) => {
                    if self.enter()? {
                        depth += 1;
                        if kind == Next::Object {
                            self.key()?;
                        }
                        // What is open is told apart by its closing byte: see below.
                        continue;
                    }
                }
            }
            loop {
                if depth == 0 {
                    return Ok(());
                }
                if self.more()? {
                    self.step_over_key()?;
                    break;
                }
                depth -= 1;
            }
        }
    }

    /// Behind a comma: an object has a key next, which an array's text value
    /// resembles up to the colon.
    fn step_over_key(&mut self) -> Result<()> {
        if self.byte() != b'"' {
            return Ok(());
        }
        let before = self.at;
        self.text()?;
        if self.byte() == b':' {
            self.at += 1;
        } else {
            self.at = before;
        }
        Ok(())
    }
}
