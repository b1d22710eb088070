//! The power fails while a batch of several pieces is written.

#![allow(clippy::unwrap_used)] // a test that panics has failed

use std::path::Path;
use std::sync::Arc;

use folio_document::{Collection, CollectionOptions};
use folio_file::{
    CrashPlan, Fault, FaultKind, FileSystem, MemoryFileSystem, Operation, Recording, WriterLock,
};
use serde_json::json;

fn open(files: &MemoryFileSystem) -> Collection {
    let files: Arc<dyn FileSystem> = Arc::new(files.clone());
    let lock = Arc::new(WriterLock::new(Arc::clone(&files), Path::new("/db/folio.lock").into()));
    let options = CollectionOptions::default();
    Collection::open(files, Path::new("/db"), "docs", &options, lock).unwrap()
}

/// A piece is a megabyte. Its lines may reach the device when their record does not.
#[test]
fn a_power_cut_shows_all_of_a_batch_of_many_pieces_or_nothing() {
    cut_the_power(&MemoryFileSystem::new());
}

/// The same when the power cut cannot be detected: on systems other than Linux, and for a device
/// that was removed and mounted again.
#[test]
fn a_power_cut_that_is_not_told_of_shows_all_of_a_batch_or_nothing() {
    let files = MemoryFileSystem::new();
    files.hide_epoch();
    cut_the_power(&files);
}

fn cut_the_power(files: &MemoryFileSystem) {
    const LINES: usize = 12;
    files.create_directory(Path::new("/db")).unwrap();
    files.make_durable();
    let docs = open(files);
    docs.put("kept", &json!({})).unwrap();
    docs.flush().unwrap();
    files.record_crash_points(Recording::Changes);
    let mut batch = docs.batch().unwrap();
    for number in 0..LINES {
        batch.put(&number.to_string(), &json!({ "text": "x".repeat(300_000) })).unwrap();
    }
    batch.commit().unwrap();
    let mut whole = 0;
    let points = files.crash_points();
    for (number, point) in points.iter().enumerate() {
        for seed in 0..10 {
            let next = open(&point.image.crash(CrashPlan::new(seed)));
            let count = next.count().unwrap();
            assert!(
                count == 1 || count == 1 + LINES as u64,
                "{count} documents: point {number}, {:?} {:?}, seed {seed}",
                point.operation,
                point.path
            );
            whole += usize::from(count > 1);
        }
    }
    println!("{} states, {whole} with the batch", points.len() * 10);
    assert!(whole > 0 && whole < points.len() * 10, "{whole} of {}", points.len());
}

/// The run of a large batch is written while the record is synced. No head names it if the sync
/// fails.
#[test]
fn a_large_batch_that_does_not_count_leaves_no_run() {
    // With a thread that appends pieces, and without.
    for padding in [0, 400] {
        let files = MemoryFileSystem::new();
        files.create_directory(Path::new("/db")).unwrap();
        let docs = open(&files);
        docs.put("kept", &json!({})).unwrap();
        docs.flush().unwrap();
        let mut batch = docs.batch().unwrap();
        for number in 0..5_000 {
            let text = "x".repeat(padding);
            batch.put(&format!("d{number}"), &json!({ "text": text })).unwrap();
        }
        let failing = Fault::next(Operation::Sync, FaultKind::Eio).sticky();
        files.inject(failing.on("folio.batch"));
        let error = batch.commit().unwrap_err();
        assert!(error.to_string().contains("folio.batch"), "{error}");
        let meta = files.read_directory(Path::new("/db/collections/docs/meta")).unwrap();
        let runs = meta.iter().filter(|entry| entry.name.contains("run-"));
        assert_eq!(runs.count(), 0, "{meta:?}");
        drop(docs);
        files.clear_faults();
        let docs = open(&files);
        // Unacknowledged changes may count or not, but only as a whole.
        let count = docs.count().unwrap();
        assert!(count == 1 || count == 5_001, "{count}");
        assert!(docs.get("kept").unwrap().is_some());
    }
}
