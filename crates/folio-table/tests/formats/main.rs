//! The format: what the library writes is what `docs/formats/table-store.md` says,
//! and what earlier releases wrote still opens.
//!
//! The stored tables are made by `cargo test --release -p folio-table --test
//! formats -- --ignored` in a folder that does not exist yet, and never changed once
//! a release has been made.

mod decoder;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use decoder::{Decoder, bigint, texts};
use folio_file::{DiskFileSystem, FileSystem};
use folio_table::{IndexDefinition, Options, Snapshot, TableStore};
use folio_types::{Column, ColumnType, TableSchema, Value, ValueRef, borrowed};

/// The rows with odd numbers below this are deleted.
const ROWS: i64 = 300;

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/formats/table-v1")
}

fn open(directory: &Path) -> TableStore {
    let files: Arc<dyn FileSystem> = Arc::new(DiskFileSystem);
    let options = Options { page_size: 4096, pool_size: 1 << 20, ..Options::default() };
    TableStore::open(&files, directory, options).expect("the store opens")
}

fn note(id: i64) -> Option<String> {
    match id % 50 {
        0 => Some("long ".repeat(2000)),
        7 => None,
        _ => Some(format!("note {id} größer")),
    }
}

/// Two tables, an index, a view and a counter; half of it brought home by a
/// checkpoint, half in the log.
fn make(directory: &Path) {
    let store = open(directory);
    let mut transaction = store.begin().expect("a writer begins");
    let columns = vec![
        Column::required("id", ColumnType::Int64),
        Column::required("name", ColumnType::Text),
        Column::optional("note", ColumnType::Text),
    ];
    let schema = TableSchema::new("people", columns.clone(), vec![0]);
    let table = transaction.create_table(&schema).expect("the table can be made");
    let by_name =
        IndexDefinition { name: "by_name".into(), columns: vec![(1, false)], unique: true };
    let table = {
        transaction.create_index("people", &by_name).expect("the index can be made");
        transaction.table(&table.schema().name).expect("the table")
    };
    for id in 0..ROWS {
        let note = note(id).map_or(Value::Null, Value::Text);
        let row = [Value::Integer(id - 50), Value::Text(format!("name {id}")), note];
        transaction.insert(&table, &borrowed(&row)).expect("the row fits");
    }
    transaction.take_identities(&table, 0, 41).expect("numbers");
    transaction.commit().expect("the commit succeeds");
    assert!(store.checkpoint().expect("the checkpoint succeeds"));
    let mut transaction = store.begin().expect("a writer begins");
    for id in (1..ROWS).step_by(2) {
        let key = [ValueRef::Integer(id - 50)];
        assert!(transaction.delete(&table, &key).expect("the delete succeeds"));
    }
    transaction.create_view("names", "select name from people", false).expect("the view");
    let log = TableSchema::new("log", columns[1..].to_vec(), vec![]);
    let log = transaction.create_table(&log).expect("the table can be made");
    for text in ["a", "b", "c"] {
        let row = [ValueRef::Text(text), ValueRef::Null];
        transaction.insert(&log, &row).expect("the row fits");
    }
    transaction.commit().expect("the commit succeeds");
}

fn assert_library_reads(snapshot: &Snapshot) {
    assert_eq!(snapshot.check().expect("the check runs").problems, []);
    let table = snapshot.table("people").expect("the table");
    assert_eq!(snapshot.row_count(&table).expect("a count"), ROWS as u64 / 2);
    for id in (0..ROWS).step_by(2) {
        let row = snapshot.get(&table, &[ValueRef::Integer(id - 50)]).expect("the read succeeds");
        let values = row.expect("the row").values().expect("it is whole");
        assert_eq!(values[1], Value::Text(format!("name {id}")));
        assert_eq!(values[2], note(id).map_or(Value::Null, Value::Text));
    }
}

fn assert_decoder_reads(directory: &Path) {
    let read = |name| fs::read(directory.join(name)).expect("the file is there");
    let (data, log) = (read("tables.folio"), read("tables.folio-wal"));
    let decoder = Decoder::open(&data, &log);
    assert!(decoder.state().pages > 20 && decoder.state().free < decoder.state().pages);
    let catalog = decoder.catalog();
    assert_eq!(catalog["names"].1["view"], "select name from people");
    let (people, definition) = &catalog["people"];
    let root = |json: &serde_json::Value| json["root"].as_u64().expect("a page") as u32;
    let rows = decoder.cells(*people, root(definition));
    let expected: Vec<i64> = (0..ROWS).step_by(2).collect();
    assert_eq!(rows.len(), expected.len());
    for ((key, row), id) in rows.iter().zip(&expected) {
        assert_eq!(bigint(key), id - 50);
        assert_eq!(texts(row, &[false, true]), [Some(format!("name {id}")), note(*id)]);
    }
    let index = &definition["indexes"][0];
    let entries = decoder.cells(index["id"].as_u64().expect("a tree") as u32, root(index));
    let mut names: Vec<(String, i64)> =
        expected.iter().map(|id| (format!("name {id}"), id - 50)).collect();
    names.sort();
    for ((entry, value), (name, id)) in entries.iter().zip(&names) {
        let (text, key) = entry.split_at(entry.len() - 8);
        assert_eq!((text, bigint(key)), ([name.as_bytes(), &[0, 0]].concat().as_slice(), *id));
        assert!(value.is_empty());
    }
    assert_eq!(entries.len(), names.len());
    let statistics = decoder.statistics();
    assert_eq!(statistics[&people.to_be_bytes()[..]], ROWS / 2);
    assert_eq!(statistics[&[&people.to_be_bytes()[..], &[0, 0]].concat()], 42);
    let (log, definition) = &catalog["log"];
    let rows = decoder.cells(*log, root(definition));
    let rows: Vec<_> =
        rows.iter().map(|(key, row)| (bigint(key), texts(row, &[false, true]))).collect();
    let expected = |number, text: &str| (number, vec![Some(text.to_owned()), None]);
    assert_eq!(rows, [expected(1, "a"), expected(2, "b"), expected(3, "c")]);
}

#[test]
fn what_is_written_is_what_the_page_says() {
    let directory = tempfile::tempdir().expect("a directory");
    make(directory.path());
    assert_decoder_reads(directory.path());
    assert_library_reads(&open(directory.path()).snapshot());
}

#[test]
fn stored_tables_open_for_ever() {
    assert_decoder_reads(&fixture());
    let directory = tempfile::tempdir().expect("a directory");
    for name in ["tables.folio", "tables.folio-wal"] {
        fs::copy(fixture().join(name), directory.path().join(name)).expect("the file is there");
    }
    let store = open(directory.path());
    assert_library_reads(&store.snapshot());
    let mut transaction = store.begin().expect("a writer begins");
    transaction.drop_table("log").expect("it is dropped");
    transaction.commit().expect("the commit succeeds");
    assert!(store.checkpoint().expect("the checkpoint succeeds"));
    assert_library_reads(&store.snapshot());
}

#[test]
#[ignore = "makes the stored tables of a new format"]
fn make_the_stored_tables() {
    assert!(!fixture().exists(), "stored tables are never changed");
    fs::create_dir_all(fixture()).expect("a directory can be made");
    make(&fixture());
    fs::remove_file(fixture().join("tables.folio-lock")).expect("the lock file is there");
}
