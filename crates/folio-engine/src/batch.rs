//! A few thousand rows as columns: what operators hand to each other.
//!
//! Arrow's record batch checks names and nullability whenever one is made.
//! Between operators neither exists: a column is known by its position.

use arrow_array::{Array, ArrayRef, BooleanArray, UInt32Array};
use folio_types::{ColumnType, Value};

use crate::array::to_array;
use crate::error::Result;

/// Rows of a batch that operators aim at.
pub const BATCH_SIZE: usize = 4096;

/// The values at these positions, in their order; null gives null.
pub(crate) fn take(column: &ArrayRef, rows: &UInt32Array) -> Result<ArrayRef> {
    if is_all(rows, column.len()) {
        return Ok(ArrayRef::clone(column));
    }
    Ok(arrow_select::take::take(column, rows, None)?)
}

/// Whether these are the positions of `count` rows as they stand: nothing to copy.
fn is_all(rows: &UInt32Array, count: usize) -> bool {
    let is_in_place = |(at, row): (usize, &u32)| at == *row as usize;
    rows.len() == count
        && rows.null_count() == 0
        && rows.values().iter().enumerate().all(is_in_place)
}

/// Columns of equal length.
#[derive(Debug, Clone)]
pub struct Batch {
    /// The columns.
    pub columns: Vec<ArrayRef>,
    /// How many rows each has; with no columns, rows all the same.
    pub row_count: usize,
}

impl Batch {
    /// A batch of these columns.
    #[must_use]
    pub fn new(columns: Vec<ArrayRef>, row_count: usize) -> Self {
        debug_assert!(columns.iter().all(|column| column.len() == row_count));
        Self { columns, row_count }
    }

    /// One row.
    ///
    /// # Errors
    /// `type_mismatch` for a value of another type than its column's.
    pub fn of_row(row: &[Value], types: &[ColumnType]) -> Result<Self> {
        let columns = row.iter().zip(types);
        let columns = columns.map(|(value, ty)| to_array(std::iter::once(value), ty));
        Ok(Self::new(columns.collect::<Result<_>>()?, 1))
    }

    /// Rows `offset` to `offset + count`, without copying.
    #[must_use]
    pub fn slice(&self, offset: usize, count: usize) -> Self {
        let columns = self.columns.iter().map(|column| column.slice(offset, count)).collect();
        Self { columns, row_count: count }
    }

    /// Memory of the rows, in bytes: of a slice, what the slice has.
    pub(crate) fn size(&self) -> usize {
        let size = |column: &ArrayRef| {
            let size = column.to_data().get_slice_memory_size();
            size.unwrap_or_else(|_| column.get_array_memory_size())
        };
        self.columns.iter().map(size).sum()
    }

    /// The rows whose bit is set; null counts as unset.
    pub(crate) fn filter(&self, mask: &BooleanArray) -> Result<Self> {
        let kept = mask.true_count();
        if kept == self.row_count {
            return Ok(self.clone());
        }
        let predicate = arrow_select::filter::FilterBuilder::new(mask).optimize().build();
        let columns: Result<Vec<_>> =
            self.columns.iter().map(|column| Ok(predicate.filter(column)?)).collect();
        Ok(Self { columns: columns?, row_count: kept })
    }

    /// The rows at these positions, in their order; null gives a row of nulls.
    pub(crate) fn take(&self, rows: &UInt32Array) -> Result<Self> {
        if is_all(rows, self.row_count) {
            return Ok(self.clone());
        }
        let columns: Result<Vec<_>> = self
            .columns
            .iter()
            .map(|column| Ok(arrow_select::take::take(column, rows, None)?))
            .collect();
        Ok(Self { columns: columns?, row_count: rows.len() })
    }

    /// Several batches of the same columns as one. There is at least one.
    ///
    /// # Errors
    /// Texts of more than two gigabytes in all.
    pub fn concat(batches: &[Self]) -> Result<Self> {
        if let [only] = batches {
            return Ok(only.clone());
        }
        let width = batches.first().map_or(0, |batch| batch.columns.len());
        let columns: Result<Vec<_>> = (0..width)
            .map(|index| {
                let parts: Vec<&dyn Array> =
                    batches.iter().map(|batch| &*batch.columns[index]).collect();
                Ok(arrow_select::concat::concat(&parts)?)
            })
            .collect();
        let row_count = batches.iter().map(|batch| batch.row_count).sum();
        Ok(Self { columns: columns?, row_count })
    }

    /// Columns of both, side by side.
    pub(crate) fn beside(mut self, right: Self) -> Self {
        debug_assert_eq!(self.row_count, right.row_count);
        self.columns.extend(right.columns);
        self
    }
}
