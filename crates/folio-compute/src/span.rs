//! Places in the text of a statement.
//!
//! Every expression that can fail when it is bound or run has a span, so that the error of a
//! division in the third line points at that division. Spans are ignored in comparisons:
//! `a + 1` is equal to itself anywhere in the text.

use std::hash::{Hash, Hasher};

/// A place in a statement. Lines and columns count from 1, columns in characters. The end
/// is exclusive. Line 0 means no place.
#[derive(Debug, Clone, Copy, Default, Eq)]
pub struct Span {
    /// The line it begins in.
    pub line: u32,
    /// The column it begins at.
    pub column: u32,
    /// The line it ends in.
    pub end_line: u32,
    /// The column after its end.
    pub end_column: u32,
}

impl Span {
    /// No place.
    pub const NONE: Self = Self { line: 0, column: 0, end_line: 0, end_column: 0 };

    /// The place of one character.
    #[must_use]
    pub fn at(line: u32, column: u32) -> Self {
        Self { line, column, end_line: line, end_column: column + 1 }
    }

    /// The place of a word in a text, in any letter case.
    pub(crate) fn of_word(word: &str, text: &str) -> Option<Self> {
        let is_part = |character: Option<char>| {
            character.is_some_and(|character| character.is_alphanumeric() || character == '_')
        };
        let length = u32::try_from(word.chars().count()).ok().filter(|length| *length > 0)?;
        (1..).zip(text.lines()).find_map(|(line, own)| {
            let (lower, word) = (own.to_lowercase(), word.to_lowercase());
            let mut places = lower.match_indices(&word).map(|(at, _)| at);
            let at = places.find(|at| {
                let (before, after) = (&lower[..*at], &lower[*at + word.len()..]);
                !is_part(before.chars().next_back()) && !is_part(after.chars().next())
            })?;
            let column = u32::try_from(lower[..at].chars().count()).ok()? + 1;
            Some(Self { line, column, end_line: line, end_column: column + length })
        })
    }

    /// The place of the first word of a text.
    pub fn of_first_word(text: &str) -> Option<Self> {
        let word = text.split_whitespace().next()?;
        let word = word.trim_end_matches(|end: char| !end.is_alphanumeric());
        Self::of_word(word, text)
    }

    /// The place directly after a text.
    pub fn after(text: &str) -> Self {
        let (line, own) = (1..).zip(text.trim_end().lines()).last().unwrap_or((1, ""));
        Self::at(line, u32::try_from(own.chars().count() + 1).unwrap_or(u32::MAX))
    }

    /// Whether it is a place.
    #[must_use]
    pub fn is_known(self) -> bool {
        self.line > 0
    }

    /// The line of the text it begins in, without secrets, and how many columns of it are marked:
    /// line, columns before the mark, columns marked.
    pub(crate) fn excerpt(self, text: &str) -> Option<(String, usize, usize)> {
        if !self.is_known() {
            return None;
        }
        let line = text.lines().nth(self.line as usize - 1).unwrap_or_default();
        let length = line.chars().count();
        let before = (self.column as usize).saturating_sub(1).min(length);
        let end = if self.end_line == self.line { self.end_column as usize - 1 } else { length };
        Some((without_secrets(line), before, end.saturating_sub(before).max(1)))
    }
}

/// A line with stars for the passwords and queries of its URLs, which may be secrets. It has as many
/// characters.
fn without_secrets(line: &str) -> String {
    let stars = |text: &str| "*".repeat(text.chars().count());
    let (mut shown, mut rest) = (String::with_capacity(line.len()), line);
    while let Some(at) = rest.find("://") {
        let (before, url) = rest.split_at(at + "://".len());
        let is_end = |end: char| end.is_whitespace() || matches!(end, '\'' | '"');
        let (url, after) = url.split_at(url.find(is_end).unwrap_or(url.len()));
        let host_end = url.find(['/', '?']).unwrap_or(url.len());
        let (user, url) = url.split_at(url[..host_end].rfind('@').unwrap_or(0));
        let (path, query) = url.split_at(url.find('?').map_or(url.len(), |at| at + 1));
        shown.extend([before, &stars(user), path, &stars(query)]);
        rest = after;
    }
    shown + rest
}

impl PartialEq for Span {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Hash for Span {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_shows_no_password_and_no_query_of_a_url() {
        for (line, shown) in [
            ("select a from t", "select a from t"),
            (
                "from 'http://user:word@host/b/x.jsonl' t, 's3://b/c?sig=é' where a ? 'b'",
                "from 'http://*********@host/b/x.jsonl' t, 's3://b/c?*****' where a ? 'b'",
            ),
            ("copy t to 'https://host?token", "copy t to 'https://host?*****"),
            ("from 'file:///p/a@b'", "from 'file:///p/a@b'"),
        ] {
            assert_eq!(without_secrets(line), shown);
        }
    }
}
