//! Every call of the file system fails once, or permanently from some call on.
//!
//! Whatever fails: acknowledged changes stay, refused ones do not exist, and uncertain ones (after
//! a failed sync) exist as a whole or not at all. The store is usable again after the fault, unless
//! a sync failed, which it reports.

use folio_file::{CrashPlan, Fault, FaultKind, MemoryFileSystem, Operation};
use folio_table::{Error, Options, Result, Synchronous, TableStore};
use folio_types::{Column, ColumnType, TableSchema, ValueRef};

use crate::model::{Tables, reported};
use crate::random::Random;
use crate::seeds::{run_seeds, seeds};
use crate::store::{new_disk, open, options_of_seed, read_all, read_rows};
use crate::work::random_transaction;

/// The number of transactions of a run.
const TRANSACTIONS: usize = 10;

/// The store under faults, and its expected content.
struct Patient {
    options: Options,
    files: MemoryFileSystem,
    random: Random,
    store: Option<TableStore>,
    /// As of the last commit that was acknowledged.
    tables: Tables,
    /// As of a commit that may or may not have happened.
    in_doubt: Option<Tables>,
}

impl Patient {
    fn new(seed: u64, options: &Options) -> Self {
        Self {
            options: options.clone(),
            files: new_disk(seed),
            random: Random::new(seed),
            store: None,
            tables: Tables::new(),
            in_doubt: None,
        }
    }

    /// Opens, writes, reads, makes checkpoints and opens again, through all errors.
    fn work(&mut self) -> Result<(), String> {
        for number in 0..TRANSACTIONS {
            if self.store.is_none() || number == TRANSACTIONS / 2 {
                self.reopen()?;
            }
            let Some(store) = self.store.clone() else { continue };
            self.transact(&store)?;
            if let Ok(found) = read_rows(&store.snapshot()) {
                self.expect(&found, "while calls fail")?;
            }
            let _ = match self.random.below(8) {
                0 | 1 => store.checkpoint(),
                // Clones continue.
                2 => store.close(),
                _ => Ok(false),
            };
        }
        Ok(())
    }

    /// Like a process that ends and restarts, under the same faults.
    fn reopen(&mut self) -> Result<(), String> {
        self.store = None;
        let Ok(store) = open(&self.files, &self.options) else { return Ok(()) };
        if let Ok(found) = read_rows(&store.snapshot()) {
            self.expect(&found, "after opening while calls fail")?;
            self.tables = found;
            self.in_doubt = None;
            self.store = Some(store);
        }
        Ok(())
    }

    fn transact(&mut self, store: &TableStore) -> Result<(), String> {
        let mut after = self.tables.clone();
        let Ok(transaction) = random_transaction(store, &mut after, &mut self.random) else {
            return Ok(());
        };
        match transaction.commit() {
            Ok(()) if self.in_doubt.is_some() => {
                Err("a commit was acknowledged after a sync had failed".to_owned())
            }
            Ok(()) => {
                self.tables = after;
                Ok(())
            }
            // Only a failed sync leaves it open whether the commit happened.
            Err(_) if matches!(store.begin(), Err(Error::Poisoned { .. })) => {
                self.in_doubt.get_or_insert(after);
                Ok(())
            }
            Err(_) => Ok(()),
        }
    }

    fn expect(&self, found: &Tables, when: &str) -> Result<(), String> {
        if *found == self.tables || Some(found) == self.in_doubt.as_ref() {
            return Ok(());
        }
        Err(format!("{when}, found {} in place of {}", reported(found), reported(&self.tables)))
    }

    /// The fault has passed: everything is intact and usable.
    fn recover(&mut self) -> Result<(), String> {
        self.files.clear_faults();
        self.files.set_capacity(None);
        if let Some(store) = self.store.take() {
            let found = read_all(&store).map_err(|error| format!("reading then: {error}"))?;
            self.expect(&found, "when the fault has passed")?;
            let is_poisoned = matches!(store.begin(), Err(Error::Poisoned { .. }));
            if !is_poisoned {
                self.in_doubt = None;
                self.commit_one(&store, found)?;
            }
        }
        self.look_at(&self.files.kill(), "after a kill")?;
        for plan in [CrashPlan::lose_everything(), CrashPlan::new(self.random.draw())] {
            self.look_at(&self.files.crash(plan), "after a power cut")?;
        }
        self.go_on_from_a_kill()
    }

    fn commit_one(&mut self, store: &TableStore, mut after: Tables) -> Result<(), String> {
        let failed = |error: Error| format!("writing when the fault has passed: {error}");
        let transaction =
            random_transaction(store, &mut after, &mut self.random).map_err(failed)?;
        transaction.commit().map_err(failed)?;
        self.tables = after;
        let found = read_all(store).map_err(failed)?;
        self.expect(&found, "after the next commit")
    }

    fn look_at(&self, files: &MemoryFileSystem, when: &str) -> Result<Tables, String> {
        let failed = |error| format!("{when}: {error}");
        let store = open(files, &self.options).map_err(failed)?;
        let found = read_all(&store).map_err(failed)?;
        self.expect(&found, when)?;
        Ok(found)
    }

