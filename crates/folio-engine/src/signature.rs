//! What is known of a statement's parameters before it runs: their types, and their names
//! if they are given by name.
//!
//! A statement is compiled for one signature. It must use exactly the given parameters: an
//! unused parameter is an error, like a missing one.

use folio_types::ColumnType;

/// Types and names of a statement's parameters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Signature {
    /// Their types, in order; `None` if the type follows from where the parameter is used.
    pub types: Vec<Option<ColumnType>>,
    /// Their names, in the same order. Empty if they go by position.
    pub names: Vec<String>,
}

impl Signature {
    /// No parameters.
    pub const NONE: &'static Self = &Self { types: Vec::new(), names: Vec::new() };
}
