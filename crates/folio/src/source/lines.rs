//! Documents, line by line, into columns.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, StringBuilder};
use folio_query::{Batch, Error as QueryError, Result as QueryResult};
use folio_types::{Column, ColumnType, ErrorCode, Value};

use crate::json::{members, unquote};

/// The column that has the whole document.
pub(super) use folio_query::source::DOCUMENT;

/// Columns under construction.
pub(crate) struct LineColumns {
    columns: Vec<Column>,
    builders: Vec<Builder>,
    row_count: usize,
}

enum Builder {
    Boolean(BooleanBuilder),
    Integer(Int64Builder),
    Float(Float64Builder),
    Text(StringBuilder),
    Json(StringBuilder),
}

impl Builder {
    fn new(ty: &ColumnType) -> Self {
        match ty {
            ColumnType::Boolean => Self::Boolean(BooleanBuilder::new()),
            ColumnType::Int64 => Self::Integer(Int64Builder::new()),
            ColumnType::Float64 => Self::Float(Float64Builder::new()),
            ColumnType::Text => Self::Text(StringBuilder::new()),
            _ => Self::Json(StringBuilder::new()),
        }
    }

    fn push(&mut self, value: Value) {
        match (self, value) {
            (Self::Boolean(builder), Value::Boolean(value)) => builder.append_value(value),
            (Self::Boolean(builder), _) => builder.append_null(),
            (Self::Integer(builder), Value::Integer(value)) => builder.append_value(value),
            (Self::Integer(builder), _) => builder.append_null(),
            (Self::Float(builder), Value::Float(value)) => builder.append_value(value),
            (Self::Float(builder), _) => builder.append_null(),
            (Self::Text(builder) | Self::Json(builder), Value::Text(value)) => {
                builder.append_value(value);
            }
            (Self::Text(builder) | Self::Json(builder), _) => builder.append_null(),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Boolean(builder) => Arc::new(builder.finish()),
            Self::Integer(builder) => Arc::new(builder.finish()),
            Self::Float(builder) => Arc::new(builder.finish()),
            Self::Text(builder) | Self::Json(builder) => Arc::new(builder.finish()),
        }
    }
}

impl LineColumns {
    pub(crate) fn new(columns: Vec<Column>) -> Self {
        let builders = columns.iter().map(|column| Builder::new(&column.column_type)).collect();
        Self { columns, builders, row_count: 0 }
    }

    pub(crate) fn row_count(&self) -> usize {
        self.row_count
    }

    /// Appends one document.
    pub(crate) fn push(&mut self, line: &str) -> QueryResult<()> {
        let values = values_of(line, &self.columns)?;
        self.builders.iter_mut().zip(values).for_each(|(builder, value)| builder.push(value));
        self.row_count += 1;
        Ok(())
    }

    /// The rows so far; begins again.
    pub(crate) fn finish(&mut self) -> Batch {
        let columns = self.builders.iter_mut().map(Builder::finish).collect();
        Batch::new(columns, std::mem::take(&mut self.row_count))
    }
}

/// The values of some columns of a document.
pub(super) fn values_of(line: &str, columns: &[Column]) -> QueryResult<Vec<Value>> {
    let members = members(line).map_err(|error| {
        QueryError::new(ErrorCode::Syntax, format!("a document is not JSON: {error}"))
    })?;
    let value = |column: &Column| {
        if column.name == DOCUMENT {
            return Value::Text(line.to_owned());
        }
        let found = members.iter().rev().find(|(name, _)| *name == column.name);
        found.map_or(Value::Null, |(_, json)| value_of(json, &column.column_type))
    };
    Ok(columns.iter().map(value).collect())
}

/// A JSON value as a type that holds it; what does not fit any more is null, and
/// the next look at the schema widens it.
fn value_of(json: &str, ty: &ColumnType) -> Value {
    if json == "null" {
        return Value::Null;
    }
    match ty {
        ColumnType::Boolean => match json {
            "true" => Value::Boolean(true),
            "false" => Value::Boolean(false),
            _ => Value::Null,
        },
        ColumnType::Int64 => json.parse().map_or(Value::Null, Value::Integer),
        ColumnType::Float64 => json.parse().map_or(Value::Null, Value::Float),
        ColumnType::Text => {
            unquote(json).map_or(Value::Null, |text| Value::Text(text.into_owned()))
        }
        _ => Value::Text(json.to_owned()),
    }
}
