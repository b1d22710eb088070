//! Creates types of result columns in the stable interface.

use super::value::LogicalType;
use super::value::c_string;
use crate::host_type::{HostType, Kind};
use libduckdb_sys as duckdb;

/// The type of a result column.
pub(crate) fn logical_type(host_type: &HostType) -> LogicalType {
    // SAFETY: DuckDB copies the types and names it is given; ours are released here.
    let made = unsafe {
        match host_type {
            HostType::Simple(kind) => return LogicalType::of_kind(*kind),
            HostType::Decimal { precision, scale } => {
                duckdb::duckdb_create_decimal_type(*precision, *scale)
            }
            HostType::List(element) => duckdb::duckdb_create_list_type(logical_type(element).0),
            HostType::Map(value) => {
                let key = LogicalType::of_kind(Kind::Varchar);
                duckdb::duckdb_create_map_type(key.0, logical_type(value).0)
            }
            HostType::Struct(fields) => {
                let owned: Vec<_> = fields
                    .iter()
                    .map(|(name, field)| (c_string(name), logical_type(field)))
                    .collect();
                let mut names: Vec<_> = owned.iter().map(|(name, _)| name.as_ptr()).collect();
                let mut types: Vec<_> = owned.iter().map(|(_, made)| made.0).collect();
                let count = owned.len() as u64;
                duckdb::duckdb_create_struct_type(types.as_mut_ptr(), names.as_mut_ptr(), count)
            }
        }
    };
    LogicalType(made)
}
