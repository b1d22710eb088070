//! What is wrong in a text: every statement compiled by itself, so that one error hides no other.
//!
//! A file that creates tables uses them further down, where they do not exist yet. Of a statement
//! that mentions such a name, only the syntax is checked.

use std::ops::Range;
use std::time::{Duration, Instant};

use folio::{ErrorCode, Session, StatementLanguage, check_schema_syntax, check_syntax};

use crate::language::{Kind, Language, Token, statements, tokens};

/// The most problems of one text.
const COUNT_MAX: usize = 100;

/// The most time for one text; statements after it are not checked.
const TIME_MAX: Duration = Duration::from_secs(5);

/// What is wrong, and where.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) range: Range<usize>,
    pub(super) code: &'static str,
    pub(super) message: String,
}

/// Whether a text declares structs.
pub(super) fn is_schema(text: &str, language: Language) -> bool {
    if language != Language::Ziql {
        return false;
    }
    let mut words = tokens(text, language).filter(Token::is_significant);
    let (first, second) = (words.next(), words.next());
    let is_verb = |word: &str| {
        ["GRAB", "ADD", "UPDATE", "DELETE", "EXPLAIN"]
            .iter()
            .any(|verb| verb.eq_ignore_ascii_case(word))
    };
    let is_name = |token: &Token| {
        token.kind == Kind::QuotedName
            || token.kind == Kind::Word && !is_verb(&text[token.range.clone()])
    };
    first.as_ref().is_some_and(is_name)
        && second.is_some_and(|token| token.kind == Kind::Symbol('('))
}

/// What is wrong in a text.
pub(super) fn problems(
    text: &str,
    language: Language,
    mut session: Option<&mut Session>,
) -> Vec<Problem> {
    if is_schema(text, language) {
        let checked = match session {
            Some(session) => session.check_schema(text, true).map(drop),
            None => check_schema_syntax(text),
        };
        return problem(text, 0..text.len(), language, checked).into_iter().collect();
    }
    let begun = Instant::now();
    let of_file = match language {
        Language::Sql => StatementLanguage::Sql,
        Language::Ziql => StatementLanguage::Ziql,
    };
    let (mut found, mut created) = (Vec::new(), Vec::new());
    for range in statements(text, language) {
        if found.len() == COUNT_MAX || begun.elapsed() > TIME_MAX {
            break;
        }
        let statement = &text[range.clone()];
        let words = words_of(statement, language);
        let is_known = !words.iter().any(|word| created.contains(word));
        let checked = match &mut session {
            Some(session) if is_known => session.check(statement, of_file),
            _ => check_syntax(statement, of_file),
        };
        created.extend(names_changed(words));
        found.extend(problem(text, range, language, checked));
    }
    found
}

/// The words and names of a statement, in lower case and without quotes.
fn words_of(statement: &str, language: Language) -> Vec<String> {
    let all = tokens(statement, language);
    let names = all.filter(|token| matches!(token.kind, Kind::Word | Kind::QuotedName));
    names.map(|token| statement[token.range].trim_matches(['"', '`']).to_lowercase()).collect()
}

/// What a statement creates, changes or drops.
fn names_changed(words: Vec<String>) -> Vec<String> {
    match words.first().map(String::as_str) {
        Some("create") => {
            let mut rest = words.into_iter().skip_while(|word| word != "table" && word != "view");
            rest.next();
            let mut rest = rest.skip_while(|word| ["if", "not", "exists"].contains(&&**word));
            rest.next().into_iter().collect()
        }
        Some("alter" | "drop") => words.into_iter().skip(2).collect(),
        _ => Vec::new(),
    }
}

/// The error of a statement at its place in the whole text. Errors of the database are none of the
/// text.
fn problem(
    text: &str,
    range: Range<usize>,
    language: Language,
    checked: folio::Result<()>,
) -> Option<Problem> {
    let Err(folio::Error::Query(error)) = checked else { return None };
    if matches!(error.code(), ErrorCode::Timeout | ErrorCode::Cancelled | ErrorCode::MemoryLimit) {
        return None;
    }
    let statement = &text[range.clone()];
    let (span, all) = (error.span(), || tokens(statement, language).filter(Token::is_significant));
    let place = match span.line {
        0 => all().next().map(|first| first.range),
        _ => {
            let start = offset(statement, span.line, span.column);
            let end = offset(statement, span.end_line, span.end_column).max(start);
            let rest = &statement[start..];
            match rest.chars().next() {
                // Where more was expected is nothing to mark: the last word before it is.
                _ if rest.trim_end().is_empty() => all().last().map(|last| last.range),
                Some(own) => Some(start..end.max(start + own.len_utf8())),
                None => None,
            }
        }
    };
    let place = place.unwrap_or(0..statement.len());
    let message = match error.hint() {
        Some(hint) => format!("{}\n{hint}", error.message()),
        None => error.message().to_owned(),
    };
    let range = range.start + place.start..range.start + place.end;
    Some(Problem { range, code: error.code().as_str(), message })
}

/// The offset of a line and a column, which count from 1 in characters.
fn offset(text: &str, line: u32, column: u32) -> usize {
    let start = match line {
        0 | 1 => 0,
        _ => {
            let end = text.match_indices('\n').nth(line as usize - 2);
            end.map_or(text.len(), |(end, _)| end + 1)
        }
    };
    let rest = &text[start..];
    let after = rest.char_indices().nth((column as usize).saturating_sub(1));
    start + after.map_or(rest.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words under which there are problems, without a database.
    fn marked(text: &str, language: Language) -> Vec<&str> {
        problems(text, language, None).into_iter().map(|found| &text[found.range]).collect()
    }

    #[test]
    fn the_words_that_are_wrong_are_marked() {
        use Language::{Sql, Ziql};
        for (text, language, expected) in [
            ("select 1; select 2", Sql, vec![]),
            ("é;\nselec 1; select from t", Sql, vec!["é", "selec", "from"]),
            ("select (1", Sql, vec!["1"]),
            ("GRAB User {name = };\nGRAB User [", Ziql, vec!["}", "["]),
            ("GRAB User {a = '😀' b}", Ziql, vec!["b"]),
            ("User ( name str )", Ziql, vec!["str"]),
            ("# a\nUser ( name: str )", Ziql, vec![]),
        ] {
            assert_eq!(marked(text, language), expected, "{text}");
        }
    }

    #[test]
    fn what_a_file_creates_is_known() {
        let names = |text: &str| names_changed(words_of(text, Language::Sql));
        for (text, expected) in [
            ("create table if not exists T (a int)", vec!["t"]),
            ("CREATE OR REPLACE VIEW \"my v\" as select 1", vec!["my v"]),
            ("create index i on t (a)", vec![]),
            ("alter table t rename to u", vec!["t", "rename", "to", "u"]),
            ("drop table a, b", vec!["a", "b"]),
            ("select 1", vec![]),
        ] {
            assert_eq!(names(text), expected, "{text}");
        }
    }
}
