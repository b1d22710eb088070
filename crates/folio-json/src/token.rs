//! Reads JSON text token by token, for readers that place the values themselves.
//!
//! Lines are valid JSON. Those we write have no white space between tokens; those of people may.
//! Text that is not JSON ends the walk.

use std::borrow::Cow;

use wide::u8x16;

use crate::container::container_end;
use crate::few::{ShortText, short_text};
use crate::lanes::{WIDTH, found_16, splat};
use crate::pattern::Pattern;
use crate::text::{Malformed, find_quote_at, number_end, push_text, text_end};

/// A position in a line.
pub(crate) struct Tokens<'a> {
    text: &'a [u8],
    at: usize,
}

/// The kind of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number,
    /// A string.
    Text,
    /// An array.
    Array,
    /// An object.
    Object,
}

impl Kind {
    /// The kind of a valid JSON text, by its first byte; `None` for other text.
    #[must_use]
    pub fn of(json: &str) -> Option<Self> {
        Tokens::new(json.as_bytes()).peek().ok()
    }
}

type Result<T> = std::result::Result<T, Malformed>;

impl<'a> Tokens<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Self::from(text, 0)
    }

    /// From an offset on.
    #[inline]
    pub(crate) fn from(text: &'a [u8], at: usize) -> Self {
        Self { text, at }
    }

    /// The offset of the next byte. After [`Self::peek`], the next value begins there.
    #[inline]
    pub(crate) fn at(&self) -> usize {
        self.at
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

    /// Finds the kind of the next value.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    pub(crate) fn peek(&mut self) -> Result<Kind> {
        match self.byte() {
            b'"' => Ok(Kind::Text),
            b'-' | b'0'..=b'9' => Ok(Kind::Number),
            b'{' => Ok(Kind::Object),
            b'[' => Ok(Kind::Array),
            b't' => Ok(Kind::Bool(true)),
            b'f' => Ok(Kind::Bool(false)),
            b'n' => Ok(Kind::Null),
            _ => Err(Malformed),
        }
    }

    /// Skips `null`, `true` or `false`.
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
        let start = self.at;
        self.at = number_end(self.text, start);
        Ok(&self.text[start..self.at])
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
            at = find_quote_at(self.text, at).ok_or(Malformed)?;
            if self.text[at] == b'"' {
                self.at = at + 1;
                return Ok((&self.text[start..at], has_escapes));
            }
            has_escapes = true;
            at += 2;
        }
    }

    /// The text between the quotes, if it has no escapes and less than sixteen bytes, and where it
    /// ends. [`Self::go_to`] skips it.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    pub(crate) fn short_text(&mut self) -> Option<(ShortText, usize)> {
        if self.byte() != b'"' {
            return None;
        }
        let rest = self.text.get(self.at + 1..)?;
        let mut padded = [0; WIDTH];
        let bytes = match rest.first_chunk() {
            Some(bytes) => bytes,
            None => {
                padded[..rest.len()].copy_from_slice(rest);
                &padded
            }
        };
        let is_special = |bytes: u8x16| bytes.simd_eq(splat(b'"')) | bytes.simd_eq(splat(b'\\'));
        let size = found_16(bytes, is_special).trailing_zeros() as usize;
        let is_whole = bytes.get(size) == Some(&b'"');
        is_whole.then(|| (short_text(bytes, size), self.at + size + 2))
    }

    /// Goes on at an offset.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    pub(crate) fn go_to(&mut self, at: usize) {
        self.at = at;
    }

    /// Enters an array or an object. An empty one is skipped, with `false`.
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

    /// After a member: whether another follows.
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

    /// Skips a key with its colon, if it comes next.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    pub(crate) fn take(&mut self, pattern: &Pattern) -> bool {
        self.byte();
        self.take_at_once(pattern)
    }

    /// Skips a pattern, if it comes next without white space before it.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    pub(crate) fn take_at_once(&mut self, pattern: &Pattern) -> bool {
        let is_next = pattern.begins(self.text.get(self.at..).unwrap_or_default());
        if is_next {
            self.at += pattern.size();
        }
        is_next
    }

    /// Skips to the end of a pattern that [is a key wherever it is found](Pattern::is_found_as_key),
    /// and members of the same object before it, perhaps from the brace that opens it.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    pub(crate) fn leap(&mut self, pattern: &Pattern) -> bool {
        let start = self.at + usize::from(self.text.get(self.at) == Some(&b'{'));
        let end = pattern.end_in(self.text, start);
        self.at = end.unwrap_or(self.at);
        end.is_some()
    }

    /// Reads a key, unescaped, and its colon.
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

    /// Skips a whole value and returns its text.
    pub(crate) fn raw(&mut self) -> Result<&'a [u8]> {
        self.byte();
        let start = self.at;
        self.skip()?;
        Ok(&self.text[start..self.at])
    }

    /// Skips a value. One without quotes or brackets is not looked at: it ends where a number would.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    pub(crate) fn skip(&mut self) -> Result<()> {
        match self.byte() {
            b'"' => self.at = text_end(self.text, self.at + 1).ok_or(Malformed)?,
            b'{' | b'[' => {
                self.at += 1;
                self.leave()?;
            }
            0 => return Err(Malformed),
            _ => self.at = number_end(self.text, self.at),
        }
        Ok(())
    }

    /// Inside an array or an object: skips what is left of it.
    #[inline(never)]
    pub(crate) fn leave(&mut self) -> Result<()> {
        self.at = container_end(self.text, self.at).ok_or(Malformed)?;
        Ok(())
    }
}
