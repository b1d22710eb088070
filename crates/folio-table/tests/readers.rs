//! A read-only process and a writing one. The reader sees complete commits of one moment, or
//! reports that its snapshot is too old. Two stores on one directory represent the two processes.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::Int64Array;
use folio_file::{DiskFileSystem, FileSystem, MemoryFileSystem};
use folio_table::{
    Error, Options, Result, ScanOptions, Snapshot, Table, TableStore, Transaction, Users,
};
use folio_types::{Column, ColumnType, TableSchema, ValueRef};

const ROWS: i64 = 500;

fn open(files: &Arc<dyn FileSystem>, path: &Path, read_only: bool) -> TableStore {
    let log_size_max = Options::default().log_size_max;
    open_within(files, path, read_only, log_size_max).expect("the store opens")
}

fn open_within(
    files: &Arc<dyn FileSystem>,
    path: &Path,
    read_only: bool,
    log_size_max: u64,
) -> Result<TableStore> {
    let options = Options {
        page_size: 4096,
        pool_size: 8 * 4096,
        checkpoint_size: 64 << 10,
        log_size_max,
        read_only,
        timeout: Duration::from_millis(50),
        ..Options::default()
    };
    TableStore::open(files, path, options)
}

/// The table of a name, created if it is missing.
fn table(transaction: &mut Transaction, name: &str) -> Arc<Table> {
    transaction.table(name).unwrap_or_else(|_| {
        let columns = vec![
            Column::required("id", ColumnType::Int64),
            Column::required("number", ColumnType::Int64),
            Column::required("filler", ColumnType::Text),
        ];
        let table = transaction.create_table(&TableSchema::new(name, columns, vec![0]));
        table.expect("the table can be made")
    })
}

/// Every row gets the same number, so that a mixture of moments shows.
fn set_all(store: &TableStore, number: i64) {
    let mut transaction = store.begin().expect("a writer begins");
    let table = table(&mut transaction, "t");
    let filler = "x".repeat(40 + (number % 7) as usize * 20);
    for id in 0..ROWS {
        let row = [ValueRef::Integer(id), ValueRef::Integer(number), ValueRef::Text(&filler)];
        if !transaction.update(&table, &row[..1], &row).expect("the update succeeds") {
            transaction.insert(&table, &row).expect("the row fits");
        }
    }
    transaction.commit().expect("the commit succeeds");
}

/// The one number that all rows have.
fn read_all(store: &TableStore) -> Result<i64> {
    read(&store.snapshot(), "t", ROWS)
}

fn read(snapshot: &Snapshot, name: &str, rows: i64) -> Result<i64> {
    let table = snapshot.table(name)?;
    let mut numbers = Vec::new();
    for batch in snapshot.scan(&table, &ScanOptions::default())? {
        let batch = batch?;
        let column: &Int64Array = batch.column(1).as_any().downcast_ref().expect("bigints");
        numbers.extend_from_slice(column.values());
    }
    assert_eq!(numbers.len() as i64, rows);
    assert!(numbers.iter().all(|number| *number == numbers[0]), "two moments in one scan");
    Ok(numbers[0])
}

#[test]
fn a_reader_sees_its_moment_or_says_that_it_has_passed() {
    let files: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    let path = Path::new("db");
    files.create_directory(path).expect("a directory can be made");
    let writer = open(&files, path, false);
    set_all(&writer, 0);
    let (mut seen, mut passed) = (0, 0);
    for number in 1..60 {
        let reader = open(&files, path, true);
        assert!(!reader.is_stale().expect("a look"));
        assert_eq!(read_all(&reader).expect("nobody wrote"), number - 1);
        set_all(&writer, number);
        assert!(reader.is_stale().expect("a look"), "round {number}");
        match read_all(&reader) {
            Ok(found) => {
                assert_eq!(found, number - 1);
                seen += 1;
            }
            Err(Error::SnapshotTooOld) => passed += 1,
            Err(error) => panic!("round {number}: {error}"),
        }
        assert!(matches!(reader.begin(), Err(Error::ReadOnly)));
    }
    assert!(seen > 5 && passed > 5, "both happen: {seen} and {passed}");
}

