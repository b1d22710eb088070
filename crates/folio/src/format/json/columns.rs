//! Converts documents, line by line, to columns.

use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use folio_engine::{Batch, Error as QueryError, Result as QueryResult};
use folio_json::{Columns, Field, Others, Tree, Type, double, integer};
use folio_types::{Column, ColumnType, ErrorCode, TableSchema, Value};

use crate::json::{members, unquote};

/// The column of whole documents.
pub(crate) use folio_engine::source::DOCUMENT;

/// Members with longer names do not become columns.
const NAME_SIZE_MAX: usize = 256;

/// The columns of a table of documents, as far as SQL can name them: a key and the whole document
/// if wanted, and a column for each member. Members that differ from another only in case are found
/// in the whole document alone.
pub(crate) fn schema_of(
    types: &Tree,
    table: &str,
    key: Option<&str>,
    document: Option<&str>,
) -> TableSchema {
    let mut columns: Vec<Column> = Vec::new();
    columns.extend(key.map(|key| Column::required(key, ColumnType::Text)));
    let is_key = |name: &str| key.is_some_and(|key| key.to_lowercase() == name.to_lowercase());
    let fields = types.distinct_fields(NAME_SIZE_MAX);
    let members = fields.into_iter().filter(|field| !is_key(&field.name));
    columns.extend(members.map(|field| Column::optional(field.name, field.field_type.to_column())));
    if let Some(document) = document
        && !types.members().any(|(name, _)| name == document)
    {
        columns.push(Column::optional(document, ColumnType::Json));
    }
    let primary_key = if key.is_some() { vec![0] } else { Vec::new() };
    TableSchema::new(table, columns, primary_key)
}

/// A value that does not fit its column: the columns were found in other documents.
pub(crate) struct Changed;

/// Columns under construction.
pub(crate) struct LineColumns {
    columns: Columns,
    /// The position of the column of whole documents, and their text.
    whole: Option<(usize, StringBuilder)>,
}

impl LineColumns {
    pub(crate) fn new(columns: &[Column]) -> Self {
        let is_whole = |column: &&Column| column.name == DOCUMENT;
        let whole = columns.iter().position(|column| is_whole(&column));
        let members = columns.iter().filter(|column| !is_whole(column));
        let field =
            |column: &Column| Field::new(&*column.name, Type::of_column(&column.column_type));
        let fields: Vec<Field> = members.map(field).collect();
        Self {
            columns: Columns::new(&fields, Others::Skip),
            whole: whole.map(|index| (index, StringBuilder::new())),
        }
    }

    pub(crate) fn row_count(&self) -> usize {
        self.columns.row_count()
    }

    /// Appends one document. After an error the rows must not be used.
    pub(crate) fn push(&mut self, line: &[u8]) -> Result<(), Changed> {
        self.columns.push(line).map_err(|_| Changed)?;
        if let Some((_, texts)) = &mut self.whole {
            texts.append_value(std::str::from_utf8(line).map_err(|_| Changed)?);
        }
        Ok(())
    }

    /// Returns the rows so far, and starts again.
    pub(crate) fn finish(&mut self) -> Batch {
        let row_count = self.columns.row_count();
        let (_, mut columns, _) = self.columns.finish().into_parts();
        if let Some((index, texts)) = &mut self.whole {
            columns.insert(*index, Arc::new(texts.finish()));
        }
        Batch::new(columns, row_count)
    }
}

/// The values of some columns of a document; `None` where a column does not hold one.
pub(crate) fn values_of(line: &str, columns: &[Column]) -> QueryResult<Option<Vec<Value>>> {
    let members = members(line).map_err(|error| {
        QueryError::new(ErrorCode::Syntax, format!("a document is not JSON: {error}"))
    })?;
    let value = |column: &Column| {
        if column.name == DOCUMENT {
            return Some(Value::Text(line.to_owned()));
        }
        let found = members.iter().rev().find(|(name, _)| *name == column.name);
        found.map_or(Some(Value::Null), |(_, json)| value_of(json, &column.column_type))
    };
    Ok(columns.iter().map(value).collect())
}

/// Converts a JSON value to a type that holds it.
fn value_of(json: &str, ty: &ColumnType) -> Option<Value> {
    if json == "null" {
        return Some(Value::Null);
    }
    match ty {
        ColumnType::Boolean => match json {
            "true" => Some(Value::Boolean(true)),
            "false" => Some(Value::Boolean(false)),
            _ => None,
        },
        ColumnType::Int64 => integer(json.as_bytes()).map(Value::Integer),
        ColumnType::Float64 => double(json.as_bytes()).map(Value::Float),
        ColumnType::Text => unquote(json).map(|text| Value::Text(text.into_owned())),
        _ => Some(Value::Text(json.to_owned())),
    }
}
