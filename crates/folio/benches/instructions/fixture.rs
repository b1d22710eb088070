//! What workloads start from: databases with the same documents and rows every time.

use std::fmt::Write;

use folio::{Collection, Database, OpenOptions, Session};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Documents and rows of every workload, enough for what a run costs once to be small.
pub(crate) const COUNT: usize = 2_000;

/// A database in a folder that goes with it.
pub(crate) struct Fixture {
    pub(crate) collection: Collection,
    pub(crate) session: Session,
    pub(crate) database: Database,
    pub(crate) documents: Vec<(String, Value)>,
    pub(crate) folder: TempDir,
}

/// A database of nothing.
pub(crate) fn empty() -> Fixture {
    let folder = tempfile::tempdir().expect("a folder");
    // What is written behind would be counted in one run and not in the next.
    let options = OpenOptions { write_behind: None, ..OpenOptions::default() };
    let database = Database::open_with(folder.path().join("data"), &options).expect("a database");
    let mut session = database.session().expect("a session");
    session.set_threads(1);
    let collection = database.collection("events").expect("a collection");
    Fixture { collection, session, database, documents: documents(), folder }
}

/// A database with all documents in its collection, flushed.
pub(crate) fn stored() -> Fixture {
    let fixture = empty();
    let documents = fixture.documents.iter().map(|(id, document)| (id.as_str(), document));
    fixture.collection.put_many(documents).expect("documents");
    fixture.collection.flush().expect("a flush");
    fixture
}

/// The same with an index on one field.
pub(crate) fn indexed() -> Fixture {
    let mut fixture = stored();
    run(&mut fixture.session, "CREATE UNIQUE INDEX by_serial ON events (serial)");
    fixture
}

/// A database with two tables: `t` has a row for each document, `kinds` has ten.
pub(crate) fn tabled() -> Fixture {
    let mut fixture = empty();
    let mut text = String::from(
        "CREATE TABLE kinds (id INT PRIMARY KEY, label TEXT);
         CREATE TABLE t (id INT PRIMARY KEY, name TEXT, score DOUBLE PRECISION, kind INT);
         CREATE TABLE empty (id INT PRIMARY KEY, name TEXT, score DOUBLE PRECISION, kind INT);
         INSERT INTO kinds SELECT i, 'kind ' || i FROM generate_series(0, 9) r(i);",
    );
    write!(text, "INSERT INTO t SELECT i, 'name ' || i, i + 0.5, i % 10 FROM generate_series(1, {COUNT}) r(i)")
        .expect("text");
    run(&mut fixture.session, &text);
    fixture
}

/// A database of entities with links: each order has a user.
pub(crate) fn linked() -> Fixture {
    let mut fixture = empty();
    let schema = "User ( name: str, age: int )  Order ( total: float, from: User )";
    fixture.database.apply_schema(schema, false).expect("a schema");
    for user in 0..100 {
        let text = format!("ADD User (name = 'user {user}', age = {})", user % 60);
        ziql(&mut fixture.session, &text);
        let text = format!("ADD Order (total = {user}.5, from = {{name = 'user {user}'}})");
        for _ in 0..5 {
            ziql(&mut fixture.session, &text);
        }
    }
    fixture
}

/// Runs SQL and reads all rows; how many there were.
pub(crate) fn run(session: &mut Session, text: &str) -> usize {
    let answer = session.execute(text, &[]).expect("it runs");
    answer.rows.map_or(0, drain)
}

/// Runs ZiQL and reads all rows; how many there were.
pub(crate) fn ziql(session: &mut Session, text: &str) -> usize {
    drain(session.ziql(text, &[]).expect("it runs"))
}

/// Reads all rows; how many there were.
pub(crate) fn drain(mut rows: folio::Rows) -> usize {
    let mut count = usize::from(rows.take_row().is_some());
    while let Some(batch) = rows.next_batch().expect("rows") {
        count += batch.row_count;
    }
    count
}

const KINDS: [&str; 3] = ["view", "click", "sale"];

fn documents() -> Vec<(String, Value)> {
    let document = |number: usize| {
        let value = json!({
            "serial": number,
            "name": format!("event number {number}"),
            "score": (number * 7919 % 1000) as f64 / 8.0,
            "kind": KINDS[number % KINDS.len()],
            "tags": ["red", "new"],
            "geo": {"lat": 48.5, "city": format!("city {}", number % 50)},
        });
        (format!("event_{number:08}"), value)
    };
    (0..COUNT).map(document).collect()
}
