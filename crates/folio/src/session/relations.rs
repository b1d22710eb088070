//! What a statement can name.

use std::sync::Arc;

use folio_engine::source::{Changes as _, Relation, RelationKind as SourceKind, Source as _};
use folio_engine::{Constraints, Error as QueryError, check_row};
use folio_sql::show_relation;
use folio_types::{ErrorCode, Value, borrowed};

use super::Session;
use crate::error::Result;
use crate::near::near_match;
use crate::source::View;

/// What a relation is kept as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelationKind {
    /// Typed rows.
    Table,
    /// Documents.
    Collection,
    /// A query with a name.
    View,
}

impl RelationKind {
    /// `table`, `collection` or `view`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Collection => "collection",
            Self::View => "view",
        }
    }
}

/// A relation by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelationSummary {
    /// Its name.
    pub name: String,
    /// What it is kept as.
    pub kind: RelationKind,
    /// The names of a table's columns. Those of a collection are not known before its
    /// documents are read, nor those of a view before it is bound: DESCRIBE does both.
    pub columns: Vec<String>,
    /// Rows or documents; `None` for a view.
    pub row_count: Option<u64>,
}

impl Session {
    /// All relations that the next statement could name, by name. Reads the catalog,
    /// no documents.
    ///
    /// # Errors
    /// What the stores say.
    pub fn relations(&mut self) -> Result<Vec<RelationSummary>> {
        let view = self.view()?;
        let mut found = Vec::new();
        for name in view.table_names()? {
            let Some(relation) = view.relation(&name)? else { continue };
            let columns = relation.schema.columns.iter().map(|column| column.name.clone());
            found.push(RelationSummary {
                name,
                kind: match relation.kind {
                    SourceKind::View => RelationKind::View,
                    _ => RelationKind::Table,
                },
                columns: columns.collect(),
                row_count: view.row_count(&relation)?,
            });
        }
        for name in view.collection_names()? {
            if found.iter().any(|other| other.name.eq_ignore_ascii_case(&name)) {
                continue;
            }
            let row_count = Some(view.count_documents(&name)?);
            let kind = RelationKind::Collection;
            found.push(RelationSummary { name, kind, columns: Vec::new(), row_count });
        }
        found.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        Ok(found)
    }

    /// The statements that make a table or view, with its indexes. Empty for what no
    /// statement makes.
    ///
    /// # Errors
    /// `not_found`; what the stores say.
    pub fn definition(&mut self, name: &str) -> Result<String> {
        let view = self.view()?;
        match view.relation(name)? {
            Some(relation) => Ok(show_relation(&relation)),
            None => {
                let names = view.names()?;
                let error = QueryError::new(
                    ErrorCode::NotFound,
                    format!("there is no table, view or collection {name:?}"),
                );
                Err(match near_match(name, &names) {
                    Some(near) => error.help(format!("did you mean {near:?}?")),
                    None => error,
                }
                .into())
            }
        }
    }

    /// All tables and views, as the engine knows them.
    pub(crate) fn tables_and_views(&mut self) -> Result<Vec<Arc<Relation>>> {
        let view = self.view()?;
        let mut found = Vec::new();
        for name in view.table_names()? {
            found.extend(view.relation(&name)?);
        }
        Ok(found)
    }

    /// A table, as the engine knows it.
    pub(crate) fn table(&mut self, name: &str) -> Result<Arc<Relation>> {
        self.find_table(name)?.ok_or_else(|| {
            QueryError::new(ErrorCode::NotFound, format!("there is no table {name:?}")).into()
        })
    }

    /// A table, if there is one.
    pub(crate) fn find_table(&mut self, name: &str) -> Result<Option<Arc<Relation>>> {
        let found = self.view()?.relation(name)?;
        Ok(found.filter(|relation| relation.kind == SourceKind::Table))
    }

    /// Changes what is kept with a table beyond names and types; that its rows fit is
    /// for the caller to know.
    pub(crate) fn amend(
        &mut self,
        table: &str,
        change: impl FnOnce(&mut Constraints),
    ) -> Result<()> {
        let relation = self.table(table)?;
        let (mut schema, mut constraints) = (relation.schema.clone(), relation.constraints.clone());
        change(&mut constraints);
        schema.properties = constraints.to_properties();
        self.in_transaction(true, |_, view| Ok(view.alter(table, &schema)?))
    }

    /// Sets the number that a column takes next.
    pub(crate) fn set_identity(&mut self, table: &str, column: &str, next: i64) -> Result<()> {
        let relation = self.table(table)?;
        let Some(column) = relation.column_index(column) else { return Ok(()) };
        self.in_transaction(true, |_, view| Ok(view.set_identity(&relation, column, next)?))
    }

    /// Inserts rows as they come; what they promise other rows is for the caller to
    /// check. Columns that number rows go on behind the greatest number.
    pub(crate) fn fill(
        &mut self,
        relation: &Relation,
        next: &mut dyn FnMut() -> Result<Option<Vec<Value>>>,
    ) -> Result<u64> {
        let numbered: Vec<usize> = relation
            .constraints
            .identity
            .keys()
            .filter_map(|name| relation.column_index(name))
            .collect();
        self.in_transaction(true, |_, view| {
            let (mut count, mut greatest) = (0, vec![0; numbered.len()]);
            let mut gathered = Gathered::default();
            while let Some(row) = next()? {
                count += 1;
                check_row(relation, &row)?;
                for (column, greatest) in numbered.iter().zip(&mut greatest) {
                    if let Value::Integer(number) = row[*column] {
                        *greatest = number.max(*greatest);
                    }
                }
                if gathered.is_full_with(row) {
                    gathered.insert(view, relation)?;
                }
            }
            gathered.insert(view, relation)?;
            for (column, greatest) in numbered.iter().zip(greatest) {
                view.set_identity(relation, *column, greatest.saturating_add(1))?;
            }
            Ok(count)
        })
    }
}

/// Rows on their way into a table, which takes many at once faster than each alone.
#[derive(Default)]
struct Gathered {
    /// One row behind the other.
    values: Vec<Value>,
    /// Bytes of texts and the like.
    size: usize,
}

impl Gathered {
    const VALUES_MAX: usize = 16_384;
    const SIZE_MAX: usize = 1 << 20;

    /// Takes a row; answers whether it is time to insert.
    fn is_full_with(&mut self, row: Vec<Value>) -> bool {
        for value in &row {
            self.size += match value {
                Value::Text(text) => text.len(),
                Value::Bytes(bytes) => bytes.len(),
                _ => 0,
            };
        }
        self.values.extend(row);
        self.values.len() >= Self::VALUES_MAX || self.size >= Self::SIZE_MAX
    }

    fn insert(&mut self, view: &View, relation: &Relation) -> Result<()> {
        if !self.values.is_empty() {
            let written = view.insert_many(relation, &borrowed(&self.values));
            written.map_err(|(_, error)| error)?;
        }
        self.values.clear();
        self.size = 0;
        Ok(())
    }
}
