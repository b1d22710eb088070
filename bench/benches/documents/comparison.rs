//! The three workloads of a document store, from objects to objects.
//!
//! - `write`: parsed values in, durable at the end.
//! - `read_all`: every document, parsed; cold (open included) and warm.
//! - `random_access`: 1,000 lookups (`--lookups`), parsed; cold and warm.
//!
//! The parser is `serde_json` for everybody.

use folio_bench::Result;
use folio_bench::contest::{Entrant, Stopwatch};
use folio_bench::record::{Record, random_ids, records};
use folio_bench::results::Sample;
use folio_bench::scratch::sync_disks;
use folio_bench::store::{Form, Handle, Parser, System, roster};
use folio_bench::suite::{Suite, Workload};

pub(crate) fn run(suite: &mut Suite) -> Result<()> {
    for documents in suite.arguments.sizes_or(&[1_000, 10_000, 100_000]) {
        writes(suite, documents)?;
        reads(suite, documents)?;
    }
    Ok(())
}

fn writes(suite: &mut Suite, documents: u64) -> Result<()> {
    let records = records(documents);
    let scratch = folio_bench::scratch::Scratch::new(&suite.scratch.root().join("write"))?;
    let (records, scratch) = (&records, &scratch);
    let entrants = roster().into_iter().map(|system| {
        Entrant::writes(system.name, system.bulk_durability, move || {
            let directory = scratch.directory()?;
            sync_disks();
            let sample = write(&system, &directory, records)?;
            std::fs::remove_dir_all(&directory)?;
            Ok(sample)
        })
    });
    let workload = Workload { name: "write", mode: "", documents, operations: documents };
    suite.contest(workload, entrants.collect())
}

fn write(system: &System, directory: &std::path::Path, records: &[Record]) -> Result<Sample> {
    let mut watch = Stopwatch::start();
    let mut store = (system.create)(directory)?;
    watch.lap("open");
    store.write(records, Form::Values)?;
    watch.lap("write");
    store.sync()?;
    watch.lap("flush");
    drop(store);
    Ok(watch.closed())
}

/// One way to read, and what it returns is how many documents it saw.
type Read<'a> = Box<dyn Fn(&dyn Handle) -> Result<u64> + 'a>;

fn reads(suite: &mut Suite, documents: u64) -> Result<()> {
    let ids = random_ids(documents, suite.arguments.lookups);
    let all: Read<'_> = Box::new(|store| Ok(store.scan_parsed(Parser::SerdeJson)?.count));
    let some: Read<'_> = Box::new(|store| Ok(store.get_parsed(&ids, Parser::SerdeJson)?.count));
    let ways = [
        ("read_all", "scan", documents, &all),
        ("random_access", "lookup", ids.len() as u64, &some),
    ];

    let stores = suite.fill_wanted(roster(), documents, &["read_all", "random_access"])?;
    for (name, phase, operations, read) in ways {
        let entrants = stores.iter().map(|(system, directory)| {
            Entrant::reads(system.name, move || {
                let mut watch = Stopwatch::start();
                let store = (system.open)(directory)?;
                watch.lap("open");
                let seen = read(&*store)?;
                watch.lap(phase);
                drop(store);
                counted(seen, operations)?;
                Ok(watch.closed())
            })
        });
        suite
            .contest(Workload { name, mode: "cold", documents, operations }, entrants.collect())?;
    }

    let mut open = Vec::new();
    for (system, directory) in &stores {
        open.push((system.name, (system.open)(directory)?));
    }
    for (name, phase, operations, read) in ways {
        let entrants = open.iter().map(|(system, store)| {
            Entrant::reads(*system, move || {
                let mut watch = Stopwatch::start();
                let seen = read(&**store)?;
                watch.lap(phase);
                counted(seen, operations)?;
                Ok(watch.stop())
            })
        });
        suite
            .contest(Workload { name, mode: "warm", documents, operations }, entrants.collect())?;
    }
    Ok(())
}

/// Fails unless every document asked for was seen.
fn counted(seen: u64, expected: u64) -> Result<()> {
    if seen == expected { Ok(()) } else { Err(format!("saw {seen} of {expected}").into()) }
}
