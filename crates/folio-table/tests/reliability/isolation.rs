//! The stated isolation, tested with scenarios that distinguish levels: a script of sessions, in
//! `isolation.txt`. Writers are serializable, because they run one after another; readers have
//! snapshots.

use std::collections::BTreeMap;
use std::time::Duration;

use folio_table::{
    Error, Options, Reader, Result, Savepoint, ScanOptions, Snapshot, TableStore, Transaction,
};
use folio_types::{Column, ColumnType, TableSchema, ValueRef};

use crate::store::{new_disk, open, small_options};

const SCRIPT: &str = include_str!("isolation.txt");

/// A reader or a writer.
#[derive(Default)]
struct Session {
    transaction: Option<Transaction>,
    savepoint: Option<Savepoint>,
    snapshot: Option<Snapshot>,
}

struct Scenario {
    store: TableStore,
    sessions: BTreeMap<String, Session>,
}

impl Scenario {
    fn new() -> Result<Self> {
        let options = Options { timeout: Duration::from_millis(20), ..small_options() };
        let store = open(&new_disk(0), &options)?;
        let columns = vec![
            Column::required("id", ColumnType::Int64),
            Column::required("value", ColumnType::Int64),
        ];
        let mut transaction = store.begin()?;
        let table = transaction.create_table(&TableSchema::new("test", columns, vec![0]))?;
        for (id, value) in [(1, 10), (2, 20)] {
            transaction.insert(&table, &[ValueRef::Integer(id), ValueRef::Integer(value)])?;
        }
        transaction.commit()?;
        Ok(Self { store, sessions: BTreeMap::new() })
    }

    /// Performs one step, and describes its result.
    fn act(&mut self, name: &str, action: &str) -> String {
        let (store, session) = (&self.store, self.sessions.entry(name.to_owned()).or_default());
        let words: Vec<&str> = action.split(' ').collect();
        let numbers: Vec<i64> = words[1..].iter().map(|word| word.parse().unwrap()).collect();
        let done = match words[0] {
            "begin" => store.begin().map(|transaction| session.transaction = Some(transaction)),
            "snapshot" => {
                session.snapshot = Some(store.snapshot());
                Ok(())
            }
            "end" => {
                session.snapshot = None;
                Ok(())
            }
            "commit" => session.transaction.take().unwrap().commit(),
            "rollback" => {
                session.transaction.take().unwrap().rollback();
                Ok(())
            }
            "savepoint" => {
                session.savepoint = Some(session.transaction.as_mut().unwrap().savepoint());
                Ok(())
            }
            "back" => {
                let savepoint = session.savepoint.unwrap();
                session.transaction.as_mut().unwrap().rollback_to(savepoint)
            }
            "checkpoint" => match store.checkpoint() {
                Ok(false) => return "in the way".to_owned(),
                other => other.map(|_| ()),
            },
            "insert" | "update" | "delete" => write(session, words[0], &numbers),
            _ => return read(store, session, words[0], &numbers).unwrap(),
        };
        match done {
            Ok(()) => String::new(),
            Err(Error::Busy { .. }) => "busy".to_owned(),
            Err(Error::Conflict { .. }) => "conflict".to_owned(),
            Err(error) => error.to_string(),
        }
    }
}

fn write(session: &mut Session, action: &str, numbers: &[i64]) -> Result<()> {
    let transaction = session.transaction.as_mut().expect("writers have begun");
    let table = transaction.table("test")?;
    let values: Vec<ValueRef<'_>> = numbers.iter().map(|&one| ValueRef::Integer(one)).collect();
    let is_found = match action {
        "insert" => transaction.insert(&table, &values).map(|_| true)?,
        "update" => transaction.update(&table, &values[..1], &values)?,
        _ => transaction.delete(&table, &values)?,
    };
    assert!(is_found, "{action} {numbers:?} finds its row");
    Ok(())
}

/// Reads through the session's transaction or snapshot, otherwise the newest state.
fn read(store: &TableStore, session: &Session, action: &str, numbers: &[i64]) -> Result<String> {
    let newest = store.snapshot();
    let reader = match (&session.transaction, &session.snapshot) {
        (Some(transaction), _) => transaction.reader(),
        (None, snapshot) => snapshot.as_ref().unwrap_or(&newest).reader(),
    };
    let rows = rows(&reader)?;
    let reported: Vec<String> = match action {
        "get" => {
            let key = [ValueRef::Integer(numbers[0])];
            let row = reader.get(&reader.table("test")?, &key)?;
            let value = row.map(|row| row.get(1)).transpose()?;
            assert_eq!(value.is_some(), rows.iter().any(|row| row.0 == numbers[0]));
            rows.iter().filter(|row| row.0 == numbers[0]).map(|row| row.1.to_string()).collect()
        }
        "where" => rows.iter().filter(|row| row.1 == numbers[0]).map(row_text).collect(),
        "all" => rows.iter().map(row_text).collect(),
        other => panic!("no such action: {other}"),
    };
    Ok(if reported.is_empty() { "nothing".to_owned() } else { reported.join(" ") })
}

fn row_text((id, value): &(i64, i64)) -> String {
    format!("{id}={value}")
}

fn rows(reader: &Reader<'_>) -> Result<Vec<(i64, i64)>> {
    let mut rows = Vec::new();
    for batch in reader.scan(&reader.table("test")?, &ScanOptions::default())? {
        let batch = batch?;
        let column = |index: usize| {
            let numbers = batch.column(index).as_any().downcast_ref::<arrow_array::Int64Array>();
            numbers.unwrap().values().to_vec()
        };
        rows.extend(column(0).into_iter().zip(column(1)));
    }
    Ok(rows)
}

#[test]
fn the_scenarios_go_as_the_stated_level_says() {
    let mut scenario = None;
    let (mut title, mut count) = ("", 0);
    for (number, line) in (1..).zip(SCRIPT.lines()) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(name) = line.strip_prefix("scenario ") {
            (title, scenario) = (name, Some(Scenario::new().unwrap()));
            count += 1;
            continue;
        }
        let (step, expected) = line.split_once(" -> ").unwrap_or((line, ""));
        let (session, action) = step.split_once(' ').expect("a session and what it does");
        let given = scenario.as_mut().expect("a scenario has begun").act(session, action);
        assert_eq!(given, expected, "line {number}, {step:?} of scenario {title:?}");
    }
    assert_eq!(count, 15, "scenarios of the script");
}
