//! Whether the parts of columns indexes are whole, and have the rows of their tables.
//!
//! Each part is read from its files again, whatever is open. The rows of a row group that did not
//! change since are compared with those of the pages, in all columns.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_buffer::BooleanBufferBuilder;
use arrow_select::concat::concat;
use arrow_select::filter::filter;
use folio_compute::{BATCH_SIZE, Result as QueryResult};
use folio_engine::source::RowStream as _;
use folio_table::{
    ColumnsIndex, Reader, RowPart, RowRange, ScanOptions, Snapshot, Table, TableStore,
};
use folio_types::ErrorCode;

use super::changed::KeyColumns;
use super::{OpenPart, PartFolder};
use crate::error::{Error, Result, from_table};
use crate::format::parquet::part::{PartGroup, PartRequest, PartRows, TableLayout};

/// What a part is compared with.
struct Copied<'r> {
    reader: Reader<'r>,
    table: &'r Arc<Table>,
    index: &'r ColumnsIndex,
    positions: &'r [usize],
    wanted: Arc<PartRequest>,
    key: KeyColumns,
}

/// Checks all parts that a snapshot has. Returns a problem for each that is not as it should be. An
/// index without any files was copied without them, which is a notice.
///
/// # Errors
/// Errors of the scan, except damage to the pages, which is found without columns too.
pub(crate) fn check(
    folder: PartFolder<'_>,
    store: &TableStore,
    snapshot: &Snapshot,
) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    let Some(tables) = unless_damaged(snapshot.tables().map_err(Error::from))? else {
        return Ok(problems);
    };
    for table in &tables {
        for index in table.columns_indexes() {
            let parts = snapshot.reader().row_parts(table, index).map_err(Error::from);
            let parts = unless_damaged(parts)?.unwrap_or_default();
            if !parts.is_empty() && folder.of(&index.name).are_not_made() {
                folder.open.notice(format!(
                    "index {:?}: its columns are not made yet; the next change of the table, or \
                     `folio reindex`, makes them",
                    index.name
                ));
                continue;
            }
            let mut from = None;
            for part in parts {
                let to = RowRange::end_after(&part.last_key);
                let range = RowRange { from: std::mem::replace(&mut from, to.clone()), to };
                let problem = problem(folder, snapshot.reader(), (table, index), &part, &range);
                let Some(Some(problem)) = unless_damaged(problem)? else { continue };
                // A writer may have removed the files of this part since the snapshot.
                let newest = store.snapshot();
                let newest = newest.reader().row_parts(table, index);
                if newest.is_ok_and(|parts| parts.contains(&part)) {
                    let name = &index.name;
                    problems.push(format!("index {name:?}: {problem}; run `folio reindex`"));
                }
            }
        }
    }
    Ok(problems)
}

/// A result, or nothing if pages are damaged.
fn unless_damaged<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Err(error) if error.code() == ErrorCode::Corrupted => Ok(None),
        result => result.map(Some),
    }
}

/// What is wrong with a part.
fn problem(
    folder: PartFolder<'_>,
    reader: Reader<'_>,
    (table, index): (&Arc<Table>, &ColumnsIndex),
    part: &RowPart,
    range: &RowRange,
) -> Result<Option<String>> {
    let files = folder.of(&index.name);
    let open = match files.read(part) {
        Ok(open) => open,
        Err(fault) => return Ok(Some(format!("{} {fault}", fault.path().display()))),
    };
    let path = files.path(part.number);
    if !open.file.is_intact(0..open.file.bytes().len() as u64) {
        return Ok(Some(format!("{} is damaged", path.display())));
    }
    let layout = TableLayout::new(table, index);
    let copied = Copied {
        reader,
        table,
        index,
        positions: layout.positions(),
        wanted: Arc::new(layout.request()),
        key: KeyColumns::new(table),
    };
    let is_equal = copied.is_equal(part, &open, range)?;
    Ok((!is_equal).then(|| format!("{} has other rows than the table", path.display())))
}

impl Copied<'_> {
    /// Whether the rows of a part that have not changed are those of its range.
    fn is_equal(&self, part: &RowPart, open: &OpenPart, range: &RowRange) -> Result<bool> {
        if !self.wanted.is_served_by(&open.file) {
            return Ok(false);
        }
        let groups = self.wanted.groups(&open.file, &Arc::from([])).groups;
        let row_count: u64 = groups.iter().map(|group| group.row_count).sum();
        if (row_count, groups.len()) != (part.row_count, open.group_keys.len()) {
            return Ok(false);
        }
        let changed = self.reader.changed_keys(self.table, self.index, range, usize::MAX)?;
        let mut changed = &changed[..];
        let (last, mut from) = (groups.len().saturating_sub(1), range.from.clone());
        for (number, (group, last_key)) in groups.into_iter().zip(&open.group_keys).enumerate() {
            // Rows after the last one of the part belong to its last group.
            let end = RowRange::end_after(last_key);
            let to = if number == last { range.to.clone() } else { end };
            let count = changed.partition_point(|key| to.as_ref().is_some_and(|to| key < to));
            let (own, rest) = changed.split_at(count);
            changed = rest;
            let rows = RowRange { from: std::mem::replace(&mut from, to.clone()), to };
            if self.of_part(group, own)? != self.of_pages(&rows, own)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The columns of a row group, without the rows that have these keys.
    fn of_part(&self, group: PartGroup, changed: &[Vec<u8>]) -> QueryResult<Vec<ArrayRef>> {
        let dead = self.key.rows_of(&group, changed)?;
        let mut rows = PartRows::new(&self.wanted, group.without(&dead), BATCH_SIZE)?;
        let mut batches = Vec::new();
        while let Some(batch) = rows.next()? {
            batches.push(batch.columns);
        }
        joined(&batches)
    }

    /// The same of the rows in a range.
    fn of_pages(&self, range: &RowRange, changed: &[Vec<u8>]) -> QueryResult<Vec<ArrayRef>> {
        let options = ScanOptions {
            projection: Some(self.positions),
            within: Some(range),
            batch_size: BATCH_SIZE,
            ..ScanOptions::default()
        };
        let mut batches = Vec::new();
        let mut scan = self.reader.begin_scan(self.table, &options).map_err(from_table)?;
        while let Some(batch) = scan.next_batch(&self.reader).map_err(from_table)? {
            let count = batch.num_rows();
            let mut kept = BooleanBufferBuilder::new(count);
            kept.append_n(count, true);
            let leave_out = |row| kept.set_bit(row, false);
            self.key.find(batch.columns(), count, changed, leave_out)?;
            let kept = BooleanArray::new(kept.finish(), None);
            let columns = batch.columns().iter().map(|column| filter(column, &kept));
            let columns: Vec<ArrayRef> = columns.collect::<std::result::Result<_, _>>()?;
            if !columns.iter().any(|column| column.is_empty()) {
                batches.push(columns);
            }
        }
        joined(&batches)
    }
}

/// The columns of batches, one after another; no columns if there are no rows.
fn joined(batches: &[Vec<ArrayRef>]) -> QueryResult<Vec<ArrayRef>> {
    let width = batches.first().map_or(0, Vec::len);
    let column = |place: usize| {
        let pieces: Vec<&dyn Array> = batches.iter().map(|batch| &*batch[place]).collect();
        Ok(concat(&pieces)?)
    };
    (0..width).map(column).collect()
}