#[test]
fn readers_open_and_read_while_a_writer_writes() {
    let directory = tempfile::tempdir().expect("a directory");
    let files: Arc<dyn FileSystem> = Arc::new(DiskFileSystem);
    let writer = open(&files, directory.path(), false);
    set_all(&writer, 0);
    let is_done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let (mut last, mut reads) = (0, 0);
            while !is_done.load(std::sync::atomic::Ordering::Relaxed) {
                let store = open(&files, directory.path(), true);
                match read_all(&store) {
                    Ok(number) => {
                        assert!(number >= last, "time goes on");
                        (last, reads) = (number, reads + 1);
                    }
                    Err(Error::SnapshotTooOld) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            reads
        });
        for number in 1..40 {
            set_all(&writer, number);
        }
        is_done.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(reader.join().expect("the reader does not panic") > 0);
    });
}

/// An empty database in memory.
fn in_memory() -> (Arc<dyn FileSystem>, &'static Path) {
    let (files, path): (Arc<dyn FileSystem>, _) =
        (Arc::new(MemoryFileSystem::new()), Path::new("db"));
    files.create_directory(path).expect("a directory can be made");
    (files, path)
}

/// Each snapshot is read on as of its own commit, whatever an older one still needs, and beside the
/// checkpoint of another process.
#[test]
fn snapshots_are_read_on_after_the_lock_was_given_back() {
    const MANY: i64 = 5000;
    let (files, path) = in_memory();
    let writer = open(&files, path, false);
    set_all(&writer, 0);
    assert!(writer.checkpoint().expect("it succeeds"));
    let old = writer.snapshot();
    set_all(&writer, 1);
    // A load goes into the data file before its commit.
    let mut transaction = writer.begin().expect("it begins");
    let many = table(&mut transaction, "many");
    let mut load = transaction.load(&many).expect("it begins");
    for id in 0..MANY {
        let row = [ValueRef::Integer(id), ValueRef::Integer(7), ValueRef::Text("filler")];
        load.push(&row).expect("the row fits");
    }
    load.finish().expect("it ends");
    transaction.commit().expect("the commit succeeds");
    let new = writer.snapshot();
    writer.give_lock_back();
    assert_eq!(read(&new, "many", MANY).expect("its pages are older than it"), 7);
    assert_eq!(read(&new, "t", ROWS).expect("nobody wrote"), 1);
    assert_eq!(read(&old, "t", ROWS).expect("nobody wrote"), 0);

    let other = open_within(&files, path, false, 1).expect("the lock is free");
    assert!(other.checkpoint().expect("it succeeds"), "the log has outgrown its limit");
    assert!(matches!(read(&old, "t", ROWS), Err(Error::SnapshotTooOld)));
    assert_eq!(read(&new, "t", ROWS).expect("these are its pages"), 1);
    assert_eq!(read(&new, "many", MANY).expect("these are its pages"), 7);
    set_all(&other, 2);
    assert!(other.checkpoint().expect("it succeeds"));
    assert!(matches!(read(&new, "t", ROWS), Err(Error::SnapshotTooOld)));
}

#[test]
fn a_store_tells_who_uses_it() {
    let (files, path) = in_memory();
    let store = open_within(&files, path, false, 64 << 10).expect("the store opens");
    set_all(&store, 0);
    assert_eq!(store.users(), Users::Nobody);
    let snapshot = store.snapshot();
    assert_eq!(store.users(), Users::Readers);
    let clone = store.clone();
    assert_eq!(store.users(), Users::Writers);
    drop(clone);
    let transaction = store.begin().expect("it begins");
    assert_eq!(store.users(), Users::Writers);
    drop(transaction);
    for number in 1..20 {
        set_all(&store, number); // the log outgrows its limit
    }
    assert!(matches!(read(&snapshot, "t", ROWS), Err(Error::SnapshotTooOld)));
    assert_eq!(store.users(), Users::Readers, "it has expired, and is still there");
    drop(snapshot);
    assert_eq!(store.users(), Users::Nobody);
}

#[test]
fn the_lock_of_a_store_is_free_once_its_last_transaction_has_ended() {
    let (files, path) = in_memory();
    let store = open(&files, path, false);
    set_all(&store, 0);
    let (snapshot, transaction) = (store.snapshot(), store.begin().expect("it begins"));
    store.clone().give_lock_back();
    let locked = open_within(&files, path, false, 1).expect_err("it still writes");
    assert!(matches!(locked, Error::Locked(_)), "{locked}");
    transaction.commit().expect("it has the lock");
    set_all(&open(&files, path, false), 1);
    assert_eq!(read(&snapshot, "t", ROWS).expect("its pages are there"), 0);
    assert!(matches!(store.begin(), Err(Error::ReadOnly)));
}
