//! Completion: suggests relations, columns, keywords, directives and files.
//!
//! Columns of relations in the statement come first, then what fits the word before the cursor:
//! relations after FROM and GRAB, everything elsewhere.

use std::fs;
use std::path::Path;

use folio::function_names;
use reedline::{Completer, CompletionResult, Span, Suggestion};

use super::directive::{DIRECTIVES, FORMATS, own_name};
use super::input::is_directive;
use super::language::Language;
use super::names::{Names, Relation, SharedNames};
use super::tokens::{Kind, Token, is_word, tokens};

/// Keywords that are followed by a relation.
const BEFORE_RELATION: &[&str] =
    &["FROM", "JOIN", "INTO", "UPDATE", "TABLE", "DESCRIBE", "GRAB", "ADD", "DELETE", "REFERENCES"];

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

/// A suggestion that replaces the last `length` bytes before the cursor.
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
        ".schema" | ".tables" => relations(names, word, Language::Ziql, start, end),
        _ => Vec::new(),
    }
}

fn of_statement(before: &str, after: &str, names: &Names) -> Vec<Suggestion> {
    let language = names.language.of(before);
    let all: Vec<Token> = tokens(before, language).filter(Token::is_significant).collect();
    let last = tokens(before, language).last();
    if let Some(last) = last.filter(|token| !token.is_closed || token.kind == Kind::Comment) {
        return in_quotes(before, &last);
    }
    let start = before.rfind(|character| !is_word(character));
    let start = start.map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    let (word, end) = (&before[start..], before.len());
    let whole = format!("{before}{after}");
    let named = named_relations(&whole, language, names);
    if let Some(owner) = before[..start].strip_suffix('.') {
        let owner = owner.rsplit(|character| !is_word(character)).next().unwrap_or_default();
        let relation = aliased(&whole, language, owner, names);
        return relation
            .map(|relation| columns(relation, word, language, start, end))
            .unwrap_or_default();
    }
    let previous = all.iter().rev().find(|token| token.range.end <= start);
    let previous = previous.map(|token| before[token.range.clone()].to_ascii_uppercase());
    if previous.as_deref().is_some_and(|previous| BEFORE_RELATION.contains(&previous)) {
        return relations(names, word, language, start, end);
    }
    let mut found = Vec::new();
    // Before any relation is named, suggest every column.
    let all_relations = || names.relations.iter().collect();
    let named = if named.is_empty() && !word.is_empty() { all_relations() } else { named };
    for relation in named {
        found.extend(columns(relation, word, language, start, end));
    }
    if !word.is_empty() {
        found.extend(relations(names, word, language, start, end));
        found.extend(functions(language, word, start, end));
        found.extend(keywords(language, word, start, end));
        if language == Language::Sql && all.len() == 1 {
            found.extend(
                ["GRAB", "ADD"]
                    .into_iter()
                    .filter(|verb| begins(verb, word))
                    .map(|verb| suggestion(in_case_of(verb, word), "ziql", start, end)),
            );
        }
    }
    found.dedup_by(|one, other| one.value == other.value);
    found
}

/// Suggests files inside quotes, and nothing in a comment.
fn in_quotes(before: &str, token: &Token) -> Vec<Suggestion> {
    if token.kind != Kind::Text {
        return Vec::new();
    }
    let start = token.range.start + 1;
    files(&before[start..], start, before.len())
}

/// The relations named in a statement, in order.
fn named_relations<'n>(text: &str, language: Language, names: &'n Names) -> Vec<&'n Relation> {
    let mut found: Vec<&Relation> = Vec::new();
    for token in tokens(text, language) {
        if matches!(token.kind, Kind::Word | Kind::QuotedName)
            && let Some(relation) = names.find(text[token.range].trim_matches(['"', '`']))
            && !found.iter().any(|other| other.name == relation.name)
        {
            found.push(relation);
        }
    }
    found
}

/// The relation of a name before a point: its own name, or an alias (`from users u`, `join users as
/// u`).
fn aliased<'n>(
    text: &str,
    language: Language,
    name: &str,
    names: &'n Names,
) -> Option<&'n Relation> {
    if let Some(relation) = names.find(name) {
        return Some(relation);
    }
    let words: Vec<&str> = tokens(text, language)
        .filter(|token| matches!(token.kind, Kind::Word | Kind::QuotedName))
        .map(|token| text[token.range].trim_matches(['"', '`']))
        .filter(|word| !word.eq_ignore_ascii_case("as"))
        .collect();
    let mut pairs = words.windows(2).filter(|pair| pair[1].eq_ignore_ascii_case(name));
    pairs.find_map(|pair| names.find(pair[0]))
}

fn relations(
    names: &Names,
    word: &str,
    language: Language,
    start: usize,
    end: usize,
) -> Vec<Suggestion> {
    let fitting = names.relations.iter().filter(|relation| begins(&relation.name, word));
    let named = fitting.map(|relation| {
        suggestion(in_quotes_if_needed(&relation.name, language), relation.kind, start, end)
    });
    named.collect()
}

