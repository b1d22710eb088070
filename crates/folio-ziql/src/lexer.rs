//! From text to tokens, longest match first.
//!
//! UUIDs, datetimes, dates and times are tried before numbers and names, so that
//! `2024-01-31` is always a date and never a subtraction. An invalid one (`2024/02/30`) is an
//! error at once.

use folio_compute::{Error, Result, Span};
use memchr::{memchr_iter, memrchr};

use crate::moment;
use crate::token::{Keyword, Lexeme, Token};

/// Signs of two characters, tried first.
const DOUBLE_SIGNS: [&str; 9] = ["=>", "!=", "<=", ">=", "!~", "+=", "-=", "*=", "/="];

/// Signs of one character.
const SIGNS: [&str; 22] = [
    "[", "]", "{", "}", "(", ")", "|", ";", ":", ",", ".", "*", "+", "-", "/", "%", "=", "<", ">",
    "~", "!", "?",
];

/// The index in [`SIGNS`] of each byte, or their number if it is not a sign.
const SIGN_OF: [u8; 256] = {
    let mut all = [SIGNS.len() as u8; 256];
    let mut sign = 0;
    while sign < SIGNS.len() {
        all[SIGNS[sign].as_bytes()[0] as usize] = sign as u8;
        sign += 1;
    }
    all
};

