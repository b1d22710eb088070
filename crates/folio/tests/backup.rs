//! A backup is a valid database, whatever happens during the copy.

#![allow(clippy::unwrap_used)] // a test that panics has failed

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use folio::{Database, ErrorCode, OpenOptions, Scan};
use folio_file::MemoryFileSystem;
use serde_json::json;

fn in_memory(files: &MemoryFileSystem, path: &str) -> Database {
    let options =
        OpenOptions { file_system: Some(Arc::new(files.clone())), ..OpenOptions::default() };
    Database::open_with(path, &options).unwrap()
}

#[test]
fn everything_that_is_truth_is_copied() {
    let files = MemoryFileSystem::new();
    let database = in_memory(&files, "/data");
    for name in ["a", "b"] {
        let collection = database.collection(name).unwrap();
        collection.put("x", &json!({"n": 1})).unwrap();
        collection.put("x", &json!({"n": 2})).unwrap();
    }
    files.write("/data/zds.json", b"{}").unwrap();
    files.write("/data/collections/a/meta/rejected-1.jsonl", b"bad\n").unwrap();
    files.write("/data/collections/a/meta/index.bin", b"of the original").unwrap();
    let mut reported = Vec::new();
    let report = database.backup("/copy", &mut |done, total| {
        reported.push((done, total));
        true
    });
    let report = report.unwrap();
    assert_eq!(reported.last(), Some(&(report.size, report.size)));
    for path in [
        "folio.json",
        "zds.json",
        "collections/a/meta/data.jsonl",
        "collections/a/meta/manifest.json",
        "collections/a/meta/rejected-1.jsonl",
        "collections/b/meta/data.jsonl",
    ] {
        let (from, to) = (format!("/data/{path}"), format!("/copy/{path}"));
        assert_eq!(files.read(from), files.read(to), "{path}");
    }
    assert!(files.read("/copy/collections/a/meta/index.bin").is_none());
    let copy = in_memory(&files, "/copy");
    let a = copy.collection("a").unwrap();
    assert_eq!(a.get("x").unwrap().unwrap().raw(), r#"{"_id":"x","n":2}"#);
    assert!(a.take_notices().is_empty(), "its index is its own");
    assert!(a.check(&mut |_, _| true).unwrap().is_clean());
}

#[test]
fn a_copy_made_while_a_writer_goes_on_is_a_state_that_was() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("data");
    let database = Database::open(&path).unwrap();
    let collection = database.collection("t").unwrap();
    collection.put("d0", &json!({"n": 0})).unwrap();
    database.flush().unwrap();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut count = 1;
            while !is_over.load(Ordering::Relaxed) {
                // Batches of ten, replaced lines, and compactions in between.
                let mut batch = collection.batch().unwrap();
                for n in count..count + 10 {
                    batch.put(&format!("d{n}"), &json!({"n": n})).unwrap();
                    batch.put("last", &json!({"n": n})).unwrap();
                }
                batch.commit().unwrap();
                count += 10;
                if count % 100 == 1 {
                    collection.compact(&mut |_, _| true).unwrap();
                }
            }
        });
        let reader = Database::open_with(&path, &OpenOptions::read_only()).unwrap();
        for round in 0..20 {
            let target = folder.path().join(format!("copy{round}"));
            reader.backup(&target, &mut |_, _| true).unwrap();
            let copy = Database::open_with(&target, &OpenOptions::read_only()).unwrap();
            let copied = copy.collection("t").unwrap();
            assert!(copied.check(&mut |_, _| true).unwrap().is_clean());
            let ids: Vec<String> = copied.ids().unwrap().map(Result::unwrap).collect();
            let plain: Vec<&String> = ids.iter().filter(|id| *id != "last").collect();
            let expected: Vec<String> = (0..plain.len()).map(|n| format!("d{n}")).collect();
            assert_eq!(plain, expected.iter().collect::<Vec<_>>(), "a prefix of what was written");
            assert_eq!(plain.len() % 10, 1, "whole batches");
        }
        is_over.store(true, Ordering::Relaxed);
        writer.join().unwrap();
    });
}

#[test]
fn pending_writes_of_the_same_handle_are_in_the_copy() {
    let files = MemoryFileSystem::new();
    let database = in_memory(&files, "/data");
    database.collection("t").unwrap().put("x", &json!({})).unwrap();
    database.backup("/copy", &mut |_, _| true).unwrap();
    let copy = in_memory(&files, "/copy").collection("t").unwrap();
    assert_eq!(copy.scan(Scan::new()).unwrap().count(), 1);
}

#[test]
fn a_backup_that_cannot_be_leaves_nothing() {
    let files = MemoryFileSystem::new();
    let database = in_memory(&files, "/data");
    database.collection("t").unwrap().put("x", &json!({})).unwrap();
    database.flush().unwrap();
    let code = |result: folio::Result<_>| result.unwrap_err().code();
    assert_eq!(code(database.backup("/copy", &mut |_, _| false)), ErrorCode::Cancelled);
    assert_eq!(code(database.backup("/data/copy", &mut |_, _| true)), ErrorCode::InvalidInput);
    files.set_capacity(Some(600));
    assert_eq!(code(database.backup("/copy", &mut |_, _| true)), ErrorCode::Io);
    files.set_capacity(None);
    assert!(files.paths().iter().all(|path| path.starts_with("/data")), "{:?}", files.paths());
    database.backup("/copy", &mut |_, _| true).unwrap();
    assert_eq!(code(database.backup("/copy", &mut |_, _| true)), ErrorCode::Conflict);
}
