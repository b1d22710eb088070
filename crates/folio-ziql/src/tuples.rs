//! Reads the later tuples of ADD directly from the text if they consist of literals. A statement
//! with thousands of tuples needs only one token for each run of them. Tuples with a comment or
//! a name are tokenized as usual.

use wide::u8x16;

use crate::lexer::Lexer;
use crate::literal_buffer::{Cell, LiteralBuffer};
use crate::moment;
use crate::token::{Keyword, Token};

/// Tracks whether a later tuple of ADD may begin at the current token.
#[derive(Default)]
pub(super) struct Tuples {
    depth: usize,
    is_add: bool,
    /// Whether the last token closed a tuple, ignoring commas.
    is_after: bool,
}

impl Tuples {
    /// Whether a tuple may begin here.
    pub(super) fn may_begin(&self) -> bool {
        self.is_after
    }

    /// Moves past a token.
    pub(super) fn see(&mut self, token: &Token) {
        match token {
            Token::Sign("(" | "[" | "{") => {
                self.depth += 1;
                self.is_after = false;
            }
            Token::Sign(sign @ (")" | "]" | "}")) => {
                self.depth = self.depth.saturating_sub(1);
                self.is_after = self.depth == 0 && self.is_add && *sign == ")";
            }
            Token::Sign(",") if self.is_after => {}
            Token::Keyword(Keyword::Add) if self.depth == 0 => {
                (self.is_add, self.is_after) = (true, false);
            }
            _ if self.is_after || matches!(token, Token::Sign(";" | "=>")) => {
                (self.is_add, self.is_after) = (false, false);
            }
            _ => {}
        }
    }
}

/// Reads literals of a text into a buffer. Each reader takes a position and returns the one after
/// what it has read; `None` if the text there is something else.
#[derive(Clone, Copy)]
pub(super) struct Reader<'t> {
    text: &'t str,
    bytes: &'t [u8],
}

