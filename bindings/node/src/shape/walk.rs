//! Walks over a document (RFC 8259), and determines its outline and the marks of its values.
//!
//! Every step returns `None` for a document without a shape and for invalid JSON.

use folio::json::{EXACT_POWERS, plain_end};

use super::piece::Piece;
use super::{LIST, MarkBuffer, VALUE, VALUES_MAX};

/// The maximum nesting of objects; deeper ones are rare, and the limit protects the stack.
const DEPTH_MAX: u32 = 16;
/// Any number of this many digits fits a double's 53 bits.
const DIGITS_MAX: usize = 15;

/// A mark: two places of the array.
type Mark = [i32; 2];

pub(super) struct Walk<'a> {
    text: &'a [u8],
    at: usize,
    buffer: MarkBuffer<'a>,
    /// The end of the places available to the document.
    limit: usize,
    is_ascii: bool,
}

impl<'a> Walk<'a> {
    /// `text` must be shorter than 2 GiB.
    pub(super) fn new(text: &'a [u8], is_ascii: bool, buffer: MarkBuffer<'a>) -> Self {
        let limit = buffer.used.next + VALUES_MAX;
        buffer.used.next += 2; // for the shape's number and the next document
        Self { text, at: 0, buffer, limit, is_ascii }
    }

    /// Walks over the object that is the whole text, and appends its outline.
    pub(super) fn document(&mut self, outline: &mut Vec<u8>) -> Option<()> {
        (self.peek_token() == b'{').then_some(())?;
        self.object(outline, 0)?;
        self.end()
    }

    /// Walks over a document without spaces whose outline has these pieces.
    #[inline]
    pub(super) fn along(&mut self, pieces: &[Piece]) -> Option<()> {
        for piece in pieces {
            self.at += piece.size_in(&self.text[self.at..])?;
            self.shorten(piece.surplus);
            let mark = match piece.after {
                VALUE => self.scalar()?,
                LIST if self.peek() == b'[' => self.list()?,
                LIST => return None,
                _ => break,
            };
            self.put(mark)?;
        }
        self.end()
    }

    fn end(&mut self) -> Option<()> {
        self.peek_token();
        (self.at == self.text.len()).then_some(())
    }

    /// The byte at the cursor; zero after the end, which no JSON contains.
    #[inline(always)]
    fn peek(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or(0)
    }

    /// Skips spaces, and returns the next byte.
    #[inline(always)]
    fn peek_token(&mut self) -> u8 {
        while matches!(self.peek(), b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1;
        }
        self.peek()
    }

    fn object(&mut self, outline: &mut Vec<u8>, depth: u32) -> Option<()> {
        (depth < DEPTH_MAX).then_some(())?;
        self.at += 1;
        outline.push(b'{');
        if self.peek_token() != b'}' {
            loop {
                self.key(outline)?;
                self.member(outline, depth)?;
                match self.peek_token() {
                    b',' => outline.push(b','),
                    b'}' => break,
                    _ => return None,
                }
                self.at += 1;
            }
        }
        self.at += 1;
        outline.push(b'}');
        Some(())
    }

    /// Reads a key and its colon. Refuses `__proto__`, which is special in an object literal.
    fn key(&mut self, outline: &mut Vec<u8>) -> Option<()> {
        (self.peek_token() == b'"').then_some(())?;
        let start = self.at;
        let [first, _] = self.string()?;
        (first >= 0).then_some(())?;
        let key = &self.text[start..self.at];
        (key != b"\"__proto__\"").then_some(())?;
        outline.extend_from_slice(key);
        (self.peek_token() == b':').then_some(())?;
        outline.push(b':');
        self.at += 1;
        Some(())
    }

    fn member(&mut self, outline: &mut Vec<u8>, depth: u32) -> Option<()> {
        let mark = match self.peek_token() {
            b'{' => return self.object(outline, depth + 1),
            b'[' => {
                outline.push(LIST);
                self.list()?
            }
            _ => {
                outline.push(VALUE);
                self.scalar()?
            }
        };
        self.put(mark)
    }

    /// Stores the mark of the next value.
    #[inline(always)]
    fn put(&mut self, mark: Mark) -> Option<()> {
        let next = self.buffer.used.next;
        (next < self.limit).then_some(())?;
        self.buffer.marks[next..next + 2].copy_from_slice(&mark);
        self.buffer.used.next += 2;
        Some(())
    }

    /// Marks the array at the cursor. An array with nested objects or arrays is marked as JSON.
    fn list(&mut self) -> Option<Mark> {
        let (start, used) = (self.at, *self.buffer.used);
        if let Some(mark) = self.plain_list() {
            return Some(mark);
        }
        (self.at, *self.buffer.used) = (start, used);
        let first = self.place();
        self.skip_list()?;
        Some([-4 - first, self.place()])
    }

    #[inline(always)]
    fn plain_list(&mut self) -> Option<Mark> {
        self.at += 1;
        let first = self.buffer.used.listed;
        let mut listed = first;
        if self.peek_token() != b']' {
            loop {
                self.peek_token();
                let mark = self.scalar()?;
                self.buffer.marks.get_mut(listed..listed + 2)?.copy_from_slice(&mark);
                listed += 2;
                match self.peek_token() {
                    b',' => self.at += 1,
                    b']' => break,
                    _ => return None,
                }
            }
        }
        self.at += 1;
        self.buffer.used.listed = listed;
        Some([first as i32, ((listed - first) / 2) as i32])
    }

