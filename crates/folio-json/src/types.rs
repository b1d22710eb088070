//! The type of a path, and its equivalents in Arrow and SQL.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use arrow_schema::{DataType, Field as ArrowField, FieldRef, Fields};
use folio_types::ColumnType;

/// The type of the values of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Type {
    /// Only null.
    Null,
    /// Booleans.
    Boolean,
    /// Integers of 64 bits, with a sign.
    Int64,
    /// Doubles.
    Float64,
    /// Text.
    Text,
    /// The text of any value.
    Json,
    /// Objects without members, which cannot be struct columns: JSON text.
    Empty,
    /// Lists.
    List(Box<Type>),
    /// Objects, by their members.
    Struct(Vec<Field>),
    /// Objects whose keys are data, by the type of all their values.
    Map(Box<Type>),
}

/// A member and its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The name.
    pub name: String,
    /// The type.
    pub field_type: Type,
}

impl Field {
    /// A field with a name and a type.
    #[must_use]
    pub fn new(name: impl Into<String>, field_type: Type) -> Self {
        Self { name: name.into(), field_type }
    }

    /// The Arrow field. JSON text has the extension type `arrow.json`.
    #[must_use]
    pub fn to_arrow(&self) -> ArrowField {
        let field = ArrowField::new(&self.name, self.field_type.to_arrow(), true);
        match self.field_type {
            Type::Json | Type::Empty => field.with_metadata(HashMap::from([
                ("ARROW:extension:name".to_owned(), "arrow.json".to_owned()),
                ("ARROW:extension:metadata".to_owned(), String::new()),
            ])),
            _ => field,
        }
    }
}

/// The Arrow fields.
pub(crate) fn to_arrow(fields: &[Field]) -> Fields {
    fields.iter().map(|field| Arc::new(field.to_arrow())).collect()
}

/// The Arrow field of the entries of a map. Keys are never null.
pub(crate) fn entries(value: &Type) -> FieldRef {
    let key = ArrowField::new("key", DataType::Utf8, false);
    let entry = vec![key, Field::new("value", value.clone()).to_arrow()];
    Arc::new(ArrowField::new("entries", DataType::Struct(entry.into()), false))
}

impl Type {
    /// The Arrow type.
    #[must_use]
    pub fn to_arrow(&self) -> DataType {
        match self {
            Self::Null => DataType::Null,
            Self::Boolean => DataType::Boolean,
            Self::Int64 => DataType::Int64,
            Self::Float64 => DataType::Float64,
            Self::Text | Self::Json | Self::Empty => DataType::Utf8,
            Self::List(item) => {
                DataType::List(Arc::new(Field::new("item", (**item).clone()).to_arrow()))
            }
            Self::Struct(fields) => DataType::Struct(to_arrow(fields)),
            Self::Map(value) => DataType::Map(entries(value), false),
        }
    }

    /// The SQL type of the values as they are read. Values without a type are JSON text.
    #[must_use]
    pub fn to_column(&self) -> ColumnType {
        match self {
            Self::Boolean => ColumnType::Boolean,
            Self::Int64 => ColumnType::Int64,
            Self::Float64 => ColumnType::Float64,
            Self::Text => ColumnType::Text,
            Self::Null | Self::Empty | Self::Json => ColumnType::Json,
            Self::List(item) => ColumnType::List(Box::new(item.to_column())),
            Self::Struct(fields) => {
                let field = |field: &Field| (field.name.clone(), field.field_type.to_column());
                ColumnType::Struct(fields.iter().map(field).collect())
            }
            Self::Map(value) => ColumnType::Map(Box::new(value.to_column())),
        }
    }

    /// The type of a SQL column; JSON text if there is no equivalent.
    #[must_use]
    pub fn of_column(column: &ColumnType) -> Self {
        match column {
            ColumnType::Boolean => Self::Boolean,
            ColumnType::Int64 => Self::Int64,
            ColumnType::Float64 => Self::Float64,
            ColumnType::Text => Self::Text,
            ColumnType::List(item) => Self::List(Box::new(Self::of_column(item))),
            ColumnType::Struct(fields) => {
                let field =
                    |(name, ty): &(String, ColumnType)| Field::new(name, Self::of_column(ty));
                Self::Struct(fields.iter().map(field).collect())
            }
            ColumnType::Map(value) => Self::Map(Box::new(Self::of_column(value))),
            _ => Self::Json,
        }
    }

    /// Replaces types without values by JSON text, which holds any later value and exists in every
    /// file format.
    #[must_use]
    pub fn without_null(self) -> Self {
        match self {
            Self::Null | Self::Empty => Self::Json,
            Self::List(item) => Self::List(Box::new(item.without_null())),
            Self::Struct(fields) => {
                let field = |field: Field| Field::new(field.name, field.field_type.without_null());
                Self::Struct(fields.into_iter().map(field).collect())
            }
            Self::Map(value) => Self::Map(Box::new(value.without_null())),
            other => other,
        }
    }
}

/// The SQL name of the type.
impl fmt::Display for Type {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => out.write_str("null"),
            Self::Boolean => out.write_str("boolean"),
            Self::Int64 => out.write_str("bigint"),
            Self::Float64 => out.write_str("double precision"),
            Self::Text => out.write_str("text"),
            Self::Json | Self::Empty => out.write_str("json"),
            Self::List(item) => write!(out, "{item}[]"),
            Self::Struct(fields) => {
                out.write_str("struct(")?;
                for (index, field) in fields.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(out, "{comma}{} {}", field.name, field.field_type)?;
                }
                out.write_str(")")
            }
            Self::Map(value) => write!(out, "map(text, {value})"),
        }
    }
}