    /// After a failed sync, the next process reads the bytes. Everything it builds on, and
    /// everything it adds, must survive a power failure.
    fn go_on_from_a_kill(&mut self) -> Result<(), String> {
        let files = self.files.kill();
        let failed = |error| format!("the next process: {error}");
        let store = open(&files, &self.options).map_err(failed)?;
        self.tables = read_all(&store).map_err(failed)?;
        self.in_doubt = None;
        let found = self.tables.clone();
        self.commit_one(&store, found)?;
        drop(store);
        self.look_at(&files.crash(CrashPlan::lose_everything()), "after a power cut later")?;
        Ok(())
    }
}

/// The number of calls of a kind in a run without faults.
fn calls(seed: u64, options: &Options, operation: Operation) -> u64 {
    let mut patient = Patient::new(seed, options);
    patient.work().unwrap();
    patient.files.call_count(operation)
}

fn kinds(random: &mut Random) -> [FaultKind; 3] {
    let bytes = random.below(5000);
    [FaultKind::Eio, FaultKind::Enospc, FaultKind::ShortWrite { bytes }]
}

/// Fails the calls from `first` on, every `stride`-th of them in a separate run.
pub(crate) fn fail_calls(
    seed: u64,
    options: &Options,
    operation: Operation,
    first: u64,
    stride: u64,
) -> Result<u64, String> {
    let mut random = Random::new(!seed);
    let mut runs = 0;
    for after in (first..calls(seed, options, operation)).step_by(stride as usize) {
        let kind = *random.one_of(&kinds(&mut random.clone()));
        let is_sticky = random.once_in(2);
        let mut fault = Fault::next(operation, kind).after(after);
        if is_sticky {
            fault = fault.sticky();
        }
        let mut patient = Patient::new(seed, options);
        patient.files.inject(fault);
        let outcome = patient.work().and_then(|()| patient.recover());
        outcome.map_err(|text| {
            format!("{kind:?} of {operation:?} after {after} calls, sticky {is_sticky}: {text}")
        })?;
        runs += 1;
    }
    Ok(runs)
}

fn always_durable(seed: u64) -> Options {
    Options { synchronous: Synchronous::Full, ..options_of_seed(seed) }
}

fn survives(count: u64, stride: u64) {
    let runs = run_seeds(seeds(count), |seed| {
        let options = always_durable(seed);
        let any = fail_calls(seed, &options, Operation::Any, seed % stride, stride)?;
        // Syncs are few among all calls, and their failures are the most instructive.
        let syncs = fail_calls(seed, &options, Operation::Sync, 0, 1 + stride / 8)?;
        Ok(any + syncs)
    })
    .unwrap_or_else(|text| panic!("{text}"));
    println!("{runs} runs with a fault");
}

#[test]
fn no_failing_call_loses_or_invents_anything() {
    survives(12, 5);
}

#[test]
#[ignore = "every call of many runs: minutes"]
fn no_failing_call_of_many_runs_loses_or_invents_anything() {
    survives(100, 1);
}

/// The disk fills up at every possible size, and is then enlarged.
#[test]
fn a_full_disk_loses_nothing_and_is_used_again() {
    run_seeds(seeds(4), |seed| {
        let options = always_durable(seed);
        let mut random = Random::new(seed);
        let mut capacity = 0;
        let mut runs = 0;
        while capacity < 400_000 {
            let mut patient = Patient::new(seed, &options);
            patient.files.set_capacity(Some(capacity));
            let outcome = patient.work().and_then(|()| patient.recover());
            outcome.map_err(|text| format!("a disk of {capacity} bytes: {text}"))?;
            capacity += 1 + random.below(8000) as u64;
            runs += 1;
        }
        Ok(runs)
    })
    .unwrap_or_else(|text| panic!("{text}"));
}

/// A load that does not fit a full disk leaves the data file as large as before, and so does the
/// next open after a process that ended within a load.
#[test]
fn a_load_that_fails_leaves_the_data_file_as_it_was() {
    let files = new_disk(1);
    let options = Options::default();
    let columns = vec![Column::required("id", ColumnType::Int64)];
    let schema = TableSchema::new("t", columns, vec![0]);
    let size = || files.read("/db/tables.folio").map_or(0, |bytes| bytes.len());
    let load = |store: &TableStore, count: i64| -> Result<()> {
        let mut transaction = store.begin()?;
        let table = transaction.table("t")?;
        let mut load = transaction.load(&table)?;
        (0..count).try_for_each(|id| load.push(&[ValueRef::Integer(id)]))?;
        load.finish().map(drop)
    };
    let store = open(&files, &options).expect("the store opens");
    let mut transaction = store.begin().expect("a writer begins");
    transaction.create_table(&schema).expect("a table");
    transaction.commit().expect("the table is stored");
    store.checkpoint().expect("a checkpoint");
    let before = size();
    files.set_capacity(Some(4 << 20));
    load(&store, 1_000_000).expect_err("the disk is full");
    assert_eq!(size(), before, "after the load that failed");
    files.set_capacity(None);
    files.append("/db/tables.folio", &[1; 1 << 20]).expect("pages of nobody");
    drop(store);
    let store = open(&files, &options).expect("the store opens again");
    assert_eq!(size(), before, "after the next open");
    load(&store, 1_000).expect("the store is used again");
    assert_eq!(size(), before, "the load was not committed");
}
