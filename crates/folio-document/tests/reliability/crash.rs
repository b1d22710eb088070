//! Random operations compared with the model, with a crash at every sync.

use folio_document::{Durability, Layout};
use folio_file::{CrashPlan, Recording};

use crate::operation::take_step;
use crate::random::Random;
use crate::seeds::{run_seeds, seeds};
use crate::survival::{End, check_survival};
use crate::world::{Setup, World};

const STEPS: usize = 25;

/// How thorough a run is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    pub(crate) recording: Recording,
    /// Random plans per crash point, besides losing everything, nothing, and a kill.
    pub(crate) plans: u64,
}

/// Runs operations, then crashes at every recorded moment. Returns how many states were reached.
pub(crate) fn run(seed: u64, setup: Setup, effort: Effort) -> Result<u64, String> {
    let mut world = World::new(seed, setup, effort.recording)?;
    for _ in 0..STEPS {
        take_step(&mut world).map_err(|text| reported(&world, &text))?;
    }
    world.compare().map_err(|text| reported(&world, &text))?;
    let mut random = Random::new(!seed);
    let mut states = 0;
    for moment in world.take_moments() {
        for end in ends(&world.setup, effort, &mut random) {
            states +=
                check_survival(&world.setup, &moment.image, end, &moment.history, &mut random)
                    .map_err(|text| {
                        reported(&world, &format!("{end:?} at {}: {text}", moment.label))
                    })?;
        }
    }
    Ok(states)
}

fn ends(setup: &Setup, effort: Effort, random: &mut Random) -> Vec<End> {
    let mut ends = vec![End::Kill];
    // A document's file that is never synced may be torn after a crash, and is reported as such.
    if setup.layout == Layout::Files && setup.options.durability == Durability::None {
        return ends;
    }
    ends.push(End::PowerCut(CrashPlan::lose_everything()));
    ends.push(End::PowerCut(CrashPlan::lose_nothing()));
    ends.extend((0..effort.plans).map(|_| End::PowerCut(CrashPlan::new(random.draw()))));
    ends
}

fn reported(world: &World, text: &str) -> String {
    let (layout, options) = (world.setup.layout, &world.setup.options);
    format!("{layout:?}, {:?}: {text}\n{}", options.durability, world.log.join("\n"))
}

/// The minimum average number of crash states per seed.
const STATES_PER_SEED: u64 = 500;

fn survives(count: u64, effort: Effort) {
    let seeds = seeds(count);
    let wanted =
        if seeds.end - seeds.start < 20 { 1 } else { (seeds.end - seeds.start) * STATES_PER_SEED };
    let states = run_seeds(seeds, |seed| run(seed, Setup::of_seed(seed), effort))
        .unwrap_or_else(|text| panic!("{text}"));
    println!("{states} crash states");
    assert!(states >= wanted, "{states} crash states are too few, {wanted} were wanted");
}

#[test]
fn no_crash_at_a_sync_loses_what_was_promised() {
    survives(20, Effort { recording: Recording::Syncs, plans: 2 });
}

#[test]
fn no_crash_at_any_change_loses_what_was_promised() {
    survives(20, Effort { recording: Recording::Changes, plans: 1 });
}

/// The record of batches was new, its creator was killed, and the next writer synced what is in it
/// but not its name. A power cut in the next batch lost the record, and part of the batch counted.
#[test]
fn a_record_whose_creator_was_killed_is_there_after_a_power_cut() {
    let effort = Effort { recording: Recording::Syncs, plans: 3 };
    run(424, Setup::of_seed(424), effort).unwrap_or_else(|text| panic!("{text}"));
}

#[test]
#[ignore = "a million crash states: minutes"]
fn no_crash_of_a_million_loses_what_was_promised() {
    survives(700, Effort { recording: Recording::Syncs, plans: 3 });
    survives(300, Effort { recording: Recording::Changes, plans: 1 });
}
