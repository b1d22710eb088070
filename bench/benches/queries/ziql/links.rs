//! Following links: what it costs must depend on what is followed, not on how many
//! persons and links there are.
//!
//! Every person has ten friends, spread over all persons. Asked for are ten persons with
//! the first friend of each, or with all of them. SQLite answers by a join: ids are
//! numbers there, and the first friend is the one with the least position, found by the
//! primary key of the link's table.

use std::path::Path;

use facade::{Database, OpenOptions, Session, Synchronous};
use folio_bench::Result;
use folio_bench::contest::{Entrant, Stopwatch};
use folio_bench::suite::{Suite, Workload};
use rusqlite::{Connection, params};

/// Friends of a person.
const FRIENDS: u64 = 10;
/// More persons than this are not linked: ten million would have a hundred million links.
const MOST_PERSONS: u64 = 1_000_000;
/// Persons whose links one statement makes.
const CHUNK: u64 = 50_000;
/// Answers per sample.
const TIMES: u64 = 1_000;

const QUESTIONS: [(&str, &str, &str); 2] = [
    (
        "links, first",
        "GRAB Person [10; friends [1; name]]",
        "SELECT p.id, f.name FROM (SELECT id FROM person ORDER BY id LIMIT 10) p
         LEFT JOIN friend l ON l.source = p.id AND l.position =
             (SELECT position FROM friend WHERE source = p.id ORDER BY position LIMIT 1)
         LEFT JOIN person f ON f.id = l.target ORDER BY p.id",
    ),
    (
        "links, all",
        "GRAB Person [10; friends [name]]",
        "SELECT p.id, f.name FROM (SELECT id FROM person ORDER BY id LIMIT 10) p
         LEFT JOIN friend l ON l.source = p.id
         LEFT JOIN person f ON f.id = l.target ORDER BY p.id, l.position",
    ),
];

/// The friend of a person: the same for everybody who asks.
fn friend(person: u64, position: u64, persons: u64) -> u64 {
    (person * 7_919 + position * 104_729 + 1) % persons
}

/// Measures both systems on so many persons.
pub(crate) fn measure(suite: &mut Suite, persons: u64) -> Result<()> {
    let is_wanted = |name| ["FolioDB", "SQLite"].iter().any(|of| suite.wants(name, of, persons));
    if persons > MOST_PERSONS || !QUESTIONS.iter().any(|(name, ..)| is_wanted(name)) {
        return Ok(());
    }
    let mut session = folio(&suite.scratch.directory()?.join("folio"), persons)?;
    let connection = sqlite(&suite.scratch.directory()?.join("sqlite.db"), persons)?;
    for (name, ziql, sql) in QUESTIONS {
        let mut of_folio = || -> Result<String> { Ok(session.ziql(ziql, &[])?.to_json()?) };
        let of_sqlite = || joined(&connection, sql);
        assert_eq!(of_folio()?, of_sqlite()?, "{name}: both answer the same");
        let entrants = vec![
            Entrant::reads("FolioDB", || repeated(&mut of_folio)),
            Entrant::reads("SQLite", || repeated(&mut || of_sqlite())),
        ];
        let workload = Workload { name, mode: "warm", documents: persons, operations: TIMES };
        suite.contest(workload, entrants)?;
    }
    Ok(())
}

fn repeated(ask: &mut dyn FnMut() -> Result<String>) -> Result<folio_bench::results::Sample> {
    let mut watch = Stopwatch::start();
    for _ in 0..TIMES {
        std::hint::black_box(ask()?);
    }
    watch.lap("ask");
    Ok(watch.stop())
}

fn folio(path: &Path, persons: u64) -> Result<Session> {
    let options = OpenOptions { synchronous: Synchronous::Normal, ..OpenOptions::default() };
    let database = Database::open_with(path, &options)?;
    database.apply_schema("Person ( number: int unique, name: str, friends: []Person )", false)?;
    let mut session = database.session()?;
    let last = persons - 1;
    session.execute(
        &format!(
            "insert into \"Person\" (number, name)
             select n, 'Person ' || n from generate_series(0, {last}) s(n)"
        ),
        &[],
    )?;
    // Its entries come in no order: sorted at the end, each page of it is written once.
    session.execute("drop index \"Person.friends_target_key\"", &[])?;
    for from in (0..persons).step_by(CHUNK as usize) {
        let to = from + CHUNK;
        session.execute(
            &format!(
                "insert into \"Person.friends\" (source, position, target)
                 select p.id, s.n, f.id from \"Person\" p
                 cross join generate_series(0, {FRIENDS} - 1) s(n)
                 join \"Person\" f
                   on f.number = (p.number * 7919 + s.n * 104729 + 1) % {persons}
                 where p.number >= {from} and p.number < {to}"
            ),
            &[],
        )?;
    }
    let index = "create unique index \"Person.friends_target_key\" on \"Person.friends\"";
    session.execute(&format!("{index} (target, source)"), &[])?;
    Ok(session)
}

fn sqlite(path: &Path, persons: u64) -> Result<Connection> {
    let mut connection = Connection::open(path)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "normal")?;
    connection.pragma_update(None, "cache_size", -1_000_000)?;
    connection.execute_batch(
        "CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
         CREATE TABLE friend (source INTEGER, position INTEGER, target INTEGER,
             PRIMARY KEY (source, position)) WITHOUT ROWID;",
    )?;
    let transaction = connection.transaction()?;
    {
        let mut insert = transaction.prepare("INSERT INTO person VALUES (?, ?)")?;
        let mut link = transaction.prepare("INSERT INTO friend VALUES (?, ?, ?)")?;
        for person in 0..persons {
            insert.execute(params![person as i64, format!("Person {person}")])?;
            for position in 0..FRIENDS {
                let target = friend(person, position, persons) as i64;
                link.execute([person as i64, position as i64, target])?;
            }
        }
    }
    transaction.commit()?;
    connection.execute_batch("CREATE UNIQUE INDEX friend_of ON friend (target, source)")?;
    Ok(connection)
}

/// Rows of a join put together as JSON.
fn joined(connection: &Connection, sql: &str) -> Result<String> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    let (mut json, mut last) = (Vec::from(b"["), None);
    while let Some(row) = rows.next()? {
        let id: i64 = row.get(0)?;
        let name = row.get_ref(1)?.as_str_or_null()?;
        if last == Some(id) {
            json.push(b',');
        } else {
            json.extend(if last.is_some() { &b"]},"[..] } else { b"" });
            json.extend(b"{\"friends\":[");
            last = Some(id);
        }
        if let Some(name) = name {
            json.extend(b"{\"name\":");
            serde_json::to_writer(&mut json, name)?;
            json.push(b'}');
        }
    }
    json.extend(if last.is_some() { &b"]}]"[..] } else { b"]" });
    Ok(String::from_utf8(json)?)
}
