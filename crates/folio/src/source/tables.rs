//! Tables and views of the page file as relations.

use std::sync::Arc;

use arrow_array::ArrayRef;
use folio_compute::{BATCH_SIZE, Batch, Error as QueryError, Result as QueryResult};
use folio_engine::source::{Condition, Found, Keys, Relation, RowStream, ScanRequest, Test};
use folio_table::{ROW_NUMBER, Reader, RowRange, Scan, ScanOptions, Table};
use folio_types::{ColumnType, ErrorCode, ValueRef, borrowed};

use super::{Tables, View, columns, ended};
use crate::error::from_table;
use crate::lock::lock;

/// The minimum number of rows of a batch, even if fewer are wanted in the end: a filter may drop
/// most of them.
const BATCH_SIZE_MIN: usize = 64;

/// The names of all tables and views.
pub(super) fn names(reader: Reader<'_>) -> QueryResult<Vec<String>> {
    let tables = reader.tables().map_err(from_table)?;
    let views = reader.views().map_err(from_table)?;
    let mut names: Vec<String> = tables.iter().map(|table| table.schema().name.clone()).collect();
    names.extend(views.iter().map(|view| view.name.clone()));
    Ok(names)
}

/// The table of a relation.
pub(super) fn table_of(relation: &Relation) -> QueryResult<Arc<Table>> {
    Arc::clone(&relation.handle).downcast::<Table>().map_err(|_| {
        QueryError::new(
            ErrorCode::InvalidInput,
            format!("{:?} is not a table", relation.schema.name),
        )
    })
}

/// Streams rows of a table in key or index order, in at most `count` parts.
pub(super) fn scan_parts(
    view: &View,
    relation: &Relation,
    request: &ScanRequest,
    count: usize,
) -> QueryResult<Vec<Box<dyn RowStream>>> {
    if let Some(parts) = columns::tables::scan_parts(view, relation, request, count)? {
        return Ok(parts);
    }
    let parts = begin_parts(view, (relation, None), request, count)?;
    Ok(parts.into_iter().map(|rows| Box::new(rows) as _).collect())
}

/// The same from the pages: of all rows, or those of a range.
pub(super) fn begin_parts(
    view: &View,
    (relation, within): (&Relation, Option<&RowRange>),
    request: &ScanRequest,
    count: usize,
) -> QueryResult<Vec<TableRows>> {
    let table = table_of(relation)?;
    let mut projection = request.columns.clone();
    if request.with_row_number {
        projection.push(ROW_NUMBER);
    }
    // Rows without columns are counted by a key column.
    let is_counted = projection.is_empty();
    if is_counted {
        projection.push(table.schema().primary_key.first().copied().unwrap_or(0));
    }
    let (from, to) = (request.from.map(|own| borrowed(own)), request.to.map(|own| borrowed(own)));
    let rows = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    let (limit, wanted) = (request.limit.map(rows), request.wanted.map(rows));
    let of_store = |condition| of_store(condition, relation, &table);
    let conditions: Vec<_> = request.conditions.iter().filter_map(of_store).collect();
    let options = ScanOptions {
        within,
        projection: Some(&projection),
        index: request.index.map(|index| &table.indexes()[index]),
        from: from.map(|values| &values[..]),
        to: to.map(|values| &values[..]),
        batch_size: wanted.map_or(BATCH_SIZE, |wanted| wanted.clamp(BATCH_SIZE_MIN, BATCH_SIZE)),
        limit,
        reverse: request.reverse,
        conditions: &conditions,
    };
    let begin = |reader: Reader<'_>| reader.begin_parts(&table, &options, count);
    let scans = view.read(|reader| begin(reader).map_err(from_table))?;
    let tables = view.tables()?;
    let rows = |scan| TableRows { tables: tables.clone(), scan, is_counted };
    Ok(scans.ok_or_else(ended)?.into_iter().map(rows).collect())
}

