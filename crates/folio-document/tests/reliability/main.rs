//! What a collection promises, held against crashes, damage and failing calls.
//!
//! Everything runs on the file system in memory, which loses what was not synced and
//! fails on request, against a model that knows no index and no file format. A run is
//! decided by its seed, which every failure prints: `FOLIO_SEED=<seed>` repeats just
//! that run, `FOLIO_RUNS=<count>` makes more of them, and `FOLIO_DEEP=1` turns the
//! tests that are ignored by default up to a release's measure.
//!
//! `history` is the model, `world` the collection under test and the model beside it,
//! `operation` what may happen to both, `survival` what must hold after a power cut.

#![allow(clippy::unwrap_used)] // a test that panics has failed

mod crash;
mod damage;
mod fault;
mod history;
mod operation;
#[cfg(feature = "planted-bugs")]
mod planted;
#[path = "../../../../conformance/random.rs"]
mod random;
#[path = "../../../../conformance/seeds.rs"]
mod seeds;
mod survival;
mod text;
mod world;
