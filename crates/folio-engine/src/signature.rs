//! What is known of a statement's parameters before it runs: their types, and their
//! names where they were given by name.
//!
//! A statement is compiled for one signature. It has to take exactly what is given:
//! a parameter left over is as much a mistake as one that is missing.

use folio_types::ColumnType;

/// Types and names of the parameters that are given to a statement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Signature {
    /// Their types, in order; none where the place of a parameter is to say.
    pub types: Vec<Option<ColumnType>>,
    /// Their names, in the same order. Empty where they go by position.
    pub names: Vec<String>,
}

impl Signature {
    /// No parameters.
    pub const NONE: &'static Self = &Self { types: Vec::new(), names: Vec::new() };
}
