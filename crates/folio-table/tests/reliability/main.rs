//! What the table store promises, held against crashes, damage, failing calls and threads.
//!
//! Everything runs on the file system in memory, which loses what was not synced and
//! fails on request, against a model that is a map of maps. A run is decided by its
//! seed, which every failure prints: `FOLIO_SEED=<seed>` repeats just that run,
//! `FOLIO_RUNS=<count>` makes more of them, and `FOLIO_DEEP=1` turns the tests that
//! are ignored by default up to a release's measure.
//!
//! `model` is what the tables should hold, `store` opens and reads them, `work` does
//! the same at random to both. Pages are small, and the pool has six of them.

#![allow(clippy::unwrap_used)] // a test that panics has failed

mod crash;
mod damage;
mod failure;
mod files;
mod histories;
mod isolation;
mod kill;
mod model;
#[cfg(feature = "planted-bugs")]
mod planted;
mod promises;
#[path = "../../../../conformance/random.rs"]
mod random;
mod regressions;
#[path = "../../../../conformance/seeds.rs"]
mod seeds;
mod store;
mod threads;
mod work;
