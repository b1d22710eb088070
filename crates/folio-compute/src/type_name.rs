//! Names of types in messages and schemas, in SQL and in ZiQL.

use folio_types::ColumnType;

/// The SQL name of a type.
#[must_use]
pub fn type_name(ty: &ColumnType) -> String {
    ty.to_string()
}

/// The ZiQL name of a type, for the members of entities.
pub fn member_type_name(ty: &ColumnType) -> String {
    match ty {
        ColumnType::Int16 | ColumnType::Int32 | ColumnType::Int64 => "int".to_owned(),
        ColumnType::Float32 | ColumnType::Float64 => "float".to_owned(),
        ColumnType::Boolean => "bool".to_owned(),
        ColumnType::Text => "str".to_owned(),
        ColumnType::Timestamp { .. } => "datetime".to_owned(),
        ColumnType::List(element) => format!("[]{}", member_type_name(element)),
        other => type_name(other),
    }
}
