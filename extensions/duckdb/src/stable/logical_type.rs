//! Column types, theirs and ours.

use super::value::LogicalType;
use super::value::c_string;
use folio_ion::shred::Type;
use libduckdb_sys as duckdb;

/// The DuckDB type of a column of ours.
pub(crate) fn logical_type(column_type: &Type) -> LogicalType {
    let id = match column_type {
        Type::Bool => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_BOOLEAN,
        Type::Int(8) => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_TINYINT,
        Type::Int(16) => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_SMALLINT,
        Type::Int(32) => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_INTEGER,
        Type::Int(_) => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_BIGINT,
        Type::UInt(8) => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_UTINYINT,
        Type::UInt(16) => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_USMALLINT,
        Type::UInt(32) => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_UINTEGER,
        Type::UInt(_) => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_UBIGINT,
        Type::HugeInt => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_HUGEINT,
        Type::Float(32) => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_FLOAT,
        Type::Float(_) => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_DOUBLE,
        Type::Timestamp => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP_TZ,
        Type::UtcTimestamp => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP,
        Type::Date => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_DATE,
        Type::String | Type::Json => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_VARCHAR,
        Type::Blob => duckdb::DUCKDB_TYPE_DUCKDB_TYPE_BLOB,
        Type::Decimal { .. } | Type::List(_) | Type::Struct(_) | Type::Map(_) => {
            return composed(column_type);
        }
    };
    let made = LogicalType::simple(id);
    if *column_type == Type::Json {
        // SAFETY: the type is valid; the name is copied.
        unsafe { duckdb::duckdb_logical_type_set_alias(made.0, c"JSON".as_ptr()) };
    }
    made
}

fn composed(column_type: &Type) -> LogicalType {
    // SAFETY: DuckDB copies the types and names it is given; ours are released here.
    let made = unsafe {
        match column_type {
            Type::Decimal { precision, scale } => {
                duckdb::duckdb_create_decimal_type(*precision, *scale)
            }
            Type::List(child) => duckdb::duckdb_create_list_type(logical_type(child).0),
            Type::Map(value) => {
                let key = LogicalType::simple(duckdb::DUCKDB_TYPE_DUCKDB_TYPE_VARCHAR);
                duckdb::duckdb_create_map_type(key.0, logical_type(value).0)
            }
            Type::Struct(fields) => {
                let owned: Vec<_> = fields
                    .iter()
                    .map(|field| (c_string(&field.name), logical_type(&field.field_type)))
                    .collect();
                let mut names: Vec<_> = owned.iter().map(|(name, _)| name.as_ptr()).collect();
                let mut types: Vec<_> = owned.iter().map(|(_, made)| made.0).collect();
                let count = owned.len() as u64;
                duckdb::duckdb_create_struct_type(types.as_mut_ptr(), names.as_mut_ptr(), count)
            }
            _ => unreachable!("simple types are made elsewhere"),
        }
    };
    LogicalType(made)
}
