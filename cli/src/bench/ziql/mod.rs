//! Users and orders, stored and queried with ZiQL.
//!
//! - *Write*: entities of all structs divided by the time from the first statement
//!   to a durable commit.
//! - *Read*: entities per second read by the filter that matches nothing.
//! - *JSON*: entities per second written by the query for all of them.
//! - A query is parsed, run and written as JSON each time, after one warm-up run.
//! - DELETE works on a fresh copy with all its data each time, and ends when it is durable.

mod data;
mod measure;
mod report;

use std::path::Path;
use std::thread;
use std::time::Instant;

use folio::{Database, Session, Value};

use super::{Dice, Entities, Plan, Scratch};
use crate::console::Console;
use crate::failure::Failure;
use crate::progress::Progress;
pub(crate) use data::DataSet;
use data::{SCHEMA, USERS_PER_STATEMENT};
use measure::{Times, millis, step, time};
use report::Report;

/// The repeated queries.
const QUERIES: [&str; 9] = [
    "GRAB User {}",
    "GRAB User {name='asd'}",
    "GRAB User [1] {}",
    "GRAB User [name] {}",
    "GRAB User {name = 'Charlie'}",
    "GRAB Category {}",
    "GRAB Item {}",
    "GRAB Order {}",
    "GRAB Order [from, items, quantity, at] {}",
];

/// The query that reads all entities and returns none.
const NO_MATCH: &str = QUERIES[1];

const DELETE: &str = "DELETE User {}";

/// The number of fresh copies to time DELETE on.
const DELETIONS: u32 = 3;

/// Measures and prints; returns the results as JSON.
pub(super) fn measure(
    plan: Plan<'_>,
    entities: &Entities<'_>,
    console: &Console,
) -> Result<serde_json::Value, Failure> {
    let mut measured = Vec::new();
    for &set in entities.sets {
        for &user_count in entities.users {
            let progress = Progress::begin(console, "ziql");
            let scratch = Scratch::new(plan.folder)?;
            let report =
                measure_one(plan, (set, user_count), entities.threads, &scratch, &progress)?;
            drop(progress);
            report.print(console)?;
            measured.push(report.to_json());
        }
    }
    Ok(measured.into())
}

fn measure_one(
    plan: Plan<'_>,
    (set, user_count): (DataSet, u64),
    thread_counts: &[usize],
    scratch: &Scratch,
    progress: &Progress,
) -> Result<Report, Failure> {
    let path = scratch.0.join("data");
    let begun = Instant::now();
    let entity_count = populate(&path, set, user_count, progress)?;
    let populate_seconds = begun.elapsed().as_secs_f64();
    let database = Database::open(&path)?;
    let mut session = database.session()?;
    let wanted = |text: &str| plan.filter.is_none_or(|filter| text.contains(filter));
    let mut queries = Vec::new();
    for text in QUERIES.into_iter().filter(|text| wanted(text)) {
        let times = time(&mut session, text, plan.repetitions, progress)?;
        queries.push((text.to_owned(), times));
    }
    let mut reads = Vec::new();
    for (number, &threads) in thread_counts.iter().enumerate() {
        step(progress, "sessions at once", number as u64, thread_counts.len() as u64)?;
        reads.push((threads, read_together(&database, threads, user_count)?));
    }
    if wanted(DELETE) {
        queries.push((DELETE.to_owned(), deletions(&database, scratch, progress)?));
    }
    let structs = database.tables()?.list()?.into_iter();
    let structs = structs.map(|table| (table.name, table.row_count)).collect();
    let size = database.tables()?.statistics()?.map_or(0, |sizes| sizes.data_size);
    let data = set.name();
    Ok(Report { data, user_count, populate_seconds, entity_count, size, structs, queries, reads })
}

/// Creates a database, durably. Returns the number of its entities.
fn populate(
    path: &Path,
    set: DataSet,
    user_count: u64,
    progress: &Progress,
) -> Result<u64, Failure> {
    let database = Database::open(path)?;
    database.apply_schema(SCHEMA, false)?;
    let mut session = database.session()?;
    let mut dice = Dice::new(0);
    session.execute("BEGIN", &[])?;
    session.ziql(&data::fill_statements(), &[])?;
    let items = ids(&mut session, "GRAB Item [id]")?;
    let mut entity_count = 4 + items.len() as u64;
    let mut from = 0;
    while from < user_count {
        step(progress, "entities", from, user_count)?;
        let count = USERS_PER_STATEMENT.min(user_count - from);
        let text = data::users(set, from, count, &mut dice);
        let users = ids(&mut session, &text)?;
        entity_count += count;
        if set == DataSet::Many {
            let buyers: Vec<String> = users.into_iter().step_by(10).collect();
            session.ziql(&data::orders(&buyers, &items, &mut dice), &[])?;
            entity_count += buyers.len() as u64;
        }
        from += count;
    }
    session.execute("COMMIT", &[])?;
    drop(session);
    database.close()?;
    Ok(entity_count)
}

/// The ids returned by a statement, in ZiQL syntax.
fn ids(session: &mut Session, text: &str) -> Result<Vec<String>, Failure> {
    let rows = session.ziql(text, &[])?.collect_rows().map_err(folio::Error::from)?;
    let id = |row: Vec<Value>| match row.first() {
        Some(Value::Uuid(bytes)) => Some(hyphenated(bytes)),
        _ => None,
    };
    Ok(rows.into_iter().filter_map(id).collect())
}

fn hyphenated(bytes: &[u8; 16]) -> String {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

/// Entities per second read by several concurrent sessions in total.
fn read_together(database: &Database, threads: usize, user_count: u64) -> Result<f64, Failure> {
    const ROUNDS: u64 = 5;
    let begun = Instant::now();
    thread::scope(|scope| {
        let work = || -> Result<(), Failure> {
            let mut session = database.session()?;
            for _ in 0..ROUNDS {
                measure::run(&mut session, NO_MATCH)?;
            }
            Ok(())
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| {
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    })?;
    let examined = user_count * ROUNDS * threads as u64;
    Ok(examined as f64 / begun.elapsed().as_secs_f64())
}

/// Deletes every user of fresh copies.
fn deletions(
    database: &Database,
    scratch: &Scratch,
    progress: &Progress,
) -> Result<Times, Failure> {
    let mut times = Times { runs: Vec::new(), row_count: 0, size: 0 };
    for round in 0..DELETIONS {
        step(progress, DELETE, round.into(), DELETIONS.into())?;
        let path = scratch.0.join(format!("copy-{round}"));
        database.backup(&path, &mut |_, _| true)?;
        let copy = Database::open(&path)?;
        let mut session = copy.session()?;
        // Read the copy's pages into memory, like those of the original.
        measure::run(&mut session, NO_MATCH)?;
        let begun = Instant::now();
        (times.row_count, times.size) = measure::run(&mut session, DELETE)?;
        times.runs.push(millis(begun.elapsed()));
        drop(session);
        copy.close()?;
        std::fs::remove_dir_all(&path)?;
    }
    Ok(times)
}
