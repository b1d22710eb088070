//! Documents asked by what is in them: FolioDB beside SQLite and DuckDB.
//!
//! - `fields.rs`: a million documents with a unique index and an index on a number;
//!   lookups, ranges, bulk puts, opening, and statements right after a put, beside
//!   SQLite with its two indexes on `json_extract`.
//! - `lines.rs`: five queries in the manner of JSONBench over nested events, and five over
//!   the records of the other suites, each a reading of all lines. Where `ASKING_FILES`
//!   names a folder, lines, queries and answers are written there, for DuckDB's
//!   `read_json_auto` over the same file.
//!
//! `bench/run asking` runs both.

mod events;
mod fields;
mod folio;
mod lines;
mod people;
mod sqlite;

pub(crate) use fields::first_statement;

use folio_bench::Result;
use folio_bench::results::SystemNote;
use folio_bench::suite::Suite;

/// Name, version and settings.
const SYSTEMS: [(&str, &str, &str); 2] = [
    (
        "FolioDB",
        env!("CARGO_PKG_VERSION"),
        "defaults; block cache up to 64 MiB; a session of SQL, prepared where not said otherwise",
    ),
    (
        "SQLite",
        "rusqlite 0.41, bundled",
        "WAL, synchronous=NORMAL, page cache of 64 MiB, prepared, ANALYZE; WITHOUT ROWID, indexes on json_extract",
    ),
];

pub(crate) fn run(suite: &mut Suite) -> Result<()> {
    for (name, version, settings) in SYSTEMS {
        let (name, version, settings) = (name.into(), version.into(), settings.into());
        suite.note(SystemNote { name, version, settings });
    }
    for documents in suite.arguments.sizes_or(&[1_000_000]) {
        fields::measure(suite, documents)?;
        lines::measure(suite, documents)?;
    }
    Ok(())
}
