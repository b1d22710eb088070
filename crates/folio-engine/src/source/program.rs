//! Scalar functions of the program. They are called with the values of a row, on any thread unless
//! the function must stay on one.
//!
//! Library functions of the same name have precedence, so that no statement changes its meaning.
//! Constraints and defaults cannot call program functions, since another program would not have
//! them.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use folio_compute::{Error, Result, type_name};
use folio_types::{ColumnType, Value};

/// The body of a function. Its error is reported to the caller of the statement.
pub type ScalarBody = dyn Fn(&[Value]) -> std::result::Result<Value, String> + Send + Sync;

/// A function of the program.
#[derive(Clone)]
pub struct ScalarFunction {
    /// Its name in statements.
    pub name: String,
    /// The types of its parameters. Arguments are cast to them if that loses nothing.
    pub parameters: Vec<ColumnType>,
    /// The type of its result.
    pub returns: ColumnType,
    /// Whether its result can differ for the same arguments. If so it is called for every row, in
    /// any order.
    pub is_volatile: bool,
    /// Whether it is called with nulls. Otherwise any null argument gives null.
    pub takes_null: bool,
    /// Whether it is called only on the thread that asks for the rows of a statement.
    pub on_one_thread: bool,
    /// Its body.
    pub body: Arc<ScalarBody>,
}

impl fmt::Debug for ScalarFunction {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}({:?}) -> {:?}", self.name, self.parameters, self.returns)
    }
}

impl ScalarFunction {
    /// Calls it for one row. A panic becomes an error.
    pub(crate) fn value(&self, arguments: &[Value]) -> Result<Value> {
        let failed = |problem: &str| Error::invalid(format!("function {}: {problem}", self.name));
        let called = catch_unwind(AssertUnwindSafe(|| (self.body)(arguments)));
        let value = called.map_err(|_| failed("it panicked"))?.map_err(|text| failed(&text))?;
        match self.returns.accepts(value.as_ref()) {
            true => Ok(value),
            false => {
                Err(failed(&format!("its result is not of type {}", type_name(&self.returns))))
            }
        }
    }
}
