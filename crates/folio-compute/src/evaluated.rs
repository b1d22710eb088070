//! The values of an expression for the rows of a batch.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, Datum};

use crate::error::Result;

/// The values of an expression.
#[derive(Debug, Clone)]
pub enum Evaluated {
    /// One per row.
    Array(ArrayRef),
    /// One for all rows: an array of length 1.
    Scalar(ArrayRef),
}

impl Datum for Evaluated {
    #[inline]
    fn get(&self) -> (&dyn Array, bool) {
        match self {
            Self::Array(array) => (&**array, false),
            Self::Scalar(array) => (&**array, true),
        }
    }
}

impl Evaluated {
    /// Whether there is one value for all rows.
    #[inline]
    #[must_use]
    pub fn is_scalar(&self) -> bool {
        matches!(self, Self::Scalar(_))
    }

    /// Number of values; 1 for a scalar.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.get().0.len()
    }

    /// Whether there are no values: those of a batch without rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Expands to one value per row. `row_count` is that of the batch.
    ///
    /// # Errors
    /// Fails if texts exceed two gigabytes in total.
    pub fn to_array(&self, row_count: usize) -> Result<ArrayRef> {
        match self {
            Self::Array(array) => Ok(ArrayRef::clone(array)),
            Self::Scalar(array) if row_count == 1 => Ok(ArrayRef::clone(array)),
            Self::Scalar(array) => {
                let rows = arrow_array::UInt32Array::from_value(0, row_count);
                Ok(arrow_select::take::take(array, &rows, None)?)
            }
        }
    }

    /// The array itself; it has length 1 for a scalar.
    #[inline]
    #[must_use]
    pub fn inner(&self) -> &ArrayRef {
        match self {
            Self::Array(array) | Self::Scalar(array) => array,
        }
    }

    /// Replaces the array: a scalar stays a scalar.
    #[inline]
    #[must_use]
    pub fn with(&self, array: ArrayRef) -> Self {
        match self {
            Self::Array(_) => Self::Array(array),
            Self::Scalar(_) => Self::Scalar(array),
        }
    }

    /// One boolean, or null, for all rows.
    #[must_use]
    pub fn boolean(value: Option<bool>) -> Self {
        Self::Scalar(Arc::new(BooleanArray::from(vec![value])))
    }
}
