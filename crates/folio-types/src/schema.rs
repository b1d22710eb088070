//! The schema of a table: columns, their types, and the key.
//!
//! The types are Arrow's, with SQL names. What a query language adds (defaults, checks, references,
//! names of links) is stored as [`TableSchema::properties`], text that no store reads.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use arrow_schema::{DataType, Field, IntervalUnit, Schema, TimeUnit};
use thiserror::Error;

use crate::{Value, ValueRef};

/// The type of a column.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ColumnType {
    /// `boolean`
    Boolean,
    /// `smallint`
    Int16,
    /// `integer`
    Int32,
    /// `bigint`
    Int64,
    /// `real`
    Float32,
    /// `double precision`
    Float64,
    /// `numeric(precision, scale)`, at most 38 digits.
    Decimal {
        /// Total number of digits, 1 to 38.
        precision: u8,
        /// Digits after the point, at most `precision`.
        scale: i8,
    },
    /// `text`
    Text,
    /// `bytea`
    Binary,
    /// `json`: text that higher layers interpret.
    Json,
    /// `uuid`
    Uuid,
    /// `date`
    Date,
    /// `time`, to the microsecond
    Time,
    /// `timestamp` or, with `utc`, `timestamptz`; to the microsecond
    Timestamp {
        /// Whether the instants are UTC.
        utc: bool,
    },
    /// `interval`
    Interval,
    /// An array of one type.
    List(Box<ColumnType>),
    /// Named fields.
    Struct(Vec<(String, ColumnType)>),
    /// Texts that name values of one type, each once. A value is the list of its entries, in the
    /// order of the bytes of the keys; an entry is a struct (see [`ColumnType::entry`]).
    Map(Box<ColumnType>),
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The name as written when the table was created.
    pub name: String,
    /// The type.
    pub column_type: ColumnType,
    /// Whether the value may be null.
    pub nullable: bool,
}

/// The definition of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableSchema {
    /// The table's name.
    pub name: String,
    /// The columns, in order.
    pub columns: Vec<Column>,
    /// Positions of the key columns, in key order. Empty if a hidden row number is the key.
    pub primary_key: Vec<usize>,
    /// Data that higher layers store with the table. The store does not read it.
    pub properties: String,
}

/// Why a schema was rejected.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SchemaError {
    /// No columns.
    #[error("table {table:?} has no columns; give it at least one")]
    NoColumns {
        /// The table.
        table: String,
    },
    /// A name that is empty or taken.
    #[error("{kind} name {name:?} is {problem}; choose another")]
    Name {
        /// `table` or `column`.
        kind: &'static str,
        /// The name.
        name: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A key column that does not exist, is listed twice, is nullable, or has a type without an
    /// order.
    #[error("column {column:?} of table {table:?} cannot be part of a key: {problem}")]
    Key {
        /// The table.
        table: String,
        /// The column, or its position.
        column: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A type with invalid parameters.
    #[error("column {column:?} has {problem}")]
    Type {
        /// The column.
        column: String,
        /// What is wrong.
        problem: &'static str,
    },
}

/// The longest name of a table or column, in bytes.
const MAX_IDENTIFIER_SIZE: usize = 255;

/// The deepest nesting of lists and structs.
const MAX_TYPE_DEPTH: usize = 16;

/// The SQL name of the type.
impl fmt::Display for ColumnType {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Boolean => "boolean",
            Self::Int16 => "smallint",
            Self::Int32 => "integer",
            Self::Int64 => "bigint",
            Self::Float32 => "real",
            Self::Float64 => "double precision",
            Self::Decimal { precision, scale } => {
                return write!(out, "numeric({precision},{scale})");
            }
            Self::Text => "text",
            Self::Binary => "bytea",
            Self::Json => "json",
            Self::Uuid => "uuid",
            Self::Date => "date",
            Self::Time => "time",
            Self::Timestamp { utc: false } => "timestamp",
            Self::Timestamp { utc: true } => "timestamptz",
            Self::Interval => "interval",
            Self::List(element) => return write!(out, "{element}[]"),
            Self::Struct(fields) => {
                let fields: Vec<String> =
                    fields.iter().map(|(name, ty)| format!("{name} {ty}")).collect();
                return write!(out, "struct({})", fields.join(", "));
            }
            Self::Map(value) => return write!(out, "map(text, {value})"),
        };
        out.write_str(name)
    }
}

