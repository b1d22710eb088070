//! Looking up many ids at once gives the same as single lookups, and the parts of a scan give the
//! same as the whole scan.

#![allow(clippy::unwrap_used)] // a test that panics has failed

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use folio_document::{Collection, CollectionOptions, Layout, Scan};
use folio_file::{FileSystem, MemoryFileSystem, WriterLock};
use serde_json::json;

fn open(layout: Layout) -> Collection {
    open_on(Arc::new(MemoryFileSystem::new()), layout)
}

fn open_on(files: Arc<dyn FileSystem>, layout: Layout) -> Collection {
    let lock = Arc::new(WriterLock::new(Arc::clone(&files), Path::new("/db/folio.lock").into()));
    let options = CollectionOptions { layout, ..CollectionOptions::default() };
    Collection::open(files, Path::new("/db"), "docs", &options, lock).unwrap()
}

/// The line of a document, if it takes no read of a file.
fn in_memory(collection: &Collection, id: &str) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    collection.try_get_raw(id, &mut line).then_some(line)
}

/// Ids in random order: some flushed, some pending, some deleted, some never stored.
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

#[test]
fn a_line_that_is_cached_is_the_one_a_lookup_reads() {
    let files: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    let collection = open_on(Arc::clone(&files), Layout::Lines);
    let ids = filled(&collection, 1_000);
    collection.close().unwrap();
    let collection = open_on(files, Layout::Lines);
    // How many were found, and how many of them without reading the file.
    let look = || {
        let (mut found, mut cached) = (0, 0);
        for id in &ids {
            let first = in_memory(&collection, id);
            let document = collection.get(id).unwrap();
            let line = document.as_ref().map(|document| document.raw().as_bytes());
            assert!(first.is_none() || first.as_deref() == line, "{id}");
            found += usize::from(document.is_some());
            cached += usize::from(first.is_some());
        }
        (found, cached)
    };
    // Some were preceded by other reads of their block, so it is cached.
    let (found, cached) = look();
    assert!(cached < found - 30, "{cached} of {found} at first");
    let (found, cached) = look();
    assert!(cached > found * 9 / 10, "{cached} of {found} the second time");
    for (number, id) in ids.iter().enumerate() {
        match number % 3 {
            0 => drop(collection.delete(id).unwrap()),
            1 => drop(collection.put(id, &json!({ "new": number })).unwrap()),
            _ => {}
        }
    }
    // Pending lines are in memory, as are those that were already cached.
    let (found, cached) = look();
    assert!(cached > found * 9 / 10, "{cached} of {found} with pending lines");
    collection.flush().unwrap();
    look();
    assert!(look().1 > 0);
    collection.compact(&mut |_, _| true).unwrap();
    look();
    assert!(look().1 > 0);
    collection.close().unwrap();
    assert!(!ids.iter().any(|id| in_memory(&collection, id).is_some()));
}

#[test]
fn many_puts_agree_with_single_ones() {
    let values: Vec<_> =
        (0..3_000).map(|n| (format!("d{n}"), json!({ "n": n, "t": "ä\"" }))).collect();
    let (one_by_one, together) = (open(Layout::Lines), open(Layout::Lines));
    let mut batch = one_by_one.batch().unwrap();
    values.iter().for_each(|(id, value)| batch.put(id, value).unwrap());
    let counts = batch.commit().unwrap();
    let pairs = values.iter().map(|(id, value)| (id.as_str(), value));
    assert_eq!(together.put_many(pairs.clone()).unwrap(), counts);
    assert_eq!(together.put_many(pairs.clone()).unwrap().replaced, 3_000);
    let all = |collection: &Collection| -> Vec<_> {
        collection.scan(Scan::new()).unwrap().map(Result::unwrap).collect()
    };
    assert!(all(&together) == all(&one_by_one));
    // One invalid document among many prevents the whole batch.
    let (bad, fresh) = (json!([1]), open(Layout::Lines));
    let with_bad = pairs.clone().take(1_700).chain([("bad", &bad)]).chain(pairs.skip(1_700));
    assert!(fresh.put_many(with_bad).is_err());
    assert_eq!(fresh.count().unwrap(), 0);
}

