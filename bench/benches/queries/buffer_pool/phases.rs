//! The phases: 1 latency, 2 access patterns, 3 scaling, 4 hit rates, 5 concurrency,
//! and mixes of our own.

use std::time::Instant;

use folio_bench::Result;
use folio_table::buffer::{BufferPool, Policy};

use super::cases::Cases;
use super::patterns::Pattern;
use super::pool::{block, pool, timed, timed_together};

/// Threads of the multi-threaded patterns, and of phase 5 with 1 before them.
const THREADS: [usize; 8] = [2, 4, 8, 16, 32, 64, 128, 256];

/// Blocks that the pattern tests read at most.
const BLOCKS: usize = 100;

/// The patterns of phases 2 and 4: name, requests per run.
const PATTERNS: [(&str, &str, Pattern, usize); 5] = [
    ("Repeated Access (1000 ops)", "Repeated Access MT", Pattern::Repeated, 1000),
    ("Random (K=10, 500 ops)", "Random MT K=10", Pattern::Random { k: 10 }, 500),
    ("Random (K=50, 500 ops)", "Random MT K=50", Pattern::Random { k: 50 }, 500),
    ("Random (K=100, 500 ops)", "Random MT K=100", Pattern::Random { k: 100 }, 500),
    ("Zipfian (80/20, 500 ops)", "Zipfian MT", Pattern::HotSet, 500),
];

/// Pins and unpins every block of a list.
fn visit(pool: &BufferPool, requests: &[usize]) -> Result<()> {
    for &request in requests {
        std::hint::black_box(pool.pin(block(request))?[0]);
    }
    Ok(())
}

/// Pins, runs, and gives the nanoseconds per request.
fn run(pool: &BufferPool, pattern: Pattern, count: usize) -> Result<f64> {
    let requests = pattern.requests(count, 0);
    visit(pool, &requests)?;
    timed(count, || visit(pool, &requests))
}

pub(crate) fn latency(policy: Policy, cases: &mut Cases<'_>) -> Result<()> {
    cases.phase("phase 1: latency");
    let (iterations, frames) = (cases.arguments.iterations, cases.arguments.num_buffers);
    cases.measure("Pin/Unpin (hit)", "ns", || {
        let count = iterations * 10_000;
        run(&pool(policy, frames)?, Pattern::Repeated, count)
    })?;
    cases.measure("Cold Pin (miss)", "ns", || {
        run(&pool(policy, frames)?, Pattern::Sequential { blocks: BLOCKS }, iterations * BLOCKS)
    })?;
    cases.measure("Dirty Eviction", "ns", || {
        let pool = pool(policy, frames)?;
        let count = iterations * BLOCKS;
        timed(count, || {
            for request in 0..count {
                pool.pin_mut(block(request % BLOCKS))?[8] = request as u8;
            }
            Ok(())
        })
    })
}

pub(crate) fn access_patterns(policy: Policy, cases: &mut Cases<'_>) -> Result<()> {
    cases.phase("phase 2: access patterns");
    let (iterations, frames) = (cases.arguments.iterations, cases.arguments.num_buffers);
    let sequential = Pattern::Sequential { blocks: BLOCKS };
    cases.measure(format!("Sequential Scan ({BLOCKS} blocks)"), "ns", || {
        run(&pool(policy, frames)?, sequential, iterations * BLOCKS)
    })?;
    for threads in THREADS {
        cases.measure(format!("Seq Scan MT x{threads} ({BLOCKS} blocks)"), "ns", || {
            together(policy, frames, sequential, iterations * BLOCKS, threads)
        })?;
    }
    for (single, several, pattern, count) in PATTERNS {
        cases.measure(single, "ns", || run(&pool(policy, frames)?, pattern, iterations * count))?;
        for threads in THREADS {
            cases.measure(format!("{several} x{threads} ({count} ops)"), "ns", || {
                together(policy, frames, pattern, iterations * count, threads)
            })?;
        }
    }
    Ok(())
}

/// So many requests shared by threads. With fewer frames than threads some must
/// wait for others: that is part of what is measured.
fn together(
    policy: Policy,
    frames: usize,
    pattern: Pattern,
    count: usize,
    threads: usize,
) -> Result<f64> {
    let pool = pool(policy, frames)?;
    let each = (count / threads).max(100);
    let requests: Vec<_> = (0..threads).map(|thread| pattern.requests(each, thread)).collect();
    timed_together(threads, each, |thread| {
        for &request in &requests[thread] {
            pin_when_possible(&pool, request)?;
        }
        Ok(())
    })
}

/// A pool that is exhausted for a moment is asked again.
fn pin_when_possible(pool: &BufferPool, request: usize) -> Result<()> {
    loop {
        match pool.pin(block(request)) {
            Ok(page) => {
                std::hint::black_box(page[0]);
                return Ok(());
            }
            Err(folio_table::Error::PoolExhausted { .. }) => std::thread::yield_now(),
            Err(error) => return Err(error.into()),
        }
    }
}

pub(crate) fn scaling(policy: Policy, cases: &mut Cases<'_>) -> Result<()> {
    cases.phase("phase 3: scaling");
    let iterations = cases.arguments.iterations;
    for frames in [8, 16, 32, 64, 128, 256] {
        cases.measure(format!("Pool Size {frames} (100 blocks)"), "ns", || {
            run(&pool(policy, frames)?, Pattern::Random { k: BLOCKS }, iterations * 500)
        })?;
    }
    for extra in [0, 1, 5, 10, 20] {
        cases.measure(
            format!("Memory Pressure (32 buffers, working set 32+{extra})"),
            "ns",
            || run(&pool(policy, 32)?, Pattern::Random { k: 32 + extra }, iterations * 500),
        )?;
    }
    Ok(())
}

