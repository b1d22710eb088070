//! Changes of a transaction: rows, tables, views, indexes.

use std::sync::Arc;

use folio_compute::{Error as QueryError, Result as QueryResult};
use folio_engine::Constraints;
use folio_engine::source::{
    Changes, FieldIndex, IndexInfo, IndexMethod, Progress, Relation, RelationKind, Source,
    insert_each,
};
use folio_table::{IndexDefinition, Transaction};
use folio_types::{ErrorCode, TableSchema, Value, ValueRef};

use super::tables::table_of;
use super::{PendingDocuments, Tables, View, documents, ended, indexes};
use crate::database::Database;
use crate::error::from_table;
use crate::lock::lock;

impl View {
    /// Changes the tables through the transaction.
    fn write<T>(
        &self,
        write: impl FnOnce(&mut Transaction) -> folio_table::Result<T>,
    ) -> QueryResult<T> {
        let Tables::Transaction(transaction) = self.tables()? else {
            return Err(QueryError::new(
                ErrorCode::ReadOnly,
                "the transaction is read-only; start another",
            ));
        };
        let mut transaction = lock(transaction);
        write(transaction.as_mut().ok_or_else(ended)?).map_err(from_table)
    }

    /// Changes a collection, as part of the running statement.
    fn change_documents<T>(
        &self,
        change: impl FnOnce(&mut PendingDocuments) -> QueryResult<T>,
    ) -> QueryResult<T> {
        let Some(documents) = &self.documents else {
            let error = "collections are changed by separate statements";
            return Err(QueryError::new(ErrorCode::Unsupported, error));
        };
        change(&mut lock(documents))
    }

    fn create_columns_index(
        &self,
        table: &str,
        name: &str,
        columns: &[usize],
        progress: Progress<'_>,
    ) -> QueryResult<()> {
        let Tables::Transaction(transaction) = self.tables()? else { return Err(ended()) };
        let mut transaction = lock(transaction);
        let transaction = transaction.as_mut().ok_or_else(ended)?;
        let created = transaction.create_columns_index(table, name, columns).map_err(from_table)?;
        let is_it = |own: &&folio_table::ColumnsIndex| own.name == name;
        let index = created.columns_indexes().iter().find(is_it).ok_or_else(ended)?;
        let folder = self.handle.store.part_folder();
        Ok(crate::row_parts::create(folder, transaction, &created, index, progress)?)
    }

    fn kind_of(&self, name: &str) -> QueryResult<Option<RelationKind>> {
        Ok(self.relation(name)?.map(|relation| relation.kind))
    }

    fn database(&self) -> Database {
        Database::of(Arc::clone(&self.handle))
    }
}

/// Turns a duplicate key into an error that names the constraint.
fn refuse_duplicate(error: QueryError, relation: &Relation) -> QueryError {
    if error.code() != ErrorCode::Conflict {
        return error;
    }
    let message = error.message().to_owned();
    let table = &relation.schema.name;
    let named =
        relation.indexes.iter().find(|index| message.contains(&format!("{:?}", index.name)));
    let columns = |positions: Vec<usize>| {
        let names: Vec<&str> =
            positions.iter().map(|index| &*relation.schema.columns[*index].name).collect();
        names.join(", ")
    };
    let key = match named {
        Some(index) => columns(index.columns.iter().map(|(column, _)| *column).collect()),
        None => columns(relation.schema.primary_key.clone()),
    };
    let constraint =
        named.map_or_else(|| "the primary key".to_owned(), |index| format!("{:?}", index.name));
    QueryError::new(
        ErrorCode::Conflict,
        format!(
            "a row of table {table:?} with the same {key} already exists, which violates {constraint}"
        ),
    )
    .help("choose another value, or write ON CONFLICT")
    .of_entities(format!("another `{table}` has the same `{key}`"), "choose another value")
}

