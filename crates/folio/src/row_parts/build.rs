//! Makes the parts of columns indexes of tables.
//!
//! ```text
//! create   the parts of all rows, in the transaction that creates the index
//! remake   the same for all indexes of all tables, in a transaction of its own
//! keep     after a transaction, in one of its own: parts of rows that were added, if they are many;
//!          parts in which many rows have changed, or whose files are not intact, are made again
//! ```
//!
//! Each thread makes one part at a time, from rows as the transaction sees them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use folio_compute::BATCH_SIZE;
use folio_engine::source::Progress;
use folio_table::{
    ColumnsIndex, Reader, RowPart, RowRange, ScanOptions, Table, TableStore, Transaction,
};
use folio_types::ErrorCode;

use super::{PartFiles, PartFolder};
use crate::error::Result;
use crate::format::parquet::part::TableLayout;
use crate::threads;

/// Rows of a part: about so many.
const PART_ROWS: u64 = 1 << 20;

/// More rows than this without a part are worth one,
const TAIL_ROWS: u64 = 1 << 18;

/// and so are fewer, if the parts have not many times as many: at least this,
const TAIL_ROWS_MIN: u64 = 1 << 14;

/// and one for so many rows of parts.
const TAIL_SHARE: u64 = 4;

/// A part in which more rows than one in so many have changed is made again, and not read before.
pub(crate) const CHANGED_SHARE: u64 = 4;

/// How many rows one commit brings into parts at most. The next one goes on.
const ROWS_PER_COMMIT: u64 = 8 * PART_ROWS;

/// Is called with the number of rows read, on any thread.
type See<'s> = &'s (dyn Fn(u64) -> Result<()> + Sync);

/// A piece of an index, in the order of its rows.
enum Piece {
    /// A part that stays.
    Kept(RowPart),
    /// Rows that become parts.
    Made(RowRange),
}

/// Makes the parts of all rows for a new index. Files of one that it replaces stay: [`keep`] removes
/// those without use once the transaction has ended.
///
/// # Errors
/// Errors of the scan and of the files; what `progress` answers. Nothing is left of it then.
pub(crate) fn create(
    folder: PartFolder<'_>,
    transaction: &mut Transaction,
    table: &Arc<Table>,
    index: &ColumnsIndex,
    progress: Progress<'_>,
) -> Result<()> {
    let reader = transaction.reader();
    let rows = reader.row_count(table)?.max(1);
    let size = reader.row_pages(table)? * transaction.page_size() as u64;
    // In bytes, as everywhere: rows of one table have about the same size.
    let read = |done: u64| u128::from(done.min(rows)) * u128::from(size) / u128::from(rows);
    let progress = |done: u64| progress(read(done) as u64, size);
    let pieces = vec![Piece::Made(RowRange::default())];
    folder.open.has_created.store(true, Ordering::Release);
    make(folder, transaction, (table, index), pieces, &|done| Ok(progress(done)?))?;
    Ok(())
}

/// Brings the columns indexes of all tables up to date where much is missing, and removes files that
/// none of them uses. An error costs only time, later.
pub(crate) fn keep(folder: PartFolder<'_>, store: &TableStore) {
    match keep_all(folder, store) {
        Err(error) if error.code() != ErrorCode::Locked => {
            folder.open.notice(format!("columns of tables are not up to date: {error}"));
        }
        _ => {} // whoever has the lock does it, after the next commit at the latest
    }
}

