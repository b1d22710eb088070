//! What a name of a database stands for. Collections and tables share one namespace, for
//! SQL and for whoever reads rows without it.

use crate::collection::Collection;
use crate::database::{Database, near_or_all};
use crate::error::{Error, Result};
use crate::table::Table;

/// What has rows and a name.
#[derive(Debug, Clone)]
pub enum Relation {
    /// A collection of documents.
    Collection(Collection),
    /// A typed table.
    Table(Table),
}

impl Database {
    /// The table or the collection of a name, as SQL finds it: tables come first, and
    /// letters match in either case where no collection is spelt exactly so.
    ///
    /// # Errors
    /// `not_found`, with the nearest name or what there is; `invalid_input` for a view,
    /// which is a query; `corrupted`, `io`.
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
