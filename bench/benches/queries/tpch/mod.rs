//! TPC-H: the 22 queries over tables of the `tpchgen` crate, FolioDB with and without columns, and
//! SQLite.
//!
//! `tpch -- [q01] [--scale 0.1]` by way of `-n`: the size is the scale in
//! hundredths, `-n 10` is scale 0.1 (the default) and `-n 100` scale 1. Both hold the
//! same rows under the same primary keys and indexes, and FolioDB's
//! answers are compared with SQLite's, row by row, before anything counts. Where
//! `TPCH_FILES` names a folder, rows, queries and answers are written there, for DuckDB
//! (`bench/run tpch` runs both).

mod answer;
mod data;
mod files;
mod queries;

use std::path::Path;

use facade::{Database, OpenOptions, Session, Synchronous, Value};
use folio_bench::Result;
use folio_bench::contest::{Entrant, Stopwatch};
use folio_bench::results::SystemNote;
use folio_bench::suite::{Suite, Workload};
use rusqlite::Connection;

use answer::{Answer, Cell};
use data::{INDEXES, Kind, TABLES, Table};
use files::Files;

/// Page cache of either system, in bytes: scale 1 fits.
const CACHE_SIZE: usize = 2 << 30;

/// Name, version and settings.
const SYSTEMS: [(&str, &str, &str); 3] = [
    ("FolioDB SQL", env!("CARGO_PKG_VERSION"), "as many threads as processors; pool of 2 GiB"),
    (
        "FolioDB SQL, columns",
        env!("CARGO_PKG_VERSION"),
        "the same, with a columns index of each table",
    ),
    ("SQLite", "rusqlite 0.41, bundled", "one thread; WAL, page cache of 2 GiB, ANALYZE"),
];

pub(crate) fn run(suite: &mut Suite) -> Result<()> {
    for (name, version, settings) in SYSTEMS {
        let (name, version, settings) = (name.into(), version.into(), settings.into());
        suite.note(SystemNote { name, version, settings });
    }
    for hundredths in suite.arguments.sizes_or(&[10]) {
        measure(suite, hundredths)?;
    }
    Ok(())
}

