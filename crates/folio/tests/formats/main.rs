//! Files on disk match `docs/formats/document-store.md`, and those of older releases open. Links of
//! structs match `docs/formats/table-store.md`.

#![allow(clippy::unwrap_used)] // a test that panics has failed

mod decoder;
mod links;

use std::fs;
use std::path::{Path, PathBuf};

use decoder::{Decoded, newest_batch_slot};
use folio::{Database, ErrorCode, OpenOptions, Scan};
use serde_json::json;
use tempfile::TempDir;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A copy of the stored database of format 1, and of its archive.
fn copy_of_v1() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    copy(&repository().join("conformance/formats/document-v1"), folder.path());
    let data = folder.path().join("data");
    (folder, data)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn tree(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(tree(&path));
        } else {
            found.push((path.clone(), fs::read(path).unwrap()));
        }
    }
    found.sort();
    found
}

/// The documents of every collection, in order.
fn expected() -> Vec<(&'static str, Vec<String>)> {
    let mut numbers: Vec<String> = (1..=4200)
        .filter(|n| ![7, 8].contains(n))
        .map(|n| format!("{{\"_id\":\"n{n}\",\"n\":{n}}}"))
        .collect();
    numbers.extend(
        ["{\"_id\":\"n7\",\"n\":7.50}", "{\"_id\":\"größe\",\"n\":\"ä\"}"].map(String::from),
    );
    let lines = |lines: &[&str]| lines.iter().map(|&line| line.to_owned()).collect();
    vec![
        ("numbers", numbers),
        (
            "people",
            lines(&[
                r#"{"_id":"ada","name":"Ada","born":1816,"tags":["a","b"],"at":{"city":"London"}}"#,
                r#"{"_id":"grace","born":1906}"#,
            ]),
        ),
        ("strict", lines(&[r#"{"_id":"a","n":1,"s":null}"#])),
        (
            "users",
            lines(&[
                r#"{"_id":"grace","name":"Grace","born":1906,"price":1.10}"#,
                r#"{"_id":"ada","name":"Ada Lovelace","born":1815}"#,
            ]),
        ),
    ]
}

fn documents(database: &Database, name: &str) -> Vec<String> {
    let collection = database.existing_collection(name).unwrap();
    let scanned = collection.scan(Scan::new()).unwrap();
    let lines: Vec<String> = scanned.map(|document| document.unwrap().into_raw()).collect();
    assert_eq!(collection.count().unwrap(), lines.len() as u64);
    for line in &lines {
        let id = line.split('"').nth(3).unwrap();
        assert_eq!(collection.get(id).unwrap().unwrap().raw(), line);
    }
    for id in ["temporary", "n8", "nobody"] {
        assert!(collection.get(id).unwrap().is_none());
    }
    let report = collection.check(&mut |_, _| true).unwrap();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(collection.take_notices(), [], "{name}: there is nothing to tell");
    lines
}

fn assert_expected(database: &Database) {
    assert_eq!(database.collections().unwrap(), ["numbers", "people", "strict", "users"]);
    for (name, lines) in expected() {
        assert!(documents(database, name) == lines, "{name}");
    }
}

#[test]
fn format_1_opens_read_only_and_stays_as_it_is() {
    let (folder, data) = copy_of_v1();
    let before = tree(folder.path());
    assert_expected(&Database::open_with(&data, &OpenOptions::read_only()).unwrap());
    assert!(tree(folder.path()) == before, "reading has changed a file");
}

#[test]
fn format_1_opens_to_write_and_goes_on() {
    let (_folder, data) = copy_of_v1();
    let database = Database::open(&data).unwrap();
    assert_expected(&database);
    for (name, _) in expected() {
        let collection = database.collection(name).unwrap();
        collection.put("later", &json!({"n": 1, "s": "text"})).unwrap();
    }
    let strict = database.collection("strict").unwrap();
    let refused = strict.put("b", &json!({"n": "text"})).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::TypeMismatch);
    database.close().unwrap();
    let database = Database::open(&data).unwrap();
    for (name, mut lines) in expected() {
        lines.push("{\"_id\":\"later\",\"n\":1,\"s\":\"text\"}".to_owned());
        assert!(documents(&database, name) == lines, "{name}");
    }
}

#[test]
fn an_archive_of_format_1_opens_in_place_and_unpacks() {
    let (folder, data) = copy_of_v1();
    let archive = folder.path().join("data.zds");
    assert_expected(&Database::open(&archive).unwrap());
    fs::remove_dir_all(&data).unwrap();
    Database::unpack(&archive, &data, &mut |_, _| true).unwrap();
    assert_expected(&Database::open(&data).unwrap());
}

#[test]
fn the_stored_index_is_as_documented() {
    let (_folder, data) = copy_of_v1();
    for (name, run_count, record_count) in [("users", 0, 5), ("strict", 0, 1), ("numbers", 1, 4)] {
        let meta = data.join("collections").join(name).join("meta");
        let decoded = Decoded::read(&meta);
        let lines = decoded.check(&fs::read(meta.join("data.jsonl")).unwrap());
        let known = expected().into_iter().find(|(known, _)| *known == name).unwrap().1;
        assert!(lines == known, "{name}");
        assert_eq!((decoded.run_count, decoded.record_count), (run_count, record_count), "{name}");
        assert_eq!((decoded.version, decoded.generation), (1, 1));
    }
    let record = fs::read(data.join("collections/numbers/meta/folio.batch")).unwrap();
    let [sequence, status, start, end] = newest_batch_slot(&record);
    assert_eq!((sequence, status, start), (3, 2, 0));
    assert_eq!(end, 0x19182, "the end of the import's lines");
}

#[test]
fn what_is_written_today_is_as_documented() {
    let folder = TempDir::new().unwrap();
    let database = Database::open(folder.path().join("data")).unwrap();
    let docs = database.collection("docs").unwrap();
    let meta = folder.path().join("data/collections/docs/meta");
    let mut expected = Vec::new();
    for round in 0..12_u64 {
        let mut batch = docs.batch().unwrap();
        for n in 0..700 * round {
            batch.put(&format!("d{round}-{n}"), &json!({"n": n})).unwrap();
        }
        batch.commit().unwrap();
        docs.put("again", &json!({"round": round})).unwrap();
        if round > 2 {
            docs.delete(&format!("d{}-1", round - 1)).unwrap();
        }
        database.flush().unwrap();
        expected.clear();
        let scanned = docs.scan(Scan::new()).unwrap();
        expected.extend(scanned.map(|document| document.unwrap().into_raw()));
        let data = fs::read(meta.join("data.jsonl")).unwrap();
        let decoded = Decoded::read(&meta);
        assert!(decoded.check(&data) == expected, "round {round}");
        assert_eq!(decoded.version, 2);
    }
    assert!(Decoded::read(&meta).run_count >= 1);
    docs.compact(&mut |_, _| true).unwrap();
    let data = fs::read(meta.join("data.jsonl")).unwrap();
    assert!(Decoded::read(&meta).check(&data) == expected);
    assert_eq!(String::from_utf8(data).unwrap(), expected.join("\n") + "\n");
}

/// `hexdump` blocks of the page name a file of the stored database.
#[test]
fn the_hexdumps_of_the_page_are_those_of_the_stored_database() {
    let page = fs::read_to_string(repository().join("docs/formats/document-store.md")).unwrap();
    let stored = repository().join("conformance/formats/document-v1/data");
    let mut row_count = 0;
    for block in page.split("```hexdump ").skip(1) {
        let (path, rows) = block.split_once('\n').unwrap();
        let bytes = fs::read(stored.join(path)).unwrap();
        for row in rows.split("```").next().unwrap().lines() {
            let (offset, rest) = row.split_once(": ").unwrap();
            let start = usize::from_str_radix(offset, 16).unwrap();
            let (hex, text) = rest.split_once("  ").unwrap();
            let end = start + hex.replace(' ', "").len() / 2;
            assert_eq!(
                hexdump(&bytes[start..end]),
                (hex.to_owned(), text.trim().to_owned()),
                "{path}: {row}"
            );
            row_count += 1;
        }
    }
    assert!(row_count > 50, "{row_count} rows were compared");
}

fn hexdump(bytes: &[u8]) -> (String, String) {
    let pairs = bytes.chunks(2).map(|pair| pair.iter().map(|byte| format!("{byte:02x}")).collect());
    let text =
        bytes.iter().map(|&byte| if (b' '..127).contains(&byte) { byte as char } else { '.' });
    (pairs.collect::<Vec<String>>().join(" "), text.collect::<String>().trim().to_owned())
}
