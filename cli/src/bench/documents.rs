//! A collection: written, read, looked up, asked.
//!
//! Documents of about 250 bytes with texts, numbers, a list and an object. Writing begins with
//! parsed values or lines and ends when they are durable; `cold` opens the database anew.

use std::path::Path;

use folio::{Collection, Database, IndexOptions, OpenOptions, Parameters, Scan, Value};
use serde_json::json;

use super::figure::{Watch, Workload};
use super::run::Bench;
use super::{Dice, Scratch};
use crate::failure::Failure;

const COLLECTION: &str = "records";
const SEED: u64 = 42;

/// Single puts, which are not a batch.
const PUTS: u64 = 10_000;

/// Questions over all documents: their names, and how they are asked.
const QUESTIONS: [(&str, &str); 3] = [
    ("filter", "SELECT name FROM records WHERE score > 99.8"),
    ("group", "SELECT metadata.source, count(*), avg(score) FROM records GROUP BY 1"),
    ("top", "SELECT _id, score FROM records ORDER BY score DESC, _id LIMIT 10"),
];

/// Measures everything for so many documents.
pub(super) fn measure(bench: &mut Bench<'_>, count: u64, lookups: u64) -> Result<(), Failure> {
    bench.section(count, "document", "about 250 bytes each, durable when written")?;
    let records = Records::new(count);
    write(bench, &records)?;
    // Reads have a collection of their own, whatever was asked for above.
    let path = bench.scratch.fresh("read")?;
    fill(&path, &records)?;
    read(bench, &path, count)?;
    look_up(bench, &path, &records.some_ids(lookups))?;
    ask(bench, &path, count)?;
    ask_by_index(bench, &path, &records, lookups)
}

/// The documents, as a program has them and as lines.
struct Records {
    ids: Vec<String>,
    values: Vec<serde_json::Value>,
    lines: Vec<String>,
}

impl Records {
    fn new(count: u64) -> Self {
        const TAGS: [&str; 6] = ["a", "b", "c", "new", "red", "sale"];
        const SOURCES: [&str; 4] = ["api", "import", "mobile", "web"];
        let mut dice = Dice::new(SEED);
        let ids: Vec<String> = (1..=count).map(|number| format!("record_{number:08}")).collect();
        let value = |(id, number): (&String, u64)| {
            let tags: Vec<&str> = (0..=dice.below(3)).map(|_| dice.of(&TAGS)).collect();
            let (month, day) = (1 + dice.below(12), 1 + dice.below(28));
            json!({
                "_id": id, "name": format!("User {number}"),
                "email": format!("user{number}@example.com"), "age": 18 + dice.below(63),
                "score": dice.below(1_000) as f64 / 10.0, "active": dice.below(2) == 1, "tags": tags,
                "metadata": {
                    "created": format!("2025-{month:02}-{day:02}"), "source": dice.of(&SOURCES),
                },
            })
        };
        let values: Vec<_> = ids.iter().zip(1..).map(value).collect();
        let lines = values.iter().map(ToString::to_string).collect();
        Self { ids, values, lines }
    }

    /// Ids drawn with repetition.
    fn some_ids(&self, count: u64) -> Vec<&str> {
        let mut dice = Dice::new(SEED + 1);
        (0..count).map(|_| &*self.ids[dice.below(self.ids.len() as u64) as usize]).collect()
    }

    fn pairs(&self) -> impl Iterator<Item = (&str, &serde_json::Value)> {
        self.ids.iter().map(String::as_str).zip(&self.values)
    }
}

fn fill(path: &Path, records: &Records) -> Result<(), Failure> {
    let database = Database::open(path)?;
    write_lines(&database.collection(COLLECTION)?, records)?;
    Ok(database.close()?)
}

fn write_lines(collection: &Collection, records: &Records) -> Result<(), Failure> {
    let mut batch = collection.batch()?;
    records.lines.iter().try_for_each(|line| batch.put_line(line.as_bytes()))?;
    batch.commit()?;
    Ok(())
}

fn write(bench: &mut Bench<'_>, records: &Records) -> Result<(), Failure> {
    type Write = fn(&Collection, &Records) -> Result<(), Failure>;
    let values: Write = |collection, records| {
        collection.put_many(records.pairs())?;
        Ok(())
    };
    let each: Write = |collection, records| {
        for (id, value) in records.pairs().take(PUTS as usize) {
            collection.put(id, value)?;
        }
        Ok(())
    };
    let count = records.ids.len() as u64;
    let all = [
        ("write", count, values),
        ("write_lines", count, write_lines),
        ("put", count.min(PUTS), each),
    ];
    for (name, operations, write) in all {
        bench.measure(Workload { name, mode: "", operations }, |scratch: &Scratch| {
            let database = Database::open(scratch.fresh("written")?)?;
            let collection = database.collection(COLLECTION)?;
            let mut watch = Watch::start();
            write(&collection, records)?;
            watch.lap("write");
            collection.flush()?;
            watch.lap("sync");
            drop(collection);
            database.close()?;
            Ok(watch)
        })?;
    }
    Ok(())
}

