//! The inner loops, where bytes are classified many at a time.
//!
//! Each kernel has two bodies that give the same answers: one over 128-bit vectors for x86-64,
//! where SSE2 is part of the architecture and needs no detection, and a scalar twin for everything
//! else. The tests compare them. The only `unsafe` of this crate is in `lanes`.

mod lanes;
mod plain;
mod structure;

pub(crate) use plain::plain_run;
pub(crate) use structure::{Container, skip_container};
