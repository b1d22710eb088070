//! The relations that a statement can name.

use std::sync::Arc;

use folio_compute::Error as QueryError;
use folio_engine::source::{Changes as _, Relation, RelationKind as SourceKind, Source as _};
use folio_engine::{Constraints, check_row};
use folio_sql::show_relation;
use folio_types::{ErrorCode, Value, borrowed, near_match};

use super::Session;
use crate::error::Result;
use crate::source::View;

/// How a relation is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelationKind {
    /// Typed rows.
    Table,
    /// Documents.
    Collection,
    /// A named query.
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

/// A summary of a relation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelationSummary {
    /// Its name.
    pub name: String,
    /// How it is stored.
    pub kind: RelationKind,
    /// The columns of a table. Empty for a collection, whose columns are found by reading its
    /// documents, and for a view, whose columns are known once bound: DESCRIBE does both.
    pub columns: Vec<String>,
    /// The columns of the key; of a collection, `_id`. Empty for a view.
    pub key: Vec<String>,
    /// Rows or documents; `None` for a view.
    pub row_count: Option<u64>,
}

impl Session {
    /// All relations that the next statement could name, by name. Reads the catalog only, no
    /// documents.
    ///
    /// # Errors
    /// Errors of the stores.
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
                key: key_of(&relation),
                row_count: view.row_count(&relation)?,
            });
        }
        for name in view.collection_names()? {
            if found.iter().any(|other| other.name.eq_ignore_ascii_case(&name)) {
                continue;
            }
            let row_count = Some(view.count_documents(&name)?);
            let kind = RelationKind::Collection;
            let key = vec!["_id".to_owned()];
            found.push(RelationSummary { name, kind, columns: Vec::new(), key, row_count });
        }
        found.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        Ok(found)
    }

    /// The statements that create a table or view with its indexes, or the indexes of a collection.
    /// Empty for relations that no statement creates.
    ///
    /// # Errors
    /// `not_found`; errors of the stores.
    pub fn definition(&mut self, name: &str) -> Result<String> {
        let view = self.view()?;
        match view.relation(name)? {
            Some(relation) if relation.kind == SourceKind::Collection => {
                Ok(view.index_statements(&relation)?)
            }
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

    /// All tables and views, as relations of the engine.
    pub(crate) fn tables_and_views(&mut self) -> Result<Vec<Arc<Relation>>> {
        let view = self.view()?;
        let mut found = Vec::new();
        for name in view.table_names()? {
            found.extend(view.relation(&name)?);
        }
        Ok(found)
    }

    /// A table, as a relation of the engine.
    pub(crate) fn table(&mut self, name: &str) -> Result<Arc<Relation>> {
        self.find_table(name)?.ok_or_else(|| {
            QueryError::new(ErrorCode::NotFound, format!("there is no table {name:?}")).into()
        })
    }

    /// A table, if it exists.
    pub(crate) fn find_table(&mut self, name: &str) -> Result<Option<Arc<Relation>>> {
        let found = self.view()?.relation(name)?;
        Ok(found.filter(|relation| relation.kind == SourceKind::Table))
    }

    /// Changes properties of a table other than names and types. The caller ensures that the rows
    /// satisfy them.
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

    /// The identity columns of a table that have numbered rows, with their next numbers.
    pub(crate) fn identities(&mut self, relation: &Relation) -> Result<Vec<(String, i64)>> {
        let found = self.view()?.identities(relation)?.into_iter();
        Ok(found.map(|(column, next)| (relation.column_name(column).to_owned(), next)).collect())
    }

    /// Sets the next number of an identity column.
    pub(crate) fn set_identity(&mut self, table: &str, column: &str, next: i64) -> Result<()> {
        let relation = self.table(table)?;
        let Some(column) = relation.column_index(column) else { return Ok(()) };
        self.in_transaction(true, |_, view| Ok(view.set_identity(&relation, column, next)?))
    }

    /// Inserts rows without checking constraints between rows; the caller checks those. Identity
    /// columns continue after the greatest number.
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

pub(super) fn key_of(relation: &Relation) -> Vec<String> {
    let columns = relation.schema.primary_key.iter();
    columns.map(|column| relation.column_name(*column).to_owned()).collect()
}

/// A buffer of rows for a table, which inserts many rows faster than one at a time.
#[derive(Default)]
struct Gathered {
    /// The values of all rows, row by row.
    values: Vec<Value>,
    /// Bytes of variable-size values.
    size: usize,
}

impl Gathered {
    const VALUES_MAX: usize = 16_384;
    const SIZE_MAX: usize = 1 << 20;

    /// Adds a row. Returns whether the buffer is full.
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
