//! SQL over many rows: FolioDB and SQLite, statement by statement.
//!
//! A table of nine columns, a million rows unless said otherwise, the same values in
//! both systems.
//!
//! - `insert`: the whole table by a prepared INSERT, one transaction, per row.
//! - `select_*`: one row by its key: prepared, the same text again, a new text.
//! - `insert_some`, `update`, `delete`: by key, prepared, 20,000 in one transaction,
//!   its commit included (phases apart in the results).
//! - queries over the whole table, answered to the last row on one thread.
//! - `small_*`: statements over a table of 100 rows, each a transaction of its own:
//!   prepared, the same text again, a new text.
//! - `small_join_*`: two tables of 1,000 rows, every row answered.
//! - `autocommit`, `clients_8`: a durable commit each, by one client and by eight.

mod engine;
mod person;
mod small;

use std::path::Path;
use std::sync::Mutex;

use folio_bench::Result;
use folio_bench::contest::{Entrant, Stopwatch};
use folio_bench::results::Sample;
use folio_bench::suite::{Suite, Workload};

use engine::{Engine, Folio, Given, Sqlite};
use person::Person;

/// Makes an empty table in a directory; with `true` at `full`, else at `normal`.
pub(crate) type Create = fn(&Path, bool) -> Result<Box<dyn Engine>>;

pub(crate) const SYSTEMS: [(&str, Create); 2] =
    [("FolioDB SQL", Folio::create), ("SQLite", Sqlite::create)];

/// Statements by key per sample.
const KEYED: i64 = 20_000;
/// Commits per sample.
const ALONE: i64 = 400;

pub(crate) const NORMAL: &str = "synchronous = normal";
const FULL: &str = "synchronous = full";

const POINT: &str = "SELECT name, score FROM people WHERE id = {}";

const LOOK_UPS: [(&str, Given); 3] = [
    ("select_prepared", Given::Prepared),
    ("select_same_text", Given::SameText),
    ("select_new_text", Given::NewText),
];

const QUERIES: [(&str, &str); 9] = [
    ("filter_text", "SELECT * FROM people WHERE email = 'nobody@example.com'"),
    ("filter_numbers", "SELECT id, name FROM people WHERE score > 990.0"),
    ("like", "SELECT * FROM people WHERE email LIKE '%99@%'"),
    ("group_by", "SELECT city, AVG(score), COUNT(*) FROM people GROUP BY city"),
    ("full_scan", "SELECT * FROM people"),
    ("two_columns", "SELECT id, score FROM people"),
    ("sum_filter", "SELECT SUM(visits) FROM people WHERE active AND age < 40"),
    ("top_ten", "SELECT id, name, score FROM people ORDER BY score DESC, id LIMIT 10"),
    ("count_distinct", "SELECT COUNT(DISTINCT visits) FROM people"),
];

