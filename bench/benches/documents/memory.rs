//! Peak memory of one job in a process of its own, as the collection grows.
//!
//! - `import`: a file of JSON Lines into an empty store, in batches of 8 MiB.
//! - `scan`: every document's bytes from a fresh open.
//!
//! The anonymous part is what the process itself allocated, which may not grow with
//! the collection. The peak counts mapped files as well: pages of the system's cache,
//! which it takes back when it needs them.

use std::fs::File;
use std::path::Path;

use folio_bench::record;
use folio_bench::results::Memory;
use folio_bench::store::{System, roster};
use folio_bench::suite::Suite;
use folio_bench::{Result, child};

/// Ours, and the peer with a bounded cache to compare with.
const SYSTEMS: [&str; 2] = ["FolioDB", "SQLite"];

pub(crate) fn run(suite: &mut Suite) -> Result<()> {
    for documents in suite.arguments.sizes_or(&[100_000, 1_000_000, 10_000_000]) {
        let lines = suite.scratch.root().join("records.jsonl");
        record::write_lines(File::create(&lines)?, documents)?;
        for system in roster().iter().filter(|system| SYSTEMS.contains(&system.name)) {
            peaks(suite, system, &lines, documents)?;
        }
    }
    Ok(())
}

fn peaks(suite: &mut Suite, system: &System, lines: &Path, documents: u64) -> Result<()> {
    let directory = suite.scratch.directory()?;
    let path = |path: &Path| -> Result<String> {
        Ok(path.to_str().ok_or("the directory's path is not UTF-8")?.to_owned())
    };
    let (store, lines) = (path(&directory)?, path(lines)?);
    if suite.wants("import", system.name, documents) || suite.wants("scan", system.name, documents)
    {
        let imported = child::spawn(&["import", system.name, &store, &lines])?;
        suite.memory(row("import", system, documents, &imported)?);
        let scanned = child::spawn(&["scan", system.name, &store])?;
        suite.memory(row("scan", system, documents, &scanned)?);
    }
    std::fs::remove_dir_all(directory)?;
    Ok(())
}

/// A row from the two numbers a child prints.
fn row(workload: &str, system: &System, documents: u64, printed: &str) -> Result<Memory> {
    let mut numbers = printed.split_whitespace().map(str::parse);
    let mut next = || -> Result<u64> { Ok(numbers.next().ok_or("the child printed nothing")??) };
    Ok(Memory {
        workload: workload.to_owned(),
        system: system.name.to_owned(),
        documents,
        peak_size: next()?,
        peak_anonymous_size: next()?,
    })
}
