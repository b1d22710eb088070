//! The seeds that the environment asks for, and runs for each of them on all processors.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// The seeds to run: one where `FOLIO_SEED` names it, else `FOLIO_RUNS` or `count` of them.
pub(crate) fn seeds(count: u64) -> Range<u64> {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    match number("FOLIO_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("FOLIO_RUNS").unwrap_or(count),
    }
}

/// Runs `run` for every seed on all processors; answers the sum of what the runs count.
/// The first failure ends it, with its seed; a panic is a failure.
pub(crate) fn run_seeds(
    seeds: Range<u64>,
    run: impl Fn(u64) -> Result<u64, String> + Sync,
) -> Result<u64, String> {
    let next = AtomicU64::new(seeds.start);
    let worker = || -> Result<u64, String> {
        let mut total = 0;
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return Ok(total);
            }
            let outcome = catch_unwind(AssertUnwindSafe(|| run(seed)))
                .unwrap_or_else(|panic| Err(format!("panicked: {}", message(&*panic))));
            match outcome {
                Ok(count) => total += count,
                Err(text) => {
                    next.store(seeds.end, Ordering::Relaxed);
                    return Err(format!("repeat with FOLIO_SEED={seed}: {text}"));
                }
            }
        }
    };
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(worker)).collect();
        threads.into_iter().map(|thread| thread.join().expect("panics are caught")).sum()
    })
}

fn message(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no text")
}
