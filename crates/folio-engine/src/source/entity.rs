//! What ZiQL sees of a relation: a struct with members.
//!
//! A column is a member; one that references the key of another table is a to-one
//! link. To-many links and the other sides of links are kept with the table, beside
//! its columns ([`crate::constraint::Link`]). So tables made by SQL, and collections,
//! are structs as well.

use std::sync::Arc;

use folio_types::ColumnType;

use super::Relation;
use crate::error::{Error, Result};
use crate::span::Span;

/// A struct.
#[derive(Debug, Clone)]
pub struct Entity {
    /// Its table.
    pub relation: Arc<Relation>,
    /// Its members, in order; the key first where a schema declares the struct.
    pub members: Vec<Member>,
}

/// A member of a struct.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: MemberKind,
}

/// What a member is.
#[derive(Debug, Clone, PartialEq)]
pub enum MemberKind {
    /// A value, in a column.
    Value(usize),
    /// A link to one entity, or none: a column with its key.
    One {
        /// The column.
        column: usize,
        /// The struct it leads to.
        target: String,
    },
    /// A link to many entities: rows (source, position, target) of a table.
    Many {
        /// The table.
        table: String,
        /// The struct it leads to.
        target: String,
    },
    /// The other side of a link of the target.
    Inverse {
        /// The struct it leads to.
        target: String,
        /// The link.
        link: String,
    },
}

/// Positions in the table of a to-many link.
pub const SOURCE: usize = 0;
/// The place in the list.
pub const POSITION: usize = 1;
/// The entity linked.
pub const TARGET: usize = 2;

impl MemberKind {
    /// The struct a link leads to.
    pub fn target(&self) -> Option<&str> {
        match self {
            Self::Value(_) => None,
            Self::One { target, .. } | Self::Many { target, .. } | Self::Inverse { target, .. } => {
                Some(target)
            }
        }
    }
}

impl Entity {
    /// The struct a relation is.
    pub fn of(relation: &Arc<Relation>) -> Self {
        let columns = relation.schema.columns.iter().enumerate();
        let mut members: Vec<Member> = columns
            .filter(|(index, _)| relation.is_listed(*index))
            .map(|(index, column)| {
                let kind = match target_of(relation, &column.name) {
                    Some(target) => MemberKind::One { column: index, target },
                    None => MemberKind::Value(index),
                };
                Member { name: column.name.clone(), kind }
            })
            .collect();
        for link in &relation.constraints.links {
            let target = link.target.clone();
            let kind = match (&link.table, &link.inverse) {
                (Some(table), _) => MemberKind::Many { table: table.clone(), target },
                (None, Some(link)) => MemberKind::Inverse { target, link: link.clone() },
                (None, None) => continue,
            };
            let member = Member { name: link.name.clone(), kind };
            members.insert(link.position.min(members.len()), member);
        }
        Self { relation: Arc::clone(relation), members }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.relation.schema.name
    }

    /// The position of its key: of the only column of it.
    ///
    /// # Errors
    /// `unsupported` for tables whose key is not one column.
    pub fn key(&self, span: Span) -> Result<usize> {
        match &self.relation.schema.primary_key[..] {
            [only] => Ok(*only),
            _ => {
                let name = self.name();
                Err(Error::unsupported(format!("`{name}` has no key of one column")).at(span).help(
                    "ZiQL names entities by one: give the table such a primary key, or use SQL",
                ))
            }
        }
    }

    /// The member of a name; `id` is the key where no member is called so.
    pub fn member(&self, name: &str) -> Option<Member> {
        let found = self.members.iter().find(|member| member.name == name);
        let found =
            found.or_else(|| self.members.iter().find(|own| own.name.eq_ignore_ascii_case(name)));
        if let Some(found) = found {
            return Some(found.clone());
        }
        match &self.relation.schema.primary_key[..] {
            [only] if name.eq_ignore_ascii_case("id") => {
                Some(Member { name: "id".to_owned(), kind: MemberKind::Value(*only) })
            }
            _ => None,
        }
    }

    /// The member of a name that must be there.
    ///
    /// # Errors
    /// `not_found`, with a near name, or all there are.
    pub fn find(&self, name: &str, span: Span) -> Result<Member> {
        self.member(name).ok_or_else(|| {
            let own = self.name();
            let names = self.members.iter().map(|member| &*member.name);
            let error = Error::not_found(format!("struct `{own}` has no member `{name}`"));
            error.near_or_all(name, names).at(span)
        })
    }

    /// The type of a column.
    pub fn column_type(&self, column: usize) -> &ColumnType {
        self.relation.column_type(column)
    }

    /// The columns that are neither links nor left out of the default shape.
    pub fn values(&self) -> impl Iterator<Item = (&Member, usize)> {
        self.members.iter().filter_map(|member| match member.kind {
            MemberKind::Value(column) => Some((member, column)),
            _ => None,
        })
    }
}

/// The index that begins with a column, if there is one.
pub fn index_on(relation: &Relation, column: usize) -> Option<usize> {
    let is_it = |columns: &[(usize, bool)]| columns.first().is_some_and(|first| first.0 == column);
    relation.indexes.iter().position(|index| is_it(&index.columns))
}

/// The table whose key a column holds.
fn target_of(relation: &Relation, column: &str) -> Option<String> {
    let references = &relation.constraints.references;
    let found = references.iter().find(|reference| {
        let [only] = &reference.columns[..] else { return false };
        only.eq_ignore_ascii_case(column) && reference.target.len() <= 1
    });
    found.map(|reference| reference.table.clone())
}
