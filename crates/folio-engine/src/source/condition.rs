//! Conditions on single columns, which a source may know how to keep.

use folio_types::Value;

/// `= <> < <= > >=` and their twins that treat null as a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `is distinct from`
    Distinct,
    /// `is not distinct from`
    NotDistinct,
}

impl Comparison {
    /// The comparison with its sides exchanged.
    pub fn mirrored(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
            other => other,
        }
    }

    /// As SQL writes it.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "<>",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::Distinct => "is distinct from",
            Self::NotDistinct => "is not distinct from",
        }
    }
}

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
