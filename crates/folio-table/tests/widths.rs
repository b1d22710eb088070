//! Integers of every width: changed, and read by key, by scan and by condition. Compared with a
//! model.

mod memory;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Int16Type, Int32Type, Int64Type};
use arrow_array::{ArrowPrimitiveType, RecordBatch};
use folio_table::{Condition, ScanOptions, Table, TableStore};
use folio_types::{Column, ColumnType, Comparison, TableSchema, Value, ValueRef, borrowed};
use memory::store;

const ROWS: i64 = 400;
const CHANGES: usize = 3000;

/// Numbers at the limits of a width, and around them.
const NUMBERS: [i64; 12] =
    [0, -1, 127, -128, 128, -129, 32_767, -32_769, 70_000, 2_147_483_647, -2_147_483_649, i64::MIN];

fn schema() -> TableSchema {
    let columns = vec![
        Column::required("id", ColumnType::Int64),
        Column::required("small", ColumnType::Int16),
        Column::optional("text", ColumnType::Text),
        Column::optional("middle", ColumnType::Int32),
        Column::required("score", ColumnType::Float64),
        Column::optional("large", ColumnType::Int64),
        Column::optional("day", ColumnType::Date),
        Column::required("body", ColumnType::Text),
    ];
    TableSchema::new("numbers", columns, vec![0])
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
        (self.0 >> 33) as usize % limit
    }

    /// Mostly small ones, so that rows of all forms occur.
    fn number(&mut self) -> i64 {
        let count = [2, 3, 6, 9, NUMBERS.len()][self.below(5)];
        NUMBERS[self.below(count)]
    }

    fn or_null(&mut self, value: Value) -> Value {
        if self.below(5) == 0 { Value::Null } else { value }
    }

    fn row(&mut self, id: i64) -> Vec<Value> {
        let small = self.number().clamp(i16::MIN.into(), i16::MAX.into());
        let middle = self.number().clamp(i32::MIN.into(), i32::MAX.into());
        let day = self.number().clamp(i32::MIN.into(), i32::MAX.into());
        let size = [0, 3, 200, 300, 900][self.below(5)];
        let text = Value::Text("t".repeat(size));
        let large = Value::Integer(self.number());
        vec![
            Value::Integer(id),
            Value::Integer(small),
            self.or_null(text),
            self.or_null(Value::Integer(middle)),
            Value::Float(self.below(100) as f64),
            self.or_null(large),
            self.or_null(Value::Date(i32::try_from(day).expect("clamped"))),
            Value::Text("b".repeat(self.below(40))),
        ]
    }
}

fn assert_column<T: ArrowPrimitiveType>(batch: &RecordBatch, index: usize, expected: &[&Value])
where
    i64: From<T::Native>,
{
    let found = batch.column(index).as_primitive::<T>();
    let expected = expected.iter().map(|value| match value {
        Value::Integer(number) => Some(*number),
        Value::Date(days) => Some((*days).into()),
        _ => None,
    });
    assert!(found.iter().map(|value| value.map(i64::from)).eq(expected), "column {index}");
}

fn assert_same(store: &TableStore, table: &Arc<Table>, model: &BTreeMap<i64, Vec<Value>>) {
    let snapshot = store.snapshot();
    assert_eq!(snapshot.check().expect("the check runs").problems, []);
    for (id, row) in model {
        let found = snapshot.get(table, &[ValueRef::Integer(*id)]).expect("it reads");
        assert_eq!(&found.expect("the row").values().expect("it is whole"), row);
    }
    let mut scan = snapshot.scan(table, &ScanOptions::default()).expect("a scan begins");
    let batch = scan.next().expect("one batch").expect("it reads");
    assert_eq!(batch.num_rows(), model.len());
    let column = |index: usize| model.values().map(|row| &row[index]).collect::<Vec<_>>();
    assert_column::<Int16Type>(&batch, 1, &column(1));
    assert_column::<Int32Type>(&batch, 3, &column(3));
    assert_column::<Int64Type>(&batch, 5, &column(5));
    assert_column::<Date32Type>(&batch, 6, &column(6));
    let texts = batch.column(7).as_string::<i32>().iter().map(|text| text.map(str::to_owned));
    let texts = texts.map(|text| text.map_or(Value::Null, Value::Text));
    assert!(texts.eq(model.values().map(|row| row[7].clone())));
    for number in NUMBERS {
        let condition =
            Condition { column: 5, comparison: Comparison::Less, value: ValueRef::Integer(number) };
        let options = ScanOptions { conditions: &[condition], ..ScanOptions::default() };
        let batches = snapshot.scan(table, &options).expect("a scan begins");
        let count: usize = batches.map(|batch| batch.expect("it reads").num_rows()).sum();
        let is_less = |row: &&Vec<Value>| matches!(row[5], Value::Integer(n) if n < number);
        assert_eq!(count, model.values().filter(is_less).count(), "below {number}");
    }
}

#[test]
fn integers_of_all_widths_are_kept_through_changes() {
    let (store, mut random) = (store(), Random(7));
    let mut transaction = store.begin().expect("a writer begins");
    let table = transaction.create_table(&schema()).expect("the table can be made");
    let mut model = BTreeMap::new();
    for id in 0..ROWS {
        let row = random.row(id);
        transaction.insert(&table, &borrowed(&row)).expect("the row fits");
        model.insert(id, row);
    }
    transaction.commit().expect("the commit succeeds");
    assert_same(&store, &table, &model);
    let mut transaction = store.begin().expect("a writer begins");
    for _ in 0..CHANGES {
        let id = random.below(ROWS as usize) as i64;
        let row = random.row(id);
        let columns: Vec<usize> = (1..row.len()).filter(|_| random.below(3) == 0).collect();
        let values: Vec<ValueRef<'_>> =
            columns.iter().map(|&column| row[column].as_ref()).collect();
        let key = [ValueRef::Integer(id)];
        let changed = transaction.update_columns(&table, &key, &columns, &values);
        assert!(changed.expect("the change fits"));
        let known = model.get_mut(&id).expect("the row");
        columns.iter().for_each(|&column| known[column] = row[column].clone());
    }
    transaction.commit().expect("the commit succeeds");
    assert_same(&store, &table, &model);
}
