//! Bulk load, and what it takes on disk.
//!
//! - `write_values`: from parsed values; serialization is timed for everybody.
//! - `write_lines`: from ready lines, which FolioDB validates byte by byte and
//!   its peers store as they are; `FolioDB (trusted)` does not validate either.
//! - `write_values_plain`: as `write_values`, in a build without FolioDB
//!   ([`PLAIN`]).
//!
//! Every sample loads an empty store and ends when the load is durable.

use folio_bench::Result;
use folio_bench::console::count;
use folio_bench::contest::{Entrant, Stopwatch};
use folio_bench::record::{Record, records};
use folio_bench::results::{Sample, Size};
use folio_bench::scratch::{Scratch, size_on_disk, sync_disks};
use folio_bench::store::{Form, System, Tally, roster};
use folio_bench::suite::{PLAIN, Suite, Workload, expect};

pub(crate) fn run(suite: &mut Suite) -> Result<()> {
    for documents in suite.arguments.sizes_or(&[100_000]) {
        let records = records(documents);
        let values = if PLAIN { "write_values_plain" } else { "write_values" };
        loads(suite, values, &records, Form::Values)?;
        loads(suite, "write_lines", &records, Form::Lines)?;
        sizes(suite, &records)?;
    }
    Ok(())
}

/// The contest of bulk loads in one form.
fn loads(suite: &mut Suite, name: &str, records: &[Record], form: Form) -> Result<()> {
    let scratch = Scratch::new(suite.scratch.root())?;
    let scratch = &scratch;
    let mut entrants: Vec<Entrant<'_>> = Vec::new();
    for system in roster() {
        let load = move |form| move || load(scratch, &system, records, form);
        entrants.push(Entrant::writes(system.name, system.bulk_durability, load(form)));
        if system.is_ours() && form == Form::Lines {
            let name = format!("{} (trusted)", system.name);
            let trusted = load(Form::TrustedLines);
            entrants.push(Entrant::writes(name, system.bulk_durability, trusted));
        }
    }
    let documents = records.len() as u64;
    suite.contest(Workload { name, mode: "", documents, operations: documents }, entrants)
}

/// Loads an empty store; the checks and the removal are not timed.
fn load(scratch: &Scratch, system: &System, records: &[Record], form: Form) -> Result<Sample> {
    let directory = scratch.directory()?;
    sync_disks();
    let mut watch = Stopwatch::start();
    let mut store = (system.create)(&directory)?;
    watch.lap("open");
    store.write(records, form)?;
    watch.lap("write");
    store.sync()?;
    watch.lap("sync");
    drop(store);
    let sample = watch.closed();
    std::fs::remove_dir_all(&directory)?;
    Ok(sample)
}

/// Loads once more, reads everything back, and measures the files.
fn sizes(suite: &mut Suite, records: &[Record]) -> Result<()> {
    let documents = records.len() as u64;
    println!("\nsize · {} documents", count(documents));
    for (system, directory) in suite.fill_wanted(roster(), documents, &["size"])? {
        let (files_size, allocated_size) = size_on_disk(&directory)?;
        let store = (system.open)(&directory)?;
        let written = Tally::of(records.iter().map(|record| record.line.as_bytes()));
        expect(store.scan_raw()?, written).map_err(|e| format!("{}: {e}", system.name))?;
        drop(store);
        suite.size(Size {
            system: system.name.to_owned(),
            documents,
            lines_size: written.size + documents,
            files_size,
            allocated_size,
        });
        std::fs::remove_dir_all(&directory)?;
    }
    Ok(())
}
