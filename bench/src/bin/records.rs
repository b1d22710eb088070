//! Writes the suites' documents as JSON Lines: `records 100000 > records.jsonl`.
//!
//! The command-line and the Python and Node benchmarks read them, so that all
//! of them work on the same bytes.

use std::process::ExitCode;

use folio_bench::record;

fn main() -> ExitCode {
    let count = std::env::args().nth(1).and_then(|text| text.parse().ok());
    let Some(count) = count else {
        eprintln!("usage: records <count> > records.jsonl");
        return ExitCode::from(2);
    };
    match record::write_lines(std::io::stdout().lock(), count) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("records: {error}");
            ExitCode::FAILURE
        }
    }
}
