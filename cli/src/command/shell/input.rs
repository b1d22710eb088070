//! Splits typed text into statements and directives.
//!
//! A statement ends with a semicolon outside quotes and comments. A line that begins with a point
//! where a statement could begin is a directive. So are `help`, `exit` and `quit` alone on a line,
//! and psql's commands with a backslash.

use super::directive::is_foreign;
use crate::language::{Language, Token, end_of_statement, tokens};

/// A statement or directive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Item<'a> {
    /// A statement without its semicolon, and whether it had one.
    Statement { text: &'a str, language: Language, is_ended: bool },
    /// A line such as `.help`.
    Directive(&'a str),
}

/// The statements and directives of a text, for a shell in a language.
pub(super) fn items(text: &str, language: Language) -> impl Iterator<Item = Item<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (item, length) = next_item(rest, language)?;
        rest = &rest[length..];
        Some(item)
    })
}

/// Whether a text needs another line before it can run.
pub(super) fn is_incomplete(text: &str, language: Language) -> bool {
    items(text, language).any(|item| matches!(item, Item::Statement { is_ended: false, .. }))
}

/// Whether a text is a directive.
pub(super) fn is_directive(text: &str) -> bool {
    let line = text.trim_start().lines().next().unwrap_or_default();
    let mut characters = line.chars();
    let begins_with_point =
        characters.next() == Some('.') && characters.next().is_some_and(char::is_alphabetic);
    begins_with_point || is_foreign(line)
}

/// The first statement or directive and its size; `None` if there is none.
pub(super) fn next_item(text: &str, language: Language) -> Option<(Item<'_>, usize)> {
    let start = tokens(text, language).find(Token::is_significant)?.range.start;
    if text[start..].starts_with(';') {
        let (item, length) = next_item(&text[start + 1..], language)?;
        return Some((item, start + 1 + length));
    }
    if is_directive(&text[start..]) {
        let length = text[start..].find('\n').unwrap_or(text.len() - start);
        return Some((Item::Directive(text[start..start + length].trim_end()), start + length));
    }
    let language = language.of(&text[start..]);
    let (end, next, is_ended) = match end_of_statement(&text[start..], language) {
        Some(end) => (start + end.start, start + end.end, true),
        None => (text.len(), text.len(), false),
    };
    Some((Item::Statement { text: text[start..end].trim_end(), language, is_ended }, next))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sql(text: &str, is_ended: bool) -> Item<'_> {
        Item::Statement { text, language: Language::Sql, is_ended }
    }

    fn ziql(text: &str, is_ended: bool) -> Item<'_> {
        Item::Statement { text, language: Language::Ziql, is_ended }
    }

    #[test]
    fn a_text_is_split_into_what_is_to_be_done() {
        for (text, expected) in [
            ("", vec![]),
            (" ; -- nothing\n;", vec![]),
            (
                "select ';'; grab A {b = ';'}\n;",
                vec![sql("select ';'", true), ziql("grab A {b = ';'}", true)],
            ),
            ("select 1\n.5", vec![sql("select 1\n.5", false)]),
            (
                ".mode json\nselect 1;\n.quit",
                vec![
                    Item::Directive(".mode json"),
                    sql("select 1", true),
                    Item::Directive(".quit"),
                ],
            ),
            ("grab A [2; b];", vec![ziql("grab A [2; b]", true)]),
            ("grab A # it's\n;", vec![ziql("grab A # it's", true)]),
            ("select 'open;", vec![sql("select 'open;", false)]),
        ] {
            assert_eq!(items(text, Language::Sql).collect::<Vec<_>>(), expected, "{text}");
        }
    }

    #[test]
    fn more_is_wanted_until_the_semicolon() {
        for (text, expected) in [
            ("select 1", true),
            ("select 1;", false),
            ("select 1; -- done", false),
            ("select 1; select", true),
            ("grab A {b = ';", true),
            ("grab A [2; b", true),
            (".help", false),
            ("exit", false),
            ("Quit;", false),
            ("\\d users", false),
            ("exit from", true),
            ("", false),
            ("-- a note", false),
        ] {
            assert_eq!(is_incomplete(text, Language::Sql), expected, "{text}");
        }
    }
}
