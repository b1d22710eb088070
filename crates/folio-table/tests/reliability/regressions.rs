//! Bugs that were found, each named after what went wrong.

use std::path::Path;

use folio_file::{CrashPlan, Fault, FaultKind, FileSystem, MemoryFileSystem, Operation, Recording};
use folio_table::{Error, Options, Synchronous};
use folio_types::{Value, ValueRef, borrowed};

use crate::files::{Files, START};
use crate::model::{EVENTS, THINGS};
use crate::store::{
    DATA, LOG, PAGE_SIZE, create_things, events_schema, name_of, new_disk, open, put, read_all,
    read_rows, small_options, small_row,
};

/// After a savepoint is released the next one has the same depth, but pages changed under the first
/// are not its copies.
#[test]
fn a_savepoint_made_after_another_was_released_takes_back_only_its_own() {
    let store = open(&new_disk(0), &small_options()).unwrap();
    let mut transaction = store.begin().unwrap();
    let table = create_things(&mut transaction).unwrap();
    transaction.savepoint();
    let released = transaction.savepoint();
    transaction.insert(&table, &borrowed(&small_row(1, "kept"))).unwrap();
    transaction.release(released).unwrap();
    let returned_to = transaction.savepoint();
    transaction.insert(&table, &borrowed(&small_row(2, "taken back"))).unwrap();
    transaction.rollback_to(returned_to).unwrap();
    assert!(transaction.get(&table, &[ValueRef::Integer(1)]).unwrap().is_some());
    assert!(transaction.get(&table, &[ValueRef::Integer(2)]).unwrap().is_none());
    transaction.commit().unwrap();
    assert_eq!(read_all(&store).unwrap()[THINGS].len(), 1);
}

/// A load numbers the rows of an empty table from 1, whatever numbers the transaction used before.
#[test]
fn rows_inserted_after_a_load_are_numbered_after_it() {
    let store = open(&new_disk(0), &small_options()).unwrap();
    let mut transaction = store.begin().unwrap();
    let table = transaction.create_table(&events_schema()).unwrap();
    let row = [ValueRef::Text("kind"), ValueRef::Integer(0)];
    let number = transaction.insert(&table, &row).unwrap().unwrap();
    assert!(transaction.delete(&table, &[ValueRef::Integer(number)]).unwrap());
    let mut load = transaction.load(&table).unwrap();
    (0..5).for_each(|_| load.push(&row).unwrap());
    assert_eq!(load.finish().unwrap(), 5);
    assert_eq!(transaction.insert(&table, &row).unwrap(), Some(6));
    transaction.commit().unwrap();
    assert_eq!(read_all(&store).unwrap()[EVENTS].len(), 6);
}

/// A snapshot that was ended because the log had outgrown its limit may still pin a page. The
/// page's content after the checkpoint must not be read there.
#[test]
fn a_page_held_through_a_checkpoint_is_not_served_as_the_newest() {
    let options = Options { log_size_max: 16 << 10, ..small_options() };
    let store = open(&new_disk(0), &options).unwrap();
    put(&store, 1, "old").unwrap();
    assert!(store.checkpoint().unwrap());
    let snapshot = store.snapshot();
    let table = snapshot.table(THINGS).unwrap();
    let held = snapshot.get(&table, &[ValueRef::Integer(1)]).unwrap().unwrap();
    for _ in 0..100 {
        put(&store, 1, "new").unwrap();
    }
    assert!(store.checkpoint().unwrap(), "the old snapshot is ended");
    assert!(matches!(snapshot.row_count(&table), Err(Error::SnapshotTooOld)));
    assert_eq!(held.get(1).unwrap(), Value::Text("old".to_owned()), "what is held stays");
    assert_eq!(name_of(&store, 1).unwrap().as_deref(), Some("new"));
    drop(held);
    assert_eq!(name_of(&store, 1).unwrap().as_deref(), Some("new"));
}

