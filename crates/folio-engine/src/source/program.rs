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

use crate::error::{Error, Result};
use crate::type_name::type_name;

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

impl fmt::Debug for ScalarFunction {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}({:?}) -> {:?}", self.name, self.parameters, self.returns)
    }
}

impl ScalarFunction {
    /// What it answers for one row. A panic is an error as any other.
    pub(crate) fn value(&self, arguments: &[Value]) -> Result<Value> {
        let failed = |problem: &str| Error::invalid(format!("function {}: {problem}", self.name));
        let called = catch_unwind(AssertUnwindSafe(|| (self.body)(arguments)));
        let value = called.map_err(|_| failed("it panicked"))?.map_err(|text| failed(&text))?;
        match self.returns.accepts(value.as_ref()) {
            true => Ok(value),
            false => Err(failed(&format!("it returned no {}", type_name(&self.returns)))),
        }
    }
}
