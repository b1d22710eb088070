//! A failing device: any call may return an error, once or from then on.
//!
//! Whatever fails, the error is returned and promises hold. The handle continues when the device
//! works again, but after a failed sync it rejects writes until it is reopened. A power cut or a
//! kill at that moment loses nothing that was promised.

use folio_document::{Access, Collection, Durability, Error, Layout};
use folio_file::{CrashPlan, Fault, FaultKind, MemoryFileSystem, Operation, Recording};

use crate::operation::take_step;
use crate::random::Random;
use crate::seeds::{run_seeds, seeds};
use crate::survival::{End, check_survival};
use crate::text::{Content, reported};
use crate::world::{LATER, Setup, World, observe};

const STEPS: usize = 14;

/// The number of the failing call is drawn up to this; a run makes fewer or more calls.
const CALLS: usize = 700;

/// What can go wrong.
const KINDS: [FaultKind; 4] = [
    FaultKind::Eio,
    FaultKind::Enospc,
    FaultKind::ShortWrite { bytes: 9 },
    FaultKind::ShortWrite { bytes: 700 },
];

/// The words that report each kind.
const WORDS: [&str; 4] = [
    "input/output error",
    "no storage space",
    "an earlier sync failed",
    "a write failed, and its result could not",
];

/// Every fifth fault is in a sync, since syncs are few among all calls.
fn draw_fault(random: &mut Random) -> Fault {
    let kind = *random.one_of(&KINDS);
    let fault = match random.below(5) {
        0 => Fault::next(Operation::Sync, kind).after(random.below(25) as u64),
        1 => Fault::next(Operation::Append, kind).after(random.below(30) as u64),
        _ => Fault::next(Operation::Any, kind).after(random.below(CALLS) as u64),
    };
    if random.once_in(2) { fault.sticky() } else { fault }
}

/// Runs operations until the fault occurs. Returns the number of states checked.
pub(crate) fn run(seed: u64, setup: Setup) -> Result<u64, String> {
    let mut world = World::new(seed, setup, Recording::Nothing)?;
    let mut random = Random::new(!seed);
    let fault = draw_fault(&mut random);
    let reported =
        format!("{:?}, {:?}, {fault:?}", world.setup.layout, world.setup.options.durability);
    world.files.inject(fault);
    world.has_faults = true;
    let error = (0..STEPS).find_map(|_| take_step(&mut world).err());
    let Some(error) = error else { return Ok(0) };
    check(&mut world, &error, &mut random)
        .map_err(|text| format!("{reported}: {text}\nafter {error}\n{}", world.log.join("\n")))
}

fn check(world: &mut World, error: &str, random: &mut Random) -> Result<u64, String> {
    if !WORDS.iter().any(|text| error.contains(text)) {
        return Err("this is not what the device said".to_owned());
    }
    let image = world.files.kill();
    image.clear_faults();
    let mut states = 0;
    let ends = [
        End::Kill,
        End::PowerCut(CrashPlan::lose_everything()),
        End::PowerCut(CrashPlan::new(random.draw())),
    ];
    for end in ends {
        let is_torn_for_good = world.setup.layout == Layout::Files
            && world.setup.options.durability == Durability::None;
        if is_torn_for_good && matches!(end, End::PowerCut(_)) {
            continue;
        }
        states += check_survival(&world.setup, &image, end, &world.history, random)
            .map_err(|text| format!("{end:?}: {text}"))?;
    }
    world.files.clear_faults();
    go_on(world, random)?;
    Ok(states + 1)
}

/// The device works again. The same handle reads, and writes unless a sync had failed.
fn go_on(world: &mut World, random: &mut Random) -> Result<(), String> {
    let Some(collection) = world.collection.take() else { return Ok(()) };
    // Changes that others made in the meantime are not part of this check.
    collection.refresh().map_err(|error| format!("a refresh fails: {error}"))?;
    let mut found = observe(&collection, random.below(3))?;
    allows(world, &found)?;
    let line = format!("{{\"_id\":\"{LATER}\",\"n\":1}}");
    match write(&collection, &line) {
        Ok(()) => found.push((LATER.to_owned(), line)),
        Err(Error::Poisoned { .. }) => {
            // Reads continue, and reopening ends the rejection of writes.
            allows(world, &observe(&collection, random.below(3))?)?;
            drop(collection);
            return go_on_anew(world, &world.files.kill());
        }
        Err(error) => return Err(format!("the device works again, and a write fails: {error}")),
    }
    if world.setup.options.durability != Durability::None {
        // The flush has promised everything, including what an earlier sync failed for.
        let files = world.files.crash(CrashPlan::lose_everything());
        survived(world, &files, &found, random)
            .map_err(|text| format!("a power cut after going on: {text}"))?;
    }
    drop(collection);
    let files = world.files.clone();
    survived(world, &files, &found, random)
}

fn survived(
    world: &World,
    files: &MemoryFileSystem,
    found: &Content,
    random: &mut Random,
) -> Result<(), String> {
    let reader = world.setup.open(files, Access::Read).map_err(|error| error.to_string())?;
    let later = observe(&reader, random.below(3))?;
    if world.history.is_same(&later, found) {
        return Ok(());
    }
    // The first write after the failure decided what the failure left open.
    let mut history = world.history.clone();
    history.complete();
    let mut decided = history.latest();
    decided.push(found[found.len() - 1].clone());
    if history.is_same(&later, &decided) {
        return Ok(());
    }
    Err(format!("after going on found {}, expected {}", reported(&later), reported(found)))
}

fn write(collection: &Collection, line: &str) -> folio_document::Result<()> {
    collection.put_raw(LATER, line)?;
    collection.flush()
}

fn go_on_anew(world: &World, files: &MemoryFileSystem) -> Result<(), String> {
    let writer = world.setup.open(files, Access::ReadWrite).map_err(|error| error.to_string())?;
    write(&writer, &format!("{{\"_id\":\"{LATER}\"}}")).map_err(|error| error.to_string())
}

/// All completed changes are there; the failed one may or may not be.
fn allows(world: &World, found: &Content) -> Result<(), String> {
    let mut done = world.history.clone();
    let without = done.latest();
    done.complete();
    let with = done.latest();
    if [&without, &with].iter().any(|content| world.history.is_same(found, content)) {
        return Ok(());
    }
    Err(format!(
        "the handle says {}, expected {} or {}",
        reported(found),
        reported(&without),
        reported(&with)
    ))
}

#[test]
fn any_call_may_fail_and_the_handle_goes_on() {
    let states = run_seeds(seeds(4000), |seed| run(seed, Setup::of_seed(seed)))
        .unwrap_or_else(|text| panic!("{text}"));
    println!("{states} states after a fault");
    assert!(std::env::var_os("FOLIO_SEED").is_some() || states > 5000, "{states} are too few");
}
