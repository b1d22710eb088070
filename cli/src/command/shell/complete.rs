//! Completion in the shell: what may follow in a statement, and directives, their words, and files.

use std::fs;
use std::path::Path;

use reedline::{Completer, CompletionResult, Span, Suggestion};

use super::directive::{DIRECTIVES, FORMATS, own_name};
use super::input::is_directive;
use super::names::{Names, SharedNames};
use crate::language::{
    Kind, Language, Token, begins, completions, in_case_of, relations_like, tokens,
};

/// Suggests completions.
pub(super) struct Suggestions {
    pub(super) names: SharedNames,
}

impl Completer for Suggestions {
    fn complete(&mut self, line: &str, position: usize) -> CompletionResult {
        let names = self.names.lock();
        let before = &line[..position];
        let found = if is_directive(before) || before.trim_start() == "." {
            of_directive(before, &names)
        } else {
            of_statement(before, &line[position..], &names)
        };
        CompletionResult::fresh(found)
    }
}

/// A suggestion that replaces the text from `start` to the cursor.
fn suggestion(value: String, what: &str, start: usize, end: usize) -> Suggestion {
    Suggestion {
        value,
        description: Some(what.to_owned()),
        span: Span::new(start, end),
        append_whitespace: false,
        ..Suggestion::default()
    }
}

fn of_directive(before: &str, names: &Names) -> Vec<Suggestion> {
    let start = before.rfind([' ', '\t', '\n']).map_or(0, |space| space + 1);
    let (word, end) = (&before[start..], before.len());
    let fits = |name: &&str| name.starts_with(word);
    match own_name(before.split_whitespace().next().unwrap_or(".")) {
        _ if before.trim_start() == word => DIRECTIVES
            .iter()
            .filter(|directive| directive.name.starts_with(word))
            .map(|directive| suggestion(directive.name.to_owned(), directive.about, start, end))
            .collect(),
        ".mode" => {
            let formats = FORMATS.iter().copied().filter(fits);
            formats.map(|name| suggestion(name.to_owned(), "format", start, end)).collect()
        }
        ".language" => {
            let both = ["sql", "ziql"].into_iter().filter(fits);
            both.map(|name| suggestion(name.to_owned(), "language", start, end)).collect()
        }
        ".timing" | ".bail" | ".vertical" => {
            let both = ["on", "off"].into_iter().filter(fits);
            both.map(|name| suggestion(name.to_owned(), "", start, end)).collect()
        }
        ".read" | ".import" => files(word, start, end),
        ".schema" | ".tables" => relations_like(word, start, &names.relations)
            .into_iter()
            .map(|found| suggestion(found.value, &found.what, start, end))
            .collect(),
        _ => Vec::new(),
    }
}

fn of_statement(before: &str, after: &str, names: &Names) -> Vec<Suggestion> {
    let language = names.language.of(before);
    let end = before.len();
    let last = tokens(before, language).last();
    if let Some(last) = last.filter(|last| !last.is_closed && last.kind == Kind::Text) {
        let start = last.range.start + 1;
        return files(&before[start..], start, end);
    }
    let found = completions(before, after, language, &names.relations);
    let mut found: Vec<Suggestion> = found
        .into_iter()
        .map(|found| suggestion(found.value, &found.what, found.start, end))
        .collect();
    // The first word of a statement may be one of the other language.
    let mut words = tokens(before, language).filter(Token::is_significant);
    if language == Language::Sql
        && let (Some(word), None) = (words.next(), words.next())
        && word.kind == Kind::Word
        && word.range.end == end
    {
        let typed = &before[word.range.clone()];
        let verbs = ["GRAB", "ADD"].into_iter().filter(|verb| begins(verb, typed));
        let start = word.range.start;
        found.extend(verbs.map(|verb| suggestion(in_case_of(verb, typed), "ziql", start, end)));
    }
    found
}

/// The files that complete a path.
fn files(typed: &str, start: usize, end: usize) -> Vec<Suggestion> {
    let (folder, begun) = typed
        .rsplit_once('/')
        .map_or(("", typed), |(_, begun)| (&typed[..typed.len() - begun.len()], begun));
    let place = if folder.is_empty() { Path::new(".") } else { Path::new(folder) };
    let Ok(entries) = fs::read_dir(place) else { return Vec::new() };
    let mut found: Vec<Suggestion> = entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let is_hidden = name.starts_with('.') && !begun.starts_with('.');
            if is_hidden || !name.starts_with(begun) {
                return None;
            }
            let is_folder = entry.path().is_dir();
            let ending = if is_folder { "/" } else { "" };
            let what = if is_folder { "folder" } else { "file" };
            Some(suggestion(format!("{folder}{name}{ending}"), what, start, end))
        })
        .collect();
    found.sort_unstable_by(|one, other| one.value.cmp(&other.value));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::{Relation, Relations};

    fn values(line: &str) -> Vec<String> {
        let names = SharedNames::new(Language::Sql);
        let relation = |name: &str, column: &str| Relation {
            name: name.to_owned(),
            kind: "table",
            columns: vec![column.to_owned()],
            links: Vec::new(),
            paths: Vec::new(),
            count: None,
        };
        names.lock().relations = Relations(vec![relation("users", "id"), relation("User", "age")]);
        let position = line.find('|').unwrap();
        let line = line.replace('|', "");
        let mut suggestions = Suggestions { names };
        let found = suggestions.complete(&line, position);
        found.suggestions().iter().map(|found| found.value.clone()).collect()
    }

    #[test]
    fn what_fits_is_suggested() {
        for (line, expected) in [
            ("select id| from users", vec!["id", "identity"]),
            ("gr|", vec!["greatest(", "group", "grouping", "grab"]),
            ("grab user|", vec!["users", "User"]),
            (".mo|", vec![".mode"]),
            (".mode j|", vec!["jsonl", "json"]),
            ("\\d us|", vec!["users", "User"]),
            ("\\x of|", vec!["off"]),
            ("select 1 -- sel|", vec![]),
            ("select 'no such file|", vec![]),
        ] {
            assert_eq!(values(line), expected, "{line}");
        }
    }
}
