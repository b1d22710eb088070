//! Compares the four eviction policies with simulators written from their papers.
//!
//! A simulator has a list of names, without frames, pins or atomics. Pool and simulator get the
//! same requests. Their hit rates must agree to half a point, and the pool's hits and misses must
//! add up to all requests.

#[path = "../../../conformance/random.rs"]
mod random;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use folio_table::buffer::{BlockStorage, BufferPool, Policy};
use folio_table::{BlockId, PageId, Result};
use random::Random;

/// A cache of names; returns whether it had the requested one.
trait Simulator {
    fn request(&mut self, name: u32) -> bool;
}

/// The least recently used name is evicted.
struct Lru {
    size: usize,
    /// Oldest first.
    names: VecDeque<u32>,
}

impl Simulator for Lru {
    fn request(&mut self, name: u32) -> bool {
        let found = self.names.iter().position(|&one| one == name);
        if let Some(position) = found {
            self.names.remove(position);
        } else if self.names.len() == self.size {
            self.names.pop_front();
        }
        self.names.push_back(name);
        found.is_some()
    }
}

/// A circle of names with one bit each; the hand evicts the first without.
struct Clock {
    size: usize,
    circle: Vec<(u32, bool)>,
    hand: usize,
}

impl Simulator for Clock {
    fn request(&mut self, name: u32) -> bool {
        if let Some(entry) = self.circle.iter_mut().find(|entry| entry.0 == name) {
            entry.1 = true;
            return true;
        }
        if self.circle.len() < self.size {
            self.circle.push((name, false));
            return false;
        }
        while self.circle[self.hand].1 {
            self.circle[self.hand].1 = false;
            self.hand = (self.hand + 1) % self.size;
        }
        self.circle[self.hand] = (name, false);
        self.hand = (self.hand + 1) % self.size;
        false
    }
}

/// SIEVE, algorithm 1: newest first in the list, the hand moves towards the newest.
struct Sieve {
    size: usize,
    queue: Vec<(u32, bool)>,
    hand: Option<u32>,
}

impl Simulator for Sieve {
    fn request(&mut self, name: u32) -> bool {
        if let Some(entry) = self.queue.iter_mut().find(|entry| entry.0 == name) {
            entry.1 = true;
            return true;
        }
        if self.queue.len() == self.size {
            let start = self.hand.and_then(|hand| self.queue.iter().position(|e| e.0 == hand));
            let mut at = start.unwrap_or(self.queue.len() - 1);
            while self.queue[at].1 {
                self.queue[at].1 = false;
                at = at.checked_sub(1).unwrap_or(self.queue.len() - 1);
            }
            self.hand = at.checked_sub(1).map(|newer| self.queue[newer].0);
            self.queue.remove(at);
        }
        self.queue.insert(0, (name, false));
        false
    }
}

/// S3-FIFO, algorithm 1, with a small queue of a tenth and as many ghosts as the main queue has
/// entries.
struct S3Fifo {
    size: usize,
    small_size: usize,
    /// Oldest first, with the number of uses.
    small: VecDeque<(u32, u8)>,
    main: VecDeque<(u32, u8)>,
    ghosts: VecDeque<u32>,
}

impl S3Fifo {
    fn evict(&mut self) {
        loop {
            if self.small.len() >= self.small_size && !self.small.is_empty() {
                if self.evict_small() {
                    return;
                }
            } else if self.evict_main() {
                return;
            }
        }
    }

    /// Evicts the first name that was not used twice; the others move to the main queue.
    fn evict_small(&mut self) -> bool {
        while let Some((name, uses)) = self.small.pop_front() {
            if uses > 1 {
                self.main.push_back((name, 0));
                continue;
            }
            self.ghosts.retain(|&ghost| ghost != name);
            self.ghosts.push_back(name);
            if self.ghosts.len() > self.size - self.small_size {
                self.ghosts.pop_front();
            }
            return true;
        }
        false
    }

    fn evict_main(&mut self) -> bool {
        while let Some((name, uses)) = self.main.pop_front() {
            if uses == 0 {
                return true;
            }
            self.main.push_back((name, uses - 1));
        }
        false
    }
}

impl Simulator for S3Fifo {
    fn request(&mut self, name: u32) -> bool {
        let entries = self.small.iter_mut().chain(&mut self.main);
        if let Some(entry) = entries.into_iter().find(|entry| entry.0 == name) {
            entry.1 = (entry.1 + 1).min(3);
            return true;
        }
        if self.small.len() + self.main.len() == self.size {
            self.evict();
        }
        if let Some(position) = self.ghosts.iter().position(|&ghost| ghost == name) {
            self.ghosts.remove(position);
            self.main.push_back((name, 0));
        } else {
            self.small.push_back((name, 0));
        }
        false
    }
}

fn simulator(policy: Policy, size: usize) -> Box<dyn Simulator> {
    match policy {
        Policy::Lru => Box::new(Lru { size, names: VecDeque::new() }),
        Policy::Clock => Box::new(Clock { size, circle: Vec::new(), hand: 0 }),
        Policy::Sieve => Box::new(Sieve { size, queue: Vec::new(), hand: None }),
        Policy::S3Fifo => Box::new(S3Fifo {
            size,
            small_size: (size / 10).max(1),
            small: VecDeque::new(),
            main: VecDeque::new(),
            ghosts: VecDeque::new(),
        }),
    }
}

/// Blocks whose bytes are their numbers, counting how often they are read.
#[derive(Debug, Default)]
struct Numbers {
    reads: AtomicU64,
}

