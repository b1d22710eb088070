//! Conditions on single columns, which a source may be able to check.

use folio_types::{Comparison, Value};

/// A test of a column.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// The column's position.
    pub column: usize,
    /// The test.
    pub test: Test,
}

/// A test of a value. Its own values are of the column's type and not null.
#[derive(Debug, Clone, PartialEq)]
pub enum Test {
    /// Compares with a value.
    Compare(Comparison, Value),
    /// Is one of these.
    OneOf(Vec<Value>),
}
