//! Rows inserted many at a time: equal to one by one, and the placement of their pages.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use folio_file::{DiskFileSystem, FileSystem};
use folio_table::{Error, IndexDefinition, Options, Synchronous, Table, TableStore, Transaction};
use folio_types::{Column, ColumnType, TableSchema, Value, ValueRef};

fn open(directory: &Path) -> TableStore {
    let files: Arc<dyn FileSystem> = Arc::new(DiskFileSystem);
    let synchronous = Synchronous::Normal;
    let options =
        Options { page_size: 4096, pool_size: 1 << 20, synchronous, ..Options::default() };
    TableStore::open(&files, directory, options).expect("the store opens")
}

/// A table with a text, a number that is unique, and an index that is not.
fn make(transaction: &mut Transaction) -> Arc<Table> {
    let columns = vec![
        Column::required("id", ColumnType::Int64),
        Column::required("name", ColumnType::Text),
        Column::optional("number", ColumnType::Int64),
    ];
    let schema = TableSchema::new("people", columns, vec![0]);
    transaction.create_table(&schema).expect("the table can be made");
    for (name, column, unique) in [("by_name", 1, false), ("by_number", 2, true)] {
        let index = IndexDefinition { name: name.into(), columns: vec![(column, false)], unique };
        transaction.create_index("people", &index).expect("the index can be made");
    }
    transaction.table("people").expect("the table")
}

fn row(id: i64) -> [Value; 3] {
    let number = if id % 7 == 0 { Value::Null } else { Value::Integer(id * 31 % 100_003) };
    [Value::Integer(id), Value::Text(format!("name {} of many", id % 50)), number]
}

fn insert(
    transaction: &mut Transaction,
    table: &Arc<Table>,
    ids: impl Iterator<Item = i64>,
) -> Result<(), (usize, Error)> {
    let rows: Vec<[Value; 3]> = ids.map(row).collect();
    let values: Vec<ValueRef<'_>> = rows.iter().flatten().map(Value::as_ref).collect();
    transaction.insert_many(table, &values)
}

/// The existing ids. Checks every row and the store.
fn ids(store: &TableStore) -> Vec<i64> {
    let snapshot = store.snapshot();
    assert_eq!(snapshot.check().expect("the check runs").problems, []);
    let table = snapshot.table("people").expect("the table");
    let mut found = Vec::new();
    for id in 0..40_000 {
        let Some(stored) = snapshot.get(&table, &[ValueRef::Integer(id)]).expect("it reads") else {
            continue;
        };
        assert_eq!(stored.values().expect("it is whole"), row(id));
        found.push(id);
    }
    assert_eq!(snapshot.row_count(&table).expect("a count"), found.len() as u64);
    found
}

#[test]
fn rows_in_any_order_are_there() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = open(directory.path());
    let mut transaction = store.begin().expect("a writer begins");
    let table = make(&mut transaction);
    insert(&mut transaction, &table, (0..2000).rev()).expect("they fit");
    insert(&mut transaction, &table, (2000..4000).map(|id| 2000 + id * 7 % 2000))
        .expect("they fit");
    insert(&mut transaction, &table, std::iter::empty()).expect("nothing fits");
    transaction.commit().expect("the commit succeeds");
    assert_eq!(ids(&store), (0..4000).collect::<Vec<_>>());
}

#[test]
fn a_row_that_is_refused_is_named() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = open(directory.path());
    let mut transaction = store.begin().expect("a writer begins");
    let table = make(&mut transaction);
    insert(&mut transaction, &table, 10..20).expect("they fit");
    for (given, position) in [(vec![1, 2, 15, 3], 2), (vec![30, 31, 30], 2), (vec![19], 0)] {
        let savepoint = transaction.savepoint();
        let refused = insert(&mut transaction, &table, given.into_iter());
        let (at, error) = refused.expect_err("a key is taken");
        assert!(matches!(error, Error::Conflict { .. }), "{error}");
        assert_eq!(at, position);
        assert!(insert(&mut transaction, &table, 50..51).is_err(), "it has to go back first");
        transaction.rollback_to(savepoint).expect("it goes back");
    }
    // 11 and 11 + 100,003 have the same number.
    let savepoint = transaction.savepoint();
    let refused = insert(&mut transaction, &table, [40, 100_014, 41].into_iter());
    let (at, error) = refused.expect_err("a number is taken");
    assert!(matches!(&error, Error::Conflict { constraint } if constraint == "by_number"));
    assert_eq!(at, 1);
    transaction.rollback_to(savepoint).expect("it goes back");
    transaction.commit().expect("the commit succeeds");
    assert_eq!(ids(&store), (10..20).collect::<Vec<_>>());
}

