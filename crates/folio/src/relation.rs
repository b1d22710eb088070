//! Resolves a name in a database. Collections and tables share one namespace, for SQL and for
//! programs that read rows without it.

use crate::collection::Collection;
use crate::database::{Database, near_or_all};
use crate::error::{Error, Result};
use crate::table::Table;

/// A named source of rows.
#[derive(Debug, Clone)]
pub enum Relation {
    /// A collection of documents.
    Collection(Collection),
    /// A typed table.
    Table(Table),
}

impl Database {
    /// The table or the collection of a name, resolved as in SQL: tables come first. The name is
    /// case-insensitive if no collection matches exactly.
    ///
    /// # Errors
    /// `not_found`, with the nearest name or a list; `invalid_input` for a view, which is a query;
    /// `corrupted`, `io`.
    pub fn relation(&self, name: &str) -> Result<Relation> {
        let tables = self.tables()?;
        if let Some(table) = tables.find(name)? {
            return Ok(Relation::Table(table));
        }
        let mut names = self.collections()?;
        let exact = names.iter().find(|other| *other == name);
        let found = exact.or_else(|| names.iter().find(|other| other.eq_ignore_ascii_case(name)));
        if let Some(found) = found {
            return self.collection(found).map(Relation::Collection);
        }
        names.extend(tables.list()?.into_iter().map(|table| table.name));
        let hint =
            near_or_all(name, &names).unwrap_or_else(|| "the database has neither yet".to_owned());
        Err(Error::NoRelation { name: name.to_owned(), database: self.path().to_owned(), hint })
    }
}
