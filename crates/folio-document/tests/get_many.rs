//! Looking up many ids at once says what as many single lookups say.

#![allow(clippy::unwrap_used)] // a test that panics has failed

use std::path::Path;
use std::sync::Arc;

use folio_document::{Collection, CollectionOptions, Layout};
use folio_file::{FileSystem, MemoryFileSystem, WriterLock};
use serde_json::json;

fn open(layout: Layout) -> Collection {
    let files: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    let lock = Arc::new(WriterLock::new(Arc::clone(&files), Path::new("/db/folio.lock").into()));
    let options = CollectionOptions { layout, ..CollectionOptions::default() };
    Collection::open(files, Path::new("/db"), "docs", &options, lock).unwrap()
}

/// Some stored and settled, some pending, some deleted, some never there; in no order.
fn filled(collection: &Collection, count: u64) -> Vec<String> {
    let mut batch = collection.batch().unwrap();
    for number in 0..count {
        batch.put(&format!("d{number}"), &json!({ "n": number })).unwrap();
    }
    batch.commit().unwrap();
    for number in (0..count).step_by(7) {
        collection.delete(&format!("d{number}")).unwrap();
    }
    for number in (0..count).step_by(5) {
        collection.put(&format!("d{number}"), &json!({ "again": number })).unwrap();
    }
    (0..count).map(|number| format!("d{}", number * 7919 % (count + count / 10))).collect()
}

fn compare(layout: Layout, count: u64) {
    let collection = open(layout);
    let mut ids = filled(&collection, count);
    ids.extend(["d1".to_owned(), "d1".to_owned(), "../evil".to_owned(), String::new()]);
    let found = collection.get_many(&ids).unwrap();
    assert_eq!((found.len(), found.is_empty()), (ids.len(), false));
    let mut missing = 0;
    for ((id, line), document) in ids.iter().zip(found.lines()).zip(found.documents()) {
        let one = collection.get(id).unwrap();
        assert_eq!(line.map(<[u8]>::to_vec), one.as_ref().map(|one| one.raw().as_bytes().to_vec()));
        missing += usize::from(one.is_none());
        assert_eq!(document.unwrap(), one);
    }
    assert!(missing > ids.len() / 10 && missing < ids.len() / 2, "{missing} of {}", ids.len());
    assert_eq!(found.line(ids.len()), None);
}

#[test]
fn many_lookups_agree_with_single_ones() {
    for count in [10, 1_000, 9_000] {
        compare(Layout::Lines, count);
    }
    compare(Layout::Files, 500);
    assert!(open(Layout::Lines).get_many::<&str>(&[]).unwrap().is_empty());
}
