//! Queries that read every line: as a collection, and as a file of lines.
//!
//! The collection is there twice, once with columns. DuckDB answers the same texts over the same
//! file, and over a table made of it (`python/asking_duckdb.py`). What is asked is in the common
//! part of both dialects.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use facade::{Database, OpenOptions, Session, Value};
use folio_bench::Result;
use folio_bench::contest::{Entrant, Stopwatch};
use folio_bench::results::Size;
use folio_bench::scratch::size_on_disk;
use folio_bench::suite::{Suite, Workload};
use serde_json::{Value as Json, json};

use super::events::Events;
use super::people::people;

/// The environment variable that names the folder for other systems.
const FOLDER: &str = "ASKING_FILES";

/// Creations only, as four of the five queries want them.
macro_rules! created {
    ($rest:literal) => {
        concat!("kind = 'commit' AND commit.operation = 'create'", $rest)
    };
}

/// The questions of JSONBench, with an order that is the same everywhere.
const EVENTS: [(&str, &str); 5] = [
    (
        "events, Q1",
        "SELECT commit.collection AS event, COUNT(*) AS n FROM {} GROUP BY event ORDER BY n DESC, event",
    ),
    (
        "events, Q2",
        concat!(
            "SELECT commit.collection AS event, COUNT(*) AS n, COUNT(DISTINCT did) AS users FROM {} WHERE ",
            created!(" GROUP BY event ORDER BY n DESC, event")
        ),
    ),
    (
        "events, Q3",
        concat!(
            "SELECT commit.collection AS event, CAST(floor(time_us / 3600000000.0) AS BIGINT) % 24 AS hour, COUNT(*) AS n FROM {} WHERE ",
            created!(
                " AND commit.collection IN ('app.bsky.feed.post', 'app.bsky.feed.repost', 'app.bsky.feed.like') \
                GROUP BY event, hour ORDER BY hour, event"
            )
        ),
    ),
    (
        "events, Q4",
        concat!(
            "SELECT did, MIN(time_us) AS first FROM {} WHERE ",
            created!(
                " AND commit.collection = 'app.bsky.feed.post' GROUP BY did ORDER BY first, did LIMIT 3"
            )
        ),
    ),
    (
        "events, Q5",
        concat!(
            "SELECT did, MAX(time_us) - MIN(time_us) AS span FROM {} WHERE ",
            created!(
                " AND commit.collection = 'app.bsky.feed.post' GROUP BY did ORDER BY span DESC, did LIMIT 3"
            )
        ),
    ),
];

const RECORDS: [(&str, &str); 5] = [
    ("records, Q1", "SELECT COUNT(*) AS n, AVG(score) AS mean FROM {} WHERE age > 40 AND active"),
    (
        "records, Q2",
        "SELECT metadata.source AS source, COUNT(*) AS n, AVG(age) AS mean FROM {} GROUP BY source ORDER BY n DESC, source",
    ),
    (
        "records, Q3",
        "SELECT age, MIN(score) AS least, MAX(score) AS most FROM {} GROUP BY age ORDER BY age",
    ),
    (
        "records, Q4",
        "SELECT id, name, score FROM {} WHERE metadata.source = 'web' ORDER BY score DESC, id LIMIT 10",
    ),
    (
        "records, Q5",
        "SELECT tag, COUNT(*) AS n FROM (SELECT UNNEST(tags) AS tag FROM {}) AS t GROUP BY tag ORDER BY tag",
    ),
];

pub(crate) fn measure(suite: &mut Suite, documents: u64) -> Result<()> {
    let events = || Events::new(documents).take(documents as usize);
    asked(suite, documents, "events", &EVENTS, &mut events())?;
    let records = || people().take(documents as usize).map(|record| record.line);
    asked(suite, documents, "records", &RECORDS, &mut records())
}

