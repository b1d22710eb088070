//! Scalar functions that the program gives: called with the values of a row, on whatever
//! thread evaluates it, unless the function says that it stays on one.
//!
//! A library function of the same name comes first, so that no statement changes its
//! meaning. What is stored (constraints, defaults) cannot call them: another program would
//! not have them.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use folio_types::{ColumnType, Value};

use super::{Body, Function, by_value};
use crate::error::{Error, Result};
use crate::expression::cast::{cast_value, format};
use crate::expression::coerce::{is_integer, is_numeric};
use crate::expression::{Expr, coerce, type_name};
use crate::span::Span;

/// What a function does with the values of a row; its error is told to whoever runs the
/// statement.
pub type ScalarBody = dyn Fn(&[Value]) -> std::result::Result<Value, String> + Send + Sync;

/// A function of the program.
#[derive(Clone)]
pub struct ScalarFunction {
    /// What statements call it.
    pub name: String,
    /// The types of its arguments, which are cast to them where that loses nothing.
    pub parameters: Vec<ColumnType>,
    /// The type of what it returns.
    pub returns: ColumnType,
    /// Whether it returns another value for the same arguments: then it is called for every
    /// row, in whatever order.
    pub is_volatile: bool,
    /// Whether it is called with nulls; otherwise it answers null wherever there is one.
    pub takes_null: bool,
    /// Whether it is called on the thread that asks for the rows of a statement, and on no
    /// other that reads for it.
    pub on_one_thread: bool,
    /// What it does.
    pub body: Arc<ScalarBody>,
}

/// What a function answered, in a type of its language, as a value of the type it returns.
///
/// # Errors
/// Those of a cast; `type_mismatch` for a fraction where an integer is to be returned.
pub fn returned_value(value: &Value, from: &ColumnType, returns: &ColumnType) -> Result<Value> {
    let cast = cast_value(value, from, returns)?;
    let is_rounded = is_integer(returns)
        && is_numeric(from)
        && !is_integer(from)
        && cast_value(&cast, returns, from)? != *value;
    if is_rounded {
        let (shown, ty) = (format(value, from), type_name(returns));
        let error = Error::mismatch(format!("{shown} is no {ty}"));
        return Err(error.help("round it, or return another type"));
    }
    Ok(cast)
}

impl fmt::Debug for ScalarFunction {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}({:?}) -> {:?}", self.name, self.parameters, self.returns)
    }
}

impl ScalarFunction {
    /// The call of this function.
    ///
    /// # Errors
    /// `type_mismatch` for arguments of other types or another number.
    pub(crate) fn call(self: &Arc<Self>, arguments: Vec<Expr>, span: Span) -> Result<Expr> {
        if arguments.len() != self.parameters.len() {
            let given: Vec<_> =
                arguments.iter().map(|argument| type_name(&argument.ty())).collect();
            let takes: Vec<_> = self.parameters.iter().map(type_name).collect();
            let text = format!("function {} does not take ({})", self.name, given.join(", "));
            let help = format!("there is {}({})", self.name, takes.join(", "));
            return Err(Error::mismatch(text).at(span).help(help));
        }
        let place = format!("function {}", self.name);
        let cast = |(argument, ty)| {
            coerce::coerce(argument, ty, &place).map_err(|error: Error| error.at(span))
        };
        let arguments = arguments.into_iter().zip(&self.parameters).map(cast);
        let function = Function {
            name: self.name.clone().into(),
            parameters: self.parameters.clone(),
            returns: self.returns.clone(),
            kernel: by_value,
            body: Body::Program(Arc::clone(self)),
            field_index: 0,
            is_volatile: self.is_volatile,
            is_stable: false,
        };
        let arguments = arguments.collect::<Result<_>>()?;
        Ok(Expr::Function { function: Arc::new(function), arguments, span })
    }

    /// What it answers for one row. A panic is an error as any other.
    pub(super) fn value(&self, arguments: &[Value]) -> Result<Value> {
        let failed = |problem: &str| Error::invalid(format!("function {}: {problem}", self.name));
        let called = catch_unwind(AssertUnwindSafe(|| (self.body)(arguments)));
        let value = called.map_err(|_| failed("it panicked"))?.map_err(|text| failed(&text))?;
        match self.returns.accepts(value.as_ref()) {
            true => Ok(value),
            false => Err(failed(&format!("it returned no {}", type_name(&self.returns)))),
        }
    }
}
