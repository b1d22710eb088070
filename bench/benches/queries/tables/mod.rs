//! Tables: FolioDB's storage engine and SQLite, through their Rust interfaces.
//!
//! - `load`: a million rows in key order into an empty table, one transaction.
//! - `read`, `insert`, `update`, `delete`: by key; changes in one transaction, and
//!   each in its own (`_autocommit`), at `full` and `normal`.
//! - `filter`: count the rows with a name that nobody has.
//! - `scan`: every column of every row.
//! - `commit_8`: eight clients, each committing row after row at `full`.

mod engine;
mod people;

use std::path::Path;
use std::sync::Mutex;

use folio_bench::Result;
use folio_bench::contest::{Entrant, Stopwatch};
use folio_bench::results::Sample;
use folio_bench::suite::{Suite, Workload};

use engine::{Change, Engine, Folio, Sqlite};
use people::{Person, mix, person};

/// Makes an empty table in a directory; with `true` at `full`, else at `normal`.
type Create = fn(&Path, bool) -> Result<Box<dyn Engine>>;

const SYSTEMS: [(&str, Create); 2] =
    [("FolioDB tables", Folio::create), ("SQLite", Sqlite::create)];

/// Changes per sample, in one transaction and in transactions of their own.
const TOGETHER: i64 = 20_000;
const ALONE: i64 = 400;

pub(crate) fn run(suite: &mut Suite) -> Result<()> {
    for rows in suite.arguments.sizes_or(&[1_000_000]) {
        let people: Vec<Person> = (1..=rows as i64).map(person).collect();
        loads(suite, &people)?;
        for full in [false, true] {
            let mut tables = Vec::new();
            for (name, create) in SYSTEMS {
                let mut engine = create(&suite.scratch.directory()?, full)?;
                engine.load(&people)?;
                tables.push((name, engine));
            }
            // Before changes are timed, both have had every page in their hands.
            for (_, engine) in &mut tables {
                engine.read_all()?;
            }
            if !full {
                reads(suite, &mut tables, people.len())?;
            }
            changes(suite, &mut tables, people.len() as i64, full)?;
        }
    }
    commits(suite, 1)?;
    commits(suite, 8)
}

fn loads(suite: &mut Suite, people: &[Person]) -> Result<()> {
    let scratch = &suite.scratch;
    let directories: Vec<_> = SYSTEMS.iter().map(|_| scratch.directory()).collect::<Result<_>>()?;
    let entrants = SYSTEMS.iter().zip(&directories).map(|(&(name, create), directory)| {
        let mut round = 0;
        Entrant::writes(name, "synchronous = normal", move || {
            round += 1;
            let directory = directory.join(round.to_string());
            std::fs::create_dir(&directory)?;
            let mut engine = create(&directory, false)?;
            let mut watch = Stopwatch::start();
            engine.load(people)?;
            watch.lap("load");
            drop(engine);
            std::fs::remove_dir_all(&directory)?;
            Ok(watch.stop())
        })
    });
    let entrants = entrants.collect();
    let count = people.len() as u64;
    suite
        .contest(Workload { name: "load", mode: "", documents: count, operations: count }, entrants)
}

