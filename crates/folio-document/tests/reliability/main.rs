//! Tests what a collection promises against crashes, damage and failing calls.
//!
//! Everything runs on the file system in memory, which loses unsynced data and fails on request,
//! against a model without an index and a file format. The seed decides a run, and every failure
//! prints it: `FOLIO_SEED=<seed>` repeats just that run, `FOLIO_RUNS=<count>` makes more runs, and
//! `FOLIO_DEEP=1` runs the ignored tests at the length for a release.
//!
//! `history` is the model, `world` the collection under test with its model, `operation` what may
//! happen to both, `survival` what must hold after a power cut. `fields`, `columns` and `types`
//! compare what is derived from the lines with them.

#![allow(clippy::unwrap_used)] // a test that panics has failed

mod columns;
mod crash;
mod damage;
mod failpoint;
mod fault;
mod fields;
mod history;
mod operation;
#[path = "../../../../conformance/random.rs"]
mod random;
#[path = "../../../../conformance/seeds.rs"]
mod seeds;
mod survival;
mod text;
mod types;
mod world;
