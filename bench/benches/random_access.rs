//! Point lookups by id, drawn evenly from all documents.
//!
//! - `get_all`: as many lookups as documents, raw bytes, warm.
//! - `get`: 1,000 lookups (`--lookups`), raw bytes, warm.
//! - `open_get`: the same from a fresh open, which is timed too.

use std::process::ExitCode;

use folio_bench::Result;
use folio_bench::contest::{Entrant, Stopwatch};
use folio_bench::record::{random_ids, records};
use folio_bench::store::{Tally, roster};
use folio_bench::suite::{self, Suite, Workload, expect};

fn main() -> ExitCode {
    suite::run("random_access", env!("CARGO_TARGET_TMPDIR"), |suite| {
        for documents in suite.arguments.sizes_or(&[100_000]) {
            lookups(suite, documents)?;
        }
        Ok(())
    })
}

fn lookups(suite: &mut Suite, documents: u64) -> Result<()> {
    let few = random_ids(documents, suite.arguments.lookups);
    let many = random_ids(documents, documents);
    let (few_seen, many_seen) = (tally(documents, &few), tally(documents, &many));

    let stores = suite.fill_wanted(roster(), documents, &["open_get", "get", "get_all"])?;

    let (ids, written) = (&few, few_seen);
    let cold = stores.iter().map(|(system, directory)| {
        Entrant::reads(system.name, move || {
            let mut watch = Stopwatch::start();
            let store = (system.open)(directory)?;
            watch.lap("open");
            let seen = store.get_raw(ids)?;
            watch.lap("lookup");
            drop(store);
            let sample = watch.closed();
            expect(seen, written)?;
            Ok(sample)
        })
    });
    let operations = few.len() as u64;
    suite.contest(
        Workload { name: "open_get", mode: "cold", documents, operations },
        cold.collect(),
    )?;

    let mut open = Vec::new();
    for (system, directory) in &stores {
        open.push((*system, (system.open)(directory)?));
    }
    for (name, ids, written) in [("get", &few, few_seen), ("get_all", &many, many_seen)] {
        let entrants = open.iter().map(|(system, store)| {
            Entrant::reads(system.name, move || {
                let mut watch = Stopwatch::start();
                let seen = store.get_raw(ids)?;
                watch.lap("lookup");
                expect(seen, written)?;
                Ok(watch.stop())
            })
        });
        let operations = ids.len() as u64;
        suite
            .contest(Workload { name, mode: "warm", documents, operations }, entrants.collect())?;
    }
    Ok(())
}

/// What these lookups must show.
fn tally(documents: u64, ids: &[String]) -> Tally {
    let records = records(documents);
    Tally::of(ids.iter().map(|id| {
        // Ids ascend and have one length, so the records are sorted by them.
        let place = records.binary_search_by(|record| record.id.as_str().cmp(id));
        records[place.expect("ids are drawn from the records")].line.as_bytes()
    }))
}
