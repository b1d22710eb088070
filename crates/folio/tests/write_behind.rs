//! Puts without a flush: written in the background, and at the end of a process.

#![allow(clippy::unwrap_used)] // a test that panics has failed

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use folio::{CollectionOptions, Database, Layout, OpenOptions};
use serde_json::json;
use tempfile::TempDir;

const DELAY: Duration = Duration::from_millis(20);

fn open(path: &Path, write_behind: Option<Duration>) -> Database {
    Database::open_with(path, &OpenOptions { write_behind, ..OpenOptions::default() }).unwrap()
}

fn lines(path: &Path) -> usize {
    let file = path.join("collections/docs/meta/data.jsonl");
    std::fs::read_to_string(file).map_or(0, |text| text.lines().count())
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(20), "{what}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Whether another process could write.
fn is_unlocked(path: &Path) -> bool {
    let file = std::fs::File::open(path.join("folio.lock")).unwrap();
    let is_free = file.try_lock().is_ok();
    let _ = file.unlock();
    is_free
}

#[test]
fn puts_are_written_and_the_lock_is_given_back_again_and_again() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("data");
    let database = open(&path, Some(DELAY));
    let docs = database.collection("docs").unwrap();
    for round in 1..=3 {
        docs.put(&format!("d{round}"), &json!({"n": round})).unwrap();
        wait_until("the put is written", || lines(&path) == round);
        wait_until("others may write", || is_unlocked(&path));
    }
    docs.delete("d1").unwrap();
    wait_until("the delete is written", || lines(&path) == 4);
    assert_eq!(docs.count().unwrap(), 2);
}

#[test]
fn without_it_puts_wait_for_a_flush_or_the_end() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("data");
    let database = open(&path, None);
    let docs = database.collection("docs").unwrap();
    docs.put("a", &json!({})).unwrap();
    thread::sleep(5 * DELAY);
    assert_eq!(lines(&path), 0);
    folio::flush_all().unwrap();
    assert_eq!(lines(&path), 1);
}

#[test]
fn a_batch_that_is_open_is_left_alone() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("data");
    let database = open(&path, Some(DELAY));
    let docs = database.collection("docs").unwrap();
    docs.put("a", &json!({})).unwrap();
    let mut batch = docs.batch().unwrap();
    batch.put("b", &json!({})).unwrap();
    thread::sleep(5 * DELAY);
    folio::flush_all().unwrap();
    assert_eq!(lines(&path), 1, "the batch does not count yet");
    batch.commit().unwrap();
    assert_eq!(lines(&path), 2);
}

#[test]
fn the_thread_does_not_keep_a_database_open() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("data");
    for layout in [Layout::Lines, Layout::Files] {
        let database = open(&path, Some(Duration::from_secs(3600)));
        let options = CollectionOptions { layout, ..CollectionOptions::default() };
        let docs = database.collection_with(&format!("{layout:?}"), &options).unwrap();
        docs.put("a", &json!({})).unwrap();
        drop(docs);
        drop(database);
        assert!(is_unlocked(&path), "{layout:?}");
    }
}

/// The cache of relations must not keep the database open.
#[test]
fn puts_after_a_query_are_written_when_the_last_handle_is_dropped() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("data");
    let database = open(&path, None);
    let docs = database.collection("docs").unwrap();
    docs.put("a", &json!({"n": 1})).unwrap();
    assert_eq!(
        docs.scan_where("n = 1", &folio::Parameters::default(), folio::Scan::new())
            .unwrap()
            .count(),
        1
    );
    docs.put("b", &json!({"n": 2})).unwrap();
    drop(docs);
    drop(database);
    assert_eq!(lines(&path), 2);
    assert!(is_unlocked(&path));
}
