//! Completion: suggests relations, columns, members, functions and keywords.
//!
//! Columns of relations in the statement come first, then what fits the word before the cursor:
//! relations after FROM and GRAB, everything elsewhere. In ZiQL, members are those of the struct
//! whose brackets the cursor is in.

use folio::function_names;

use super::tokens::{Kind, Token, is_word, tokens};
use super::{Language, Relation, Relations};

/// Keywords that are followed by a relation.
const BEFORE_RELATION: &[&str] =
    &["FROM", "JOIN", "INTO", "UPDATE", "TABLE", "DESCRIBE", "GRAB", "ADD", "DELETE", "REFERENCES"];

/// What may stand in place of the word before the cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Completion {
    pub(crate) value: String,
    /// What it is, for people: `table`, `of users`, `function`.
    pub(crate) what: String,
    /// Where the word begins.
    pub(crate) start: usize,
}

/// What may follow in a statement, the likeliest first; nothing within quotes and comments.
pub(crate) fn completions(
    before: &str,
    after: &str,
    language: Language,
    relations: &Relations,
) -> Vec<Completion> {
    let all: Vec<Token> = tokens(before, language).collect();
    if all.last().is_some_and(|last| !last.is_closed || last.kind == Kind::Comment) {
        return Vec::new();
    }
    let start = before.rfind(|character| !is_word(character));
    let start = start.map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    let all: Vec<Token> = all.into_iter().filter(Token::is_significant).collect();
    let earlier: Vec<&Token> = all.iter().take_while(|token| token.range.end <= start).collect();
    let typed = Typed { word: &before[start..], language, start };
    let whole = format!("{before}{after}");
    let (around, path) = match language {
        Language::Ziql => places(before, &earlier, relations),
        Language::Sql => (None, None),
    };
    if let Some(owner) = before[..start].strip_suffix('.') {
        let chain = owner.rsplit(|character| !is_word(character) && character != '.').next();
        let chain = chain.unwrap_or_default();
        let owner = chain.rsplit('.').next().unwrap_or_default();
        return match path.or_else(|| aliased(&whole, language, owner, relations)) {
            Some(relation) => typed.columns(relation),
            None => typed.steps(chain, &whole, relations),
        };
    }
    let previous = earlier.last().map(|token| before[token.range.clone()].to_ascii_uppercase());
    if previous.as_deref().is_some_and(|previous| BEFORE_RELATION.contains(&previous)) {
        return typed.relations(relations);
    }
    let named = match around {
        Some(relation) => vec![relation],
        None => named_relations(&whole, language, relations),
    };
    // Before any relation is named, suggest every column.
    let all_relations = || relations.0.iter().collect();
    let is_empty = typed.word.is_empty();
    let named = if named.is_empty() && !is_empty { all_relations() } else { named };
    let mut found: Vec<Completion> =
        named.into_iter().flat_map(|relation| typed.columns(relation)).collect();
    if !is_empty {
        found.extend(typed.relations(relations));
        found.extend(typed.functions());
        found.extend(typed.keywords());
    }
    found.dedup_by(|one, other| one.value == other.value);
    found
}

/// The relations whose names begin so, as ZiQL names them.
pub(crate) fn relations_like(word: &str, start: usize, relations: &Relations) -> Vec<Completion> {
    Typed { word, language: Language::Ziql, start }.relations(relations)
}

/// The relations named in a statement, in order.
fn named_relations<'n>(
    text: &str,
    language: Language,
    relations: &'n Relations,
) -> Vec<&'n Relation> {
    let mut found: Vec<&Relation> = Vec::new();
    for token in tokens(text, language) {
        if matches!(token.kind, Kind::Word | Kind::QuotedName)
            && let Some(relation) = relations.find(text[token.range].trim_matches(['"', '`']))
            && !found.iter().any(|other| other.name == relation.name)
        {
            found.push(relation);
        }
    }
    found
}

/// The relation of a name before a point: its own name, or an alias (`from users u`, `join users as
/// u`), which ZiQL does not have.
fn aliased<'n>(
    text: &str,
    language: Language,
    name: &str,
    relations: &'n Relations,
) -> Option<&'n Relation> {
    if let Some(relation) = relations.find(name) {
        return Some(relation);
    }
    if language == Language::Ziql {
        return None;
    }
    let words: Vec<&str> = tokens(text, language)
        .filter(|token| matches!(token.kind, Kind::Word | Kind::QuotedName))
        .map(|token| text[token.range].trim_matches(['"', '`']))
        .filter(|word| !word.eq_ignore_ascii_case("as"))
        .collect();
    let mut pairs = words.windows(2).filter(|pair| pair[1].eq_ignore_ascii_case(name));
    pairs.find_map(|pair| relations.find(pair[0]))
}