impl ColumnType {
    /// The Arrow type of the column's arrays.
    #[must_use]
    pub fn to_arrow(&self) -> DataType {
        match self {
            Self::Boolean => DataType::Boolean,
            Self::Int16 => DataType::Int16,
            Self::Int32 => DataType::Int32,
            Self::Int64 => DataType::Int64,
            Self::Float32 => DataType::Float32,
            Self::Float64 => DataType::Float64,
            Self::Decimal { precision, scale } => DataType::Decimal128(*precision, *scale),
            Self::Text | Self::Json => DataType::Utf8,
            Self::Binary => DataType::Binary,
            Self::Uuid => DataType::FixedSizeBinary(16),
            Self::Date => DataType::Date32,
            Self::Time => DataType::Time64(TimeUnit::Microsecond),
            Self::Timestamp { utc } => {
                DataType::Timestamp(TimeUnit::Microsecond, utc.then(|| Arc::from("UTC")))
            }
            Self::Interval => DataType::Interval(IntervalUnit::MonthDayNano),
            Self::List(element) => {
                DataType::List(Arc::new(Field::new("item", element.to_arrow(), true)))
            }
            Self::Struct(fields) => DataType::Struct(
                fields
                    .iter()
                    .map(|(name, field)| Field::new(name, field.to_arrow(), true))
                    .collect(),
            ),
            Self::Map(value) => {
                let key = Field::new("key", DataType::Utf8, false);
                let entry = vec![key, Field::new("value", value.to_arrow(), true)];
                let entry = DataType::Struct(entry.into());
                DataType::Map(Arc::new(Field::new("entries", entry, false)), false)
            }
        }
    }

    /// The type of the entries of a map: `struct(key text, value …)`.
    #[must_use]
    pub fn entry(value: &Self) -> Self {
        Self::Struct(vec![("key".to_owned(), Self::Text), ("value".to_owned(), value.clone())])
    }

    /// Whether values have parts.
    #[must_use]
    pub fn is_nested(&self) -> bool {
        matches!(self, Self::List(_) | Self::Struct(_) | Self::Map(_))
    }

    /// Whether values of this type have an order for keys.
    #[must_use]
    pub fn is_ordered(&self) -> bool {
        !self.is_nested() && !matches!(self, Self::Json | Self::Interval)
    }

    /// Whether the column accepts a value. Null is always accepted here.
    #[must_use]
    #[inline]
    pub fn accepts(&self, value: ValueRef<'_>) -> bool {
        match (self, value) {
            (_, ValueRef::Null)
            | (Self::Int64, ValueRef::Integer(_))
            | (Self::Float64, ValueRef::Float(_))
            | (Self::Text, ValueRef::Text(_))
            | (Self::Uuid, ValueRef::Uuid(_)) => true,
            _ => self.accepts_other(value),
        }
    }

