//! Conditions on single columns, which a source may be able to check.

use folio_types::{Comparison, Value};

/// A comparison of a column with a value of its type.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// The column's position.
    pub column: usize,
    /// The comparison.
    pub comparison: Comparison,
    /// The value; not null.
    pub value: Value,
}
