//! The types of columns.

use std::fmt;

/// A column and its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The name of the column's struct field.
    pub name: String,
    /// The column's type.
    pub field_type: Type,
}

/// A column's type. Errors use its SQL name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Type {
    /// Booleans.
    Bool,
    /// Signed integers of 8, 16, 32 or 64 bits, stored as 64.
    Int(u8),
    /// Unsigned integers of 8, 16, 32 or 64 bits, stored as 64.
    UInt(u8),
    /// Signed integers of 128 bits.
    HugeInt,
    /// Floats of 32 or 64 bits, stored as 64.
    Float(u8),
    /// Decimals of `precision` digits (at most 38) with `scale` of them after the point.
    Decimal {
        /// Total number of digits.
        precision: u8,
        /// Digits after the point.
        scale: u8,
    },
    /// Microseconds since the Unix epoch, as a point in time.
    Timestamp,
    /// The same, as the date and the time of day in UTC.
    UtcTimestamp,
    /// Days since the Unix epoch.
    Date,
    /// Text. Values of other types in Ion notation.
    String,
    /// Any value as JSON text.
    Json,
    /// Bytes.
    Blob,
    /// Lists.
    List(Box<Type>),
    /// Structs with known fields.
    Struct(Vec<Field>),
    /// Structs as lists of name and value.
    Map(Box<Type>),
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Bool => f.write_str("BOOLEAN"),
            Type::Int(8) => f.write_str("TINYINT"),
            Type::Int(16) => f.write_str("SMALLINT"),
            Type::Int(32) => f.write_str("INTEGER"),
            Type::Int(_) => f.write_str("BIGINT"),
            Type::UInt(8) => f.write_str("UTINYINT"),
            Type::UInt(16) => f.write_str("USMALLINT"),
            Type::UInt(32) => f.write_str("UINTEGER"),
            Type::UInt(_) => f.write_str("UBIGINT"),
            Type::HugeInt => f.write_str("HUGEINT"),
            Type::Float(32) => f.write_str("FLOAT"),
            Type::Float(_) => f.write_str("DOUBLE"),
            Type::Decimal { precision, scale } => write!(f, "DECIMAL({precision},{scale})"),
            Type::Timestamp => f.write_str("TIMESTAMPTZ"),
            Type::UtcTimestamp => f.write_str("TIMESTAMP"),
            Type::Date => f.write_str("DATE"),
            Type::String => f.write_str("VARCHAR"),
            Type::Json => f.write_str("JSON"),
            Type::Blob => f.write_str("BLOB"),
            Type::List(child) => write!(f, "{child}[]"),
            Type::Struct(fields) => {
                f.write_str("STRUCT(")?;
                for (index, field) in fields.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(f, "{comma}{} {}", field.name, field.field_type)?;
                }
                f.write_str(")")
            }
            Type::Map(value) => write!(f, "MAP(VARCHAR, {value})"),
        }
    }
}
