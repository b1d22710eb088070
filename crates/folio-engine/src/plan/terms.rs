//! Terms shared by logical and physical plans: kinds of joins, sort keys, access paths.

use std::fmt;

use crate::expression::{ColumnId, Expr};

/// Fetching a row that an index entry points at costs about as much as reading this many rows.
pub(crate) const ROWS_PER_FETCH: f64 = 64.0;

/// A row that is looked up costs about as much as so many that are scanned in columns, on all cores.
pub(crate) const COLUMNS_ADVANTAGE: f64 = 8.0;

/// A kind of join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinKind {
    /// Only pairs.
    Inner,
    /// Pairs, and rows of the left without a partner, with nulls.
    Left,
    /// Pairs, and rows of the right without a partner, with nulls.
    Right,
    /// Pairs, and all rows without a partner, with nulls.
    Full,
    /// Rows of the left that have a partner, once each.
    Semi,
    /// Rows of the left that have no partner.
    Anti,
    /// `Anti` with the null rules of NOT IN: a comparison with null decides nothing.
    NullAnti,
}

impl JoinKind {
    /// Whether the result has the columns of the right.
    #[must_use]
    pub fn has_right(self) -> bool {
        !matches!(self, Self::Semi | Self::Anti | Self::NullAnti)
    }
}

/// A kind of set operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetKind {
    /// Rows of either side.
    Union,
    /// Rows of both sides.
    Intersect,
    /// Rows of the left that are not in the right.
    Except,
}

/// A sort key.
#[derive(Debug, Clone, PartialEq)]
pub struct SortKey {
    /// The expression to compare.
    pub expression: Expr,
    /// Whether the greatest comes first.
    pub descending: bool,
    /// Whether nulls come first.
    pub nulls_first: bool,
}

impl fmt::Display for SortKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}{}", self.expression, if self.descending { " desc" } else { "" })
    }
}

/// How a scan finds the rows of a relation.
#[allow(clippy::large_enum_variant, reason = "a plan has few scans")]
#[derive(Debug, Clone, Default)]
pub enum Path {
    /// Reads all rows.
    #[default]
    Full,
    /// The row with this primary key.
    Key(Vec<Expr>),
    /// Rows with one of these values in the first column of a key, in no order.
    Keys {
        /// The index; `None` for the primary key.
        index: Option<usize>,
        /// The values.
        keys: Vec<Expr>,
    },
    /// Rows whose key the left side of the enclosing join gives.
    Probe(Probe),
    /// Rows in a range of the primary key or an index.
    Range {
        /// The index; `None` for the primary key.
        index: Option<usize>,
        /// Values of the first key columns.
        equal: Vec<Expr>,
        /// Lower bound of the next column, and whether it is inclusive.
        from: Option<(Expr, bool)>,
        /// Upper bound of the next column, likewise.
        to: Option<(Expr, bool)>,
        /// Which rows with null in the next column are in it.
        nulls: Nulls,
    },
}

/// What a range of keys says about null in the first column without a given value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nulls {
    /// Nothing.
    Any,
    /// Rows with null are left out.
    None,
    /// There are no others. The range has no bounds then.
    Only,
}

impl Path {
    /// All rows, in the order of the primary key or an index.
    #[must_use]
    pub fn whole(index: Option<usize>) -> Self {
        Self::Range { index, equal: Vec::new(), from: None, to: None, nulls: Nulls::Any }
    }
}

/// A lookup by the first columns of the primary key or an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    /// The index; `None` for the primary key.
    pub index: Option<usize>,
    /// Number of key columns that are looked up.
    pub columns: usize,
}

/// A column of an order, and whether it is descending.
pub type OrderedBy = (ColumnId, bool);

/// A table function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableFunction {
    /// The elements of several arrays, in parallel columns.
    Unnest {
        /// Whether a column numbers the rows.
        ordinality: bool,
    },
    /// A series of numbers or instants.
    GenerateSeries {
        /// Whether a column numbers the rows.
        ordinality: bool,
        /// Whether the series ends before its end.
        is_open: bool,
    },
    /// The elements of a JSON array.
    JsonElements {
        /// Whether a column numbers the rows.
        ordinality: bool,
    },
    /// The members of a JSON object.
    JsonEach {
        /// Whether a column numbers the rows.
        ordinality: bool,
    },
}

impl TableFunction {
    /// Its name in SQL, and whether a column numbers its rows.
    pub(crate) fn name(self) -> (&'static str, bool) {
        match self {
            Self::Unnest { ordinality } => ("unnest", ordinality),
            Self::GenerateSeries { ordinality, is_open: false } => ("generate_series", ordinality),
            Self::GenerateSeries { ordinality, is_open: true } => ("range", ordinality),
            Self::JsonElements { ordinality } => ("json_array_elements", ordinality),
            Self::JsonEach { ordinality } => ("json_each", ordinality),
        }
    }
}
