//! Errors of the original engines, one test each, named for what a user would notice. Those with
//! several processes are in the command's tests.

#![allow(clippy::unwrap_used)] // a test that panics has failed

use std::fs;
use std::path::{Path, PathBuf};

use folio::{Collection, CollectionOptions, Database, ErrorCode, Layout, OpenOptions, Strict};
use serde_json::{Value, json};
use tempfile::TempDir;

const COUNT: usize = 1_000;

fn folder() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("data");
    (folder, path)
}

/// A closed database with `COUNT` documents.
fn filled() -> (TempDir, PathBuf) {
    let (folder, path) = folder();
    let database = Database::open(&path).unwrap();
    let documents: Vec<(String, Value)> =
        (0..COUNT).map(|n| (format!("d{n}"), json!({"n": n}))).collect();
    let docs = database.collection("docs").unwrap();
    docs.put_many(documents.iter().map(|(id, document)| (id.as_str(), document))).unwrap();
    database.close().unwrap();
    (folder, path)
}

fn open(path: &Path) -> (Database, Collection) {
    let database = Database::open(path).unwrap();
    let docs = database.collection("docs").unwrap();
    (database, docs)
}

fn data(path: &Path) -> PathBuf {
    path.join("collections/docs/meta/data.jsonl")
}

fn strict() -> CollectionOptions {
    CollectionOptions { strict: Strict::FirstDocument, ..CollectionOptions::default() }
}

/// In both layouts.
fn layouts() -> [CollectionOptions; 2] {
    [Layout::Lines, Layout::Files]
        .map(|layout| CollectionOptions { layout, ..CollectionOptions::default() })
}

#[test]
fn strict_mode_is_remembered() {
    for layout in layouts() {
        let (_folder, path) = folder();
        let database = Database::open(&path).unwrap();
        let options = CollectionOptions { strict: Strict::FirstDocument, ..layout.clone() };
        let docs = database.collection_with("docs", &options).unwrap();
        docs.put("a", &json!({"n": 1})).unwrap();
        database.close().unwrap();
        let (_database, docs) = open(&path);
        let refused = docs.put("b", &json!({"n": "one"})).unwrap_err();
        assert_eq!(refused.code(), ErrorCode::TypeMismatch, "{refused}");
        assert!(refused.to_string().contains("Schema mismatch"), "{refused}");
        docs.put("b", &json!({"n": 1.5})).unwrap();
        docs.put("c", &json!({"n": null})).unwrap();
    }
}

#[test]
fn a_schema_set_by_another_process_survives_our_close() {
    for layout in layouts() {
        let (_folder, path) = folder();
        let database = Database::open(&path).unwrap();
        let docs = database.collection_with("docs", &layout).unwrap();
        docs.put("a", &json!({"n": 1})).unwrap();
        database.flush().unwrap();
        let manifest = path.join("collections/docs/meta/manifest.json");
        let text = fs::read_to_string(&manifest).unwrap();
        fs::write(&manifest, text.replace("\"strict\": false", "\"strict\": true")).unwrap();
        docs.put("b", &json!({"n": 2})).unwrap();
        database.close().unwrap();
        let text = fs::read_to_string(&manifest).unwrap();
        assert!(text.contains("\"strict\": true"), "{text}");
    }
}

#[test]
fn a_patch_can_be_the_first_write_to_a_collection_made_strict() {
    for layout in layouts() {
        let (_folder, path) = folder();
        let database = Database::open(&path).unwrap();
        database.collection_with("docs", &layout).unwrap().put("a", &json!({"n": 1})).unwrap();
        database.close().unwrap();
        let database = Database::open(&path).unwrap();
        let docs = database.collection_with("docs", &strict()).unwrap();
        let patched = docs.patch("a", &json!({"n": 2})).unwrap().unwrap();
        assert_eq!(patched.raw(), r#"{"_id":"a","n":2}"#);
        let refused = docs.patch("a", &json!({"n": "two"})).unwrap_err();
        assert_eq!(refused.code(), ErrorCode::TypeMismatch);
    }
}

#[test]
fn the_manifest_counts_what_was_put_and_imported() {
    let (_folder, path) = filled();
    let count = || {
        let text = fs::read(path.join("collections/docs/meta/manifest.json")).unwrap();
        serde_json::from_slice::<Value>(&text).unwrap()["doc_count"].clone()
    };
    assert_eq!(count(), COUNT);
    let (database, docs) = open(&path);
    docs.delete("d0").unwrap();
    database.close().unwrap();
    assert_eq!(count(), COUNT - 1);
}

/// Every file below a folder with its bytes.
fn snapshot(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = fs::read(&path).unwrap();
                found.push((path, bytes));
            }
        }
    }
    found.sort();
    found
}

