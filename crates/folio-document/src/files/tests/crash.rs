//! Random operations, crashed at every moment, compared with a model.
//!
//! For every id, the model stores what it may hold after a crash: what it held when everything was
//! last durable, or anything written since. A batch is durable when its commit returns; before that
//! it is there as a whole or not at all. Every value contains the number of its step, so that no
//! two are equal. Set `FOLIO_SEED` to repeat one run, `FOLIO_RUNS` for more runs.

#[path = "../../../../../conformance/random.rs"]
mod random;

use std::collections::{BTreeMap, BTreeSet};

use folio_file::{CrashPlan, Fault, FaultKind, Operation, Recording};

use super::*;
use random::Random;

/// Few, so that the same ids are written repeatedly.
const IDS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

const STEPS: usize = 14;

/// The document that a writer after a crash writes and deletes again.
const OTHER: &str = "{\"_id\":\"other\"}";

/// The document of an id, or `None`.
type Held = Option<String>;

#[derive(Debug, Clone)]
struct Step {
    changes: Vec<(&'static str, Held)>,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Single,
    Batch,
    Flush,
}

fn draw(random: &mut Random, number: usize) -> Step {
    let id = |random: &mut Random| IDS[random.below(IDS.len())];
    let put = |id: &str| Some(format!("{{\"_id\":\"{id}\",\"step\":{number}}}"));
    match random.below(10) {
        0..=3 => {
            let id = id(random);
            Step { changes: vec![(id, put(id))], kind: Kind::Single }
        }
        4 => Step { changes: vec![(id(random), None)], kind: Kind::Single },
        5..=7 => {
            let ids: BTreeSet<_> = (0..1 + random.below(4)).map(|_| id(random)).collect();
            let change = |id| (id, if random.below(4) == 0 { None } else { put(id) });
            Step { changes: ids.into_iter().map(change).collect(), kind: Kind::Batch }
        }
        _ => Step { changes: Vec::new(), kind: Kind::Flush },
    }
}

fn take(store: &Arc<FileStore>, step: &Step) -> Result<()> {
    match step.kind {
        Kind::Flush => store.flush(),
        Kind::Single => match &step.changes[0] {
            (id, Some(json)) => put(store, id, json).map(drop),
            (id, None) => store.delete(id).map(drop),
        },
        Kind::Batch => {
            let changes: Vec<_> =
                step.changes.iter().map(|(id, held)| (*id, held.as_deref())).collect();
            commit(store, &changes).map(drop)
        }
    }
}

/// What each id may hold.
#[derive(Debug, Clone)]
struct Model {
    /// The last of each is what it holds without a crash.
    held: BTreeMap<&'static str, Vec<Held>>,
    every_put: bool,
}

impl Model {
    fn new(every_put: bool) -> Self {
        Self { held: IDS.iter().map(|&id| (id, vec![None])).collect(), every_put }
    }

    /// The step may or may not have happened.
    fn maybe(&mut self, step: &Step) {
        for (id, held) in &step.changes {
            self.held.get_mut(id).unwrap().push(held.clone());
        }
    }

    /// The step has returned without an error.
    fn done(&mut self, step: &Step) {
        self.maybe(step);
        if step.kind != Kind::Single || self.every_put {
            for held in self.held.values_mut() {
                held.drain(..held.len() - 1);
            }
        }
    }

    /// Updates the model after an error, with what the store now holds.
    fn seen(&mut self, found: &BTreeMap<&'static str, Held>) {
        for (id, held) in found {
            assert!(
                self.held[id].contains(held),
                "{id} holds {held:?}, allowed is {:?}",
                self.held[id]
            );
            self.held.get_mut(id).unwrap().push(held.clone());
        }
    }

    /// Nothing is lost if only the process ends.
    fn latest(&self) -> BTreeMap<&'static str, Held> {
        self.held.iter().map(|(&id, held)| (id, held.last().unwrap().clone())).collect()
    }

    /// Compares what was found with what is allowed.
    fn check(
        &self,
        found: &BTreeMap<&'static str, Held>,
        underway: Option<&Step>,
    ) -> Result<(), String> {
        for (id, held) in found {
            if !self.held[id].contains(held) {
                return Err(format!("{id} holds {held:?}, allowed is {:?}", self.held[id]));
            }
        }
        let Some(batch) = underway.filter(|step| step.kind == Kind::Batch) else { return Ok(()) };
        let puts: Vec<_> = batch.changes.iter().filter(|(_, held)| held.is_some()).collect();
        let there = puts.iter().filter(|(id, held)| found[id] == *held).count();
        let all = batch.changes.iter().all(|(id, held)| found[id] == *held);
        if there > 0 && !all {
            return Err(format!("a part of the batch {batch:?} is there: {found:?}"));
        }
        Ok(())
    }
}

fn state(store: &Arc<FileStore>) -> BTreeMap<&'static str, Held> {
    let found: BTreeMap<_, _> = IDS.iter().map(|&id| (id, get(store, id))).collect();
    // A scan, the ids and the count must agree.
    let mut scanned = scan(store);
    assert_eq!(ids(store).len(), scanned.len());
    assert_eq!(store.count().unwrap(), scanned.len() as u64);
    scanned.retain(|line| line != OTHER);
    scanned.sort_unstable();
    let gotten: Vec<_> = found.values().flatten().cloned().collect();
    assert_eq!(scanned, gotten);
    found
}

/// Opens a disk after a crash, for reading and then for writing. Both must find the same, whole
/// documents. Returns them.
fn reopen(files: &MemoryFileSystem) -> BTreeMap<&'static str, Held> {
    let read = state(&open_to_read(files));
    let store = open(files);
    assert_eq!(state(&store), read, "a writer before its first write");
    put(&store, "other", OTHER).unwrap();
    store.delete("other").unwrap();
    store.flush().unwrap();
    assert_eq!(state(&store), read, "a writer that has recovered");
    let report = store.check(None, &mut |_, _| true).unwrap();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(state(&open_to_read(files)), read, "a reader after the recovery");
    read
}