impl<'t> Reader<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, bytes: text.as_bytes() }
    }

    /// Reads all tuples of literals from here, separated by commas or nothing. Returns the end of
    /// the last; `None` if there is none.
    pub(super) fn tuples(self, mut at: usize, buffer: &mut LiteralBuffer) -> Option<usize> {
        let mut last = None;
        loop {
            let cell = buffer.cell_count();
            let Some(end) = self.tuple(at, buffer) else {
                buffer.truncate(cell);
                return last;
            };
            buffer.close_tuple(cell, at..end);
            last = Some(end);
            at = self.after_white(end);
            if self.byte(at) == Some(b',') {
                at = self.after_white(at + 1);
            }
        }
    }

    #[inline]
    fn tuple(self, mut at: usize, buffer: &mut LiteralBuffer) -> Option<usize> {
        (self.byte(at)? == b'(').then_some(())?;
        loop {
            at = self.after_white(at + 1);
            at = match self.byte(at)? {
                b'[' => self.list(at, buffer)?,
                _ => self.scalar(at, buffer)?,
            };
            at = self.after_white(at);
            match self.byte(at)? {
                b',' => {}
                b')' => return Some(at + 1),
                _ => return None,
            }
        }
    }

    fn list(self, at: usize, buffer: &mut LiteralBuffer) -> Option<usize> {
        let first = buffer.cell_count();
        let mut at = self.after_white(at + 1);
        while self.byte(at) != Some(b']') {
            at = self.after_white(self.scalar(at, buffer)?);
            let has_comma = self.byte(at) == Some(b',');
            at = self.after_white(at + usize::from(has_comma));
            // A comma or the closing bracket. A trailing comma is left to the parser.
            let is_last = self.byte(at) == Some(b']');
            (has_comma != is_last).then_some(())?;
        }
        let list = buffer.list(buffer.cell_count() - first);
        buffer.push(list);
        Some(at + 1)
    }

    #[inline]
    fn scalar(self, at: usize, buffer: &mut LiteralBuffer) -> Option<usize> {
        match self.byte(at)? {
            b'\'' => self.plain_text(at, buffer),
            b'0'..=b'9' | b'a'..=b'f' if self.byte(at + 8) == Some(b'-') => self.uuid(at, buffer),
            b'0'..=b'9' => self.whole_number(at, buffer),
            _ => None,
        }
        .or_else(|| self.any(at, buffer))
    }

    /// Reads a string without escapes.
    #[inline]
    fn plain_text(self, at: usize, buffer: &mut LiteralBuffer) -> Option<usize> {
        let start = at + 1;
        let end = start + end_of_plain(&self.bytes[start..])?;
        (self.bytes[end] == b'\'').then_some(())?;
        buffer.push(LiteralBuffer::text_cell(start..end));
        Some(end + 1)
    }

    /// Reads digits that fit an int, if they are the whole number.
    #[inline]
    fn whole_number(self, start: usize, buffer: &mut LiteralBuffer) -> Option<usize> {
        const DIGITS_MAX: usize = 18;
        let (mut number, mut at) = (0i64, start);
        while let Some(digit @ b'0'..=b'9') = self.byte(at) {
            number = number.wrapping_mul(10).wrapping_add(i64::from(digit - b'0'));
            at += 1;
        }
        let ends = matches!(self.byte(at)?, b',' | b')' | b']' | b' ' | b'\n');
        (ends && at - start <= DIGITS_MAX).then_some(())?;
        buffer.push(Cell::Integer(number));
        Some(at)
    }

    fn uuid(self, at: usize, buffer: &mut LiteralBuffer) -> Option<usize> {
        let uuid = moment::uuid(&self.bytes[at..])?;
        let end = at + moment::UUID_SIZE;
        moment::ends_word(self.bytes, end).then_some(())?;
        buffer.push(Cell::Uuid(uuid));
        Some(end)
    }

    /// Reads any other literal that the lexer accepts.
    #[cold]
    fn any(self, mut at: usize, buffer: &mut LiteralBuffer) -> Option<usize> {
        let is_comment = self.bytes[at..].starts_with(b"--");
        let is_negative = !is_comment && self.byte(at) == Some(b'-');
        at += usize::from(is_negative);
        let mut lexer = Lexer::new(&self.text[at..]);
        let cell = match (lexer.next().ok()?.token, is_negative) {
            (Token::Integer(number), false) => Cell::Integer(i64::try_from(number).ok()?),
            (Token::Integer(number), true) => Cell::Integer(-i64::try_from(number).ok()?),
            (Token::Float(number), false) => Cell::Float(number),
            (Token::Float(number), true) => Cell::Float(-number),
            (_, true) => return None,
            (Token::Text(text), _) => buffer.decoded(&text),
            (Token::Date(day), _) => Cell::Date(day),
            (Token::Time(time), _) => Cell::Time(time),
            (Token::Timestamp(at), _) => Cell::Timestamp(at),
            (Token::Uuid(uuid), _) => Cell::Uuid(uuid),
            (Token::Keyword(Keyword::True), _) => Cell::Boolean(true),
            (Token::Keyword(Keyword::False), _) => Cell::Boolean(false),
            (Token::Keyword(Keyword::None), _) => Cell::Null,
            _ => return None,
        };
        buffer.push(cell);
        Some(self.text.len() - lexer.rest().len())
    }

    #[inline]
    fn byte(self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    /// The position after spaces and line ends.
    #[inline]
    fn after_white(self, mut at: usize) -> usize {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.byte(at) {
            at += 1;
        }
        at
    }
}

