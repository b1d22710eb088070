//! Runs the suites of this folder with one promise broken at a time. Each must be noticed.

use folio_document::Failpoint;
use folio_document::Layout;
use folio_file::Recording;

use crate::crash::{self, Effort};
use crate::fault;
use crate::seeds::run_seeds;
use crate::world::Setup;

/// Seeds that each suite tries before a bug counts as not noticed. Faults are many and fast,
/// crashes few and thorough.
const FAULT_SEEDS: u64 = 2000;
const CRASH_SEEDS: u64 = 40;

fn setup(seed: u64, bug: Option<Failpoint>) -> Setup {
    let mut setup = Setup::of_seed(seed);
    setup.layout = Layout::Lines;
    setup.options.layout = Layout::Lines;
    setup.options.failpoint = bug;
    setup
}

/// The failure reported by the first suite that notices a bug.
fn noticed(bug: Option<Failpoint>) -> Option<String> {
    let effort = Effort { recording: Recording::Changes, plans: 1 };
    let faults = || run_seeds(0..FAULT_SEEDS, |seed| fault::run(seed, setup(seed, bug)));
    let crashes = || run_seeds(0..CRASH_SEEDS, |seed| crash::run(seed, setup(seed, bug), effort));
    faults().and_then(|_| crashes()).err()
}

#[test]
fn every_failpoint_is_noticed() {
    assert_eq!(noticed(None), None, "and where there is none, none is");
    for bug in Failpoint::ALL.iter().copied() {
        let text = noticed(Some(bug)).unwrap_or_else(|| panic!("{bug:?} is not noticed"));
        println!("{bug:?}: {}", text.lines().take(2).collect::<Vec<_>>().join(" "));
    }
}
