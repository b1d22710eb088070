//! Ion values as trees.
//!
//! A tree is for code that holds a value: conversion, schema inference, rare shapes. Scans of whole
//! files use [`crate::shred`], which never builds one.

mod decimal;
mod int;
mod symbol;
mod timestamp;

pub use decimal::Decimal;
pub use int::{Big, Int};
pub use symbol::{ImportLocation, Symbol};
pub use timestamp::{Precision, Timestamp};

pub(crate) use timestamp::days_from_civil;

/// The types of the Ion data model, with the names of typed nulls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IonType {
    /// `null`
    Null,
    /// `true`
    Bool,
    /// `42`
    Int,
    /// `0.5e0`
    Float,
    /// `0.5`
    Decimal,
    /// `2024-01-01T`
    Timestamp,
    /// `name`
    Symbol,
    /// `"text"`
    String,
    /// `{{"bytes"}}`
    Clob,
    /// `{{Ynl0ZXM=}}`
    Blob,
    /// `[1, 2]`
    List,
    /// `(plus 1 2)`
    SExp,
    /// `{a: 1}`
    Struct,
}

impl IonType {
    /// Every type, in the order of the data model's documentation.
    pub const ALL: [IonType; 13] = [
        IonType::Null,
        IonType::Bool,
        IonType::Int,
        IonType::Float,
        IonType::Decimal,
        IonType::Timestamp,
        IonType::Symbol,
        IonType::String,
        IonType::Clob,
        IonType::Blob,
        IonType::List,
        IonType::SExp,
        IonType::Struct,
    ];

    /// The name used in `null.name`.
    pub fn name(self) -> &'static str {
        match self {
            IonType::Null => "null",
            IonType::Bool => "bool",
            IonType::Int => "int",
            IonType::Float => "float",
            IonType::Decimal => "decimal",
            IonType::Timestamp => "timestamp",
            IonType::Symbol => "symbol",
            IonType::String => "string",
            IonType::Clob => "clob",
            IonType::Blob => "blob",
            IonType::List => "list",
            IonType::SExp => "sexp",
            IonType::Struct => "struct",
        }
    }
}

/// A value with its annotations.
#[derive(Debug, Clone)]
pub struct Element {
    /// Annotations, outermost first.
    pub annotations: Vec<Symbol>,
    /// The value itself.
    pub value: Value,
}

/// A value of the Ion data model.
#[derive(Debug, Clone)]
pub enum Value {
    /// A null of any type.
    Null(IonType),
    /// A truth value.
    Bool(bool),
    /// An integer of any size.
    Int(Int),
    /// A 64-bit binary floating-point number.
    Float(f64),
    /// An exact decimal.
    Decimal(Decimal),
    /// A point in time with its precision.
    Timestamp(Timestamp),
    /// An interned name.
    Symbol(Symbol),
    /// Unicode text.
    String(String),
    /// Text of an unspecified encoding, as bytes.
    Clob(Vec<u8>),
    /// Bytes.
    Blob(Vec<u8>),
    /// An ordered sequence.
    List(Vec<Element>),
    /// An s-expression: an ordered sequence like a list.
    SExp(Vec<Element>),
    /// Fields in written order. Names may repeat.
    Struct(Vec<(Symbol, Element)>),
}

impl Element {
    /// The value's type; for a null, the type of the null.
    pub fn ion_type(&self) -> IonType {
        match &self.value {
            Value::Null(ion_type) => *ion_type,
            Value::Bool(_) => IonType::Bool,
            Value::Int(_) => IonType::Int,
            Value::Float(_) => IonType::Float,
            Value::Decimal(_) => IonType::Decimal,
            Value::Timestamp(_) => IonType::Timestamp,
            Value::Symbol(_) => IonType::Symbol,
            Value::String(_) => IonType::String,
            Value::Clob(_) => IonType::Clob,
            Value::Blob(_) => IonType::Blob,
            Value::List(_) => IonType::List,
            Value::SExp(_) => IonType::SExp,
            Value::Struct(_) => IonType::Struct,
        }
    }

    /// Whether the value is a null of any type.
    pub fn is_null(&self) -> bool {
        matches!(self.value, Value::Null(_))
    }

    /// The first field `name`, if the value is a struct with one.
    pub fn get(&self, name: &str) -> Option<&Element> {
        let Value::Struct(fields) = &self.value else { return None };
        fields.iter().find(|(field, _)| field.text() == Some(name)).map(|(_, element)| element)
    }

    /// Why writing the value would lose a symbol: its text is in a shared table, which is not read.
    /// JSON, which has no annotations, has no symbol without text either.
    pub fn lost_symbol(&self, in_json: bool) -> Option<String> {
        let lost = |symbol: &Symbol| match symbol {
            Symbol::Text(_) => None,
            Symbol::Unknown(None) => in_json.then(|| "symbol $0 has no text".to_owned()),
            Symbol::Unknown(Some(place)) => Some(format!(
                "symbol {} of the shared table `{}` has no text here; write the file without imports",
                place.position, place.table
            )),
        };
        let annotations = if in_json { &[][..] } else { &self.annotations };
        annotations.iter().find_map(lost).or_else(|| match &self.value {
            Value::Symbol(symbol) => lost(symbol),
            Value::List(elements) | Value::SExp(elements) => {
                elements.iter().find_map(|element| element.lost_symbol(in_json))
            }
            Value::Struct(fields) => fields
                .iter()
                .find_map(|(name, element)| lost(name).or_else(|| element.lost_symbol(in_json))),
            _ => None,
        })
    }

    /// The text of a symbol without annotations.
    pub(crate) fn unannotated_symbol(&self) -> Option<&str> {
        match &self.value {
            Value::Symbol(symbol) if self.annotations.is_empty() => symbol.text(),
            _ => None,
        }
    }

    /// The elements of a list or an s-expression.
    pub fn elements(&self) -> Option<&[Element]> {
        match &self.value {
            Value::List(elements) | Value::SExp(elements) => Some(elements),
            _ => None,
        }
    }
}

impl From<Value> for Element {
    fn from(value: Value) -> Element {
        Element { annotations: Vec::new(), value }
    }
}

/// Equality of the Ion data model. Annotations, precision and the sign of zero count; the order of
/// a struct's fields does not.
impl PartialEq for Element {
    fn eq(&self, other: &Element) -> bool {
        self.annotations == other.annotations && self.value == other.value
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Null(a), Value::Null(b)) => a == b,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Int(a), Value::Int(b)) => a == b,
            (Value::Float(a), Value::Float(b)) => {
                a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
            }
            (Value::Decimal(a), Value::Decimal(b)) => a == b,
            (Value::Timestamp(a), Value::Timestamp(b)) => a == b,
            (Value::Symbol(a), Value::Symbol(b)) => a == b,
            (Value::String(a), Value::String(b)) => a == b,
            (Value::Clob(a), Value::Clob(b)) | (Value::Blob(a), Value::Blob(b)) => a == b,
            (Value::List(a), Value::List(b)) | (Value::SExp(a), Value::SExp(b)) => a == b,
            (Value::Struct(a), Value::Struct(b)) => same_fields(a, b),
            _ => false,
        }
    }
}

fn same_fields(a: &[(Symbol, Element)], b: &[(Symbol, Element)]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut taken = vec![false; b.len()];
    a.iter().enumerate().all(|(hint, field)| {
        // In written order first, so that equal structs usually compare in one pass.
        let candidates = (hint..b.len()).chain(0..hint);
        let found = candidates.into_iter().find(|&index| !taken[index] && b[index] == *field);
        found.inspect(|&index| taken[index] = true).is_some()
    })
}
