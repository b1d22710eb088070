//! Converts DuckDB types to the form needed for writing.

use super::value::{LogicalType, take_text};
use crate::vector_value::{Shape, unwritable};
use folio_ion::Symbol;
use libduckdb_sys as duckdb;

impl Shape {
    /// The shape of `logical_type`, or why it cannot be written.
    ///
    /// # Safety
    ///
    /// `logical_type` is valid.
    pub(crate) unsafe fn of(logical_type: duckdb::duckdb_logical_type) -> Result<Shape, String> {
        // SAFETY: the caller's promise; child types are released by their owners.
        unsafe {
            let id = duckdb::duckdb_get_type_id(logical_type);
            Ok(match id {
                duckdb::DUCKDB_TYPE_DUCKDB_TYPE_BOOLEAN => Shape::Bool,
                duckdb::DUCKDB_TYPE_DUCKDB_TYPE_TINYINT => Shape::Int(1),
                duckdb::DUCKDB_TYPE_DUCKDB_TYPE_SMALLINT => Shape::Int(2),
                duckdb::DUCKDB_TYPE_DUCKDB_TYPE_INTEGER => Shape::Int(4),
                duckdb::DUCKDB_TYPE_DUCKDB_TYPE_BIGINT => Shape::Int(8),
                duckdb::DUCKDB_TYPE_DUCKDB_TYPE_UTINYINT => Shape::UInt(1),
                duckdb::DUCKDB_TYPE_DUCKDB_TYPE_USMALLINT => Shape::UInt(2),
                duckdb::DUCKDB_TYPE_DUCKDB_TYPE_UINTEGER => Shape::UInt(4),
                duckdb::DUCKDB_TYPE_DUCKDB_TYPE_UBIGINT => Shape::UInt(8),
                duckdb::DUCKDB_TYPE_DUCKDB_TYPE_HUGEINT => Shape::HugeInt,
                duckdb::DUCKDB_TYPE_DUCKDB_TYPE_UHUGEINT => Shape::UHugeInt,
                duckdb::DUCKDB_TYPE_DUCKDB_TYPE_FLOAT => Shape::Float,
                duckdb::DUCKDB_TYPE_DUCKDB_TYPE_DOUBLE => Shape::Double,
                duckdb::DUCKDB_TYPE_DUCKDB_TYPE_VARCHAR => {
                    match take_text(duckdb::duckdb_logical_type_get_alias(logical_type)).as_deref()
                    {
                        Some("JSON") => Shape::Json,
                        _ => Shape::Text,
                    }
                }
                duckdb::DUCKDB_TYPE_DUCKDB_TYPE_BLOB => Shape::Blob,
                duckdb::DUCKDB_TYPE_DUCKDB_TYPE_DATE => Shape::Date,
                duckdb::DUCKDB_TYPE_DUCKDB_TYPE_TIME => Shape::Time,
                duckdb::DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP => Shape::Timestamp(6, false),
                duckdb::DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP_S => Shape::Timestamp(0, false),
                duckdb::DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP_MS => Shape::Timestamp(3, false),
                duckdb::DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP_NS => Shape::Timestamp(9, false),
                duckdb::DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP_TZ => Shape::Timestamp(6, true),
                duckdb::DUCKDB_TYPE_DUCKDB_TYPE_INTERVAL => Shape::Interval,
                duckdb::DUCKDB_TYPE_DUCKDB_TYPE_UUID => Shape::Uuid,
                duckdb::DUCKDB_TYPE_DUCKDB_TYPE_SQLNULL => Shape::Null,
                duckdb::DUCKDB_TYPE_DUCKDB_TYPE_DECIMAL => {
                    let size = size_of_type(duckdb::duckdb_decimal_internal_type(logical_type));
                    Shape::Decimal(size, duckdb::duckdb_decimal_scale(logical_type))
                }
                duckdb::DUCKDB_TYPE_DUCKDB_TYPE_ENUM => Shape::of_enum(logical_type),
                duckdb::DUCKDB_TYPE_DUCKDB_TYPE_LIST => {
                    let child = LogicalType(duckdb::duckdb_list_type_child_type(logical_type));
                    Shape::List(Box::new(Shape::of(child.0)?))
                }
                duckdb::DUCKDB_TYPE_DUCKDB_TYPE_ARRAY => {
                    let child = LogicalType(duckdb::duckdb_array_type_child_type(logical_type));
                    let size = duckdb::duckdb_array_type_array_size(logical_type);
                    Shape::Array(Box::new(Shape::of(child.0)?), size)
                }
                duckdb::DUCKDB_TYPE_DUCKDB_TYPE_MAP => Shape::of_map_type(logical_type)?,
                duckdb::DUCKDB_TYPE_DUCKDB_TYPE_STRUCT => Shape::of_struct(logical_type)?,
                _ => return Err(unwritable(name_of(id), id)),
            })
        }
    }