    /// Like `accepts`, for rare types and those that must look at the value.
    fn accepts_other(&self, value: ValueRef<'_>) -> bool {
        match (self, value) {
            (Self::Boolean, ValueRef::Boolean(_))
            | (Self::Json, ValueRef::Text(_))
            | (Self::Binary, ValueRef::Bytes(_))
            | (Self::Date, ValueRef::Date(_))
            | (Self::Timestamp { .. }, ValueRef::Timestamp(_))
            | (Self::Interval, ValueRef::Interval(_)) => true,
            #[allow(clippy::cast_possible_truncation, reason = "asked is whether it fits")]
            (Self::Float32, ValueRef::Float(value)) => {
                (value as f32).is_finite() || !value.is_finite()
            }
            (Self::Int16, ValueRef::Integer(value)) => i16::try_from(value).is_ok(),
            (Self::Int32, ValueRef::Integer(value)) => i32::try_from(value).is_ok(),
            (Self::Time, ValueRef::Time(value)) => (0..=86_400_000_000).contains(&value),
            (Self::Decimal { precision, .. }, ValueRef::Decimal(digits)) => {
                digits.unsigned_abs() < 10u128.pow(u32::from((*precision).min(38)))
            }
            (Self::List(element), ValueRef::List(values)) => {
                values.iter().all(|value| element.accepts(value.as_ref()))
            }
            (Self::Struct(fields), ValueRef::Struct(values)) => {
                fields.len() == values.len()
                    && fields
                        .iter()
                        .zip(values)
                        .all(|((_, field), value)| field.accepts(value.as_ref()))
            }
            (Self::Map(value), ValueRef::List(entries)) => entries.iter().all(|entry| {
                let Value::Struct(entry) = entry else { return false };
                matches!(&entry[..], [Value::Text(_), item] if value.accepts(item.as_ref()))
            }),
            _ => false,
        }
    }

    fn problem(&self, depth: usize) -> Option<&'static str> {
        match self {
            _ if depth > MAX_TYPE_DEPTH => Some("a type nested deeper than 16 levels"),
            Self::Decimal { precision, scale } => {
                let fits = (1..=38).contains(precision) && (0..=*precision as i8).contains(scale);
                (!fits).then_some("a numeric type outside of 1 to 38 digits")
            }
            Self::List(element) | Self::Map(element) => element.problem(depth + 1),
            Self::Struct(fields) if fields.is_empty() => Some("a struct without fields"),
            Self::Struct(fields) => fields.iter().find_map(|(_, field)| field.problem(depth + 1)),
            _ => None,
        }
    }
}

impl Column {
    /// A column that is not nullable.
    #[must_use]
    pub fn required(name: impl Into<String>, column_type: ColumnType) -> Self {
        Self { name: name.into(), column_type, nullable: false }
    }

    /// A nullable column.
    #[must_use]
    pub fn optional(name: impl Into<String>, column_type: ColumnType) -> Self {
        Self { name: name.into(), column_type, nullable: true }
    }

    /// The Arrow field, with the extension name of UUID and JSON.
    #[must_use]
    pub fn to_arrow(&self) -> Field {
        let field = Field::new(&self.name, self.column_type.to_arrow(), self.nullable);
        let extension = match self.column_type {
            ColumnType::Uuid => "arrow.uuid",
            ColumnType::Json => "arrow.json",
            _ => return field,
        };
        let metadata = [("ARROW:extension:name".to_owned(), extension.to_owned())];
        field.with_metadata(metadata.into())
    }
}

impl TableSchema {
    /// A table with a key; an empty `primary_key` gives it a hidden row number.
    #[must_use]
    pub fn new(name: impl Into<String>, columns: Vec<Column>, primary_key: Vec<usize>) -> Self {
        Self { name: name.into(), columns, primary_key, properties: String::new() }
    }