/// In a ZiQL statement that ends here: the struct whose brackets are open, and the one that the path
/// before leads to.
fn places<'n>(
    text: &str,
    before: &[&Token],
    relations: &'n Relations,
) -> (Option<&'n Relation>, Option<&'n Relation>) {
    let mut around: Vec<Option<&Relation>> = Vec::new();
    let (mut current, mut path): (Option<&Relation>, Option<&Relation>) = (None, None);
    let mut previous = String::new();
    for token in before {
        let word = text[token.range.clone()].trim_matches('`');
        match token.kind {
            Kind::Symbol('[' | '{') => {
                around.push(current);
                current = path.take().or(current);
            }
            Kind::Symbol('(') => {
                around.push(current);
                path = None;
            }
            Kind::Symbol(']' | '}' | ')') => {
                current = around.pop().unwrap_or(current);
                path = None;
            }
            // `friend IN {…}` and `friend = {…}` are about the friend.
            Kind::Symbol('=' | '!' | '.') => {}
            Kind::Word if ["IN", "ALLIN"].iter().any(|own| own.eq_ignore_ascii_case(word)) => {}
            Kind::Word | Kind::QuotedName => {
                let is_source = ["GRAB", "ADD", "UPDATE", "DELETE"].contains(&&*previous);
                if is_source {
                    (current, path) = (relations.find(word), None);
                } else {
                    let from = if previous == "." { path.or(current) } else { current };
                    let target = from.and_then(|from| from.target(word));
                    path = target.and_then(|target| relations.find(target));
                    // `GRAB User {…}.posts` is about posts.
                    if previous == "." && around.is_empty() && path.is_some() {
                        current = path.take();
                    }
                }
            }
            _ => path = None,
        }
        previous = word.to_ascii_uppercase();
    }
    (current, path)
}

/// The word before the cursor.
struct Typed<'t> {
    word: &'t str,
    language: Language,
    start: usize,
}

/// Keywords that are only used as functions.
const CALLS: &[&str] = &["AVG", "COUNT", "MAX", "MIN", "SUM"];

impl Typed<'_> {
    fn completion(&self, value: String, what: &str) -> Completion {
        Completion { value, what: what.to_owned(), start: self.start }
    }

    fn relations(&self, relations: &Relations) -> Vec<Completion> {
        let fitting = relations.0.iter().filter(|relation| begins(&relation.name, self.word));
        // The tables of links are named `Struct.link`.
        let is_struct =
            |relation: &&Relation| self.language == Language::Sql || !relation.name.contains('.');
        let named = fitting.filter(is_struct).map(|relation| {
            self.completion(in_quotes_if_needed(&relation.name, self.language), relation.kind)
        });
        named.collect()
    }

    fn columns(&self, relation: &Relation) -> Vec<Completion> {
        let what = format!("of {}", relation.name);
        let members: Vec<&str> = match self.language {
            Language::Sql => relation.columns.iter().map(String::as_str).collect(),
            Language::Ziql => relation.members().collect(),
        };
        let fitting = members.into_iter().filter(|column| begins(column, self.word));
        let named = fitting
            .map(|column| self.completion(in_quotes_if_needed(column, self.language), &what));
        named.collect()
    }

    /// What is within the object at the end of a path, of documents that the statement names.
    fn steps(&self, chain: &str, whole: &str, relations: &Relations) -> Vec<Completion> {
        let named = named_relations(whole, self.language, relations);
        let mut starts: Vec<(&Relation, &str)> =
            named.into_iter().map(|relation| (relation, chain)).collect();
        // `e.address.` with `events e`.
        if let Some((first, rest)) = chain.split_once('.') {
            let relation = aliased(whole, self.language, first, relations);
            starts.extend(relation.map(|relation| (relation, rest)));
        }
        let mut found: Vec<Completion> = Vec::new();
        for (relation, chain) in starts {
            for path in &relation.paths {
                let rest = path.get(chain.len()..).and_then(|rest| rest.strip_prefix('.'));
                let step =
                    rest.filter(|_| begins(path, chain)).map(|rest| match rest.split_once('.') {
                        Some((step, _)) => step,
                        None => rest,
                    });
                let value = step.filter(|step| begins(step, self.word));
                let value = value.map(|step| in_quotes_if_needed(step, self.language));
                if let Some(value) =
                    value.filter(|value| found.iter().all(|one| one.value != *value))
                {
                    found.push(self.completion(value, &format!("of {}", relation.name)));
                }
            }
        }
        found
    }

    /// The SQL functions, each with its opening parenthesis.
    fn functions(&self) -> Vec<Completion> {
        if self.language != Language::Sql {
            return Vec::new();
        }
        let fitting = function_names().into_iter().filter(|name| begins(name, self.word));
        let called =
            fitting.map(|name| format!("{}(", in_case_of(&name.to_uppercase(), self.word)));
        called.map(|call| self.completion(call, "function")).collect()
    }

    fn keywords(&self) -> Vec<Completion> {
        let is_call = |keyword: &&&str| self.language == Language::Sql && CALLS.contains(*keyword);
        let keywords = self.language.keywords().iter();
        let fitting = keywords.filter(|keyword| begins(keyword, self.word));
        let fitting = fitting.filter(|keyword| !is_call(keyword));
        fitting.map(|keyword| self.completion(in_case_of(keyword, self.word), "")).collect()
    }
}