/// A position in a text.
#[derive(Clone, Copy)]
pub(crate) struct Lexer<'t> {
    rest: &'t str,
    line: u32,
    column: u32,
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { rest: text, line: 1, column: 1 }
    }

    /// The same position in a text that ends `size` bytes after it.
    pub(super) fn first(self, size: usize) -> Self {
        Self { rest: &self.rest[..size], ..self }
    }

    pub(super) fn next(&mut self) -> Result<Lexeme> {
        self.skip_blank();
        let start = (self.line, self.column);
        let token = self.token()?;
        Ok(Lexeme { token, span: self.since(start) })
    }

    pub(super) fn position(&self) -> (u32, u32) {
        (self.line, self.column)
    }

    pub(super) fn rest(&self) -> &'t str {
        self.rest
    }

    pub(super) fn since(&self, (line, column): (u32, u32)) -> Span {
        let (end_line, mut end_column) = (self.line, self.column);
        if end_line == line && end_column == column {
            end_column += 1;
        }
        Span { line, column, end_line, end_column }
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    /// Takes `size` bytes. They must end at a character boundary.
    pub(super) fn take(&mut self, size: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at(size);
        self.rest = rest;
        let bytes = taken.as_bytes();
        let last_line = match memrchr(b'\n', bytes) {
            None => bytes,
            Some(end) => {
                let lines = memchr_iter(b'\n', bytes).count();
                self.line += u32::try_from(lines).unwrap_or(u32::MAX);
                self.column = 1;
                &bytes[end + 1..]
            }
        };
        self.column += u32::try_from(character_count(last_line)).unwrap_or(u32::MAX);
        taken
    }

    /// Skips white space and comments.
    pub(super) fn skip_blank(&mut self) {
        loop {
            let blank = self.rest.len() - self.rest.trim_start().len();
            self.take(blank);
            if !self.rest.starts_with('#') && !self.rest.starts_with("--") {
                return;
            }
            self.take(self.rest.find('\n').unwrap_or(self.rest.len()));
        }
    }

    fn token(&mut self) -> Result<Token> {
        let Some(first) = self.peek() else { return Ok(Token::End) };
        if let Some(found) = moment::leading(self.rest) {
            let start = (self.line, self.column);
            self.take(found.size);
            return found.token.map_err(|message| {
                let (is_day, is_short) = (message.contains("no day"), message.contains("seconds"));
                let error = Error::syntax(message).at(self.since(start));
                match (is_day, is_short) {
                    (true, _) => error.help("dates are year-month-day"),
                    (_, true) => error.help("write it as 2024-01-31T12:04:05"),
                    _ => error,
                }
            });
        }
        match first {
            '\'' => self.text(),
            '`' => self.quoted_name(),
            '$' => self.parameter(),
            'a'..='z' | 'A'..='Z' | '_' => {
                let word = self.word();
                Ok(match Keyword::of(word) {
                    Some(keyword) => Token::Keyword(keyword),
                    None => Token::Name(word.to_owned(), false),
                })
            }
            '0'..='9' => self.number(),
            '.' if self.rest[1..].starts_with(|next: char| next.is_ascii_digit()) => self.number(),
            _ => self.sign(first),
        }
    }

    fn word(&mut self) -> &'t str {
        let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
        let size = self.rest.find(|character| !is_part(character)).unwrap_or(self.rest.len());
        self.take(size)
    }

    fn sign(&mut self, first: char) -> Result<Token> {
        let bytes = self.rest.as_bytes();
        let is_double = matches!(
            bytes,
            [b'=' | b'!' | b'<' | b'>' | b'+' | b'-' | b'*' | b'/', b'=' | b'>' | b'~', ..]
        );
        let double = DOUBLE_SIGNS.iter().find(|sign| is_double && self.rest.starts_with(**sign));
        let single =
            bytes.first().and_then(|byte| SIGNS.get(usize::from(SIGN_OF[usize::from(*byte)])));
        if let Some(sign) = double.or(single) {
            self.take(sign.len());
            return Ok(Token::Sign(sign));
        }
        let start = (self.line, self.column);
        self.take(first.len_utf8());
        let error = Error::syntax(format!("expected a word or a sign, found {first:?}"));
        let error = error.at(self.since(start));
        Err(match first {
            '"' => error.help("strings take single quotes, names backquotes"),
            _ if first.is_alphabetic() => error
                .help(format!("names with letters other than a to z need backquotes: `{first}…`")),
            _ => error,
        })
    }

    fn parameter(&mut self) -> Result<Token> {
        let start = (self.line, self.column);
        self.take(1);
        let name = self.word();
        if name.is_empty() {
            let error = Error::syntax("expected the name of a parameter after `$`");
            return Err(error.at(self.since(start)).help("write `$name`"));
        }
        Ok(Token::Parameter(name.to_owned()))
    }

    fn quoted_name(&mut self) -> Result<Token> {
        let start = (self.line, self.column);
        let Some(size) = self.rest[1..].find('`') else {
            self.take(1);
            let error = Error::syntax("the name is not closed");
            return Err(error.at(self.since(start)).help("end it with a backquote"));
        };
        let name = self.take(size + 2);
        let name = &name[1..=size];
        if name.is_empty() {
            return Err(Error::syntax("the name is empty").at(self.since(start)));
        }
        Ok(Token::Name(name.to_owned(), true))
    }

    fn number(&mut self) -> Result<Token> {
        let start = (self.line, self.column);
        let digits = |text: &str| {
            let is_part = |character: char| character.is_ascii_digit() || character == '_';
            text.find(|character| !is_part(character)).unwrap_or(text.len())
        };
        let mut size = digits(self.rest);
        let mut is_float = false;
        let rest = &self.rest[size..];
        if rest.strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        {
            is_float = true;
            size += 1 + digits(&rest[1..]);
        }
        if let Some(exponent) = self.rest[size..].strip_prefix(['e', 'E']) {
            let signed = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            if signed.starts_with(|c: char| c.is_ascii_digit()) {
                is_float = true;
                size += 1 + (exponent.len() - signed.len()) + digits(signed);
            }
        }
        let text: String = self.take(size).replace('_', "");
        let after = self.word();
        let span = self.since(start);
        if !after.is_empty() {
            let error = Error::syntax(format!("expected a number, found `{text}{after}`"));
            return Err(error.at(span).help("names do not begin with digits"));
        }
        number_of(&text, is_float).map_err(|error| error.at(span))
    }

    fn text(&mut self) -> Result<Token> {
        let start = (self.line, self.column);
        let mut decoded = String::new();
        self.take(1);
        loop {
            decoded.push_str(self.plain());
            match self.peek() {
                Some('\'') => {
                    self.take(1);
                    return Ok(Token::Text(decoded));
                }
                Some(_) => decoded.push(self.escape()?),
                None => {
                    let (line, column) = start;
                    let error = Error::syntax("the string is not closed");
                    return Err(error.at(Span::at(line, column)).help("end it with '"));
                }
            }
        }
    }

    /// The part of a string before the next quote or escape.
    fn plain(&mut self) -> &'t str {
        let end = self.rest.bytes().position(|byte| matches!(byte, b'\'' | b'\\'));
        self.take(end.unwrap_or(self.rest.len()))
    }

    /// `\' \\ \n \r \t \u{…}`
    fn escape(&mut self) -> Result<char> {
        let start = (self.line, self.column);
        self.take(1);
        let Some(letter) = self.peek() else {
            return Err(Error::syntax("the string is not closed").at(self.since(start)));
        };
        let plain = match letter {
            '\'' => '\'',
            '\\' => '\\',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => return self.code_point(start),
            other => {
                self.take(other.len_utf8());
                let shown = match other.is_control() {
                    true => other.escape_debug().to_string(),
                    false => other.to_string(),
                };
                return Err(Error::syntax(format!("`\\{shown}` is not an escape"))
                    .at(self.since(start))
                    .help(r"use \' \\ \n \r \t or \u{…}"));
            }
        };
        self.take(1);
        Ok(plain)
    }

    fn code_point(&mut self, start: (u32, u32)) -> Result<char> {
        self.take(1);
        let inside = self.rest.strip_prefix('{').and_then(|rest| rest.split_once('}'));
        let digits = inside.map(|(digits, _)| digits).filter(|digits| digits.len() <= 6);
        let decoded = digits.and_then(|digits| {
            let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            u32::from_str_radix(digits, 16).ok().filter(|_| is_hex).and_then(char::from_u32)
        });
        match (decoded, digits) {
            (Some(decoded), Some(digits)) => {
                self.take(digits.len() + 2);
                Ok(decoded)
            }
            _ => Err(Error::syntax(r"expected a character code after `\u`")
                .at(self.since(start))
                .help(r"write it as \u{1f600}")),
        }
    }
}

/// Counts characters by their first bytes. Sums up to 255 of them in one byte, so that many bytes
/// are counted at a time.
fn character_count(text: &[u8]) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    let first_bytes = |bytes: &[u8]| -> u8 {
        bytes.iter().map(|byte| u8::from(byte & 0xC0 != 0x80)).fold(0, u8::wrapping_add)
    };
    text.chunks(usize::from(u8::MAX)).map(|bytes| usize::from(first_bytes(bytes))).sum()
}

fn number_of(text: &str, is_float: bool) -> Result<Token> {
    if is_float {
        return match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Token::Float(number)),
            _ => Err(Error::syntax(format!("the number {text} is out of range for float"))),
        };
    }
    match text.parse::<u64>() {
        Ok(number) if number <= 1 << 63 => Ok(Token::Integer(number)),
        _ => Err(Error::syntax(format!("the number {text} is out of range for int"))
            .help("an int has 64 bits; with a decimal point it is a float")),
    }
}
