//! What types are called in messages and schemas: as SQL spells them, and as ZiQL does.

use folio_types::ColumnType;

/// The name of a type as SQL spells it.
#[must_use]
pub fn type_name(ty: &ColumnType) -> String {
    ty.to_string()
}

/// The name of a type as ZiQL spells it, for the members of entities.
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
