//! The later tuples of ADD, read straight from the text where they are nothing but
//! literals: of a statement with thousands of tuples no token is made but one for each.
//! What has an escape, a comment or a name in it is read as any other text.

use folio_types::Value;

use super::ast::Literal;
use super::lexer::Lexer;
use super::moment;
use super::token::{Keyword, Token};

/// Whether a tuple of ADD behind its first may begin here.
#[derive(Default)]
pub(super) struct Tuples {
    depth: usize,
    is_add: bool,
    /// Whether a tuple has ended, and nothing but commas came since.
    is_behind: bool,
}

impl Tuples {
    /// Whether one may begin here.
    pub(super) fn may_begin(&self) -> bool {
        self.is_behind
    }

    /// Goes on behind a token.
    pub(super) fn see(&mut self, token: &Token) {
        match token {
            Token::Sign("(" | "[" | "{") => {
                self.depth += 1;
                self.is_behind = false;
            }
            Token::Sign(sign @ (")" | "]" | "}")) => {
                self.depth = self.depth.saturating_sub(1);
                self.is_behind = self.depth == 0 && self.is_add && *sign == ")";
            }
            Token::Sign(",") if self.is_behind => {}
            Token::Keyword(Keyword::Add) if self.depth == 0 => {
                (self.is_add, self.is_behind) = (true, false);
            }
            _ if self.is_behind || matches!(token, Token::Sign(";" | "=>")) => {
                (self.is_add, self.is_behind) = (false, false);
            }
            _ => {}
        }
    }
}

impl Lexer<'_> {
    /// Reads a tuple of literals; answers how many, or `None` where it is none, and
    /// nothing was read.
    pub(super) fn literal_tuple(&mut self, literals: &mut Vec<Literal>) -> Option<usize> {
        let (place, first) = (self.place(), literals.len());
        let count = self.all_literals(literals);
        if count.is_none() {
            self.return_to(place);
            literals.truncate(first);
        }
        count
    }

    fn all_literals(&mut self, literals: &mut Vec<Literal>) -> Option<usize> {
        self.eat(b'(').then_some(())?;
        let mut count = 0;
        loop {
            self.skip_white();
            literals.push(self.literal()?);
            count += 1;
            self.skip_white();
            if self.eat(b')') {
                return Some(count);
            }
            self.eat(b',').then_some(())?;
        }
    }

    fn literal(&mut self) -> Option<Literal> {
        let start = self.position();
        if !self.eat(b'[') {
            let (value, span) = self.scalar()?;
            return Some(Literal { value, span, elements: Vec::new() });
        }
        let (mut values, mut elements) = (Vec::new(), Vec::new());
        self.skip_white();
        while !self.eat(b']') {
            let (value, span) = self.scalar()?;
            values.push(value);
            elements.push(span);
            self.skip_white();
            let has_comma = self.eat(b',');
            self.skip_white();
            // Either a comma or the end; both together are for the parser.
            let is_last = self.next_byte() == Some(b']');
            (has_comma != is_last).then_some(())?;
        }
        Some(Literal { value: Value::List(values), span: self.since(start), elements })
    }

    fn scalar(&mut self) -> Option<(Value, crate::span::Span)> {
        let start = self.position();
        let value = match self.next_byte()? {
            b'\'' => self.plain_text()?,
            b'-' => {
                self.eat(b'-');
                let start = self.position();
                let value = self.whole_number(true)?;
                return Some((value, self.since(start)));
            }
            b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F' => match moment::leading(self.rest()) {
                Some(found) => {
                    let value = super::parse::literal_of(found.token.ok()?, false)?;
                    self.take(found.size);
                    value
                }
                None => self.whole_number(false)?,
            },
            _ => return None,
        };
        Some((value, self.since(start)))
    }

    /// A string without escapes.
    fn plain_text(&mut self) -> Option<Value> {
        let text = &self.rest()[1..];
        let end = text.bytes().position(|byte| matches!(byte, b'\'' | b'\\'))?;
        (text.as_bytes()[end] == b'\'').then_some(())?;
        let value = Value::Text(text[..end].to_owned());
        self.take(end + 2);
        Some(value)
    }

    /// Digits alone, few enough for an int, and nothing of a longer number behind them.
    fn whole_number(&mut self, is_negative: bool) -> Option<Value> {
        const DIGITS_MAX: usize = 18;
        let bytes = self.rest().as_bytes();
        let size = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let ends = matches!(bytes.get(size)?, b',' | b')' | b']' | b' ' | b'\n');
        (ends && (1..=DIGITS_MAX).contains(&size)).then_some(())?;
        let digits = bytes[..size].iter();
        let number = digits.fold(0i64, |number, digit| number * 10 + i64::from(digit - b'0'));
        self.take(size);
        Some(Value::Integer(if is_negative { -number } else { number }))
    }
}
