//! The format: the library's files match `docs/formats/table-store.md`, and files of earlier
//! releases still open.
//!
//! `cargo test --release -p folio-table --test formats -- --ignored` creates the stored tables in a
//! new folder. They are never changed after a release.

mod decoder;
mod values;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use decoder::{Decoder, bigint, texts};
use folio_file::{DiskFileSystem, FileSystem};
use folio_table::{IndexDefinition, Options, Snapshot, TableStore};
use folio_types::{Column, ColumnType, Interval, TableSchema, Value, ValueRef, borrowed};
use serde_json::{Value as Json, json};
use values::digits;

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

/// Two tables, an index, a view and a counter; half of it in the data file after a
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

/// A column of each type, most of them twice: once nullable.
fn types() -> Vec<ColumnType> {
    let list = |ty: ColumnType| ColumnType::List(Box::new(ty));
    let fields = vec![
        ("a".to_owned(), ColumnType::Int32),
        ("b".to_owned(), ColumnType::Text),
        ("c".to_owned(), list(ColumnType::Int64)),
    ];
    vec![
        ColumnType::Boolean,
        ColumnType::Int16,
        ColumnType::Int32,
        ColumnType::Int64,
        ColumnType::Float32,
        ColumnType::Float64,
        ColumnType::Decimal { precision: 38, scale: 2 },
        ColumnType::Text,
        ColumnType::Binary,
        ColumnType::Json,
        ColumnType::Uuid,
        ColumnType::Date,
        ColumnType::Time,
        ColumnType::Timestamp { utc: true },
        ColumnType::Interval,
        list(ColumnType::Int64),
        list(ColumnType::Int16),
        list(ColumnType::Date),
        list(ColumnType::Uuid),
        list(ColumnType::Float64),
        list(ColumnType::Boolean),
        list(ColumnType::Text),
        list(list(ColumnType::Int32)),
        list(ColumnType::Struct(fields.clone())),
        ColumnType::Struct(fields),
    ]
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let state = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let state = (state ^ (state >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        state ^ (state >> 31)
    }

    fn below(&mut self, end: u64) -> usize {
        (self.next() % end) as usize
    }

    /// An integer of at most this number of bits, often of few.
    fn integer(&mut self, bits: u32) -> i64 {
        let number = self.next() as i64;
        number >> (64 - bits) >> self.below(u64::from(bits))
    }

    fn value(&mut self, ty: &ColumnType) -> Value {
        match ty {
            ColumnType::Boolean => Value::Boolean(self.below(2) == 1),
            ColumnType::Int16 => Value::Integer(self.integer(16)),
            ColumnType::Int32 => Value::Integer(self.integer(32)),
            ColumnType::Int64 => Value::Integer(self.integer(64)),
            ColumnType::Float32 => Value::Float(self.integer(20) as f64 / 4.0),
            ColumnType::Float64 => Value::Float(self.integer(40) as f64 / 8.0),
            ColumnType::Decimal { .. } => Value::Decimal(i128::from(self.integer(64)) << 20),
            ColumnType::Binary => {
                Value::Bytes((0..self.below(5)).map(|_| [0, 1, 255][self.below(3)]).collect())
            }
            ColumnType::Json => Value::Text(format!("{{\"n\":{}}}", self.below(999))),
            ColumnType::Uuid => Value::Uuid(u128::from(self.next()).to_be_bytes()),
            ColumnType::Date => Value::Date(self.integer(20) as i32),
            ColumnType::Time => Value::Time(self.integer(36).abs()),
            ColumnType::Timestamp { .. } => Value::Timestamp(self.integer(50)),
            ColumnType::Interval => Value::Interval(Interval {
                months: self.integer(16) as i32,
                days: self.integer(16) as i32,
                nanoseconds: self.integer(50),
            }),
            ColumnType::List(element) => {
                let count = [0, 1, 3, 9, 300][self.below(5)];
                let some_null = self.below(2) == 1;
                let mut item = |_| match some_null && self.below(3) == 0 {
                    true => Value::Null,
                    false => self.value(element),
                };
                Value::List((0..count).map(&mut item).collect())
            }
            ColumnType::Struct(fields) => {
                let mut field = |(_, ty): &(String, ColumnType)| match self.below(4) {
                    0 => Value::Null,
                    _ => self.value(ty),
                };
                Value::Struct(fields.iter().map(&mut field).collect())
            }
            _ => Value::Text(
                (0..self.below(40)).map(|_| ['a', '\0', 'ß', '漢'][self.below(4)]).collect(),
            ),
        }
    }
}

/// A value as the decoder shows it.
fn shown(value: &Value, ty: &ColumnType) -> Json {
    match (value, ty) {
        (Value::Null, _) => Json::Null,
        (Value::Boolean(value), _) => json!(value),
        (Value::Integer(value) | Value::Time(value) | Value::Timestamp(value), _) => json!(value),
        (Value::Float(value), ColumnType::Float32) => json!(*value as f32),
        (Value::Float(value), _) => json!(value),
        (Value::Decimal(digits), _) => json!(digits.to_string()),
        (Value::Text(text), _) => json!(text),
        (Value::Bytes(bytes), _) => json!(digits(bytes)),
        (Value::Uuid(bytes), _) => json!(digits(bytes)),
        (Value::Date(day), _) => json!(day),
        (Value::Interval(span), _) => json!([span.months, span.days, span.nanoseconds]),
        (Value::List(items), ColumnType::List(element)) => {
            items.iter().map(|item| shown(item, element)).collect()
        }
        (Value::Struct(items), ColumnType::Struct(fields)) => {
            items.iter().zip(fields).map(|(item, (_, ty))| shown(item, ty)).collect()
        }
        (value, ty) => panic!("{value:?} as {ty:?}"),
    }
}

/// Rows of all types under a key of several columns, and indexes of every kind.
fn fill_wide(store: &TableStore) -> (TableSchema, Vec<Vec<Value>>) {
    let mut columns = vec![
        Column::required("k0", ColumnType::Int64),
        Column::required("k1", ColumnType::Int64),
        Column::required("k2", ColumnType::Text),
        Column::required("k3", ColumnType::Int16),
        Column::required("k4", ColumnType::Date),
    ];
    for (at, ty) in types().into_iter().enumerate() {
        columns.push(Column::optional(format!("n{at}"), ty.clone()));
        columns.push(Column::required(format!("r{at}"), ty));
    }
    let schema = TableSchema::new("wide", columns, vec![0, 1, 2, 3, 4]);
    let mut transaction = store.begin().expect("a writer begins");
    let table = transaction.create_table(&schema).expect("the table can be made");
    // Scalars, both kinds, in either direction; two columns; columns of the key.
    let mut indexes: Vec<Vec<(usize, bool)>> = Vec::new();
    for at in (0..types().len()).filter(|at| {
        !matches!(
            types()[*at],
            ColumnType::Json | ColumnType::Interval | ColumnType::List(_) | ColumnType::Struct(_)
        )
    }) {
        indexes.extend([vec![(5 + 2 * at, at % 2 == 0)], vec![(6 + 2 * at, at % 2 == 1)]]);
    }
    indexes.extend([
        vec![(1, false)],
        vec![(2, false), (1, true)],
        vec![(4, false), (0, false)],
        vec![(7, true), (3, false), (12, false)],
    ]);
    for (number, columns) in indexes.into_iter().enumerate() {
        let index = IndexDefinition { name: format!("i{number}"), columns, unique: false };
        transaction.create_index("wide", &index).expect("the index can be made");
    }
    let table = transaction.table(&table.schema().name).expect("the table");
    let (mut random, mut rows) = (Random(1), Vec::<Vec<Value>>::new());
    // Narrow integers at the limits of each number of bytes.
    let edges = (0..63).map(|bits| 1i64 << bits);
    let edges = edges.flat_map(|edge| [edge, edge - 1, !edge, -edge]);
    let edges: Vec<i64> = edges.chain([0, 111, 112, -112, -113, i64::MIN, i64::MAX]).collect();
    for number in 0..400 {
        let row = schema.columns.iter().enumerate().map(|(at, column)| match at {
            0 => Value::Integer(number),
            1 => Value::Integer(edges[number as usize % edges.len()]),
            _ if column.nullable && random.below(3) == 0 => Value::Null,
            _ => random.value(&column.column_type),
        });
        rows.push(row.collect());
        transaction.insert(&table, &borrowed(&rows[rows.len() - 1])).expect("the row fits");
    }
    transaction.commit().expect("the commit succeeds");
    (schema, rows)
}

#[test]
fn rows_keys_and_entries_are_what_the_page_says() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = open(directory.path());
    let (schema, rows) = fill_wide(&store);
    drop(store);
    let read = |name| fs::read(directory.path().join(name)).expect("the file is there");
    let (data, log) = (read("tables.folio"), read("tables.folio-wal"));
    let decoder = Decoder::open(&data, &log);
    let (wide, definition) = &decoder.catalog()["wide"];
    let root = |json: &Json| json["root"].as_u64().expect("a page") as u32;
    let cells = decoder.cells(*wide, root(definition));
    assert_eq!(cells.len(), rows.len());
    let shown_row = |row: &Vec<Value>| {
        let values = row.iter().zip(&schema.columns);
        values.map(|(value, column)| shown(value, &column.column_type)).collect::<Vec<Json>>()
    };
    let expected: Vec<Vec<Json>> = rows.iter().map(shown_row).collect();
    for ((key, row), expected) in cells.iter().zip(&expected) {
        let key = values::key(definition, key).into_iter().map(|(_, value)| value);
        let found: Vec<Json> = key.chain(values::row(definition, row)).collect();
        for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
            assert_eq!(found, expected, "column {at}: {}", definition["columns"][at]);
        }
        assert_eq!(found.len(), expected.len());
    }
    let indexes = definition["indexes"].as_array().expect("indexes");
    assert!(indexes.len() > 25, "{} indexes", indexes.len());
    for index in indexes {
        let tree = index["id"].as_u64().expect("a tree") as u32;
        let entries = decoder.cells(tree, root(index));
        assert_eq!(entries.len(), rows.len(), "{}", index["name"]);
        let mut seen = Vec::new();
        for (entry, value) in &entries {
            assert!(value.is_empty());
            // Each column of the entry equals that of the row with its key.
            let found = values::entry(definition, index, entry);
            let number = found.iter().find(|(column, _)| *column == 0).expect("the key");
            let row = number.1.as_u64().expect("a number") as usize;
            for (column, value) in &found {
                assert_eq!(*value, expected[row][*column], "{} of {row}", index["name"]);
            }
            seen.push(row);
        }
        seen.sort_unstable();
        assert!(seen.iter().copied().eq(0..rows.len()), "{}", index["name"]);
    }
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
