//! Walks JSON text and checks its grammar (RFC 8259) without building values.
//!
//! Strings are skipped sixteen bytes at a time. Nesting is a stack of bits, so hostile depth costs
//! nothing. The caller checks UTF-8, over whole buffers at once.

use std::fmt;
use std::ops::Range;

use wide::u8x16;

use crate::lanes::{find, splat};
use crate::pattern::Pattern;

/// The maximum nesting of objects and arrays. `serde_json` does not parse deeper values, so a
/// deeper document could be stored but never read as a value.
pub const DEPTH_MAX: u32 = 127;

/// Where and why text is not JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// The offset in bytes from the start of the text.
    pub offset: usize,
    /// What is wrong there, or what was expected.
    pub reason: &'static str,
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} at byte {}", self.reason, self.offset)
    }
}

impl std::error::Error for Fault {}

/// The place of a member's key.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// The offset after its opening quote.
    pub start: usize,
    /// The offset of its closing quote.
    pub end: usize,
    /// Whether it has escapes.
    pub is_escaped: bool,
}

/// A position in JSON text.
#[derive(Debug)]
pub struct Scanner<'a> {
    /// The text.
    pub bytes: &'a [u8],
    /// The offset in bytes from its start.
    pub at: usize,
    /// Bytes of white space so far.
    pub space_count: usize,
    /// Whether half of a surrogate pair is accepted, which UTF-8 cannot represent.
    allows_half: bool,
}