fn keep_all(folder: PartFolder<'_>, store: &TableStore) -> Result<()> {
    let is_due = {
        let snapshot = store.snapshot();
        let tables = snapshot.tables()?;
        let has_unused = !folder.unused(&index_names(&tables)).is_empty();
        let mut is_due = has_unused || folder.open.has_created();
        for table in &tables {
            for index in table.columns_indexes() {
                is_due |= plan(folder, snapshot.reader(), table, index)?.is_some();
            }
        }
        is_due
    };
    if !is_due {
        return Ok(());
    }
    let mut transaction = store.begin_at_once()?;
    // A session that creates an index has its files before its commit, but it has the lock as well.
    remove_unused(folder, transaction.reader())?;
    folder.open.has_created.store(false, Ordering::Release);
    for table in transaction.tables()? {
        for index in table.columns_indexes() {
            let listed = transaction.reader().row_parts(&table, index)?;
            if let Some(pieces) = plan(folder, transaction.reader(), &table, index)? {
                let parts = make(folder, &mut transaction, (&table, index), pieces, &|_| Ok(()))?;
                // Files of the list before stay for snapshots; still older ones read rows instead.
                folder.of(&index.name).retain(&[listed, parts].concat());
            }
        }
    }
    Ok(transaction.commit()?)
}

/// Removes files that no index has, as a statement leaves that is killed while it creates one. The
/// caller has the lock of the writer.
///
/// # Errors
/// Errors of the pages.
pub(crate) fn remove_unused(folder: PartFolder<'_>, reader: Reader<'_>) -> Result<()> {
    let tables = reader.tables()?;
    folder.retain(&index_names(&tables));
    for table in &tables {
        for index in table.columns_indexes() {
            folder.of(&index.name).retain(&reader.row_parts(table, index)?);
        }
    }
    Ok(())
}

fn index_names(tables: &[Arc<Table>]) -> Vec<&str> {
    let indexes = tables.iter().flat_map(|table| table.columns_indexes());
    indexes.map(|index| &*index.name).collect()
}

/// Makes the parts of all columns indexes of all tables again. Returns their number.
///
/// # Errors
/// As [`create`], and of the commit.
pub(crate) fn remake(folder: PartFolder<'_>, store: &TableStore) -> Result<usize> {
    let mut transaction = store.begin()?;
    let mut count = 0;
    for table in transaction.tables()? {
        for index in table.columns_indexes() {
            create(folder, &mut transaction, &table, index, &|_, _| Ok(()))?;
            count += 1;
        }
    }
    if count > 0 {
        transaction.commit()?;
        keep(folder, store);
    }
    Ok(count)
}

/// Bytes of the files of an index, the rows in them, and whether nothing is to be made.
///
/// # Errors
/// Errors of the pages.
pub(crate) fn extent(
    folder: PartFolder<'_>,
    reader: Reader<'_>,
    table: &Arc<Table>,
    index: &ColumnsIndex,
) -> Result<(u64, u64, bool)> {
    let files = folder.of(&index.name);
    let (mut size, mut row_count) = (0, 0);
    for part in reader.row_parts(table, index)? {
        let Ok(open) = files.open(&part) else { continue };
        let note = folder.files.stat(&files.note_path(part.number));
        size += open.file.bytes().len() as u64 + note.map_or(0, |stat| stat.size);
        row_count += part.row_count;
    }
    Ok((size, row_count, plan(folder, reader, table, index)?.is_none()))
}

/// What an index should be; `None` if it is good as it is.
fn plan(
    folder: PartFolder<'_>,
    reader: Reader<'_>,
    table: &Arc<Table>,
    index: &ColumnsIndex,
) -> Result<Option<Vec<Piece>>> {
    let files = folder.of(&index.name);
    let parts = reader.row_parts(table, index)?;
    let (mut pieces, mut made, mut from) = (Vec::new(), 0, None);
    for part in &parts {
        let to = RowRange::end_after(&part.last_key);
        let range = RowRange { from: std::mem::replace(&mut from, to.clone()), to };
        let limit = part.row_count / CHANGED_SHARE + 1;
        let is_good = files.open(part).is_ok()
            && (reader.changed_keys(table, index, &range, limit as usize)?.len() as u64) < limit;
        if is_good || made >= ROWS_PER_COMMIT {
            pieces.push(Piece::Kept(part.clone()));
        } else {
            made += part.row_count;
            pieces.push(Piece::Made(range));
        }
    }
    let mut tail = RowRange { from, to: None };
    let tail_rows = reader.estimate_range(table, &tail)?;
    let covered: u64 = parts.iter().map(|part| part.row_count).sum();
    let worth = (covered / TAIL_SHARE).clamp(TAIL_ROWS_MIN, TAIL_ROWS);
    if tail_rows >= worth && made < ROWS_PER_COMMIT {
        // Small parts grow, so that there are few of them.
        if let Some(Piece::Kept(last)) = pieces.last()
            && last.row_count < PART_ROWS / 2
        {
            pieces.pop();
            let before = parts.len().checked_sub(2).map(|at| &parts[at].last_key);
            tail.from = before.and_then(|key| RowRange::end_after(key));
        }
        made += tail_rows;
        pieces.push(Piece::Made(tail));
    }
    Ok((made > 0).then_some(pieces))
}

