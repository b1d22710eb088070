//! The words of a text, in either language, as far as colours and semicolons need
//! them.
//!
//! Nothing is refused here: a text that is being typed is seldom right. A quote or
//! a comment without an end reaches to the end of the text, and says so.

use std::ops::Range;

use super::Language;

/// What a piece of text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Space,
    Comment,
    /// A name or a keyword.
    Word,
    /// A name in quotes.
    QuotedName,
    Number,
    Text,
    /// One character that is none of these.
    Symbol(char),
}

/// A piece of text: where, what, and whether it has its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) range: Range<usize>,
    pub(crate) is_closed: bool,
}

impl Token {
    /// Whether a statement has it: neither space nor comment.
    pub(crate) fn is_significant(&self) -> bool {
        !matches!(self.kind, Kind::Space | Kind::Comment)
    }
}

/// All of a text, piece by piece, without gaps.
pub(crate) fn tokens(text: &str, language: Language) -> impl Iterator<Item = Token> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = &text[at..];
        let first = rest.chars().next()?;
        let (kind, length, is_closed) = next(rest, first, language);
        let start = at;
        at += length;
        Some(Token { kind, range: start..at, is_closed })
    })
}

/// The semicolon that ends the first statement: `GRAB User [10; name];` has one more
/// inside of its brackets.
pub(crate) fn end_of_statement(text: &str, language: Language) -> Option<Range<usize>> {
    let mut depth = 0_usize;
    let mut pieces = tokens(text, language);
    let end = pieces.find(|token| {
        match token.kind {
            Kind::Symbol('[') => depth += 1,
            Kind::Symbol(']') => depth = depth.saturating_sub(1),
            _ => {}
        }
        token.kind == Kind::Symbol(';') && depth == 0
    });
    end.map(|token| token.range)
}

/// The statements of a text: from the first word of each to its semicolon, or to the end.
pub(crate) fn statements(text: &str, language: Language) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < text.len() {
            let (end, next) = match end_of_statement(&text[at..], language) {
                Some(end) => (at + end.start, at + end.end),
                None => (text.len(), text.len()),
            };
            let first = tokens(&text[at..end], language).find(Token::is_significant);
            let start = first.map(|first| at + first.range.start);
            at = next;
            if let Some(start) = start {
                return Some(start..start + text[start..end].trim_end().len());
            }
        }
        None
    })
}

/// The kind of the first piece, its length in bytes, and whether it has its end.
fn next(rest: &str, first: char, language: Language) -> (Kind, usize, bool) {
    let is_sql = language == Language::Sql;
    match first {
        _ if first.is_whitespace() => (Kind::Space, span(rest, char::is_whitespace), true),
        '-' if rest.starts_with("--") => (Kind::Comment, line(rest), true),
        '#' if !is_sql => (Kind::Comment, line(rest), true),
        '/' if is_sql && rest.starts_with("/*") => block_comment(rest),
        '\'' => quoted(rest, '\'', !is_sql, Kind::Text),
        '"' => quoted(rest, '"', !is_sql, if is_sql { Kind::QuotedName } else { Kind::Text }),
        '`' => quoted(rest, '`', false, Kind::QuotedName),
        'e' | 'E' if is_sql && rest[1..].starts_with('\'') => {
            let (kind, length, is_closed) = quoted(&rest[1..], '\'', true, Kind::Text);
            (kind, length + 1, is_closed)
        }
        '$' if is_sql => dollar_quoted(rest).unwrap_or((Kind::Symbol('$'), 1, true)),
        _ if first.is_ascii_digit() => (Kind::Number, number(rest), true),
        _ if is_word(first) => (Kind::Word, span(rest, is_word), true),
        _ => (Kind::Symbol(first), first.len_utf8(), true),
    }
}

/// Whether a name may have this character.
pub(crate) fn is_word(character: char) -> bool {
    character == '_' || character.is_alphanumeric()
}

fn span(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|character| !belongs(character)).unwrap_or(text.len())
}

fn line(text: &str) -> usize {
    text.find('\n').unwrap_or(text.len())
}

/// Digits, a point, an exponent; letters that follow belong to it too, as in a UUID.
fn number(text: &str) -> usize {
    let length = span(text, |character| is_word(character) || character == '.');
    // `1..2` and `t.1.` are rare; `1.` before a name is not worth a grammar.
    length.max(1)
}

