//! Puts, gets, deletes, scans and batches.

use std::path::Path;

use folio_file::{DiskFileSystem, Fault, FaultKind, Operation};
use serde_json::json;

use super::*;
use crate::Error;

#[test]
fn a_document_is_a_file_that_people_can_read() {
    let files = MemoryFileSystem::new();
    let store = open(&files);
    assert!(!store.is_created());
    assert_eq!(get(&store, "u1"), None);
    assert_eq!(store.count().unwrap(), 0);
    assert!(files.paths().is_empty(), "reading creates nothing");

    assert_eq!(put(&store, "u1", r#"{"n": 1e2, "t": ["a"]}"#).unwrap(), Put::Inserted);
    assert_eq!(get(&store, "u1").unwrap(), r#"{"_id":"u1","n":1e2,"t":["a"]}"#);
    let file = String::from_utf8(files.read(at("docs/u1.json")).unwrap()).unwrap();
    assert_eq!(file, "{\n  \"_id\": \"u1\",\n  \"n\": 1e2,\n  \"t\": [\"a\"]\n}\n");
    assert_eq!(put(&store, "u1", "{}").unwrap(), Put::Replaced);
    assert_eq!(get(&store, "u1").unwrap(), r#"{"_id":"u1"}"#);
    assert!(store.is_created());

    let manifest = Manifest::load(&files, Path::new(FOLDER)).unwrap();
    assert_eq!(manifest.layout, Some(Layout::Files));
}

#[test]
fn order_is_that_of_insertion_and_an_update_keeps_the_place() {
    let files = MemoryFileSystem::new();
    let store = open(&files);
    for id in ["b", "c", "a", "b"] {
        put(&store, id, "{}").unwrap();
    }
    assert_eq!(ids(&store), ["b", "c", "a"]);
    assert!(store.delete("c").unwrap());
    assert!(!store.delete("c").unwrap());
    put(&store, "c", "{}").unwrap();
    assert_eq!(ids(&store), ["b", "a", "c"]);
    assert_eq!(scan(&store), [r#"{"_id":"b"}"#, r#"{"_id":"a"}"#, r#"{"_id":"c"}"#]);

    // Another handle sees the same order, before the list is rewritten and after.
    assert_eq!(ids(&open_to_read(&files)), ["b", "a", "c"]);
    store.flush().unwrap();
    assert_eq!(ids(&open_to_read(&files)), ["b", "a", "c"]);
    assert_eq!(files.read(at("meta/order.ids")).unwrap(), b"b\na\nc\n");
}

#[test]
fn deleting_all_and_reopening_is_empty() {
    let files = MemoryFileSystem::new();
    let store = open(&files);
    for id in ["a", "b"] {
        put(&store, id, "{}").unwrap();
        store.delete(id).unwrap();
    }
    drop(store);
    let store = open(&files);
    assert_eq!((store.count().unwrap(), scan(&store).len()), (0, 0));
    assert_eq!(files.read(at("meta/order.ids")).unwrap(), b"");
}

#[test]
fn an_id_that_makes_too_long_a_name_is_refused() {
    let files = MemoryFileSystem::new();
    let store = open(&files);
    let longest = "x".repeat(250);
    put(&store, &longest, "{}").unwrap();
    assert!(get(&store, &longest).is_some());
    let error = put(&store, &"x".repeat(251), "{}").unwrap_err();
    assert!(error.to_string().contains("250"), "{error}");
    assert_eq!(get(&store, &"x".repeat(255)), None);
    assert!(!store.delete(&"x".repeat(255)).unwrap());
    assert!(commit(&store, &[(&"x".repeat(251), Some("{}"))]).is_err());

    // The disk limits names to 255 bytes; the memory file system does not.
    let folder = tempfile::tempdir().unwrap();
    let lock = Arc::new(WriterLock::new(Arc::new(DiskFileSystem), folder.path().join("lock")));
    let store = FileStore::open(
        Arc::new(DiskFileSystem),
        FilePaths::new(folder.path(), "c"),
        "c",
        &CollectionOptions::default(),
        lock,
        Manifest::fallback(),
    )
    .unwrap();
    put(&store, &longest, "{}").unwrap();
    assert_eq!(get(&store, &"x".repeat(255)), None);
    assert!(!store.delete(&"x".repeat(255)).unwrap());
}

#[test]
fn an_update_sees_the_document_and_writes_another() {
    let files = MemoryFileSystem::new();
    let store = open(&files);
    put(&store, "a", r#"{"n":1}"#).unwrap();
    let updated = store.update("a", |line| {
        assert_eq!(line, br#"{"_id":"a","n":1}"#);
        Ok(br#"{"_id":"a","n":2}"#.to_vec())
    });
    assert_eq!(updated.unwrap().as_deref(), Some(&br#"{"_id":"a","n":2}"#[..]));
    assert_eq!(get(&store, "a").unwrap(), r#"{"_id":"a","n":2}"#);
    assert!(store.update("none", |_| unreachable!()).unwrap().is_none());
    assert!(store.update("a", |_| Err(Error::NoId)).is_err());
    assert_eq!(get(&store, "a").unwrap(), r#"{"_id":"a","n":2}"#);
}

#[test]
fn a_batch_is_seen_as_a_whole_and_counted() {
    let files = MemoryFileSystem::new();
    let store = open(&files);
    put(&store, "a", "{}").unwrap();
    put(&store, "b", "{}").unwrap();
    let mut batch = FileBatch::begin(&store).unwrap();
    let changes: [BatchChange<'_>; 7] = [
        ("a", Some(r#"{"n":1}"#)),
        ("new", Some("{}")),
        ("new", Some(r#"{"n":2}"#)),
        ("b", None),
        ("b", None),
        ("gone", Some("{}")),
        ("gone", None),
    ];
    for change in changes {
        push(&mut batch, change).unwrap();
    }
    assert!(batch.exists("new").unwrap() && !batch.exists("b").unwrap());
    assert!(!batch.exists("gone").unwrap() && !batch.exists("never").unwrap());
    assert!(batch.size() > 0);
    // The batch is not visible yet, and this thread cannot write during it.
    assert_eq!(scan(&store), [r#"{"_id":"a"}"#, r#"{"_id":"b"}"#]);
    assert!(matches!(put(&store, "c", "{}"), Err(Error::Invalid(_))));
    let counts = batch.commit().unwrap();
    // Each id counts once, and "gone" does not count.
    assert_eq!((counts.inserted, counts.replaced, counts.deleted), (1, 1, 1));

    let expected = [r#"{"_id":"a","n":1}"#, r#"{"_id":"new","n":2}"#];
    assert_eq!(scan(&store), expected);
    assert_eq!(scan(&open_to_read(&files)), expected);
    assert_eq!(store.count().unwrap(), 2);
    assert!(files.read(at("meta/folio.batch.jsonl")).is_none(), "the log is gone");
    assert_eq!(files.read(at("meta/order.ids")).unwrap(), b"a\nnew\n");
}

#[test]
fn a_dropped_batch_was_never_there() {
    let files = MemoryFileSystem::new();
    let store = open(&files);
    put(&store, "a", "{}").unwrap();
    store.flush().unwrap();
    let before: Vec<_> = files.paths();
    let mut batch = FileBatch::begin(&store).unwrap();
    push(&mut batch, ("b", Some("{}"))).unwrap();
    drop(batch);
    assert_eq!(files.paths(), before);
    assert_eq!(ids(&store), ["a"]);
    commit(&store, &[]).unwrap();
    assert_eq!(files.paths(), before);
    // The lock was released.
    put(&open(&files), "c", "{}").unwrap();
}

#[test]
fn a_batch_that_cannot_be_written_leaves_nothing() {
    let files = MemoryFileSystem::new();
    let store = open(&files);
    put(&store, "a", "{}").unwrap();
    store.flush().unwrap();
    files.inject(Fault::next(Operation::Write, FaultKind::Enospc).on("batch"));
    assert!(matches!(commit(&store, &[("b", Some("{}"))]), Err(Error::Io { .. })));
    assert_eq!(ids(&store), ["a"]);
    commit(&store, &[("b", Some("{}"))]).unwrap();
    assert_eq!(ids(&store), ["a", "b"]);
}

#[test]
fn a_batch_that_was_refused_does_not_come_back() {
    let files = new_disk();
    let store = open(&files);
    put(&store, "a", r#"{"n":1}"#).unwrap();
    store.flush().unwrap();
    // All of the last line is written, and the call still fails.
    let short = FaultKind::ShortWrite { bytes: 4096 };
    files.inject(Fault::next(Operation::Write, short).on("batch").after(1));
    assert!(commit(&store, &[("a", Some(r#"{"n":2}"#))]).is_err());
    put(&store, "a", r#"{"n":3}"#).unwrap();
    store.flush().unwrap();
    for seed in 0..200 {
        let crashed = files.crash(folio_file::CrashPlan::new(seed));
        assert_eq!(get(&open_to_read(&crashed), "a").unwrap(), r#"{"_id":"a","n":3}"#, "{seed}");
    }
}

#[test]
fn a_batch_that_counts_is_finished_by_the_next_write() {
    let files = MemoryFileSystem::new();
    let store = open(&files);
    put(&store, "a", "{}").unwrap();
    put(&store, "d", "{}").unwrap();
    store.flush().unwrap();
    files.inject(Fault::next(Operation::Rename, FaultKind::Enospc).on("docs").after(1).sticky());
    commit(&store, &[("a", Some(r#"{"n":1}"#)), ("b", Some("{}")), ("d", None)]).unwrap();
    assert_eq!(store.handle.take_notices().len(), 1);
    let whole = [r#"{"_id":"a","n":1}"#, r#"{"_id":"b"}"#];
    assert_eq!(scan(&store), whole);
    assert_eq!(scan(&open_to_read(&files)), whole);
    assert!(put(&store, "c", "{}").is_err(), "the disk is still full");
    assert!(FileBatch::begin(&store).is_err());

    files.clear_faults();
    put(&store, "c", "{}").unwrap();
    assert_eq!(ids(&store), ["a", "b", "c"]);
    assert!(files.read(at("meta/folio.batch.jsonl")).is_none());
    assert_eq!(ids(&open_to_read(&files)), ["a", "b", "c"]);
}

#[test]
fn an_import_keeps_its_position() {
    let files = MemoryFileSystem::new();
    let store = open(&files);
    assert_eq!(store.import_position(7).unwrap(), None);
    for position in [100, u64::MAX] {
        let mut batch = FileBatch::begin(&store).unwrap();
        push(&mut batch, ("a", Some("{}"))).unwrap();
        batch.set_import_position(7, position);
        batch.commit().unwrap();
        let reader = open_to_read(&files);
        assert_eq!(reader.import_position(7).unwrap(), Some(position));
        assert_eq!(reader.import_position(8).unwrap(), None);
    }
}

#[test]
fn after_a_failed_sync_reads_go_on_and_writes_are_refused() {
    for path in ["docs", "order.ids", "batch"] {
        let files = MemoryFileSystem::new();
        let store = open_with(&files, &options(Durability::EveryPut)).unwrap();
        put(&store, "a", "{}").unwrap();
        for operation in [Operation::Sync, Operation::SyncDirectory] {
            files.inject(Fault::next(operation, FaultKind::Eio).on(path));
        }
        let failed = match path {
            "batch" => commit(&store, &[("b", Some("{}"))]).map(drop),
            _ => put(&store, "b", "{}").map(drop),
        };
        assert!(matches!(failed, Err(Error::Io { .. })), "{path}: {failed:?}");
        files.clear_faults();
        assert!(matches!(put(&store, "c", "{}"), Err(Error::Poisoned { .. })), "{path}");
        assert!(matches!(store.delete("a"), Err(Error::Poisoned { .. })));
        assert!(matches!(store.flush(), Err(Error::Poisoned { .. })));
        assert_eq!(get(&store, "a").unwrap(), r#"{"_id":"a"}"#);
        drop(store);
        put(&open(&files), "c", "{}").unwrap();
    }
}

#[test]
fn a_reader_writes_nothing_and_follows_by_refreshing() {
    let files = MemoryFileSystem::new();
    let writer = open(&files);
    put(&writer, "a", "{}").unwrap();
    files.set_read_only(true);
    let reader = open_to_read(&files);
    assert_eq!(ids(&reader), ["a"]);
    assert!(matches!(put(&reader, "b", "{}"), Err(Error::ReadOnly { .. })));
    assert!(matches!(reader.delete("a"), Err(Error::ReadOnly { .. })));
    assert!(matches!(FileBatch::begin(&reader), Err(Error::ReadOnly { .. })));
    files.set_read_only(false);
    put(&writer, "b", "{}").unwrap();
    assert_eq!(ids(&reader), ["a"]);
    reader.refresh().unwrap();
    assert_eq!(ids(&reader), ["a", "b"]);
    reader.close().unwrap();
    assert!(matches!(reader.count(), Err(Error::Closed { .. })));
}

#[test]
fn one_process_writes_at_a_time() {
    let files = MemoryFileSystem::new();
    let (first, second) = (open(&files), open(&files));
    put(&first, "a", "{}").unwrap();
    assert!(matches!(put(&second, "b", "{}"), Err(Error::Locked { .. })));
    first.flush().unwrap();
    put(&second, "b", "{}").unwrap();
    assert!(matches!(put(&first, "c", "{}"), Err(Error::Locked { .. })));
    second.close().unwrap();
    put(&first, "c", "{}").unwrap();
    assert_eq!(ids(&first), ["a", "b", "c"]);
}

#[test]
fn another_thread_waits_for_a_batch_to_end() {
    let files = MemoryFileSystem::new();
    let store = open(&files);
    let mut batch = FileBatch::begin(&store).unwrap();
    push(&mut batch, ("a", Some("{}"))).unwrap();
    std::thread::scope(|scope| {
        let other = scope.spawn(|| put(&store, "b", "{}").unwrap());
        batch.commit().unwrap();
        assert_eq!(other.join().unwrap(), Put::Inserted);
    });
    assert_eq!(ids(&store), ["a", "b"]);
}

#[test]
fn what_a_flush_promises_survives_losing_everything_else() {
    for durability in [Durability::OnFlush, Durability::EveryPut] {
        let files = new_disk();
        let store = open_with(&files, &options(durability)).unwrap();
        for id in ["b", "a", "gone"] {
            put(&store, id, "{}").unwrap();
        }
        store.delete("gone").unwrap();
        store.set_schema(json!({"type": "object"})).unwrap();
        if durability == Durability::OnFlush {
            store.flush().unwrap();
        }
        let crashed = files.crash(folio_file::CrashPlan::lose_everything());
        let store = open_to_read(&crashed);
        assert_eq!(ids(&store), ["b", "a"], "{durability:?}");
        assert!(Manifest::load(&crashed, Path::new(FOLDER)).unwrap().strict);
    }
}

#[test]
fn a_flush_makes_durable_what_it_stands_on() {
    let files = new_disk();
    let first = open(&files);
    put(&first, "a", "{}").unwrap();
    let files = files.kill(); // before its flush
    let second = open(&files);
    put(&second, "b", "{}").unwrap();
    second.flush().unwrap();
    let crashed = files.crash(folio_file::CrashPlan::lose_everything());
    assert_eq!(get(&open_to_read(&crashed), "b").unwrap(), r#"{"_id":"b"}"#);
}

#[test]
fn without_durability_only_the_manifest_is_synced() {
    let files = MemoryFileSystem::new();
    let store = open_with(&files, &options(Durability::None)).unwrap();
    put(&store, "a", "{}").unwrap();
    store.delete("a").unwrap();
    commit(&store, &[("b", Some("{}")), ("c", Some("{}"))]).unwrap();
    store.flush().unwrap();
    assert_eq!(files.syncs(), [at("meta/manifest.json.tmp"), at("meta")]);
    assert_eq!(ids(&open_to_read(&files)), ["b", "c"]);
}

#[test]
fn sizes_and_tidying() {
    let files = MemoryFileSystem::new();
    let store = open(&files);
    put(&store, "a", "{}").unwrap();
    put(&store, "b", "{}").unwrap();
    store.delete("a").unwrap();
    let stats = store.stats().unwrap();
    assert_eq!((stats.document_count, stats.data_size, stats.index_size), (1, 17, 4));
    let report = store.compact(&mut |_, _| true).unwrap();
    assert_eq!((report.document_count, report.size_after), (1, 17));
    assert_eq!(store.stats().unwrap().index_size, 2);
    store.reindex(&mut |_, _| true).unwrap();
    assert!(matches!(store.reindex(&mut |_, _| false), Err(Error::Cancelled)));
}