impl<'a> Scanner<'a> {
    /// Starts at the beginning of a text.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, space_count: 0, allows_half: false }
    }

    /// The same, but accepts half of a surrogate pair, which UTF-8 cannot represent, so that the
    /// text around it can be returned.
    #[must_use]
    pub fn lenient(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, space_count: 0, allows_half: true }
    }

    /// A fault at this position.
    ///
    /// # Errors
    /// Always.
    pub fn fault<T>(&self, reason: &'static str) -> Result<T, Fault> {
        Err(Fault { offset: self.at, reason })
    }

    /// The byte at this position.
    #[inline]
    #[must_use]
    pub fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Skips white space.
    #[inline]
    pub fn whitespace(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek() {
            self.at += 1;
            self.space_count += 1;
        }
    }

    /// Skips white space and then one required byte.
    ///
    /// # Errors
    /// If the text is not JSON.
    #[inline]
    pub fn expect(&mut self, byte: u8, reason: &'static str) -> Result<(), Fault> {
        self.whitespace();
        if self.peek() != Some(byte) {
            return self.fault(reason);
        }
        self.at += 1;
        Ok(())
    }

    /// Skips a string whose opening quote was read. Returns whether it contains escapes.
    ///
    /// # Errors
    /// If the text is not JSON.
    #[inline]
    pub fn string(&mut self) -> Result<bool, Fault> {
        let mut escaped = false;
        loop {
            self.plain_run();
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(escaped);
                }
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                Some(_) => return self.fault("control character in a string"),
                None => return self.fault("string without an end"),
            }
        }
    }

    /// Skips bytes that need no check.
    #[inline]
    fn plain_run(&mut self) {
        self.at = plain_end(self.bytes, self.at);
    }

    fn escape(&mut self) -> Result<(), Fault> {
        match self.bytes.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 2,
            Some(b'u') => {
                let code = self.hex_escape()?;
                if !self.allows_half && (0xd800..0xe000).contains(&code) {
                    self.low_half(code)?;
                }
            }
            _ => return self.fault("unknown escape in a string"),
        }
        Ok(())
    }

    /// Skips the second half of a surrogate pair.
    fn low_half(&mut self, high: u32) -> Result<(), Fault> {
        let low = match self.bytes.get(self.at..self.at + 2) {
            Some(b"\\u") if high < 0xdc00 => self.hex_escape()?,
            _ => return self.fault("surrogate without its pair"),
        };
        match (0xdc00..0xe000).contains(&low) {
            true => Ok(()),
            false => self.fault("surrogate without its pair"),
        }
    }

    /// Skips `\uXXXX`.
    fn hex_escape(&mut self) -> Result<u32, Fault> {
        let digits = self.bytes.get(self.at + 2..self.at + 6).unwrap_or_default();
        let value = digits.iter().try_fold(0, |value, &digit| {
            (digit as char).to_digit(16).map(|digit| value * 16 + digit)
        });
        match value {
            Some(value) if digits.len() == 4 => {
                self.at += 6;
                Ok(value)
            }
            _ => self.fault("\\u needs four hexadecimal digits"),
        }
    }

    #[inline]
    fn digits(&mut self) -> Result<(), Fault> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at == start { self.fault("digit expected") } else { Ok(()) }
    }

    /// Skips a number.
    #[inline]
    pub(crate) fn number(&mut self) -> Result<(), Fault> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
            if self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
                return self.fault("number with a leading zero");
            }
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    /// Skips a word.
    #[inline]
    pub(crate) fn literal(&mut self, word: &'static [u8]) -> Result<(), Fault> {
        if self.bytes[self.at..].starts_with(word) {
            self.at += word.len();
            return Ok(());
        }
        self.fault("value expected")
    }

    /// Walks an object that must be the whole rest of the text; see [`Self::object`].
    ///
    /// # Errors
    /// If the text is not JSON.
    #[inline]
    pub fn whole_object(
        &mut self,
        member: impl FnMut(&mut Self, Key) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.object(member)?;
        self.end("text after the end of the document")
    }

    /// Skips white space, and fails with `reason` if anything else follows.
    ///
    /// # Errors
    /// If this is not the end of the text.
    #[inline]
    pub fn end(&mut self, reason: &'static str) -> Result<(), Fault> {
        self.whitespace();
        if self.at < self.bytes.len() { self.fault(reason) } else { Ok(()) }
    }

    /// Inside an array: moves to the next element, or past the closing bracket with `false`.
    /// `is_first` is true after the opening bracket.
    ///
    /// # Errors
    /// If the text is not JSON.
    #[inline]
    pub fn next_element(&mut self, is_first: bool) -> Result<bool, Fault> {
        self.whitespace();
        match self.peek() {
            Some(b']') => {
                self.at += 1;
                Ok(false)
            }
            _ if is_first => Ok(true),
            Some(b',') => {
                self.at += 1;
                Ok(true)
            }
            _ => self.fault("\",\" or \"]\" expected"),
        }
    }

    /// Inside an object: moves to the next key, or past the closing brace with `false`. `is_first`
    /// is true after the opening brace.
    #[inline]
    pub(crate) fn next_member(&mut self, is_first: bool) -> Result<bool, Fault> {
        self.whitespace();
        match self.peek() {
            Some(b'}') => {
                self.at += 1;
                return Ok(false);
            }
            _ if is_first => {}
            Some(b',') => self.at += 1,
            _ => return self.fault("\",\" or \"}\" expected"),
        }
        self.whitespace();
        Ok(true)
    }

    /// Skips a key with its colon, if it comes next.
    #[inline]
    pub(crate) fn take(&mut self, pattern: &Pattern) -> bool {
        let is_next = self.bytes.get(self.at..).is_some_and(|text| pattern.begins(text));
        if is_next {
            self.at += pattern.size();
        }
        is_next
    }

    /// Walks an object. `member` is called after the colon of each member, and must skip its value.
    ///
    /// # Errors
    /// If the text is not JSON.
    #[inline(always)] // a separate loop for each kind of member; every write uses it
    #[allow(clippy::inline_always)]
    pub fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, Key) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.expect(b'{', "a document is a JSON object: \"{\" expected")?;
        self.whitespace();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            let key = self.key()?;
            member(self, key)?;
            self.whitespace();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => break self.at += 1,
                _ => return self.fault("\",\" or \"}\" expected"),
            }
        }
        Ok(())
    }

    /// Skips a key and its colon.
    #[inline]
    pub(crate) fn key(&mut self) -> Result<Key, Fault> {
        self.expect(b'"', "a name in double quotes expected")?;
        let start = self.at;
        let is_escaped = self.string()?;
        let end = self.at - 1;
        self.expect(b':', "\":\" expected")?;
        Ok(Key { start, end, is_escaped })
    }

    /// Skips white space and one value, inside `outer` open objects or arrays. Returns the place of
    /// the value.
    ///
    /// # Errors
    /// If the text is not JSON.
    #[inline]
    pub fn value_range(&mut self, outer: u32) -> Result<Range<usize>, Fault> {
        self.whitespace();
        let start = self.at;
        self.value(outer)?;
        Ok(start..self.at)
    }

    /// Skips one value with all its content, inside `outer` open objects or arrays, without
    /// recursion.
    ///
    /// # Errors
    /// If the text is not JSON.
    #[inline(always)] // as a call it costs a tenth of a line's validation
    #[allow(clippy::inline_always)]
    pub fn value(&mut self, outer: u32) -> Result<(), Fault> {
        let mut objects: u128 = 0; // bit 0: the innermost open container is an object
        let mut depth: u32 = 0;
        loop {
            self.whitespace();
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    self.string()?;
                }
                Some(b'0'..=b'9' | b'-') => self.number()?,
                Some(opening @ (b'{' | b'[')) => {
                    self.at += 1;
                    depth += 1;
                    if depth + outer > DEPTH_MAX {
                        return self.fault("nested deeper than 127 levels");
                    }
                    let is_object = opening == b'{';
                    objects = objects << 1 | u128::from(is_object);
                    self.whitespace();
                    if self.peek() != Some(opening + 2) {
                        if is_object {
                            self.key()?;
                        }
                        continue;
                    }
                    // Empty: the closing bracket is handled below.
                }
                Some(b't') => self.literal(b"true")?,
                Some(b'f') => self.literal(b"false")?,
                Some(b'n') => self.literal(b"null")?,
                _ => return self.fault("value expected"),
            }
            if self.after_value(&mut objects, &mut depth)? {
                return Ok(());
            }
        }
    }

    /// Closes the containers that end here; `true` once none is open.
    #[inline]
    fn after_value(&mut self, objects: &mut u128, depth: &mut u32) -> Result<bool, Fault> {
        while *depth > 0 {
            let is_object = *objects & 1 == 1;
            self.whitespace();
            match self.peek() {
                Some(b',') => {
                    self.at += 1;
                    if is_object {
                        self.key()?;
                    }
                    return Ok(false);
                }
                Some(b'}') if is_object => {}
                Some(b']') if !is_object => {}
                _ if is_object => return self.fault("\",\" or \"}\" expected"),
                _ => return self.fault("\",\" or \"]\" expected"),
            }
            self.at += 1;
            *objects >>= 1;
            *depth -= 1;
        }
        Ok(true)
    }
}

/// The offset of the first quote, backslash or control character from `at` on, or the end. Up to
/// there a JSON string needs no escapes.
#[inline(always)] // as a call it costs a fifth of a line's validation
#[allow(clippy::inline_always)]
#[must_use]
pub fn plain_end(bytes: &[u8], at: usize) -> usize {
    let is_special = |bytes: u8x16| {
        bytes.simd_eq(splat(b'"')) | bytes.simd_eq(splat(b'\\')) | bytes.simd_le(splat(0x1f))
    };
    find(bytes, at, is_special).unwrap_or(bytes.len())
}
