//! Edits by hand just before the writer changes the file.

#![allow(clippy::unwrap_used)] // a test that panics has failed

use std::path::Path;
use std::sync::Arc;

use folio_document::{Access, Collection, CollectionOptions, IndexDefinition, Scan};
use folio_file::{Fault, FaultKind, FileSystem, MemoryFileSystem, Operation, WriterLock};
use serde_json::json;

const DATA: &str = "/db/collections/docs/meta/data.jsonl";

fn open(files: &MemoryFileSystem) -> Collection {
    open_to(files, Access::ReadWrite)
}

fn open_to(files: &MemoryFileSystem, access: Access) -> Collection {
    let files: Arc<dyn FileSystem> = Arc::new(files.clone());
    let lock = Arc::new(WriterLock::new(Arc::clone(&files), Path::new("/db/folio.lock").into()));
    let options = CollectionOptions { access, ..CollectionOptions::default() };
    Collection::open(files, Path::new("/db"), "docs", &options, lock).unwrap()
}

/// A handle that finds lines which may not be on the device writes them again at its next flush.
/// The new file times must not hide an earlier edit.
#[test]
fn an_edit_before_lines_are_written_again_is_found() {
    let files = MemoryFileSystem::new();
    files.create_directory(Path::new("/db")).unwrap();
    let docs = open(&files);
    docs.put("a", &json!({})).unwrap();
    docs.put("b", &json!({})).unwrap();
    assert_eq!(docs.ids().unwrap().count(), 2, "a scan writes, and syncs nothing");
    files.append(DATA, b"\n").unwrap();
    docs.refresh().unwrap();
    let text = String::from_utf8(files.read(DATA).unwrap()).unwrap();
    files.write(DATA, text.replace("\"a\"", "\"c\"").as_bytes()).unwrap();
    docs.close().unwrap();
    let next = open(&files);
    assert!(next.get("c").unwrap().is_some(), "{:?}", files.read(DATA));
    assert!(next.get("a").unwrap().is_none());
}

/// A reader compares all of a file that has grown before it reads documents one after another: the
/// first could not be taken back when the edit is met.
#[test]
fn an_edit_in_the_middle_of_a_file_that_has_grown_is_read() {
    let files = MemoryFileSystem::new();
    files.create_directory(Path::new("/db")).unwrap();
    let docs = open(&files);
    let mut batch = docs.batch().unwrap();
    for number in 0..20_000 {
        batch.put(&format!("d{number}"), &json!({ "n": 0, "text": "x".repeat(30) })).unwrap();
    }
    batch.commit().unwrap();
    docs.close().unwrap();
    let text = String::from_utf8(files.read(DATA).unwrap()).unwrap();
    let edited = text.replace("\"_id\":\"d15000\",\"n\":0", "\"_id\":\"d15000\",\"n\":7");
    assert_ne!(edited, text);
    files.write(DATA, edited.as_bytes()).unwrap();
    files.append(DATA, b"{\"_id\":\"last\",\"n\":7}\n").unwrap();
    let reader = || open_to(&files, Access::Read);
    let sum = |documents: folio_document::Documents| -> i64 {
        documents.map(|document| document.unwrap().to_value().unwrap()["n"].as_i64().unwrap()).sum()
    };
    assert_eq!(sum(reader().scan(Scan::new()).unwrap()), 14);
    let parts = reader().scan_parts(&Scan::new(), 3).unwrap();
    assert_eq!(parts.into_iter().map(sum).sum::<i64>(), 14);
    let ids = (14_000..16_000).map(|number| format!("d{number}")).collect();
    assert_eq!(sum(reader().scan_of(ids, Scan::new()).unwrap()), 7);
    assert_eq!(reader().ids().unwrap().map(Result::unwrap).count(), 20_001);
}

/// Drops a batch with a document of `size` bytes while its call `stop` fails, appends a line
/// without its end, and returns what the next process finds.
fn ids_after_a_drop(size: usize, stop: u64, edit: &[u8]) -> Vec<String> {
    let files = MemoryFileSystem::new();
    files.create_directory(Path::new("/db")).unwrap();
    let docs = open(&files);
    docs.put("kept", &json!({})).unwrap();
    docs.flush().unwrap();
    let mut batch = docs.batch().unwrap();
    batch.put("big", &json!({ "text": "x".repeat(size) })).unwrap();
    // A full piece is written before the line that follows it.
    let _ = batch.put("small", &json!({}));
    files.inject(Fault::next(Operation::Any, FaultKind::Eio).after(stop));
    drop(batch);
    files.clear_faults();
    files.append(DATA, edit).unwrap();
    let next = open(&files.kill());
    next.ids().unwrap().map(Result::unwrap).collect()
}

