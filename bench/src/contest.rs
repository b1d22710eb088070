//! One workload, every system: warm up, repeat, rotate.
//!
//! Systems take turns sample by sample, and each round another one begins, so
//! that a slow minute of the machine or the heat of the previous system's work
//! falls on all alike.

use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

use crate::Result;
use crate::results::Sample;

/// Times the phases of one sample.
#[derive(Debug)]
pub struct Stopwatch {
    last: Instant,
    last_cpu_ns: u64,
    sample: Sample,
}

impl Stopwatch {
    /// Starts the first phase.
    #[must_use]
    pub fn start() -> Self {
        // Processor time is read outside of what the clock measures.
        let last_cpu_ns = cpu_ns();
        Self { last: Instant::now(), last_cpu_ns, sample: Sample::default() }
    }

    /// Ends a phase, and starts the next.
    pub fn lap(&mut self, phase: &str) {
        let elapsed = self.elapsed();
        self.sample.cpu_ns += cpu_ns() - self.last_cpu_ns;
        self.sample.total_ns += elapsed;
        self.sample.phases.push((phase.to_owned(), elapsed));
        self.last_cpu_ns = cpu_ns();
        self.last = Instant::now();
    }

    /// Ends with the time since the last lap as the time to close.
    #[must_use]
    pub fn closed(mut self) -> Sample {
        self.sample.close_ns = self.elapsed();
        self.sample
    }

    /// Ends without what happened since the last lap.
    #[must_use]
    pub fn stop(self) -> Sample {
        self.sample
    }

    fn elapsed(&self) -> u64 {
        self.last.elapsed().as_nanos() as u64
    }
}

/// Processor time of all threads of this process so far, in nanoseconds.
fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// One system's way of doing the workload.
pub struct Entrant<'a> {
    /// The name in the tables.
    pub system: String,
    /// How writes become durable; empty for reads.
    pub durability: String,
    /// Takes one sample.
    pub run: Box<dyn FnMut() -> Result<Sample> + 'a>,
}

impl<'a> Entrant<'a> {
    /// A reader.
    pub fn reads(system: impl Into<String>, run: impl FnMut() -> Result<Sample> + 'a) -> Self {
        Self { system: system.into(), durability: String::new(), run: Box::new(run) }
    }

    /// A writer, and how its writes become durable.
    pub fn writes(
        system: impl Into<String>,
        durability: &str,
        run: impl FnMut() -> Result<Sample> + 'a,
    ) -> Self {
        Self { system: system.into(), durability: durability.to_owned(), run: Box::new(run) }
    }
}

/// Takes `repetitions` samples of each entrant after one that does not count. Every other round goes
/// backwards, so that nobody always finds the processor's caches as the same one has left them.
/// The answer has the entrants' order.
///
/// # Errors
/// The first that an entrant returns, with its name.
pub fn compete(entrants: &mut [Entrant<'_>], repetitions: usize) -> Result<Vec<Vec<Sample>>> {
    let count = entrants.len();
    let mut samples = vec![Vec::with_capacity(repetitions); count];
    for round in 0..=repetitions {
        for turn in 0..count {
            let turn = if round % 2 == 0 { turn } else { count - 1 - turn };
            let place = (turn + round / 2) % count;
            let entrant = &mut entrants[place];
            let sample = (entrant.run)().map_err(|error| format!("{}: {error}", entrant.system))?;
            if round > 0 {
                samples[place].push(sample);
            }
        }
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn everybody_warms_up_and_repeats_after_everybody() {
        let order = RefCell::new(String::new());
        let mut entrants: Vec<Entrant<'_>> = ["a", "b", "c"]
            .into_iter()
            .map(|name| {
                Entrant::reads(name, || {
                    order.borrow_mut().push_str(name);
                    Ok(Sample::default())
                })
            })
            .collect();
        let samples = compete(&mut entrants, 5).expect("nothing fails");
        drop(entrants);
        assert!(samples.iter().all(|samples| samples.len() == 5));
        assert_eq!(order.into_inner(), "abccbabcaacbcabbac");
    }
}