fn columns(
    relation: &Relation,
    word: &str,
    language: Language,
    start: usize,
    end: usize,
) -> Vec<Suggestion> {
    let fitting = relation.columns.iter().filter(|column| begins(column, word));
    let what = format!("of {}", relation.name);
    let named =
        fitting.map(|column| suggestion(in_quotes_if_needed(column, language), &what, start, end));
    named.collect()
}

/// The SQL functions, each with its opening parenthesis.
fn functions(language: Language, word: &str, start: usize, end: usize) -> Vec<Suggestion> {
    if language != Language::Sql {
        return Vec::new();
    }
    let fitting = function_names().into_iter().filter(|name| begins(name, word));
    let called = fitting.map(|name| format!("{}(", in_case_of(&name.to_uppercase(), word)));
    called.map(|call| suggestion(call, "function", start, end)).collect()
}

/// Keywords that are only used as functions.
const CALLS: &[&str] = &["AVG", "COUNT", "MAX", "MIN", "SUM"];

fn keywords(language: Language, word: &str, start: usize, end: usize) -> Vec<Suggestion> {
    let is_call = |keyword: &&str| language == Language::Sql && CALLS.contains(keyword);
    let fitting = language.keywords().iter().filter(|keyword| begins(keyword, word));
    let fitting = fitting.filter(|keyword| !is_call(keyword));
    fitting.map(|keyword| suggestion(in_case_of(keyword, word), "", start, end)).collect()
}

/// Whether a name begins with the typed text, ignoring case.
fn begins(name: &str, typed: &str) -> bool {
    name.get(..typed.len()).is_some_and(|start| start.eq_ignore_ascii_case(typed))
}

/// A keyword in the case of the typed text.
fn in_case_of(keyword: &str, typed: &str) -> String {
    let is_lower = typed.chars().any(char::is_lowercase);
    if is_lower { keyword.to_lowercase() } else { keyword.to_owned() }
}

/// A name, quoted if it could be read as something else.
fn in_quotes_if_needed(name: &str, language: Language) -> String {
    let is_plain = name.starts_with(|first: char| first == '_' || first.is_ascii_alphabetic())
        && name.chars().all(|character| character == '_' || character.is_ascii_alphanumeric())
        && !language.keywords().iter().any(|keyword| keyword.eq_ignore_ascii_case(name));
    match (is_plain, language) {
        (true, _) => name.to_owned(),
        (false, Language::Sql) => format!("\"{}\"", name.replace('"', "\"\"")),
        (false, Language::Ziql) => format!("`{name}`"),
    }
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

    fn values(line: &str) -> Vec<String> {
        let names = SharedNames::new(Language::Sql);
        names.lock().relations = vec![
            Relation {
                name: "users".to_owned(),
                kind: "table",
                columns: vec!["id".to_owned(), "name".to_owned(), "order".to_owned()],
            },
            Relation { name: "User".to_owned(), kind: "table", columns: vec!["age".to_owned()] },
        ];
        let position = line.find('|').unwrap();
        let line = line.replace('|', "");
        let mut suggestions = Suggestions { names };
        let found = suggestions.complete(&line, position);
        found.suggestions().iter().map(|found| found.value.clone()).collect()
    }

    #[test]
    fn what_fits_is_suggested() {
        for (line, expected) in [
            ("select ag|", vec!["age", "age("]),
            ("sel|", vec!["select"]),
            ("SEL|", vec!["SELECT"]),
            ("select na| from users", vec!["name", "natural"]),
            (
                "select o| from users",
                vec![
                    "\"order\"",
                    "octet_length(",
                    "overlay(",
                    "offset",
                    "on",
                    "only",
                    "or",
                    "order",
                    "outer",
                    "over",
                ],
            ),
            ("select * from us|", vec!["users", "User"]),
            ("select u.n| from users u", vec!["name"]),
            ("select u.n| from users as u", vec!["name"]),
            ("select x.| from users u", vec![]),
            ("gr|", vec!["greatest(", "group", "grouping", "grab"]),
            ("grab user|", vec!["users", "User"]),
            ("grab User {a|", vec!["age", "add", "and", "allin", "asc", "avg", "append"]),
            (".mo|", vec![".mode"]),
            (".mode j|", vec!["jsonl", "json"]),
            ("\\d us|", vec!["users", "User"]),
            ("\\x of|", vec!["off"]),
            ("select * from users where low|", vec!["lower("]),
            ("select row_n|", vec!["row_number("]),
            ("SELECT COU|", vec!["COUNT("]),
            ("grab User {low|", vec![]),
            ("select 1 -- sel|", vec![]),
        ] {
            assert_eq!(values(line), expected, "{line}");
        }
    }
}
