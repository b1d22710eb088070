//! What logical and physical plans have in common: kinds of joins, orders, ways to rows.

use crate::expression::{ColumnId, Expr};

/// How a join treats rows without a partner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinKind {
    /// They are left out.
    Inner,
    /// Those of the left stay, with nulls.
    Left,
    /// Those of the right stay, with nulls.
    Right,
    /// All stay.
    Full,
    /// Rows of the left that have a partner, once, alone.
    Semi,
    /// Rows of the left that have none, alone.
    Anti,
    /// As `Anti`, by NOT IN's reading of null: a null anywhere decides nothing.
    NullAnti,
}

impl JoinKind {
    /// Whether the answer has the columns of the right.
    #[must_use]
    pub fn has_right(self) -> bool {
        !matches!(self, Self::Semi | Self::Anti | Self::NullAnti)
    }
}

/// Which rows a set operation keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetKind {
    /// Those of either side.
    Union,
    /// Those of both.
    Intersect,
    /// Those of the left that are not of the right.
    Except,
}

/// One key of an order.
#[derive(Debug, Clone, PartialEq)]
pub struct SortKey {
    /// What is compared.
    pub expression: Expr,
    /// Whether the greatest comes first.
    pub descending: bool,
    /// Whether nulls come first.
    pub nulls_first: bool,
}

/// Which rows of a relation a scan has to look at.
#[allow(clippy::large_enum_variant, reason = "a plan has few scans")]
#[derive(Debug, Clone, Default)]
pub enum Path {
    /// All.
    #[default]
    Full,
    /// The one with this primary key.
    Key(Vec<Expr>),
    /// Those with one of these values in the first column of a key, in no order.
    Keys {
        /// The index; the primary key otherwise.
        index: Option<usize>,
        /// The values.
        keys: Vec<Expr>,
    },
    /// Those whose key the left side of the join above asks for.
    Probe(Probe),
    /// Those in a range of a key: the primary one, or that of an index.
    Range {
        /// The index followed.
        index: Option<usize>,
        /// Values of the first key columns.
        equal: Vec<Expr>,
        /// Least value of the next, and whether it is in the range itself.
        from: Option<(Expr, bool)>,
        /// Greatest value of the next.
        to: Option<(Expr, bool)>,
    },
}

/// What finds rows by key: the primary key or an index, and how many of its columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    /// The index; the primary key otherwise.
    pub index: Option<usize>,
    /// How many of its first columns are looked up.
    pub columns: usize,
}

/// A column that rows come in the order of, and whether the greatest comes first.
pub type OrderedBy = (ColumnId, bool);

/// A function that makes rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableFunction {
    /// The elements of arrays, side by side.
    Unnest {
        /// Whether a column numbers them.
        ordinality: bool,
    },
    /// From one number or instant to another, by steps.
    GenerateSeries {
        /// Whether a column numbers them.
        ordinality: bool,
    },
    /// The elements of a JSON array.
    JsonElements {
        /// Whether a column numbers them.
        ordinality: bool,
    },
    /// The members of a JSON object.
    JsonEach {
        /// Whether a column numbers them.
        ordinality: bool,
    },
}