pub(crate) fn hit_rates(policy: Policy, cases: &mut Cases<'_>) -> Result<()> {
    cases.phase("phase 4: hit rates");
    let (iterations, frames) = (cases.arguments.iterations, cases.arguments.num_buffers);
    let sequential = ("Sequential Scan", "", Pattern::Sequential { blocks: BLOCKS }, BLOCKS);
    for (name, _, pattern, count) in [sequential].into_iter().chain(PATTERNS) {
        cases.measure(format!("Hit Rate: {name}"), "%", || {
            let pool = pool(policy, frames)?;
            let requests = pattern.requests((iterations * count).max(100_000), 0);
            visit(&pool, &requests)?;
            let statistics = pool.statistics();
            assert_eq!(statistics.hits + statistics.misses, requests.len() as u64);
            Ok(100.0 * statistics.hit_rate())
        })?;
    }
    Ok(())
}

pub(crate) fn concurrency(policy: Policy, cases: &mut Cases<'_>) -> Result<()> {
    const FRAMES: usize = 4096;
    const OWN: usize = 10;
    const HOT: usize = 4;
    cases.phase("phase 5: concurrency");
    let each = |threads: usize| (cases.arguments.iterations * 20_000 / threads).max(1000);
    let counts: Vec<(usize, usize)> =
        [1].into_iter().chain(THREADS).map(|threads| (threads, each(threads))).collect();
    for &(threads, each) in &counts {
        cases.measure(format!("pin:t{threads}"), "ns", || {
            let pool = pool(policy, FRAMES)?;
            let own = |thread: usize| thread * OWN..(thread + 1) * OWN;
            (0..threads).try_for_each(|thread| visit(&pool, &own(thread).collect::<Vec<_>>()))?;
            timed_together(threads, each, |thread| {
                let requests: Vec<usize> = own(thread).collect();
                (0..each).try_for_each(|index| visit(&pool, &[requests[index % OWN]]))
            })
        })?;
    }
    for &(threads, each) in &counts {
        cases.measure(format!("hotset:t{threads}_k{HOT}"), "ns", || {
            let pool = pool(policy, FRAMES)?;
            visit(&pool, &[0, 1, 2, 3])?;
            timed_together(threads, each, |_| {
                (0..each).try_for_each(|index| visit(&pool, &[index % HOT]))
            })
        })?;
    }
    cases.measure("Starvation (16 threads, 12 buffers, worst wait)", "ns", || starvation(policy))
}

/// The longest that any request takes when 16 threads share 12 frames and 64 blocks.
fn starvation(policy: Policy) -> Result<f64> {
    let pool = pool(policy, 12)?;
    let worst = std::sync::Mutex::new(0.0f64);
    timed_together(16, 2000, |thread| {
        let mut slowest = 0.0f64;
        for request in (Pattern::Random { k: 64 }).requests(2000, thread) {
            let start = Instant::now();
            pin_when_possible(&pool, request)?;
            slowest = slowest.max(start.elapsed().as_nanos() as f64);
        }
        let mut worst = worst.lock().map_err(|_| "a thread panicked")?;
        *worst = worst.max(slowest);
        Ok(())
    })?;
    Ok(worst.into_inner()?)
}

pub(crate) fn mixes(policy: Policy, cases: &mut Cases<'_>) -> Result<()> {
    cases.phase("mixes: true Zipf, and scans beside it (pool 100, 1000 blocks)");
    let count = cases.arguments.iterations * 2000;
    let zipf = Pattern::Zipf { blocks: 1000, exponent: 0.99 };
    cases.measure("Zipf 0.99", "ns", || run(&pool(policy, 100)?, zipf, count))?;
    cases.measure("Hit Rate: Zipf 0.99", "%", || {
        let pool = pool(policy, 100)?;
        visit(&pool, &zipf.requests(count, 0))?;
        Ok(100.0 * pool.statistics().hit_rate())
    })?;
    for (name, rank) in [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)] {
        cases.measure(format!("Zipf 0.99 {name}"), "ns", || {
            let pool = pool(policy, 100)?;
            let requests = zipf.requests(count, 0);
            visit(&pool, &requests)?;
            let time = |&request: &usize| {
                let start = Instant::now();
                visit(&pool, &[request])?;
                Ok(start.elapsed().as_nanos() as f64)
            };
            let mut times = requests.iter().map(time).collect::<Result<Vec<f64>>>()?;
            times.sort_by(f64::total_cmp);
            Ok(times[((times.len() - 1) as f64 * rank) as usize])
        })?;
    }
    for (name, is_hinted) in [("Scan-Polluted", false), ("Scan-Polluted, Hinted", true)] {
        cases.measure(format!("Hit Rate: {name} Zipf 0.99"), "%", || {
            polluted(&pool(policy, 100)?, &zipf.requests(count, 0), is_hinted)
        })?;
    }
    Ok(())
}

/// The hit rate of requests while a scan of 3,000 other blocks goes on beside
/// them, block for block, with or without saying that it is one.
fn polluted(pool: &BufferPool, requests: &[usize], is_hinted: bool) -> Result<f64> {
    let mut hits = 0;
    for (index, &request) in requests.iter().enumerate() {
        let before = pool.statistics().misses;
        visit(pool, &[request])?;
        hits += usize::from(pool.statistics().misses == before);
        let scanned = block(1000 + index % 3000);
        drop(if is_hinted { pool.pin_for_scan(scanned)? } else { pool.pin(scanned)? });
    }
    Ok(100.0 * hits as f64 / requests.len() as f64)
}
