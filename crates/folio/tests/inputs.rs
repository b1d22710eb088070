//! Runs the fuzz targets on stored inputs and on mutations of them.
//!
//! `fuzz/inputs/<target>/` has the stored inputs: hand-written ones, and inputs of fixed bugs that
//! a fuzzer found. Each is also changed at random from a printed seed.

#![allow(clippy::unwrap_used)] // a test that panics has failed

#[path = "../../../conformance/random.rs"]
mod random;
#[path = "../../../conformance/seeds.rs"]
mod seeds;
#[path = "../../../fuzz/targets/mod.rs"]
mod targets;

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use random::Random;
use seeds::{run_seeds, seeds};

/// Mutations in a run of the suite, over all targets.
const COUNT: u64 = 1600;
const DEEP_COUNT: u64 = 400_000;

fn kept(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/inputs").join(target);
    let mut paths: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| fs::read(path).unwrap()).collect()
}

#[test]
fn kept_inputs_hold() {
    for (name, target) in targets::TARGETS {
        let inputs = kept(name);
        assert!(!inputs.is_empty(), "{name} has no inputs");
        for (at, input) in inputs.iter().enumerate() {
            println!("{name}, input {at}"); // shown when the target panics
            target(input);
        }
        targets::run(name, &[]);
    }
}

#[test]
fn mutations_of_kept_inputs_hold() {
    let inputs = targets::TARGETS.map(|(name, _)| kept(name));
    let count = if std::env::var_os("FOLIO_DEEP").is_some() { DEEP_COUNT } else { COUNT };
    let run = |seed: u64| {
        let mut random = Random::new(seed);
        let at = (seed % targets::TARGETS.len() as u64) as usize;
        let mut input: Vec<u8> = random.one_of(&inputs[at]).clone();
        for _ in 0..random.below(4) {
            let other: &Vec<u8> = random.one_of(&inputs[at]);
            mutate(&mut input, other, &mut random);
        }
        if std::env::var_os("FOLIO_SEED").is_some() {
            println!("{}: {}", targets::TARGETS[at].0, input.escape_ascii());
        }
        (targets::TARGETS[at].1)(&input);
        Ok(1)
    };
    run_seeds(seeds(count), run).unwrap_or_else(|text| panic!("{text}"));
}

/// Hostile statements in a run of the suite.
const HOSTILE_COUNT: u64 = 100;
const DEEP_HOSTILE_COUNT: u64 = 5_000;

/// The memory limit of one statement, with everything else that the test holds.
const MEMORY_MAX: u64 = 1 << 30;

#[test]
fn hostile_statements_are_answered_or_refused() {
    let is_deep = std::env::var_os("FOLIO_DEEP").is_some();
    let count = if is_deep { DEEP_HOSTILE_COUNT } else { HOSTILE_COUNT };
    let slowest = Mutex::new((Duration::ZERO, 0));
    let run = |seed: u64| {
        let begun = Instant::now();
        targets::run("hostile", &seed.to_le_bytes());
        let mut slowest = slowest.lock().unwrap();
        *slowest = (*slowest).max((begun.elapsed(), seed));
        if let Some(size) = peak_memory() {
            let workers = thread::available_parallelism().map_or(1, usize::from) as u64;
            assert!(size < MEMORY_MAX * workers, "{size} bytes");
        }
        Ok(1)
    };
    run_seeds(seeds(count), run).unwrap_or_else(|text| panic!("{text}"));
    let (time, seed) = slowest.into_inner().unwrap();
    println!("slowest: {time:?}, FOLIO_SEED={seed}; memory: {:?}", peak_memory());
}

/// The peak memory of the process in bytes, if the system reports it.
fn peak_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|size| size << 10)
}

/// One change: bytes replaced, removed, inserted, or copied from another input.
fn mutate(input: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let at = random.below(input.len() + 1);
    let end = (at + random.below(8)).min(input.len());
    match random.below(5) {
        0 => input[at..end].iter_mut().for_each(|byte| *byte = random.draw() as u8),
        1 => drop(input.drain(at..end)),
        2 => {
            let bytes: Vec<u8> = (0..random.below(12)).map(|_| random.draw() as u8).collect();
            input.splice(at..at, bytes);
        }
        3 => {
            let special = [0, 1, 0x7f, 0x80, 0xff, b'"', b'\\', b'{', b'[', b'(', b'\'', b'\n'];
            input.insert(at, *random.one_of(&special));
        }
        _ => {
            let from = random.below(other.len() + 1);
            let to = (from + random.below(64)).min(other.len());
            input.splice(at..end, other[from..to].iter().copied());
        }
    }
}
