//! Versions: derived data belongs to one version, and is extended if a collection has only grown.

#![allow(clippy::unwrap_used)] // a test that panics has failed

use std::path::Path;
use std::sync::Arc;

use folio_document::{Access, Collection, CollectionOptions, Layout, Stamp, Version};
use folio_file::{FileSystem, MemoryFileSystem, WriterLock};
use serde_json::json;

const DATA: &str = "/db/collections/docs/meta/data.jsonl";

fn open_as(files: &MemoryFileSystem, options: &CollectionOptions) -> Collection {
    let files: Arc<dyn FileSystem> = Arc::new(files.clone());
    let lock = Arc::new(WriterLock::new(Arc::clone(&files), Path::new("/db/folio.lock").into()));
    Collection::open(files, Path::new("/db"), "docs", options, lock).unwrap()
}

fn open(files: &MemoryFileSystem) -> Collection {
    open_as(files, &CollectionOptions::default())
}

fn created() -> (MemoryFileSystem, Collection) {
    let files = MemoryFileSystem::new();
    files.create_directory(Path::new("/db")).unwrap();
    let docs = open(&files);
    (files, docs)
}

/// The lines since a version; `None` if the collection has not only grown.
fn since(docs: &Collection, version: &Version) -> Option<Vec<String>> {
    let mut added = docs.scan_since(version).unwrap()?;
    let mut lines = Vec::new();
    while let Some(line) = added.next_line().unwrap() {
        lines.push(String::from_utf8(line.to_vec()).unwrap());
    }
    assert_eq!(added.version(), Some(docs.version().unwrap()));
    Some(lines)
}

