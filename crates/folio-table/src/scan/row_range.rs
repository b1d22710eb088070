//! Ranges of a table's rows that other processes read.

use std::sync::Arc;

use super::parts::{PIECES_PER_PART, boundary_keys};
use super::{KeyRange, Scan, ScanOptions};
use crate::catalog::Table;
use crate::error::Result;
use crate::snapshot::Reader;

/// Rows next to each other in key order: from a key, up to before another one. The keys are bytes
/// that sort like the values they encode.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RowRange {
    /// The first key; `None` for the first of the table.
    pub from: Option<Vec<u8>>,
    /// The end, exclusive; `None` for that of the table.
    pub to: Option<Vec<u8>>,
}

impl RowRange {
    /// The keys of another range that are in this one too.
    pub(super) fn narrow(&self, range: KeyRange) -> KeyRange {
        let from = range.from.max(self.from.clone());
        let to = match (range.to, &self.to) {
            (Some(to), Some(own)) => Some(to.min(own.clone())),
            (to, own) => to.or_else(|| own.clone()),
        };
        let is_empty = matches!((&from, &to), (Some(from), Some(to)) if from >= to);
        KeyRange { from, to, is_empty: range.is_empty || is_empty }
    }
}

impl Reader<'_> {
    /// At most `count` ranges of about the same size, which together have all rows, and the number
    /// of rows in each. The rows are counted leaf by leaf, without being decoded.
    ///
    /// # Errors
    /// As [`Reader::scan`].
    pub fn row_ranges(&self, table: &Arc<Table>, count: usize) -> Result<Vec<(RowRange, u64)>> {
        let table = self.current(table)?;
        let keys =
            boundary_keys(self, table.tree(), &KeyRange::default(), count * PIECES_PER_PART)?;
        let count = count.clamp(1, keys.len() + 1);
        let mut ranges = Vec::with_capacity(count);
        let mut from = None;
        for part in 1..=count {
            let to = match part {
                _ if part == count => None,
                _ => Some(keys[part * (keys.len() + 1) / count - 1].clone()),
            };
            let range = RowRange { from, to: to.clone() };
            let row_count = self.count_rows(&table, &range)?;
            if row_count > 0 {
                ranges.push((range, row_count));
            }
            from = to;
        }
        Ok(ranges)
    }

    fn count_rows(&self, table: &Arc<Table>, range: &RowRange) -> Result<u64> {
        let options =
            ScanOptions { projection: Some(&[]), within: Some(range), ..ScanOptions::default() };
        let mut scan = Scan::begin(self, table, &options)?;
        let mut total = 0;
        while let Some(count) = scan.next_count(self)? {
            total += count as u64;
        }
        Ok(total)
    }
}
