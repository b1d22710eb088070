//! DuckDB's types, as far as they are used here: those of options, parameters and result columns.
//! Each interface converts them to its own.

use folio::ColumnType;
use folio_ion::shred::Type;
use std::collections::HashSet;

/// A type without parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Any type; for parameters only.
    Any,
    Boolean,
    TinyInt,
    SmallInt,
    Integer,
    Bigint,
    HugeInt,
    UTinyInt,
    USmallInt,
    UInteger,
    UBigint,
    Float,
    Double,
    Date,
    Time,
    Timestamp,
    TimestampTz,
    Interval,
    Uuid,
    Varchar,
    Json,
    Blob,
}

/// The type of a result column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HostType {
    Simple(Kind),
    Decimal {
        precision: u8,
        scale: u8,
    },
    List(Box<HostType>),
    /// A map with text keys.
    Map(Box<HostType>),
    Struct(Vec<(String, HostType)>),
}

impl HostType {
    /// The type for Ion values of a type.
    pub(crate) fn of_values(value_type: &Type) -> HostType {
        HostType::Simple(match value_type {
            Type::Bool => Kind::Boolean,
            Type::Int(8) => Kind::TinyInt,
            Type::Int(16) => Kind::SmallInt,
            Type::Int(32) => Kind::Integer,
            Type::Int(_) => Kind::Bigint,
            Type::UInt(8) => Kind::UTinyInt,
            Type::UInt(16) => Kind::USmallInt,
            Type::UInt(32) => Kind::UInteger,
            Type::UInt(_) => Kind::UBigint,
            Type::HugeInt => Kind::HugeInt,
            Type::Float(32) => Kind::Float,
            Type::Float(_) => Kind::Double,
            Type::Timestamp => Kind::TimestampTz,
            Type::UtcTimestamp => Kind::Timestamp,
            Type::Date => Kind::Date,
            Type::String => Kind::Varchar,
            Type::Json => Kind::Json,
            Type::Blob => Kind::Blob,
            Type::Decimal { precision, scale } => {
                return HostType::Decimal { precision: *precision, scale: *scale };
            }
            Type::List(element) => return HostType::List(Box::new(HostType::of_values(element))),
            Type::Map(value) => return HostType::Map(Box::new(HostType::of_values(value))),
            Type::Struct(fields) => {
                let field = |field: &folio_ion::shred::Field| {
                    (field.name.clone(), HostType::of_values(&field.field_type))
                };
                return HostType::of_fields(fields.iter().map(field).collect());
            }
        })
    }

    /// The type for columns of a table; `None` for one that is newer than this extension.
    pub(crate) fn of_column(column_type: &ColumnType) -> Option<HostType> {
        Some(HostType::Simple(match column_type {
            ColumnType::Boolean => Kind::Boolean,
            ColumnType::Int16 => Kind::SmallInt,
            ColumnType::Int32 => Kind::Integer,
            ColumnType::Int64 => Kind::Bigint,
            ColumnType::Float32 => Kind::Float,
            ColumnType::Float64 => Kind::Double,
            ColumnType::Text => Kind::Varchar,
            ColumnType::Binary => Kind::Blob,
            ColumnType::Json => Kind::Json,
            ColumnType::Uuid => Kind::Uuid,
            ColumnType::Date => Kind::Date,
            ColumnType::Time => Kind::Time,
            ColumnType::Timestamp { utc: true } => Kind::TimestampTz,
            ColumnType::Timestamp { utc: false } => Kind::Timestamp,
            ColumnType::Interval => Kind::Interval,
            ColumnType::Decimal { precision, scale } => {
                let scale = u8::try_from(*scale).ok()?;
                return Some(HostType::Decimal { precision: *precision, scale });
            }
            ColumnType::List(element) => {
                return Some(HostType::List(Box::new(HostType::of_column(element)?)));
            }
            ColumnType::Map(value) => {
                return Some(HostType::Map(Box::new(HostType::of_column(value)?)));
            }
            ColumnType::Struct(fields) => {
                let field = |(name, field): &(String, ColumnType)| {
                    Some((name.clone(), HostType::of_column(field)?))
                };
                let fields = fields.iter().map(field).collect::<Option<_>>()?;
                return Some(HostType::of_fields(fields));
            }
            _ => return None,
        }))
    }

    fn of_fields(mut fields: Vec<(String, HostType)>) -> HostType {
        make_distinct(fields.iter_mut().map(|(name, _)| name));
        HostType::Struct(fields)
    }
}

/// Makes names distinct for DuckDB, which ignores case, unlike Ion.
pub(crate) fn make_distinct<'n>(names: impl Iterator<Item = &'n mut String>) {
    let mut taken = HashSet::new();
    for name in names {
        if name.is_empty() {
            "column".clone_into(name);
        }
        let plain = name.clone();
        let mut suffix = 0;
        while !taken.insert(name.to_lowercase()) {
            suffix += 1;
            *name = format!("{plain}_{suffix}");
        }
    }
}