impl Changes for View {
    fn insert(&self, relation: &Relation, row: &[ValueRef<'_>]) -> QueryResult<()> {
        if relation.kind == RelationKind::Collection {
            return self.change_documents(|pending| {
                documents::insert(&self.handle, pending, relation, row)
            });
        }
        let table = table_of(relation)?;
        self.write(|transaction| transaction.insert(&table, row).map(|_| ()))
            .map_err(|error| refuse_duplicate(error, relation))
    }

    fn insert_many(
        &self,
        relation: &Relation,
        rows: &[ValueRef<'_>],
    ) -> Result<(), (usize, QueryError)> {
        if relation.kind == RelationKind::Collection {
            return insert_each(self, relation, rows);
        }
        let first = |error| (0, error);
        let table = table_of(relation).map_err(first)?;
        // The index of the refused row, returned separately from the error.
        let mut refused = 0;
        let written = self.write(|transaction| {
            transaction.insert_many(&table, rows).map_err(|(row, error)| {
                refused = row;
                error
            })
        });
        written.map_err(|error| (refused, refuse_duplicate(error, relation)))
    }

    fn update(
        &self,
        relation: &Relation,
        key: &[ValueRef<'_>],
        row: &[ValueRef<'_>],
    ) -> QueryResult<bool> {
        if relation.kind == RelationKind::Collection {
            return self.change_documents(|pending| {
                documents::update(&self.handle, pending, relation, key, row)
            });
        }
        let table = table_of(relation)?;
        self.write(|transaction| transaction.update(&table, key, row))
            .map_err(|error| refuse_duplicate(error, relation))
    }

    fn get_to_change(
        &self,
        relation: &Relation,
        key: &[ValueRef<'_>],
        columns: &[usize],
        row: &mut Vec<Value>,
    ) -> QueryResult<bool> {
        let table = table_of(relation)?;
        self.write(|transaction| {
            let Some(found) = transaction.get_to_change(&table, key)? else { return Ok(false) };
            for column in columns {
                row.push(found.get(*column)?);
            }
            Ok(true)
        })
    }

    fn update_columns(
        &self,
        relation: &Relation,
        key: &[ValueRef<'_>],
        columns: &[usize],
        values: &[ValueRef<'_>],
    ) -> QueryResult<bool> {
        let table = table_of(relation)?;
        self.write(|transaction| transaction.update_columns(&table, key, columns, values))
            .map_err(|error| refuse_duplicate(error, relation))
    }

    fn delete(&self, relation: &Relation, key: &[ValueRef<'_>]) -> QueryResult<bool> {
        if relation.kind == RelationKind::Collection {
            return self.change_documents(|pending| {
                documents::delete(&self.handle, pending, relation, key)
            });
        }
        let table = table_of(relation)?;
        self.write(|transaction| transaction.delete(&table, key))
    }

    fn clear(&self, table: &Relation) -> QueryResult<()> {
        let name = &table.schema.name;
        self.write(|transaction| transaction.truncate_table(name).map(|_| ()))
    }

    fn next_identity(&self, relation: &Relation, column: usize) -> QueryResult<i64> {
        let table = table_of(relation)?;
        self.write(|transaction| transaction.take_identities(&table, column, 1))
    }

    fn set_identity(&self, relation: &Relation, column: usize, next: i64) -> QueryResult<()> {
        let table = table_of(relation)?;
        self.write(|transaction| transaction.set_identity(&table, column, next))
    }

    fn pass_identity(&self, relation: &Relation, column: usize, given: i64) -> QueryResult<()> {
        let table = table_of(relation)?;
        self.write(|transaction| transaction.pass_identity(&table, column, given))
    }

    fn create(&self, schema: &TableSchema) -> QueryResult<()> {
        let constraints = Constraints::from_properties(&schema.properties).unwrap_or_default();
        if constraints.view.is_none() {
            return self.write(|transaction| transaction.create_table(schema).map(|_| ()));
        }
        let view_columns = schema.columns.iter().map(|column| column.name.clone()).collect();
        let text = Constraints { view_columns, ..constraints }.to_properties();
        self.write(|transaction| transaction.create_view(&schema.name, &text, false))
    }

    fn drop(&self, name: &str) -> QueryResult<()> {
        match self.kind_of(name)? {
            Some(RelationKind::View) => self.write(|transaction| transaction.drop_view(name)),
            Some(RelationKind::Collection) => Ok(self.database().drop_collection(name)?),
            _ => self.write(|transaction| transaction.drop_table(name)),
        }
    }

    fn alter(&self, name: &str, schema: &TableSchema) -> QueryResult<()> {
        if self.kind_of(name)? == Some(RelationKind::Collection) {
            if name != schema.name {
                return Ok(self.database().rename_collection(name, &schema.name)?);
            }
            let settings = Constraints::from_properties(&schema.properties).unwrap_or_default();
            let collection = self.database().collection(name)?;
            return Ok(collection.set_open_paths(settings.has_open_paths)?);
        }
        self.write(|transaction| transaction.alter_table(name, schema).map(|_| ()))
    }

    fn create_index(
        &self,
        table: &str,
        index: &IndexInfo,
        progress: Progress<'_>,
    ) -> QueryResult<()> {
        let IndexInfo { name, columns, unique, .. } = index.clone();
        if index.method == IndexMethod::Columns {
            let columns: Vec<usize> = columns.into_iter().map(|(column, _)| column).collect();
            return self.create_columns_index(table, &name, &columns, progress);
        }
        let definition = IndexDefinition { name, columns, unique };
        self.write(|transaction| transaction.create_index(table, &definition).map(|_| ()))
    }

    fn drop_index(&self, name: &str) -> QueryResult<()> {
        self.write(|transaction| transaction.drop_index(name))
    }

    fn create_field_index(
        &self,
        collection: &Relation,
        index: &FieldIndex,
        if_not_exists: bool,
        progress: Progress<'_>,
    ) -> QueryResult<()> {
        indexes::create(&self.handle, collection, index, if_not_exists, progress)
    }

    fn drop_field_index(&self, collection: &Relation, name: &str) -> QueryResult<()> {
        indexes::drop(&self.handle, collection, name)
    }
}