/// Makes the pieces of an index that are to be made, and returns its parts. `see` gets the number of
/// rows read now and then, and may end the work.
fn make(
    folder: PartFolder<'_>,
    transaction: &mut Transaction,
    (table, index): (&Arc<Table>, &ColumnsIndex),
    pieces: Vec<Piece>,
    see: See<'_>,
) -> Result<Vec<RowPart>> {
    let files = folder.of(&index.name);
    files.create_folders()?;
    let reader = transaction.reader();
    let listed = reader.row_parts(table, index)?;
    // In order: a part that stays, or the place of one to be made.
    let (mut slots, mut ranges, mut renewed) = (Vec::new(), Vec::new(), Vec::new());
    for piece in pieces {
        match piece {
            Piece::Kept(part) => slots.push(Ok(part)),
            Piece::Made(range) => {
                let rows = reader.estimate_range(table, &range)?;
                let wanted = threads::count() as u64;
                let count = (rows.div_ceil(PART_ROWS)).max((rows / TAIL_ROWS).min(wanted)).max(1);
                for range in reader.divided(table, &range, count as usize)? {
                    slots.push(Err(ranges.len()));
                    ranges.push(range);
                }
                renewed.push(range);
            }
        }
    }
    let layout = TableLayout::new(table, index);
    let first = files.next_number(&listed)?;
    let numbers = AtomicU64::new(first);
    let made = made(&files, (reader, table, &layout), &numbers, &ranges, see);
    if made.is_err() {
        files.retain_if(|number| number < first);
    }
    let made = made?;
    let part = |slot| match slot {
        Ok(part) => Some(part),
        Err(place) => Option::<RowPart>::clone(&made[place]),
    };
    let parts: Vec<RowPart> = slots.into_iter().filter_map(part).collect();
    transaction.set_row_parts(table, index, &parts, &renewed)?;
    Ok(parts)
}

/// The parts of these ranges, with all cores.
fn made(
    files: &PartFiles<'_>,
    (reader, table, layout): (Reader<'_>, &Arc<Table>, &TableLayout),
    numbers: &AtomicU64,
    ranges: &[RowRange],
    see: See<'_>,
) -> Result<Vec<Option<RowPart>>> {
    let row_count = AtomicU64::new(0);
    let make = |range: &RowRange| -> Result<Option<RowPart>> {
        let options = ScanOptions {
            projection: Some(layout.positions()),
            within: Some(range),
            batch_size: BATCH_SIZE,
            ..ScanOptions::default()
        };
        let mut scan = reader.begin_scan(table, &options)?;
        let encoded = layout.encode(&mut || {
            let Some(batch) = scan.next_batch(&reader)? else { return Ok(None) };
            let rows = batch.num_rows() as u64;
            see(row_count.fetch_add(rows, Ordering::Relaxed) + rows)?;
            Ok(Some(batch.columns().iter().map(Arc::clone).collect()))
        })?;
        let number = || numbers.fetch_add(1, Ordering::Relaxed);
        encoded.map(|encoded| files.write(number(), &encoded)).transpose()
    };
    threads::share(ranges.iter().collect(), threads::count(), make)
}
