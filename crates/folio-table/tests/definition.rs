//! Definitions as part of a transaction: views, truncation, identities.

use std::path::Path;
use std::sync::Arc;

use folio_file::{FileSystem, MemoryFileSystem};
use folio_table::{Error, IndexDefinition, Options, Table, TableStore, Transaction};
use folio_types::{Column, ColumnType, TableSchema, Value, ValueRef, borrowed};

const ROWS: i64 = 3000;

fn schema() -> TableSchema {
    let columns = vec![
        Column::required("id", ColumnType::Int64),
        Column::required("rank", ColumnType::Int64),
        Column::required("note", ColumnType::Text),
    ];
    TableSchema::new("t", columns, vec![0])
}

fn row(id: i64) -> Vec<Value> {
    let note = format!("{id} {}", "x".repeat(if id % 500 == 0 { 9000 } else { 20 }));
    vec![Value::Integer(id), Value::Integer(ROWS - id), Value::Text(note)]
}

/// A store with one table of [`ROWS`] rows, some of them longer than a page, and
/// a unique index.
fn store() -> TableStore {
    let files: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    files.create_directory(Path::new("db")).expect("a directory can be made");
    let options = Options { page_size: 4096, pool_size: 1 << 20, ..Options::default() };
    let store = TableStore::open(&files, Path::new("db"), options).expect("a new store opens");
    let mut transaction = store.begin().expect("a writer begins");
    let table = transaction.create_table(&schema()).expect("the table can be made");
    for id in 0..ROWS {
        transaction.insert(&table, &borrowed(&row(id))).expect("the row fits");
    }
    let columns = vec![(1, true)];
    let by_rank = IndexDefinition { name: "by_rank".into(), columns, unique: true };
    transaction.create_index("t", &by_rank).expect("the index can be made");
    transaction.commit().expect("the commit succeeds");
    store
}

fn assert_sound(store: &TableStore) {
    let report = store.snapshot().check().expect("the check runs");
    assert_eq!(report.problems, [], "{report:?}");
}

fn get(transaction: &Transaction, table: &Arc<Table>, key: i64) -> Option<Vec<Value>> {
    let row = transaction.get(table, &[ValueRef::Integer(key)]).expect("the read succeeds");
    row.map(|row| row.values().expect("the row is whole"))
}

#[test]
fn an_emptied_table_is_empty_and_its_pages_are_free() {
    let store = store();
    for keep in [false, true] {
        let mut transaction = store.begin().expect("a writer begins");
        let table = transaction.truncate_table("t").expect("it is emptied");
        assert_eq!(transaction.row_count(&table).expect("a count"), 0);
        assert_eq!(get(&transaction, &table, 1), None);
        transaction.insert(&table, &borrowed(&row(9))).expect("the row fits");
        if keep {
            transaction.commit().expect("the commit succeeds");
        }
        let snapshot = store.snapshot();
        let expected = if keep { 1 } else { ROWS as u64 };
        assert_eq!(snapshot.row_count(&table).expect("a count"), expected);
        assert_sound(&store);
    }
    let report = store.snapshot().check().expect("the check runs");
    assert!(report.free_pages > report.pages * 9 / 10, "{report:?}");
}

#[test]
fn views_share_their_names_with_tables() {
    let store = store();
    let mut transaction = store.begin().expect("a writer begins");
    transaction.create_view("Adults", "select 1", false).expect("the view can be made");
    for (name, replace) in [("ADULTS", false), ("T", false), ("t", true)] {
        let refused = transaction.create_view(name, "select 2", replace);
        assert!(matches!(refused, Err(Error::Exists { .. })), "{name}: {refused:?}");
    }
    let table = TableSchema { name: "adults".into(), ..schema() };
    assert!(matches!(transaction.create_table(&table), Err(Error::Exists { kind: "view", .. })));
    transaction.create_view("adults", "select 3", true).expect("it is replaced");
    let before = transaction.reader().catalog_version();
    transaction.commit().expect("the commit succeeds");
    let snapshot = store.snapshot();
    let views = snapshot.reader().views().expect("the views");
    assert_eq!(views.len(), 1);
    assert_eq!((&*views[0].name, &*views[0].text), ("adults", "select 3"));
    assert_eq!(snapshot.reader().catalog_version(), before);
    let mut transaction = store.begin().expect("a writer begins");
    let refused = transaction.drop_view("adult").expect_err("there is none");
    assert!(refused.to_string().contains("did you mean \"adults\"?"), "{refused}");
    transaction.drop_view("ADULTS").expect("it is dropped");
    assert_eq!(transaction.reader().view("adults").expect("a look"), None);
    drop(transaction);
    assert!(store.snapshot().reader().view("adults").expect("a look").is_some(), "rolled back");
    assert_sound(&store);
}

#[test]
fn identities_are_given_out_once_and_go_back_with_the_transaction() {
    let store = store();
    let mut transaction = store.begin().expect("a writer begins");
    let table = transaction.table("t").expect("the table");
    assert_eq!(transaction.take_identities(&table, 0, 5).expect("numbers"), 1);
    assert_eq!(transaction.take_identities(&table, 0, 1).expect("a number"), 6);
    assert_eq!(transaction.take_identities(&table, 1, 1).expect("a number"), 1, "another column");
    let savepoint = transaction.savepoint();
    transaction.take_identities(&table, 0, 100).expect("numbers");
    transaction.rollback_to(savepoint).expect("the savepoint is there");
    transaction.commit().expect("the commit succeeds");
    let mut transaction = store.begin().expect("a writer begins");
    assert_eq!(transaction.take_identities(&table, 0, 1).expect("a number"), 7);
    transaction.set_identity(&table, 0, i64::MAX).expect("the counter is set");
    assert!(transaction.take_identities(&table, 0, 1).is_err(), "none is left");
    assert!(transaction.take_identities(&table, 3, 1).is_err(), "no such column");
    transaction.drop_table("t").expect("it is dropped");
    transaction.commit().expect("the commit succeeds");
    assert_sound(&store);
}
