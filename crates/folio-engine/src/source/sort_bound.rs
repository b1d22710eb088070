//! How far a sort for its first rows has come. Once it has as many as it wants, rows beyond the last
//! of them are not among the first, whatever else they hold: a scan that can tell need not read them
//! (the top-N filter of DuckDB and ClickHouse).

use std::sync::{PoisonError, RwLock};

use folio_types::{Comparison, Value};

/// The bound of a sort in its first key, which becomes narrower while rows are read.
#[derive(Debug)]
pub struct SortBound {
    descending: bool,
    nulls_first: bool,
    /// The value of the last of the first rows so far, once there are enough.
    last: RwLock<Option<Value>>,
}

impl SortBound {
    pub(crate) fn new(descending: bool, nulls_first: bool) -> Self {
        Self { descending, nulls_first, last: RwLock::default() }
    }

    /// Sets the value of the last row.
    pub(crate) fn set(&self, last: Value) {
        *self.last.write().unwrap_or_else(PoisonError::into_inner) = Some(last);
    }

    /// Whether the sort has too few rows to tell.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        self.last.read().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// The comparison that the value of a row satisfies if the row may be among the first; `None`
    /// while every row may be, or the last of the first rows has null.
    #[must_use]
    pub fn comparison(&self) -> Option<(Comparison, Value)> {
        let last = self.last.read().unwrap_or_else(PoisonError::into_inner).clone();
        let last = last.filter(|last| !matches!(last, Value::Null))?;
        let comparison =
            if self.descending { Comparison::GreaterOrEqual } else { Comparison::LessOrEqual };
        Some((comparison, last))
    }

    /// Whether the greatest values come first.
    #[must_use]
    pub fn descends(&self) -> bool {
        self.descending
    }

    /// Whether rows with null may be among the first, too.
    #[must_use]
    pub fn keeps_nulls(&self) -> bool {
        self.nulls_first
    }
}