    /// Skips the array at the cursor.
    #[inline(never)]
    fn skip_list(&mut self) -> Option<()> {
        let mut depth = 0_u32;
        loop {
            match self.peek() {
                b'[' | b'{' => depth += 1,
                b']' | b'}' => depth -= 1,
                b'"' => {
                    self.string()?;
                    continue;
                }
                0 => return None,
                _ => (),
            }
            self.at += 1;
            if depth == 0 {
                return Some(());
            }
        }
    }

    #[inline(always)]
    fn scalar(&mut self) -> Option<Mark> {
        match self.peek() {
            b'"' => self.string(),
            b'-' | b'0'..=b'9' => self.number(),
            b'n' => self.word(b"null", 0),
            b'f' => self.word(b"false", 1),
            b't' => self.word(b"true", 2),
            _ => None,
        }
    }

    fn word(&mut self, word: &[u8], meaning: i32) -> Option<Mark> {
        self.text[self.at..].starts_with(word).then_some(())?;
        self.at += word.len();
        Some([-1, meaning])
    }

    /// The cursor's offset in the JavaScript string of the text.
    #[inline(always)]
    fn place(&self) -> i32 {
        self.buffer.used.shift.wrapping_add(self.at) as i32
    }

    /// Marks the string at the cursor.
    #[inline(always)]
    fn string(&mut self) -> Option<Mark> {
        self.at += 1;
        let first = self.place();
        self.step_over_plain();
        if self.peek() != b'"' {
            return self.escaped_string(first - 1);
        }
        self.at += 1;
        Some([first, self.place() - 1])
    }

    #[cold]
    fn escaped_string(&mut self, first: i32) -> Option<Mark> {
        while self.peek() == b'\\' {
            let escape = &self.text[self.at + 1..];
            self.at += match escape.first()? {
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => 2,
                b'u' if escape.get(1..5)?.iter().all(u8::is_ascii_hexdigit) => 6,
                _ => return None,
            };
            self.step_over_plain();
        }
        (self.peek() == b'"').then_some(())?;
        self.at += 1;
        Some([-4 - first, self.place()])
    }

    /// Moves to the next quote, backslash or control character.
    #[inline(always)]
    fn step_over_plain(&mut self) {
        let end = plain_end(self.text, self.at);
        if !self.is_ascii {
            self.shorten(surplus(&self.text[self.at..end]));
        }
        self.at = end;
    }

    /// Records by how much the string is shorter than the text.
    #[inline(always)]
    fn shorten(&mut self, surplus: usize) {
        self.buffer.used.shift = self.buffer.used.shift.wrapping_sub(surplus);
    }

    /// Short numbers are quotients of two exact doubles, and the division rounds correctly
    /// (Clinger, "How to read floating point numbers accurately", 1990).
    #[inline(always)]
    fn number(&mut self) -> Option<Mark> {
        let start = self.at;
        let is_negative = self.peek() == b'-';
        self.at += usize::from(is_negative);
        let first = self.at;
        let mut number = self.digits(0)?;
        (self.text[first] != b'0' || self.at == first + 1).then_some(())?;
        let mut point = self.at;
        if self.peek() == b'.' {
            self.at += 1;
            number = self.digits(number)?;
            point += 1;
        }
        if matches!(self.peek(), b'e' | b'E') || self.at - first > DIGITS_MAX {
            return self.long_number(start);
        }
        let fraction_size = self.at - point;
        if fraction_size == 0 && (number != 0 || !is_negative) {
            let number = if is_negative { -(number as i64) } else { number as i64 };
            if let Ok(number) = i32::try_from(number) {
                return Some([-2, number]);
            }
        }
        let value = number as f64 / EXACT_POWERS[fraction_size];
        self.double(if is_negative { -value } else { value })
    }

    /// Reads one or more digits, which continue those of `number`.
    #[inline(always)]
    fn digits(&mut self, mut number: u64) -> Option<u64> {
        let first = self.at;
        while self.peek().is_ascii_digit() {
            number = number.wrapping_mul(10).wrapping_add(u64::from(self.peek() - b'0'));
            self.at += 1;
        }
        (self.at > first).then_some(number)
    }

    /// Marks a number with many digits or an exponent, whose digits are before the cursor.
    #[inline(never)]
    fn long_number(&mut self, start: usize) -> Option<Mark> {
        if matches!(self.peek(), b'e' | b'E') {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), b'+' | b'-'));
            self.digits(0)?;
        }
        let text = std::str::from_utf8(&self.text[start..self.at]).ok()?;
        self.double(text.parse().ok()?)
    }

    fn double(&mut self, value: f64) -> Option<Mark> {
        let place = self.buffer.used.numbers;
        *self.buffer.numbers.get_mut(place)? = value;
        self.buffer.used.numbers += 1;
        Some([-3, place as i32])
    }
}

/// The difference between the UTF-8 bytes and the UTF-16 units of a text. A character of four bytes
/// has two units.
pub(super) fn surplus(text: &[u8]) -> usize {
    let continuing = text.iter().filter(|byte| matches!(byte, 0x80..=0xbf)).count();
    let beyond = text.iter().filter(|byte| **byte >= 0xf0).count();
    continuing.saturating_sub(beyond)
}