fn reads(
    suite: &mut Suite,
    tables: &mut [(&'static str, Box<dyn Engine>)],
    rows: usize,
) -> Result<()> {
    let ids: Vec<i64> = (0..100_000u64).map(|n| 1 + (mix(n) % rows as u64) as i64).collect();
    let documents = rows as u64;
    let workload = |name, operations| Workload { name, mode: "warm", documents, operations };
    type Read = fn(&mut dyn Engine, &[i64]) -> Result<f64>;
    let all: [(&str, u64, Read); 3] = [
        ("read", ids.len() as u64, |engine, ids| Ok(engine.read(ids)? as f64)),
        ("filter", documents, |engine, _| Ok(engine.count_name("Nobody")? as f64)),
        ("scan", documents, |engine, _| engine.read_all()),
    ];
    for (name, operations, read) in all {
        let mut expected = None;
        for (_, engine) in tables.iter_mut() {
            let found = read(&mut **engine, &ids)?;
            let expected = *expected.get_or_insert(found);
            assert!(
                (found - expected).abs() <= expected.abs() * 1e-9,
                "{name}: {found} {expected}"
            );
        }
        let entrants = tables.iter_mut().map(|(system, engine)| {
            let ids = &ids;
            Entrant::reads(*system, move || {
                let mut watch = Stopwatch::start();
                read(&mut **engine, ids)?;
                watch.lap(name);
                Ok(watch.stop())
            })
        });
        let entrants = entrants.collect();
        suite.contest(workload(name, operations), entrants)?;
    }
    Ok(())
}

/// One kind of change: its name, and what it does in a round.
type Kind = (&'static str, fn(i64, i64, i64) -> Vec<Person>);

fn changes(
    suite: &mut Suite,
    tables: &mut [(&'static str, Box<dyn Engine>)],
    rows: i64,
    full: bool,
) -> Result<()> {
    let durability = if full { "synchronous = full" } else { "synchronous = normal" };
    for (suffix, count) in [("", TOGETHER), ("_autocommit", ALONE)] {
        let first = rows + 1 + if suffix.is_empty() { 0 } else { 1 << 40 };
        let kinds: [Kind; 3] = [
            ("insert", |first, round, count| {
                (0..count).map(|n| person(first + round * count + n)).collect()
            }),
            ("update", |rows, round, count| {
                let id = |n| 1 + (mix((round * count + n) as u64) % (rows - 1) as u64) as i64;
                (0..count).map(|n| Person { id: id(n), ..person(n + round) }).collect()
            }),
            ("delete", |first, round, count| {
                (0..count).map(|n| person(first + round * count + n)).collect()
            }),
        ];
        for (kind, make) in kinds {
            let name = format!("{kind}{suffix}_{}", if full { "full" } else { "normal" });
            let base = if kind == "update" { rows } else { first };
            let entrants = tables.iter_mut().map(|(system, engine)| {
                let mut round = 0;
                Entrant::writes(*system, durability, move || {
                    let people = make(base, round, count);
                    round += 1;
                    let changes: Vec<Change<'_>> = people
                        .iter()
                        .map(|person| match kind {
                            "insert" => Change::Insert(person),
                            "update" => Change::Update(person),
                            _ => Change::Delete(person.id),
                        })
                        .collect();
                    let mut watch = Stopwatch::start();
                    if suffix.is_empty() {
                        engine.transact(&changes)?;
                    } else {
                        engine.autocommit(&changes)?;
                    }
                    watch.lap(kind);
                    Ok(watch.stop())
                })
            });
            let entrants = entrants.collect();
            let workload = Workload {
                name: &name,
                mode: "",
                documents: rows as u64,
                operations: count as u64,
            };
            suite.contest(workload, entrants)?;
        }
    }
    Ok(())
}

/// So many clients, each with a connection of its own.
fn commits(suite: &mut Suite, clients: usize) -> Result<()> {
    let name = format!("commit_{clients}");
    let mut tables = Vec::new();
    for (system, create) in SYSTEMS {
        tables.push((system, create(&suite.scratch.directory()?, true)?));
    }
    let entrants = tables.iter().map(|(system, engine)| {
        let mut round = 0;
        Entrant::writes(*system, "synchronous = full", move || {
            round += 1;
            commit_from(&**engine, clients, round)
        })
    });
    let entrants = entrants.collect();
    let workload = Workload { name: &name, mode: "", documents: 0, operations: ALONE as u64 };
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
                let people: Vec<Person> = (0..share).map(|n| person(first + n)).collect();
                let inserts: Vec<_> = people.iter().map(Change::Insert).collect();
                if let Err(error) = connection.autocommit(&inserts) {
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
