//! Indexes on fields: order, ranges, uniqueness, edits by hand, other processes.

#![allow(clippy::unwrap_used)] // a test that panics has failed

use std::path::Path;
use std::sync::Arc;

use folio_document::{
    Access, Collection, CollectionOptions, Error, IndexDefinition, IndexField, KeyRange,
};
use folio_file::{FileSystem, MemoryFileSystem, WriterLock};
use folio_types::{
    Bound, ColumnType, Comparison, ErrorCode, FieldCondition, FieldTest, Literal, ValueRef,
};
use serde_json::{Value, json};

#[path = "../../../conformance/random.rs"]
mod random;

use random::Random;

const DATA: &str = "/db/collections/docs/meta/data.jsonl";

fn disk() -> MemoryFileSystem {
    let files = MemoryFileSystem::new();
    files.create_directory(Path::new("/db")).unwrap();
    files
}

fn open_as(files: &MemoryFileSystem, access: Access) -> Collection {
    let files: Arc<dyn FileSystem> = Arc::new(files.clone());
    let lock = Arc::new(WriterLock::new(Arc::clone(&files), Path::new("/db/folio.lock").into()));
    let options = CollectionOptions { access, ..CollectionOptions::default() };
    Collection::open(files, Path::new("/db"), "docs", &options, lock).unwrap()
}

fn open(files: &MemoryFileSystem) -> Collection {
    open_as(files, Access::ReadWrite)
}

fn create(docs: &Collection, name: &str, fields: &[&str], unique: bool) -> Result<(), Error> {
    let definition = IndexDefinition::parse("docs", Some(name), fields, unique)?;
    docs.create_index(&definition, &mut |_, _| true)
}

fn ids(docs: &Collection, index: &str, range: KeyRange, reverse: bool) -> Vec<String> {
    let found = docs.find(index, range, reverse, None).unwrap();
    found.map(|document| document.unwrap().id().to_owned()).collect()
}

fn equal(field: &str, value: ValueRef<'_>, column_type: &ColumnType) -> KeyRange {
    let fields = [(column_type, IndexField::parse(field).unwrap().descending)];
    let values = [value];
    KeyRange::between(&fields, Bound::Included(&values), Bound::Included(&values))
}

fn text(field: &str, value: &str) -> KeyRange {
    equal(field, ValueRef::Text(value), &ColumnType::Text)
}

fn field_files(files: &MemoryFileSystem) -> Vec<std::path::PathBuf> {
    let is_field = |path: &std::path::PathBuf| path.to_string_lossy().contains("folio.field-");
    files.paths().into_iter().filter(is_field).collect()
}

#[test]
fn values_are_found_in_the_order_of_sql() {
    let files = disk();
    let docs = open(&files);
    let values = [
        ("null", json!(null)),
        ("list", json!([1])),
        ("true", json!(true)),
        ("ten", json!(10)),
        ("nine", json!(9.5)),
        ("b", json!("b")),
        ("a", json!("a")),
        ("object", json!({"x": 1})),
    ];
    for (id, value) in &values {
        docs.put(id, &json!({ "v": value })).unwrap();
    }
    docs.put("missing", &json!({})).unwrap();
    create(&docs, "by_v", &["v"], false).unwrap();
    create(&docs, "down", &["v desc"], false).unwrap();
    let order = ["a", "b", "nine", "ten", "true", "list", "object", "null", "missing"];
    assert_eq!(ids(&docs, "by_v", KeyRange::all(), false), order);
    let mut reversed = order;
    reversed.reverse();
    assert_eq!(ids(&docs, "by_v", KeyRange::all(), true), reversed);
    let down = ["null", "missing", "object", "list", "true", "ten", "nine", "b", "a"];
    assert_eq!(ids(&docs, "down", KeyRange::all(), false), down);
    assert_eq!(ids(&docs, "by_v", text("v", "b"), false), ["b"]);
    let nulls = equal("v", ValueRef::Null, &ColumnType::Text);
    assert_eq!(ids(&docs, "by_v", nulls, false), ["null", "missing"]);
    let range = KeyRange::between(
        &[(&ColumnType::Float64, false)],
        Bound::Excluded(&[ValueRef::Float(9.5)]),
        Bound::Included(&[ValueRef::Float(10.0)]),
    );
    assert_eq!(ids(&docs, "by_v", range, false), ["ten"]);
}

