//! Tokens of ZiQL, and their names in errors.

use std::fmt;
use std::ops::Range;

use folio_compute::{Span, cast};

/// A reserved word, in any letter case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keyword {
    /// `GRAB`
    Grab,
    /// `ADD`
    Add,
    /// `UPDATE`
    Update,
    /// `DELETE`
    Delete,
    /// `EXPLAIN`
    Explain,
    /// `AND`
    And,
    /// `OR`
    Or,
    /// `NOT`
    Not,
    /// `IN`
    In,
    /// `ALLIN`
    AllIn,
    /// `LIKE`
    Like,
    /// `TO`
    To,
    /// `BY`
    By,
    /// `ASC`
    Asc,
    /// `DESC`
    Desc,
    /// `true`
    True,
    /// `false`
    False,
    /// `none`
    None,
    /// `NOW`
    Now,
}

/// All keywords, in their usual case.
pub(crate) const KEYWORDS: [(&str, Keyword); 19] = [
    ("GRAB", Keyword::Grab),
    ("ADD", Keyword::Add),
    ("UPDATE", Keyword::Update),
    ("DELETE", Keyword::Delete),
    ("EXPLAIN", Keyword::Explain),
    ("AND", Keyword::And),
    ("OR", Keyword::Or),
    ("NOT", Keyword::Not),
    ("IN", Keyword::In),
    ("ALLIN", Keyword::AllIn),
    ("LIKE", Keyword::Like),
    ("TO", Keyword::To),
    ("BY", Keyword::By),
    ("ASC", Keyword::Asc),
    ("DESC", Keyword::Desc),
    ("true", Keyword::True),
    ("false", Keyword::False),
    ("none", Keyword::None),
    ("NOW", Keyword::Now),
];

impl Keyword {
    /// The keyword that equals a word in any letter case.
    pub(crate) fn of(word: &str) -> Option<Self> {
        let found = KEYWORDS.iter().find(|(text, _)| text.eq_ignore_ascii_case(word));
        found.map(|(_, keyword)| *keyword)
    }

    /// The text of the keyword.
    pub(crate) fn text(self) -> &'static str {
        let found = KEYWORDS.iter().find(|(_, keyword)| *keyword == self);
        found.map_or("", |(text, _)| text)
    }
}

/// A word, a value or a sign.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Token {
    /// A name, and whether it is in backquotes.
    Name(String, bool),
    /// A reserved word.
    Keyword(Keyword),
    /// A whole number without its sign: at most 2^63.
    Integer(u64),
    /// Any other number.
    Float(f64),
    /// Text, its escapes decoded.
    Text(String),
    /// Days since 1970.
    Date(i32),
    /// Microseconds since midnight.
    Time(i64),
    /// Microseconds since 1970, UTC.
    Timestamp(i64),
    /// A UUID.
    Uuid([u8; 16]),
    /// `$name`
    Parameter(String),
    /// A range of tuples in the literal buffer.
    Tuples(Range<usize>),
    /// Anything else.
    Sign(&'static str),
    /// The end of the text.
    End,
}

/// A token and its place.
#[derive(Debug, Clone)]
pub(crate) struct Lexeme {
    /// The token.
    pub(crate) token: Token,
    /// Its place.
    pub(crate) span: Span,
}

impl fmt::Display for Token {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name, _) => write!(out, "the name `{}`", shortened(name)),
            Self::Keyword(keyword) => write!(out, "the keyword `{}`", keyword.text()),
            Self::Integer(number) => write!(out, "the number {number}"),
            Self::Float(number) => write!(out, "the number {number}"),
            Self::Text(text) => write!(out, "the string '{}'", shortened(text)),
            Self::Date(_) => out.write_str("a date"),
            Self::Time(_) => out.write_str("a time"),
            Self::Timestamp(_) => out.write_str("a datetime"),
            Self::Uuid(uuid) => write!(out, "the uuid {}", cast::format_uuid(uuid)),
            Self::Parameter(name) => write!(out, "the parameter `${name}`"),
            Self::Tuples(_) => out.write_str("`(`"),
            Self::Sign(sign) => write!(out, "`{sign}`"),
            Self::End => out.write_str("the end of the text"),
        }
    }
}

/// The beginning of a text that is too long for a message.
fn shortened(text: &str) -> String {
    const SHOWN: usize = 40;
    let mut shown: String = text.chars().take(SHOWN).collect();
    if text.chars().count() > SHOWN {
        shown.push('…');
    }
    shown.replace('\n', "\\n")
}
