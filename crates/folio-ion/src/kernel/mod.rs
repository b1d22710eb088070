//! The inner loops, which classify many bytes at a time.
//!
//! Each kernel is written once over [`lanes::Lanes`], which has vector implementations for x86-64
//! and a scalar one with equal results; tests compare them. The only `unsafe` of this crate is in
//! `lanes` and in the one call that selects an implementation.

mod lanes;
mod plain;
mod structure;

pub(crate) use lanes::token_end;
pub(crate) use plain::{is_token_end, plain_run, plain_start};
pub(crate) use structure::{Container, skip_container, skip_records};
