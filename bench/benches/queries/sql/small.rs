//! Small statements over a table of 100 rows, each a transaction of its own, and a
//! join of two tables of 1,000 rows.

use folio_bench::Result;
use folio_bench::contest::{Entrant, Stopwatch};
use folio_bench::suite::{Suite, Workload};

use super::engine::{Engine, Given};
use super::{NORMAL, SYSTEMS, Tables};

const ROWS: i64 = 100;
/// Statements per sample.
const COUNT: i64 = 1_000;

const TABLE: &str = "CREATE TABLE small (id BIGINT PRIMARY KEY, name TEXT, score DOUBLE PRECISION)";
const INSERT: &str = "INSERT INTO small VALUES ({}, 'a name', 1.5)";
const DELETE: &str = "DELETE FROM small WHERE id = {}";

/// Rows of each of the tables joined, and of the answer.
const JOINED_ROWS: i64 = 1_000;
/// Joins per sample.
const JOINS: i64 = 100;

const JOINED: [&str; 2] = [
    "CREATE TABLE persons (id BIGINT PRIMARY KEY, name TEXT, place BIGINT)",
    "CREATE TABLE places (id BIGINT PRIMARY KEY, name TEXT)",
];
const PERSON: &str = "INSERT INTO persons VALUES ({}, 'a name', 0)";
const PLACE: &str = "INSERT INTO places VALUES ({}, 'a place')";
/// Partners are not side by side.
const SCATTER: &str = "UPDATE persons SET place = id * 7 % 1000";
/// The condition holds for every row.
const JOIN: &str = "SELECT a.name, b.name FROM persons a JOIN places b ON b.id = a.place \
    WHERE a.id > {}";

/// A statement with `{}` for a key.
struct Case {
    name: &'static str,
    text: &'static str,
    /// Whether its keys are of rows that are made before and not in the table to stay.
    makes_rows: bool,
    removes_rows: bool,
}

const CASES: [Case; 6] = [
    Case { name: "insert", text: INSERT, makes_rows: false, removes_rows: true },
    Case {
        name: "select",
        text: "SELECT name, score FROM small WHERE id = {}",
        makes_rows: false,
        removes_rows: false,
    },
    Case {
        name: "count",
        text: "SELECT COUNT(*) FROM small",
        makes_rows: false,
        removes_rows: false,
    },
    // The condition holds for every row.
    Case {
        name: "count_where",
        text: "SELECT COUNT(*) FROM small WHERE id > {}",
        makes_rows: false,
        removes_rows: false,
    },
    Case {
        name: "update",
        text: "UPDATE small SET score = score + 1 WHERE id = {}",
        makes_rows: false,
        removes_rows: false,
    },
    Case { name: "delete", text: DELETE, makes_rows: true, removes_rows: false },
];

const GIVEN: [(&str, Given); 3] =
    [("prepared", Given::Prepared), ("same_text", Given::SameText), ("new_text", Given::NewText)];

/// Measures every statement in every way of giving it.
pub(crate) fn small(suite: &mut Suite) -> Result<()> {
    let mut tables: Tables = Vec::new();
    for (name, create) in SYSTEMS {
        let mut engine = create(&suite.scratch.directory()?, false)?;
        engine.each(TABLE, Given::SameText, &[])?;
        engine.each(INSERT, Given::Prepared, &(0..ROWS).collect::<Vec<_>>())?;
        tables.push((name, engine));
    }
    for case in &CASES {
        for (suffix, given) in GIVEN {
            if given == Given::NewText && !case.text.contains("{}") {
                continue;
            }
            let name = format!("small_{}_{suffix}", case.name);
            let entrants = tables.iter_mut().map(|(system, engine)| {
                let mut round = 0;
                Entrant::writes(*system, NORMAL, move || {
                    round += 1;
                    sample(&mut **engine, case, given, round)
                })
            });
            let entrants = entrants.collect();
            let (documents, operations) = (ROWS as u64, COUNT as u64);
            suite.contest(Workload { name: &name, mode: "", documents, operations }, entrants)?;
        }
    }
    Ok(())
}

/// Measures the join in every way of giving it.
pub(crate) fn joins(suite: &mut Suite) -> Result<()> {
    let keys: Vec<i64> = (0..JOINED_ROWS).collect();
    let mut tables: Tables = Vec::new();
    for (name, create) in SYSTEMS {
        let mut engine = create(&suite.scratch.directory()?, false)?;
        for text in JOINED {
            engine.each(text, Given::SameText, &[])?;
        }
        for text in [PERSON, PLACE] {
            engine.each(text, Given::NewText, &keys)?;
        }
        engine.each(SCATTER, Given::SameText, &[])?;
        tables.push((name, engine));
    }
    for (suffix, given) in GIVEN {
        let name = format!("small_join_{suffix}");
        let entrants = tables.iter_mut().map(|(system, engine)| {
            let mut round = 0;
            Entrant::reads(*system, move || {
                round += 1;
                let keys: Vec<i64> = (0..JOINS).map(|number| -1 - number - round * JOINS).collect();
                let mut watch = Stopwatch::start();
                let found = engine.each(JOIN, given, &keys)?;
                watch.lap("join");
                assert_eq!(found, (JOINS * JOINED_ROWS) as u64, "every row has its partner");
                Ok(watch.stop())
            })
        });
        let entrants = entrants.collect();
        let (documents, operations) = (JOINED_ROWS as u64, JOINS as u64);
        suite.contest(Workload { name: &name, mode: "", documents, operations }, entrants)?;
    }
    Ok(())
}

fn sample(
    engine: &mut dyn Engine,
    case: &Case,
    given: Given,
    round: i64,
) -> Result<folio_bench::results::Sample> {
    let is_new = case.makes_rows || case.removes_rows;
    let first = if is_new { ROWS + round * COUNT } else { 0 };
    let keys: Vec<i64> = match case.name {
        "count" | "count_where" => (0..COUNT).map(|number| -1 - number - round * COUNT).collect(),
        _ if is_new => (first..first + COUNT).collect(),
        _ => (0..COUNT).map(|number| number * 37 % ROWS).collect(),
    };
    if case.makes_rows {
        engine.together(INSERT, &keys)?;
    }
    let mut watch = Stopwatch::start();
    let done = engine.each(case.text, given, &keys)?;
    watch.lap(case.name);
    assert_eq!(done, COUNT as u64, "every statement finds or changes one row: {}", case.name);
    if case.removes_rows {
        engine.together(DELETE, &keys)?;
    }
    Ok(watch.stop())
}
