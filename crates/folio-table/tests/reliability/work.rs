//! Random transactions, applied to the store and to the model alike.

use std::sync::Arc;

use folio_table::{Error, Result, Savepoint, Table, TableStore, Transaction};
use folio_types::{Value, ValueRef, borrowed};

use crate::copies;
use crate::model::{EVENTS, Rows, THINGS, Tables};
use crate::random::Random;
use crate::store::{create_index, create_things, events_schema};

/// The range of random keys: small, so that changes often meet.
const KEYS: usize = 120;

/// Begins a transaction, makes random changes, and leaves it open.
pub(crate) fn random_transaction(
    store: &TableStore,
    tables: &mut Tables,
    random: &mut Random,
) -> Result<Transaction> {
    let mut transaction = store.begin()?;
    if !tables.contains_key(THINGS) {
        create_things(&mut transaction)?;
        tables.insert(THINGS.to_owned(), Rows::new());
    }
    let count = if random.once_in(8) { 60 } else { 1 + random.below(6) };
    for _ in 0..count {
        step(&mut transaction, tables, random)?;
    }
    if random.once_in(4) {
        savepoints(&mut transaction, tables, random)?;
    }
    Ok(transaction)
}

fn step(transaction: &mut Transaction, tables: &mut Tables, random: &mut Random) -> Result<()> {
    match random.below(60) {
        0 => define_events(transaction, tables),
        1 => load_events(transaction, tables, random),
        2 => rebuild_index(transaction),
        12 | 13 => copies::copy_rows(transaction, &tables[THINGS], KEYS, random),
        3..=7 => add_event(transaction, tables, random),
        8..=10 => add_events(transaction, tables, random),
        11 => {
            let table = transaction.table(THINGS)?;
            insert_many(transaction, &table, tables.get_mut(THINGS).unwrap(), random)
        }
        _ => {
            let table = transaction.table(THINGS)?;
            change(transaction, &table, tables.get_mut(THINGS).unwrap(), random)
        }
    }
}

/// Up to three nested savepoints, each released, rolled back, or left open.
fn savepoints(
    transaction: &mut Transaction,
    tables: &mut Tables,
    random: &mut Random,
) -> Result<()> {
    let mut open: Vec<(Savepoint, Tables)> = Vec::new();
    for _ in 0..1 + random.below(8) {
        match random.below(4) {
            0 | 1 if open.len() < 3 => open.push((transaction.savepoint(), tables.clone())),
            2 if !open.is_empty() => {
                let index = random.below(open.len());
                open.truncate(index + 1);
                transaction.rollback_to(open[index].0)?;
                tables.clone_from(&open[index].1);
            }
            3 if !open.is_empty() => {
                open.truncate(random.below(open.len()) + 1);
                let (savepoint, _) = open.pop().unwrap();
                transaction.release(savepoint)?;
            }
            _ => {}
        }
        for _ in 0..random.below(10) {
            step(transaction, tables, random)?;
        }
    }
    Ok(())
}

/// Creates the table without a key, or drops it.
fn define_events(transaction: &mut Transaction, tables: &mut Tables) -> Result<()> {
    if tables.remove(EVENTS).is_some() {
        return transaction.drop_table(EVENTS);
    }
    transaction.create_table(&events_schema())?;
    tables.insert(EVENTS.to_owned(), Rows::new());
    Ok(())
}

fn event(random: &mut Random) -> Vec<Value> {
    let kind = "kind ".repeat(1 + random.below(20));
    vec![Value::Text(kind), Value::Integer((random.draw() >> 20) as i64)]
}

fn add_event(
    transaction: &mut Transaction,
    tables: &mut Tables,
    random: &mut Random,
) -> Result<()> {
    let Some(rows) = tables.get_mut(EVENTS) else { return Ok(()) };
    let (table, row) = (transaction.table(EVENTS)?, event(random));
    transaction.insert(&table, &borrowed(&row))?;
    rows.insert(rows.len() as i64, row);
    Ok(())
}

/// Many rows at once: full pages go to the data file before the commit.
fn add_events(
    transaction: &mut Transaction,
    tables: &mut Tables,
    random: &mut Random,
) -> Result<()> {
    let Some(rows) = tables.get_mut(EVENTS) else { return Ok(()) };
    let table = transaction.table(EVENTS)?;
    let events: Vec<Vec<Value>> = (0..random.below(60)).map(|_| event(random)).collect();
    let values: Vec<ValueRef<'_>> = events.iter().flatten().map(Value::as_ref).collect();
    transaction.insert_many(&table, &values).map_err(|(_, error)| error)?;
    for row in events {
        rows.insert(rows.len() as i64, row);
    }
    Ok(())
}

/// The same with keys in any order: all rows, or none and a rollback to a savepoint.
fn insert_many(
    transaction: &mut Transaction,
    table: &Arc<Table>,
    rows: &mut Rows,
    random: &mut Random,
) -> Result<()> {
    let savepoint = transaction.savepoint();
    let (mut after, mut refused) = (rows.clone(), Vec::new());
    let mut many: Vec<Vec<Value>> = Vec::new();
    for _ in 0..1 + random.below(8) {
        let key = random.below(KEYS) as i64;
        many.push(random_row(random, key));
    }
    for (position, row) in many.iter().enumerate() {
        if after.contains_key(&key_of(row)) || !number_is_free(&after, row, None) {
            refused.push(position);
        }
        after.entry(key_of(row)).or_insert_with(|| row.clone());
    }
    let values: Vec<ValueRef<'_>> = many.iter().flatten().map(Value::as_ref).collect();
    match transaction.insert_many(table, &values) {
        Ok(()) if refused.is_empty() => rows.clone_from(&after),
        Err((at, Error::Conflict { .. })) if !refused.is_empty() => {
            assert!(at < many.len(), "row {at} of {} was refused", many.len());
            transaction.rollback_to(savepoint)?;
        }
        Err((_, error)) => return Err(error),
        Ok(()) => panic!("rows {refused:?} must be refused"),
    }
    transaction.release(savepoint)
}