/// A process killed between renaming the data file and syncing the name leaves the sync to the next
/// one.
#[test]
fn names_of_a_killed_maker_survive_the_power_cut() {
    let files = new_disk(0);
    files.record_crash_points(Recording::Changes);
    drop(open(&files, &small_options()).unwrap());
    for point in files.crash_points() {
        let found = point.image.kill();
        let store = open(&found, &small_options()).unwrap();
        put(&store, 1, "promised").unwrap();
        drop(store);
        let later = open(&found.crash(CrashPlan::lose_everything()), &small_options()).unwrap();
        assert_eq!(name_of(&later, 1).unwrap().as_deref(), Some("promised"));
    }
}

/// After a failed sync the system returns bytes that no later sync writes. The next process has to
/// write them again before it builds on them.
#[test]
fn a_tail_whose_sync_failed_is_written_again() {
    let files = new_disk(0);
    let store = open(&files, &small_options()).unwrap();
    put(&store, 1, "promised").unwrap();
    files.inject(Fault::next(Operation::Sync, FaultKind::Eio).on("-wal"));
    assert!(matches!(put(&store, 2, "doubtful"), Err(Error::Io { .. })));
    assert!(matches!(put(&store, 3, "refused"), Err(Error::Poisoned { .. })));
    drop(store);
    let files = files.kill();
    let store = open(&files, &small_options()).unwrap();
    let seen = name_of(&store, 2).unwrap();
    put(&store, 4, "later").unwrap();
    drop(store);
    let store = open(&files.crash(CrashPlan::lose_everything()), &small_options()).unwrap();
    assert_eq!(name_of(&store, 1).unwrap().as_deref(), Some("promised"));
    assert_eq!(name_of(&store, 2).unwrap(), seen);
    assert_eq!(name_of(&store, 4).unwrap().as_deref(), Some("later"));
}

/// The same for the header of a restarted log.
#[test]
fn a_generation_whose_sync_failed_is_begun_again() {
    for failing_sync in 0..4 {
        let files = new_disk(0);
        let store = open(&files, &small_options()).unwrap();
        for key in 0..30 {
            put(&store, key, "promised").unwrap();
        }
        files.inject(Fault::next(Operation::Sync, FaultKind::Eio).after(failing_sync));
        let checkpoint = store.checkpoint();
        drop(store);
        files.clear_faults();
        let files = files.kill();
        let store = open(&files, &small_options()).unwrap();
        put(&store, 40, "later").unwrap();
        drop(store);
        let store = open(&files.crash(CrashPlan::lose_everything()), &small_options())
            .unwrap_or_else(|error| panic!("sync {failing_sync} failed, {checkpoint:?}: {error}"));
        let rows = read_all(&store).unwrap();
        assert_eq!(rows[THINGS].len(), 31, "sync {failing_sync} failed");
    }
}

/// A checkpoint whose sync fails reports it.
#[test]
fn a_checkpoint_tells_of_every_failed_sync() {
    for failing_sync in 0..3 {
        let options = Options { synchronous: Synchronous::Normal, ..small_options() };
        let files = new_disk(0);
        let store = open(&files, &options).unwrap();
        put(&store, 1, "one").unwrap();
        files.inject(Fault::next(Operation::Sync, FaultKind::Eio).after(failing_sync));
        assert!(store.checkpoint().is_err(), "sync {failing_sync}");
        assert!(matches!(store.begin(), Err(Error::Poisoned { .. })), "sync {failing_sync}");
    }
}

/// Two transactions were lost in a power failure, but the second one's bytes had reached the disk.
/// If the next process repeats the first one, to the byte, the second must not reappear after it.
#[test]
fn a_transaction_that_was_lost_does_not_come_back_after_one_done_again() {
    assert_eq!(rows_after_doing_one_again(&small_options()), 2, "one was there, one done again");
}