    /// The position of the column with this name, ignoring case.
    #[must_use]
    pub fn column_index(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| same_name(&column.name, name))
    }

    /// The Arrow schema of whole rows.
    #[must_use]
    pub fn to_arrow(&self) -> Schema {
        Schema::new(self.columns.iter().map(Column::to_arrow).collect::<Vec<_>>())
    }

    /// Checks names, types and key.
    ///
    /// # Errors
    /// The first rule that is violated.
    pub fn check(&self) -> Result<(), SchemaError> {
        check_identifier("table", &self.name)?;
        if self.columns.is_empty() {
            return Err(SchemaError::NoColumns { table: self.name.clone() });
        }
        // A table may have thousands of columns, so each name is looked up once.
        let mut names = HashSet::with_capacity(self.columns.len());
        for column in &self.columns {
            check_identifier("column", &column.name)?;
            if !names.insert(column.name.to_lowercase()) {
                let name = column.name.clone();
                return Err(SchemaError::Name { kind: "column", name, problem: "given twice" });
            }
            if let Some(problem) = column.column_type.problem(0) {
                return Err(SchemaError::Type { column: column.name.clone(), problem });
            }
        }
        self.check_key(&self.primary_key)?;
        match self.primary_key.iter().find(|&&index| self.columns[index].nullable) {
            None => Ok(()),
            Some(&index) => Err(self.key_error(index, "it may be null")),
        }
    }

    /// Checks the columns of a key, primary or secondary.
    ///
    /// # Errors
    /// [`SchemaError::Key`].
    pub fn check_key(&self, key: &[usize]) -> Result<(), SchemaError> {
        for (position, &index) in key.iter().enumerate() {
            match self.columns.get(index) {
                None => return Err(self.key_error(index, "there is no such column")),
                Some(column) if !column.column_type.is_ordered() => {
                    return Err(self.key_error(index, "its type has no order"));
                }
                Some(_) if key[..position].contains(&index) => {
                    return Err(self.key_error(index, "it is named twice"));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    fn key_error(&self, index: usize, problem: &'static str) -> SchemaError {
        let column = self
            .columns
            .get(index)
            .map_or_else(|| format!("#{index}"), |column| column.name.clone());
        SchemaError::Key { table: self.name.clone(), column, problem }
    }
}

/// Whether two names are equal, ignoring case.
#[must_use]
pub fn same_name(left: &str, right: &str) -> bool {
    left.eq_ignore_ascii_case(right)
        || (!(left.is_ascii() && right.is_ascii()) && left.to_lowercase() == right.to_lowercase())
}

fn check_identifier(kind: &'static str, name: &str) -> Result<(), SchemaError> {
    let problem = match name.len() {
        0 => "empty",
        size if size > MAX_IDENTIFIER_SIZE => "longer than 255 bytes",
        _ if name.contains('\0') => "not text",
        _ => return Ok(()),
    };
    Err(SchemaError::Name { kind, name: name.to_owned(), problem })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(columns: Vec<Column>, key: &[usize]) -> TableSchema {
        TableSchema::new("t", columns, key.to_vec())
    }

    #[test]
    fn refusals_name_the_object() {
        let id = || Column::required("id", ColumnType::Int64);
        let nested = ColumnType::List(Box::new(ColumnType::Text));
        for (schema, expected) in [
            (table(vec![], &[]), "table \"t\" has no columns; give it at least one"),
            (
                table(vec![id(), Column::optional("ID", ColumnType::Text)], &[0]),
                "column name \"ID\" is given twice; choose another",
            ),
            (
                table(vec![Column::optional("a", ColumnType::Text)], &[0]),
                "column \"a\" of table \"t\" cannot be part of a key: it may be null",
            ),
            (
                table(vec![Column::required("a", nested)], &[0]),
                "column \"a\" of table \"t\" cannot be part of a key: its type has no order",
            ),
            (
                table(vec![id()], &[1]),
                "column \"#1\" of table \"t\" cannot be part of a key: there is no such column",
            ),
        ] {
            assert_eq!(schema.check().expect_err("it is refused").to_string(), expected);
        }
        assert_eq!(table(vec![id()], &[0]).check(), Ok(()));
    }

    /// Comparing all pairs of names would take minutes.
    #[test]
    fn many_columns_are_checked_in_time_of_their_number() {
        let columns =
            (0..100_000).map(|n| Column::optional(format!("c{n}"), ColumnType::Int64)).collect();
        let started = std::time::Instant::now();
        assert_eq!(table(columns, &[]).check(), Ok(()));
        assert!(started.elapsed().as_secs() < 10, "it took {:?}", started.elapsed());
    }

    #[test]
    fn integers_must_fit() {
        assert!(ColumnType::Int16.accepts(ValueRef::Integer(32_767)));
        assert!(!ColumnType::Int16.accepts(ValueRef::Integer(32_768)));
        assert!(!ColumnType::Int64.accepts(ValueRef::Text("1")));
        let numeric = ColumnType::Decimal { precision: 3, scale: 1 };
        assert!(numeric.accepts(ValueRef::Decimal(-999)));
        assert!(!numeric.accepts(ValueRef::Decimal(1000)));
    }
}