/// Text up to its quote; the quote doubled, or after a backslash, is part of it.
fn quoted(text: &str, quote: char, has_escapes: bool, kind: Kind) -> (Kind, usize, bool) {
    let mut characters = text.char_indices().skip(1).peekable();
    while let Some((at, character)) = characters.next() {
        if has_escapes && character == '\\' {
            characters.next();
        } else if character == quote && characters.next_if(|next| next.1 == quote).is_none() {
            return (kind, at + 1, true);
        }
    }
    (kind, text.len(), false)
}

/// `/* … */`, which nests.
fn block_comment(text: &str) -> (Kind, usize, bool) {
    let (mut depth, mut at) = (0, 0);
    while let Some(found) = text[at..].find(['/', '*']) {
        at += found;
        if text[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return (Kind::Comment, at, true);
            }
        } else {
            at += 1;
        }
    }
    (Kind::Comment, text.len(), false)
}

/// `$tag$ … $tag$`; a parameter such as `$1` is none.
fn dollar_quoted(text: &str) -> Option<(Kind, usize, bool)> {
    let tag_length = text[1..].find('$')? + 2;
    let tag = &text[..tag_length];
    if tag[1..].starts_with(|first: char| first.is_ascii_digit())
        || !tag[1..tag_length - 1].chars().all(is_word)
    {
        return None;
    }
    let found = text[tag_length..].find(tag);
    let length = found.map_or(text.len(), |end| end + 2 * tag_length);
    Some((Kind::Text, length, found.is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pieces that are not space; an unclosed one is followed by `…`.
    fn pieces(text: &str, language: Language) -> Vec<String> {
        tokens(text, language)
            .filter(|token| token.kind != Kind::Space)
            .map(|token| {
                let ending = if token.is_closed { "" } else { "…" };
                format!("{}{ending}", &text[token.range])
            })
            .collect()
    }

    #[test]
    fn sql_is_split() {
        for (text, expected) in [
            ("a='it''s'", vec!["a", "=", "'it''s'"]),
            (r"E'a\'b' c", vec![r"E'a\'b'", "c"]),
            ("$t$;'$t$ $1", vec!["$t$;'$t$", "$", "1"]),
            ("/*a/*b*/c*/d--e\nf", vec!["/*a/*b*/c*/", "d", "--e", "f"]),
            ("'open", vec!["'open…"]),
            ("/*open", vec!["/*open…"]),
            ("grün 1.5e3;", vec!["grün", "1.5e3", ";"]),
        ] {
            assert_eq!(pieces(text, Language::Sql), expected, "{text}");
        }
    }

    #[test]
    fn ziql_is_split() {
        for (text, expected) in [
            (r"{a='it\'s'}", vec!["{", "a", "=", r"'it\'s'", "}"]),
            ("a # ;'\nb", vec!["a", "# ;'", "b"]),
            ("`count` $n", vec!["`count`", "$", "n"]),
        ] {
            assert_eq!(pieces(text, Language::Ziql), expected, "{text}");
        }
    }

    #[test]
    fn statements_are_found_between_semicolons() {
        use Language::{Sql, Ziql};
        for (text, language, expected) in [
            ("", Sql, vec![]),
            (" ;; -- nothing\n", Sql, vec![]),
            ("select ';' ; \n-- a\nselect 2", Sql, vec!["select ';'", "select 2"]),
            ("GRAB A [2; b]; ADD A ()", Ziql, vec!["GRAB A [2; b]", "ADD A ()"]),
            ("é; select 'open; ", Sql, vec!["é", "select 'open;"]),
        ] {
            let found: Vec<&str> = statements(text, language).map(|range| &text[range]).collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn pieces_make_up_the_text() {
        for text in ["e", "E", "$", "$$", "'", "é'\\", "\\'", "/", "*/", "1..2", "\u{a0}x"] {
            for language in [Language::Sql, Language::Ziql] {
                let mut at = 0;
                for token in tokens(text, language) {
                    assert_eq!(token.range.start, at, "{text}");
                    at = token.range.end;
                }
                assert_eq!(at, text.len(), "{text}");
            }
        }
    }
}
