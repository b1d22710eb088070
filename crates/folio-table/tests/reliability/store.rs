//! Opens a store on a file system in memory, and reads everything in it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::Array;
use folio_file::{FileSystem, MemoryFileSystem};
use folio_table::buffer::Policy;
use folio_table::{
    Error, IndexDefinition, Options, PageId, Result, ScanOptions, Snapshot, Synchronous, Table,
    TableStore, Transaction,
};
use folio_types::{Column, ColumnType, TableSchema, Value, ValueRef};

use crate::copies;
use crate::model::{EVENTS, Rows, THINGS, Tables};

pub(crate) const DIRECTORY: &str = "/db";
pub(crate) const DATA: &str = "/db/tables.folio";
pub(crate) const LOG: &str = "/db/tables.folio-wal";

pub(crate) const PAGE_SIZE: usize = 4096;

/// Everything small, so that few rows reach every structure: six pages of pool.
pub(crate) fn small_options() -> Options {
    Options {
        page_size: PAGE_SIZE,
        pool_size: 6 * PAGE_SIZE,
        checkpoint_size: 96 << 10,
        timeout: Duration::from_secs(20),
        ..Options::default()
    }
}

/// The same, varied by a seed.
pub(crate) fn options_of_seed(seed: u64) -> Options {
    Options {
        policy: Policy::ALL[(seed % 4) as usize],
        synchronous: if seed % 5 == 4 { Synchronous::Normal } else { Synchronous::Full },
        checkpoint_size: [24 << 10, 96 << 10, 1 << 20][(seed / 4 % 3) as usize],
        ..small_options()
    }
}

/// A file system with a synced directory for the database.
pub(crate) fn new_disk(seed: u64) -> MemoryFileSystem {
    let files = MemoryFileSystem::with_seed(seed);
    files.create_directory(Path::new(DIRECTORY)).unwrap();
    files.make_durable();
    files
}

/// Opens the store as a separate process would.
pub(crate) fn open(files: &MemoryFileSystem, options: &Options) -> Result<TableStore> {
    let files: Arc<dyn FileSystem> = Arc::new(files.clone());
    TableStore::open(&files, Path::new(DIRECTORY), options.clone())
}

pub(crate) fn things_schema() -> TableSchema {
    let columns = vec![
        Column::required("id", ColumnType::Int64),
        Column::required("name", ColumnType::Text),
        Column::optional("number", ColumnType::Int32),
        Column::optional("body", ColumnType::Text),
    ];
    TableSchema::new(THINGS, columns, vec![0])
}

pub(crate) fn events_schema() -> TableSchema {
    let columns =
        vec![Column::required("kind", ColumnType::Text), Column::required("at", ColumnType::Int64)];
    TableSchema::new(EVENTS, columns, vec![])
}

/// Creates the table with a text index, a unique index with nulls, and a columns index.
pub(crate) fn create_things(transaction: &mut Transaction) -> Result<Arc<Table>> {
    transaction.create_table(&things_schema())?;
    for (name, column, unique) in [("by_name", 1, false), ("by_number", 2, true)] {
        create_index(transaction, name, column, unique)?;
    }
    transaction.create_columns_index(THINGS, "copy", &[])
}

pub(crate) fn create_index(
    transaction: &mut Transaction,
    name: &str,
    column: usize,
    unique: bool,
) -> Result<Arc<Table>> {
    let columns = vec![(column, false)];
    transaction.create_index(THINGS, &IndexDefinition { name: name.to_owned(), columns, unique })
}

/// Everything that a new snapshot sees, checked for consistency.
pub(crate) fn read_all(store: &TableStore) -> Result<Tables> {
    read_snapshot(&store.snapshot())
}

/// Everything a snapshot sees: scanned, fetched by key, counted and checked.
pub(crate) fn read_snapshot(snapshot: &Snapshot) -> Result<Tables> {
    let report = snapshot.check()?;
    if let Some(problem) = report.problems.first() {
        panic!("page {}: {}", problem.page, problem.text);
    }
    let tables = read_rows(snapshot)?;
    for (name, rows) in &tables {
        let count = snapshot.row_count(&*snapshot.table(name)?)?;
        assert_eq!(count, rows.len() as u64, "the count of rows of {name}");
    }
    if let Some(rows) = tables.get(THINGS) {
        copies::check(snapshot, rows)?;
    }
    Ok(tables)
}

/// The same without a check, which would report failing calls as damage.
pub(crate) fn read_rows(snapshot: &Snapshot) -> Result<Tables> {
    let mut tables = Tables::new();
    for table in snapshot.tables()? {
        let rows = if table.schema().primary_key.is_empty() {
            read_unkeyed(snapshot, &table)?
        } else {
            read_keyed(snapshot, &table)?
        };
        tables.insert(table.schema().name.clone(), rows);
    }
    Ok(tables)
}

fn read_keyed(snapshot: &Snapshot, table: &Arc<Table>) -> Result<Rows> {
    let options = ScanOptions { batch_size: 64, ..ScanOptions::default() };
    let mut rows = Rows::new();
    for batch in snapshot.scan(table, &options)? {
        let batch = batch?;
        for &id in integers(batch.column(0)).values() {
            let row = snapshot.get(table, &[ValueRef::Integer(id)])?;
            let problem = format!("row {id} is scanned but not found");
            let row = row.ok_or(Error::CorruptedPage { page: PageId(0), problem })?;
            rows.insert(id, row.values()?);
        }
    }
    Ok(rows)
}

/// Rows of a table without a key, under their number in the scan.
fn read_unkeyed(snapshot: &Snapshot, table: &Arc<Table>) -> Result<Rows> {
    let mut rows = Rows::new();
    for batch in snapshot.scan(table, &ScanOptions::default())? {
        let batch = batch?;
        let kinds = batch.column(0).as_any().downcast_ref::<arrow_array::StringArray>();
        let kinds = kinds.expect("kinds are text");
        for (row, &at) in integers(batch.column(1)).values().iter().enumerate() {
            let values = vec![Value::Text(kinds.value(row).to_owned()), Value::Integer(at)];
            rows.insert(rows.len() as i64, values);
        }
    }
    Ok(rows)
}

fn integers(column: &dyn Array) -> &arrow_array::Int64Array {
    column.as_any().downcast_ref().expect("the column has 64-bit integers")
}

/// A small row for a key.
pub(crate) fn small_row(key: i64, name: &str) -> Vec<Value> {
    vec![Value::Integer(key), Value::Text(name.to_owned()), Value::Null, Value::Null]
}

/// Commits one row.
pub(crate) fn put(store: &TableStore, key: i64, name: &str) -> Result<()> {
    let mut transaction = store.begin()?;
    let table = match transaction.table(THINGS) {
        Err(Error::NotFound { .. }) => transaction.create_table(&things_schema())?,
        table => table?,
    };
    let row = small_row(key, name);
    let row = folio_types::borrowed(&row);
    if !transaction.update(&table, &[ValueRef::Integer(key)], &row)? {
        transaction.insert(&table, &row)?;
    }
    transaction.commit()
}

/// The name in a row, if there is one.
pub(crate) fn name_of(store: &TableStore, key: i64) -> Result<Option<String>> {
    let snapshot = store.snapshot();
    let table = snapshot.table(THINGS)?;
    let Some(row) = snapshot.get(&table, &[ValueRef::Integer(key)])? else { return Ok(None) };
    match row.get(1)? {
        Value::Text(name) => Ok(Some(name)),
        other => panic!("a name is no text: {other:?}"),
    }
}
