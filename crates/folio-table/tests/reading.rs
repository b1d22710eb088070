//! The operations of readers: lookups, scans through indexes, in parts, late columns, estimates.
//! Compared with a model of sorted rows.

use std::cmp::Ordering;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{Array, Int64Array, RecordBatch, StringArray};
use folio_file::{FileSystem, MemoryFileSystem};
use folio_table::{
    Bound, Condition, Error, IndexDefinition, Options, ROW_NUMBER, Reader, ScanOptions, Table,
    TableStore, Transaction,
};
use folio_types::{Column, ColumnType, Comparison, TableSchema, Value, ValueRef, borrowed};

const ROWS: i64 = 5000;

fn store() -> TableStore {
    let files: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    files.create_directory(Path::new("db")).expect("a directory can be made");
    let options = Options { page_size: 4096, pool_size: 1 << 20, ..Options::default() };
    TableStore::open(&files, Path::new("db"), options).expect("a new store opens")
}

fn row(id: i64) -> Vec<Value> {
    let city = if id % 11 == 0 { Value::Null } else { Value::Text(format!("city {}", id % 50)) };
    vec![Value::Integer(id), city, Value::Text(format!("note {id}"))]
}

fn fill(store: &TableStore) -> Arc<Table> {
    let mut transaction = store.begin().expect("a writer begins");
    let columns = vec![
        Column::required("id", ColumnType::Int64),
        Column::optional("city", ColumnType::Text),
        Column::required("note", ColumnType::Text),
    ];
    let table = transaction.create_table(&TableSchema::new("people", columns, vec![0]));
    let table = table.expect("the table can be made");
    for id in 0..ROWS {
        transaction.insert(&table, &borrowed(&row(id))).expect("the row fits");
    }
    let by_city =
        IndexDefinition { name: "by_city".into(), columns: vec![(1, false)], unique: false };
    let table = transaction.create_index("people", &by_city).expect("the index can be made");
    transaction.commit().expect("the commit succeeds");
    table
}

fn ids(batches: &[RecordBatch], column: usize) -> Vec<i64> {
    let of = |batch: &RecordBatch| -> Vec<i64> {
        let ids: &Int64Array = batch.column(column).as_any().downcast_ref().expect("bigints");
        ids.values().to_vec()
    };
    batches.iter().flat_map(of).collect()
}

fn texts(batch: &RecordBatch, column: usize) -> Vec<Option<String>> {
    let texts: &StringArray = batch.column(column).as_any().downcast_ref().expect("text");
    texts.iter().map(|text| text.map(str::to_owned)).collect()
}

/// Rows in the order of the index: by city, null last, then by id.
fn in_index_order() -> Vec<i64> {
    let mut rows: Vec<(Option<String>, i64)> =
        (0..ROWS).map(|id| ((id % 11 != 0).then(|| format!("city {}", id % 50)), id)).collect();
    rows.sort_by(|left, right| (left.0.is_none(), left).cmp(&(right.0.is_none(), right)));
    rows.into_iter().map(|(_, id)| id).collect()
}

#[test]
fn an_index_gives_its_own_order_both_ways_and_by_range() {
    let store = store();
    let table = fill(&store);
    let snapshot = store.snapshot();
    let index = table.index("BY_CITY").expect("letters match in either case");
    let expected = in_index_order();
    for (projection, id_column) in [(&[0, 1][..], 0), (&[2, 0][..], 1)] {
        for reverse in [false, true] {
            let options = ScanOptions {
                projection: Some(projection),
                index: Some(index),
                batch_size: 333,
                reverse,
                ..ScanOptions::default()
            };
            let batches = snapshot.scan(&table, &options).expect("the scan begins");
            let batches: Vec<_> = batches.map(|batch| batch.expect("a batch")).collect();
            let mut found = ids(&batches, id_column);
            if reverse {
                found.reverse();
            }
            assert_eq!(found, expected, "projection {projection:?}, reverse {reverse}");
        }
    }
    let from = [ValueRef::Text("city 7")];
    let to = [ValueRef::Text("city 8")];
    let options = ScanOptions {
        projection: Some(&[0]),
        index: Some(index),
        from: Bound::Included(&from),
        to: Bound::Excluded(&to),
        limit: Some(10),
        ..ScanOptions::default()
    };
    let batches = snapshot.scan(&table, &options).expect("the scan begins");
    let batches: Vec<_> = batches.map(|batch| batch.expect("a batch")).collect();
    let expected: Vec<i64> = (0..ROWS).filter(|id| id % 50 == 7 && id % 11 != 0).take(10).collect();
    assert_eq!(ids(&batches, 0), expected);
}