/// Whether a name begins with the typed text, ignoring case.
pub(crate) fn begins(name: &str, typed: &str) -> bool {
    name.get(..typed.len()).is_some_and(|start| start.eq_ignore_ascii_case(typed))
}

/// A keyword in the case of the typed text.
pub(crate) fn in_case_of(keyword: &str, typed: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn relation(name: &str, columns: &[&str], links: &[(&str, &str)]) -> Relation {
        let owned = |text: &&str| (*text).to_owned();
        let links = links.iter().map(|(name, target)| (owned(name), owned(target)));
        Relation {
            name: name.to_owned(),
            kind: "table",
            columns: columns.iter().map(owned).collect(),
            links: links.collect(),
            paths: Vec::new(),
            count: None,
        }
    }

    fn values(text: &str, language: Language) -> Vec<String> {
        let relations = Relations(vec![
            relation("users", &["id", "name", "order"], &[]),
            relation("User", &["age", "friend"], &[("friend", "User"), ("posts", "Post")]),
            relation("Post", &["title", "author"], &[("author", "User")]),
            relation("User.friends", &["source"], &[]),
            Relation {
                paths: ["at.day", "at.town.name", "at.town.zip"].map(str::to_owned).to_vec(),
                ..relation("events", &["at"], &[])
            },
        ]);
        let (before, after) = text.split_once('|').unwrap();
        let found = completions(before, after, language, &relations);
        found.into_iter().map(|found| found.value).collect()
    }

    #[test]
    fn what_fits_is_suggested() {
        use Language::{Sql, Ziql};
        for (language, text, expected) in [
            (Sql, "select ag|", vec!["age", "age("]),
            (Sql, "sel|", vec!["select"]),
            (Sql, "SEL|", vec!["SELECT"]),
            (Sql, "select na| from users", vec!["name", "natural"]),
            (
                Sql,
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
            (Sql, "select * from us|", vec!["users", "User", "\"User.friends\""]),
            (Sql, "select u.n| from users u", vec!["name"]),
            (Sql, "select u.n| from users as u", vec!["name"]),
            (Sql, "select x.| from users u", vec![]),
            (Sql, "select at.| from events", vec!["day", "town"]),
            (Sql, "select AT.Town.z| from events", vec!["zip"]),
            (Sql, "select e.at.town.| from events e", vec!["name", "zip"]),
            (Sql, "select day.| from events", vec![]),
            (Ziql, "GRAB events {at.d|", vec!["day"]),
            (Sql, "select * from users where low|", vec!["lower("]),
            (Sql, "select row_n|", vec!["row_number("]),
            (Sql, "SELECT COU|", vec!["COUNT("]),
            (Sql, "select 1 -- sel|", vec![]),
            (Sql, "select 'na| from users", vec![]),
            (Ziql, "grab user|", vec!["users", "User"]),
            (Ziql, "grab User {a|", vec!["age", "add", "and", "allin", "asc", "avg", "append"]),
            (Ziql, "grab User {low|", vec![]),
            (Ziql, "GRAB User [|", vec!["age", "friend", "posts"]),
            (Ziql, "GRAB User [posts [3; ti|", vec!["title"]),
            (Ziql, "GRAB User [posts [title], po|", vec!["posts", "Post", "pop"]),
            (Ziql, "GRAB User {friend.p|", vec!["posts"]),
            (Ziql, "GRAB User {friend.posts.au|", vec!["author"]),
            (Ziql, "GRAB User {posts IN {ti|", vec!["title"]),
            (Ziql, "GRAB User {friend = {ag|", vec!["age"]),
            (Ziql, "GRAB User {age = 1}.posts [tit|", vec!["title"]),
            (Ziql, "ADD Post (ti|", vec!["title"]),
        ] {
            assert_eq!(values(text, language), expected, "{text}");
        }
    }
}
