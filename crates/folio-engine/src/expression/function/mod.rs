//! Calls of functions: which function a call means, and how it runs.
//!
//! The library is in [`folio_compute::function`]. A call takes the first overload that its
//! arguments fit without a cast, or else the first they fit with casts. Functions of the program,
//! and access to structs, are functions too.

mod library;
mod program;
pub(in crate::expression) mod quotient;
mod record;

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::ArrayRef;
use folio_compute::function::{self as functions, Call, Given};
use folio_compute::{Result, array};
use folio_types::temporal::DAY;
use folio_types::{ColumnType, Value};

use crate::context::Context;
use crate::source::ScalarFunction;

pub use library::{function_names, is_library, resolve, resolve_named, shapes};

/// A function with its types resolved.
#[derive(Debug, Clone)]
pub struct Function {
    /// Its name in statements.
    pub name: Cow<'static, str>,
    pub(crate) parameters: Vec<ColumnType>,
    pub(crate) returns: ColumnType,
    body: Body,
    /// Whether its value changes with every call.
    pub is_volatile: bool,
    /// Whether its value is fixed within a statement but changes between statements.
    pub is_stable: bool,
}

/// How a function is computed.
#[derive(Debug, Clone)]
enum Body {
    /// By the library.
    Library(functions::Body),
    /// Access to the n-th field of a struct.
    Field(usize),
    /// Construction of a struct from its arguments.
    Row,
    /// By the program.
    Program(Arc<ScalarFunction>),
}

impl Function {
    /// Calls it for a batch of `count` rows; the arguments are as long.
    ///
    /// # Errors
    /// Those of the function.
    pub(crate) fn call(
        &self,
        arrays: &[ArrayRef],
        count: usize,
        context: &Context,
    ) -> Result<ArrayRef> {
        let call = Call { arrays, count, types: &self.parameters, returns: &self.returns };
        match &self.body {
            Body::Library(functions::Body::Strict(body)) => call.by_value(false, body),
            Body::Library(functions::Body::Typed(body)) => {
                call.by_value(false, |values| body(values, &self.parameters))
            }
            Body::Library(functions::Body::Lenient(body)) => {
                call.by_value(true, |values| body(values, &self.parameters))
            }
            Body::Library(functions::Body::Whole(body)) => body(&call),
            Body::Library(functions::Body::Stated(given)) => stated(*given, &call, context),
            Body::Field(index) => record::field(&call, *index),
            Body::Row => record::row(&call),
            Body::Program(function) => {
                call.by_value(function.takes_null, |values| function.value(values))
            }
        }
    }

    /// The field to take, for access to a struct.
    pub(crate) fn member(&self) -> Option<usize> {
        match self.body {
            Body::Field(index) => Some(index),
            _ => None,
        }
    }

    /// Whether it must be called on the thread that asks for rows.
    pub(crate) fn is_of_one_thread(&self) -> bool {
        matches!(&self.body, Body::Program(function) if function.on_one_thread)
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
            && self.parameters == other.parameters
            && self.member() == other.member()
            && self.returns == other.returns
    }
}

/// What the statement gives.
fn stated(given: Given, call: &Call<'_>, context: &Context) -> Result<ArrayRef> {
    match given {
        Given::Now => {
            let now = context.shared.now;
            let value = match call.returns {
                ColumnType::Date => {
                    Value::Date(i32::try_from(now.div_euclid(DAY)).unwrap_or(i32::MAX))
                }
                ColumnType::Time => Value::Time(now.rem_euclid(DAY)),
                _ => Value::Timestamp(now),
            };
            array::repeat(&value, call.returns, call.count)
        }
        Given::Random => context.random(call.count),
        Given::RandomUuid => context.random_uuids(call.count),
        Given::OrderedUuid => context.ordered_uuids(call.count),
    }
}
