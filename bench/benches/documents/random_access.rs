//! Point lookups by id, drawn evenly from all documents.
//!
//! - `get_all`: as many lookups as documents, raw bytes, warm.
//! - `get`: 1,000 lookups (`--lookups`), raw bytes, warm.
//! - `open_get`: the same from a fresh open, which is timed too.
//! - `…_together`: the same ids in one call. Only FolioDB has such a call.

use folio_bench::Result;
use folio_bench::contest::{Entrant, Stopwatch};
use folio_bench::record::{random_ids, records};
use folio_bench::store::{Handle, Tally, roster};
use folio_bench::suite::{Suite, Workload, expect};

pub(crate) fn run(suite: &mut Suite) -> Result<()> {
    for documents in suite.arguments.sizes_or(&[100_000]) {
        lookups(suite, documents)?;
    }
    Ok(())
}

/// One way to look ids up.
type Get = fn(&dyn Handle, &[String]) -> Result<Tally>;

const EACH: Get = |store, ids| store.get_raw(ids);
const TOGETHER: Get =
    |store, ids| store.get_raw_together(ids).unwrap_or_else(|| store.get_raw(ids));

fn lookups(suite: &mut Suite, documents: u64) -> Result<()> {
    let few = random_ids(documents, suite.arguments.lookups);
    let many = random_ids(documents, documents);
    let (few_seen, many_seen) = (tally(documents, &few), tally(documents, &many));

    let stores = suite.fill_wanted(roster(), documents, &["open_get", "get", "get_all"])?;

    let (ids, written) = (&few, few_seen);
    let operations = few.len() as u64;
    for (name, get, is_ours_alone) in
        [("open_get", EACH, false), ("open_get_together", TOGETHER, true)]
    {
        let entrants = stores.iter().filter(|(system, _)| !is_ours_alone || system.is_ours());
        let cold = entrants.map(|(system, directory)| {
            Entrant::reads(system.name, move || {
                let mut watch = Stopwatch::start();
                let store = (system.open)(directory)?;
                watch.lap("open");
                let seen = get(&*store, ids)?;
                watch.lap("lookup");
                drop(store);
                let sample = watch.closed();
                expect(seen, written)?;
                Ok(sample)
            })
        });
        suite.contest(Workload { name, mode: "cold", documents, operations }, cold.collect())?;
    }

    let mut open = Vec::new();
    for (system, directory) in &stores {
        open.push((*system, (system.open)(directory)?));
    }
    let warm = [
        ("get", &few, few_seen, EACH, false),
        ("get_all", &many, many_seen, EACH, false),
        ("get_all_together", &many, many_seen, TOGETHER, true),
    ];
    for (name, ids, written, get, is_ours_alone) in warm {
        let entrants = open.iter().filter(|(system, _)| !is_ours_alone || system.is_ours());
        let entrants = entrants.map(|(system, store)| {
            Entrant::reads(system.name, move || {
                let mut watch = Stopwatch::start();
                let seen = get(&**store, ids)?;
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
