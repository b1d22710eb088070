//! A flush reaches the device, as far as its calls show.

#![allow(clippy::unwrap_used)] // a test that panics has failed

use std::path::Path;
use std::sync::Arc;

use folio::{CollectionOptions, Database, Durability, Layout, OpenOptions, Put};
use folio_file::{CrashPlan, Fault, FaultKind, MemoryFileSystem, Operation};
use serde_json::json;

fn open(files: &MemoryFileSystem, durability: Durability, layout: Layout) -> Database {
    let file_system = Some(Arc::new(files.clone()) as Arc<dyn folio_file::FileSystem>);
    let options = OpenOptions { durability, file_system, ..OpenOptions::default() };
    let database = Database::open_with("/data", &options).unwrap();
    let options = CollectionOptions { layout, ..CollectionOptions::default() };
    database.collection_with("docs", &options).unwrap();
    database
}

/// The syncs of one call, by file name.
fn syncs_of(files: &MemoryFileSystem, call: impl FnOnce()) -> Vec<String> {
    let before = files.syncs().len();
    call();
    let name = |path: &std::path::PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    files.syncs()[before..].iter().map(name).collect()
}

#[test]
fn a_flush_syncs_the_data_and_the_first_one_every_name_on_the_way() {
    let files = MemoryFileSystem::new();
    let database = open(&files, Durability::OnFlush, Layout::Lines);
    let docs = database.collection("docs").unwrap();
    docs.put("a", &json!({})).unwrap();
    let first = syncs_of(&files, || docs.flush().unwrap());
    for name in ["data.jsonl", "meta", "docs", "collections", "data"] {
        assert!(first.iter().any(|synced| synced == name), "{name} is not in {first:?}");
    }
    let put = syncs_of(&files, || assert_eq!(docs.put("b", &json!({})).unwrap(), Put::Inserted));
    assert!(put.is_empty(), "a put waits for the flush, but synced {put:?}");
    assert_eq!(syncs_of(&files, || docs.flush().unwrap()), ["data.jsonl"]);
    assert!(syncs_of(&files, || docs.flush().unwrap()).is_empty(), "there was nothing to sync");
}

#[test]
fn every_put_syncs_every_put_and_none_never_does() {
    let files = MemoryFileSystem::new();
    let database = open(&files, Durability::EveryPut, Layout::Lines);
    let docs = database.collection("docs").unwrap();
    docs.put("a", &json!({})).unwrap();
    for id in ["b", "c"] {
        let put = syncs_of(&files, || assert_eq!(docs.put(id, &json!({})).unwrap(), Put::Inserted));
        assert_eq!(put, ["data.jsonl"]);
    }
    assert_eq!(syncs_of(&files, || assert!(docs.delete("b").unwrap())), ["data.jsonl"]);

    let files = MemoryFileSystem::new();
    let database = open(&files, Durability::None, Layout::Lines);
    let docs = database.collection("docs").unwrap();
    docs.put("a", &json!({})).unwrap();
    docs.flush().unwrap();
    let syncs = files.syncs();
    assert!(!syncs.iter().any(|path| path.ends_with("data.jsonl")), "{syncs:?}");
}

#[test]
fn what_was_flushed_survives_a_power_cut_and_close_flushes() {
    for layout in [Layout::Lines, Layout::Files] {
        let files = MemoryFileSystem::new();
        let database = open(&files, Durability::OnFlush, layout);
        let docs = database.collection("docs").unwrap();
        docs.put("a", &json!({"n": 1})).unwrap();
        docs.flush().unwrap();
        docs.put("b", &json!({"n": 2})).unwrap();
        assert_present(&files.crash(CrashPlan::lose_everything()), layout, &["a"]);
        database.close().unwrap();
        assert_present(&files.crash(CrashPlan::lose_everything()), layout, &["a", "b"]);
    }
}

fn assert_present(files: &MemoryFileSystem, layout: Layout, ids: &[&str]) {
    let database = open(files, Durability::OnFlush, layout);
    let docs = database.collection("docs").unwrap();
    for id in ids {
        assert!(docs.get(id).unwrap().is_some(), "{id} was flushed ({layout:?})");
    }
    assert!(files.read(Path::new("/data/folio.json")).is_some());
}

#[test]
fn a_handle_that_was_closed_after_a_failed_sync_holds_no_lock() {
    for layout in [Layout::Lines, Layout::Files] {
        let files = MemoryFileSystem::new();
        let database = open(&files, Durability::OnFlush, layout);
        let docs = database.collection("docs").unwrap();
        docs.put("a", &json!({})).unwrap();
        files.inject(Fault::next(Operation::SyncDirectory, FaultKind::Eio).sticky());
        assert!(database.close().is_err(), "{layout:?}: the sync fails");
        files.clear_faults();
        database.close().unwrap();
        docs.close().unwrap();
        let again = open(&files, Durability::OnFlush, layout);
        let put = again.collection("docs").unwrap().put("b", &json!({}));
        let put = put.unwrap_or_else(|error| panic!("{layout:?}: {error}"));
        assert_eq!(put, Put::Inserted, "{layout:?}: while the old collection lives");
        drop(docs);
    }
}
