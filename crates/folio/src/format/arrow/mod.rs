//! Apache Arrow data (<https://arrow.apache.org/docs/format/Columnar.html>) from other programs:
//! registered batches, files of the IPC format, and the output of the Parquet parser.
//!
//! Columns keep their types where there is a counterpart. Unsigned integers become wider ones,
//! times of other units become microseconds, dictionaries become their values, and maps become
//! lists of pairs ([`types`]).

mod batches;
mod read;
mod types;
mod write;

pub(crate) use batches::relation_of;
pub(crate) use read::{batches_of, open};
pub(crate) use types::{column_type, convert, sorted_map};
pub(crate) use write::ArrowRows;

use std::sync::Arc;

use folio_compute::{Error as QueryError, Result as QueryResult};

use arrow_schema::{Field, Fields, Schema};
use folio_types::{Column, ColumnType, ErrorCode};

/// The columns of a schema. One of a type without a counterpart is text that cannot be read
/// ([`check_types`]).
pub(crate) fn columns(fields: &Fields) -> Vec<Column> {
    let column = |field: &Arc<Field>| Column {
        name: field.name().clone(),
        column_type: column_type(field).unwrap_or(ColumnType::Text),
        nullable: true,
    };
    fields.iter().map(column).collect()
}

/// Refuses to read columns of types without a counterpart; `whose` names the schema.
///
/// # Errors
/// `unsupported` for the first such column.
pub(crate) fn check_types(fields: &Fields, wanted: &[usize], whose: &str) -> QueryResult<()> {
    let refused = |at: &&usize| column_type(&fields[**at]).is_none();
    let Some(refused) = wanted.iter().find(refused) else { return Ok(()) };
    let (name, ty) = (fields[*refused].name(), fields[*refused].data_type());
    let text = format!("column {name:?} of {whose} has the type {ty}, which is not supported");
    Err(QueryError::new(ErrorCode::Unsupported, text).help("leave the column out"))
}

/// The schema for columns of these names and types.
pub(crate) fn schema(names: &[String], types: &[ColumnType]) -> Schema {
    let field = |(name, ty): (&String, &ColumnType)| {
        Column { name: name.clone(), column_type: ty.clone(), nullable: true }.to_arrow()
    };
    Schema::new(names.iter().zip(types).map(field).collect::<Vec<_>>())
}
