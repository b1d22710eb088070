//! Ten deliberate bugs: a suite that misses one proves nothing.
//!
//! Each is tested with the suite that should detect it, on a reasonable number of seeds. Without a
//! bug the same suites pass.

use folio_file::{Operation, Recording};
use folio_table::Failpoint;
use folio_table::Options;

use crate::crash::crash_run;
use crate::damage::{Subject, flip_in_data, flip_in_log};
use crate::failure::fail_calls;
use crate::files::START;
use crate::random::Random;
use crate::regressions::rows_after_doing_one_again;
use crate::seeds::run_seeds;
use crate::store::{options_of_seed, small_options};

/// Runs a seed's share of the suite that guards the promise this bug breaks.
fn run_suite(bug: Failpoint, seed: u64) -> Result<u64, String> {
    let failpoint = Some(bug);
    match bug {
        Failpoint::SkipLogSync
        | Failpoint::AcknowledgeBeforeSync
        | Failpoint::SkipDataSync
        | Failpoint::RestartLogFirst
        | Failpoint::ForgetDirectorySync
        | Failpoint::CheckpointPastReaders => {
            let options = Options { failpoint, ..options_of_seed(seed) };
            crash_run(seed, &options, Recording::Changes, 200)
        }
        Failpoint::ForgiveFailedSync => {
            let options = Options { failpoint, ..small_options() };
            fail_calls(seed, &options, Operation::Sync, 0, 1)
        }
        Failpoint::SkipPageChecksum | Failpoint::CutSilently => {
            let subject = Subject::new(seed, &Options { failpoint, ..small_options() });
            flip(&subject, bug, &mut Random::new(seed))
        }
        Failpoint::IgnoreRunningChecksum => {
            match rows_after_doing_one_again(&Options { failpoint, ..small_options() }) {
                2 => Ok(1),
                rows => Err(format!("{rows} rows, 2 were written")),
            }
        }
    }
}

fn flip(subject: &Subject, bug: Failpoint, random: &mut Random) -> Result<u64, String> {
    const FLIPS: u64 = 200;
    for _ in 0..FLIPS {
        if bug == Failpoint::SkipPageChecksum {
            let pages = subject.files.data.len() - START;
            flip_in_data(subject, 8 * START + random.below(8 * pages))?;
        } else {
            let records = subject.ends[subject.ends.len() - 1] - START;
            flip_in_log(subject, 8 * START + random.below(8 * records))?;
        }
    }
    Ok(FLIPS)
}

#[test]
fn ten_failpoints_of_ten_are_noticed() {
    let missed: Vec<_> = Failpoint::ALL
        .iter()
        .copied()
        .filter(|&bug| match run_seeds(0..24, |seed| run_suite(bug, seed)) {
            Err(text) => {
                println!("{bug:?}: {}", text.chars().take(300).collect::<String>());
                false
            }
            Ok(states) => {
                println!("{bug:?} passed {states} states");
                true
            }
        })
        .collect();
    assert!(missed.is_empty(), "not noticed: {missed:?}");
}
