//! Ten thousand crashes: what was acknowledged is there, and nothing half-done is.

mod harness;

use folio_file::{CrashPlan, MemoryFileSystem, Recording};
use folio_table::{Options, Result, TableStore};
use harness::{Random, Rows, change, create, files_with_directory, open, read_all, small_options};

/// The states after each transaction, and from which crash point on each is promised.
struct History {
    states: Vec<Option<Rows>>,
    promised_from: Vec<usize>,
    files: MemoryFileSystem,
}

/// Runs random transactions, some rolled back in part or whole.
fn run(seed: u64, options: &Options, transactions: usize) -> Result<History> {
    let files = files_with_directory();
    files.record_crash_points(Recording::Changes);
    let mut random = Random::new(seed);
    let mut history = History { states: vec![None], promised_from: vec![0], files: files.clone() };
    let mut rows = Rows::new();
    let mut store = open(&files, options.clone())?;
    let mut transaction = store.begin()?;
    create(&mut transaction)?;
    transaction.commit()?;
    history.push(&rows);
    for _ in 0..transactions {
        let mut transaction = store.begin()?;
        let table = transaction.table("things")?;
        let mut after = rows.clone();
        let count = if random.below(8) == 0 { 60 } else { 1 + random.below(6) };
        for _ in 0..count {
            change(&mut transaction, &table, &mut after, &mut random)?;
        }
        if random.below(4) == 0 {
            let (savepoint, kept) = (transaction.savepoint(), after.clone());
            for _ in 0..random.below(20) {
                change(&mut transaction, &table, &mut after, &mut random)?;
            }
            if random.below(2) == 0 {
                transaction.rollback_to(savepoint)?;
                after = kept;
            }
        }
        if random.below(6) == 0 {
            drop(transaction);
            continue;
        }
        transaction.commit()?;
        rows = after;
        history.push(&rows);
        match random.below(20) {
            0 => drop(store.checkpoint()?),
            1 => {
                drop(store);
                store = open(&files, options.clone())?;
            }
            _ => {}
        }
    }
    assert_eq!(read_all(&store)?, Some(rows), "seed {seed}: the store and the model at the end");
    Ok(history)
}

impl History {
    fn push(&mut self, rows: &Rows) {
        self.states.push(Some(rows.clone()));
        self.promised_from.push(self.files.crash_point_count());
    }

    /// Crashes at a point, reopens, compares, goes on, crashes again.
    fn check(&self, point: usize, seed: u64, options: &Options) -> std::result::Result<(), String> {
        let promised = self.promised_from.partition_point(|&from| from <= point) - 1;
        let disk = self.files.crash_points()[point].image.crash(CrashPlan::new(seed));
        let store = open(&disk, options.clone()).map_err(|error| format!("unopenable: {error}"))?;
        let found = self.find(&store, promised)?;
        go_on(&store).map_err(|error| format!("it cannot go on: {error}"))?;
        let after = read_all(&store).map_err(|error| format!("unreadable later: {error}"))?;
        drop(store);
        let again = disk.crash(CrashPlan::new(!seed));
        let store =
            open(&again, options.clone()).map_err(|error| format!("unopenable: {error}"))?;
        let last = read_all(&store).map_err(|error| format!("unreadable at last: {error}"))?;
        if last != after {
            return Err(format!("what was written after state {found} is gone"));
        }
        Ok(())
    }

    /// Which state the store is in: at least the promised one, at most the next.
    fn find(&self, store: &TableStore, promised: usize) -> std::result::Result<usize, String> {
        let rows = read_all(store).map_err(|error| format!("unreadable: {error}"))?;
        let at_most = (promised + 2).min(self.states.len());
        (promised..at_most).find(|&state| self.states[state] == rows).ok_or_else(|| {
            let elsewhere = self.states.iter().position(|state| *state == rows);
            format!("promised state {promised}, found {elsewhere:?}")
        })
    }
}

/// One more transaction on what was found.
fn go_on(store: &TableStore) -> Result<()> {
    let mut transaction = store.begin()?;
    let mut random = Random::new(5);
    let table = match transaction.table("things") {
        Ok(table) => table,
        Err(_) => create(&mut transaction)?,
    };
    for _ in 0..5 {
        let key = 1000 + random.below(1000) as i64;
        let row = harness::random_row(&mut random, key);
        let _ = transaction.insert(&table, &folio_types::borrowed(&row));
    }
    transaction.commit()
}

fn deep() -> bool {
    std::env::var_os("FOLIO_DEEP").is_some()
}

#[test]
fn ten_thousand_crashes() {
    let crashes = if deep() { 1_000_000 } else { 10_000 };
    let per_history = 500;
    for seed in 0..crashes / per_history {
        let options = small_options();
        let history = run(seed, &options, 60).expect("no fault was asked for");
        let points = history.files.crash_point_count() as u64;
        for crash in 0..per_history {
            let seed = seed * per_history + crash;
            let point = Random::new(seed).below(points) as usize;
            if let Err(problem) = history.check(point, seed, &options) {
                panic!("history {}, crash {seed}, point {point}: {problem}", seed / per_history);
            }
        }
    }
}
