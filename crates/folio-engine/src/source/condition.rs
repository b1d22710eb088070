//! Conditions on single columns, which a source may know how to keep.

use folio_types::{Comparison, Value};

/// How a column of every row wanted compares with a value of its type.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// The column's position.
    pub column: usize,
    /// How it compares.
    pub comparison: Comparison,
    /// The value; not null.
    pub value: Value,
}