/// The number of rows in a scan; `None` if the store cannot evaluate a condition.
pub(super) fn count(
    view: &View,
    relation: &Relation,
    request: &ScanRequest,
    check: &dyn Fn() -> QueryResult<()>,
) -> QueryResult<Option<u64>> {
    if let Some(count) = columns::tables::count(view, relation, request, check)? {
        return Ok(Some(count));
    }
    let table = table_of(relation)?;
    let of_store = |condition| of_store(condition, relation, &table);
    let conditions = request.conditions.iter().map(of_store);
    let Some(conditions) = conditions.collect::<Option<Vec<_>>>() else { return Ok(None) };
    let (from, to) = (request.from.map(|own| borrowed(own)), request.to.map(|own| borrowed(own)));
    let options = ScanOptions {
        projection: Some(&[]),
        index: request.index.map(|index| &table.indexes()[index]),
        from: from.map(|values| &values[..]),
        to: to.map(|values| &values[..]),
        limit: request.limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX)),
        reverse: request.reverse,
        conditions: &conditions,
        ..ScanOptions::default()
    };
    view.read(|reader| {
        let mut scan = reader.begin_scan(&table, &options).map_err(from_table)?;
        let (mut total, mut is_first) = (0, true);
        while let Some(count) = scan.next_count(&reader).map_err(from_table)? {
            // It makes the context of a run, which costs more than a leaf.
            if !std::mem::replace(&mut is_first, false) {
                check()?;
            }
            total += count as u64;
        }
        Ok(total)
    })
}

/// About how many rows the range of a request has.
pub(super) fn range_count(
    view: &View,
    relation: &Relation,
    request: &ScanRequest,
) -> QueryResult<Option<u64>> {
    let table = table_of(relation)?;
    let index = request.index.map(|index| &table.indexes()[index]);
    let (from, to) = (request.from.map(|own| borrowed(own)), request.to.map(|own| borrowed(own)));
    let (from, to) = (from.map(|values| &values[..]), to.map(|values| &values[..]));
    view.read(|reader| reader.estimate(&table, index, from, to).map_err(from_table))
}

/// Fetches the rows of many keys.
pub(super) fn look_up(
    view: &View,
    relation: &Relation,
    keys: Keys<'_>,
    columns: &[usize],
) -> QueryResult<Found> {
    let table = table_of(relation)?;
    let values = borrowed(keys.values);
    let wanted: Vec<&[ValueRef<'_>]> = values.chunks(keys.width.max(1)).collect();
    let index = keys.index.map(|index| &table.indexes()[index]);
    let found =
        view.read(|reader| reader.lookup(&table, index, &wanted, columns).map_err(from_table))?;
    let Some(found) = found else { return Err(ended()) };
    let rows = Batch::new(found.rows.columns().to_vec(), found.rows.num_rows());
    Ok(Found { rows, positions: found.positions })
}

/// The condition in the store's form, if it has one. Booleans are left to the engine: many rows pass
/// a test of them, and those are decoded in less time than they are tested one by one. A table with
/// columns has promised to test them, see `columns::tables::checks`.
fn of_store<'c>(
    condition: &'c Condition,
    relation: &Relation,
    table: &Table,
) -> Option<folio_table::Condition<'c>> {
    let Condition { column, ref test } = *condition;
    let Test::Compare(comparison, ref value) = *test else { return None };
    let ty = &table.schema().columns[column].column_type;
    let is_left = *ty == ColumnType::Boolean && relation.columns_indexes.is_empty();
    let value = value.as_ref();
    (ty.is_ordered() && !is_left).then_some(folio_table::Condition { column, comparison, value })
}

/// A running scan, with the guard that keeps its pages.
pub(super) struct TableRows {
    tables: Tables,
    scan: Scan,
    /// Whether the rows are wanted without columns.
    is_counted: bool,
}

impl TableRows {
    /// Reads on, as of the snapshot or in the transaction.
    fn read<T: Default>(
        &mut self,
        read: impl FnOnce(&mut Scan, &Reader<'_>) -> folio_table::Result<T>,
    ) -> QueryResult<T> {
        let done = match &self.tables {
            Tables::None => return Ok(T::default()),
            Tables::Snapshot(snapshot) => read(&mut self.scan, &snapshot.reader()),
            Tables::Transaction(transaction) => {
                let transaction = lock(transaction);
                read(&mut self.scan, &transaction.as_ref().ok_or_else(ended)?.reader())
            }
        };
        done.map_err(from_table)
    }
}

impl RowStream for TableRows {
    fn next(&mut self) -> QueryResult<Option<Batch>> {
        let batch = self.read(|scan, reader| scan.next_batch(reader))?;
        Ok(batch.map(|batch| match self.is_counted {
            true => Batch::new(Vec::new(), batch.num_rows()),
            false => Batch::new(batch.columns().to_vec(), batch.num_rows()),
        }))
    }

    fn skip(&mut self, count: u64) -> QueryResult<u64> {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        self.read(|scan, reader| Ok(scan.skip(reader, count)? as u64))
    }

    fn more(&mut self, columns: &[usize], rows: &[u32]) -> QueryResult<Vec<ArrayRef>> {
        let found = self.read(|scan, reader| scan.columns(reader, columns, rows).map(Some))?;
        Ok(found.map(|batch| batch.columns().to_vec()).unwrap_or_default())
    }
}
