//! Ranges know how many documents they have: their lines, less the dead ones.

#![allow(clippy::unwrap_used)] // a test that panics has failed

use std::path::Path;
use std::sync::Arc;

use folio_document::{Collection, CollectionOptions};
use folio_file::{FileSystem, MemoryFileSystem, WriterLock};
use serde_json::json;

const DATA: &str = "/db/collections/docs/meta/data.jsonl";

fn open(files: &MemoryFileSystem) -> Collection {
    let files: Arc<dyn FileSystem> = Arc::new(files.clone());
    let lock = Arc::new(WriterLock::new(Arc::clone(&files), Path::new("/db/folio.lock").into()));
    let options = CollectionOptions::default();
    Collection::open(files, Path::new("/db"), "docs", &options, lock).unwrap()
}

fn line(n: usize) -> String {
    format!("{{\"_id\":\"id{n}\",\"text\":\"{}\"}}", "x".repeat(500))
}

/// Every range has as many documents as a scan of it finds, and together they have all.
fn check(docs: &Collection, name: &str) {
    for count in [1, 3, 8] {
        let ranges = docs.ranges(count).unwrap();
        for range in &ranges {
            let scanned = docs.scan_range(range).unwrap().map(Result::unwrap).count() as u64;
            assert_eq!(range.document_count, scanned, "{name}: {range:?}");
        }
        let total: u64 = ranges.iter().map(|range| range.document_count).sum();
        assert_eq!(total, docs.count().unwrap(), "{name} in {count}");
    }
}

#[test]
fn documents_are_counted_among_lines_of_every_kind() {
    let lines: Vec<String> = (0..1_000).map(line).collect();
    let mixed = lines.join("\n\n \nnot a document\n")
        + "\n{\"_tombstone\":\"id7\"}\n"
        + &lines[..300].join("\r\n");
    let texts = [
        ("nothing", String::new()),
        ("a mark", "\u{feff}".to_owned()),
        ("a mark and a blank line", "\u{feff}\n".to_owned()),
        ("a line without an end", line(1)),
        ("a mark and a line", format!("\u{feff}{}\r\n", line(1))),
        ("a blank line without an end", format!("{}\n   ", line(1))),
        ("half a line", format!("{}\n{{\"_id\":", line(1))),
        ("all without an end", mixed.clone()),
        ("all", mixed.clone() + "\n"),
        ("all between blank lines", format!("\u{feff}\n{mixed}\n\n\nno\n")),
        ("blocks of blank lines", "\n".repeat(200_000) + &line(1)),
    ];
    for (name, text) in texts {
        let files = MemoryFileSystem::new();
        files.create_directory(Path::new("/db")).unwrap();
        let docs = open(&files);
        docs.put("before", &json!({})).unwrap();
        docs.close().unwrap();
        files.write(DATA, text.as_bytes()).unwrap();
        check(&open(&files), name);
    }
}

#[test]
fn documents_are_counted_through_runs_and_deltas() {
    let files = MemoryFileSystem::new();
    files.create_directory(Path::new("/db")).unwrap();
    let docs = open(&files);
    for round in 0..12_usize {
        let mut batch = docs.batch().unwrap();
        for n in 0..700 * round {
            batch.put(&format!("d{}", n * 7 % 5_000), &json!({"round": round})).unwrap();
        }
        batch.commit().unwrap();
        for n in 0..20 {
            docs.put(&format!("one{}", round * n), &json!({"round": round})).unwrap();
            docs.delete(&format!("d{}", round * 31 + n)).unwrap();
        }
        docs.flush().unwrap();
        check(&docs, &format!("round {round}"));
        check(&open(&files), &format!("round {round}, opened"));
    }
    docs.compact(&mut |_, _| true).unwrap();
    check(&docs, "compacted");
}

/// What a text of the file was counted as is not changed by the line end that it gets later.
#[test]
fn a_line_that_gets_its_end_later_is_counted_once() {
    let files = MemoryFileSystem::new();
    files.create_directory(Path::new("/db")).unwrap();
    let docs = open(&files);
    docs.put("before", &json!({})).unwrap();
    docs.close().unwrap();
    files.write(DATA, line(1).as_bytes()).unwrap();
    let docs = open(&files);
    let position = docs.position().unwrap();
    docs.put("after", &json!({})).unwrap();
    docs.flush().unwrap();
    let counts = |since, until| -> u64 {
        let ranges = docs.ranges_between(since, until, 1).unwrap();
        ranges.iter().map(|range| range.document_count).sum()
    };
    assert_eq!((counts(None, Some(&position)), counts(Some(&position), None)), (1, 1));
    assert_eq!(counts(None, None), 2);
}
