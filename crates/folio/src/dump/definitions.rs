//! The definitions of a database as text: a schema, statements, and lines for the rest.
//!
//! Structs are a schema in ZiQL, if it declares everything that their tables have. Once SQL has
//! given one of them more, all of them are tables in SQL, and lines of JSON say what SQL cannot:
//! that they are structs, with which links. The lines have the form of the properties of a table
//! (see [`folio_engine::Constraints`]), with its name and the next numbers of its identity columns:
//!
//! ```json
//! {"table":"User","struct":{"links":[{"name":"posts","position":4,"target":"Post","inverse":"author"}]}}
//! {"table":"visits","next":{"id":4}}
//! ```

use folio_engine::source::{Relation, RelationKind};
use folio_engine::{Constraints, OnDelete, Reference};
use folio_sql::{show_reference, show_relation};
use folio_types::same_name;
use serde_json::{Map, Value as Json, json};

use super::broken;
use crate::error::Result;
use crate::session::Session;

/// What creates the tables and views of a database, without rows.
#[derive(Debug, Clone, Default)]
pub struct Definitions {
    /// The schema of all structs, in ZiQL; empty if there are none, or if it would lose something.
    pub structs: String,
    /// The statements of the other tables, and their references.
    pub statements: String,
    /// What neither expresses, as lines of JSON: links of structs, numbers of identity columns.
    pub catalog: String,
    /// The statements of the views, each after the views that it names.
    pub views: String,
    /// The names of all tables, including those for the links of structs.
    pub tables: Vec<String>,
}

/// The definitions of the tables and views that a session sees.
///
/// # Errors
/// Errors of the store.
pub fn definitions(session: &mut Session) -> Result<Definitions> {
    let relations = session.tables_and_views()?;
    let of_kind = |kind| {
        let found = relations.iter().map(|relation| &**relation);
        found.filter(move |relation| relation.kind == kind)
    };
    let tables: Vec<&Relation> = of_kind(RelationKind::Table).collect();
    let schema = session.whole_schema()?;
    let links: Vec<&str> = tables
        .iter()
        .flat_map(|table| &table.constraints.links)
        .filter_map(|link| link.table.as_deref())
        .collect();
    let is_plain = |table: &&Relation| {
        let is_of_struct =
            table.constraints.is_struct || links.contains(&table.schema.name.as_str());
        schema.is_none() || !is_of_struct
    };
    let mut catalog = String::new();
    for table in &tables {
        let rest =
            if is_plain(table) { beyond_sql(table, &tables) } else { Constraints::default() };
        let next = session.identities(table)?;
        if let Some(line) = catalog_line(&table.schema.name, &rest, next) {
            catalog += &line.to_string();
            catalog.push('\n');
        }
    }
    let plain = tables.iter().copied().filter(is_plain).collect();
    Ok(Definitions {
        statements: table_statements(plain, &tables),
        catalog,
        views: view_statements(of_kind(RelationKind::View).collect()),
        tables: tables.iter().map(|table| table.schema.name.clone()).collect(),
        structs: schema.unwrap_or_default(),
    })
}

/// The statements of tables: each after those it references, and references in a circle last.
fn table_statements(mut left: Vec<&Relation>, all: &[&Relation]) -> String {
    let (mut statements, mut late) = (String::new(), String::new());
    while let Some(table) = take_next(&mut left, references) {
        let mut table = table.clone();
        let own = std::mem::take(&mut table.constraints.references).into_iter();
        let is_early = |reference: &Reference| {
            !left.iter().any(|other| same_name(&reference.table, &other.schema.name))
        };
        let there = own.filter(|reference| is_there(reference, all));
        let (early, later): (_, Vec<Reference>) = there.partition(is_early);
        table.constraints.references = early;
        statements += &show_relation(&table);
        late.extend(later.iter().map(|own| show_reference(&table.schema.name, own)));
    }
    statements + &late
}

/// Takes the first relation that needs no other that is left; in a circle the first of all.
fn take_next<'r>(
    left: &mut Vec<&'r Relation>,
    needs: impl Fn(&Relation, &Relation) -> bool,
) -> Option<&'r Relation> {
    let is_ready = |one: &&Relation| {
        !left.iter().any(|other| !std::ptr::eq(*other, *one) && needs(one, other))
    };
    let next = left.iter().position(is_ready).unwrap_or(0);
    (next < left.len()).then(|| left.remove(next))
}