#[test]
fn several_fields_sort_one_after_the_other() {
    let docs = open(&disk());
    create(&docs, "both", &["a.city", "age desc"], false).unwrap();
    for (id, city, age) in [("1", "x", 1), ("2", "x", 3), ("3", "w", 2), ("4", "x", 2)] {
        docs.put(id, &json!({ "a": { "city": city }, "age": age })).unwrap();
    }
    assert_eq!(ids(&docs, "both", KeyRange::all(), false), ["3", "2", "4", "1"]);
    let fields = [(&ColumnType::Text, false), (&ColumnType::Int64, true)];
    let values = [ValueRef::Text("x"), ValueRef::Integer(2)];
    let one = KeyRange::between(&fields, Bound::Included(&values), Bound::Included(&values));
    assert_eq!(ids(&docs, "both", one, false), ["4"]);
    let prefix = [ValueRef::Text("x")];
    let all = KeyRange::between(&fields, Bound::Included(&prefix), Bound::Included(&prefix));
    assert_eq!(ids(&docs, "both", all, false), ["2", "4", "1"]);
}

/// Keys that differ only after the part that is stored.
#[test]
fn long_values_are_compared_as_a_whole() {
    let files = disk();
    let docs = open(&files);
    create(&docs, "long", &["v"], true).unwrap();
    let value = |end: &str| format!("{}{end}", "x".repeat(1000));
    for end in ["c", "a", "d", "b"] {
        docs.put(end, &json!({ "v": value(end) })).unwrap();
    }
    let mut batch = docs.batch().unwrap();
    for number in 0..6000 {
        batch.put(&format!("n{number}"), &json!({ "v": format!("y{number:05}") })).unwrap();
    }
    batch.put("e", &json!({ "v": value("e") })).unwrap();
    batch.commit().unwrap();
    assert!(!field_files(&files).is_empty());
    let docs = open(&files.kill());
    let all = ids(&docs, "long", KeyRange { from: Vec::new(), to: Some(b"\x02y".to_vec()) }, false);
    assert_eq!(all, ["a", "b", "c", "d", "e"]);
    assert_eq!(ids(&docs, "long", text("v", &value("c")), false), ["c"]);
    let (from, to) = (value("a"), value("d"));
    let range = KeyRange::between(
        &[(&ColumnType::Text, false)],
        Bound::Excluded(&[ValueRef::Text(&from)]),
        Bound::Included(&[ValueRef::Text(&to)]),
    );
    assert_eq!(ids(&docs, "long", range.clone(), true), ["d", "c", "b"]);
    assert_eq!(ids(&docs, "long", range, false), ["b", "c", "d"]);
    let taken = docs.put("f", &json!({ "v": value("b") })).unwrap_err();
    assert!(matches!(&taken, Error::Duplicate { id, .. } if id == "b"), "{taken}");
    docs.put("f", &json!({ "v": value("f") })).unwrap();
    let taken = docs.put("g", &json!({ "v": value("f") })).unwrap_err();
    assert!(matches!(&taken, Error::Duplicate { id, .. } if id == "f"), "{taken}");
}

/// Another document has the values.
fn taken(result: Result<impl std::fmt::Debug, Error>, holder: &str) {
    let error = result.unwrap_err();
    assert!(matches!(&error, Error::Duplicate { id, .. } if id == holder), "{error}");
}

