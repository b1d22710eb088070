//! What is read of each row: columns, and the parts of nested ones that paths name.
//!
//! ```text
//! paths          did, commit.collection, commit.operation, cart[].sku, visits.*.day
//! columns        did text, commit struct(collection text, operation text), cart struct(sku text)[],
//!                visits map(text, struct(day text))
//! ```
//!
//! A path means what it means in statements: letter case decides only between several names, a
//! member of JSON is JSON, and null where the value is no object.

use folio_compute::{Error as QueryError, Result as QueryResult, type_name};
use folio_engine::source::{Relation, RelationKind};
use folio_json::{PathPart, parse_path};
use folio_types::{ColumnType, same_name};

use crate::error::{Error, Result};
use crate::session::column_path;

/// A column of the rows that are read.
pub(super) struct ReadColumn {
    pub(super) name: String,
    /// The type of the part that is read; `None` for the whole column.
    pub(super) part: Option<ColumnType>,
}

/// What is wanted of a value.
#[derive(Clone)]
enum Wanted {
    Whole,
    Members(Vec<(String, Self)>),
    Elements(Box<Self>),
    Values(Box<Self>),
}

/// The columns that paths name, in the order of their first paths.
///
/// # Errors
/// `invalid_input` for a text that is no path, `not_found` and `type_mismatch` for one that leads
/// nowhere. A name without members is not looked up.
pub(super) fn read_columns(relation: &Relation, paths: &[String]) -> Result<Vec<ReadColumn>> {
    let mut all: Vec<(String, Wanted)> = Vec::new();
    for text in paths {
        let (name, wanted) = wanted(relation, text)?;
        let same = |(other, _): &&mut (String, Wanted)| same_name(other, &name);
        match all.iter_mut().find(same) {
            Some((_, other)) => other.add(wanted, &name)?,
            None => all.push((name, wanted)),
        }
    }
    all.into_iter().map(|(name, wanted)| Ok(read_column(relation, name, &wanted)?)).collect()
}

/// The column that a path begins with, and what the path wants of it. A text that is no path may be
/// the name of a column.
fn wanted(relation: &Relation, text: &str) -> Result<(String, Wanted)> {
    let parts = match parse_path(text) {
        Ok(parts) => parts,
        Err(_) if relation.column_index(text).is_some() => vec![PathPart::Member(text.to_owned())],
        Err(reason) => {
            return Err(Error::Invalid(format!(
                "{text:?} is neither a column nor a path: {reason}"
            )));
        }
    };
    let mut parts = parts.into_iter();
    let Some(PathPart::Member(name)) = parts.next() else {
        return Err(Error::Invalid(format!("{text:?} is not a path: it begins with no name")));
    };
    let wanted = parts.rev().fold(Wanted::Whole, |below, part| match part {
        PathPart::Member(name) => Wanted::Members(vec![(name, below)]),
        PathPart::Elements => Wanted::Elements(Box::new(below)),
        PathPart::Values => Wanted::Values(Box::new(below)),
    });
    if !matches!(wanted, Wanted::Whole)
        && relation.column_index(&name).is_none()
        && relation.column_index(text).is_some()
    {
        let error = QueryError::not_found(format!("column {name:?} does not exist"));
        return Err(error
            .help(format!("a name with dots is in quotes: {}", column_path(text)))
            .into());
    }
    Ok((name, wanted))
}

impl Wanted {
    /// Adds what another path wants of the value at a path.
    fn add(&mut self, other: Self, at: &str) -> QueryResult<()> {
        match (&mut *self, other) {
            (Self::Whole, _) => {}
            (own, Self::Whole) => *own = Self::Whole,
            (Self::Members(own), Self::Members(others)) => {
                for (name, wanted) in others {
                    match own.iter_mut().find(|(known, _)| *known == name) {
                        Some((_, known)) => known.add(wanted, &below(at, &name))?,
                        None => own.push((name, wanted)),
                    }
                }
            }
            (Self::Elements(own), Self::Elements(other)) => own.add(*other, &format!("{at}[]"))?,
            (Self::Values(own), Self::Values(other)) => own.add(*other, &format!("{at}.*"))?,
            _ => {
                let text =
                    format!("the paths disagree on whether {at} is an object, a list or a map");
                return Err(QueryError::mismatch(text));
            }
        }
        Ok(())
    }
}

