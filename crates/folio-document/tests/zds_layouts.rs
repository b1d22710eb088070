//! Stores as the four engines of the original ZDS leave them. They are read as they are, written
//! to, and never read through their indexes, which are often stale or wrong.
//!
//! The files are written here from their description: `data.jsonl` with a binary `index.bin` (magic
//! 0x5A445349, version 1, count, then id length, id, offset and length of each line), or with a
//! text `index.bin` (`id\toffset\tlength`), and a file per document with or without `order.ids`.

#![allow(clippy::unwrap_used)] // a test that panics has failed

use std::path::{Path, PathBuf};
use std::sync::Arc;

use folio_document::{Access, Collection, CollectionOptions, Scan};
use folio_file::{FileSystem, MemoryFileSystem, WriterLock};
use serde_json::json;

const DATABASE: &str = "/db";

/// Ids in the order of insertion, and their documents.
const DOCUMENTS: [(&str, &str); 4] = [
    ("doc_002", r#""text":"Hello","score":0.95"#),
    ("doc_001", r#""nested":{"deep":[1,2]},"big":12345678901234567890123"#),
    ("a.b-c", r#""text":"größer \"quoted\"""#),
    ("doc_010", r#""empty":null"#),
];

fn at(name: &str) -> PathBuf {
    Path::new("/db/collections/train").join(name)
}

/// The expected line of a document.
fn line((id, fields): (&str, &str)) -> String {
    format!("{{\"_id\":\"{id}\",{fields}}}")
}

fn manifest(files: &MemoryFileSystem) {
    let text = r#"{"version":"0.1.0","collection":"train","strict":false,
        "created_at":"2025-01-15T10:30:00Z","doc_count":4,"schema_count":1}"#;
    files.write(at("meta/manifest.json"), text.as_bytes()).unwrap();
}

/// `data.jsonl`, and where its lines are.
fn data(files: &MemoryFileSystem) -> Vec<(&'static str, u64, u32)> {
    let mut bytes = Vec::new();
    let mut places = Vec::new();
    for document in DOCUMENTS {
        let text = line(document) + "\n";
        places.push((document.0, bytes.len() as u64, text.len() as u32));
        bytes.extend(text.bytes());
    }
    files.write(at("meta/data.jsonl"), &bytes).unwrap();
    places
}

fn binary_index(places: &[(&str, u64, u32)]) -> Vec<u8> {
    let mut bytes = 0x5A44_5349_u32.to_le_bytes().to_vec();
    bytes.extend(1u32.to_le_bytes());
    bytes.extend((places.len() as u64).to_le_bytes());
    for (id, offset, size) in places {
        bytes.extend((id.len() as u16).to_le_bytes());
        bytes.extend(id.bytes());
        bytes.extend(offset.to_le_bytes());
        bytes.extend(size.to_le_bytes());
    }
    bytes
}

fn text_index(places: &[(&str, u64, u32)]) -> Vec<u8> {
    places
        .iter()
        .flat_map(|(id, offset, size)| format!("{id}\t{offset}\t{size}\n").into_bytes())
        .collect()
}

/// Indexes that do not match the data: of an earlier state, cut, with too large a count, with wrong
/// offsets, or of no valid form.
fn wrong_indexes(right: &[(&'static str, u64, u32)]) -> Vec<Vec<u8>> {
    let shifted: Vec<_> = right.iter().map(|(id, offset, size)| (*id, offset + 3, *size)).collect();
    let swapped: Vec<_> =
        right.iter().zip(right.iter().rev()).map(|(a, b)| (a.0, b.1, b.2)).collect();
    let outside: Vec<_> = right.iter().map(|(id, ..)| (*id, u64::MAX - 1, u32::MAX)).collect();
    let mut wrong = Vec::new();
    for index in [binary_index, text_index] {
        let whole = index(right);
        wrong.push(index(&right[..2]));
        wrong.push(whole[..whole.len() / 2].to_vec());
        wrong.extend([
            index(&shifted),
            index(&swapped),
            index(&outside),
            index(&[("gone", 0, 10)]),
        ]);
    }
    let mut counts_too_many = binary_index(right);
    counts_too_many[8..16].fill(0xff);
    wrong.extend([counts_too_many, Vec::new(), vec![0; 100], b"no index at all".to_vec()]);
    wrong
}

fn open(files: &MemoryFileSystem, access: Access) -> Collection {
    let files: Arc<dyn FileSystem> = Arc::new(files.clone());
    let lock =
        Arc::new(WriterLock::new(Arc::clone(&files), Path::new("/db/folio.lock").to_owned()));
    let options = CollectionOptions { access, ..CollectionOptions::default() };
    Collection::open(files, Path::new(DATABASE), "train", &options, lock).unwrap()
}

fn lines(collection: &Collection) -> Vec<String> {
    collection.scan(Scan::new()).unwrap().map(|found| found.unwrap().into_raw()).collect()
}

/// Checks that the store holds the documents in this order, writes to it, and reads again.
fn check(files: &MemoryFileSystem, order: [usize; 4]) {
    let expected: Vec<_> = order.iter().map(|&number| line(DOCUMENTS[number])).collect();
    let before: Vec<_> = files.paths().into_iter().map(|path| (files.read(&path), path)).collect();
    let reader = open(files, Access::Read);
    assert_eq!(lines(&reader), expected);
    assert_eq!(reader.count().unwrap(), 4);
    for document in DOCUMENTS {
        assert_eq!(reader.get(document.0).unwrap().unwrap().raw(), line(document));
    }
    assert!(reader.get("gone").unwrap().is_none());
    assert!(reader.check(&mut |_, _| true).unwrap().is_clean());
    let after: Vec<_> = files.paths().into_iter().map(|path| (files.read(&path), path)).collect();
    assert_eq!(after, before, "a reader writes nothing");

    let writer = open(files, Access::ReadWrite);
    writer.put("doc_001", &json!({"changed": true})).unwrap();
    writer.put("zz", &json!({})).unwrap();
    writer.delete("doc_002").unwrap();
    writer.close().unwrap();
    let reader = open(files, Access::Read);
    assert_eq!(reader.count().unwrap(), 4);
    assert_eq!(
        reader.get("doc_001").unwrap().unwrap().raw(),
        r#"{"_id":"doc_001","changed":true}"#
    );
    assert!(reader.get("doc_002").unwrap().is_none());
    assert_eq!(lines(&reader).len(), 4);
    // The original engine can still read the manifest.
    let manifest = files.read(at("meta/manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
    assert_eq!((&manifest["version"], &manifest["schema_count"]), (&json!("0.1.0"), &json!(1)));
}

fn store_of_lines(index: impl FnOnce(&[(&'static str, u64, u32)]) -> Vec<u8>) -> MemoryFileSystem {
    let files = MemoryFileSystem::new();
    manifest(&files);
    let places = data(&files);
    files.write(at("meta/index.bin"), &index(&places)).unwrap();
    // The original engine makes this folder for every collection.
    files.create_directory(&at("docs")).unwrap();
    files
}

fn store_of_files(order: Option<&str>) -> MemoryFileSystem {
    let files = MemoryFileSystem::new();
    manifest(&files);
    for (id, fields) in DOCUMENTS {
        let value: serde_json::Value = serde_json::from_str(&format!("{{{fields}}}")).unwrap();
        let text = serde_json::to_string_pretty(&value).unwrap();
        files.write(at(&format!("docs/{id}.json")), text.as_bytes()).unwrap();
    }
    if let Some(order) = order {
        files.write(at("meta/order.ids"), order.as_bytes()).unwrap();
    }
    files
}

#[test]
fn lines_with_a_binary_index() {
    check(&store_of_lines(binary_index), [0, 1, 2, 3]);
}

#[test]
fn lines_with_a_text_index() {
    check(&store_of_lines(text_index), [0, 1, 2, 3]);
}

#[test]
fn files_with_a_list() {
    check(&store_of_files(Some("doc_002\ndoc_001\na.b-c\ndoc_010\n")), [0, 1, 2, 3]);
}

#[test]
fn files_without_a_list() {
    check(&store_of_files(None), [2, 1, 0, 3]);
}

#[test]
fn a_wrong_index_does_no_harm() {
    let places = data(&MemoryFileSystem::new());
    for wrong in wrong_indexes(&places) {
        check(&store_of_lines(|_| wrong), [0, 1, 2, 3]);
    }
}

#[test]
fn a_folder_with_nothing_but_documents_is_a_collection() {
    let files = MemoryFileSystem::new();
    data(&files);
    assert_eq!(lines(&open(&files, Access::Read)).len(), 4);
    let files = MemoryFileSystem::new();
    files.write(at("docs/a.json"), b"{\"n\": 1}").unwrap();
    assert_eq!(lines(&open(&files, Access::Read)), [r#"{"_id":"a","n":1}"#]);
}

#[test]
fn documents_in_the_other_layout_are_told_of_and_not_mixed_in() {
    let files = store_of_lines(binary_index);
    files.write(at("docs/other.json"), b"{}").unwrap();
    let collection = open(&files, Access::Read);
    assert_eq!(collection.count().unwrap(), 4);
    assert!(collection.get("other").unwrap().is_none());
    let reported = collection.take_notices();
    assert!(reported.iter().any(|notice| notice.0.contains("docs/")), "{reported:?}");
}
