//! A compaction that fails halfway, and what the handle does next.

#![allow(clippy::unwrap_used)] // a test that panics has failed

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use folio_document::{Collection, CollectionOptions, Error};
use folio_file::{
    CrashPlan, Fault, FaultKind, FileSystem, MemoryFileSystem, Operation, WriterLock,
};
use serde_json::json;

fn open(files: &MemoryFileSystem) -> Collection {
    let files: Arc<dyn FileSystem> = Arc::new(files.clone());
    let lock = Arc::new(WriterLock::new(Arc::clone(&files), Path::new("/db/folio.lock").into()));
    let options = CollectionOptions::default();
    Collection::open(files, Path::new("/db"), "docs", &options, lock).unwrap()
}

/// A compaction may fail after the rename and before the sync of the directory. A flush of later
/// writes to the new file must then also make its name durable.
#[test]
fn a_flush_after_a_compaction_that_failed_at_any_call_is_durable() {
    let mut stop = 0;
    let mut failed = 0;
    loop {
        let files = MemoryFileSystem::new();
        files.create_directory(Path::new("/db")).unwrap();
        files.make_durable();
        let docs = open(&files);
        docs.put("dead", &json!({})).unwrap();
        docs.put("kept", &json!({})).unwrap();
        docs.delete("dead").unwrap();
        docs.flush().unwrap();

        files.inject(Fault::next(Operation::Any, FaultKind::Eio).after(stop));
        let compacted = docs.compact(&mut |_, _| true);
        files.clear_faults();
        docs.refresh().unwrap(); // otherwise the write would find the replaced file
        let written = docs.put("later", &json!({})).and_then(|_| docs.flush());
        match written {
            Ok(()) => {
                let docs = open(&files.crash(CrashPlan::lose_everything()));
                let ids: Vec<String> = docs.ids().unwrap().map(Result::unwrap).collect();
                assert_eq!(ids, ["kept", "later"], "stopped at call {stop}");
            }
            Err(Error::Poisoned { .. }) => {}
            Err(error) => panic!("stopped at call {stop}: {error}"),
        }
        failed += u64::from(compacted.is_err());
        stop += 1;
        if compacted.is_ok() && stop > 60 {
            break;
        }
    }
    assert!(failed > 20, "{failed} of {stop}");
}

/// Who takes back what it moved away removes the file, which must not have the lines of another.
#[test]
fn lines_that_are_moved_away_at_one_instant_have_files_of_their_own() {
    const DATA: &str = "/db/collections/docs/meta/data.jsonl";
    let files = MemoryFileSystem::new();
    files.create_directory(Path::new("/db")).unwrap();
    files.set_time_granularity(Duration::from_secs(1));
    let mut paths = Vec::new();
    for text in ["one", "two", "three"] {
        files.write(DATA, format!("{{\"_id\":\"a\"}}\n{text}\n").as_bytes()).unwrap();
        let path = open(&files).compact(&mut |_, _| true).unwrap().rejected_path.unwrap();
        assert_eq!(files.read(&path).unwrap(), format!("{text}\n").as_bytes());
        paths.push(path);
    }
    paths.dedup();
    assert_eq!(paths.len(), 3);
}
