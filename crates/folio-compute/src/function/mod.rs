//! The library of scalar functions.
//!
//! A function is a line in a table: its name, parameters, return type, and what it does with
//! the values of one row. It is strict unless it says otherwise: null in, null out. Functions of
//! one name are overloads, for other parameters.
//!
//! Which overload a call means is decided where expressions are known, in `folio-engine`. What a
//! statement alone can tell, its time and its random numbers, is there too; the table has the
//! names ([`Given`]).

mod conditional;
mod edit;
mod json;
mod list;
mod map;
mod number;
mod text;
mod time;
mod to_char;

use arrow_array::ArrayRef;
use folio_types::{ColumnType, Value};

use crate::array;
use crate::error::Result;

pub use edit::without_positions;

/// All functions.
pub fn overloads() -> impl Iterator<Item = &'static Overload> {
    [
        text::OVERLOADS,
        number::OVERLOADS,
        time::OVERLOADS,
        json::OVERLOADS,
        list::OVERLOADS,
        map::OVERLOADS,
        edit::OVERLOADS,
        conditional::OVERLOADS,
    ]
    .into_iter()
    .flatten()
}

/// One call for a batch.
#[derive(Debug, Clone, Copy)]
pub struct Call<'c> {
    /// The arguments, each as long as the batch.
    pub arrays: &'c [ArrayRef],
    /// Number of rows.
    pub count: usize,
    /// The types of the arguments.
    pub types: &'c [ColumnType],
    /// The type of the result.
    pub returns: &'c ColumnType,
}

impl Call<'_> {
    /// Calls a function of single values for each row. `takes_null` says whether it gets nulls;
    /// otherwise null in is null out.
    ///
    /// # Errors
    /// Those of the function.
    pub fn by_value(
        &self,
        takes_null: bool,
        mut function: impl FnMut(&[Value]) -> Result<Value>,
    ) -> Result<ArrayRef> {
        let mut results = Vec::with_capacity(self.count);
        let mut row_values = Vec::with_capacity(self.types.len());
        for row in 0..self.count {
            row_values.clear();
            let arguments = self.arrays.iter().zip(self.types);
            row_values.extend(arguments.map(|(array, ty)| array::value_at(array, row, ty)));
            let has_null = row_values.iter().any(|value| matches!(value, Value::Null));
            results.push(match has_null && !takes_null {
                true => Value::Null,
                false => function(&row_values)?,
            });
        }
        array::to_array(results.iter(), self.returns)
    }
}

/// The type of a parameter.
#[allow(missing_docs, reason = "what has no words is the type of its name")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    Boolean,
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
    /// A list of texts.
    TextList,
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
#[allow(missing_docs, reason = "what has no words is the type of its name")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Returns {
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
    /// The type that values of the parameter's compare by.
    OrderKey,
}

/// How a function is computed.
#[derive(Debug, Clone, Copy)]
pub enum Body {
    /// Never gets a null.
    Strict(fn(&[Value]) -> Result<Value>),
    /// The same, and gets the types of its arguments.
    Typed(fn(&[Value], &[ColumnType]) -> Result<Value>),
    /// Gets nulls too.
    Lenient(fn(&[Value], &[ColumnType]) -> Result<Value>),
    /// Gets whole arrays.
    Whole(fn(&Call<'_>) -> Result<ArrayRef>),
    /// By the statement.
    Stated(Given),
}

/// What a statement gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Given {
    /// When it began.
    Now,
    /// Numbers from 0 to 1, other ones for each row.
    Random,
    /// Random UUIDs, other ones for each row.
    RandomUuid,
    /// UUIDs that ascend, other ones for each row.
    OrderedUuid,
}

/// A line of the table.
pub struct Overload {
    /// Its name in statements.
    pub name: &'static str,
    /// Its parameters.
    pub takes: &'static [Takes],
    /// Whether the last parameter may repeat.
    pub variadic: bool,
    /// What it returns.
    pub returns: Returns,
    /// How it is computed.
    pub body: Body,
}

/// A function with a fixed number of parameters.
const fn function(
    name: &'static str,
    takes: &'static [Takes],
    returns: Returns,
    body: Body,
) -> Overload {
    Overload { name, takes, variadic: false, returns, body }
}

/// A function whose last parameter repeats.
const fn variadic(
    name: &'static str,
    takes: &'static [Takes],
    returns: Returns,
    body: Body,
) -> Overload {
    Overload { name, takes, variadic: true, returns, body }
}

/// The text of a text argument.
fn text_of(value: &Value) -> &str {
    match value {
        Value::Text(text) => text,
        _ => "",
    }
}

/// The integer of an integer argument.
fn integer_of(value: &Value) -> i64 {
    match value {
        Value::Integer(value) => *value,
        _ => 0,
    }
}

/// The float of a float argument.
fn float_of(value: &Value) -> f64 {
    match value {
        Value::Float(value) => *value,
        _ => 0.0,
    }
}