#[test]
fn many_keys_find_their_rows_in_order() {
    let store = store();
    let table = fill(&store);
    let snapshot = store.snapshot();
    let wanted = [17, -1, 4999, 17, 5000, 0].map(|id| [ValueRef::Integer(id)]);
    let keys: Vec<&[ValueRef<'_>]> = wanted.iter().map(|key| &key[..]).collect();
    let found = snapshot.reader().lookup(&table, None, &keys, &[2]).expect("the lookup succeeds");
    assert_eq!(found.positions, [0, 2, 3, 5]);
    let notes = ["note 17", "note 4999", "note 17", "note 0"];
    assert_eq!(texts(&found.rows, 0), notes.map(|note| Some(note.to_owned())));
    let cities = [[ValueRef::Text("city 3")], [ValueRef::Text("none")], [ValueRef::Null]];
    let keys: Vec<&[ValueRef<'_>]> = cities.iter().map(|key| &key[..]).collect();
    let index = table.index("by_city");
    let found = snapshot.reader().lookup(&table, index, &keys, &[0]).expect("the lookup succeeds");
    let threes = (0..ROWS).filter(|id| id % 50 == 3 && id % 11 != 0).count();
    let nulls = (0..ROWS).filter(|id| id % 11 == 0).count();
    assert_eq!(found.positions.iter().filter(|&&key| key == 0).count(), threes);
    assert_eq!(found.positions.iter().filter(|&&key| key == 2).count(), nulls);
    assert_eq!(found.rows.num_rows(), threes + nulls);
}

/// Keys in strides over the leaves, forwards and backwards, including missing ones, also between
/// leaves.
#[test]
fn keys_in_strides_find_what_there_is() {
    let store = store();
    let table = fill(&store);
    let mut transaction = store.begin().expect("a writer begins");
    // Gaps as long as some leaves, and short ones everywhere.
    let is_gone = |id: i64| id % 7 == 3 || (2000..2400).contains(&id) || id > 4900;
    for id in (0..ROWS).filter(|id| is_gone(*id)) {
        assert!(transaction.delete(&table, &[ValueRef::Integer(id)]).expect("it goes"));
    }
    transaction.commit().expect("the rows are gone");
    let snapshot = store.snapshot();
    for stride in [1, 2, 3, 13, 40, 100, 333, 1250] {
        let forwards: Vec<i64> = (-5..ROWS + 5).step_by(stride).collect();
        let backwards = forwards.iter().rev().copied().collect();
        let doubled = forwards.iter().flat_map(|id| [*id, *id, id + 1]).collect();
        for ids in [forwards, backwards, doubled] {
            let keys: Vec<_> = ids.iter().map(|id| [ValueRef::Integer(*id)]).collect();
            let keys: Vec<&[ValueRef<'_>]> = keys.iter().map(|key| &key[..]).collect();
            let found = snapshot.reader().lookup(&table, None, &keys, &[0]).expect("it reads");
            let is_there = |id: i64| (0..ROWS).contains(&id) && !is_gone(id);
            let expected: Vec<u32> =
                (0..).zip(&ids).filter(|(_, id)| is_there(**id)).map(|(at, _)| at).collect();
            assert_eq!(found.positions, expected, "stride {stride}");
            let expected: Vec<i64> = expected.iter().map(|at| ids[*at as usize]).collect();
            assert_eq!(self::ids(&[found.rows], 0), expected, "stride {stride}");
        }
    }
}

#[test]
fn the_first_columns_of_a_key_find_all_rows_that_begin_so() {
    let store = store();
    let mut transaction = store.begin().expect("a writer begins");
    let columns = vec![
        Column::required("day", ColumnType::Int64),
        Column::required("number", ColumnType::Int64),
        Column::required("note", ColumnType::Text),
    ];
    let table = transaction.create_table(&TableSchema::new("visits", columns, vec![0, 1]));
    let table = table.expect("the table can be made");
    // Days have few rows or many, so that some fill several leaves.
    for (day, number) in (0..40).flat_map(|day| (0..day * day).map(move |number| (day, number))) {
        let row = [Value::Integer(day), Value::Integer(number), Value::Text("x".repeat(20))];
        transaction.insert(&table, &borrowed(&row)).expect("the row fits");
    }
    transaction.commit().expect("the rows are kept");
    let snapshot = store.snapshot();
    let days = [39, 0, 1, -1, 40, 20].map(|day| [ValueRef::Integer(day)]);
    let keys: Vec<&[ValueRef<'_>]> = days.iter().map(|key| &key[..]).collect();
    let found = snapshot.reader().lookup(&table, None, &keys, &[1]).expect("the lookup succeeds");
    let count = |key: u32| found.positions.iter().filter(|position| **position == key).count();
    assert_eq!([0, 1, 2, 3, 4, 5].map(count), [39 * 39, 0, 1, 0, 0, 400]);
    assert!(found.positions.is_sorted());
    let expected: Vec<i64> = (0..39 * 39).chain(0..1).chain(0..400).collect();
    assert_eq!(ids(&[found.rows], 0), expected);
}

#[test]
fn columns_can_come_later_for_some_rows() {
    let store = store();
    let table = fill(&store);
    let snapshot = store.snapshot();
    let reader = snapshot.reader();
    for index in [None, table.index("by_city")] {
        let options = ScanOptions {
            projection: Some(&[0]),
            index,
            batch_size: 700,
            reverse: true,
            ..ScanOptions::default()
        };
        let mut scan = reader.begin_scan(&table, &options).expect("the scan begins");
        while let Some(batch) = scan.next_batch(&reader).expect("a batch") {
            let all = ids(&[batch], 0);
            let rows: Vec<u32> =
                (0..all.len() as u32).filter(|&row| all[row as usize] % 97 == 5).collect();
            let late = scan.columns(&reader, &[2], &rows).expect("the columns come");
            let expected = rows.iter().map(|&row| Some(format!("note {}", all[row as usize])));
            assert_eq!(texts(&late, 0), expected.collect::<Vec<_>>());
            assert!(scan.columns(&reader, &[2], &[all.len() as u32]).is_err());
        }
    }
}

#[test]
fn parts_are_the_whole() {
    let store = store();
    let table = fill(&store);
    let snapshot = store.snapshot();
    let reader = snapshot.reader();
    let (from, to) = ([ValueRef::Integer(100)], [ValueRef::Integer(4321)]);
    for count in [1, 2, 3, 7, 1000] {
        for reverse in [false, true] {
            let options = ScanOptions {
                projection: Some(&[0]),
                from: Bound::Excluded(&from),
                to: Bound::Included(&to),
                reverse,
                ..ScanOptions::default()
            };
            let parts = reader.begin_parts(&table, &options, count).expect("the parts begin");
            assert!(parts.len() <= count && (count == 1 || parts.len() > 1));
            let mut found = Vec::new();
            for mut part in parts {
                while let Some(batch) = part.next_batch(&reader).expect("a batch") {
                    found.extend(ids(&[batch], 0));
                }
            }
            if reverse {
                found.reverse();
            }
            assert_eq!(found, (101..=4321).collect::<Vec<_>>(), "{count} parts");
        }
    }
}

#[test]
fn counts_are_of_the_rows_a_scan_answers() {
    let store = store();
    let table = fill(&store);
    let snapshot = store.snapshot();
    let reader = snapshot.reader();
    let note = ValueRef::Text("note 3000");
    let conditions = [Condition { column: 2, comparison: Comparison::Less, value: note }];
    let (city, id) = ([ValueRef::Text("city 7")], [ValueRef::Integer(1234)]);
    for (index, from) in [(None, &id), (table.index("by_city"), &city)] {
        for (from, conditions) in [
            (Bound::Unbounded, &[][..]),
            (Bound::Included(from), &[]),
            (Bound::Unbounded, &conditions),
            (Bound::Excluded(from), &conditions),
        ] {
            for (reverse, limit) in
                [(false, None), (true, None), (false, Some(77)), (true, Some(77))]
            {
                let projection = Some(&[0][..]);
                let options = ScanOptions {
                    projection,
                    index,
                    from,
                    reverse,
                    limit,
                    conditions,
                    ..ScanOptions::default()
                };
                let batches = reader.scan(&table, &options).expect("the scan begins");
                let batches: Vec<_> = batches.map(|batch| batch.expect("a batch")).collect();
                let wanted = ids(&batches, 0);
                let mut scan = reader.begin_scan(&table, &options).expect("the scan begins");
                let mut found = 0;
                while let Some(count) = scan.next_count(&reader).expect("a count") {
                    found += count;
                }
                assert_eq!(found, wanted.len(), "{options:?}");
                for count in [0, 1, 76, 300, usize::MAX] {
                    let mut scan = reader.begin_scan(&table, &options).expect("the scan begins");
                    let skipped = scan.skip(&reader, count).expect("rows are skipped");
                    let is_tested = !conditions.is_empty();
                    assert_eq!(skipped, if is_tested { 0 } else { count.min(wanted.len()) });
                    let mut rest = Vec::new();
                    while let Some(batch) = scan.next_batch(&reader).expect("a batch") {
                        rest.extend(ids(&[batch], 0));
                    }
                    assert_eq!(rest, wanted[skipped..], "{options:?} after {skipped}");
                }
            }
        }
    }
}

#[test]
fn estimates_are_near_the_truth() {
    let store = store();
    let table = fill(&store);
    let snapshot = store.snapshot();
    let reader = snapshot.reader();
    for (low, high) in [(0, 5000), (100, 110), (1000, 2000), (4000, 9999), (300, 200)] {
        let (from, to) = ([ValueRef::Integer(low)], [ValueRef::Integer(high)]);
        let found = reader.estimate(&table, None, Bound::Included(&from), Bound::Excluded(&to));
        let found = found.expect("an estimate") as f64;
        let truth = (high.min(ROWS) - low).max(0) as f64;
        assert!((found - truth).abs() <= 0.3 * truth + 60.0, "{low}..{high}: {found}");
    }
}

#[test]
fn a_scan_goes_on_after_its_transaction_has_changed_the_table() {
    let store = store();
    let table = fill(&store);
    for (reverse, skipped) in [(false, 0), (true, 0), (false, 345), (true, 345)] {
        let mut transaction = store.begin().expect("a writer begins");
        let found = delete_while_scanning(&mut transaction, &table, reverse, skipped);
        assert_eq!(found.len() + skipped, ROWS as usize, "every row is seen once");
        assert_eq!(transaction.row_count(&table).expect("a count"), skipped as u64);
    }
}

fn delete_while_scanning(
    transaction: &mut Transaction,
    table: &Arc<Table>,
    reverse: bool,
    skipped: usize,
) -> Vec<i64> {
    let options =
        ScanOptions { projection: Some(&[0]), batch_size: 90, reverse, ..ScanOptions::default() };
    let mut scan = transaction.reader().begin_scan(table, &options).expect("the scan begins");
    assert_eq!(scan.skip(&transaction.reader(), skipped).expect("rows are skipped"), skipped);
    let mut all = Vec::new();
    loop {
        let batch = scan.next_batch(&transaction.reader()).expect("a batch");
        let Some(batch) = batch else { return all };
        for id in ids(&[batch], 0) {
            let key = [ValueRef::Integer(id)];
            assert!(transaction.delete(table, &key).expect("the delete succeeds"));
            all.push(id);
        }
    }
}

#[test]
fn hidden_row_numbers_are_a_column() {
    let store = store();
    let mut transaction = store.begin().expect("a writer begins");
    let columns = vec![Column::required("note", ColumnType::Text)];
    let table = transaction.create_table(&TableSchema::new("log", columns, vec![]));
    let table = table.expect("the table can be made");
    for note in ["a", "b", "c"] {
        transaction.insert(&table, &[ValueRef::Text(note)]).expect("the row fits");
    }
    let options = ScanOptions { projection: Some(&[0, ROW_NUMBER]), ..ScanOptions::default() };
    let batches = transaction.scan(&table, &options).expect("the scan begins");
    let batches: Vec<_> = batches.map(|batch| batch.expect("a batch")).collect();
    assert_eq!(ids(&batches, 1), [1, 2, 3]);
    assert_eq!(batches[0].schema().field(1).name(), "_row");
    assert!(transaction.delete(&table, &[ValueRef::Integer(2)]).expect("the delete succeeds"));
}

/// The ids of rows that satisfy conditions, and the notes fetched late for some.
fn ids_where(reader: Reader<'_>, table: &Arc<Table>, options: ScanOptions<'_>) -> Vec<i64> {
    let mut scan = reader.begin_scan(table, &options).expect("the scan begins");
    let mut found = Vec::new();
    while let Some(batch) = scan.next_batch(&reader).expect("a batch") {
        let all = ids(&[batch], 0);
        let rows: Vec<u32> = (0..all.len() as u32).step_by(3).collect();
        let late = scan.columns(&reader, &[2], &rows).expect("the columns come");
        let expected = rows.iter().map(|&row| Some(format!("note {}", all[row as usize])));
        assert_eq!(texts(&late, 0), expected.collect::<Vec<_>>());
        found.extend(all);
    }
    found
}

#[test]
fn conditions_leave_the_rows_that_fulfil_them() {
    let store = store();
    let table = fill(&store);
    let snapshot = store.snapshot();
    let reader = snapshot.reader();
    let all = [
        (Comparison::Equal, Ordering::is_eq as fn(Ordering) -> bool),
        (Comparison::NotEqual, Ordering::is_ne),
        (Comparison::Less, Ordering::is_lt),
        (Comparison::LessOrEqual, Ordering::is_le),
        (Comparison::Greater, Ordering::is_gt),
        (Comparison::GreaterOrEqual, Ordering::is_ge),
        (Comparison::Distinct, Ordering::is_ne),
        (Comparison::NotDistinct, Ordering::is_eq),
    ];
    for (comparison, holds) in all {
        for index in [None, table.index("by_city")] {
            let conditions = [
                Condition { column: 1, comparison, value: ValueRef::Text("city 3") },
                Condition {
                    column: 0,
                    comparison: Comparison::GreaterOrEqual,
                    value: ValueRef::Integer(400),
                },
            ];
            let options = ScanOptions {
                projection: Some(&[0]),
                index,
                batch_size: 700,
                conditions: &conditions,
                ..ScanOptions::default()
            };
            let mut found = ids_where(reader, &table, options);
            found.sort_unstable();
            let fulfils = |id: &i64| match id % 11 {
                0 => comparison == Comparison::Distinct,
                _ => holds(format!("city {}", id % 50).as_str().cmp("city 3")),
            };
            let expected: Vec<i64> = (400..ROWS).filter(fulfils).collect();
            assert_eq!(found, expected, "{comparison:?}");
            let limited = ids_where(reader, &table, ScanOptions { limit: Some(7), ..options });
            assert_eq!(limited.len(), 7);
        }
    }
    for value in [ValueRef::Null, ValueRef::Integer(1)] {
        let conditions = [Condition { column: 1, comparison: Comparison::Equal, value }];
        let options = ScanOptions { conditions: &conditions, ..ScanOptions::default() };
        assert!(matches!(snapshot.scan(&table, &options), Err(Error::TypeMismatch { .. })));
    }
}

/// Texts are compared by size and first eight bytes at once, regardless of the bytes after a short
/// text.
#[test]
fn texts_are_equal_in_all_of_their_bytes() {
    const WHOLE: &str = "abcdefghijklmnopqr";
    let changed = |size: usize, at: usize| {
        let mut text = WHOLE[..size].to_owned();
        text.replace_range(at..=at, "X");
        text
    };
    let sizes = 0..=WHOLE.len();
    let mut texts: Vec<String> = sizes.clone().map(|size| WHOLE[..size].to_owned()).collect();
    texts.extend(sizes.flat_map(|size| (0..size).map(move |at| changed(size, at))));
    let store = store();
    let mut transaction = store.begin().expect("a writer begins");
    let columns = vec![
        Column::required("id", ColumnType::Int64),
        Column::required("begin", ColumnType::Text),
        Column::required("end", ColumnType::Text),
    ];
    let table = transaction.create_table(&TableSchema::new("texts", columns, vec![0]));
    let table = table.expect("the table can be made");
    for (id, text) in (0..).zip(&texts) {
        let text = ValueRef::Text(text);
        transaction.insert(&table, &[ValueRef::Integer(id), text, text]).expect("the row fits");
    }
    transaction.commit().expect("the commit succeeds");
    let snapshot = store.snapshot();
    for (id, text) in (0i64..).zip(&texts) {
        for column in [1, 2] {
            let comparison = Comparison::Equal;
            let conditions = [Condition { column, comparison, value: ValueRef::Text(text) }];
            let options = ScanOptions { conditions: &conditions, ..ScanOptions::default() };
            let batches: Vec<_> = snapshot.scan(&table, &options).expect("it begins").collect();
            let batches: Vec<_> = batches.into_iter().map(|one| one.expect("a batch")).collect();
            assert_eq!(ids(&batches, 0), [id], "{text:?} in column {column}");
        }
    }
}
