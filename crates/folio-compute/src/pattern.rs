//! LIKE, ILIKE, regular expressions, and SIMILAR TO.

use std::sync::Arc;

use arrow_array::builder::BooleanBufferBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, Datum, StringArray};
use regex::{Regex, RegexBuilder};

use crate::error::{Error, Result};
use crate::evaluated::Evaluated;

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
    let both_scalar = input.is_scalar() && pattern.is_scalar();
    let array: ArrayRef = if let Some(needles) = needles(kind, input, pattern, escape) {
        Arc::new(contains(input.get().0.as_string::<i32>(), &needles))
    } else if escape.is_none() && matches!(kind, MatchKind::Like | MatchKind::Prefix) {
        Arc::new(match kind {
            MatchKind::Like => arrow_string::like::like(input, pattern)?,
            _ => arrow_string::like::starts_with(input, pattern)?,
        })
    } else {
        Arc::new(by_regex(kind, input, pattern, escape)?)
    };
    Ok(if both_scalar { Evaluated::Scalar(array) } else { Evaluated::Array(array) })
}

/// The texts to search for one after the other, if a pattern asks for nothing else: `%one%two%`.
fn needles<'p>(
    kind: MatchKind,
    input: &Evaluated,
    pattern: &'p Evaluated,
    escape: Option<char>,
) -> Option<Vec<&'p str>> {
    if kind != MatchKind::Like || escape.is_some() || input.is_scalar() || !pattern.is_scalar() {
        return None;
    }
    let patterns = pattern.get().0.as_string::<i32>();
    if patterns.is_null(0) {
        return None;
    }
    let inside = patterns.value(0).strip_prefix('%')?.strip_suffix('%')?;
    let needles: Vec<_> = inside.split('%').filter(|needle| !needle.is_empty()).collect();
    (!needles.is_empty() && !inside.contains(['_', '\\'])).then_some(needles)
}

/// Which texts contain the needles one after the other. Searches the buffer of all texts at once for
/// the first: starting a search for each text costs more than the search itself. Texts begin at
/// character boundaries, so a match within the bounds of a text is a match in it. The leftmost match
/// of a needle leaves the most room for those after it, so no other one is tried.
fn contains(texts: &StringArray, needles: &[&str]) -> BooleanArray {
    let (offsets, block) = (texts.value_offsets(), texts.value_data());
    let end_of = |row: usize| offsets[row + 1] as usize;
    let mut found = BooleanBufferBuilder::new(texts.len());
    found.append_n(texts.len(), false);
    let finders: Vec<_> = needles.iter().map(memchr::memmem::Finder::new).collect();
    let Some((first, others)) = finders.split_first() else {
        return BooleanArray::new(found.finish(), texts.nulls().cloned());
    };
    let after = |finder: &memchr::memmem::Finder, from: usize, end: usize| {
        finder.find(&block[from..end]).map(|place| from + place + finder.needle().len())
    };
    let (mut row, mut from) = (0, offsets[0] as usize);
    let end = offsets[texts.len()] as usize;
    while let Some(match_end) = after(first, from, end) {
        let place = match_end - first.needle().len();
        while end_of(row) <= place {
            row += 1;
        }
        // A match that crosses the end of a text does not count.
        if match_end > end_of(row) {
            from = place + 1;
            continue;
        }
        let mut others = others.iter();
        if others.try_fold(match_end, |from, other| after(other, from, end_of(row))).is_some() {
            found.set_bit(row, true);
        }
        from = end_of(row);
    }
    BooleanArray::new(found.finish(), texts.nulls().cloned())
}

fn by_regex(
    kind: MatchKind,
    input: &Evaluated,
    pattern: &Evaluated,
    escape: Option<char>,
) -> Result<BooleanArray> {
    let (texts, patterns) = (input.get().0.as_string::<i32>(), pattern.get().0.as_string::<i32>());
    let text_at = |array: &StringArray, row: usize, is_scalar: bool| {
        let row = if is_scalar { 0 } else { row };
        (!array.is_null(row)).then(|| array.value(row).to_owned())
    };
    if pattern.is_scalar() {
        let pattern = text_at(patterns, 0, true).filter(|_| texts.null_count() < texts.len());
        let Some(pattern) = pattern else {
            return Ok(BooleanArray::new_null(texts.len()));
        };
        let regex = compile(kind, &pattern, escape)?;
        return Ok(texts.iter().map(|text| text.map(|text| regex.is_match(text))).collect());
    }
    let count = patterns.len();
    (0..count)
        .map(|row| {
            let (text, pattern) =
                (text_at(texts, row, input.is_scalar()), text_at(patterns, row, false));
            match (text, pattern) {
                (Some(text), Some(pattern)) => {
                    Ok(Some(compile(kind, &pattern, escape)?.is_match(&text)))
                }
                _ => Ok(None),
            }
        })
        .collect()
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
        .dot_matches_new_line(!matches!(kind, MatchKind::Regex | MatchKind::IRegex))
        .build()
        .map_err(|_| {
            Error::invalid(format!("{pattern:?} is not a regular expression"))
                .help("escape special characters with a backslash")
        })
}

fn from_wildcards(pattern: &str, escape: Option<char>, is_similar: bool) -> Result<String> {
    let escape = escape.unwrap_or('\\');
    let mut text = String::from("^(?:");
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        match character {
            character if character == escape => {
                let next = characters.next().ok_or_else(|| {
                    Error::invalid(format!("pattern {pattern:?} ends with its escape character"))
                })?;
                text.push_str(&regex::escape(&next.to_string()));
            }
            '%' => text.push_str(".*"),
            '_' => text.push('.'),
            '|' | '*' | '+' | '?' | '(' | ')' | '[' | ']' | '{' | '}' if is_similar => {
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
        assert!(compile(MatchKind::Regex, "(", None).is_err());
    }
    #[test]
    fn a_block_of_texts_is_searched_text_by_text() {
        // Needles across the ends of texts, in empty texts, in nulls, twice in one text.
        let parts = ["", "a", "b", "ab", "ba", "aab", "abab", "bb", "ü", "aüb"];
        let mut state = 7u64;
        for pattern in
            ["%a%", "%ab%", "%aba%", "%bb%", "%ü%", "%abü%", "%a%a%", "%ab%%b%", "%a%ü%b%"]
        {
            let mut texts = Vec::new();
            for _ in 0..500 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let choice = (state >> 33) as usize % (parts.len() + 1);
                texts.push(parts.get(choice).copied());
            }
            let array = StringArray::from(texts.clone());
            for start in [0, 1, 37] {
                let input = Evaluated::Array(Arc::new(array.slice(start, 400)));
                let asked = Evaluated::Scalar(Arc::new(StringArray::from(vec![pattern])));
                let needles = needles(MatchKind::Like, &input, &asked, None).expect("needles");
                let found = contains(input.get().0.as_string::<i32>(), &needles);
                let expected = texts[start..start + 400].iter();
                let regex = compile(MatchKind::Like, pattern, None).expect("a pattern");
                let expected = expected.map(|text| text.map(|text| regex.is_match(text)));
                assert!(found.iter().eq(expected), "{pattern} from {start}");
            }
        }
    }
}
