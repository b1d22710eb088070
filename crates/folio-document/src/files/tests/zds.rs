//! Stores that the original engines have left, in the files layout.

use super::*;

/// The output of `json.dumps(document, indent=2)`: without `_id`, which is the file name.
const DOCUMENT: &str = "{\n  \"name\": \"Ann\",\n  \"score\": 12345678901234567890\n}";

fn store_of_zds(order: Option<&str>) -> MemoryFileSystem {
    let files = MemoryFileSystem::new();
    for id in ["doc_2", "doc_10", "doc_1"] {
        files.write(at(&format!("docs/{id}.json")), DOCUMENT.as_bytes()).unwrap();
    }
    let manifest = r#"{"version":"0.1.0","collection":"c","strict":false,"doc_count":3}"#;
    files.write(at("meta/manifest.json"), manifest.as_bytes()).unwrap();
    // Indexes of the original engines: stale, or of no valid form. They are not read.
    files.write(at("meta/doc_index.jsonl"), b"{\"doc_id\":\"gone\"}\n").unwrap();
    files.write(at("meta/index.bin"), b"ISDZ\x01\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff").unwrap();
    if let Some(order) = order {
        files.write(at("meta/order.ids"), order.as_bytes()).unwrap();
    }
    files
}

#[test]
fn a_store_with_a_list_is_read_in_its_order() {
    let files = store_of_zds(Some("doc_10\ndoc_2\ndoc_1\n"));
    let store = open(&files);
    assert_eq!(ids(&store), ["doc_10", "doc_2", "doc_1"]);
    let line = r#"{"_id":"doc_2","name":"Ann","score":12345678901234567890}"#;
    assert_eq!(get(&store, "doc_2").unwrap(), line);
    assert!(store.check(None, &mut |_, _| true).unwrap().is_clean());
    put(&store, "new", "{}").unwrap();
    store.delete("doc_2").unwrap();
    store.flush().unwrap();
    assert_eq!(files.read(at("meta/order.ids")).unwrap(), b"doc_10\ndoc_1\nnew\n");
}

#[test]
fn a_store_without_a_list_is_read_by_name() {
    let files = store_of_zds(None);
    let store = open(&files);
    assert_eq!(ids(&store), ["doc_1", "doc_10", "doc_2"]);
    put(&store, "a", "{}").unwrap();
    store.flush().unwrap();
    assert_eq!(ids(&open_to_read(&files)), ["a", "doc_1", "doc_10", "doc_2"]);
    assert!(files.read(at("meta/order.ids")).is_none());
}

#[test]
fn the_empty_list_of_a_new_store_is_used() {
    let files = MemoryFileSystem::new();
    files.write(at("meta/order.ids"), b"").unwrap();
    files.write(at("docs/.gitkeep"), b"").unwrap();
    let store = open(&files);
    put(&store, "b", "{}").unwrap();
    put(&store, "a", "{}").unwrap();
    assert_eq!(ids(&open_to_read(&files)), ["b", "a"]);
}
