//! Converts DuckDB types to the form needed for writing.

use super::value::{HostValue, LogicalType, TypeId};
use crate::vector_value::{Shape, unwritable};
use folio_ion::Symbol;
use libduckdb_sys::v2 as duckdb;

impl Shape {
    /// The shape of `logical_type`, or why it cannot be written.
    ///
    /// # Safety
    ///
    /// `logical_type` is valid.
    pub(crate) unsafe fn of(
        logical_type: duckdb::duckdb_v2_logical_type_handle,
    ) -> Result<Shape, String> {
        // SAFETY: the caller's promise; the copy is ours to release.
        let own = LogicalType::take(|out, error| unsafe {
            duckdb::duckdb_v2_logical_type_copy(logical_type, out, error)
        })?;
        shape_of(&own)
    }
}

fn shape_of(own: &LogicalType) -> Result<Shape, String> {
    let id = own.id()?;
    Ok(match id {
        TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_BOOLEAN => Shape::Bool,
        TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_TINYINT => Shape::Int(1),
        TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_SMALLINT => Shape::Int(2),
        TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_INTEGER => Shape::Int(4),
        TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_BIGINT => Shape::Int(8),
        TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_UTINYINT => Shape::UInt(1),
        TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_USMALLINT => Shape::UInt(2),
        TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_UINTEGER => Shape::UInt(4),
        TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_UBIGINT => Shape::UInt(8),
        TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_HUGEINT => Shape::HugeInt,
        TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_UHUGEINT => Shape::UHugeInt,
        TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_FLOAT => Shape::Float,
        TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_DOUBLE => Shape::Double,
        TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_VARCHAR if own.name()? == "JSON" => Shape::Json,
        TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_VARCHAR => Shape::Text,
        TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_BLOB => Shape::Blob,
        TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_DATE => Shape::Date,
        TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_TIME => Shape::Time,
        TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_TIMESTAMP => Shape::Timestamp(6, false),
        TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_TIMESTAMP_SEC => Shape::Timestamp(0, false),
        TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_TIMESTAMP_MS => Shape::Timestamp(3, false),
        TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_TIMESTAMP_NS => Shape::Timestamp(9, false),
        TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_TIMESTAMP_TZ => Shape::Timestamp(6, true),
        TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_INTERVAL => Shape::Interval,
        TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_UUID => Shape::Uuid,
        TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_SQLNULL => Shape::Null,
        TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_DECIMAL => decimal(own)?,
        TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_ENUM => names(own)?,
        TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_LIST => Shape::List(Box::new(child(own, 0)?)),
        TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_ARRAY => {
            Shape::Array(Box::new(child(own, 0)?), u64::from(number(own, 1)?))
        }
        TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_MAP => Shape::of_map(child(own, 0)?, child(own, 1)?),
        TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_STRUCT | TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_TUPLE => {
            fields(own)?
        }
        _ => return Err(unwritable(name_of(id), id as u32)),
    })
}

/// The name of a type that has no shape.
fn name_of(id: TypeId) -> Option<&'static str> {
    Some(match id {
        TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_UNION => "UNION",
        TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_BIT => "BIT",
        TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_BIGNUM => "BIGNUM",
        TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_TIME_TZ => "TIME WITH TIME ZONE",
        TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_TIME_NS => "TIME_NS",
        TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_TIMESTAMP_TZ_NS => "TIMESTAMPTZ_NS",
        TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_GEOMETRY => "GEOMETRY",
        TypeId::DUCKDB_V2_LOGICAL_TYPE_ID_VARIANT => "VARIANT",
        _ => return None,
    })
}

fn parameter(own: &LogicalType, index: usize) -> Result<HostValue, String> {
    let found = own.parameters()?.into_iter().nth(index).map(|(_, value)| value);
    found.ok_or_else(|| "a nested type lacks its element types".to_owned())
}

fn number(own: &LogicalType, index: usize) -> Result<u32, String> {
    let text = parameter(own, index)?.text().unwrap_or_default();
    text.parse().map_err(|_| format!("a type is made of '{text}'"))
}

fn child(own: &LogicalType, index: usize) -> Result<Shape, String> {
    shape_of(&LogicalType::of_value(&parameter(own, index)?)?)
}

fn decimal(own: &LogicalType) -> Result<Shape, String> {
    let size = match number(own, 0)? {
        0..=4 => 2,
        5..=9 => 4,
        10..=18 => 8,
        _ => 16,
    };
    Ok(Shape::Decimal(size, u8::try_from(number(own, 1)?).unwrap_or(u8::MAX)))
}

fn names(own: &LogicalType) -> Result<Shape, String> {
    let texts: Vec<Symbol> = own
        .parameters()?
        .iter()
        .map(|(_, value)| Symbol::from(value.text().unwrap_or_default().as_str()))
        .collect();
    let size = match texts.len() {
        0..=255 => 1,
        256..=65_535 => 2,
        _ => 4,
    };
    Ok(Shape::Enum(size, texts))
}

fn fields(own: &LogicalType) -> Result<Shape, String> {
    let field = |(name, value): (String, HostValue)| {
        Ok((Symbol::from(name.as_str()), shape_of(&LogicalType::of_value(&value)?)?))
    };
    own.parameters()?.into_iter().map(field).collect::<Result<_, String>>().map(Shape::of_fields)
}
