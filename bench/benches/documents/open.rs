//! The price of opening: one document from a store that was not open.
//!
//! - `open_get_1`: in a process that runs already, files in the page cache.
//! - `process_get_1`: a whole process that opens, gets one document and ends,
//!   as a shell command or a serverless function would. Every system's process
//!   is this executable, so all pay for the same loading.
//!
//! Each sample asks for another document. A good index makes the columns for
//! 10k, 1M and 10M documents equal.

use std::fs::File;
use std::path::{Path, PathBuf};

use folio_bench::contest::{Entrant, Stopwatch};
use folio_bench::record::random_ids;
use folio_bench::store::{System, roster};
use folio_bench::suite::{Suite, Workload};
use folio_bench::{Result, child};

/// Above this size only these systems are filled, to keep a run within the hour
/// and 10 GB; the others have shown by then how they grow.
const LARGE: u64 = 1_000_000;
const LARGE_SYSTEMS: [&str; 3] = ["FolioDB", "SQLite", "LMDB"];

/// Opens are short and each touches other memory, so a row can afford, and needs,
/// this many times the usual repetitions.
const REPETITION_FACTOR: usize = 15;

pub(crate) fn run(suite: &mut Suite) -> Result<()> {
    suite.arguments.repetitions *= REPETITION_FACTOR;
    for documents in suite.arguments.sizes_or(&[10_000, 1_000_000, 10_000_000]) {
        opens(suite, documents)?;
    }
    Ok(())
}

fn opens(suite: &mut Suite, documents: u64) -> Result<()> {
    let systems = roster()
        .into_iter()
        .filter(|system| documents <= LARGE || LARGE_SYSTEMS.contains(&system.name));
    let stores = suite.fill_wanted(systems, documents, &["open_get_1", "process_get_1"])?;
    let ids = random_ids(documents, suite.arguments.repetitions as u64 + 1);
    for (_, directory) in &stores {
        read_through(directory)?;
    }

    let entrants = stores.iter().map(|store| in_process(store, &ids)).collect();
    let workload = |name| Workload { name, mode: "cold", documents, operations: 1 };
    suite.contest(workload("open_get_1"), entrants)?;

    let entrants = stores.iter().map(|store| whole_process(store, &ids)).collect();
    suite.contest(workload("process_get_1"), entrants)?;

    for (_, directory) in stores {
        std::fs::remove_dir_all(directory)?;
    }
    Ok(())
}

/// Brings every file of a store into the page cache. While the later systems are filled
/// with gigabytes, the system may have dropped what it holds of the first.
fn read_through(directory: &Path) -> Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            read_through(&entry.path())?;
        } else {
            std::io::copy(&mut File::open(entry.path())?, &mut std::io::sink())?;
        }
    }
    Ok(())
}

fn in_process<'a>(store: &'a (System, PathBuf), ids: &'a [String]) -> Entrant<'a> {
    let (system, directory) = store;
    let mut ids = ids.iter();
    Entrant::reads(system.name, move || {
        let id = std::slice::from_ref(ids.next().ok_or("no id is left")?);
        let mut watch = Stopwatch::start();
        let store = (system.open)(directory)?;
        watch.lap("open");
        let seen = store.get_raw(id)?;
        watch.lap("lookup");
        drop(store);
        let sample = watch.closed();
        if seen.count == 1 { Ok(sample) } else { Err(format!("{id:?} was not found").into()) }
    })
}

fn whole_process<'a>(store: &'a (System, PathBuf), ids: &'a [String]) -> Entrant<'a> {
    let (system, directory) = store;
    let mut ids = ids.iter();
    Entrant::reads(system.name, move || {
        let id = ids.next().ok_or("no id is left")?;
        let directory = directory.to_str().ok_or("the directory's path is not UTF-8")?;
        let mut watch = Stopwatch::start();
        child::spawn(&["get", system.name, directory, id])?;
        watch.lap("process");
        Ok(watch.stop())
    })
}
