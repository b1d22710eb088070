//! Runs random statements over random tables in FolioDB and in SQLite.
//!
//! The seed of a run determines a schema with rows and a number of statements. Every query runs
//! with the optimizer, without it, and without memory for its sorts and groupings. Each result must
//! equal SQLite's. A failure prints its seed. `FOLIO_SEED=<seed>` repeats only that run,
//! `FOLIO_RUNS=<n>` sets the number of runs.

mod generate;
#[path = "../../../../conformance/random.rs"]
mod random;
#[path = "../../../../conformance/seeds.rs"]
mod seeds;
mod sqlite;

use folio::{ColumnType, Database, Level, OpenOptions, Session, Synchronous, Value, format_value};
use generate::Generator;
use seeds::{run_seeds, seeds};
use serde_json::Value as Json;
use sqlite::Sqlite;

const STATEMENTS_PER_RUN: usize = 25;
const RUNS: u64 = 80;
/// The initial memory limit of sessions, in bytes.
const WORK_MEMORY: usize = 256 << 20;
const DEEP_RUNS: u64 = 4000;

#[test]
fn answers_are_those_of_sqlite() {
    if Sqlite::start().is_none() {
        assert!(std::env::var_os("CI").is_none(), "python3 is missing");
        println!("skipped: python3 is missing");
        return;
    }
    let runs = if std::env::var_os("FOLIO_DEEP").is_some() { DEEP_RUNS } else { RUNS };
    match run_seeds(seeds(runs), run) {
        Ok(count) => println!("{count} statements compared"),
        Err(problem) => panic!("{problem}"),
    }
}

/// One schema and its statements. Returns how many were compared.
fn run(seed: u64) -> Result<u64, String> {
    let mut sqlite = Sqlite::start().ok_or("python3 does not start")?;
    let folder = tempfile::tempdir().expect("a folder for the database");
    let options = OpenOptions { synchronous: Synchronous::Off, ..OpenOptions::default() };
    let database = Database::open_with(folder.path().join("data"), &options).expect("a database");
    let mut session = database.session().expect("a session");
    let mut generator = Generator::new(seed);
    let mut statements = generator.setup();
    statements.extend((0..STATEMENTS_PER_RUN).map(|_| generator.statement()));
    for (position, statement) in statements.iter().enumerate() {
        let theirs = sqlite.run(statement);
        let reported = |problem: String| {
            let before = statements[..position].iter().filter(|text| !text.starts_with("SELECT"));
            let before: Vec<&str> = before.map(String::as_str).collect();
            format!("{problem}\n{statement}\nafter\n{}", before.join(";\n"))
        };
        let ours = answer(&mut session, statement);
        compare(&ours, &theirs, statement).map_err(reported)?;
        if statement.starts_with("SELECT") {
            session.set_level(Level::None);
            let plain = answer(&mut session, statement);
            session.set_level(Level::Full);
            compare(&plain, &theirs, statement)
                .map_err(|problem| reported(format!("without the optimizer: {problem}")))?;
            session.set_work_memory(1);
            let spilled = answer(&mut session, statement);
            session.set_work_memory(WORK_MEMORY);
            compare(&spilled, &theirs, statement)
                .map_err(|problem| reported(format!("without memory: {problem}")))?;
        }
    }
    Ok(statements.len() as u64)
}

/// The result of a statement.
enum Answer {
    Rows(Vec<Vec<String>>),
    Count(u64),
    Error(String),
}

fn answer(session: &mut Session, statement: &str) -> Answer {
    let result = session.execute(statement, &[]).and_then(|answer| match answer.rows {
        None => Ok(Answer::Count(answer.count.unwrap_or(0))),
        Some(mut rows) => {
            let types = rows.types().to_vec();
            let rows = rows.collect_rows()?;
            let rows = rows
                .iter()
                .map(|row| row.iter().zip(&types).map(|(value, ty)| shown(value, ty)).collect());
            Ok(Answer::Rows(rows.collect()))
        }
    });
    result.unwrap_or_else(|error| Answer::Error(error.to_string()))
}

fn shown(value: &Value, ty: &ColumnType) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Text(text) => format!("{text:?}"),
        Value::Boolean(truth) => rounded(f64::from(u8::from(*truth))),
        value => rounded(format_value(value, ty).parse().unwrap_or(f64::NAN)),
    }
}

/// Numbers to nine digits: a mean is a decimal here and a float in SQLite.
fn rounded(number: f64) -> String {
    let number = if number == 0.0 { 0.0 } else { number };
    format!("{number:.8e}")
}

fn their_rows(rows: &Json) -> Vec<Vec<String>> {
    let value = |value: &Json| match value {
        Json::Null => "null".to_owned(),
        Json::String(text) => format!("{text:?}"),
        other => rounded(other.as_f64().unwrap_or(f64::NAN)),
    };
    let row = |row: &Json| row.as_array().into_iter().flatten().map(value).collect();
    rows.as_array().into_iter().flatten().map(row).collect()
}

fn compare(ours: &Answer, theirs: &Json, statement: &str) -> Result<(), String> {
    if let Some(error) = theirs.get("error") {
        return match ours {
            Answer::Error(_) => Ok(()),
            _ => Err(format!("SQLite fails: {error}")),
        };
    }
    match ours {
        Answer::Error(error) => Err(format!("it fails: {error}\nSQLite: {theirs}")),
        Answer::Count(count) => match theirs["count"].as_u64() {
            Some(other) if other == *count || !is_change(statement) => Ok(()),
            other => Err(format!("{count} rows changed, {other:?} in SQLite")),
        },
        Answer::Rows(rows) => {
            let (mut rows, mut others) = (rows.clone(), their_rows(&theirs["rows"]));
            if !statement.contains(" ORDER BY 1 ") || statement.contains(" OVER ") {
                rows.sort();
                others.sort();
            }
            if rows == others {
                return Ok(());
            }
            let first = rows.iter().zip(&others).position(|(row, other)| row != other);
            let at = first.unwrap_or(rows.len().min(others.len()));
            let (count, other) = (rows.len(), others.len());
            let (row, theirs) = (rows.get(at), others.get(at));
            Err(format!("{count} rows, {other} in SQLite; row {at}: {row:?}, {theirs:?}"))
        }
    }
}

fn is_change(statement: &str) -> bool {
    ["INSERT", "UPDATE", "DELETE"].iter().any(|word| statement.starts_with(word))
}