/// The record of a batch stays open if its end could not be recorded. A line appended after it then
/// looks like a line of the batch, except for its checksum.
#[test]
fn an_edit_after_a_batch_whose_drop_failed_is_kept() {
    for edit in [&b"{\"_id\":\"edited\"}"[..], b"{\"_id\":\"edited\"}\n"] {
        for size in [10, 3 << 20] {
            for stop in 0..30 {
                let ids = ids_after_a_drop(size, stop, edit);
                let has = |id: &str| ids.iter().any(|found| found == id);
                assert!(has("kept") && has("edited"), "{size} bytes, call {stop}: {ids:?}");
            }
        }
    }
}

/// Entries that were sorted ahead of a commit are moved if another line is added in between, and
/// compared with the file in file order.
#[test]
fn a_line_between_those_of_a_batch_that_has_worked_ahead_stays() {
    for edited_after in [0, 6_000, 11_000] {
        let files = MemoryFileSystem::new();
        files.create_directory(Path::new("/db")).unwrap();
        let docs = open(&files);
        docs.put("d1", &json!({ "n": "old" })).unwrap();
        docs.flush().unwrap();
        let mut batch = docs.batch().unwrap();
        for number in 0..12_000 {
            let id = format!("d{}", number % 10_000);
            batch.put(&id, &json!({ "n": number, "text": "x".repeat(400) })).unwrap();
            if number % 500 == 0 {
                batch.work_ahead();
            }
            if number == edited_after {
                files.append(DATA, b"{\"_id\":\"edited\"}\n").unwrap();
            }
        }
        batch.commit().unwrap();
        for docs in [docs, open(&files.kill())] {
            assert_eq!(docs.count().unwrap(), 10_001, "edited after {edited_after}");
            for (id, number) in [("d0", 10_000), ("d1", 10_001), ("d2500", 2_500), ("d9999", 9_999)]
            {
                let found = docs.get(id).unwrap().unwrap();
                assert_eq!(found.to_value().unwrap()["n"], number, "edited after {edited_after}");
            }
            assert!(docs.get("edited").unwrap().is_some(), "edited after {edited_after}");
            let report = docs.check(&mut |_, _| true).unwrap();
            assert!(report.is_clean(), "edited after {edited_after}: {report:?}");
        }
    }
}

/// Lines that others add while a collection is checked, or since it was opened, are no damage.
#[test]
fn a_check_beside_a_writer_finds_no_damage() {
    let files = MemoryFileSystem::new();
    files.create_directory(Path::new("/db")).unwrap();
    let writer = open(&files);
    let mut batch = writer.batch().unwrap();
    for number in 0..40_000 {
        batch.put(&format!("d{number}"), &json!({ "n": number })).unwrap();
    }
    batch.commit().unwrap();
    let reader = open_to(&files, Access::Read);
    let write = |step: usize| {
        writer.put(&format!("new{step}"), &json!({})).unwrap();
        writer.delete(&format!("d{step}")).unwrap();
        writer.flush().unwrap();
        let mut batch = writer.batch().unwrap();
        batch.put(&format!("batch{step}"), &json!({})).unwrap();
        batch.commit().unwrap();
        files.append(DATA, format!("{{\"_id\":\"hand{step}\"}}\n").as_bytes()).unwrap();
    };
    write(0);
    let mut step = 0;
    let mut progress = |_, _| {
        step += 1;
        write(step);
        true
    };
    let report = reader.check(&mut progress).unwrap();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(report.document_count, 40_002, "what was written before it began is checked");
    assert!(step > 0);

    files.append(DATA, b"{\"_id\":\"torn").unwrap();
    let report = reader.check(&mut |_, _| true).unwrap();
    assert_eq!(report.invalid_count, 1, "{report:?}");
    assert!(report.invalid[0].reason.contains("no line end"), "{report:?}");
}

/// A file that has grown is compared with the index before a check trusts the index.
#[test]
fn a_check_after_an_edit_in_the_middle_and_an_append_finds_no_damage() {
    let files = MemoryFileSystem::new();
    files.create_directory(Path::new("/db")).unwrap();
    let docs = open(&files);
    let definition = IndexDefinition::parse("docs", Some("by_n"), &["n"], false).unwrap();
    docs.create_index(&definition, &mut |_, _| true).unwrap();
    let mut batch = docs.batch().unwrap();
    for number in 0..20_000 {
        batch.put(&format!("d{number}"), &json!({ "n": 100, "text": "x".repeat(30) })).unwrap();
    }
    batch.commit().unwrap();
    docs.close().unwrap();
    let text = String::from_utf8(files.read(DATA).unwrap()).unwrap();
    let edited = text.replace("\"_id\":\"d10000\",\"n\":100", "\"_id\":\"d10000\",\"n\":777");
    assert_ne!(edited, text);
    files.write(DATA, edited.as_bytes()).unwrap();
    files.append(DATA, b"{\"_id\":\"last\",\"n\":7}\n").unwrap();
    let index = open_to(&files, Access::Read).check_index("by_n").unwrap();
    assert!(index.problems.is_empty(), "{index:?}");
    let report = open_to(&files, Access::Read).check(&mut |_, _| true).unwrap();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(report.document_count, 20_001);
}