/// Every document is complete under its id.
fn assert_all(docs: &Collection) {
    assert_eq!(docs.count().unwrap(), COUNT as u64);
    for n in 0..COUNT {
        let document = docs.get(&format!("d{n}")).unwrap();
        let raw = document.map(folio::Document::into_raw);
        assert_eq!(raw.as_deref(), Some(&*format!(r#"{{"_id":"d{n}","n":{n}}}"#)));
    }
}

#[test]
fn dropping_a_read_only_handle_changes_no_file() {
    let (_folder, path) = filled();
    let before = snapshot(&path);
    {
        let database = Database::open_with(&path, &OpenOptions::read_only()).unwrap();
        let docs = database.collection("docs").unwrap();
        assert_all(&docs);
        docs.check(&mut |_, _| true).unwrap();
        docs.refresh().unwrap();
        assert_eq!(docs.put("x", &json!({})).unwrap_err().code(), ErrorCode::ReadOnly);
    }
    assert!(snapshot(&path) == before, "a file changed");
    let (_database, docs) = open(&path);
    assert_all(&docs);
}

#[test]
fn a_read_only_handle_changes_no_file_even_where_the_index_is_gone_or_stale() {
    let (_folder, path) = filled();
    fs::remove_file(path.join("collections/docs/meta/folio.idx")).unwrap();
    let text = fs::read_to_string(data(&path)).unwrap();
    fs::write(data(&path), text.replace("\"n\":7}", "\"n\":77777}")).unwrap();
    let before = snapshot(&path);
    {
        let database = Database::open_with(&path, &OpenOptions::read_only()).unwrap();
        let docs = database.collection("docs").unwrap();
        assert_eq!(docs.get("d7").unwrap().unwrap().raw(), r#"{"_id":"d7","n":77777}"#);
        assert_eq!(docs.count().unwrap(), COUNT as u64);
    }
    assert!(snapshot(&path) == before, "a file changed");
}

#[test]
fn one_line_edited_by_hand_changes_one_document() {
    let (_folder, path) = filled();
    let text = fs::read_to_string(data(&path)).unwrap();
    fs::write(data(&path), text.replace("\"n\":7}", "\"n\":7000000}")).unwrap();
    let (_database, docs) = open(&path);
    assert_eq!(docs.count().unwrap(), COUNT as u64);
    for n in 0..COUNT {
        let expected = if n == 7 { 7_000_000 } else { n };
        let document = docs.get(&format!("d{n}")).unwrap().unwrap();
        assert_eq!(document.field("n").unwrap(), Some(json!(expected)));
    }
    let notices = docs.take_notices();
    assert!(notices[0].0.contains("was changed since it was indexed"), "{notices:?}");
}

#[test]
fn one_line_deleted_by_hand_removes_one_document() {
    let (_folder, path) = filled();
    let text = fs::read_to_string(data(&path)).unwrap();
    fs::write(data(&path), text.replace("{\"_id\":\"d500\",\"n\":500}\n", "")).unwrap();
    let (_database, docs) = open(&path);
    assert_eq!(docs.count().unwrap(), COUNT as u64 - 1);
    for n in 0..COUNT {
        let document = docs.get(&format!("d{n}")).unwrap();
        assert_eq!(document.is_some(), n != 500, "d{n}");
        assert!(document.is_none_or(|document| document.id() == format!("d{n}")));
    }
}

#[test]
fn lines_appended_by_hand_are_seen_by_refresh_and_by_the_next_open() {
    let (_folder, path) = filled();
    let (_database, docs) = open(&path);
    let reader = Database::open_with(&path, &OpenOptions::read_only()).unwrap();
    let reader = reader.collection("docs").unwrap();
    assert_eq!(reader.count().unwrap(), COUNT as u64);
    let mut text = fs::read_to_string(data(&path)).unwrap();
    text += "{\"_id\":\"more\",\"n\":1}\n";
    fs::write(data(&path), &text).unwrap();
    for docs in [&docs, &reader] {
        docs.refresh().unwrap();
        assert_eq!(docs.count().unwrap(), COUNT as u64 + 1);
        assert_eq!(docs.get("more").unwrap().unwrap().raw(), "{\"_id\":\"more\",\"n\":1}");
    }
    drop(docs);
    let (_database, docs) = open(&path);
    assert!(docs.exists("more").unwrap());
}

#[test]
fn a_collection_opened_again_is_as_the_file_is_now() {
    for layout in layouts() {
        let (_folder, path) = folder();
        let database = Database::open(&path).unwrap();
        let docs = database.collection_with("docs", &layout).unwrap();
        docs.put("a", &json!({"n": 1})).unwrap();
        docs.flush().unwrap();
        docs.put("pending", &json!({})).unwrap();
        if layout.layout == Layout::Lines {
            let mut text = fs::read_to_string(data(&path)).unwrap();
            text += "{\"_id\":\"b\",\"n\":2}\n";
            fs::write(data(&path), text).unwrap();
        } else {
            fs::write(path.join("collections/docs/docs/b.json"), r#"{"n":2}"#).unwrap();
        }
        // In the same process, by the same handle and by another.
        for database in [database.clone(), Database::open(&path).unwrap()] {
            let again = database.collection("docs").unwrap();
            assert_eq!(again.count().unwrap(), 3, "{layout:?}");
            assert!(again.exists("b").unwrap() && again.exists("pending").unwrap());
        }
        // A batch of this thread does not wait.
        let batch = docs.batch().unwrap();
        assert_eq!(database.collection("docs").unwrap().count().unwrap(), 3);
        drop(batch);
    }
}

#[test]
fn a_fingerprint_is_of_the_content() {
    for layout in layouts() {
        let (_folder, path) = folder();
        let database = Database::open(&path).unwrap();
        let docs = database.collection_with("docs", &layout).unwrap();
        let mut seen = vec![docs.fingerprint().unwrap()];
        for n in 0..if layout.layout == Layout::Lines { 3_000 } else { 20 } {
            docs.put(&format!("d{n}"), &json!({"n": n, "text": "x".repeat(40)})).unwrap();
        }
        seen.push(docs.fingerprint().unwrap());
        docs.flush().unwrap();
        assert_eq!(docs.fingerprint().unwrap(), seen[1], "a flush changes nothing: {layout:?}");
        docs.put("d7", &json!({"n": 70})).unwrap();
        seen.push(docs.fingerprint().unwrap());
        docs.delete("d8").unwrap();
        seen.push(docs.fingerprint().unwrap());
        database.close().unwrap();
        if layout.layout == Layout::Lines {
            let (_database, docs) = open(&path);
            assert_eq!(docs.fingerprint().unwrap(), seen[3], "opening changes nothing");
            // One character, early in a file of several blocks.
            let text = fs::read_to_string(data(&path)).unwrap();
            fs::write(data(&path), text.replacen("\"n\":5", "\"n\":6", 1)).unwrap();
            docs.refresh().unwrap();
            seen.push(docs.fingerprint().unwrap());
        }
        let mut different = seen.clone();
        different.sort_unstable();
        different.dedup();
        assert_eq!(different.len(), seen.len(), "{layout:?}");
        let copy = path.with_extension("copy");
        open(&path).0.backup(&copy, &mut |_, _| true).unwrap();
        assert_eq!(open(&copy).1.fingerprint().unwrap(), *seen.last().unwrap(), "{layout:?}");
    }
}

#[test]
fn deleted_documents_stay_deleted_even_all_of_them() {
    for layout in layouts() {
        let (_folder, path) = folder();
        let database = Database::open(&path).unwrap();
        let docs = database.collection_with("docs", &layout).unwrap();
        for id in ["a", "b", "c"] {
            docs.put(id, &json!({})).unwrap();
        }
        database.flush().unwrap();
        for id in ["a", "b", "c"] {
            assert!(docs.delete(id).unwrap());
        }
        database.close().unwrap();
        let (_database, docs) = open(&path);
        assert_eq!(docs.count().unwrap(), 0);
        assert_eq!(docs.ids().unwrap().count(), 0);
        assert!(docs.get("a").unwrap().is_none());
    }
}

#[test]
fn get_right_after_put_agrees_with_exists() {
    for layout in layouts() {
        let (_folder, path) = folder();
        let database = Database::open(&path).unwrap();
        let docs = database.collection_with("docs", &layout).unwrap();
        for n in 0..50 {
            let id = format!("d{n}");
            docs.put(&id, &json!({"n": n})).unwrap();
            assert!(docs.exists(&id).unwrap());
            assert_eq!(docs.get(&id).unwrap().unwrap().field("n").unwrap(), Some(json!(n)));
            assert_eq!(docs.count().unwrap(), n + 1);
        }
    }
}

#[test]
fn compaction_gives_space_back_and_open_handles_go_on() {
    let (_folder, path) = filled();
    let reader = Database::open_with(&path, &OpenOptions::read_only()).unwrap();
    let reader = reader.collection("docs").unwrap();
    assert_eq!(reader.count().unwrap(), COUNT as u64);
    let (_database, docs) = open(&path);
    for _ in 0..3 {
        for n in 0..COUNT {
            docs.put(&format!("d{n}"), &json!({"n": n})).unwrap();
        }
    }
    docs.flush().unwrap();
    let before = fs::metadata(data(&path)).unwrap().len();
    docs.compact(&mut |_, _| true).unwrap();
    let after = fs::metadata(data(&path)).unwrap().len();
    assert!(after * 4 <= before, "{before} bytes before, {after} after");
    assert_all(&docs);
    assert_all(&reader);
    reader.refresh().unwrap();
    assert_all(&reader);
    docs.put("d0", &json!({"n": 0})).unwrap();
    assert_all(&docs);
}

#[test]
fn a_million_updates_of_one_key_do_not_grow_the_file_for_ever() {
    let (_folder, path) = folder();
    let (database, docs) = open(&path);
    for n in 0..1_000_000 {
        docs.put_raw("counter", &format!("{{\"n\":{n},\"text\":\"some words to fill it\"}}"))
            .unwrap();
        if n % 20_000 == 0 {
            docs.flush().unwrap();
        }
    }
    database.close().unwrap();
    let size = fs::metadata(data(&path)).unwrap().len();
    assert!(size < 16 << 20, "{size} bytes for one document");
    let (_database, docs) = open(&path);
    assert_eq!(docs.get("counter").unwrap().unwrap().field("n").unwrap(), Some(json!(999_999)));
}

/// Counts, sizes and offsets in the index are replaced by absurd values, one word after another.
#[test]
fn absurd_numbers_in_an_index_harm_nobody() {
    let (_folder, path) = filled();
    let meta = path.join("collections/docs/meta");
    for name in ["folio.idx", "folio.batch"] {
        let sound = fs::read(meta.join(name)).unwrap();
        for at in (0..sound.len().min(400)).step_by(8) {
            for absurd in [u64::MAX, 1 << 62, u64::from(u32::MAX), 0] {
                let mut bytes = sound.clone();
                let end = sound.len().min(at + 8);
                bytes[at..end].copy_from_slice(&absurd.to_le_bytes()[..end - at]);
                fs::write(meta.join(name), &bytes).unwrap();
                let database = Database::open_with(&path, &OpenOptions::read_only()).unwrap();
                let docs = database.collection("docs").unwrap();
                assert_eq!(docs.count().unwrap(), COUNT as u64, "{name} at {at}: {absurd}");
                assert!(docs.get("d999").unwrap().is_some());
                assert!(docs.get("nobody").unwrap().is_none());
            }
        }
        fs::write(meta.join(name), sound).unwrap();
    }
}

#[test]
fn a_file_truncated_while_it_is_open_kills_nobody() {
    let (_folder, path) = filled();
    let (_database, docs) = open(&path);
    let reader = Database::open_with(&path, &OpenOptions::read_only()).unwrap();
    let reader = reader.collection("docs").unwrap();
    for docs in [&docs, &reader] {
        assert!(docs.get("d999").unwrap().is_some());
    }
    let text = fs::read_to_string(data(&path)).unwrap();
    let cut = text.find("{\"_id\":\"d500\"").unwrap();
    fs::OpenOptions::new().write(true).open(data(&path)).unwrap().set_len(cut as u64).unwrap();
    for docs in [&docs, &reader] {
        for n in 0..COUNT {
            let found = docs.get(&format!("d{n}")).unwrap();
            assert!(n >= 500 || found.is_some(), "d{n} is still there");
        }
        assert_eq!(docs.scan(folio::Scan::new()).unwrap().map(Result::unwrap).count(), 500);
        docs.refresh().unwrap();
        assert_eq!(docs.count().unwrap(), 500);
        assert!(docs.get("d999").unwrap().is_none());
    }
    docs.put("d999", &json!({"n": 1})).unwrap();
    docs.flush().unwrap();
    assert_eq!(docs.count().unwrap(), 501);
}

#[test]
fn one_bad_document_leaves_the_others_to_scan_reindex_and_check() {
    let (_folder, path) = filled();
    let text = fs::read_to_string(data(&path)).unwrap();
    fs::write(data(&path), text.replace("{\"_id\":\"d7\",\"n\":7}", "{\"_id\":\"d7\",\"n\":"))
        .unwrap();
    let (_database, docs) = open(&path);
    let others = COUNT as u64 - 1;
    let mut progress = |_, _| true;
    assert_eq!(docs.scan(folio::Scan::new()).unwrap().map(Result::unwrap).count() as u64, others);
    docs.reindex(&mut progress).unwrap();
    let report = docs.check(&mut progress).unwrap();
    assert_eq!((report.document_count, report.invalid_count), (others, 1));
    assert_eq!(report.invalid[0].line, 8);
    assert!(!report.is_clean());
    let rejected = docs.compact(&mut progress).unwrap().rejected_path.unwrap();
    assert_eq!(fs::read_to_string(rejected).unwrap(), "{\"_id\":\"d7\",\"n\":\n");
    assert_eq!(docs.count().unwrap(), others);
}

#[test]
fn no_collection_name_leads_out_of_the_database() {
    let (folder, path) = folder();
    let database = Database::open(&path).unwrap();
    for name in ["../../evil", "..", ".", "", "a/b", "a\\b", "/etc", ".hidden", "a\0b", "a..b"] {
        let refused = database.collection(name).unwrap_err();
        assert_eq!(refused.code(), ErrorCode::InvalidInput, "{name:?}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn integers_beyond_two_to_the_63_stay_what_they_are() {
    let numbers = "[9223372036854775808,18446744073709551616,-9223372036854775809,\
                   123456789012345678901234567890,0.1,1.10,3.14159265358979323846264338327950288]";
    for layout in layouts() {
        let (_folder, path) = folder();
        let database = Database::open(&path).unwrap();
        let docs = database.collection_with("docs", &layout).unwrap();
        docs.put_raw("raw", &format!("{{\"n\":{numbers}}}")).unwrap();
        let value: Value = serde_json::from_str(&format!("{{\"n\":{numbers}}}")).unwrap();
        docs.put("value", &value).unwrap();
        database.close().unwrap();
        let (_database, docs) = open(&path);
        for id in ["raw", "value"] {
            let expected = format!("{{\"_id\":\"{id}\",\"n\":{numbers}}}");
            assert_eq!(docs.get(id).unwrap().unwrap().raw(), expected);
        }
    }
}