/// A bulk load: straight to pages if the table is empty, otherwise row by row.
fn load_events(
    transaction: &mut Transaction,
    tables: &mut Tables,
    random: &mut Random,
) -> Result<()> {
    if !tables.contains_key(EVENTS) {
        define_events(transaction, tables)?;
    }
    let rows = tables.get_mut(EVENTS).unwrap();
    let table = transaction.table(EVENTS)?;
    let mut load = transaction.load(&table)?;
    for _ in 0..random.below(60) {
        let row = event(random);
        load.push(&borrowed(&row))?;
        rows.insert(rows.len() as i64, row);
    }
    load.finish().map(|_| ())
}

fn rebuild_index(transaction: &mut Transaction) -> Result<()> {
    transaction.drop_index("by_name")?;
    create_index(transaction, "by_name", 1, false).map(|_| ())
}

pub(crate) fn random_row(random: &mut Random, key: i64) -> Vec<Value> {
    let body = match random.below(12) {
        0 => Value::Null,
        1 => Value::Text("long ".repeat(400 + random.below(2000))),
        _ => Value::Text("b".repeat(random.below(200))),
    };
    let number = match random.below(4) {
        0 => Value::Null,
        _ => Value::Integer(random.below(400) as i64),
    };
    vec![Value::Integer(key), Value::Text(format!("name {}", random.below(50))), number, body]
}

/// One random change of a row.
pub(crate) fn change(
    transaction: &mut Transaction,
    table: &Arc<Table>,
    rows: &mut Rows,
    random: &mut Random,
) -> Result<()> {
    let key = random.below(KEYS) as i64;
    match random.below(10) {
        0..5 => insert(transaction, table, rows, random_row(random, key)),
        5..7 => {
            let other = if random.once_in(3) { random.below(KEYS) as i64 } else { key };
            let row = random_row(random, other);
            match other == key && random.once_in(2) {
                true => update_columns(transaction, table, rows, &row, random),
                false => update(transaction, table, rows, key, row),
            }
        }
        _ => {
            let deleted = transaction.delete(table, &[ValueRef::Integer(key)])?;
            assert_eq!(deleted, rows.remove(&key).is_some(), "deleting row {key}");
            Ok(())
        }
    }
}

fn insert(
    transaction: &mut Transaction,
    table: &Arc<Table>,
    rows: &mut Rows,
    row: Vec<Value>,
) -> Result<()> {
    let key = key_of(&row);
    let fits = !rows.contains_key(&key) && number_is_free(rows, &row, None);
    expect_conflict(transaction.insert(table, &borrowed(&row)).map(|_| ()), fits)?;
    if fits {
        rows.insert(key, row);
    }
    Ok(())
}

fn update(
    transaction: &mut Transaction,
    table: &Arc<Table>,
    rows: &mut Rows,
    key: i64,
    row: Vec<Value>,
) -> Result<()> {
    let other = key_of(&row);
    let result = transaction.update(table, &[ValueRef::Integer(key)], &borrowed(&row));
    if !rows.contains_key(&key) {
        assert!(!result?, "there is no row {key} to update");
        return Ok(());
    }
    let fits =
        (other == key || !rows.contains_key(&other)) && number_is_free(rows, &row, Some(key));
    expect_conflict(result.map(|_| ()), fits)?;
    if fits {
        rows.remove(&key);
        rows.insert(other, row);
    }
    Ok(())
}

/// Sets some columns of a row to the values of another one.
fn update_columns(
    transaction: &mut Transaction,
    table: &Arc<Table>,
    rows: &mut Rows,
    row: &[Value],
    random: &mut Random,
) -> Result<()> {
    let key = key_of(row);
    let columns: Vec<usize> = (1..row.len()).filter(|_| random.once_in(2)).collect();
    let values: Vec<ValueRef<'_>> = columns.iter().map(|column| row[*column].as_ref()).collect();
    let own = [ValueRef::Integer(key)];
    let found = transaction.get_to_change(table, &own)?;
    let found = found.map(|found| found.values()).transpose()?;
    assert_eq!(found.as_ref(), rows.get(&key), "row {key} before it is changed");
    let result = transaction.update_columns(table, &own, &columns, &values);
    let Some(old) = rows.get(&key) else {
        assert!(!result?, "there is no row {key} to update");
        return Ok(());
    };
    let mut changed = old.clone();
    columns.iter().for_each(|column| changed[*column] = row[*column].clone());
    let fits = number_is_free(rows, &changed, Some(key));
    expect_conflict(result.map(|_| ()), fits)?;
    if fits {
        rows.insert(key, changed);
    }
    Ok(())
}

fn key_of(row: &[Value]) -> i64 {
    match row[0] {
        Value::Integer(key) => key,
        _ => unreachable!("keys are integers"),
    }
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