/// Documents from a few bytes to several blocks, so that parts begin inside lines, inside a line
/// that is longer than a part, and at the start of a line.
fn of_all_sizes(layout: Layout, count: usize) -> Collection {
    let collection = open(layout);
    let mut batch = collection.batch().unwrap();
    for number in 0..count {
        let size = match number % 50 {
            0 => 300_000,
            1..5 => 20_000,
            _ => number % 100,
        };
        batch.put(&format!("d{number}"), &json!({ "text": "x".repeat(size) })).unwrap();
    }
    batch.commit().unwrap();
    for number in (0..count).step_by(3) {
        collection.delete(&format!("d{number}")).unwrap();
    }
    collection.put("last", &json!({})).unwrap();
    collection
}

#[test]
fn the_parts_of_a_scan_are_the_scan() {
    for (layout, count) in [(Layout::Lines, 400), (Layout::Lines, 5), (Layout::Files, 60)] {
        let collection = of_all_sizes(layout, count);
        let scan = Scan::new().fields(["nothing"]);
        let whole: Vec<_> = collection.scan(scan.clone()).unwrap().map(Result::unwrap).collect();
        assert!(whole.len() > count / 2);
        for part_count in [0, 1, 2, 3, 7, 64, 10_000] {
            let parts = collection.scan_parts(&scan, part_count).unwrap();
            assert!(parts.len() <= part_count.max(1), "{} parts", parts.len());
            let together: Vec<_> = std::thread::scope(|scope| {
                let read = |part: folio_document::Documents| part.map(Result::unwrap).collect();
                let threads = parts.into_iter().map(|part| scope.spawn(move || read(part)));
                let threads: Vec<std::thread::ScopedJoinHandle<'_, Vec<_>>> = threads.collect();
                threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
            });
            assert!(together == whole, "{layout:?}, {count} documents, {part_count} parts");
        }
    }
    let empty = open(Layout::Lines);
    assert_eq!(empty.scan_parts(&Scan::new(), 4).unwrap().into_iter().flatten().count(), 0);
    assert!(empty.scan_parts(&Scan::new().limit(1), 4).is_err());
}

/// A repeatable generator of random numbers (xorshift, Marsaglia 2003).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// A lookup returns the last written line, whatever is cached and whichever handle wrote it.
#[test]
fn lookups_between_changes_of_all_kinds() {
    for seed in 1..9 {
        let files: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
        let collections = [(); 2].map(|()| open_on(Arc::clone(&files), Layout::Lines));
        let (mut model, mut random) = (HashMap::new(), Random(seed * 0x9e37_79b9));
        let mut cached = 0;
        for step in 0..6_000 {
            // The writer releases the lock, and the other handle looks for changes.
            let collection = &collections[step / 1_500 % 2];
            if step % 1_500 == 0 {
                collections.iter().for_each(|other| other.flush().unwrap());
                collection.refresh().unwrap();
            }
            let id = format!("d{}", random.below(60));
            let value = json!({ "step": step, "text": "x".repeat(random.below(300) as usize) });
            match random.below(100) {
                0 => {
                    collection.put(&id, &value).unwrap();
                    model.insert(id, value);
                }
                1 => assert_eq!(collection.delete(&id).unwrap(), model.remove(&id).is_some()),
                2 => {
                    let mut batch = collection.batch().unwrap();
                    batch.put("d0", &value).unwrap();
                    batch.put(&id, &value).unwrap();
                    batch.commit().unwrap();
                    model.extend([("d0".to_owned(), value.clone()), (id, value)]);
                }
                3..6 => collection.flush().unwrap(),
                6 if random.below(8) == 0 => drop(collection.compact(&mut |_, _| true).unwrap()),
                _ => {
                    let first = in_memory(collection, &id);
                    let found = collection.get(&id).unwrap();
                    let expected = model.get(&id).map(|value| value["step"].clone());
                    let step_of = |raw: &[u8]| -> serde_json::Value {
                        serde_json::from_slice::<serde_json::Value>(raw).unwrap()["step"].clone()
                    };
                    let text = format!("{id} at step {step} of seed {seed}");
                    assert_eq!(
                        found.map(|found| step_of(found.raw().as_bytes())),
                        expected,
                        "{text}"
                    );
                    if let Some(first) = first {
                        assert_eq!(Some(step_of(&first)), expected, "{text}, cached");
                        cached += 1;
                    }
                }
            }
        }
        assert!(cached > 1_500, "{cached} of seed {seed}");
    }
}
