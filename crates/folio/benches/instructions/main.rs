//! How many instructions the hot paths take, counted by Callgrind.
//!
//! Times on shared machines differ by a tenth from run to run; instructions of the same program
//! over the same data do not. So a change that makes a path longer is seen in the change itself.
//! `scripts/instructions` runs this, and compares the counts with `baseline.json` beside it.
//!
//! Only the thread of a workload and only what is inside of its function is counted: not how its
//! data were made, and not background threads. What an instruction costs (caches, the disk) is
//! not seen here: that is what `bench/` is for.

#![allow(unused_qualifications, reason = "the macros qualify what they call")]

mod document;
mod fixture;
mod query;
mod table;

use gungraun::{Callgrind, LibraryBenchmarkConfig, main};

use document::documents;
use query::queries;
use table::tables;

main!(
    // Each workload runs alone, on one processor, without a model of caches.
    config = LibraryBenchmarkConfig::default().tool(Callgrind::with_args(["--cache-sim=no"]));
    library_benchmark_groups = documents, tables, queries
);