fn refused(result: Result<impl std::fmt::Debug, Error>, holder: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.code(), ErrorCode::Conflict);
    let text = error.to_string();
    assert!(text.contains("by_mail") && text.contains("\"x@y\""), "{text}");
    assert!(matches!(&error, Error::Duplicate { id, .. } if id == holder), "{text}");
}

#[test]
fn a_unique_index_refuses_what_another_document_has() {
    let files = disk();
    let docs = open(&files);
    create(&docs, "by_mail", &["mail"], true).unwrap();
    let with = |mail: &str| json!({ "mail": mail });
    docs.put("a", &with("x@y")).unwrap();
    refused(docs.put("b", &with("x@y")), "a"); // pending
    docs.flush().unwrap();
    refused(docs.put_raw("b", r#"{"mail":"x@y"}"#), "a"); // in the file
    refused(docs.insert_raw(r#"{"_id":"c","mail":"x@y"}"#, String::new), "a");
    docs.put("b", &with("other")).unwrap();
    refused(docs.patch("b", &with("x@y")), "a");
    docs.put("a", &json!({ "mail": "x@y", "again": true })).unwrap();
    // A value is free as soon as its document has another, or is gone.
    docs.put("a", &with("moved")).unwrap();
    docs.put("b", &with("x@y")).unwrap();
    docs.delete("b").unwrap();
    docs.put("c", &with("x@y")).unwrap();
    // Values that are missing or null are not the same.
    for id in ["d", "e"] {
        docs.put(id, &json!({})).unwrap();
        docs.put(&format!("{id}0"), &json!({ "mail": null })).unwrap();
    }
    docs.close().unwrap();
    let docs = open(&files);
    refused(docs.put("f", &with("x@y")), "c");
    assert_eq!(docs.count().unwrap(), 6);
    assert!(docs.check(&mut |_, _| true).unwrap().is_clean());
}

#[test]
fn a_batch_is_refused_for_what_it_would_leave() {
    let docs = open(&disk());
    create(&docs, "by_mail", &["mail"], true).unwrap();
    let (x, y, z) = (json!({"mail": "x@y"}), json!({"mail": "y"}), json!({"mail": "z"}));
    docs.put_many([("a", &x), ("b", &y)]).unwrap();
    refused(docs.put_many([("c", &z), ("d", &x)]), "a");
    assert!(docs.get("c").unwrap().is_none(), "nothing of a refused batch stays");
    let swap = docs.put_many([("a", &y), ("b", &x)]).unwrap();
    assert_eq!(swap.replaced, 2, "two documents may exchange their values");
    refused(docs.put_many([("c", &z), ("f", &x)]), "b");
    let twice = docs.put_many([("c", &z), ("e", &z)]).unwrap_err();
    assert!(matches!(&twice, Error::Duplicate { id, .. } if id == "c"), "{twice}");
    docs.put_many([("c", &z), ("e", &z), ("c", &json!({}))]).unwrap();
    let mut batch = docs.batch().unwrap();
    batch.put("f", &x).unwrap();
    batch.delete("b").unwrap();
    batch.commit().unwrap();
    assert_eq!(ids(&docs, "by_mail", text("mail", "x@y"), false), ["f"]);
}

#[test]
fn a_unique_index_is_not_created_over_equal_values() {
    let files = disk();
    let docs = open(&files);
    let value = json!({"mail": "x@y"});
    docs.put_many([("a", &value), ("b", &value), ("c", &json!({})), ("d", &json!({}))]).unwrap();
    refused(create(&docs, "by_mail", &["mail"], true), "a");
    assert!(docs.indexes().unwrap().is_empty() && field_files(&files).is_empty());
    docs.delete("a").unwrap();
    create(&docs, "by_mail", &["mail"], true).unwrap();
    assert!(create(&docs, "By_Mail", &["other"], true).is_err(), "the name is taken");
}

#[test]
fn an_edit_that_breaks_uniqueness_is_reported_by_line() {
    let files = disk();
    let docs = open(&files);
    create(&docs, "by_mail", &["mail"], true).unwrap();
    docs.put("a", &json!({"mail": "x@y"})).unwrap();
    docs.put("b", &json!({"mail": "y"})).unwrap();
    docs.close().unwrap();
    files.append(DATA, b"{\"_id\":\"c\",\"mail\":\"x@y\"}\n").unwrap();
    let docs = open(&files);
    assert!(docs.get("a").unwrap().is_some() && docs.get("c").unwrap().is_some());
    assert_eq!(ids(&docs, "by_mail", text("mail", "x@y"), false), ["a", "c"]);
    let check = docs.check_index("by_mail").unwrap();
    assert!(check.is_not_unique, "{check:?}");
    let problem = &docs.check(&mut |_, _| true).unwrap().problems[0];
    for part in ["\"a\" (line 1)", "\"c\" (line 3)", "data.jsonl", "by_mail"] {
        assert!(problem.contains(part), "{problem}");
    }
    refused(docs.put("d", &json!({"mail": "x@y"})), "a");
    docs.put("c", &json!({"mail": "free"})).unwrap();
    assert!(docs.check(&mut |_, _| true).unwrap().is_clean());
}

/// Documents with a number each, many enough for files.
fn numbered(docs: &Collection, range: std::ops::Range<u64>) {
    let mut batch = docs.batch().unwrap();
    for number in range {
        let id = format!("d{number}");
        batch.put(&id, &json!({ "n": number * 7919 % 10_007, "pad": "x".repeat(40) })).unwrap();
    }
    batch.commit().unwrap();
}

fn sorted(docs: &Collection, field: &str) -> Vec<String> {
    let mut all: Vec<(i64, usize, String)> = Vec::new();
    for (place, document) in docs.scan(folio_document::Scan::new()).unwrap().enumerate() {
        let document = document.unwrap();
        let value: Value = document.to_value().unwrap();
        all.push((value[field].as_i64().unwrap_or(i64::MAX), place, document.id().to_owned()));
    }
    all.sort();
    all.into_iter().map(|(_, _, id)| id).collect()
}

#[test]
fn long_scans_go_on_as_of_their_begin() {
    let files = disk();
    let docs = open(&files);
    create(&docs, "by_n", &["n"], false).unwrap();
    for round in 0..4 {
        numbered(&docs, round * 3000..(round + 1) * 3000);
    }
    numbered(&docs, 500..900);
    assert!(field_files(&files).len() < 6, "files are merged: {:?}", field_files(&files));
    let expected = sorted(&docs, "n");
    assert_eq!(ids(&docs, "by_n", KeyRange::all(), false), expected);
    let mut found = docs.find("by_n", KeyRange::all(), true, None).unwrap();
    let mut seen: Vec<String> =
        (&mut found).take(100).map(|one| one.unwrap().id().to_owned()).collect();
    numbered(&docs, 0..3000);
    docs.delete("d5000").unwrap();
    docs.compact(&mut |_, _| true).unwrap();
    seen.extend(found.map(|one| one.unwrap().id().to_owned()));
    seen.reverse();
    assert_eq!(seen, expected);
    let limited = docs.find("by_n", KeyRange::all(), false, Some(5)).unwrap();
    assert_eq!(limited.count(), 5);
    assert_eq!(ids(&docs, "by_n", KeyRange::all(), false), sorted(&docs, "n"));
}

#[test]
fn another_process_uses_and_maintains_the_index() {
    let files = disk();
    let (docs, other) = (open(&files), open(&files));
    numbered(&docs, 0..5000);
    let reader = open_as(&files, Access::Read);
    assert_eq!(other.count().unwrap(), 0);
    other.refresh().unwrap();
    create(&docs, "by_n", &["n"], false).unwrap();
    create(&docs, "by_mail", &["mail"], true).unwrap();
    docs.put("m", &json!({"mail": "x@y"})).unwrap();
    docs.flush().unwrap();
    refused(other.put("o", &json!({"mail": "x@y"})), "m");
    numbered(&other, 5000..6000);
    reader.refresh().unwrap();
    assert_eq!(reader.indexes().unwrap().len(), 2);
    assert_eq!(ids(&reader, "by_n", KeyRange::all(), false), sorted(&reader, "n"));
    docs.drop_index("by_mail").unwrap();
    other.put("o", &json!({"mail": "x@y"})).unwrap();
    other.flush().unwrap();
    assert!(matches!(docs.drop_index("by_mail"), Err(Error::NoIndex { .. })));
    assert!(matches!(
        docs.find("by_mail", KeyRange::all(), false, None),
        Err(Error::NoIndex { .. })
    ));
    assert!(field_files(&files).iter().all(|path| path.to_string_lossy().contains("by_n")));
}

#[test]
fn without_files_a_reader_reads_the_documents() {
    let files = disk();
    let docs = open(&files);
    create(&docs, "by_n", &["n"], false).unwrap();
    numbered(&docs, 0..60_000);
    docs.close().unwrap();
    for path in field_files(&files) {
        files.remove_file(&path).unwrap();
    }
    let reader = open_as(&files, Access::Read);
    assert!(!reader.index_stats().unwrap()[0].is_ready);
    let expected = sorted(&reader, "n");
    assert_eq!(ids(&reader, "by_n", KeyRange::all(), false), expected);
    assert!(field_files(&files).is_empty(), "a reader writes nothing");
    let docs = open(&files);
    assert_eq!(ids(&docs, "by_n", KeyRange::all(), false), expected);
    assert!(!field_files(&files).is_empty(), "a writer builds it where nobody else writes");
    assert!(docs.index_stats().unwrap()[0].is_ready);
    reader.refresh().unwrap();
    assert_eq!(ids(&reader, "by_n", KeyRange::all(), false), expected);
}

#[test]
fn a_build_that_was_stopped_goes_on() {
    let files = disk();
    let docs = open(&files);
    numbered(&docs, 0..5000);
    let definition = IndexDefinition::parse("docs", Some("by_n"), &["n"], false).unwrap();
    // While it reads: nothing is left. After a piece was written: that is used.
    for (calls, left) in [(1, 0), (2, 1)] {
        let mut call = 0;
        let mut progress = |_, _| {
            call += 1;
            call < calls
        };
        let stopped = docs.create_index(&definition, &mut progress);
        assert!(matches!(stopped, Err(Error::Cancelled)));
        assert!(docs.indexes().unwrap().is_empty());
        assert_eq!(field_files(&files).len(), left);
    }
    let before = field_files(&files);
    assert_eq!(before.len(), 1);
    docs.create_index(&definition, &mut |_, _| true).unwrap();
    assert_eq!(field_files(&files), before, "what was there is used");
    assert_eq!(ids(&docs, "by_n", KeyRange::all(), false), sorted(&docs, "n"));
}

/// Every kind of edit, on files that were written before.
#[test]
fn edits_by_hand_are_found() {
    let mut random = Random::new(7);
    for _ in 0..60 {
        let files = disk();
        let docs = open(&files);
        create(&docs, "by_n", &["n"], false).unwrap();
        numbered(&docs, 0..3000);
        docs.put("later", &json!({"n": 77})).unwrap();
        docs.close().unwrap();
        let mut lines: Vec<String> = String::from_utf8(files.read(DATA).unwrap())
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect();
        let at = random.below(lines.len());
        match random.below(6) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, format!("{{\"_id\":\"new\",\"n\":{}}}", random.below(9999))),
            2 => lines[at] = lines[at].replace("\"n\":", "\"n\":1"),
            3 => lines.truncate(at + 1),
            4 => lines[at] = "nonsense".to_owned(),
            _ => lines.push(lines[at].replace("\"n\":", "\"n\":2")),
        }
        let end = if random.once_in(2) { "\n" } else { "" };
        files.write(DATA, (lines.join("\n") + end).as_bytes()).unwrap();
        let reader = open_as(&files, Access::Read);
        assert_eq!(ids(&reader, "by_n", KeyRange::all(), false), sorted(&reader, "n"));
        docs_after_edit(&files);
    }
}

fn docs_after_edit(files: &MemoryFileSystem) {
    let docs = open(files);
    assert_eq!(ids(&docs, "by_n", KeyRange::all(), true).len(), docs.count().unwrap() as usize);
    docs.put("again", &json!({"n": 5})).unwrap();
    docs.flush().unwrap();
    assert_eq!(ids(&docs, "by_n", KeyRange::all(), false), sorted(&docs, "n"));
    let check = docs.check_index("by_n").unwrap();
    assert!(check.problems.is_empty() && !check.is_behind, "{check:?}");
    docs.close().unwrap();
    let again = open(files);
    assert!(again.index_stats().unwrap()[0].is_ready);
    assert_eq!(ids(&again, "by_n", KeyRange::all(), false), sorted(&again, "n"));
}

#[test]
fn every_flipped_byte_of_a_file_is_noticed() {
    let files = disk();
    let docs = open(&files);
    create(&docs, "by_n", &["n"], false).unwrap();
    numbered(&docs, 0..3000);
    docs.close().unwrap();
    let expected = sorted(&open(&files), "n");
    let path = field_files(&files).remove(0);
    let size = files.read(&path).unwrap().len();
    let step = if std::env::var_os("FOLIO_DEEP").is_some() { 1 } else { 997 };
    for place in (0..size).step_by(step) {
        let damaged = files.kill();
        damaged.flip_bit(&path, place as u64 * 8 + place as u64 % 8).unwrap();
        let reader = open_as(&damaged, Access::Read);
        assert_eq!(ids(&reader, "by_n", KeyRange::all(), false), expected, "{place} of {size}");
        let docs = open(&damaged);
        assert_eq!(ids(&docs, "by_n", KeyRange::all(), false), expected, "{place} of {size}");
        docs.put("d1", &json!({"n": 1})).unwrap();
        docs.close().unwrap();
        let again = open(&damaged);
        assert!(again.check(&mut |_, _| true).unwrap().is_clean(), "{place} of {size}");
        assert_eq!(ids(&again, "by_n", KeyRange::all(), false), sorted(&again, "n"));
    }
}

#[test]
fn a_list_has_an_entry_for_each_element() {
    let files = disk();
    let docs = open(&files);
    create(&docs, "tags", &["tags[]"], false).unwrap();
    create(&docs, "names", &["names[]", "n"], true).unwrap();
    let long = "y".repeat(1000);
    let twins = json!([format!("{long}1"), format!("{long}2"), "x"]);
    docs.put("a", &json!({"tags": ["x", "y", "x", null, 1]})).unwrap();
    docs.put("b", &json!({"tags": "x"})).unwrap();
    docs.put("c", &json!({"tags": [1.0, ["x"]]})).unwrap();
    docs.put("d", &json!({ "tags": twins })).unwrap();
    for round in 0..3 {
        assert_eq!(ids(&docs, "tags", text("tags", "x"), false), ["a", "d"], "{round}");
        let one = equal("tags", ValueRef::Float(1.0), &ColumnType::Float64);
        assert_eq!(ids(&docs, "tags", one, false), ["a", "c"], "{round}");
        assert_eq!(ids(&docs, "tags", text("tags", &format!("{long}2")), true), ["d"], "{round}");
        assert_eq!(ids(&docs, "tags", text("tags", &long), false).len(), 0, "{round}");
        assert_eq!(docs.check_index("tags").unwrap().problems, Vec::<String>::new());
        assert_eq!(docs.check_index("tags").unwrap().entry_count, 3 + 2 + 2);
        let mut batch = docs.batch().unwrap();
        for number in 0..4000 {
            batch.put(&format!("n{number}"), &json!({"tags": [format!("t{number}")]})).unwrap();
        }
        batch.commit().unwrap();
        for number in 0..4000 {
            docs.delete(&format!("n{number}")).unwrap();
        }
        docs.flush().unwrap();
        assert!(!field_files(&files).is_empty());
    }
    docs.put("e", &json!({"names": ["p", "q", "p"], "n": 1})).unwrap();
    docs.put("e", &json!({"names": ["q", "p"], "n": 1})).unwrap();
    let refused = docs.put("f", &json!({"names": ["r", "q"], "n": 1}));
    assert!(refused.as_ref().unwrap_err().to_string().contains("\"q\", 1"), "{refused:?}");
    taken(refused, "e");
    docs.put("f", &json!({"names": ["r", "q"], "n": 2})).unwrap();
    docs.put("g", &json!({"names": ["r", "q"]})).unwrap();
    docs.put("h", &json!({"names": ["r", "q"]})).unwrap();
    let mut batch = docs.batch().unwrap();
    batch.put("i", &json!({"names": ["s", &long], "n": 3})).unwrap();
    batch.put("j", &json!({"names": ["t", format!("{long}1")], "n": 3})).unwrap();
    batch.put("k", &json!({"names": ["t", "s"], "n": 4})).unwrap();
    batch.put("l", &json!({"names": ["u", &long], "n": 3})).unwrap();
    taken(batch.commit(), "i");
}

#[test]
fn a_partial_index_has_the_documents_that_meet_its_conditions() {
    let files = disk();
    let docs = open(&files);
    let condition = |path: &str, test| FieldCondition { path: vec![path.to_owned()], test };
    let literal = || Literal::Boolean(true);
    let definition = IndexDefinition {
        conditions: vec![
            condition("active", FieldTest::Compare(Comparison::Equal, literal())),
            condition("n", FieldTest::NotNull),
        ],
        ..IndexDefinition::parse("docs", Some("mail"), &["mail"], true).unwrap()
    };
    docs.create_index(&definition, &mut |_, _| true).unwrap();
    let document = |active: bool, n: Option<u64>| json!({"mail": "x", "active": active, "n": n});
    docs.put("a", &document(true, Some(1))).unwrap();
    docs.put("b", &document(false, Some(1))).unwrap();
    docs.put("c", &document(true, None)).unwrap();
    taken(docs.put("d", &document(true, Some(2))), "a");
    assert_eq!(ids(&docs, "mail", KeyRange::all(), false), ["a"]);
    docs.put("a", &document(false, Some(1))).unwrap();
    docs.put("d", &document(true, Some(2))).unwrap();
    docs.flush().unwrap();
    drop(docs);
    let docs = open(&files.kill());
    assert_eq!(*docs.indexes().unwrap(), [definition]);
    assert_eq!(ids(&docs, "mail", KeyRange::all(), false), ["d"]);
    taken(docs.put("b", &document(true, Some(3))), "d");
    assert_eq!(docs.check_index("mail").unwrap().entry_count, 1);
    let mut batch = docs.batch().unwrap();
    batch.put("d", &document(false, Some(2))).unwrap();
    batch.put("b", &document(true, Some(3))).unwrap();
    batch.commit().unwrap();
    assert_eq!(ids(&docs, "mail", KeyRange::all(), false), ["b"]);
}

/// Three long values, the first and the last of which are equal.
#[test]
fn equal_long_values_need_not_follow_each_other_in_a_batch() {
    let docs = open(&disk());
    create(&docs, "long", &["v"], true).unwrap();
    let value = |end: &str| format!("{}{end}", "x".repeat(1000));
    let mut batch = docs.batch().unwrap();
    for (id, end) in [("a", "1"), ("b", "2"), ("c", "1")] {
        batch.put(id, &json!({ "v": value(end) })).unwrap();
    }
    taken(batch.commit(), "a");
}
