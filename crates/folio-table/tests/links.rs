//! Rows like those of links: keys of two columns, indexes over parts of them, and lists. Reads by
//! key, index and scan are compared with a model.

mod memory;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, RecordBatch};
use folio_table::{IndexDefinition, ScanOptions, Table, TableStore};
use folio_types::{Column, ColumnType, TableSchema, Value, ValueRef, borrowed};
use memory::store;

/// Numbers that need one byte in a key, or more.
const POSITIONS: [i64; 9] = [0, 1, 111, 112, -1, -113, 300, 70_000, i64::MIN];
const SOURCES: u8 = 40;

type Model = BTreeMap<(u8, i64), Vec<Value>>;

fn schema() -> TableSchema {
    let list = |element| ColumnType::List(Box::new(element));
    let columns = vec![
        Column::required("source", ColumnType::Uuid),
        Column::required("position", ColumnType::Int64),
        Column::required("target", ColumnType::Uuid),
        Column::optional("numbers", list(ColumnType::Int32)),
        Column::required("words", list(ColumnType::Text)),
    ];
    TableSchema::new("links", columns, vec![0, 1])
}

/// An index without key columns, one whose columns have another encoding, one with both.
fn indexes() -> [IndexDefinition; 3] {
    let index = |name: &str, columns: &[(usize, bool)], unique| IndexDefinition {
        name: name.to_owned(),
        columns: columns.to_vec(),
        unique,
    };
    [
        index("by_target", &[(2, false), (0, false), (1, false)], true),
        index("last_first", &[(1, true), (0, true)], false),
        index("by_source", &[(2, false), (0, false)], false),
    ]
}

fn uuid(number: u8) -> Value {
    Value::Uuid([[7; 8], [number; 8]].concat().try_into().expect("sixteen bytes"))
}

fn row(source: u8, position: i64) -> Vec<Value> {
    let seed = usize::from(source) + position.unsigned_abs() as usize % 1000;
    let number = |at: usize| match (seed + at) % 7 {
        0 => Value::Null,
        1 => Value::Integer(i32::MIN.into()),
        2 | 3 => Value::Integer(-129),
        other => Value::Integer(other as i64),
    };
    // Most lists have no nulls, and small numbers.
    let numbers = match seed % 5 {
        0 => Value::Null,
        1 => Value::List((0..300).map(|at| number(at % 3 + 7)).collect()),
        2 => Value::List((0..seed % 4).map(number).collect()),
        size => Value::List((0..size as i64).map(Value::Integer).collect()),
    };
    let words = (0..seed % 3).map(|at| Value::Text("w".repeat(at))).collect();
    let target = uuid((seed % 5) as u8);
    vec![uuid(source), Value::Integer(position), target, numbers, Value::List(words)]
}

/// The rows of a batch of all columns.
fn rows_of(batch: &RecordBatch) -> Vec<Vec<Value>> {
    let bytes = |column: usize, row: usize| {
        let array = batch.column(column).as_fixed_size_binary();
        Value::Uuid(array.value(row).try_into().expect("sixteen bytes"))
    };
    let numbers = |row: usize| {
        let list = batch.column(3).as_list::<i32>();
        let items = list.is_valid(row).then(|| list.value(row));
        let value = |number: Option<i32>| number.map_or(Value::Null, |n| Value::Integer(n.into()));
        items.map_or(Value::Null, |items| {
            Value::List(items.as_primitive::<Int32Type>().iter().map(value).collect())
        })
    };
    let words = |row: usize| {
        let items = batch.column(4).as_list::<i32>().value(row);
        let items = items.as_string::<i32>().iter();
        Value::List(items.map(|word| Value::from(word.expect("a word"))).collect())
    };
    let positions = batch.column(1).as_primitive::<Int64Type>();
    let row = |row: usize| {
        let position = Value::Integer(positions.value(row));
        vec![bytes(0, row), position, bytes(2, row), numbers(row), words(row)]
    };
    (0..batch.num_rows()).map(row).collect()
}

