//! A full disk: writes that do not fit are rejected, and their partial files are removed, because
//! they may be what fills the disk.

#![allow(clippy::unwrap_used)] // a test that panics has failed

use std::path::Path;
use std::sync::Arc;

use folio_document::{Collection, CollectionOptions};
use folio_file::{FileSystem, MemoryFileSystem, WriterLock};
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
