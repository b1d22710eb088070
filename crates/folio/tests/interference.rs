//! The file is edited between two calls of a writer, at moments that rarely occur in real programs.

#![allow(clippy::unwrap_used)] // a test that panics has failed

use std::sync::Arc;

use folio::{Collection, Database, ErrorCode, OpenOptions};
use folio_file::{FileSystem, MemoryFileSystem};
use serde_json::json;

const DATA: &str = "/data/collections/docs/meta/data.jsonl";

/// Three documents, flushed.
fn prepare() -> (MemoryFileSystem, Database, Collection) {
    let files = MemoryFileSystem::new();
    let (database, docs) = open(&files);
    for (id, n) in [("a", 1), ("b", 2), ("c", 3)] {
        docs.put(id, &json!({"n": n})).unwrap();
    }
    docs.flush().unwrap();
    (files, database, docs)
}

fn open(files: &MemoryFileSystem) -> (Database, Collection) {
    let file_system: Arc<dyn FileSystem> = Arc::new(files.clone());
    let options = OpenOptions { file_system: Some(file_system), ..OpenOptions::default() };
    let database = Database::open_with("/data", &options).unwrap();
    let docs = database.collection("docs").unwrap();
    (database, docs)
}

fn text(files: &MemoryFileSystem) -> String {
    String::from_utf8(files.read(DATA).unwrap()).unwrap()
}

type Edit = (&'static str, fn(&MemoryFileSystem));

/// Each makes `b` 22, so that the file keeps its size, grows, shrinks, or is replaced.
const EDITS: [Edit; 5] = [
    ("in place, the same size", |files| {
        let text = text(files).replace("{\"_id\":\"b\",\"n\":2}", "{\"_id\":\"b\",\"n\":4}");
        files.write(DATA, text.as_bytes()).unwrap();
    }),
    ("in place, longer", |files| {
        let text =
            text(files).replace("{\"_id\":\"b\",\"n\":2}", "{\"_id\":\"b\",\"n\":2222222222}");
        files.write(DATA, text.as_bytes()).unwrap();
    }),
    ("in place, shorter", |files| {
        let text = text(files).replace("{\"_id\":\"a\",\"n\":1}\n", "");
        files.write(DATA, text.as_bytes()).unwrap();
    }),
    ("another file renamed over it", |files| {
        let text = text(files).replace("{\"_id\":\"b\",\"n\":2}", "{\"_id\":\"b\",\"n\":22}");
        files.replace(DATA, text.as_bytes()).unwrap();
    }),
    ("appended", |files| files.append(DATA, b"{\"_id\":\"x\",\"n\":9}\n").unwrap()),
];

/// A new handle finds the content of the file.
fn assert_as_the_file_says(files: &MemoryFileSystem, context: &str) {
    let (_database, docs) = open(files);
    let report = docs.check(&mut |_, _| true).unwrap();
    assert!(report.is_clean(), "{context}: {report:?}");
    let mut last = std::collections::BTreeMap::new();
    for line in text(files).lines() {
        last.insert(line.split('"').nth(3).unwrap().to_owned(), line.to_owned());
    }
    for (id, line) in &last {
        let found = docs.get(id).unwrap().map(folio::Document::into_raw);
        assert_eq!(found.as_ref(), Some(line), "{context}: {id}");
    }
    assert_eq!(docs.count().unwrap(), last.len() as u64, "{context}");
}

#[test]
fn an_edit_while_a_batch_is_open_is_kept_and_so_is_the_batch() {
    for (name, edit) in EDITS {
        let (files, database, docs) = prepare();
        let mut batch = docs.batch().unwrap();
        batch.put("d", &json!({"n": 4})).unwrap();
        let edited = {
            edit(&files);
            text(&files)
        };
        batch.put("e", &json!({"n": 5})).unwrap();
        batch.commit().unwrap();
        let expected = edited + "{\"_id\":\"d\",\"n\":4}\n{\"_id\":\"e\",\"n\":5}\n";
        assert_eq!(text(&files), expected, "{name}");
        docs.put("f", &json!({})).unwrap();
        database.close().unwrap();
        assert_as_the_file_says(&files, name);
    }
}

#[test]
fn an_edit_before_a_flush_is_kept_and_so_is_what_is_flushed() {
    for (name, edit) in EDITS {
        let (files, database, docs) = prepare();
        docs.put("d", &json!({"n": 4})).unwrap();
        let edited = {
            edit(&files);
            text(&files)
        };
        docs.flush().unwrap();
        assert_eq!(text(&files), edited + "{\"_id\":\"d\",\"n\":4}\n", "{name}");
        database.close().unwrap();
        assert_as_the_file_says(&files, name);
    }
}

#[test]
fn an_edit_in_the_middle_of_a_large_batch_is_never_cut_off() {
    for (name, edit) in EDITS {
        let (files, database, docs) = prepare();
        let filler = "w".repeat(100_000);
        let mut batch = docs.batch().unwrap();
        for n in 0..60 {
            batch.put(&format!("w{n}"), &json!({"filler": filler})).unwrap();
        }
        // Waits for the piece on its way. No time of a file tells an edit beside an append from
        // the append, if the edit keeps the size.
        assert!((0..60).all(|n| batch.exists(&format!("w{n}")).unwrap()));
        assert!(text(&files).contains("\"w30\""), "a part of the batch is written");
        edit(&files);
        let marks = ["\"n\":4}", "\"n\":2222222222}", "\"n\":22}", "\"x\""];
        let edited: Vec<_> = marks.into_iter().filter(|mark| text(&files).contains(mark)).collect();
        for n in 60..120 {
            batch.put(&format!("w{n}"), &json!({"filler": filler})).unwrap();
        }
        match batch.commit() {
            Ok(counts) => assert_eq!(counts.inserted, 120, "{name}"),
            Err(error) => {
                assert_eq!(error.code(), ErrorCode::InvalidInput, "{name}: {error}");
                assert!(error.to_string().contains("was edited while a batch"), "{error}");
            }
        }
        let after = text(&files);
        assert!(edited.iter().all(|mark| after.contains(mark)), "{name}: the edit is gone");
        assert!(after.contains("{\"_id\":\"c\",\"n\":3}"), "{name}");
        docs.put("later", &json!({})).unwrap();
        database.close().unwrap();
        assert_as_the_file_says(&files, name);
    }
}

#[test]
fn an_edit_between_a_flush_and_the_next_open_is_not_taken_for_indexed() {
    for (name, edit) in EDITS {
        let (files, database, docs) = prepare();
        // An edit is faster than the clock of file times.
        files.set_time_granularity(std::time::Duration::from_secs(1));
        docs.put("d", &json!({"n": 4})).unwrap();
        docs.flush().unwrap();
        edit(&files);
        database.close().unwrap();
        assert_as_the_file_says(&files, name);
    }
}
