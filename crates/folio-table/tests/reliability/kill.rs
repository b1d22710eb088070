//! Processes killed while they write, on this machine's disk.
//!
//! The test runs itself again as a worker, which commits numbered transactions and prints each
//! number after its commit has returned. It is killed at some moment, and the next open must find
//! every printed number.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use folio_file::{DiskFileSystem, FileSystem};
use folio_table::{Error, Options, Result, TableStore};
use folio_types::{Column, ColumnType, TableSchema, ValueRef};

use crate::random::Random;
use crate::seeds::seeds;
use crate::store::small_options;

const DIRECTORY_VARIABLE: &str = "FOLIO_KILLED_WORKER_DIRECTORY";
const TABLE: &str = "numbers";

fn open(directory: &Path) -> Result<TableStore> {
    let files: Arc<dyn FileSystem> = Arc::new(DiskFileSystem);
    let options = Options { checkpoint_size: 64 << 10, ..small_options() };
    TableStore::open(&files, directory, options)
}

/// The worker, which runs until killed. Without a directory the test does nothing.
#[test]
fn worker() {
    let Some(directory) = std::env::var_os(DIRECTORY_VARIABLE) else { return };
    let store = open(Path::new(&directory)).unwrap();
    let start = last_number(&store).unwrap() + 1;
    for number in start.. {
        write(&store, number).unwrap();
        println!("\ncommitted {number}");
    }
}

/// One transaction: the number, and temporary rows.
fn write(store: &TableStore, number: i64) -> Result<()> {
    let mut transaction = store.begin()?;
    let table = match transaction.table(TABLE) {
        Err(Error::NotFound { .. }) => {
            let columns = vec![
                Column::required("number", ColumnType::Int64),
                Column::required("text", ColumnType::Text),
            ];
            transaction.create_table(&TableSchema::new(TABLE, columns, vec![0]))?
        }
        table => table?,
    };
    let text = "text ".repeat(1 + (number % 400) as usize);
    transaction.insert(&table, &[ValueRef::Integer(number), ValueRef::Text(&text)])?;
    // A companion row, which the next transaction deletes.
    transaction.insert(&table, &[ValueRef::Integer(-number), ValueRef::Text("companion")])?;
    transaction.delete(&table, &[ValueRef::Integer(1 - number)])?;
    transaction.commit()
}

fn last_number(store: &TableStore) -> Result<i64> {
    let snapshot = store.snapshot();
    match snapshot.table(TABLE) {
        Err(Error::NotFound { .. }) => Ok(0),
        // Every number, and the last one's companion.
        table => Ok(snapshot.row_count(&*table?)? as i64 - 1),
    }
}

/// Starts a worker, kills it some time after its first commit, and returns the last number it
/// printed.
fn run_worker(directory: &Path, random: &mut Random) -> i64 {
    let program = std::env::current_exe().unwrap();
    let mut worker = Command::new(program)
        .args(["kill::worker", "--exact", "--nocapture"])
        .env(DIRECTORY_VARIABLE, directory)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(worker.stdout.take().unwrap()).lines();
    let reader = thread::spawn(move || {
        let numbers = lines.map_while(|line| line.ok()).filter_map(|line| {
            line.strip_prefix("committed ").and_then(|number| number.parse::<i64>().ok())
        });
        numbers.last()
    });
    thread::sleep(Duration::from_micros(20_000 + random.below(150_000) as u64));
    worker.kill().unwrap();
    worker.wait().unwrap();
    reader.join().unwrap().unwrap_or(0)
}

fn survives(rounds: u64) {
    let directory = tempfile::tempdir().unwrap();
    let mut random = Random::new(rounds);
    let mut last = 0;
    for round in 0..rounds {
        last = run_worker(directory.path(), &mut random).max(last);
        let store = open(directory.path()).unwrap_or_else(|error| panic!("round {round}: {error}"));
        let report = store.snapshot().check().unwrap();
        assert_eq!(report.problems, [], "round {round}");
        let found = last_number(&store).unwrap();
        assert!(found >= last, "round {round}: {last} was committed, {found} is the last one");
        let snapshot = store.snapshot();
        if found > 0 {
            let table = snapshot.table(TABLE).unwrap();
            for number in (1..=found).chain([-found]) {
                let row = snapshot.get(&table, &[ValueRef::Integer(number)]).unwrap();
                assert!(row.is_some(), "round {round}: {number} is gone");
            }
        }
        last = found;
    }
    assert!(last > 0, "no worker has committed anything");
    println!("{last} transactions of {rounds} killed processes");
}

#[test]
fn killed_processes_lose_nothing_they_have_committed() {
    survives(8);
}

#[test]
#[ignore = "minutes"]
fn a_thousand_killed_processes_lose_nothing_they_have_committed() {
    survives(seeds(1000).end);
}

/// A second writer is refused with the process id of the first; when the first has died, the lock
/// is free.
#[test]
fn of_two_processes_one_writes() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).unwrap();
    let files: Arc<dyn FileSystem> = Arc::new(DiskFileSystem);
    let options = Options { timeout: Duration::from_millis(30), ..small_options() };
    let second = TableStore::open(&files, directory.path(), options.clone());
    match second {
        Err(Error::Locked(_)) => {}
        other => panic!("{other:?}"),
    }
    write(&store, 1).unwrap();
    let reading = Options { read_only: true, ..options };
    let reader = TableStore::open(&files, directory.path(), reading).unwrap();
    assert_eq!(last_number(&reader).unwrap(), 1);
    assert!(matches!(reader.begin(), Err(Error::ReadOnly)));
    drop(store);
    drop(TableStore::open(&files, directory.path(), options).unwrap());
}