/// The number of rows at the end.
pub(crate) fn rows_after_doing_one_again(options: &Options) -> usize {
    let options = Options { synchronous: Synchronous::Normal, ..options.clone() };
    let files = new_disk(0);
    let store = open(&files, &options).unwrap();
    put(&store, 1, "first").unwrap();
    drop(store);
    let before = log_of(&files);
    let store = open(&files, &options).unwrap();
    put(&store, 2, "again").unwrap();
    let between = log_of(&files);
    put(&store, 3, "lost").unwrap();
    drop(store);
    let mut log = log_of(&files);
    let is_of_the_first = |at: &usize| between[*at] != before[*at];
    let from = (0..log.len()).find(is_of_the_first).unwrap();
    let to = (0..log.len()).rfind(is_of_the_first).unwrap() + 1;
    log[from..to].copy_from_slice(&before[from..to]);
    files.write(LOG, &log).unwrap();
    let store = open(&files, &options).unwrap();
    assert_eq!(read_all(&store).unwrap()[THINGS].len(), 1, "both are lost");
    put(&store, 2, "again").unwrap();
    drop(store);
    let store = open(&files, &options).unwrap();
    read_all(&store).unwrap()[THINGS].len()
}

/// A node refers to an impossible page: no prefetch hint is sent before the error.
#[test]
fn a_child_that_does_not_exist_is_not_fetched_ahead() {
    let disk = new_disk(0);
    let store = open(&disk, &small_options()).unwrap();
    (0..200).for_each(|key| put(&store, key, &"name ".repeat(40)).unwrap());
    assert!(store.checkpoint().unwrap());
    drop(store);
    let mut files = Files::of(&disk);
    let is_inner = |page: &usize| {
        let start = START + (page - 1) * PAGE_SIZE;
        files.data[start + 20..start + 22] == [1, 1]
    };
    let inner = (1..=files.page_count()).find(is_inner).expect("the tree has two levels");
    let page = START + (inner - 1) * PAGE_SIZE;
    let slot = u32::from_le_bytes(files.data[page + 40..][..4].try_into().unwrap()) % (1 << 24);
    let end = page + (slot % 8192 + slot / 8192) as usize;
    files.data[end - 4..end].fill(0xff);
    files.seal_page(inner);
    let forged = new_disk(1);
    files.write_to(&forged);
    let store = open(&forged, &small_options()).unwrap();
    assert!(matches!(read_rows(&store.snapshot()), Err(Error::CorruptedPage { .. })));
}

fn log_of(files: &MemoryFileSystem) -> Vec<u8> {
    let mut log = files.read(LOG).unwrap();
    log.resize(1 << 20, 0);
    log
}

/// After a long transaction the log kept its size, even after closing.
#[test]
fn the_log_of_a_closed_store_takes_no_space() {
    let files = new_disk(0);
    let options = Options { checkpoint_size: 2 << 10, ..small_options() };
    let store = open(&files, &options).unwrap();
    let size = |files: &MemoryFileSystem| files.stat(Path::new(LOG)).unwrap().size;
    let mut transaction = store.begin().unwrap();
    let table = create_things(&mut transaction).unwrap();
    for key in 0..2000 {
        transaction.insert(&table, &borrowed(&small_row(key, "many"))).unwrap();
    }
    transaction.commit().unwrap();
    assert_eq!(size(&files), START as u64 + 16 * options.checkpoint_size, "a part is kept");
    put(&store, 1, "later").unwrap();
    let snapshot = store.snapshot();
    put(&store, 1, "last").unwrap();
    assert!(!store.clone().close().unwrap(), "somebody reads");
    drop(snapshot);
    assert!(store.close().unwrap());
    assert_eq!(size(&files), START as u64);
    let files = files.crash(CrashPlan::lose_everything());
    let store = open(&files, &small_options()).unwrap();
    assert_eq!(name_of(&store, 1).unwrap().as_deref(), Some("last"));
    put(&store, 1, "after that").unwrap();
    assert_eq!(name_of(&store, 1).unwrap().as_deref(), Some("after that"));
}

/// The log of a closed store has no records, and yet it belongs to a data file.
#[test]
fn a_data_file_that_is_gone_is_missed_by_an_empty_log() {
    let files = new_disk(0);
    let store = open(&files, &small_options()).unwrap();
    put(&store, 1, "kept").unwrap();
    assert!(store.close().unwrap());
    files.remove_file(Path::new(DATA)).unwrap();
    let error = open(&files, &small_options()).unwrap_err();
    assert!(error.to_string().contains("is missing"), "{error}");
}
