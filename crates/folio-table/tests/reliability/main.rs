//! The promises of the table store, tested with crashes, damage, failing calls and threads.
//!
//! Everything runs on a file system in memory, which loses unsynced data and fails on request.
//! Results are compared with a model that is a map of maps. The seed determines a run, and every
//! failure prints it. `FOLIO_SEED=<seed>` repeats only that run, `FOLIO_RUNS=<count>` sets the
//! number of runs, and `FOLIO_DEEP=1` extends the tests that are ignored by default to the level of
//! a release.
//!
//! `model` has the expected content of the tables, `store` opens and reads them, `work` makes the
//! same random changes to both. Pages are small, and the pool has six of them.

#![allow(clippy::unwrap_used)] // a test that panics has failed

mod copies;
mod crash;
mod damage;
mod failpoint;
mod failure;
mod files;
mod histories;
mod isolation;
mod kill;
mod model;
mod promises;
#[path = "../../../../conformance/random.rs"]
mod random;
mod regressions;
#[path = "../../../../conformance/seeds.rs"]
mod seeds;
mod store;
mod threads;
mod work;