#[test]
fn every_change_is_another_version_and_appends_are_told_apart() {
    let (_, docs) = created();
    let mut before = docs.version().unwrap();
    let mut step = |docs: &Collection, expected: &[&str]| {
        assert_ne!(docs.version().unwrap(), before, "{expected:?}");
        let lines = since(docs, &before);
        before = docs.version().unwrap();
        assert_eq!(docs.version().unwrap(), before, "asking changes nothing");
        assert_eq!(since(docs, &before).unwrap(), Vec::<String>::new());
        lines
    };
    docs.put("a", &json!({"n": 1})).unwrap();
    // The creation of the file need not count as growth.
    step(&docs, &[]);
    docs.put("b", &json!({"n": 2})).unwrap();
    docs.put("c", &json!({"n": 3})).unwrap();
    let expected = [r#"{"_id":"b","n":2}"#, r#"{"_id":"c","n":3}"#];
    assert_eq!(step(&docs, &expected).unwrap(), expected);
    docs.put("b", &json!({"n": 5})).unwrap();
    docs.delete("c").unwrap();
    let expected = [r#"{"_id":"b","n":5}"#];
    assert_eq!(step(&docs, &expected).unwrap(), expected);
    assert_eq!(docs.version().unwrap().document_count(), 2);
    let mut batch = docs.batch().unwrap();
    (0..5_000).for_each(|n| batch.put(&format!("d{n}"), &json!({"n": n})).unwrap());
    batch.commit().unwrap();
    assert_eq!(step(&docs, &["a batch"]).unwrap().len(), 5_000);
    docs.flush().unwrap();
    docs.put("e", &json!({})).unwrap();
    docs.flush().unwrap();
    assert_eq!(step(&docs, &["e"]).unwrap(), [r#"{"_id":"e"}"#]);
    docs.compact(&mut |_, _| true).unwrap();
    assert_eq!(step(&docs, &["compaction"]), None);
}

#[test]
fn an_edit_by_hand_is_another_version() {
    let (files, docs) = created();
    docs.put("a", &json!({"year": 1815})).unwrap();
    docs.flush().unwrap();
    let before = docs.version().unwrap();
    let text = String::from_utf8(files.read(DATA).unwrap()).unwrap();
    files.write(DATA, text.replace("1815", "\"ab\"").as_bytes()).unwrap();
    docs.refresh().unwrap();
    assert_ne!(docs.version().unwrap(), before);
    assert_eq!(docs.version().unwrap().document_count(), before.document_count());
    assert_eq!(since(&docs, &before), None);
    // A line appended by hand is growth, and so is a line of another process.
    let before = docs.version().unwrap();
    files.append(DATA, b"{\"_id\":\"b\"}\n").unwrap();
    docs.refresh().unwrap();
    assert_eq!(since(&docs, &before).unwrap(), [r#"{"_id":"b"}"#]);
    let before = docs.version().unwrap();
    let other = open(&files);
    other.put("c", &json!({})).unwrap();
    other.flush().unwrap();
    docs.refresh().unwrap();
    assert_eq!(since(&docs, &before).unwrap(), [r#"{"_id":"c"}"#]);
    // The same lines indexed again are the same version.
    let before = docs.version().unwrap();
    docs.reindex(&mut |_, _| true).unwrap();
    assert_eq!(docs.version().unwrap(), before);
    assert_ne!(open(&files).version().unwrap(), before, "another handle knows nothing of it");
}

#[test]
fn a_line_without_an_end_that_goes_on_is_another_version() {
    let (files, docs) = created();
    files.append(DATA, b"{\"_id\":\"a\"}\n{\"_id\":\"b\"}").unwrap();
    docs.refresh().unwrap();
    let before = docs.version().unwrap();
    assert_eq!(before.document_count(), 2);
    // With its end, and another line, it has grown.
    docs.put("c", &json!({})).unwrap();
    assert_eq!(since(&docs, &before).unwrap(), [r#"{"_id":"c"}"#]);
    let (files, docs) = created();
    files.append(DATA, b"{\"_id\":\"a\"}\n{\"_id\":\"b\"}").unwrap();
    docs.refresh().unwrap();
    let before = docs.version().unwrap();
    files.append(DATA, b" \n{\"_id\":\"c\"}\n").unwrap();
    docs.refresh().unwrap();
    assert_eq!(since(&docs, &before), None);
}

/// A scan that finds an edit yields the lines of a later version, and reports that version.
#[test]
fn a_scan_knows_of_which_version_its_lines_are() {
    let (files, docs) = created();
    docs.put("a", &json!({"n": 1})).unwrap();
    docs.flush().unwrap();
    let before = docs.version().unwrap();
    let text = String::from_utf8(files.read(DATA).unwrap()).unwrap();
    files.write(DATA, text.replace("1", "2").as_bytes()).unwrap();
    let mut documents = docs.scan(folio_document::Scan::new()).unwrap();
    assert_eq!(documents.next_line().unwrap(), Some(&br#"{"_id":"a","n":2}"#[..]));
    assert_ne!(documents.version(), Some(before));
    assert_eq!(documents.version(), Some(docs.version().unwrap()));
}

#[test]
fn a_file_per_document_has_versions_too() {
    let files = MemoryFileSystem::new();
    files.create_directory(Path::new("/db")).unwrap();
    let options = CollectionOptions { layout: Layout::Files, ..CollectionOptions::default() };
    let docs = open_as(&files, &options);
    docs.put("a", &json!({"year": 1815})).unwrap();
    let before = docs.version().unwrap();
    assert_eq!(before.document_count(), 1);
    let path = "/db/collections/docs/docs/a.json";
    let text = String::from_utf8(files.read(path).unwrap()).unwrap();
    files.write(path, text.replace("1815", "\"ab\"").as_bytes()).unwrap();
    assert_ne!(docs.version().unwrap(), before);
    assert!(docs.scan_since(&before).unwrap().is_none());
}

/// Another process over the same files.
fn reopened(files: &MemoryFileSystem) -> Collection {
    open_as(files, &CollectionOptions { access: Access::Read, ..CollectionOptions::default() })
}

/// A collection with this many lines, flushed, and its stamp.
fn stamped(count: usize) -> (MemoryFileSystem, Stamp) {
    let (files, docs) = created();
    let mut batch = docs.batch().unwrap();
    for n in 0..count {
        batch.put(&format!("d{n}"), &json!({"n": n, "text": "x".repeat(90)})).unwrap();
    }
    batch.commit().unwrap();
    docs.flush().unwrap();
    let version = docs.version().unwrap();
    let stamp = docs.stamp_of(&version).unwrap().unwrap();
    assert_eq!(docs.version_of(&stamp).unwrap(), Some(version));
    assert_eq!((stamp.size, stamp.document_count), (version.size(), count as u64));
    (files, stamp)
}

#[test]
fn a_stamp_fits_in_another_process_and_after_appends() {
    for count in [1, 2, 3_000] {
        let (files, stamp) = stamped(count);
        let docs = reopened(&files);
        assert_eq!(docs.version_of(&stamp).unwrap(), Some(docs.version().unwrap()), "{count}");
        let writer = open(&files);
        writer.put("a", &json!({"n": 1})).unwrap();
        writer.delete("d0").unwrap();
        writer.put("b", &json!({"n": 2})).unwrap();
        writer.flush().unwrap();
        files.append(DATA, b"{\"_id\":\"c\"}\n").unwrap();
        let docs = reopened(&files);
        let version = docs.version_of(&stamp).unwrap().unwrap();
        assert_eq!(version.document_count(), count as u64);
        let lines =
            [r#"{"_id":"a","n":1}"#, r#"{"_id":"b","n":2}"#, r#"{"_id":"c"}"#].map(str::to_owned);
        assert_eq!(since(&docs, &version).unwrap(), lines, "{count}");
        // The older stamp can be taken again, of the lines that are still there.
        assert_eq!(docs.stamp_of(&version).unwrap(), Some(stamp));
    }
}

/// Lines are compared wherever the edit is, with the same length, and with lines added after it.
#[test]
fn a_stamp_does_not_fit_after_an_edit() {
    let (files, stamp) = stamped(3_000);
    let text = files.read(DATA).unwrap();
    let end = text.len();
    for at in [20, 65_535, 65_536, 131_072, 200_000, end - 70_000, end - 20] {
        for appended in [&b""[..], b"{\"_id\":\"new\"}\n"] {
            for replaces in [false, true] {
                let mut edited = text.clone();
                let at = at + edited[at..].iter().position(|byte| *byte == b'x').unwrap();
                edited[at] = b'y';
                edited.extend_from_slice(appended);
                let (files, stamp) = (files.kill(), stamp);
                match replaces {
                    true => files.replace(DATA, &edited).unwrap(),
                    false => files.write(DATA, &edited).unwrap(),
                }
                let docs = reopened(&files);
                assert_eq!(docs.version_of(&stamp).unwrap(), None, "{at} {appended:?}");
                assert_eq!(open(&files).version_of(&stamp).unwrap(), None);
            }
        }
    }
    files.write(DATA, &text[..end - 130]).unwrap();
    assert_eq!(reopened(&files).version_of(&stamp).unwrap(), None, "it is shorter");
    let wrong = Stamp { size: stamp.size - 1, ..stamp };
    assert_eq!(reopened(&files).version_of(&wrong).unwrap(), None);
    files.write(DATA, b"").unwrap();
    assert_eq!(reopened(&files).version_of(&stamp).unwrap(), None);
}

/// A copy has the same bytes, and so does a compaction that drops nothing.
#[test]
fn a_stamp_fits_the_same_lines_in_another_file() {
    let (files, stamp) = stamped(3_000);
    let text = files.read(DATA).unwrap();
    files.replace(DATA, &text).unwrap();
    assert!(reopened(&files).version_of(&stamp).unwrap().is_some());
    let docs = open(&files);
    docs.put("d7", &json!({})).unwrap();
    docs.compact(&mut |_, _| true).unwrap();
    assert_eq!(docs.version_of(&stamp).unwrap(), None);
}

#[test]
fn a_stamp_of_a_line_without_an_end_does_not_fit_a_longer_one() {
    let (files, docs) = created();
    files.append(DATA, b"{\"_id\":\"a\"}\n{\"_id\":\"b\"}").unwrap();
    docs.refresh().unwrap();
    let stamp = docs.stamp_of(&docs.version().unwrap()).unwrap().unwrap();
    assert!(reopened(&files).version_of(&stamp).unwrap().is_some());
    let longer = files.kill();
    longer.append(DATA, b" \n{\"_id\":\"c\"}\n").unwrap();
    assert_eq!(reopened(&longer).version_of(&stamp).unwrap(), None);
    files.append(DATA, b"\n{\"_id\":\"c\"}\n").unwrap();
    let docs = reopened(&files);
    let version = docs.version_of(&stamp).unwrap().unwrap();
    assert_eq!(since(&docs, &version).unwrap(), [r#"{"_id":"c"}"#]);
}

#[test]
fn the_file_of_types_is_written_by_writers_only() {
    let (files, _) = stamped(1);
    let reader = reopened(&files);
    assert_eq!(reader.read_types().unwrap(), None);
    assert!(!reader.replace_types(b"types").unwrap());
    let writer = open(&files);
    let before = writer.stats().unwrap().index_size;
    assert!(writer.replace_types(b"types").unwrap());
    assert_eq!(reader.read_types().unwrap().unwrap(), b"types");
    assert_eq!(writer.stats().unwrap().index_size, before + 5);
    // Another process is writing.
    let other = open(&files);
    other.put("x", &json!({})).unwrap();
    other.write_pending().unwrap();
    assert!(!writer.replace_types(b"others").unwrap());
    assert_eq!(reader.read_types().unwrap().unwrap(), b"types");
}
