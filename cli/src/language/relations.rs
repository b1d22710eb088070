//! What can be named: relations with their columns, and structs with their members.
//!
//! Columns of tables are in the catalog. Those of a collection are inferred from its
//! documents, which takes a while for a large one: a shell knows those of small ones,
//! and an editor also those of what its text names.

use folio::{Database, Session};

use super::Language;
use super::tokens::{Kind, Token, tokens};

/// Documents of a collection that are read for the sake of completion.
const COUNT_READ_MAX: u64 = 10_000;

/// Something with columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Relation {
    pub(crate) name: String,
    pub(crate) kind: &'static str,
    pub(crate) columns: Vec<String>,
    /// The members of a struct that lead to others, with the names of those.
    pub(crate) links: Vec<(String, String)>,
    /// The paths of values within objects of a collection: `address.city`.
    pub(crate) paths: Vec<String>,
    /// Rows or documents; `None` for a view.
    pub(crate) count: Option<u64>,
}

/// All that can be named.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Relations(pub(crate) Vec<Relation>);

impl Relations {
    /// Reads the catalog, and the types of small collections.
    ///
    /// # Errors
    /// Errors of the stores.
    pub(crate) fn read(database: &Database, session: &mut Session) -> folio::Result<Self> {
        let mut found: Vec<Relation> = session
            .relations()?
            .into_iter()
            .map(|summary| Relation {
                name: summary.name,
                kind: summary.kind.word(),
                columns: summary.columns,
                links: Vec::new(),
                paths: Vec::new(),
                count: summary.row_count,
            })
            .collect();
        for relation in &mut found {
            let is_small = || {
                database
                    .collection(&relation.name)
                    .and_then(|own| own.count())
                    .is_ok_and(|count| count <= COUNT_READ_MAX)
            };
            if relation.columns.is_empty() && (relation.kind != "collection" || is_small()) {
                relation.know(database, session);
            }
        }
        for (name, links) in links_of(&session.schema()?) {
            if let Some(relation) = found.iter_mut().find(|relation| relation.name == name) {
                relation.links = links;
            }
        }
        Ok(Self(found))
    }

    /// Finds the columns of what a text names, however large it is.
    pub(crate) fn know_named(
        &mut self,
        text: &str,
        language: Language,
        (database, session): (&Database, &mut Session),
    ) {
        for token in tokens(text, language) {
            let name = text[token.range].trim_matches(['"', '`']);
            let mut own = self.0.iter_mut().filter(|relation| relation.columns.is_empty());
            if let Some(relation) = own.find(|relation| relation.name.eq_ignore_ascii_case(name)) {
                relation.know(database, session);
            }
        }
    }

    /// The relation of a name, capitals aside.
    pub(crate) fn find(&self, name: &str) -> Option<&Relation> {
        self.0.iter().find(|relation| relation.name.eq_ignore_ascii_case(name))
    }
}

impl Relation {
    /// Finds its columns. Names are a comfort: what cannot be read is left out.
    fn know(&mut self, database: &Database, session: &mut Session) {
        self.columns = described(session, &self.name).unwrap_or_default();
        if self.kind == "collection" {
            let collection = database.existing_collection(&self.name);
            let fields = collection.and_then(|own| own.fields()).unwrap_or_default();
            let paths = fields.into_iter().map(|field| field.path);
            let is_nested = |path: &String| path.contains('.') && !path.contains(['[', '"', '*']);
            self.paths = paths.filter(is_nested).collect();
        }
    }

    /// The relation that a member leads to.
    pub(crate) fn target(&self, member: &str) -> Option<&str> {
        let mut links = self.links.iter();
        links.find(|(own, _)| own.eq_ignore_ascii_case(member)).map(|(_, target)| &**target)
    }

    /// Its columns, and members that are stored elsewhere.
    pub(crate) fn members(&self) -> impl Iterator<Item = &str> {
        let links = self.links.iter().map(|(name, _)| name);
        let elsewhere = links.filter(|name| !self.columns.contains(name));
        self.columns.iter().chain(elsewhere).map(String::as_str)
    }
}

/// The columns of a relation as DESCRIBE has them.
fn described(session: &mut Session, name: &str) -> folio::Result<Vec<String>> {
    let text = format!("describe \"{}\"", name.replace('"', "\"\""));
    let Some(mut rows) = session.execute(&text, &[])?.rows else { return Ok(Vec::new()) };
    let rows = rows.collect_rows()?;
    let name = |row: Vec<folio::Value>| match row.into_iter().next() {
        Some(folio::Value::Text(name)) => Some(name),
        _ => None,
    };
    Ok(rows.into_iter().filter_map(name).collect())
}

/// The links of the structs that a schema declares: `name: Struct`, `name: []Struct` and
/// `name: []Struct.member`.
fn links_of(schema: &str) -> Vec<(String, Vec<(String, String)>)> {
    let pieces: Vec<Token> = tokens(schema, Language::Ziql).filter(Token::is_significant).collect();
    let word = |at: usize| {
        let token = pieces.get(at)?;
        let is_name = matches!(token.kind, Kind::Word | Kind::QuotedName);
        is_name.then(|| schema[token.range.clone()].trim_matches('`').to_owned())
    };
    let is = |at: usize, sign| pieces.get(at).is_some_and(|token| token.kind == Kind::Symbol(sign));
    let mut found: Vec<(String, Vec<(String, String)>)> = Vec::new();
    for at in 0..pieces.len() {
        let Some(name) = word(at) else { continue };
        if is(at + 1, '(') {
            found.push((name, Vec::new()));
        } else if is(at + 1, ':')
            && let Some((_, links)) = found.last_mut()
        {
            let of_many = is(at + 2, '[') && is(at + 3, ']');
            links.extend(word(at + if of_many { 4 } else { 2 }).map(|target| (name, target)));
        }
    }
    let is_struct: Vec<String> = found.iter().map(|(name, _)| name.clone()).collect();
    for (_, links) in &mut found {
        links.retain(|(_, target)| is_struct.contains(target));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_members_whose_type_is_a_struct() {
        let schema = "User (\n name: str = 'a: b',\n friend: User,\n posts: []Post.author,\n `to`: []User,\n)\n\
                      Post ( author: User on delete cascade, tags: []str )";
        let link = |name: &str, target: &str| (name.to_owned(), target.to_owned());
        let of_user = vec![link("friend", "User"), link("posts", "Post"), link("to", "User")];
        let expected =
            vec![("User".to_owned(), of_user), ("Post".to_owned(), vec![link("author", "User")])];
        assert_eq!(links_of(schema), expected);
    }
}