/// The first quote or backslash. Sixteen bytes at a time: most texts are so short that a general
/// search costs more to start.
fn end_of_plain(bytes: &[u8]) -> Option<usize> {
    let [quote, escape] = [b'\'', b'\\'].map(u8x16::splat);
    let (vectors, rest) = bytes.as_chunks();
    for (at, vector) in vectors.iter().enumerate() {
        let vector = u8x16::new(*vector);
        let found = (vector.simd_eq(quote) | vector.simd_eq(escape)).to_bitmask();
        if found != 0 {
            return Some(at * 16 + found.trailing_zeros() as usize);
        }
    }
    let found = rest.iter().position(|byte| matches!(byte, b'\'' | b'\\'))?;
    Some(vectors.len() * 16 + found)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::lexer::Lexer;
    use crate::literal_buffer::{Cell, LiteralBuffer};
    use crate::token::Token;
    use crate::tokenize::tokenize;

    /// The tuples after `ADD U (a = 1)` that are read as literals, with places, and the number
    /// of other tokens.
    fn read(tuples: &str) -> (Vec<String>, usize) {
        let text: Arc<str> = format!("ADD U (a = 1){tuples}").into();
        let mut buffer = LiteralBuffer::of(&text).expect("a short text");
        let tokens = tokenize(Lexer::new(&text), Some(&mut buffer)).expect("words of ZiQL");
        let is_other = |token: &Token| !matches!(token, Token::Tuples(_));
        let others = tokens.iter().filter(|lexeme| is_other(&lexeme.token)).count();
        let shown = (0..buffer.len()).map(|tuple| {
            let values = buffer.cells(tuple).iter().map(|cell| match cell {
                Cell::List(..) => {
                    let elements = buffer.elements(*cell).iter();
                    format!("{:?}", elements.map(|cell| buffer.value(cell)).collect::<Vec<_>>())
                }
                scalar => format!("{:?}", buffer.value(scalar)),
            });
            let span = buffer.span(tuple);
            let values: Vec<String> = values.collect();
            format!("{}:{} {}", span.line, span.column, values.join(" "))
        });
        // `ADD U (a = 1)` and the end are eight tokens.
        (shown.collect(), others - 8)
    }

    #[test]
    fn plain_text_ends_where_it_does() {
        let any = [0x00, 0x26, 0x28, 0x5b, 0x5d, 0x80, 0xa7, 0xdc, 0xff, b'a'];
        for size in 0..70 {
            let mut text: Vec<u8> = any.iter().copied().cycle().take(size).collect();
            assert_eq!(super::end_of_plain(&text), None, "{size} bytes");
            for end in 0..size {
                for sign in [b'\'', b'\\'] {
                    let before = std::mem::replace(&mut text[end], sign);
                    assert_eq!(super::end_of_plain(&text), Some(end), "{size} bytes");
                    text[end] = before;
                }
            }
        }
    }

    #[test]
    fn tuples_of_literals_are_read_whole() {
        let cases: [(&str, &[&str]); 11] = [
            (" ('Ada', 36)", &["1:15 Text(\"Ada\") Integer(36)"]),
            (
                "('ä', -1),\n  (none, true)\t(1.5,-.5)",
                &[
                    "1:14 Text(\"ä\") Integer(-1)",
                    "2:3 Null Boolean(true)",
                    "2:16 Float(1.5) Float(-0.5)",
                ],
            ),
            (
                "( 'it\\'s' )('\\u{e4}b', '')",
                &["1:14 Text(\"it's\")", "1:25 Text(\"äb\") Text(\"\")"],
            ),
            ("([], [1, 2], ['a'])", &["1:14 [] [Integer(1), Integer(2)] [Text(\"a\")]"]),
            ("(2024-01-31, 12:04, 1_000)", &["1:14 Date(19753) Time(43440000000) Integer(1000)"]),
            ("(9223372036854775807)", &["1:14 Integer(9223372036854775807)"]),
            (
                "(00112233-4455-6677-8899-aabbccddeeff, aAb12233-4455-6677-8899-AABBCCDDEEFF)",
                &["1:14 Uuid([0, 17, 34, 51, 68, 85, 102, 119, 136, 153, 170, 187, 204, 221, \
                   238, 255]) Uuid([170, 177, 34, 51, 68, 85, 102, 119, 136, 153, 170, 187, 204, \
                   221, 238, 255])"],
            ),
            ("(---5\n6)", &["1:14 Integer(6)"]),
            ("(1) OR SKIP", &["1:14 Integer(1)"]),
            ("(TRUE); GRAB U {a = 1}", &["1:14 Boolean(true)"]),
            ("(1) => ADD U (a = 2) (3)", &["1:14 Integer(1)", "1:35 Integer(3)"]),
        ];
        for (text, expected) in cases {
            assert_eq!(read(text).0, expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_literal_is_left_to_the_parser() {
        let cases = [
            "()",
            "(1,)",
            "(a = 1)",
            "(1 + 1)",
            "(NOW)",
            "($p)",
            "({name = 'a'})",
            "([1]{a = 1})",
            "('a' 'b')",
            "([1 2])",
            "([1,])",
            "(--5\n)",
            "(9223372036854775808)",
            "([[1]])",
            "(1 # one\n)",
            "(00112233-4455-6677-8899-aabbccddeefg)",
            "(00112233-4455-6677-8899-aabbccddeeff0)",
        ];
        for text in cases {
            let (read, others) = read(text);
            assert!(read.is_empty() && others > 0, "{text}: {read:?}");
        }
    }
}
