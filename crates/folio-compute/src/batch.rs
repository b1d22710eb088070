//! A few thousand rows as columns: what operators pass to each other.
//!
//! Arrow's record batch checks names and nullability at each construction. Between
//! operators neither exists: a column is identified by its position.

use arrow_array::{Array, ArrayRef, BooleanArray, UInt32Array};
use folio_types::{ColumnType, Value};

use crate::array::{plain, to_array};
use crate::error::Result;

/// Target number of rows in a batch.
pub const BATCH_SIZE: usize = 4096;

/// The values at these positions, in this order. A null position gives null.
///
/// # Errors
/// Fails if the texts taken exceed two gigabytes in total.
pub fn take(column: &ArrayRef, rows: &UInt32Array) -> Result<ArrayRef> {
    if is_all(rows, column.len()) {
        return Ok(ArrayRef::clone(column));
    }
    Ok(arrow_select::take::take(column, rows, None)?)
}

/// Whether `rows` is 0, 1, … `count - 1`, so that nothing has to be copied.
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
    /// How many rows the batch has, also where it has no columns.
    pub row_count: usize,
}

impl Batch {
    /// A batch of these columns.
    #[must_use]
    pub fn new(columns: Vec<ArrayRef>, row_count: usize) -> Self {
        debug_assert!(columns.iter().all(|column| column.len() == row_count));
        Self { columns, row_count }
    }

    /// A batch of one row.
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

    /// Memory of the rows, in bytes. A slice counts only its own rows.
    #[must_use]
    pub fn size(&self) -> usize {
        let size = |column: &ArrayRef| {
            let size = column.to_data().get_slice_memory_size();
            size.unwrap_or_else(|_| column.get_array_memory_size())
        };
        self.columns.iter().map(size).sum()
    }

    /// The rows whose bit is set; null counts as unset. The mask has a bit per row.
    ///
    /// # Errors
    /// None for a mask of this many rows.
    pub fn filter(&self, mask: &BooleanArray) -> Result<Self> {
        let kept = mask.true_count();
        if kept == self.row_count {
            return Ok(self.clone());
        }
        let predicate = arrow_select::filter::FilterBuilder::new(mask).optimize().build();
        let columns: Result<Vec<_>> =
            self.columns.iter().map(|column| Ok(predicate.filter(column)?)).collect();
        Ok(Self { columns: columns?, row_count: kept })
    }

    /// The rows at these positions, in this order. A null position gives a row of nulls.
    ///
    /// # Errors
    /// As [`take`].
    pub fn take(&self, rows: &UInt32Array) -> Result<Self> {
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

    /// The same rows as all operators read them ([`plain`]).
    #[must_use]
    pub fn plain(mut self) -> Self {
        self.columns.iter_mut().for_each(|column| *column = plain(column));
        self
    }

    /// Concatenates at least one batch of the same columns.
    ///
    /// # Errors
    /// Fails if texts exceed two gigabytes in total.
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

    /// The columns of `self` followed by those of `right`, which has as many rows.
    #[must_use]
    pub fn beside(mut self, right: Self) -> Self {
        debug_assert_eq!(self.row_count, right.row_count);
        self.columns.extend(right.columns);
        self
    }
}