    /// # Safety
    ///
    /// `logical_type` is a valid enum type.
    unsafe fn of_enum(logical_type: duckdb::duckdb_logical_type) -> Shape {
        // SAFETY: the caller's promise; indexes are below the size; the texts are ours.
        unsafe {
            let size = size_of_type(duckdb::duckdb_enum_internal_type(logical_type));
            let count = duckdb::duckdb_enum_dictionary_size(logical_type);
            let text = |index| {
                take_text(duckdb::duckdb_enum_dictionary_value(logical_type, u64::from(index)))
            };
            let texts =
                (0..count).map(|index| Symbol::from(text(index).unwrap_or_default().as_str()));
            Shape::Enum(size, texts.collect())
        }
    }

    /// # Safety
    ///
    /// `logical_type` is a valid map type.
    unsafe fn of_map_type(logical_type: duckdb::duckdb_logical_type) -> Result<Shape, String> {
        // SAFETY: the caller's promise.
        unsafe {
            let key = LogicalType(duckdb::duckdb_map_type_key_type(logical_type));
            let value = LogicalType(duckdb::duckdb_map_type_value_type(logical_type));
            Ok(Shape::of_map(Shape::of(key.0)?, Shape::of(value.0)?))
        }
    }

    /// # Safety
    ///
    /// `logical_type` is a valid struct type.
    unsafe fn of_struct(logical_type: duckdb::duckdb_logical_type) -> Result<Shape, String> {
        // SAFETY: the caller's promise; indexes are below the count; names are ours.
        unsafe {
            let count = duckdb::duckdb_struct_type_child_count(logical_type);
            let field = |index| {
                let name = take_text(duckdb::duckdb_struct_type_child_name(logical_type, index));
                let child = LogicalType(duckdb::duckdb_struct_type_child_type(logical_type, index));
                Ok((Symbol::from(name.unwrap_or_default().as_str()), Shape::of(child.0)?))
            };
            (0..count).map(field).collect::<Result<_, String>>().map(Shape::of_fields)
        }
    }
}

/// The name of a type that has no shape.
fn name_of(id: duckdb::DUCKDB_TYPE) -> Option<&'static str> {
    Some(match id {
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_UNION => "UNION",
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_BIT => "BIT",
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_BIGNUM => "BIGNUM",
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_TIME_TZ => "TIME WITH TIME ZONE",
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_TIME_NS => "TIME_NS",
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP_TZ_NS => "TIMESTAMPTZ_NS",
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_GEOMETRY => "GEOMETRY",
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_VARIANT => "VARIANT",
        _ => return None,
    })
}

fn size_of_type(id: duckdb::DUCKDB_TYPE) -> u8 {
    match id {
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_UTINYINT => 1,
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_SMALLINT | duckdb::DUCKDB_TYPE_DUCKDB_TYPE_USMALLINT => 2,
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_INTEGER | duckdb::DUCKDB_TYPE_DUCKDB_TYPE_UINTEGER => 4,
        duckdb::DUCKDB_TYPE_DUCKDB_TYPE_BIGINT => 8,
        _ => 16,
    }
}