fn runs(default: u64) -> std::ops::Range<u64> {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    match number("FOLIO_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("FOLIO_RUNS").unwrap_or(default),
    }
}

fn durability_of(seed: u64) -> Durability {
    if seed.is_multiple_of(3) { Durability::EveryPut } else { Durability::OnFlush }
}

#[test]
fn no_crash_loses_what_was_promised() {
    let mut states = 0;
    for seed in runs(40) {
        let files = new_disk();
        files.record_crash_points(Recording::Changes);
        let durability = durability_of(seed);
        let store = open_with(&files, &options(durability)).unwrap();
        let mut random = Random::new(seed);
        let mut model = Model::new(durability == Durability::EveryPut);
        // The model before each step, and the crash point from which it is valid.
        let mut history = Vec::new();
        for number in 0..STEPS {
            let step = draw(&mut random, number);
            history.push((files.crash_point_count(), model.clone(), Some(step.clone())));
            take(&store, &step).unwrap();
            model.done(&step);
            assert_eq!(state(&store), model.latest());
        }
        history.push((files.crash_point_count(), model, None));
        for (number, point) in files.crash_points().iter().enumerate() {
            let at = history.partition_point(|(from, ..)| *from <= number) - 1;
            let (_, before, step) = &history[at];
            let mut allowed = before.clone();
            step.iter().for_each(|step| allowed.maybe(step));
            let reported =
                |cause: &str| format!("seed {seed}, point {number} ({point:?}), {cause}");
            let killed = reopen(&point.image.kill());
            let only_underway =
                |id| allowed.held[id].iter().rev().take(2).any(|held| *held == killed[id]);
            assert!(IDS.into_iter().all(only_underway), "{}: {killed:?}", reported("killed"));
            for plan in 0..3 {
                let plan = CrashPlan::new(seed << 32 | (number as u64) << 8 | plan);
                let found = reopen(&point.image.crash(plan));
                if let Err(text) = allowed.check(&found, step.as_ref()) {
                    panic!("{}: {text}", reported(&format!("{plan:?}")));
                }
                states += 1;
            }
        }
    }
    assert!(states > 0);
    println!("{states} crash states");
}

#[test]
fn a_crash_during_recovery_is_recovered_from() {
    let mut states = 0;
    for seed in runs(40) {
        let files = new_disk();
        let store = open(&files);
        let mut random = Random::new(seed);
        for number in 0..4 {
            take(&store, &draw(&mut random, number)).unwrap();
        }
        store.flush().unwrap();
        let before = state(&store);
        let batch = Step {
            kind: Kind::Batch,
            changes: IDS[..4]
                .iter()
                .map(|&id| {
                    (id, (random.below(3) > 0).then(|| format!("{{\"_id\":\"{id}\",\"batch\":1}}")))
                })
                .collect(),
        };
        // The machine stops while the batch is applied, and again during the recovery.
        let stop = random.below(12) as u64;
        files.inject(Fault::next(Operation::Any, FaultKind::Eio).on("docs").after(stop).sticky());
        let committed = take(&store, &batch);
        files.clear_faults();
        let crashed = files.crash(CrashPlan::new(seed));
        crashed.record_crash_points(Recording::Changes);
        reopen(&crashed);
        for (number, point) in crashed.crash_points().iter().enumerate() {
            let found = reopen(&point.image.crash(CrashPlan::new(seed ^ (number as u64) << 16)));
            let mut whole = before.clone();
            whole.extend(batch.changes.iter().cloned());
            let is_allowed = found == whole || (committed.is_err() && found == before);
            assert!(is_allowed, "seed {seed}, point {number} {point:?}: {found:?}");
            states += 1;
        }
    }
    assert!(states > 0);
    println!("{states} crash states");
}

#[test]
fn any_call_may_fail() {
    let kinds = [FaultKind::Eio, FaultKind::Enospc, FaultKind::ShortWrite { bytes: 3 }];
    for seed in runs(150) {
        let durability = durability_of(seed);
        let kind = kinds[(seed % 3) as usize];
        for after in (0..).step_by(7) {
            let files = new_disk();
            let mut store = open_with(&files, &options(durability)).unwrap();
            let mut random = Random::new(seed);
            let mut model = Model::new(durability == Durability::EveryPut);
            let (mut failures, mut has_written) = (0, false);
            files.inject(Fault::next(Operation::Any, kind).after(after + seed % 7));
            for number in 0..STEPS {
                let step = draw(&mut random, number);
                match take(&store, &step) {
                    // A flush by a new handle without writes promises nothing.
                    Ok(()) if step.kind == Kind::Flush && !has_written => {}
                    Ok(()) => {
                        model.done(&step);
                        has_written = true;
                    }
                    Err(error) => {
                        failures += 1;
                        model.maybe(&step);
                        model.seen(&state(&store));
                        if matches!(error, crate::Error::Poisoned { .. }) {
                            store = open_with(&files, &options(durability)).unwrap();
                            has_written = false;
                        }
                    }
                }
            }
            files.clear_faults();
            let reported = format!("seed {seed}, after {after}, {kind:?}");
            drop(store);
            let found = reopen(&files.kill());
            model.check(&found, None).unwrap_or_else(|text| panic!("{reported}, killed: {text}"));
            let found = reopen(&files.crash(CrashPlan::new(seed)));
            model.check(&found, None).unwrap_or_else(|text| panic!("{reported}, crashed: {text}"));
            if failures == 0 && after > 150 {
                break;
            }
        }
    }
}
