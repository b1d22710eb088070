//! One value of a row, owned or borrowed.
//!
//! Rows are passed as [`ValueRef`]s, so that text and bytes are copied only once, between the
//! caller's memory and the page. [`Value`] owns its memory, for values that must outlive the page.

use std::borrow::Borrow;

/// A span of time in three units that do not convert into each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Interval {
    /// Calendar months.
    pub months: i32,
    /// Days, which may have 23 or 25 hours.
    pub days: i32,
    /// Nanoseconds.
    pub nanoseconds: i64,
}

/// A value that borrows its text and bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ValueRef<'a> {
    /// No value.
    Null,
    /// True or false.
    Boolean(bool),
    /// A `smallint`, `integer` or `bigint`.
    Integer(i64),
    /// A `real` or `double precision`.
    Float(f64),
    /// The digits of a `numeric`, without its point: the column knows the scale.
    Decimal(i128),
    /// Text or JSON.
    Text(&'a str),
    /// Bytes.
    Bytes(&'a [u8]),
    /// The 16 bytes of a UUID, in the order of its text.
    Uuid([u8; 16]),
    /// Days since 1970-01-01.
    Date(i32),
    /// Microseconds since midnight.
    Time(i64),
    /// Microseconds since 1970-01-01T00:00, in UTC if the column says so.
    Timestamp(i64),
    /// A span of time.
    Interval(Interval),
    /// The elements of an array.
    List(&'a [Value]),
    /// The fields of a struct, in the order of its type.
    Struct(&'a [Value]),
}

/// A value that owns its memory.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Value {
    /// No value.
    #[default]
    Null,
    /// As [`ValueRef::Boolean`].
    Boolean(bool),
    /// As [`ValueRef::Integer`].
    Integer(i64),
    /// As [`ValueRef::Float`].
    Float(f64),
    /// As [`ValueRef::Decimal`].
    Decimal(i128),
    /// As [`ValueRef::Text`].
    Text(String),
    /// As [`ValueRef::Bytes`].
    Bytes(Vec<u8>),
    /// As [`ValueRef::Uuid`].
    Uuid([u8; 16]),
    /// As [`ValueRef::Date`].
    Date(i32),
    /// As [`ValueRef::Time`].
    Time(i64),
    /// As [`ValueRef::Timestamp`].
    Timestamp(i64),
    /// As [`ValueRef::Interval`].
    Interval(Interval),
    /// As [`ValueRef::List`].
    List(Vec<Value>),
    /// As [`ValueRef::Struct`].
    Struct(Vec<Value>),
}

impl Value {
    /// The same value, borrowed.
    #[must_use]
    pub fn as_ref(&self) -> ValueRef<'_> {
        match self {
            Self::Null => ValueRef::Null,
            Self::Boolean(value) => ValueRef::Boolean(*value),
            Self::Integer(value) => ValueRef::Integer(*value),
            Self::Float(value) => ValueRef::Float(*value),
            Self::Decimal(value) => ValueRef::Decimal(*value),
            Self::Text(value) => ValueRef::Text(value),
            Self::Bytes(value) => ValueRef::Bytes(value),
            Self::Uuid(value) => ValueRef::Uuid(*value),
            Self::Date(value) => ValueRef::Date(*value),
            Self::Time(value) => ValueRef::Time(*value),
            Self::Timestamp(value) => ValueRef::Timestamp(*value),
            Self::Interval(value) => ValueRef::Interval(*value),
            Self::List(values) => ValueRef::List(values),
            Self::Struct(values) => ValueRef::Struct(values),
        }
    }
}

impl ValueRef<'_> {
    /// The same value, owned.
    #[must_use]
    pub fn to_value(self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Boolean(value) => Value::Boolean(value),
            Self::Integer(value) => Value::Integer(value),
            Self::Float(value) => Value::Float(value),
            Self::Decimal(value) => Value::Decimal(value),
            Self::Text(value) => Value::Text(value.to_owned()),
            Self::Bytes(value) => Value::Bytes(value.to_owned()),
            Self::Uuid(value) => Value::Uuid(value),
            Self::Date(value) => Value::Date(value),
            Self::Time(value) => Value::Time(value),
            Self::Timestamp(value) => Value::Timestamp(value),
            Self::Interval(value) => Value::Interval(value),
            Self::List(values) => Value::List(values.to_vec()),
            Self::Struct(values) => Value::Struct(values.to_vec()),
        }
    }

    /// Whether this is null.
    #[must_use]
    pub fn is_null(self) -> bool {
        matches!(self, Self::Null)
    }

    /// The name of the value's kind, for messages.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean(_) => "a boolean",
            Self::Integer(_) => "an integer",
            Self::Float(_) => "a float",
            Self::Decimal(_) => "a decimal",
            Self::Text(_) => "text",
            Self::Bytes(_) => "bytes",
            Self::Uuid(_) => "a uuid",
            Self::Date(_) => "a date",
            Self::Time(_) => "a time",
            Self::Timestamp(_) => "a timestamp",
            Self::Interval(_) => "an interval",
            Self::List(_) => "a list",
            Self::Struct(_) => "a struct",
        }
    }
}

/// Borrows every value of a row.
#[must_use]
pub fn borrowed<V: Borrow<Value>>(row: &[V]) -> Vec<ValueRef<'_>> {
    row.iter().map(|value| value.borrow().as_ref()).collect()
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Boolean(value)
    }
}

impl<'a> From<&'a Value> for ValueRef<'a> {
    fn from(value: &'a Value) -> Self {
        value.as_ref()
    }
}

impl From<i64> for ValueRef<'_> {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl<'a> From<&'a str> for ValueRef<'a> {
    fn from(value: &'a str) -> Self {
        Self::Text(value)
    }
}