fn open(path: &Path) -> Result<(Database, Collection), Failure> {
    let database = Database::open_with(path, &OpenOptions::read_only())?;
    let collection = database.collection(COLLECTION)?;
    Ok((database, collection))
}

fn read(bench: &mut Bench<'_>, path: &Path, count: u64) -> Result<(), Failure> {
    type Read = fn(&Collection) -> Result<u64, Failure>;
    let lines: Read = |collection| {
        let (mut documents, mut size) = (collection.scan(Scan::new())?, 0);
        while let Some(line) = documents.next_line()? {
            size += line.len() as u64;
        }
        Ok(size)
    };
    let values: Read = |collection| {
        let mut count = 0;
        for document in collection.scan(Scan::new())? {
            let value = document?.to_value().map_err(folio::Error::from)?;
            count += u64::from(value.is_object());
        }
        Ok(count)
    };
    for (name, read) in [("read_lines", lines), ("read_values", values)] {
        bench.measure(Workload { name, mode: "cold", operations: count }, |_| {
            let mut watch = Watch::start();
            let (database, collection) = open(path)?;
            watch.lap("open");
            std::hint::black_box(read(&collection)?);
            watch.lap("scan");
            drop((collection, database));
            Ok(watch)
        })?;
        let (_database, collection) = open(path)?;
        bench.measure(Workload { name, mode: "warm", operations: count }, |_| {
            let mut watch = Watch::start();
            std::hint::black_box(read(&collection)?);
            watch.lap("scan");
            Ok(watch)
        })?;
    }
    Ok(())
}

fn look_up(bench: &mut Bench<'_>, path: &Path, ids: &[&str]) -> Result<(), Failure> {
    let get = |collection: &Collection, ids: &[&str]| -> Result<(), Failure> {
        for id in ids {
            std::hint::black_box(collection.get(id)?);
        }
        Ok(())
    };
    let cold = |ids: &[&str]| -> Result<Watch, Failure> {
        let mut watch = Watch::start();
        let (database, collection) = open(path)?;
        watch.lap("open");
        get(&collection, ids)?;
        watch.lap("get");
        drop((collection, database));
        Ok(watch)
    };
    let operations = ids.len() as u64;
    bench.measure(Workload { name: "open_and_get", mode: "cold", operations: 1 }, |_| {
        cold(&ids[..ids.len().min(1)])
    })?;
    bench.measure(Workload { name: "get", mode: "cold", operations }, |_| cold(ids))?;
    let (_database, collection) = open(path)?;
    bench.measure(Workload { name: "get", mode: "warm", operations }, |_| {
        let mut watch = Watch::start();
        get(&collection, ids)?;
        watch.lap("get");
        Ok(watch)
    })?;
    bench.measure(Workload { name: "get_many", mode: "warm", operations }, |_| {
        let mut watch = Watch::start();
        std::hint::black_box(collection.get_many(ids)?);
        watch.lap("get");
        Ok(watch)
    })
}

fn ask(bench: &mut Bench<'_>, path: &Path, count: u64) -> Result<(), Failure> {
    let (database, _collection) = open(path)?;
    for (name, text) in QUESTIONS {
        bench.measure(Workload { name, mode: "warm", operations: count }, |_| {
            let mut watch = Watch::start();
            let mut rows = database.sql(text, &Parameters::default())?.rows;
            let rows = rows.as_mut().map(folio::Rows::collect_rows).transpose();
            std::hint::black_box(rows.map_err(folio::Error::from)?);
            watch.lap("ask");
            Ok(watch)
        })?;
    }
    Ok(())
}

/// Lookups by another field than the id, with an index on it.
fn ask_by_index(
    bench: &mut Bench<'_>,
    path: &Path,
    records: &Records,
    lookups: u64,
) -> Result<(), Failure> {
    let count = records.ids.len() as u64;
    let database = Database::open(path)?;
    let collection = database.collection(COLLECTION)?;
    let options =
        IndexOptions { name: Some("by_email".to_owned()), unique: true, ..Default::default() };
    bench.measure(Workload { name: "create_index", mode: "", operations: count }, |_| {
        if !collection.indexes()?.is_empty() {
            collection.drop_index("by_email")?;
        }
        let mut watch = Watch::start();
        collection.create_index(&["email"], &options, &mut |_, _| true)?;
        watch.lap("build");
        Ok(watch)
    })?;
    if collection.indexes()?.is_empty() && bench.wants("get_by_field") {
        collection.create_index(&["email"], &options, &mut |_, _| true)?;
    }
    let mut session = database.session()?;
    let mut by_email = session.prepare("SELECT name FROM records WHERE email = ?")?;
    let mut dice = Dice::new(SEED + 2);
    let emails: Vec<[Value; 1]> = (0..lookups)
        .map(|_| [Value::Text(format!("user{}@example.com", 1 + dice.below(count)))])
        .collect();
    bench.measure(Workload { name: "get_by_field", mode: "warm", operations: lookups }, |_| {
        let mut watch = Watch::start();
        for email in &emails {
            let answer = session.execute_prepared(&mut by_email, email)?;
            std::hint::black_box(answer.rows.and_then(|mut rows| rows.take_row()));
        }
        watch.lap("get");
        Ok(watch)
    })?;
    drop((session, collection));
    Ok(database.close()?)
}
