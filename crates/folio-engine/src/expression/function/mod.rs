//! The library of scalar functions, and how a call finds its function.
//!
//! A function is a line in a table: name, what its parameters take, what it
//! returns, and what it does with one row's values. Unless it says otherwise it is
//! strict: null in, null out. A call takes the first overload whose parameters
//! its arguments fit without a cast, or else the first they fit with one.

mod conditional;
mod edit;
mod json;
mod library;
mod list;
mod number;
mod program;
mod record;
mod text;
mod time;
mod to_char;

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::ArrayRef;
use folio_types::{ColumnType, Value};

use crate::array;
use crate::context::Context;
use crate::error::Result;
use crate::source::ScalarFunction;

/// One call for a batch.
pub(crate) struct Call<'c> {
    /// The arguments, as long as the batch.
    pub(crate) arrays: &'c [ArrayRef],
    /// Rows.
    pub(crate) count: usize,
    pub(crate) context: &'c Context,
    pub(crate) function: &'c Function,
}

pub(crate) use edit::without_positions;
pub use library::{function_names, is_library, resolve, shapes};

/// What a function does with whole arrays.
pub(crate) type Kernel = fn(&Call<'_>) -> Result<ArrayRef>;

/// A function with its types settled.
#[derive(Debug, Clone)]
pub struct Function {
    /// What statements call it.
    pub name: Cow<'static, str>,
    pub(crate) parameters: Vec<ColumnType>,
    pub(crate) returns: ColumnType,
    pub(crate) kernel: Kernel,
    body: Body,
    /// Which field, of those of a struct.
    field_index: usize,
    /// Another value at every call.
    pub is_volatile: bool,
    /// Another value in every statement.
    pub is_stable: bool,
}

impl Function {
    /// Whether it is called on the thread that asks for rows alone.
    pub(crate) fn is_of_one_thread(&self) -> bool {
        matches!(&self.body, Body::Program(function) if function.on_one_thread)
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
            && self.parameters == other.parameters
            && self.field_index == other.field_index
            && self.returns == other.returns
    }
}

/// What a parameter takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    Text,
    Integer,
    Float,
    /// Any number as it is.
    Number,
    Date,
    Time,
    Timestamp,
    Interval,
    Bytes,
    Json,
    List,
    /// Anything as it is.
    Any,
    /// Anything, the same for all such parameters.
    Same,
    /// The element of the list among the parameters.
    Element,
}

/// What a function returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Returns {
    Text,
    Integer,
    Float,
    Boolean,
    Date,
    Time,
    Timestamp,
    Interval,
    Bytes,
    Json,
    Uuid,
    TextList,
    /// The type of a parameter.
    As(usize),
    /// A list of what a parameter is.
    ListOf(usize),
    /// An element of the list that a parameter is.
    ElementOf(usize),
    /// The instant with its zone.
    Instant,
    /// A timestamp: with a zone if the parameter has none, without if it has one.
    OtherZone,
    /// Float for floats, numeric for everything else.
    Rounded,
}

/// What a function does with one row.
#[derive(Debug, Clone)]
pub(crate) enum Body {
    /// Never sees a null.
    Strict(fn(&[Value]) -> Result<Value>),
    /// The same, told the types of its arguments.
    Typed(fn(&[Value], &[ColumnType]) -> Result<Value>),
    /// Sees nulls.
    Lenient(fn(&[Value], &[ColumnType]) -> Result<Value>),
    /// Works on whole arrays.
    Whole(Kernel),
    /// The program's.
    Program(Arc<ScalarFunction>),
}

/// A line of the table.
pub(crate) struct Overload {
    pub(crate) name: &'static str,
    pub(crate) takes: &'static [Takes],
    /// Whether the last parameter may be given any number of times.
    pub(crate) variadic: bool,
    pub(crate) returns: Returns,
    pub(crate) body: Body,
}

/// A function with a fixed number of parameters.
pub(crate) const fn function(
    name: &'static str,
    takes: &'static [Takes],
    returns: Returns,
    body: Body,
) -> Overload {
    Overload { name, takes, variadic: false, returns, body }
}

/// A function whose last parameter repeats.
pub(crate) const fn variadic(
    name: &'static str,
    takes: &'static [Takes],
    returns: Returns,
    body: Body,
) -> Overload {
    Overload { name, takes, variadic: true, returns, body }
}

/// Runs a function that knows single values over a batch.
fn by_value(call: &Call<'_>) -> Result<ArrayRef> {
    let types = &call.function.parameters;
    let mut results = Vec::with_capacity(call.count);
    let mut row_values = Vec::with_capacity(types.len());
    for row in 0..call.count {
        row_values.clear();
        row_values.extend(
            call.arrays.iter().zip(types).map(|(array, ty)| array::value_at(array, row, ty)),
        );
        let has_null = row_values.iter().any(|value| matches!(value, Value::Null));
        results.push(match &call.function.body {
            Body::Strict(_) | Body::Typed(_) if has_null => Value::Null,
            Body::Strict(body) => body(&row_values)?,
            Body::Typed(body) | Body::Lenient(body) => body(&row_values, types)?,
            Body::Program(function) if has_null && !function.takes_null => Value::Null,
            Body::Program(function) => function.value(&row_values)?,
            Body::Whole(kernel) => return kernel(call),
        });
    }
    array::to_array(results.iter(), &call.function.returns)
}

/// The text of an argument that is text by its parameter.
pub(crate) fn text_of(value: &Value) -> &str {
    match value {
        Value::Text(text) => text,
        _ => "",
    }
}

/// The integer of an argument that is one by its parameter.
pub(crate) fn integer_of(value: &Value) -> i64 {
    match value {
        Value::Integer(value) => *value,
        _ => 0,
    }
}

/// The float of an argument that is one by its parameter.
pub(crate) fn float_of(value: &Value) -> f64 {
    match value {
        Value::Float(value) => *value,
        _ => 0.0,
    }
}