pub(crate) type Tables = Vec<(&'static str, Box<dyn Engine>)>;

pub(crate) fn run(suite: &mut Suite) -> Result<()> {
    for rows in suite.arguments.sizes_or(&[1_000_000]) {
        let people: Vec<Person> = (0..rows as i64).map(Person::new).collect();
        loads(suite, &people)?;
        let mut tables: Tables = Vec::new();
        for (name, create) in SYSTEMS {
            let mut engine = create(&suite.scratch.directory()?, false)?;
            engine.insert(&people, true)?;
            tables.push((name, engine));
        }
        drop(people);
        // Before anything is timed, both have had every page in their hands.
        for (_, engine) in &mut tables {
            engine.query("SELECT * FROM people")?;
        }
        look_ups(suite, &mut tables, rows as i64)?;
        queries(suite, &mut tables, rows)?;
        changes(suite, &mut tables, rows as i64)?;
    }
    small::small(suite)?;
    small::joins(suite)?;
    commits(suite, "autocommit", 1)?;
    commits(suite, "clients_8", 8)
}

/// A table a round, each by a new database.
fn loads(suite: &mut Suite, people: &[Person]) -> Result<()> {
    let scratch = &suite.scratch;
    let directories: Vec<_> = SYSTEMS.iter().map(|_| scratch.directory()).collect::<Result<_>>()?;
    let entrants = SYSTEMS.iter().zip(&directories).map(|(&(name, create), directory)| {
        let mut round = 0;
        Entrant::writes(name, NORMAL, move || {
            round += 1;
            let directory = directory.join(round.to_string());
            std::fs::create_dir(&directory)?;
            let mut engine = create(&directory, false)?;
            let sample = engine.insert(people, true)?;
            drop(engine);
            std::fs::remove_dir_all(&directory)?;
            Ok(sample)
        })
    });
    let entrants = entrants.collect();
    let count = people.len() as u64;
    let workload = Workload { name: "insert", mode: "", documents: count, operations: count };
    suite.contest(workload, entrants)
}

fn look_ups(suite: &mut Suite, tables: &mut Tables, rows: i64) -> Result<()> {
    let keys: Vec<i64> = (0..KEYED.min(rows)).map(|n| scattered(n, rows)).collect();
    for (name, given) in LOOK_UPS {
        let entrants = tables.iter_mut().map(|(system, engine)| {
            let keys = &keys;
            Entrant::reads(*system, move || {
                let mut watch = Stopwatch::start();
                let found = engine.each(POINT, given, keys)?;
                watch.lap(name);
                assert_eq!(found, keys.len() as u64, "every key has its row");
                Ok(watch.stop())
            })
        });
        let entrants = entrants.collect();
        let (documents, operations) = (rows as u64, keys.len() as u64);
        suite.contest(Workload { name, mode: "warm", documents, operations }, entrants)?;
    }
    Ok(())
}

/// Keys all over the table, none twice within as many numbers as there are rows.
fn scattered(number: i64, rows: i64) -> i64 {
    number.wrapping_mul(104_729) % rows
}

fn queries(suite: &mut Suite, tables: &mut Tables, rows: u64) -> Result<()> {
    for (name, text) in QUERIES {
        let expected = Mutex::new(None);
        let entrants = tables.iter_mut().map(|(system, engine)| {
            let expected = &expected;
            Entrant::reads(*system, move || {
                let mut watch = Stopwatch::start();
                let found = engine.query(text)?;
                watch.lap(name);
                let mut expected = expected.lock().expect("nobody panics");
                assert_eq!(found, *expected.get_or_insert(found), "as many rows: {text}");
                Ok(watch.stop())
            })
        });
        let entrants = entrants.collect();
        let workload = Workload { name, mode: "warm", documents: rows, operations: 1 };
        suite.contest(workload, entrants)?;
    }
    Ok(())
}

fn changes(suite: &mut Suite, tables: &mut Tables, rows: i64) -> Result<()> {
    let count = KEYED.min(rows / 10);
    type Change = fn(&mut dyn Engine, i64, i64, i64) -> Result<Sample>;
    let kinds: [(&str, Change); 3] = [
        ("insert_some", |engine, rows, round, count| {
            let first = rows + round * count;
            let people: Vec<Person> = (first..first + count).map(Person::new).collect();
            engine.insert(&people, true)
        }),
        ("update", |engine, rows, round, count| {
            engine.together(
                "UPDATE people SET score = score + 1 WHERE id = {}",
                &keys_of(rows, round, count),
            )
        }),
        ("delete", |engine, rows, round, count| {
            engine.together("DELETE FROM people WHERE id = {}", &keys_of(rows, round, count))
        }),
    ];
    for (name, change) in kinds {
        let entrants = tables.iter_mut().map(|(system, engine)| {
            let mut round = -1;
            Entrant::writes(*system, NORMAL, move || {
                round += 1;
                change(&mut **engine, rows, round, count)
            })
        });
        let entrants = entrants.collect();
        let (documents, operations) = (rows as u64, count as u64);
        suite.contest(Workload { name, mode: "", documents, operations }, entrants)?;
    }
    Ok(())
}

/// The keys of a round, which no other round has.
fn keys_of(rows: i64, round: i64, count: i64) -> Vec<i64> {
    (round * count..(round + 1) * count).map(|number| scattered(number, rows)).collect()
}

/// So many clients, each with a connection of its own, a durable commit each.
fn commits(suite: &mut Suite, name: &str, clients: usize) -> Result<()> {
    let mut tables: Tables = Vec::new();
    for (system, create) in SYSTEMS {
        tables.push((system, create(&suite.scratch.directory()?, true)?));
    }
    let entrants = tables.iter().map(|(system, engine)| {
        let mut round = 0;
        Entrant::writes(*system, FULL, move || {
            round += 1;
            commit_from(&**engine, clients, round)
        })
    });
    let entrants = entrants.collect();
    let workload = Workload { name, mode: "", documents: 0, operations: ALONE as u64 };
    suite.contest(workload, entrants)
}

fn commit_from(engine: &dyn Engine, clients: usize, round: i64) -> Result<Sample> {
    let connections: Vec<_> = (0..clients).map(|_| engine.again()).collect::<Result<_>>()?;
    let failure = Mutex::new(None);
    let share = ALONE / clients as i64;
    let mut watch = Stopwatch::start();
    std::thread::scope(|scope| {
        for (client, mut connection) in connections.into_iter().enumerate() {
            let failure = &failure;
            scope.spawn(move || {
                let first = (round << 32) + (client as i64) * share;
                let people: Vec<Person> = (first..first + share).map(Person::new).collect();
                if let Err(error) = connection.insert(&people, false) {
                    failure.lock().expect("nobody panics").get_or_insert(error.to_string());
                }
            });
        }
    });
    watch.lap("commit");
    match failure.into_inner()? {
        Some(error) => Err(error.into()),
        None => Ok(watch.stop()),
    }
}
