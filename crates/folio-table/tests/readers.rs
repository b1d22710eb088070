//! A read-only process and a writing one. The reader sees complete commits of one moment, or
//! reports that its snapshot is too old. Two stores on one directory represent the two processes.

use std::path::Path;
use std::sync::Arc;

use arrow_array::Int64Array;
use folio_file::{DiskFileSystem, FileSystem, MemoryFileSystem};
use folio_table::{Error, Options, Result, ScanOptions, TableStore};
use folio_types::{Column, ColumnType, TableSchema, ValueRef};

const ROWS: i64 = 500;

fn open(files: &Arc<dyn FileSystem>, path: &Path, read_only: bool) -> TableStore {
    let options = Options {
        page_size: 4096,
        pool_size: 8 * 4096,
        checkpoint_size: 64 << 10,
        read_only,
        ..Options::default()
    };
    TableStore::open(files, path, options).expect("the store opens")
}

/// Every row gets the same number, so that a mixture of moments shows.
fn set_all(store: &TableStore, number: i64) {
    let mut transaction = store.begin().expect("a writer begins");
    let table = match transaction.table("t") {
        Ok(table) => table,
        Err(_) => {
            let columns = vec![
                Column::required("id", ColumnType::Int64),
                Column::required("number", ColumnType::Int64),
                Column::required("filler", ColumnType::Text),
            ];
            let table = transaction.create_table(&TableSchema::new("t", columns, vec![0]));
            table.expect("the table can be made")
        }
    };
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
    let snapshot = store.snapshot();
    let table = snapshot.table("t")?;
    let mut numbers = Vec::new();
    for batch in snapshot.scan(&table, &ScanOptions::default())? {
        let batch = batch?;
        let column: &Int64Array = batch.column(1).as_any().downcast_ref().expect("bigints");
        numbers.extend_from_slice(column.values());
    }
    assert_eq!(numbers.len() as i64, ROWS);
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