/// Asks FolioDB, of the collection and of the file.
fn asked(
    suite: &mut Suite,
    documents: u64,
    name: &str,
    queries: &[(&str, &str)],
    lines: &mut dyn Iterator<Item = String>,
) -> Result<()> {
    if !queries.iter().any(|(query, _)| suite.wants(query, "FolioDB", documents)) {
        return Ok(());
    }
    let directory = suite.scratch.directory()?;
    let folder = std::env::var_os(FOLDER).map(PathBuf::from);
    let folder = folder.unwrap_or_else(|| directory.clone()).join(documents.to_string());
    std::fs::create_dir_all(&folder)?;
    let file = folder.join(format!("{name}.jsonl"));
    let database = fill(&directory, name, &file, lines)?;
    suite.size(size_of_columns(&directory, name, documents, &file)?);
    let from_file = format!("'{}'", file.display());
    for (query, text) in queries {
        let over = |relation: &str| text.replace("{}", relation);
        let (over_collection, over_columns) = (over(name), over(&with_columns(name)));
        let over_file = over(&from_file);
        let session = || database.session();
        let mut sessions = [session()?, session()?, session()?, session()?, session()?];
        sessions[3..].iter_mut().for_each(|session| session.set_threads(1));
        let answer = ask(&mut sessions[0], &over_collection)?;
        for (session, other) in [(1, &over_file), (2, &over_columns)] {
            if ask(&mut sessions[session], other)? != answer {
                return Err(format!("{query}: {other} answers differently").into());
            }
        }
        std::fs::write(folder.join(format!("{query}.sql")), over_file.clone())?;
        std::fs::write(folder.join(format!("{query}.json")), Json::Array(answer).to_string())?;
        // Each by itself, as the peers in Python: the others' data would push its own out of the
        // processor's caches.
        let [first, second, third, fourth, fifth] = &mut sessions;
        let one_thread = format!("{query}, one thread");
        for (name, system, session, text) in [
            (*query, "FolioDB", first, &over_collection),
            (query, "FolioDB, file", second, &over_file),
            (query, "FolioDB, columns", third, &over_columns),
            (&one_thread, "FolioDB", fourth, &over_collection),
            (&one_thread, "FolioDB, columns", fifth, &over_columns),
        ] {
            let workload = Workload { name, mode: "warm", documents, operations: documents };
            suite.contest(workload, vec![entrant(system, session, text)])?;
        }
    }
    database.close()?;
    Ok(std::fs::remove_dir_all(&directory)?)
}

fn entrant<'a>(name: &str, session: &'a mut Session, text: &'a str) -> Entrant<'a> {
    Entrant::reads(name, move || {
        let mut watch = Stopwatch::start();
        ask(session, text)?;
        watch.lap("query");
        Ok(watch.stop())
    })
}

/// The collection with the same documents, and columns.
fn with_columns(name: &str) -> String {
    format!("{name}_columns")
}

/// What the Parquet files take beside the lines.
fn size_of_columns(directory: &Path, name: &str, documents: u64, file: &Path) -> Result<Size> {
    let collection = directory.join("data/collections").join(with_columns(name));
    let (files_size, allocated_size) = size_on_disk(&collection.join("meta/columns-by_columns"))?;
    let system = format!("FolioDB, columns of {name}");
    let lines_size = std::fs::metadata(file)?.len();
    Ok(Size { system, documents, lines_size, files_size, allocated_size })
}

/// Puts the lines into both collections and a file.
fn fill(
    directory: &Path,
    name: &str,
    file: &Path,
    lines: &mut dyn Iterator<Item = String>,
) -> Result<Database> {
    let database = Database::open_with(directory.join("data"), &OpenOptions::default())?;
    let names = [name.to_owned(), with_columns(name)];
    let collections = [database.collection(&names[0])?, database.collection(&names[1])?];
    let mut batches = [collections[0].batch()?, collections[1].batch()?];
    let mut out = BufWriter::new(File::create(file)?);
    for line in lines {
        writeln!(out, "{line}")?;
        for batch in &mut batches {
            batch.put_line(line.as_bytes())?;
        }
    }
    // What is not on the disk yet would be written while the first query is measured.
    out.into_inner().map_err(|error| error.into_error())?.sync_all()?;
    for batch in batches {
        batch.commit()?;
    }
    for collection in collections {
        collection.flush()?;
    }
    let create = format!("CREATE INDEX by_columns ON {} USING columns", names[1]);
    database.session()?.execute(&create, &[])?;
    // FolioDB keeps no types of a file that changed within two seconds, and would read it twice.
    thread::sleep(Duration::from_secs(3));
    Ok(database)
}

/// The rows of an answer as lists of numbers, texts and nulls.
fn ask(session: &mut Session, text: &str) -> Result<Vec<Json>> {
    let mut rows = session.execute(text, &[])?.rows.ok_or("a query answers rows")?;
    let cell = |value: Value| match value {
        Value::Null => Json::Null,
        Value::Integer(number) => json!(number),
        Value::Float(number) => json!(number),
        Value::Text(text) => json!(text),
        other => json!(format!("{other:?}")),
    };
    let rows = rows.collect_rows()?.into_iter();
    Ok(rows.map(|row| row.into_iter().map(cell).collect()).collect())
}
