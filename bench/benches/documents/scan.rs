//! Reading everything.
//!
//! - `scan_raw`: every document's bytes, cold (open included) and warm.
//! - `scan_serde_json`, `scan_sonic_rs`: the same, and each document parsed by
//!   one and the same parser for everybody; warm.
//! - `scan_serde_json_plain`: as `scan_serde_json`, in a build without FolioDB
//!   ([`PLAIN`]).
//! - `scan_sonic_rs_parts`: as `scan_sonic_rs`, on every core. Only FolioDB divides
//!   a scan by itself; of a peer's user it takes keys to divide at.
//! - `scan_native`: by the parsed interface a system offers itself. Only
//!   FolioDB has one; the row stands beside the parsers' to be compared.

use folio_bench::Result;
use folio_bench::contest::{Entrant, Stopwatch};
use folio_bench::record::records;
use folio_bench::store::{Handle, Parser, Tally, roster};
use folio_bench::suite::{PLAIN, Suite, Workload, expect};

pub(crate) fn run(suite: &mut Suite) -> Result<()> {
    for documents in suite.arguments.sizes_or(&[100_000]) {
        scans(suite, documents)?;
    }
    Ok(())
}

/// One way to read everything.
type Scan = fn(&dyn Handle) -> Result<Tally>;

const RAW: Scan = |store| store.scan_raw();
const WARM: [(&str, Scan); 5] = [
    ("scan_raw", RAW),
    (if PLAIN { "scan_serde_json_plain" } else { "scan_serde_json" }, |store| {
        store.scan_parsed(Parser::SerdeJson)
    }),
    ("scan_sonic_rs", |store| store.scan_parsed(Parser::SonicRs)),
    ("scan_sonic_rs_parts", |store| {
        let parts = store.scan_parsed_in_parts(Parser::SonicRs);
        parts.unwrap_or_else(|| store.scan_parsed(Parser::SonicRs))
    }),
    ("scan_native", |store| store.scan_native().unwrap_or_else(|| store.scan_raw())),
];

fn scans(suite: &mut Suite, documents: u64) -> Result<()> {
    let written = Tally::of(records(documents).iter().map(|record| record.line.as_bytes()));
    let workload = |name, mode| Workload { name, mode, documents, operations: documents };

    let names = WARM.map(|(name, _)| name);
    let stores = suite.fill_wanted(roster(), documents, &names)?;

    let cold = stores.iter().map(|(system, directory)| {
        Entrant::reads(system.name, move || {
            let mut watch = Stopwatch::start();
            let store = (system.open)(directory)?;
            watch.lap("open");
            let seen = store.scan_raw()?;
            watch.lap("scan");
            drop(store);
            let sample = watch.closed();
            expect(seen, written)?;
            Ok(sample)
        })
    });
    suite.contest(workload("scan_raw", "cold"), cold.collect())?;

    let mut open = Vec::new();
    for (system, directory) in &stores {
        open.push((*system, (system.open)(directory)?));
    }
    for (name, scan) in WARM {
        let is_ours_alone = name == "scan_native" || name == "scan_sonic_rs_parts";
        let entrants = open.iter().filter(|(system, _)| !is_ours_alone || system.is_ours());
        let entrants = entrants.map(|(system, store)| {
            Entrant::reads(system.name, move || {
                let mut watch = Stopwatch::start();
                let seen = scan(&**store)?;
                watch.lap("scan");
                expect(seen, written)?;
                Ok(watch.stop())
            })
        });
        suite.contest(workload(name, "warm"), entrants.collect())?;
    }
    Ok(())
}
