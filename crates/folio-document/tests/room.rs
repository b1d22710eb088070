//! A full disk: writes that do not fit are rejected, and their partial files are removed, because
//! they may be what fills the disk.

#![allow(clippy::unwrap_used)] // a test that panics has failed

use std::path::Path;
use std::sync::Arc;

use folio_document::{Collection, CollectionOptions, Durability, Layout, Scan, rename_collection};
use folio_file::{Fault, FaultKind, FileSystem, MemoryFileSystem, Operation, WriterLock};
use folio_types::ErrorCode;
use serde_json::json;

const META: &str = "/db/collections/docs/meta";

fn open(files: &MemoryFileSystem) -> Collection {
    let files: Arc<dyn FileSystem> = Arc::new(files.clone());
    let lock = Arc::new(WriterLock::new(Arc::clone(&files), Path::new("/db/folio.lock").into()));
    let options = CollectionOptions::default();
    Collection::open(files, Path::new("/db"), "docs", &options, lock).unwrap()
}

fn used(files: &MemoryFileSystem) -> u64 {
    files.paths().iter().map(|path| files.read(path).unwrap().len() as u64).sum()
}

fn leftovers(files: &MemoryFileSystem) -> Vec<String> {
    let names = files.paths().into_iter().map(|path| path.display().to_string());
    names.filter(|name| name.ends_with(".new") || name.ends_with(".tmp")).collect()
}

/// Stores five documents of 2 MB, `times` times.
fn fill(files: &MemoryFileSystem, times: usize) -> Collection {
    let docs = open(files);
    for time in 0..times {
        let mut batch = docs.batch().unwrap();
        for id in ["a", "b", "c", "d", "e"] {
            batch.put(id, &json!({"time": time, "filler": "w".repeat(2_000_000)})).unwrap();
        }
        batch.commit().unwrap();
    }
    docs
}

#[test]
fn a_compaction_without_room_leaves_everything_as_it_was_and_nothing_else() {
    let files = MemoryFileSystem::new();
    let docs = fill(&files, 1);
    docs.delete("a").unwrap();
    docs.flush().unwrap();
    let data = files.read(Path::new(META).join("data.jsonl"));
    for room in [0, 100, 1_000_000, 7_900_000] {
        files.set_capacity(Some(used(&files) + room));
        let error = docs.compact(&mut |_, _| true).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Io);
        assert!(error.to_string().contains("data.jsonl.new"), "{error}");
        assert!(error.to_string().ends_with("free some space, then try again"), "{error}");
        assert_eq!(leftovers(&files), [""; 0], "{room}");
        assert_eq!(files.read(Path::new(META).join("data.jsonl")), data);
        assert_eq!(docs.count().unwrap(), 4);
    }
    files.set_capacity(None);
    assert!(docs.compact(&mut |_, _| true).is_ok(), "usable again when there is room");
}

#[test]
fn a_flush_succeeds_though_there_is_no_room_to_compact() {
    let files = MemoryFileSystem::new();
    let docs = fill(&files, 1);
    docs.flush().unwrap();
    files.set_capacity(Some(used(&files) + 2_200_000));
    for id in ["a", "b", "c", "d", "e"] {
        docs.delete(id).unwrap();
    }
    docs.put("kept", &json!({"filler": "w".repeat(1_000_000)})).unwrap();
    files.set_capacity(Some(used(&files) + 1_100_000));
    docs.flush().unwrap();
    let notices = docs.take_notices();
    assert!(notices.iter().any(|notice| notice.0.contains("half of it is dead")), "{notices:?}");
    assert_eq!(leftovers(&files), [""; 0]);
    drop(docs);
    let docs = open(&files);
    let ids: Vec<String> = docs.ids().unwrap().map(Result::unwrap).collect();
    assert_eq!(ids, ["kept"]);
    files.set_capacity(None);
    docs.put("more", &json!({})).unwrap();
    docs.flush().unwrap();
    assert!(used(&files) < 2_000_000, "compacted, now that there is room");
}

#[test]
fn a_killed_batch_does_not_keep_a_full_disk_full() {
    let files = MemoryFileSystem::new();
    let docs = fill(&files, 1);
    docs.flush().unwrap();
    let whole = files.read(Path::new(META).join("data.jsonl")).unwrap();
    let mut batch = docs.batch().unwrap();
    for number in 0..20 {
        batch.put(&format!("n{number}"), &json!({"filler": "w".repeat(2_000_000)})).unwrap();
    }
    let files = files.kill();
    let size = files.read(Path::new(META).join("data.jsonl")).unwrap().len();
    assert!(size > whole.len() + 4_000_000, "{size}");
    files.set_capacity(Some(used(&files) + 1_000));
    let docs = open(&files);
    docs.put("f", &json!({})).unwrap();
    docs.flush().unwrap();
    let notices = docs.take_notices();
    assert!(notices.iter().any(|notice| notice.0.ends_with("the disk is full")), "{notices:?}");
    let data = files.read(Path::new(META).join("data.jsonl")).unwrap();
    assert_eq!(
        (&data[..whole.len()], &data[whole.len()..]),
        (&whole[..], &b"{\"_id\":\"f\"}\n"[..])
    );
}

