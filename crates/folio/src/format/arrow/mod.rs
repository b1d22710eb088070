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

pub(crate) use batches::{ArrowBatches, relation_of};
pub(crate) use read::{batches_of, open};
pub(crate) use types::{column_type, convert, sorted_map};
pub(crate) use write::ArrowRows;

use std::sync::Arc;

use folio_compute::{Error as QueryError, Result as QueryResult};

use arrow_schema::{Fields, Schema};
use folio_types::{Column, ColumnType, ErrorCode};

/// The columns of a schema; `whose` names it in errors.
///
/// # Errors
/// `unsupported` for columns of types without a counterpart.
pub(crate) fn columns(fields: &Fields, whose: &str) -> QueryResult<Vec<Column>> {
    let column = |field: &Arc<arrow_schema::Field>| {
        let column_type = column_type(field).ok_or_else(|| {
            let text = format!(
                "column {:?} of {whose} has the type {}, which is not supported",
                field.name(),
                field.data_type()
            );
            QueryError::new(ErrorCode::Unsupported, text).help("leave the column out")
        })?;
        Ok(Column { name: field.name().clone(), column_type, nullable: true })
    };
    fields.iter().map(column).collect()
}

/// The schema for columns of these names and types.
pub(crate) fn schema(names: &[String], types: &[ColumnType]) -> Schema {
    let field = |(name, ty): (&String, &ColumnType)| {
        Column { name: name.clone(), column_type: ty.clone(), nullable: true }.to_arrow()
    };
    Schema::new(names.iter().zip(types).map(field).collect::<Vec<_>>())
}