fn measure(suite: &mut Suite, hundredths: u64) -> Result<()> {
    let scale = hundredths as f64 / 100.0;
    let directory = suite.scratch.directory()?;
    let mut session = fill(&directory.join("rows"), scale)?;
    let mut columns = fill(&directory.join("columns"), scale)?;
    for table in &TABLES {
        columns.execute(&format!("CREATE INDEX ON {} USING columns", table.name), &[])?;
    }
    let connection = fill_sqlite(&directory, scale)?;
    let files = Files::write(hundredths)?;
    let mut wrong = Vec::new();
    for number in 1..=22 {
        let name = format!("q{number:02}");
        if !suite.wants(&name, "FolioDB SQL", hundredths) {
            continue;
        }
        let text = queries::query(number, scale);
        let other = queries::for_sqlite(&text);
        let compared = ask(&mut session, &text)
            .and_then(|ours| Ok((ours, ask_sqlite(&connection, &other)?)))
            .and_then(|(ours, theirs)| {
                ours.compare(&theirs)?;
                ask(&mut columns, &text)?.compare(&theirs)?;
                files.as_ref().map_or(Ok(()), |files| files.question(&name, &text, &ours))
            });
        if let Err(error) = compared {
            println!("\n{name}: {error}");
            wrong.push(name);
            continue;
        }
        let entrants = vec![
            Entrant::reads("FolioDB SQL", || {
                let mut watch = Stopwatch::start();
                ask(&mut session, &text)?;
                watch.lap("query");
                Ok(watch.stop())
            }),
            Entrant::reads("FolioDB SQL, columns", || {
                let mut watch = Stopwatch::start();
                ask(&mut columns, &text)?;
                watch.lap("query");
                Ok(watch.stop())
            }),
            Entrant::reads("SQLite", || {
                let mut watch = Stopwatch::start();
                ask_sqlite(&connection, &other)?;
                watch.lap("query");
                Ok(watch.stop())
            }),
        ];
        let workload = Workload { name: &name, mode: "warm", documents: hundredths, operations: 1 };
        // Each by itself, as DuckDB is: another's pass over all rows leaves cold caches behind.
        for entrant in entrants {
            suite.contest(workload, vec![entrant])?;
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(format!("wrong: {}", wrong.join(", ")).into()) }
}

fn fill(directory: &Path, scale: f64) -> Result<Session> {
    let options = OpenOptions {
        synchronous: Synchronous::Normal,
        pool_size: CACHE_SIZE,
        ..OpenOptions::default()
    };
    let mut session = Database::open_with(directory.join("data"), &options)?.session()?;
    for table in &TABLES {
        session.execute(
            &table.definition(true, |kind| match kind {
                Kind::Integer => "BIGINT",
                Kind::Decimal => "NUMERIC(15, 2)",
                Kind::Text => "TEXT",
                Kind::Date => "DATE",
            }),
            &[],
        )?;
        session.execute("BEGIN", &[])?;
        let mut insert = session.prepare(&table.insert())?;
        let mut failure = None;
        table.rows(scale, &mut |row| {
            let values = values(table, row);
            let done = session.execute_prepared(&mut insert, &values);
            failure = failure.take().or(done.err());
        });
        failure.map_or(Ok(()), Err)?;
        session.execute("COMMIT", &[])?;
    }
    for index in INDEXES {
        session.execute(index, &[])?;
    }
    Ok(session)
}

fn values(table: &Table, row: &str) -> Vec<Value> {
    let fields = row.split('|').zip(table.columns);
    let value = |(text, (_, kind)): (&str, &(&str, Kind))| match kind {
        Kind::Integer => Value::Integer(text.parse().expect("an integer")),
        _ => Value::Text(text.to_owned()),
    };
    fields.map(value).collect()
}

fn fill_sqlite(directory: &Path, scale: f64) -> Result<Connection> {
    let connection = Connection::open(directory.join("data.db"))?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "normal")?;
    connection.pragma_update(None, "cache_size", -((CACHE_SIZE >> 10) as i64))?;
    for table in &TABLES {
        connection.execute_batch(&table.definition(true, |kind| match kind {
            Kind::Integer => "INTEGER",
            Kind::Decimal => "REAL",
            Kind::Text | Kind::Date => "TEXT",
        }))?;
        connection.execute_batch("BEGIN")?;
        let mut insert = connection.prepare(&table.insert())?;
        let mut failure = None;
        table.rows(scale, &mut |row| {
            let values = row.split('|').take(table.columns.len());
            let done = insert.execute(rusqlite::params_from_iter(values));
            failure = failure.take().or(done.err());
        });
        failure.map_or(Ok(()), Err)?;
        drop(insert);
        connection.execute_batch("COMMIT")?;
    }
    for index in INDEXES {
        connection.execute_batch(index)?;
    }
    connection.execute_batch("ANALYZE")?;
    Ok(connection)
}

fn ask(session: &mut Session, text: &str) -> Result<Answer> {
    let mut rows = session.execute(text, &[])?.rows.ok_or("a query answers rows")?;
    let types = rows.types().to_vec();
    let rows = rows
        .collect_rows()?
        .into_iter()
        .map(|row| row.iter().zip(&types).map(|(value, ty)| answer::cell(value, ty)).collect());
    Ok(Answer(rows.collect()))
}

fn ask_sqlite(connection: &Connection, text: &str) -> Result<Answer> {
    let mut statement = connection.prepare_cached(text)?;
    let width = statement.column_count();
    let mut rows = statement.query([])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        let cells: rusqlite::Result<Vec<Cell>> =
            (0..width).map(|index| Ok(answer::of_sqlite(row.get_ref(index)?))).collect();
        all.push(cells?);
    }
    Ok(Answer(all))
}