fn open_with(files: &MemoryFileSystem, durability: Durability, layout: Layout) -> Collection {
    let files: Arc<dyn FileSystem> = Arc::new(files.clone());
    let lock = Arc::new(WriterLock::new(Arc::clone(&files), Path::new("/db/folio.lock").into()));
    let options = CollectionOptions { durability, layout, ..CollectionOptions::default() };
    Collection::open(files, Path::new("/db"), "docs", &options, lock).unwrap()
}

fn state(docs: &Collection) -> Vec<String> {
    let all = docs.scan(Scan::new()).unwrap();
    all.map(|document| document.unwrap().to_value().unwrap().to_string()).collect()
}

/// What failed has not happened: not in memory, and not later, when there is room again.
#[test]
fn a_put_without_room_is_not_applied_later() {
    for layout in [Layout::Lines, Layout::Files] {
        let files = MemoryFileSystem::new();
        let docs = open_with(&files, Durability::EveryPut, layout);
        docs.put("a", &json!({ "n": 1 })).unwrap();
        files.set_capacity(Some(0));
        let is_full = |error: folio_document::Error| {
            let text = error.to_string();
            assert!(text.ends_with("free some space, then try again"), "{layout:?}: {text}");
        };
        is_full(docs.put("b", &json!({})).unwrap_err());
        is_full(docs.patch("a", &json!({ "n": 2 })).unwrap_err());
        std::thread::scope(|scope| {
            for id in ["c", "d", "e"] {
                let docs = &docs;
                scope.spawn(move || is_full(docs.put(id, &json!({})).unwrap_err()));
            }
        });
        let before = [json!({ "_id": "a", "n": 1 }).to_string()];
        assert_eq!(state(&docs), before, "{layout:?}");
        files.set_capacity(None);
        docs.put("f", &json!({})).unwrap();
        let after = [before[0].clone(), json!({ "_id": "f" }).to_string()];
        assert_eq!((state(&docs), docs.count().unwrap()), (after.to_vec(), 2), "{layout:?}");
        docs.close().unwrap();
        drop(docs);
        assert_eq!(state(&open_with(&files, Durability::EveryPut, layout)), after, "{layout:?}");
    }
}

/// The line is durable, so the put has happened: the index follows when there is room again.
#[test]
fn a_put_without_room_for_its_index_is_stored() {
    let files = MemoryFileSystem::new();
    let docs = open_with(&files, Durability::EveryPut, Layout::Lines);
    docs.put("a", &json!({})).unwrap();
    files.inject(Fault::next(Operation::Write, FaultKind::Enospc).sticky());
    docs.put("b", &json!({})).unwrap();
    assert_eq!(docs.count().unwrap(), 2);
    docs.flush().unwrap_err();
    files.clear_faults();
    docs.close().unwrap();
    assert_eq!(open(&files).count().unwrap(), 2);
}

/// Puts that wait for a flush fill the memory. The one that then finds no room is taken back, those
/// before it stay.
#[test]
fn a_put_that_fills_the_memory_without_room_is_taken_back() {
    let files = MemoryFileSystem::new();
    let docs = open(&files);
    docs.put("a", &json!({})).unwrap();
    docs.flush().unwrap();
    files.set_capacity(Some(0));
    let large = json!({ "text": "x".repeat(300_000) });
    let failed = (0..10).find(|n| docs.put(&format!("d{n}"), &large).is_err()).unwrap();
    assert!(failed > 0);
    let name = format!("d{failed}");
    assert_eq!(docs.count().unwrap(), failed + 1);
    assert!(docs.get(&name).unwrap().is_none());
    files.set_capacity(None);
    docs.close().unwrap();
    let docs = open(&files);
    assert_eq!(docs.count().unwrap(), failed + 1);
    assert!(docs.get(&name).unwrap().is_none());
}

#[test]
fn a_rename_without_room_leaves_the_name() {
    let files = MemoryFileSystem::new();
    let docs = open(&files);
    docs.put("a", &json!({})).unwrap();
    docs.close().unwrap();
    drop(docs);
    let rename = || rename_collection(&files, Path::new("/db"), "docs", "people");
    let manifest = |name: &str| {
        let text = files.read(format!("/db/collections/{name}/meta/manifest.json")).unwrap();
        String::from_utf8(text).unwrap()
    };
    files.set_capacity(Some(0));
    let error = rename().unwrap_err().to_string();
    assert!(error.contains("manifest.json"), "{error}");
    assert!(manifest("docs").contains("\"docs\""));
    files.set_capacity(None);
    files.inject(Fault::next(Operation::Rename, FaultKind::Eio).after(1));
    rename().unwrap_err();
    assert!(manifest("docs").contains("\"docs\""), "it is put back");
    rename().unwrap();
    assert!(manifest("people").contains("\"people\""));
    assert!(files.read("/db/collections/docs/meta/data.jsonl").is_none());
    assert!(files.read("/db/collections/people/meta/data.jsonl").is_some());
}
