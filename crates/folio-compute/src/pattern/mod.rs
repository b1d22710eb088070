//! LIKE, ILIKE, regular expressions, and SIMILAR TO. Prefixes, and LIKE without `_`, are searches for
//! pieces (`pieces`); other patterns are compiled to regular expressions.

mod pieces;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, Datum, StringArray};
use regex::{Regex, RegexBuilder};

use crate::error::{Error, Result};
use crate::evaluated::Evaluated;
use pieces::Pieces;

/// The escape character of a pattern that names none.
const ESCAPE: char = '\\';

/// A kind of pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchKind {
    /// `like`: `%` and `_`.
    Like,
    /// `ilike`: the same, ignoring letter case.
    ILike,
    /// `~`: a regular expression, matched anywhere in the text.
    Regex,
    /// `~*`: the same, ignoring letter case.
    IRegex,
    /// `similar to`: an SQL pattern with `|`, `*`, `+`, groups and classes.
    Similar,
    /// `^@` and `starts_with`.
    Prefix,
}

impl MatchKind {
    /// Its SQL operator.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Like => "like",
            Self::ILike => "ilike",
            Self::Regex => "~",
            Self::IRegex => "~*",
            Self::Similar => "similar to",
            Self::Prefix => "^@",
        }
    }
}

/// Whether each text matches its pattern; null if either is null. Both sides are texts.
///
/// # Errors
/// `invalid_input` for an invalid pattern.
pub fn matches(
    kind: MatchKind,
    input: &Evaluated,
    pattern: &Evaluated,
    escape: Option<char>,
) -> Result<Evaluated> {
    let (texts, patterns) = (input.get().0.as_string::<i32>(), pattern.get().0.as_string::<i32>());
    let found = match pattern.is_scalar() {
        true if patterns.is_null(0) || texts.null_count() == texts.len() => {
            BooleanArray::new_null(texts.len())
        }
        true => Matcher::new(kind, patterns.value(0), escape)?.match_all(texts),
        false => {
            let text_at = |row| {
                let row = if input.is_scalar() { 0 } else { row };
                (!texts.is_null(row)).then(|| texts.value(row))
            };
            let found = patterns.iter().enumerate().map(|(row, pattern)| {
                let both = text_at(row).zip(pattern);
                let is_match =
                    |(text, pattern)| Ok(Matcher::new(kind, pattern, escape)?.is_match(text));
                both.map(is_match).transpose()
            });
            found.collect::<Result<_>>()?
        }
    };
    let (array, both_scalar): (ArrayRef, _) =
        (Arc::new(found), input.is_scalar() && pattern.is_scalar());
    Ok(if both_scalar { Evaluated::Scalar(array) } else { Evaluated::Array(array) })
}

/// A pattern that texts are compared with.
enum Matcher {
    Pieces(Pieces),
    Regex(Regex),
}

impl Matcher {
    fn new(kind: MatchKind, pattern: &str, escape: Option<char>) -> Result<Self> {
        let pieces = match kind {
            MatchKind::Prefix => Some(Pieces::of_prefix(pattern)),
            MatchKind::Like if escape.is_none() => Pieces::of(pattern),
            _ => None,
        };
        Ok(match pieces {
            Some(pieces) => Self::Pieces(pieces),
            None => Self::Regex(compile(kind, pattern, escape)?),
        })
    }

    fn is_match(&self, text: &str) -> bool {
        match self {
            Self::Pieces(pieces) => pieces.match_text(text),
            Self::Regex(regex) => regex.is_match(text),
        }
    }

    fn match_all(&self, texts: &StringArray) -> BooleanArray {
        match self {
            Self::Pieces(pieces) => pieces.match_all(texts),
            Self::Regex(regex) => {
                texts.iter().map(|text| text.map(|text| regex.is_match(text))).collect()
            }
        }
    }
}

