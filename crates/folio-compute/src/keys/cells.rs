//! Rows whose columns are all dictionaries. If they have few combinations of texts, each combination
//! is numbered once per batch, and a row finds its own in an array.

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef};

/// There may be one combination for so many rows.
const ROWS_PER_CELL: usize = 4;

/// A combination that no row has had.
const NONE: u32 = u32::MAX;

/// The combinations of a batch, in order of first appearance.
pub(super) struct Cells {
    /// The first row of each.
    pub(super) first_rows: Vec<u32>,
    /// The combination of each row.
    pub(super) of_rows: Vec<u32>,
}

impl Cells {
    /// `None` if a column is no dictionary, or too many combinations are possible.
    pub(super) fn of(columns: &[ArrayRef], row_count: usize) -> Option<Self> {
        let mut of_rows: Vec<u32> = Vec::new();
        let mut count = 1_usize;
        for column in columns {
            let own = column.as_dictionary_opt::<Int32Type>()?;
            let (keys, null) = (own.keys(), own.values().len() as u32);
            let size = null + u32::from(keys.null_count() > 0);
            count = count.checked_mul(size as usize)?;
            if count * ROWS_PER_CELL > row_count {
                return None;
            }
            if of_rows.is_empty() {
                of_rows.resize(row_count, 0);
            }
            match keys.null_count() {
                0 => {
                    let keys = keys.values().iter().map(|key| *key as u32);
                    of_rows.iter_mut().zip(keys).for_each(|(cell, key)| *cell = *cell * size + key);
                }
                _ => {
                    let keys = keys.iter().map(|key| key.map_or(null, |key| key as u32));
                    of_rows.iter_mut().zip(keys).for_each(|(cell, key)| *cell = *cell * size + key);
                }
            }
        }
        let mut known = vec![NONE; count];
        let mut first_rows = Vec::new();
        for (row, cell) in of_rows.iter_mut().enumerate() {
            let number = &mut known[*cell as usize];
            if *number == NONE {
                *number = first_rows.len() as u32;
                first_rows.push(row as u32);
            }
            *cell = *number;
        }
        (!columns.is_empty()).then_some(Self { first_rows, of_rows })
    }
}
