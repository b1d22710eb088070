//! Ranges of a table's rows: those that other processes read, and those of columns.

use std::sync::Arc;

use super::parts::{estimate, pieces};
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
    /// The end of a range whose last key this is; the range after it begins there.
    #[must_use]
    pub fn end_after(key: &[u8]) -> Option<Vec<u8>> {
        Some([key, &[0]].concat())
    }

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
        let mut ranges = Vec::new();
        for range in self.divided(&table, &RowRange::default(), count)? {
            let row_count = self.count_rows(&table, &range)?;
            if row_count > 0 {
                ranges.push((range, row_count));
            }
        }
        Ok(ranges)
    }

    /// A range in at most `count` ranges of about the same number of rows.
    ///
    /// # Errors
    /// Errors of the pages.
    pub fn divided(
        &self,
        table: &Arc<Table>,
        range: &RowRange,
        count: usize,
    ) -> Result<Vec<RowRange>> {
        let table = self.current(table)?;
        let pieces = pieces(self, table.tree(), &range.narrow(KeyRange::default()), count)?;
        Ok(pieces.into_iter().map(|KeyRange { from, to, .. }| RowRange { from, to }).collect())
    }

    /// Estimates the number of rows in a range.
    ///
    /// # Errors
    /// Errors of the pages.
    pub fn estimate_range(&self, table: &Arc<Table>, range: &RowRange) -> Result<u64> {
        let table = self.current(table)?;
        let range = range.narrow(KeyRange::default());
        estimate(self, table.tree(), &range, self.row_count(&table)?)
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