/// The regular expression of a pattern.
///
/// # Errors
/// `invalid_input` for an invalid pattern.
pub fn compile(kind: MatchKind, pattern: &str, escape: Option<char>) -> Result<Regex> {
    let text = match kind {
        MatchKind::Regex | MatchKind::IRegex => pattern.to_owned(),
        MatchKind::Prefix => format!("^{}", regex::escape(pattern)),
        MatchKind::Similar => from_wildcards(pattern, escape, true)?,
        MatchKind::Like | MatchKind::ILike => from_wildcards(pattern, escape, false)?,
    };
    let ignore_case = matches!(kind, MatchKind::ILike | MatchKind::IRegex);
    RegexBuilder::new(&text)
        .case_insensitive(ignore_case)
        .dot_matches_new_line(true)
        .build()
        .map_err(|_| {
            Error::invalid(format!("{pattern:?} is not a regular expression"))
                .help("escape special characters with a backslash")
        })
}

fn from_wildcards(pattern: &str, escape: Option<char>, is_similar: bool) -> Result<String> {
    let own = escape.unwrap_or(ESCAPE);
    // One that was not asked for, and escapes nothing, stands for itself.
    let at_end = if escape.is_none() { Some(ESCAPE) } else { None };
    let mut text = String::from("^(?:");
    let mut characters = pattern.chars().peekable();
    let mut is_in_brackets = false;
    while let Some(character) = characters.next() {
        match character {
            character if character == own => {
                let next = characters.next().or(at_end).ok_or_else(|| {
                    Error::invalid(format!("pattern {pattern:?} ends with its escape character"))
                })?;
                text.push_str(&regex::escape(&next.to_string()));
            }
            '[' if is_similar && !is_in_brackets => {
                is_in_brackets = true;
                text.push('[');
                text.extend(characters.next_if_eq(&'^'));
                // Right after the beginning it is a member.
                text.push_str(characters.next_if_eq(&']').map_or("", |_| r"\]"));
            }
            '[' if is_in_brackets && characters.peek() == Some(&':') => {
                text.push('[');
                let name = std::iter::from_fn(|| characters.next_if(|next| *next != ']'));
                text.extend(name);
                text.extend(characters.next());
            }
            ']' | '-' if is_in_brackets => {
                is_in_brackets = character == '-';
                text.push(character);
            }
            other if is_in_brackets => text.push_str(&regex::escape(&other.to_string())),
            '%' => text.push_str(".*"),
            '_' => text.push('.'),
            '|' | '*' | '+' | '?' | '(' | ')' | ']' | '{' | '}' if is_similar => {
                text.push(character);
            }
            other => text.push_str(&regex::escape(&other.to_string())),
        }
    }
    text.push_str(")$");
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_and_escapes() {
        let hits = |kind, pattern: &str, escape, text: &str| {
            compile(kind, pattern, escape).expect("a pattern").is_match(text)
        };
        assert!(hits(MatchKind::Like, "a%c", None, "abbc"));
        assert!(!hits(MatchKind::Like, "a_c", None, "abbc"));
        assert!(hits(MatchKind::Like, "10#%", Some('#'), "10%"));
        assert!(!hits(MatchKind::Like, "10#%", Some('#'), "100"));
        assert!(hits(MatchKind::ILike, "ABC", None, "abc"));
        assert!(hits(MatchKind::Similar, "(a|b)+", None, "abab"));
        for (pattern, hit, miss) in [
            ("[a-c]_", "bz", "-z"),
            ("[^a-c]%", "xy", "by"),
            ("[%^]", "^", "x"),
            ("[]a]", "]", "b"),
            ("[[:digit:]_]+", "1_2", "12a"),
            ("[a\\-c]", "-", "b"),
            ("[a&&b~]", "&", "c"),
        ] {
            assert!(hits(MatchKind::Similar, pattern, None, hit), "{pattern}");
            assert!(!hits(MatchKind::Similar, pattern, None, miss), "{pattern}");
        }
        assert!(compile(MatchKind::Regex, "(", None).is_err());
    }
}
