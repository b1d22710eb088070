//! Runs the suites of this folder with one promise broken at a time. Each must be noticed.

use std::sync::atomic::{AtomicU64, Ordering};

use folio_document::Failpoint;
use folio_document::Layout;
use folio_file::Recording;

use crate::crash::{self, Effort};
use crate::fault;
use crate::seeds::run_seeds;
use crate::world::Setup;

type Suite = fn(u64, Setup) -> Result<u64, String>;

/// The suites, and the seeds that each tries before a bug counts as not noticed. Faults are many and
/// fast, crashes few and thorough.
const SUITES: [(Suite, u64); 2] = [(fault::run, 2000), (crash_at_changes, 40)];

fn crash_at_changes(seed: u64, setup: Setup) -> Result<u64, String> {
    crash::run(seed, setup, Effort { recording: Recording::Changes, plans: 1 })
}

fn setup(seed: u64, bug: Option<Failpoint>) -> Setup {
    let mut setup = Setup::of_seed(seed);
    setup.layout = Layout::Lines;
    setup.options.layout = Layout::Lines;
    setup.options.failpoint = bug;
    setup
}

/// The failure reported by the first suite that notices a bug.
fn noticed(bug: Failpoint) -> Option<String> {
    SUITES.iter().find_map(|&(run, seeds)| {
        let failing = AtomicU64::new(0);
        let run_broken = |seed| {
            run(seed, setup(seed, Some(bug)))
                .inspect_err(|_| failing.store(seed, Ordering::Relaxed))
        };
        let text = run_seeds(0..seeds, run_broken).err()?;
        let seed = failing.into_inner();
        let sound = run(seed, setup(seed, None)).err();
        assert_eq!(sound, None, "seed {seed} fails where nothing is broken");
        Some(text)
    })
}

#[test]
fn every_failpoint_is_noticed() {
    for bug in Failpoint::ALL.iter().copied() {
        let text = noticed(bug).unwrap_or_else(|| panic!("{bug:?} is not noticed"));
        println!("{bug:?}: {}", text.lines().take(2).collect::<Vec<_>>().join(" "));
    }
}
