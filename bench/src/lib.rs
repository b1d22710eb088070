//! FolioDB beside its peers.
//!
//! Every system implements one trait, [`store::Store`], and nothing else of it is
//! ever called. The suites under `benches/` hand all of them the same
//! [`record::Record`]s, get the same bytes back and check that they did
//! ([`store::Tally`]). A [`contest::Contest`] warms each one up, repeats, and
//! rotates who goes first. What comes out is a [`results::Results`] file with a
//! description of the machine; the `report` crate renders it, so that no figure
//! in the documentation is typed by hand.
//!
//! What is not measured: networks, memory-only stores, several processes writing.

pub mod arguments;
pub mod child;
pub mod contest;
pub mod machine;
pub mod record;
pub mod scratch;
pub mod store;
pub mod suite;

pub use folio_bench_report::{console, results};

/// What a suite or a system under test answers. The cause is printed and the
/// run ends: a benchmark has nothing to recover.
pub type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

/// The allocator of every binary here, so that none is ahead by its allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