#[test]
fn full_pages_go_home_and_savepoints_return() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = open(directory.path());
    let mut transaction = store.begin().expect("a writer begins");
    let table = make(&mut transaction);
    for part in 0..20 {
        insert(&mut transaction, &table, part * 1000..(part + 1) * 1000).expect("they fit");
        let savepoint = transaction.savepoint();
        // Fills the half full page, writes it early, and undoes that.
        insert(&mut transaction, &table, 30_000..30_800).expect("they fit");
        if part % 2 == 0 {
            let key = [ValueRef::Integer(part * 1000 + 500)];
            assert!(
                transaction.delete(&table, &key).expect("it reads"),
                "a page that was written changes"
            );
        }
        transaction.rollback_to(savepoint).expect("it goes back");
        transaction.release(savepoint).expect("it is there");
    }
    let size = |name| fs::metadata(directory.path().join(name)).expect("the file is there").len();
    assert!(size("tables.folio") > 500_000, "{} bytes in the data file", size("tables.folio"));
    // Data before the commit is not part of the database.
    let copy = tempfile::tempdir().expect("a directory");
    for name in ["tables.folio", "tables.folio-wal"] {
        fs::copy(directory.path().join(name), copy.path().join(name)).expect("it can be copied");
    }
    assert!(open(copy.path()).snapshot().table("people").is_err(), "nothing was committed");
    transaction.commit().expect("the commit succeeds");
    assert_eq!(ids(&store), (0..20_000).collect::<Vec<_>>());
    drop(store);
    assert_eq!(ids(&open(directory.path())), (0..20_000).collect::<Vec<_>>());
}

/// Index entries that ascend in five places leave full pages.
#[test]
fn an_index_of_a_few_values_fills_its_pages() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = open(directory.path());
    let mut transaction = store.begin().expect("a writer begins");
    let columns =
        vec![Column::required("id", ColumnType::Int64), Column::required("kind", ColumnType::Text)];
    transaction.create_table(&TableSchema::new("things", columns, vec![0])).expect("it can be");
    let index =
        IndexDefinition { name: "by_kind".into(), columns: vec![(1, false)], unique: false };
    transaction.create_index("things", &index).expect("the index can be made");
    let table = transaction.table("things").expect("the table");
    for batch in 0..30 {
        let ids = (0..1000).map(|id| batch * 1000 + id);
        let row = |id| {
            [ValueRef::Integer(id), ValueRef::Text(["a", "b", "c", "d", "e"][id as usize % 5])]
        };
        transaction.insert_many(&table, &ids.flat_map(row).collect::<Vec<_>>()).expect("they fit");
    }
    transaction.commit().expect("the commit succeeds");
    let free = || store.snapshot().check().expect("the check runs").free_pages;
    // The pages of the index after growing, and after building.
    let pages = [(); 2].map(|()| {
        let before = free();
        let mut transaction = store.begin().expect("a writer begins");
        transaction.drop_index("by_kind").expect("it goes");
        transaction.commit().expect("the commit succeeds");
        let pages = free() - before;
        let mut transaction = store.begin().expect("a writer begins");
        transaction.create_index("things", &index).expect("the index can be made");
        transaction.commit().expect("the commit succeeds");
        pages
    });
    assert!(pages[1] > 30 && pages[0] * 4 < pages[1] * 5, "{pages:?}");
}

/// Batches larger than their leaves, some with duplicates of unique values.
#[test]
fn many_entries_enter_few_leaves() {
    for seed in 0..8 {
        let directory = tempfile::tempdir().expect("a directory");
        let store = open(directory.path());
        let mut transaction = store.begin().expect("a writer begins");
        let table = make(&mut transaction);
        let by_name =
            IndexDefinition { name: "names".into(), columns: vec![(1, false)], unique: true };
        transaction.create_index("people", &by_name).expect("the index can be made");
        let table = transaction.table(&table.schema().name).expect("the table");
        let mut random = Random(seed);
        let (mut names, mut next_id) = (BTreeSet::new(), 0);
        for _ in 0..14 {
            let most = [30, 400, 1500][random.below(3)];
            let count = 1 + random.below(most);
            let mut own = Vec::new();
            while own.len() < count {
                let name = random.name();
                if names.insert(name.clone()) {
                    own.push(name);
                }
            }
            let repeated = (random.below(3) == 0)
                .then(|| names.iter().nth(random.below(names.len())).expect("a name").clone());
            let rows = own.iter().chain(&repeated).zip(next_id..);
            let rows: Vec<[Value; 3]> = rows
                .map(|(name, id)| [Value::Integer(id), Value::Text(name.clone()), Value::Null])
                .collect();
            next_id += count as i64;
            let values: Vec<ValueRef<'_>> = rows.iter().flatten().map(Value::as_ref).collect();
            let savepoint = transaction.savepoint();
            let done = transaction.insert_many(&table, &values);
            match &done {
                Err((at, Error::Conflict { constraint }))
                    if repeated.is_some() && constraint == "names" =>
                {
                    assert_eq!(*at, count, "seed {seed}");
                    transaction.rollback_to(savepoint).expect("it goes back");
                    own.iter().for_each(|name| assert!(names.remove(name)));
                }
                _ => assert!(done.is_ok() && repeated.is_none(), "seed {seed}: {done:?}"),
            }
            transaction.release(savepoint).expect("it is there");
        }
        transaction.commit().expect("the commit succeeds");
        let snapshot = store.snapshot();
        assert_eq!(snapshot.check().expect("the check runs").problems, [], "seed {seed}");
        assert_eq!(snapshot.row_count(&table).expect("a count"), names.len() as u64);
    }
}

/// SplitMix64 (Steele, Lea and Flood 2014).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % end as u64) as usize
    }

    /// A name of any size an index accepts, which may share a prefix with others.
    fn name(&mut self) -> String {
        let start = ["", "a", "a name that is long enough to be a prefix ", "b\0"][self.below(4)];
        let size = [3, 10, 200][self.below(3)];
        let letters = (0..self.below(size)).map(|_| ['a', 'b', '\0', 'é'][self.below(4)]);
        let letters: String = letters.collect();
        format!("{start}{letters}")
    }
}
