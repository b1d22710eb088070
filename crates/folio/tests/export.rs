//! Exports can be imported again, and no partial file remains.

#![allow(clippy::unwrap_used)] // a test that panics has failed

use std::path::Path;
use std::sync::Arc;

use folio::export::{ExportOptions, Format, export, write};
use folio::import::{ImportOptions, Source, import};
use folio::{Collection, Database, ErrorCode, OpenOptions, Scan};
use folio_file::{Fault, FaultKind, MemoryFileSystem, Operation};
use proptest::prelude::*;
use serde_json::{Map, Value};

fn in_memory() -> (MemoryFileSystem, Database) {
    let files = MemoryFileSystem::new();
    let options =
        OpenOptions { file_system: Some(Arc::new(files.clone())), ..OpenOptions::default() };
    (files, Database::open_with("/data", &options).unwrap())
}

fn lines(collection: &Collection) -> Vec<String> {
    let documents = collection.scan(Scan::new()).unwrap();
    documents.map(|document| document.unwrap().into_raw()).collect()
}

fn options(format: Format) -> ExportOptions {
    ExportOptions { format: Some(format), ..ExportOptions::default() }
}

fn text(collection: &Collection, format: Format) -> Vec<u8> {
    let mut out = Vec::new();
    write(collection, &mut out, &options(format), &mut |_, _| true).unwrap();
    out
}

fn import_text(database: &Database, name: &str, source: &str, text: Vec<u8>) -> Collection {
    let collection = database.collection(name).unwrap();
    let source = Source::reader(source, std::io::Cursor::new(text));
    let report = import(&collection, source, &ImportOptions::default(), &mut |_, _| true).unwrap();
    assert_eq!(report.rejected, []);
    collection
}

/// Values of one type, as in a column of CSV; `null` may be anywhere.
fn column() -> impl Strategy<Value = Vec<String>> {
    let number = prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        any::<f64>()
            .prop_filter("JSON has no other", |x| x.is_finite())
            .prop_map(|x| format!("{x:?}")),
        Just("123456789012345678901234567890.10".to_owned()),
    ];
    let text = prop_oneof![".*", "[0-9]{1,3}", "(true|false|null)?", "[ ,;\"\r\n\t|a]*"]
        .prop_map(|text| serde_json::to_string(&text).unwrap());
    let bool = any::<bool>().prop_map(|value| value.to_string());
    let of = |value: BoxedStrategy<String>| {
        prop::collection::vec(prop_oneof![9 => value, 1 => Just("null".to_owned())], 1..8)
    };
    prop_oneof![of(number.boxed()), of(text.boxed()), of(bool.boxed())]
}

proptest! {
    #[test]
    fn every_format_brings_the_same_documents_back(columns in prop::collection::vec(column(), 1..5)) {
        let (_files, database) = in_memory();
        let from = database.collection("from").unwrap();
        let count = columns.iter().map(Vec::len).min().unwrap();
        for row in 0..count {
            let members: Vec<String> = columns.iter().enumerate()
                .map(|(index, column)| format!("\"c{index}\":{}", column[row])).collect();
            from.put_raw(&format!("r{row}"), &format!("{{{}}}", members.join(","))).unwrap();
        }
        for (name, format) in [("x.jsonl", Format::JsonLines), ("x.json", Format::Json), ("x.csv", Format::Csv)] {
            let back = import_text(&database, &name.replace('.', "_"), name, text(&from, format));
            prop_assert_eq!(lines(&back), lines(&from), "{}", name);
        }
    }
}

#[test]
fn json_is_what_a_parser_reads() {
    let (_files, database) = in_memory();
    let t = database.collection("t").unwrap();
    assert_eq!(text(&t, Format::Json), b"[]\n");
    for n in 0..3 {
        t.put_raw(&format!("d{n}"), &format!("{{\"n\":{n}.10}}")).unwrap();
    }
    let array: Vec<Map<String, Value>> = serde_json::from_slice(&text(&t, Format::Json)).unwrap();
    assert_eq!(array.len(), 3);
    let narrowed =
        ExportOptions { fields: vec!["n".to_owned()], limit: Some(1), ..ExportOptions::default() };
    let mut out = Vec::new();
    let report = write(&t, &mut out, &narrowed, &mut |_, _| true).unwrap();
    assert_eq!(out, b"{\"_id\":\"d0\",\"n\":0.10}\n");
    assert_eq!((report.document_count, report.size), (1, 22));
}

#[test]
fn a_tree_is_a_database_without_dead_lines() {
    let (files, database) = in_memory();
    let t = database.collection("t").unwrap();
    for n in 0..5 {
        t.put_raw("a", &format!("{{\"n\":{n}}}")).unwrap();
    }
    export(&t, "/tree", &options(Format::Zds), &mut |_, _| true).unwrap();
    let data = files.read("/tree/collections/t/meta/data.jsonl").unwrap();
    assert_eq!(data, b"{\"_id\":\"a\",\"n\":4}\n");
    let read = OpenOptions { file_system: Some(Arc::new(files)), ..OpenOptions::read_only() };
    let tree = Database::open_with("/tree", &read).unwrap();
    assert_eq!(lines(&tree.collection("t").unwrap()), lines(&t));
    let error = export(&t, "/tree", &options(Format::Zds), &mut |_, _| true).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Conflict);
}

#[test]
fn a_failed_export_leaves_the_file_as_it_was() {
    for operation in [Operation::Create, Operation::Write, Operation::Sync, Operation::Rename] {
        for format in [Format::JsonLines, Format::Csv, Format::Zds] {
            let (files, database) = in_memory();
            let t = database.collection("t").unwrap();
            t.put_raw("a", "{\"n\":1}").unwrap();
            database.flush().unwrap();
            if format != Format::Zds {
                files.write("/out", b"before").unwrap();
            }
            files.inject(Fault::next(operation, FaultKind::Eio).sticky().on("/out"));
            let error = export(&t, "/out", &options(format), &mut |_, _| true).unwrap_err();
            assert_eq!(error.code(), ErrorCode::Io, "{operation:?} {format:?}");
            files.clear_faults();
            let left: Vec<_> =
                files.paths().into_iter().filter(|path| !path.starts_with("/data")).collect();
            let expected: &[&Path] = if format == Format::Zds { &[] } else { &[Path::new("/out")] };
            assert_eq!(left, expected, "{operation:?} {format:?}");
        }
    }
}

#[test]
fn a_cancelled_export_leaves_nothing() {
    let (files, database) = in_memory();
    let t = database.collection("t").unwrap();
    let long = "x".repeat(300_000);
    for n in 0..3 {
        t.put_raw(&format!("d{n}"), &format!("{{\"t\":\"{long}\"}}")).unwrap();
    }
    for format in [Format::JsonLines, Format::Json, Format::Csv] {
        let error = export(&t, "/out", &options(format), &mut |_, _| false).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Cancelled);
    }
    assert!(files.paths().iter().all(|path| path.starts_with("/data")));
}
