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
    fn get(&self) -> (&dyn Array, bool) {
        match self {
            Self::Array(array) => (&**array, false),
            Self::Scalar(array) => (&**array, true),
        }
    }
}

impl Evaluated {
    pub(crate) fn is_scalar(&self) -> bool {
        matches!(self, Self::Scalar(_))
    }

    pub(crate) fn len(&self) -> usize {
        self.get().0.len()
    }

    /// Expands to one value per row.
    pub(crate) fn to_array(&self, row_count: usize) -> Result<ArrayRef> {
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
    pub fn inner(&self) -> &ArrayRef {
        match self {
            Self::Array(array) | Self::Scalar(array) => array,
        }
    }

    /// Replaces the array: a scalar stays a scalar.
    pub(crate) fn with(&self, array: ArrayRef) -> Self {
        match self {
            Self::Array(_) => Self::Array(array),
            Self::Scalar(_) => Self::Scalar(array),
        }
    }

    pub(super) fn boolean(value: Option<bool>) -> Self {
        Self::Scalar(Arc::new(BooleanArray::from(vec![value])))
    }
}