fn references(table: &Relation, other: &Relation) -> bool {
    let mut references = table.constraints.references.iter();
    references.any(|reference| same_name(&reference.table, &other.schema.name))
}

/// Whether the table that a reference targets exists.
fn is_there(reference: &Reference, tables: &[&Relation]) -> bool {
    tables.iter().any(|table| same_name(&reference.table, &table.schema.name))
}

/// The statements of views: each after the views that it names.
fn view_statements(mut left: Vec<&Relation>) -> String {
    let mut statements = String::new();
    // Views that name each other cannot be read, whatever their order.
    while let Some(view) = take_next(&mut left, names) {
        statements += &show_relation(view);
    }
    statements
}

fn names(view: &Relation, other: &Relation) -> bool {
    let query = view.constraints.view.as_deref().unwrap_or_default();
    query.to_lowercase().contains(&other.schema.name.to_lowercase())
}

/// The part of the constraints of a table that no statement expresses.
fn beyond_sql(table: &Relation, tables: &[&Relation]) -> Constraints {
    let Constraints { is_struct, links, references, .. } = table.constraints.clone();
    let is_beyond = |reference: &Reference| {
        reference.on_delete == OnDelete::CascadeOwner || !is_there(reference, tables)
    };
    let references = references.into_iter().filter(is_beyond).collect();
    Constraints { is_struct, links, references, ..Constraints::default() }
}

/// The line of a table; `None` if there is nothing to say.
fn catalog_line(table: &str, rest: &Constraints, next: Vec<(String, i64)>) -> Option<Json> {
    if rest.is_empty() && next.is_empty() {
        return None;
    }
    let properties = serde_json::from_str(&rest.to_properties()).unwrap_or_default();
    let mut line = Map::from_iter([("table".to_owned(), json!(table))]);
    if let Json::Object(properties) = properties {
        line.extend(properties);
    }
    if !next.is_empty() {
        let next = next.into_iter().map(|(column, next)| (column, json!(next)));
        line.insert("next".to_owned(), Json::Object(next.collect()));
    }
    Some(Json::Object(line))
}

/// A line of the catalog, read.
struct Line {
    table: String,
    rest: Constraints,
    next: Vec<(String, i64)>,
}

/// Reads the lines of a catalog.
fn lines(catalog: &str) -> Result<Vec<Line>> {
    let read = |(at, text): (usize, &str)| {
        let line = || {
            let rest = Constraints::from_properties(text)?;
            let json: Json = serde_json::from_str(text).ok()?;
            let next = json["next"].as_object().into_iter().flatten();
            let next = next.map(|(column, next)| Some((column.clone(), next.as_i64()?)));
            Some(Line {
                table: json["table"].as_str()?.to_owned(),
                rest,
                next: next.collect::<Option<_>>()?,
            })
        };
        line().ok_or_else(|| broken(at as u64 + 1, "this is no line about a table"))
    };
    catalog.lines().enumerate().filter(|(_, text)| !text.trim().is_empty()).map(read).collect()
}

/// Gives tables what a catalog says of them, except the numbers.
///
/// # Errors
/// `invalid_input` for a wrong line; `not_found` for a missing table; errors of the store.
pub(super) fn amend(session: &mut Session, catalog: &str) -> Result<()> {
    for Line { table, rest, .. } in lines(catalog)? {
        if rest.is_empty() {
            continue;
        }
        session.amend(&table, |constraints| {
            constraints.is_struct |= rest.is_struct;
            constraints.links = rest.links;
            for reference in rest.references {
                let mut own = constraints.references.iter_mut();
                match own.find(|own| own.name == reference.name) {
                    Some(own) => *own = reference,
                    None => constraints.references.push(reference),
                }
            }
        })?;
    }
    Ok(())
}

/// Sets the next numbers of identity columns, unless rows have greater ones.
///
/// # Errors
/// As [`amend`].
pub(super) fn number(session: &mut Session, catalog: &str) -> Result<()> {
    for Line { table, next, .. } in lines(catalog)? {
        if next.is_empty() {
            continue;
        }
        let relation = session.table(&table)?;
        let there = session.identities(&relation)?;
        for (column, next) in next {
            if !there.iter().any(|(name, other)| *name == column && *other >= next) {
                session.set_identity(&table, &column, next)?;
            }
        }
    }
    Ok(())
}
