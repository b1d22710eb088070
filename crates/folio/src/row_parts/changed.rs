//! Finds the rows of a part, or of the table, that have certain keys. Both are in the order of keys,
//! and few keys are looked for.

use std::sync::Arc;

use arrow_array::ArrayRef;
use folio_compute::Result as QueryResult;
use folio_compute::array::value_at;
use folio_engine::source::RowStream as _;
use folio_table::Table;
use folio_types::{Value, borrowed};

use crate::error::from_table;
use crate::format::parquet::part::{
    PartGroup, PartRequest, PartRows, column_path, column_type, key_positions,
};

/// The columns of the key of a table.
pub(crate) struct KeyColumns {
    table: Arc<Table>,
    request: Arc<PartRequest>,
}

impl KeyColumns {
    pub(crate) fn new(table: &Arc<Table>) -> Self {
        let columns = key_positions(table).into_iter();
        let columns = columns.map(|column| (column_path(column), column_type(table, column)));
        let (columns, tests, as_stored) = (columns.collect(), Vec::new(), Vec::new());
        let request = Arc::new(PartRequest { columns, tests, as_stored });
        Self { table: Arc::clone(table), request }
    }

    /// The rows of a row group that have these keys, counted from its first.
    pub(crate) fn rows_of(&self, group: &PartGroup, keys: &[Vec<u8>]) -> QueryResult<Vec<u32>> {
        let mut found = Vec::new();
        if keys.is_empty() {
            return Ok(found);
        }
        let row_count = usize::try_from(group.row_count).unwrap_or(usize::MAX);
        let mut rows = PartRows::new(&self.request, group.again(), row_count)?;
        let mut start = 0;
        while let Some(batch) = rows.next()? {
            self.find(&batch.columns, batch.row_count, keys, |row| found.push(start + row as u32))?;
            start += batch.row_count as u32;
        }
        Ok(found)
    }

    /// Calls `see` with the rows that have these keys. The columns of the key come first.
    pub(crate) fn find(
        &self,
        columns: &[ArrayRef],
        row_count: usize,
        keys: &[Vec<u8>],
        mut see: impl FnMut(usize),
    ) -> QueryResult<()> {
        let key_at = |row: usize| -> QueryResult<Vec<u8>> {
            let columns = columns.iter().zip(&self.request.columns);
            let values: Vec<Value> =
                columns.map(|(column, (_, ty))| value_at(column, row, ty)).collect();
            self.table.encoded_key(&borrowed(&values)).map_err(from_table)
        };
        let mut from = 0;
        for key in keys {
            let (mut low, mut high) = (from, row_count);
            while low < high {
                let middle = low + (high - low) / 2;
                if key_at(middle)? < *key { low = middle + 1 } else { high = middle }
            }
            if low < row_count && key_at(low)? == *key {
                see(low);
            }
            from = low;
        }
        Ok(())
    }
}
