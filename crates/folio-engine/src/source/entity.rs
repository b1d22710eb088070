//! Relations as ZiQL sees them: structs with members.
//!
//! A column is a member. A column that references the key of another table is a to-one link.
//! To-many links and inverses of links are stored with the table, beside its columns
//! ([`crate::constraint::Link`]). So tables made by SQL, and collections, are structs too.

use std::sync::Arc;

use folio_compute::{Error, Result, Span};
use folio_types::ColumnType;

use super::{IndexInfo, Relation};

/// A struct.
#[derive(Debug, Clone)]
pub struct Entity {
    /// Its table.
    pub relation: Arc<Relation>,
    /// Its members, in order. The key is first if a schema declares the struct.
    pub members: Vec<Member>,
}

/// A member of a struct.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: MemberKind,
}

/// The kind of a member.
#[derive(Debug, Clone, PartialEq)]
pub enum MemberKind {
    /// A value in a column.
    Value(usize),
    /// A link to at most one entity: a column with its key.
    One {
        /// The column.
        column: usize,
        /// The struct it links to.
        target: String,
    },
    /// A link to many entities: rows (source, position, target) of a table.
    Many {
        /// The table.
        table: String,
        /// The struct it links to.
        target: String,
    },
    /// The inverse of a link of the target.
    Inverse {
        /// The struct it links to.
        target: String,
        /// The link.
        link: String,
    },
}

/// Column positions in the table of a to-many link.
pub const SOURCE: usize = 0;
/// The position in the list.
pub const POSITION: usize = 1;
/// The linked entity.
pub const TARGET: usize = 2;

impl MemberKind {
    /// The struct that a link leads to.
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
    /// The struct of a relation.
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

    /// The position of its key, which must be a single column.
    ///
    /// # Errors
    /// `unsupported` for tables whose key is not one column.
    pub fn key(&self, span: Span) -> Result<usize> {
        match &self.relation.schema.primary_key[..] {
            [only] => Ok(*only),
            _ => {
                let name = self.name();
                Err(Error::unsupported(format!("`{name}` has no single-column key")).at(span).help(
                    "ZiQL identifies entities by it: give the table a single-column primary key, \
                     or use SQL",
                ))
            }
        }
    }

    /// Looks up a member by name; `id` is the key if no member has that name.
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

    /// Looks up a member by name, or fails.
    ///
    /// # Errors
    /// `not_found`, with a similar name, or all names.
    pub fn find(&self, name: &str, span: Span) -> Result<Member> {
        let twin = self.relation.paths.twin(name);
        if let Some((twin, column)) = twin.zip(self.relation.schema.column_index(name)) {
            return Err(twin.error(&self.relation.schema.columns[column].name).at(span));
        }
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

    /// The members that are values and in the default shape.
    pub fn values(&self) -> impl Iterator<Item = (&Member, usize)> {
        self.members.iter().filter_map(|member| match member.kind {
            MemberKind::Value(column) => Some((member, column)),
            _ => None,
        })
    }
}

/// The index that begins with a column, if any.
pub fn index_on(relation: &Relation, column: usize) -> Option<usize> {
    let is_it = |index: &IndexInfo| {
        index.is_whole() && index.columns.first().is_some_and(|first| first.0 == column)
    };
    relation.indexes.iter().position(is_it)
}

/// The table that a column references by its key.
fn target_of(relation: &Relation, column: &str) -> Option<String> {
    let references = &relation.constraints.references;
    let found = references.iter().find(|reference| {
        let [only] = &reference.columns[..] else { return false };
        only.eq_ignore_ascii_case(column) && reference.target.len() <= 1
    });
    found.map(|reference| reference.table.clone())
}