impl BlockStorage for Numbers {
    fn read(&self, block: BlockId, page: &mut [u8]) -> Result<()> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        let number = (0..=u32::from(u16::MAX))
            .find(|&number| BlockId::page(PageId(number)) == block)
            .expect("blocks have small numbers");
        page[..4].copy_from_slice(&number.to_le_bytes());
        Ok(())
    }

    fn write(&self, _block: BlockId, _page: &mut [u8]) -> Result<()> {
        unreachable!("nothing is changed")
    }
}

fn pool(policy: Policy, size: usize) -> (BufferPool, Arc<Numbers>) {
    let numbers = Arc::new(Numbers::default());
    let storage: Arc<dyn BlockStorage> = Arc::<Numbers>::clone(&numbers);
    (BufferPool::new(size, 4096, policy, storage), numbers)
}

fn request(pool: &BufferPool, name: u32) {
    let page = pool.pin(BlockId::page(PageId(name))).expect("a frame is free");
    assert_eq!(page[..4], name.to_le_bytes(), "the page is the one asked for");
}

/// Requests of one kind, over this many names.
fn requests(kind: &str, names: u32, count: usize, seed: u64) -> Vec<u32> {
    let mut random = Random::new(seed);
    let mut weights: Vec<f64> = (1..=names).map(|rank| f64::from(rank).powf(-0.99)).collect();
    for rank in 1..weights.len() {
        weights[rank] += weights[rank - 1];
    }
    let zipf = |random: &mut Random| {
        let drawn =
            random.below(1 << 40) as f64 / (1u64 << 40) as f64 * weights.last().unwrap_or(&0.0);
        weights.partition_point(|&weight| weight < drawn) as u32
    };
    let one = |at: usize| match kind {
        "uniform" => random.below(names as usize) as u32,
        "loop" => at as u32 % names,
        "zipf" => zipf(&mut random),
        "hot set" if random.below(10) < 8 => random.below(names as usize / 5) as u32,
        "hot set" => random.below(names as usize) as u32,
        // Repeated full scans between requests of a Zipf distribution.
        "polluted" if (at / 400).is_multiple_of(3) => names + at as u32 % 3000,
        "polluted" => zipf(&mut random),
        other => panic!("no such requests: {other}"),
    };
    (0..count).map(one).collect()
}

const KINDS: [&str; 5] = ["uniform", "loop", "zipf", "hot set", "polluted"];

/// Hit rates agree to half a point; hits and misses are all requests; the storage
/// is read once for each miss.
#[test]
fn pools_hit_as_often_as_the_papers_say() {
    const COUNT: usize = 6000;
    let mut worst = 0.0_f64;
    for policy in Policy::ALL {
        for size in [6, 12, 50, 100] {
            for (seed, kind) in (0..).zip(KINDS) {
                let names = requests(kind, 200, COUNT, seed);
                let (pool, numbers) = pool(policy, size);
                let mut simulator = simulator(policy, size);
                let expected = names.iter().filter(|&&name| simulator.request(name)).count();
                names.iter().for_each(|&name| request(&pool, name));
                let statistics = pool.statistics();
                assert_eq!(statistics.hits + statistics.misses, COUNT as u64, "{policy} {kind}");
                assert_eq!(statistics.misses, numbers.reads.load(Ordering::Relaxed));
                let difference = statistics.hit_rate() - expected as f64 / COUNT as f64;
                assert!(
                    difference.abs() <= 0.005,
                    "{policy}, {size} frames, {kind}: {:.4} by the pool, {:.4} by the paper",
                    statistics.hit_rate(),
                    expected as f64 / COUNT as f64
                );
                worst = worst.max(difference.abs());
            }
        }
    }
    println!("greatest difference {:.2} points", 100.0 * worst);
}

/// With many threads every request is counted once.
#[test]
fn requests_of_many_threads_are_all_counted() {
    const COUNT: usize = 3000;
    const THREADS: u64 = 8;
    for policy in Policy::ALL {
        let (pool, numbers) = pool(policy, 40);
        thread::scope(|scope| {
            for seed in 0..THREADS {
                let pool = &pool;
                scope.spawn(move || {
                    let names = requests("zipf", 200, COUNT, seed);
                    names.iter().for_each(|&name| request(pool, name));
                });
            }
        });
        let statistics = pool.statistics();
        assert_eq!(statistics.hits + statistics.misses, THREADS * COUNT as u64, "{policy}");
        assert_eq!(statistics.misses, numbers.reads.load(Ordering::Relaxed), "{policy}");
        assert!(!pool.is_held(), "{policy}");
    }
}

/// A scan does not evict pages that others use.
#[test]
fn a_scan_leaves_the_hot_pages_in_the_pool() {
    for policy in Policy::ALL {
        let (pool, _) = pool(policy, 64);
        let hot = |pool: &BufferPool| (0..40).for_each(|name| request(pool, name));
        (0..4).for_each(|_| hot(&pool));
        for name in 1000..3000 {
            drop(pool.pin_for_scan(BlockId::page(PageId(name))).expect("a frame is free"));
        }
        let before = pool.statistics();
        hot(&pool);
        let hits = pool.statistics().hits - before.hits;
        assert!(hits >= 36, "{policy}: {hits} of 40 hot pages are still there");
    }
}

/// A pool whose frames are all held reports it quickly, and continues when one is free.
#[test]
fn a_pool_without_a_free_frame_says_who_holds_them() {
    for policy in Policy::ALL {
        let (pool, _) = pool(policy, 6);
        let pin = |name| pool.pin(BlockId::page(PageId(name)));
        let held: Vec<_> = (0..6).chain([0]).map(|name| pin(name).expect("a frame")).collect();
        match pin(100) {
            Err(folio_table::Error::PoolExhausted { frames: 6, pins: 7 }) => {}
            other => panic!("{policy}: {other:?}"),
        }
        drop(held);
        request(&pool, 100);
    }
}
