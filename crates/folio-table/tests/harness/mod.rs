//! A store under a model: random transactions over one table, remembered as maps.
//!
//! The table has a text index, a unique one with nulls, and now and then a value
//! of several pages, so that every structure of the file takes part.
#![allow(dead_code, reason = "each test binary uses its part")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use folio_file::{FileSystem, MemoryFileSystem};
use folio_table::{
    Error, IndexDefinition, Options, Result, ScanOptions, Table, TableStore, Transaction,
};
use folio_types::{Column, ColumnType, TableSchema, Value, ValueRef, borrowed};

pub(crate) const DIRECTORY: &str = "/db";

/// A pseudo-random sequence that a seed replays.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// The rows of the table, by key.
pub(crate) type Rows = BTreeMap<i64, Vec<Value>>;

/// Everything small, so that every structure is exercised by few rows.
pub(crate) fn small_options() -> Options {
    Options {
        page_size: 4096,
        pool_size: 6 * 4096,
        checkpoint_size: 96 << 10,
        ..Options::default()
    }
}

pub(crate) fn files_with_directory() -> MemoryFileSystem {
    let files = MemoryFileSystem::new();
    files.create_directory(Path::new(DIRECTORY)).expect("it is made");
    files.sync_directory(Path::new("/")).expect("it syncs");
    files
}

pub(crate) fn open(files: &MemoryFileSystem, options: Options) -> Result<TableStore> {
    let files: Arc<dyn FileSystem> = Arc::new(files.clone());
    TableStore::open(&files, Path::new(DIRECTORY), options)
}

pub(crate) fn schema() -> TableSchema {
    let columns = vec![
        Column::required("id", ColumnType::Int64),
        Column::required("name", ColumnType::Text),
        Column::optional("number", ColumnType::Int32),
        Column::optional("body", ColumnType::Text),
    ];
    TableSchema::new("things", columns, vec![0])
}

/// Makes the table and its indexes.
pub(crate) fn create(transaction: &mut Transaction) -> Result<Arc<Table>> {
    transaction.create_table(&schema())?;
    for (name, column, unique) in [("by_name", 1, false), ("by_number", 2, true)] {
        let columns = vec![(column, false)];
        let index = IndexDefinition { name: name.to_owned(), columns, unique };
        transaction.create_index("things", &index)?;
    }
    transaction.table("things")
}

pub(crate) fn random_row(random: &mut Random, key: i64) -> Vec<Value> {
    let body = match random.below(12) {
        0 => Value::Null,
        1 => Value::Text("long ".repeat(400 + random.below(2000) as usize)),
        _ => Value::Text("b".repeat(random.below(200) as usize)),
    };
    let number = match random.below(4) {
        0 => Value::Null,
        _ => Value::Integer(random.below(400) as i64),
    };
    vec![Value::Integer(key), Value::Text(format!("name {}", random.below(50))), number, body]
}

/// One random change, made to the store and the model alike.
pub(crate) fn change(
    transaction: &mut Transaction,
    table: &Arc<Table>,
    rows: &mut Rows,
    random: &mut Random,
) -> Result<()> {
    let key = random.below(120) as i64;
    match random.below(10) {
        0..5 => {
            let row = random_row(random, key);
            let fits = !rows.contains_key(&key) && number_is_free(rows, &row, None);
            expect_conflict(transaction.insert(table, &borrowed(&row)).map(|_| ()), fits)?;
            if fits {
                rows.insert(key, row);
            }
        }
        5..7 => {
            let other = if random.below(3) == 0 { random.below(120) as i64 } else { key };
            let row = random_row(random, other);
            let exists = rows.contains_key(&key);
            let fits = (other == key || !rows.contains_key(&other))
                && number_is_free(rows, &row, Some(key));
            let result = transaction.update(table, &[ValueRef::Integer(key)], &borrowed(&row));
            if !exists {
                assert!(!result?, "there is no row {key} to update");
                return Ok(());
            }
            expect_conflict(result.map(|_| ()), fits)?;
            if fits {
                rows.remove(&key);
                rows.insert(other, row);
            }
        }
        _ => {
            let deleted = transaction.delete(table, &[ValueRef::Integer(key)])?;
            assert_eq!(deleted, rows.remove(&key).is_some(), "deleting row {key}");
        }
    }
    Ok(())
}

fn number_is_free(rows: &Rows, row: &[Value], own: Option<i64>) -> bool {
    row[2] == Value::Null
        || !rows.iter().any(|(key, other)| Some(*key) != own && other[2] == row[2])
}

fn expect_conflict(result: Result<()>, fits: bool) -> Result<()> {
    match (result, fits) {
        (Ok(()), true) | (Err(Error::Conflict { .. }), false) => Ok(()),
        (Err(error), _) => Err(error),
        (Ok(()), false) => panic!("a row that must be refused was taken"),
    }
}

/// All rows of the newest durable state; `None` before the table was made.
pub(crate) fn read_all(store: &TableStore) -> Result<Option<Rows>> {
    let snapshot = store.snapshot();
    assert_eq!(snapshot.check()?.problems, [], "damage");
    let table = match snapshot.table("things") {
        Err(Error::NotFound { .. }) => return Ok(None),
        table => table?,
    };
    let mut rows = Rows::new();
    for batch in snapshot.scan(&table, &ScanOptions::default())? {
        let batch = batch?;
        let ids = batch.column(0).as_any().downcast_ref::<arrow_array::Int64Array>();
        for id in ids.expect("ids are bigints").values() {
            let row = snapshot.get(&table, &[ValueRef::Integer(*id)])?;
            rows.insert(*id, row.expect("a row that was scanned").values()?);
        }
    }
    assert_eq!(snapshot.row_count(&table)?, rows.len() as u64, "the count of rows");
    Ok(Some(rows))
}
