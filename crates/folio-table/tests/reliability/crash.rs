//! Random work compared with the model, with a crash at every relevant moment.

use folio_file::{CrashPlan, CrashPoint, MemoryFileSystem, Recording};
use folio_table::{Options, Result, Synchronous, TableStore};

use crate::model::{History, Tables, reported};
use crate::random::Random;
use crate::seeds::{run_seeds, seeds};
use crate::store::{new_disk, open, options_of_seed, put, read_all, read_snapshot};
use crate::work::random_transaction;

/// The number of transactions of a run.
const TRANSACTIONS: usize = 30;

/// One run: its history, and the moments at which it may crash.
pub(crate) struct Run {
    options: Options,
    history: History,
    points: Vec<CrashPoint>,
}

/// Random work, with checkpoints, restarts and open snapshots.
pub(crate) fn run(seed: u64, options: &Options, recording: Recording) -> Result<Run, String> {
    let files = new_disk(seed);
    files.record_crash_points(recording);
    let mut worker = Worker {
        options: options.clone(),
        history: History::new(),
        random: Random::new(seed),
        files,
    };
    worker.work().map_err(|error| format!("no fault was asked for, but: {error}"))?;
    worker.files.record_crash_points(Recording::Nothing);
    let points = worker.files.crash_points();
    Ok(Run { options: worker.options, history: worker.history, points })
}

struct Worker {
    options: Options,
    history: History,
    random: Random,
    files: MemoryFileSystem,
}

impl Worker {
    fn work(&mut self) -> Result<()> {
        let mut tables = Tables::new();
        let mut store = open(&self.files, &self.options)?;
        let mut held = None;
        for _ in 0..TRANSACTIONS {
            let mut after = tables.clone();
            let transaction = random_transaction(&store, &mut after, &mut self.random)?;
            if self.random.once_in(6) {
                drop(transaction);
                continue;
            }
            transaction.commit()?;
            tables = after;
            let is_promised = self.options.synchronous == Synchronous::Full;
            self.history.push(&tables, self.files.crash_point_count(), is_promised);
            match self.random.below(24) {
                0 | 1 if store.checkpoint()? => {
                    self.history.promise(self.files.crash_point_count());
                }
                2 => {
                    held = None;
                    if self.random.once_in(2) {
                        assert!(store.close()?, "nobody reads");
                    } else {
                        drop(store);
                    }
                    store = self.reopen()?;
                }
                3 => held = Some((store.snapshot(), tables.clone())),
                4 | 5 => compare_held(held.take())?,
                _ => {}
            }
        }
        compare_held(held)?;
        assert_eq!(read_all(&store)?, tables, "the store and the model at the end");
        Ok(())
    }

    /// Opening makes durable what was committed.
    fn reopen(&mut self) -> Result<TableStore> {
        let store = open(&self.files, &self.options)?;
        self.history.promise(self.files.crash_point_count());
        Ok(store)
    }
}

/// A snapshot always sees the state at its start.
fn compare_held(held: Option<(folio_table::Snapshot, Tables)>) -> Result<()> {
    if let Some((snapshot, tables)) = held {
        assert_eq!(read_snapshot(&snapshot)?, tables, "a snapshot held for a while");
    }
    Ok(())
}

/// The kind of a crash.
#[derive(Debug, Clone, Copy)]
enum End {
    /// The process died; what it had written is in the system's memory.
    Kill,
    /// The power failed.
    PowerCut(CrashPlan),
}

impl End {
    fn apply(self, image: &MemoryFileSystem) -> MemoryFileSystem {
        match self {
            Self::Kill => image.kill(),
            Self::PowerCut(plan) => image.crash(plan),
        }
    }
}

impl Run {
    /// Crashes at a point and checks that the store opens, has an allowed state, and continues from
    /// it, even if another crash follows. Returns the number of states checked.
    fn check(&self, number: usize, random: &mut Random) -> Result<u64, String> {
        let point = &self.points[number];
        let end = if random.once_in(5) {
            End::Kill
        } else {
            End::PowerCut(CrashPlan::new(random.draw()))
        };
        self.check_end(number, end, random).map_err(|text| {
            let when = if point.is_after { "after" } else { "before" };
            let (operation, path) = (point.operation, point.path.display());
            format!("{end:?} at {number}, {when} {operation:?} {path}: {text}")
        })
    }

    fn check_end(&self, number: usize, end: End, random: &mut Random) -> Result<u64, String> {
        let disk = end.apply(&self.points[number].image);
        disk.record_crash_points(Recording::Changes);
        let store = open(&disk, &self.options).map_err(|error| format!("unopenable: {error}"))?;
        let found = look(&store)?;
        self.history.allows(&found, number, matches!(end, End::Kill))?;
        put(&store, 500, "later").map_err(|error| format!("it cannot go on: {error}"))?;
        let later = look(&store)?;
        drop(store);
        disk.record_crash_points(Recording::Nothing);
        let mut states = 1;
        if self.options.synchronous == Synchronous::Full {
            let again = disk.crash(CrashPlan::new(random.draw()));
            let seen = self.reopen_and_look(&again)?;
            if seen != later {
                return Err(format!("what was written later is gone: {}", reported(&seen)));
            }
            states += 1;
        }
        states += self.crash_the_recovery(&disk, number, &later, random)?;
        Ok(states)
    }

    /// A second crash, somewhere between opening and the end of the next commit.
    fn crash_the_recovery(
        &self,
        disk: &MemoryFileSystem,
        number: usize,
        later: &Tables,
        random: &mut Random,
    ) -> Result<u64, String> {
        let points = disk.crash_points();
        if points.is_empty() {
            return Ok(0);
        }
        let point = random.one_of(&points);
        let again = point.image.crash(CrashPlan::new(random.draw()));
        let seen = self.reopen_and_look(&again)?;
        // Until the recovery has made it durable, data left by a kill may be lost.
        if seen == *later || self.history.allows(&seen, number, false).is_ok() {
            return Ok(1);
        }
        let when = if point.is_after { "after" } else { "before" };
        let (operation, path) = (point.operation, point.path.display());
        Err(format!("a second crash, {when} {operation:?} {path}, left {}", reported(&seen)))
    }

    fn reopen_and_look(&self, disk: &MemoryFileSystem) -> Result<Tables, String> {
        let store =
            open(disk, &self.options).map_err(|error| format!("unopenable later: {error}"))?;
        look(&store)
    }
}

fn look(store: &TableStore) -> Result<Tables, String> {
    read_all(store).map_err(|error| format!("unreadable: {error}"))
}

/// Crashes a run at random points until this many states were checked.
pub(crate) fn crash_run(
    seed: u64,
    options: &Options,
    recording: Recording,
    states_wanted: u64,
) -> Result<u64, String> {
    let run = run(seed, options, recording)?;
    let mut random = Random::new(!seed);
    let mut states = 0;
    while states < states_wanted {
        states += run.check(random.below(run.points.len()), &mut random)?;
    }
    Ok(states)
}

fn survives(count: u64, recording: Recording, states_per_seed: u64) {
    let states = run_seeds(seeds(count), |seed| {
        crash_run(seed, &options_of_seed(seed), recording, states_per_seed)
    })
    .unwrap_or_else(|text| panic!("{text}"));
    println!("{states} crash states");
}

#[test]
fn ten_thousand_crashes_lose_nothing_that_was_promised() {
    survives(25, Recording::Changes, 400);
}

#[test]
#[ignore = "a million crash states: minutes"]
fn a_million_crashes_lose_nothing_that_was_promised() {
    survives(1000, Recording::Changes, 600);
    survives(1000, Recording::Syncs, 400);
}