fn read_column(relation: &Relation, name: String, wanted: &Wanted) -> QueryResult<ReadColumn> {
    if matches!(wanted, Wanted::Whole) {
        return Ok(ReadColumn { name, part: None });
    }
    let Some(index) = relation.column_index(&name) else {
        // Any name is a column of an open collection.
        if relation.constraints.has_open_paths {
            let part = Some(Narrowing { relation }.of(wanted, &ColumnType::Json, &name)?);
            return Ok(ReadColumn { name, part });
        }
        let names = relation.schema.columns.iter().map(|column| &*column.name);
        let error = QueryError::not_found(format!("column {name:?} does not exist"));
        return Err(error.near(&name, names));
    };
    if relation.document_column() == Some(index) {
        let text = format!("{name:?} is the whole document");
        return Err(QueryError::mismatch(text).help("begin the path with a field of the document"));
    }
    let (name, ty) =
        (relation.column_name(index).to_owned(), relation.column_type(relation.read_at(index)));
    let part = Narrowing { relation }.of(wanted, ty, &name)?;
    Ok(ReadColumn { part: (part != *ty).then_some(part), name })
}

struct Narrowing<'r> {
    relation: &'r Relation,
}

impl Narrowing<'_> {
    /// The type of what is wanted of a value of a type, at a path.
    fn of(&self, wanted: &Wanted, ty: &ColumnType, at: &str) -> QueryResult<ColumnType> {
        match (wanted, ty) {
            (Wanted::Whole, ty) => Ok(ty.clone()),
            (Wanted::Elements(wanted), ColumnType::List(item)) => {
                let item = self.of(wanted, item, &format!("{at}[]"))?;
                Ok(ColumnType::List(Box::new(item)))
            }
            (Wanted::Values(wanted), ColumnType::Map(value)) => {
                let value = self.of(wanted, value, &format!("{at}.*"))?;
                Ok(ColumnType::Map(Box::new(value)))
            }
            (Wanted::Members(wanted), ColumnType::Struct(own)) => self.members(wanted, own, at),
            (Wanted::Members(wanted), ColumnType::Json | ColumnType::Map(_)) if self.is_text() => {
                let ty = if let ColumnType::Map(value) = ty { value } else { ty };
                let member = |(name, wanted): &(String, Wanted)| {
                    Ok((name.clone(), self.of(wanted, ty, &below(at, name))?))
                };
                let members = wanted.iter().map(member);
                members.collect::<QueryResult<_>>().map(ColumnType::Struct)
            }
            (wanted, ty) => Err(mismatch(wanted, ty, at)),
        }
    }

    /// Whether rows are text, of which members can be read whatever their types.
    fn is_text(&self) -> bool {
        self.relation.kind == RelationKind::Collection
    }

    fn members(
        &self,
        wanted: &[(String, Wanted)],
        own: &[(String, ColumnType)],
        at: &str,
    ) -> QueryResult<ColumnType> {
        // Several spellings may be of one member.
        let mut members: Vec<(&str, &ColumnType, Wanted)> = Vec::new();
        for (name, wanted) in wanted {
            let exact = own.iter().find(|(own, _)| own == name);
            let (name, ty) = match exact
                .or_else(|| own.iter().find(|(own, _)| same_name(own, name)))
            {
                Some((name, ty)) => (&**name, ty),
                None if self.relation.constraints.has_open_paths => (&**name, &ColumnType::Json),
                None => {
                    let names = own.iter().map(|(own, _)| &**own);
                    let error =
                        QueryError::not_found(format!("there is no field {name:?} in {at}"));
                    return Err(error.near(name, names));
                }
            };
            match members.iter_mut().find(|(known, ..)| *known == name) {
                Some((.., known)) => known.add(wanted.clone(), &below(at, name))?,
                None => members.push((name, ty, wanted.clone())),
            }
        }
        let members = members.into_iter().map(|(name, ty, wanted)| {
            Ok((name.to_owned(), self.of(&wanted, ty, &below(at, name))?))
        });
        members.collect::<QueryResult<_>>().map(ColumnType::Struct)
    }
}

fn below(at: &str, name: &str) -> String {
    format!("{at}.{}", column_path(name))
}

fn mismatch(wanted: &Wanted, ty: &ColumnType, at: &str) -> QueryError {
    let ty = type_name(ty);
    QueryError::mismatch(match wanted {
        Wanted::Members(all) => {
            let name = all.first().map_or("", |(name, _)| name);
            format!("{at} is of type {ty} and has no field {name:?}")
        }
        Wanted::Elements(_) => format!("{at} is of type {ty} and has no elements"),
        Wanted::Values(_) => format!("{at} is of type {ty} and is no map"),
        Wanted::Whole => format!("{at} is of type {ty}"),
    })
}
