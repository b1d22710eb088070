//! Small statements over a table of 100 rows, each a transaction of its own.

use folio_bench::Result;
use folio_bench::contest::{Entrant, Stopwatch};
use folio_bench::suite::{Suite, Workload};

use crate::engine::{Engine, Given};
use crate::{NORMAL, SYSTEMS, Tables};

const ROWS: i64 = 100;
/// Statements per sample.
const COUNT: i64 = 1_000;

const TABLE: &str = "CREATE TABLE small (id BIGINT PRIMARY KEY, name TEXT, score DOUBLE PRECISION)";
const INSERT: &str = "INSERT INTO small VALUES ({}, 'a name', 1.5)";
const DELETE: &str = "DELETE FROM small WHERE id = {}";

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