fn assert_same(store: &TableStore, table: &Arc<Table>, model: &Model) {
    let snapshot = store.snapshot();
    assert_eq!(snapshot.check().expect("the check runs").problems, []);
    let all: Vec<Vec<Value>> = model.values().cloned().collect();
    let batches = snapshot.scan(table, &ScanOptions::default()).expect("a scan begins");
    let found = batches.flat_map(|batch| rows_of(&batch.expect("it reads")));
    assert!(found.eq(all.iter().cloned()), "rows in the order of their keys");
    for row in &all {
        let found = snapshot.get(table, &borrowed(&row[..2])).expect("it reads");
        assert_eq!(&found.expect("the row").values().expect("it is whole"), row);
    }
    for (number, index) in table.indexes().iter().enumerate() {
        let options = ScanOptions { index: Some(index), ..ScanOptions::default() };
        let batches = snapshot.scan(table, &options).expect("a scan begins");
        let mut found: Vec<_> = batches.flat_map(|batch| rows_of(&batch.expect("it"))).collect();
        found.sort_by_key(|row| all.iter().position(|known| known == row));
        assert_eq!(found, all, "by {}", index.name);
        // Columns of the entries.
        let projection = [1, 0];
        let options = ScanOptions { projection: Some(&projection), ..options };
        let batches = snapshot.scan(table, &options).expect("a scan begins");
        let count: usize = batches.map(|batch| batch.expect("it reads").num_rows()).sum();
        assert_eq!(count, all.len(), "entries of {number}");
    }
    let reader = snapshot.reader();
    let keys: Vec<Value> = (0..SOURCES + 2).rev().chain(0..SOURCES).map(uuid).collect();
    let keys: Vec<[ValueRef<'_>; 1]> = keys.iter().map(|key| [key.as_ref()]).collect();
    let wanted: Vec<&[ValueRef<'_>]> = keys.iter().map(|key| &key[..]).collect();
    let found = reader.lookup(table, None, &wanted, &[0, 1, 2, 3, 4]).expect("it reads");
    let rows = rows_of(&found.rows);
    let mut expected = Vec::new();
    for key in &wanted {
        expected.extend(all.iter().filter(|row| row[0].as_ref() == key[0]).cloned());
    }
    assert_eq!(rows, expected);
    let of_position = |at: &u32| wanted[*at as usize][0];
    assert!(rows.iter().zip(&found.positions).all(|(row, at)| row[0].as_ref() == of_position(at)));
    let index = table.index("by_source").expect("the index");
    let targets: Vec<Value> = (0..7).map(uuid).collect();
    for target in &targets {
        let found = reader.lookup(table, Some(index), &[&[target.as_ref()]], &[2, 0, 1, 3]);
        let count = found.expect("it reads").rows.num_rows();
        assert_eq!(count, all.iter().filter(|row| row[2] == *target).count());
    }
}

#[test]
fn links_are_read_as_they_were_written_whatever_the_way_to_them() {
    let store = store();
    let mut transaction = store.begin().expect("a writer begins");
    transaction.create_table(&schema()).expect("the table can be made");
    let [first, second, third] = indexes();
    transaction.create_index("links", &first).expect("the index can be made");
    let table = transaction.create_index("links", &second).expect("the index can be made");
    let mut model = Model::new();
    let all = (0..SOURCES).flat_map(|source| POSITIONS.map(|position| (source, position)));
    for (source, position) in all.clone() {
        let row = row(source, position);
        transaction.insert(&table, &borrowed(&row)).expect("the row fits");
        model.insert((source, position), row);
    }
    // Built from existing rows.
    let table = transaction.create_index("links", &third).expect("the index can be made");
    transaction.commit().expect("the commit succeeds");
    assert_same(&store, &table, &model);

    let mut transaction = store.begin().expect("a writer begins");
    for (number, (source, position)) in all.enumerate() {
        let old = row(source, position);
        let key = borrowed(&old[..2]);
        let target = uuid((number % 3) as u8);
        let known = model.get_mut(&(source, position)).expect("the row");
        match number % 4 {
            0 => {
                assert!(transaction.delete(&table, &key).expect("the row can go"));
                model.remove(&(source, position));
            }
            1 => {
                let changed = transaction.update_columns(&table, &key, &[2], &[target.as_ref()]);
                assert!(changed.expect("the change fits"));
                known[2] = target;
            }
            _ => {}
        }
    }
    // A row that is equal to another in a unique index has its key, and is refused.
    let twin = model.values().next().expect("a row").clone();
    assert!(transaction.insert(&table, &borrowed(&twin)).is_err());
    transaction.commit().expect("the commit succeeds");
    assert_same(&store, &table, &model);
}
