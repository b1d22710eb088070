//! The library of scalar functions, and how calls are resolved.
//!
//! A function is a line in a table: its name, parameters, return type, and what it does with
//! the values of one row. It is strict unless it says otherwise: null in, null out. A call takes
//! the first overload that its arguments fit without a cast, or else the first they fit with
//! casts.

mod conditional;
mod edit;
mod json;
mod library;
mod list;
mod map;
mod number;
mod program;
pub(super) mod quotient;
mod record;
mod text;
mod time;
mod to_char;

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::ArrayRef;
use folio_compute::{Result, array};
use folio_types::{ColumnType, Value};

use crate::context::Context;
use crate::source::ScalarFunction;

/// One call for a batch.
pub(crate) struct Call<'c> {
    /// The arguments, each as long as the batch.
    pub(crate) arrays: &'c [ArrayRef],
    /// Number of rows.
    pub(crate) count: usize,
    pub(crate) context: &'c Context,
    pub(crate) function: &'c Function,
}

pub(crate) use edit::without_positions;
pub use library::{function_names, is_library, resolve, resolve_named, shapes};

/// A function over whole arrays.
pub(crate) type Kernel = fn(&Call<'_>) -> Result<ArrayRef>;

/// A function with its types resolved.
#[derive(Debug, Clone)]
pub struct Function {
    /// Its name in statements.
    pub name: Cow<'static, str>,
    pub(crate) parameters: Vec<ColumnType>,
    pub(crate) returns: ColumnType,
    pub(crate) kernel: Kernel,
    body: Body,
    /// The field to take, for access to a struct.
    pub(crate) member: Option<usize>,
    /// Whether its value changes with every call.
    pub is_volatile: bool,
    /// Whether its value is fixed within a statement but changes between statements.
    pub is_stable: bool,
}

impl Function {
    /// Whether it must be called on the thread that asks for rows.
    pub(crate) fn is_of_one_thread(&self) -> bool {
        matches!(&self.body, Body::Program(function) if function.on_one_thread)
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
            && self.parameters == other.parameters
            && self.member == other.member
            && self.returns == other.returns
    }
}

/// The type of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    Text,
    Integer,
    Float,
    /// Any number, without a cast.
    Number,
    Date,
    Time,
    Timestamp,
    Interval,
    Bytes,
    Json,
    List,
    Map,
    /// Any type, without a cast.
    Any,
    /// Any type, but one type for all such parameters.
    Same,
    /// The element type of the list among the parameters.
    Element,
}

/// The return type.
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
    /// The type of this parameter.
    As(usize),
    /// A list of the type of this parameter.
    ListOf(usize),
    /// The element type of this list parameter.
    ElementOf(usize),
    /// The type of the values of this map parameter.
    ValueOf(usize),
    /// A list of them.
    ValuesOf(usize),
    /// A list of the entries of this map parameter.
    EntriesOf(usize),
    /// A timestamp with time zone.
    Instant,
    /// A timestamp with a zone if the parameter has none, and the reverse.
    OtherZone,
    /// Float for floats, numeric for all other types.
    Rounded,
}

/// The body of a function.
#[derive(Debug, Clone)]
pub(crate) enum Body {
    /// Never gets a null.
    Strict(fn(&[Value]) -> Result<Value>),
    /// The same, and gets the types of its arguments.
    Typed(fn(&[Value], &[ColumnType]) -> Result<Value>),
    /// Gets nulls too.
    Lenient(fn(&[Value], &[ColumnType]) -> Result<Value>),
    /// Gets whole arrays.
    Whole(Kernel),
    /// A function of the program.
    Program(Arc<ScalarFunction>),
}

/// A line of the table.
pub(crate) struct Overload {
    pub(crate) name: &'static str,
    pub(crate) takes: &'static [Takes],
    /// Whether the last parameter may repeat.
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

/// Runs a function of single values over a batch.
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

/// The text of a text argument.
pub(crate) fn text_of(value: &Value) -> &str {
    match value {
        Value::Text(text) => text,
        _ => "",
    }
}

/// The integer of an integer argument.
pub(crate) fn integer_of(value: &Value) -> i64 {
    match value {
        Value::Integer(value) => *value,
        _ => 0,
    }
}

/// The float of a float argument.
pub(crate) fn float_of(value: &Value) -> f64 {
    match value {
        Value::Float(value) => *value,
        _ => 0.0,
    }
}
