//! A table several times larger than the pool: load, scan, random changes, reopen, check. Memory
//! use must stay within the given size plus a constant.
//!
//! Runs with `cargo test --release -p folio-table --test large -- --ignored
//! --nocapture` and takes minutes. `FOLIO_LARGE_ROWS` changes the number of rows from ten million.
//! The small run uses 350,000.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::Int64Array;
use folio_file::{DiskFileSystem, FileSystem};
use folio_table::{Options, ScanOptions, Table, TableStore};
use folio_types::{Column, ColumnType, TableSchema, Value, ValueRef};

/// Memory allowed beyond the pool: the arrays from pages to frames and versions (16 bytes a page),
/// a batch of a scan, a batch of the log.
const CONSTANT: u64 = 64 << 20;

fn options(pool_size: usize) -> Options {
    Options { pool_size, timeout: Duration::from_secs(60), ..Options::default() }
}

fn open(directory: &Path, pool_size: usize) -> TableStore {
    let files: Arc<dyn FileSystem> = Arc::new(DiskFileSystem);
    TableStore::open(&files, directory, options(pool_size)).expect("the store opens")
}

fn note(id: i64, round: i64) -> String {
    format!("note {id} of round {round}, {}", "·".repeat((id % 20) as usize))
}

fn load(store: &TableStore, rows: i64) -> Arc<Table> {
    let mut transaction = store.begin().expect("a writer begins");
    let columns = vec![
        Column::required("id", ColumnType::Int64),
        Column::required("value", ColumnType::Int64),
        Column::required("note", ColumnType::Text),
    ];
    let table = transaction.create_table(&TableSchema::new("large", columns, vec![0]));
    let table = table.expect("the table can be made");
    let mut load = transaction.load(&table).expect("the load begins");
    for id in 0..rows {
        let note = note(id, 0);
        let row = [ValueRef::Integer(id), ValueRef::Integer(id * 3), ValueRef::Text(&note)];
        load.push(&row).expect("the row fits");
    }
    load.finish().expect("the load ends");
    transaction.commit().expect("the commit succeeds");
    table
}

fn sum(store: &TableStore) -> (i64, i64) {
    let snapshot = store.snapshot();
    let table = snapshot.table("large").expect("the table");
    let options = ScanOptions { projection: Some(&[1]), ..ScanOptions::default() };
    let (mut rows, mut sum) = (0, 0i64);
    for batch in snapshot.scan(&table, &options).expect("the scan begins") {
        let batch = batch.expect("a batch");
        let values: &Int64Array = batch.column(0).as_any().downcast_ref().expect("bigints");
        rows += values.len() as i64;
        sum += values.values().iter().sum::<i64>();
    }
    (rows, sum)
}

/// Changes rows all over the table, a hundred per transaction; returns the growth of the sum.
fn change(store: &TableStore, table: &Arc<Table>, rows: i64, changes: i64) -> i64 {
    let mut grown = 0;
    let mut random = 42u64;
    for _ in 0..changes / 100 {
        let mut transaction = store.begin().expect("a writer begins");
        for _ in 0..100 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let id = (random >> 20) as i64 % rows;
            let key = [ValueRef::Integer(id)];
            let old = transaction.get(table, &key).expect("the read succeeds").expect("the row");
            let Value::Integer(value) = old.get(1).expect("a value") else { panic!("no bigint") };
            drop(old);
            let note = note(id, 1);
            let row = [key[0], ValueRef::Integer(value + 1), ValueRef::Text(&note)];
            assert!(transaction.update(table, &key, &row).expect("the update succeeds"));
            grown += 1;
        }
        transaction.commit().expect("the commit succeeds");
    }
    grown
}

/// The peak memory of this process without files, in bytes.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).unwrap_or(0)
    };
    line("VmHWM:") * 1024
}

fn run(rows: i64, changes: i64, pool_size: usize) {
    let directory = tempfile::tempdir().expect("a directory");
    let before = peak_memory();
    let mut last = Instant::now();
    let mut lap = |what: &str| {
        println!("{what:<10} {:>8.2?}, peak {} MiB", last.elapsed(), peak_memory() >> 20);
        last = Instant::now();
    };
    let store = open(directory.path(), pool_size);
    let table = load(&store, rows);
    lap("load");
    let expected = 3 * rows * (rows - 1) / 2;
    assert_eq!(sum(&store), (rows, expected));
    lap("scan");
    let grown = change(&store, &table, rows, changes);
    lap("update");
    drop(store);
    let store = open(directory.path(), pool_size);
    lap("reopen");
    assert_eq!(sum(&store), (rows, expected + grown));
    lap("scan");
    let report = store.snapshot().check().expect("the check runs");
    assert_eq!((report.problems.len(), report.rows), (0, rows as u64), "{report:?}");
    lap("check");
    let size = u64::from(report.pages) * store.page_size() as u64;
    let used = peak_memory() - before;
    println!(
        "{} MiB of pages, pool {} MiB, memory {} MiB",
        size >> 20,
        pool_size >> 20,
        used >> 20
    );
    assert!(size > 3 * pool_size as u64, "the pool is to be far smaller than the table");
    assert!(used <= pool_size as u64 + CONSTANT, "{used} bytes for a pool of {pool_size}");
}

#[test]
fn a_table_four_times_the_pool() {
    run(350_000, 5_000, 4 << 20);
}

#[test]
#[ignore = "takes minutes"]
fn ten_million_rows() {
    let rows = std::env::var("FOLIO_LARGE_ROWS").ok().and_then(|rows| rows.parse().ok());
    run(rows.unwrap_or(10_000_000), 200_000, 64 << 20);
}
