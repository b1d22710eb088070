//! The suites of tables and of queries, in one program: `cargo bench --bench queries -- SUITE [arguments]`.

mod asking;
mod buffer_pool;
mod simple_bench;
mod sql;
mod tables;
mod tpch;
mod ziql;

use std::process::ExitCode;

use folio_bench::suite::Program::{Framed, Own};
use folio_bench::suite::{Program, main as run};

const SUITES: [(&str, Program); 7] = [
    ("tables", Framed(tables::run)),
    ("sql", Framed(sql::run)),
    ("tpch", Framed(tpch::run)),
    ("ziql", Framed(ziql::run)),
    ("asking", Framed(asking::run)),
    ("simple_bench", Own(simple_bench::run)),
    ("buffer_pool", Own(buffer_pool::run)),
];

fn main() -> ExitCode {
    run(&SUITES, asking::first_statement, env!("CARGO_TARGET_TMPDIR"))
}
