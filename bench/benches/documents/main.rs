//! The suites of documents, in one program: `cargo bench --bench documents -- SUITE [arguments]`.
//!
//! It embeds the stores of documents alone, no query engine: what a small program pays to open
//! a store is measured here. In a build without FolioDB the peers are measured as they are
//! where FolioDB turns no feature of their libraries on.

mod command;
mod comparison;
mod durable;
mod ingestion;
mod memory;
mod open;
mod random_access;
mod scan;

use std::process::ExitCode;

use folio_bench::child;
use folio_bench::suite::Program::Framed;
use folio_bench::suite::{Program, main as run};

const SUITES: [(&str, Program); 8] = [
    ("comparison", Framed(comparison::run)),
    ("ingestion", Framed(ingestion::run)),
    ("random_access", Framed(random_access::run)),
    ("scan", Framed(scan::run)),
    ("open", Framed(open::run)),
    ("durable", Framed(durable::run)),
    ("memory", Framed(memory::run)),
    ("command", Framed(command::run)),
];

fn main() -> ExitCode {
    run(&SUITES, child::run, env!("CARGO_TARGET_TMPDIR"))
}
