//! Promises other than crash safety: the pages that reading touches, the remains of a dropped
//! transaction, the time of opening.

use std::time::{Duration, Instant};

use folio_file::Operation;
use folio_table::{Error, Options};
use folio_types::{ValueRef, borrowed};

use crate::model::THINGS;
use crate::store::{
    create_things, new_disk, open, put, read_all, small_options, small_row, things_schema,
};

const CHANGES: [Operation; 8] = [
    Operation::Create,
    Operation::Write,
    Operation::Append,
    Operation::Truncate,
    Operation::Sync,
    Operation::SyncDirectory,
    Operation::Rename,
    Operation::Remove,
];

/// Opening for reading changes no file and syncs none, whatever is in the log.
#[test]
fn reading_writes_and_syncs_nothing() {
    let files = new_disk(0);
    let store = open(&files, &small_options()).unwrap();
    (0..40).for_each(|key| put(&store, key, "row").unwrap());
    drop(store);
    let files = files.kill();
    let reader = open(&files, &Options { read_only: true, ..small_options() }).unwrap();
    assert_eq!(read_all(&reader).unwrap()[THINGS].len(), 40);
    assert!(matches!(reader.begin(), Err(Error::ReadOnly)));
    drop(reader);
    for operation in CHANGES {
        assert_eq!(files.call_count(operation), 0, "{operation:?}");
    }
}

/// Reading in a store that is open for writing does not either, after opening.
#[test]
fn snapshots_write_and_sync_nothing() {
    let files = new_disk(0);
    let store = open(&files, &small_options()).unwrap();
    (0..40).for_each(|key| put(&store, key, "row").unwrap());
    let counts = || CHANGES.map(|operation| files.call_count(operation));
    let before = counts();
    read_all(&store).unwrap();
    drop(store.begin().unwrap());
    let empty = store.begin().unwrap();
    assert!(empty.reader().table(THINGS).is_ok());
    empty.commit().unwrap();
    assert_eq!(counts(), before);
}

/// A dropped transaction larger than the pool leaves no page, lets the next writer begin at once,
/// and its space in the log is reused.
#[test]
fn a_dropped_transaction_releases_everything() {
    let store = open(&new_disk(0), &small_options()).unwrap();
    put(&store, 1, "kept").unwrap();
    let (size, before) = (store.log_size(), store.snapshot().check().unwrap());
    for _ in 0..5 {
        let mut transaction = store.begin().unwrap();
        let table = transaction.table(THINGS).unwrap();
        for key in 10..400 {
            let row = small_row(key, &"name ".repeat(40));
            transaction.insert(&table, &borrowed(&row)).unwrap();
        }
        drop(transaction);
    }
    assert_eq!(store.snapshot().check().unwrap(), before);
    assert_eq!(store.log_size(), size);
    put(&store, 2, "next").unwrap();
    assert_eq!(read_all(&store).unwrap()[THINGS].len(), 2);
}

/// The space of dropped tables and deleted rows is reused: the file does not grow.
#[test]
fn space_is_used_again() {
    let store = open(&new_disk(0), &small_options()).unwrap();
    let mut pages = Vec::new();
    for _ in 0..6 {
        let mut transaction = store.begin().unwrap();
        let table = create_things(&mut transaction).unwrap();
        for key in 0..300 {
            let row = small_row(key, &"name ".repeat(1 + (key % 60) as usize));
            transaction.insert(&table, &borrowed(&row)).unwrap();
        }
        transaction.commit().unwrap();
        let mut transaction = store.begin().unwrap();
        let table = transaction.table(THINGS).unwrap();
        for key in 0..150 {
            assert!(transaction.delete(&table, &[ValueRef::Integer(key)]).unwrap());
        }
        transaction.drop_table(THINGS).unwrap();
        transaction.commit().unwrap();
        pages.push(store.snapshot().check().unwrap().pages);
    }
    assert!(pages.iter().all(|count| *count <= pages[0] + 4), "{pages:?}");
}

/// A log of 64 MB is recovered in less than two seconds.
#[test]
fn recovery_of_a_long_log_is_quick() {
    let files = new_disk(0);
    let options = Options { checkpoint_size: 1 << 30, pool_size: 8 << 20, ..small_options() };
    let store = open(&files, &options).unwrap();
    let mut transaction = store.begin().unwrap();
    transaction.create_table(&things_schema()).unwrap();
    transaction.commit().unwrap();
    let mut keys = 0..;
    while store.log_size() < 64 << 20 {
        let mut transaction = store.begin().unwrap();
        let table = transaction.table(THINGS).unwrap();
        for key in keys.by_ref().take(2000) {
            let row = small_row(key * 7919 % 1_000_003, &"name ".repeat(60));
            transaction.insert(&table, &borrowed(&row)).unwrap();
        }
        transaction.commit().unwrap();
    }
    drop(store);
    let start = Instant::now();
    let store = open(&files.kill(), &options).unwrap();
    let elapsed = start.elapsed();
    println!("a log of {} MB: {elapsed:?}", store.log_size() >> 20);
    assert!(elapsed < Duration::from_secs(2), "{elapsed:?}");
}
