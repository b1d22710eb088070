//! The power fails while a batch of several pieces is written.

#![allow(clippy::unwrap_used)] // a test that panics has failed

use std::path::Path;
use std::sync::Arc;

use folio_document::{Collection, CollectionOptions};
use folio_file::{CrashPlan, FileSystem, MemoryFileSystem, Recording, WriterLock};
use serde_json::json;

fn open(files: &MemoryFileSystem) -> Collection {
    let files: Arc<dyn FileSystem> = Arc::new(files.clone());
    let lock = Arc::new(WriterLock::new(Arc::clone(&files), Path::new("/db/folio.lock").into()));
    let options = CollectionOptions::default();
    Collection::open(files, Path::new("/db"), "docs", &options, lock).unwrap()
}

/// A piece is a megabyte. Its lines may reach the device and what says so may not.
#[test]
fn a_power_cut_shows_all_of_a_batch_of_many_pieces_or_nothing() {
    cut_the_power(&MemoryFileSystem::new());
}

/// The same where nobody says that the power was cut: on other systems than Linux, and
/// of a device that was pulled out and put back.
#[test]
fn a_power_cut_that_is_not_told_of_shows_all_of_a_batch_or_nothing() {
    let files = MemoryFileSystem::new();
    files.hide_epoch();
    cut_the_power(&files);
}

fn cut_the_power(files: &MemoryFileSystem) {
    const LINES: usize = 12;
    files.create_directory(Path::new("/db")).unwrap();
    files.settle();
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
