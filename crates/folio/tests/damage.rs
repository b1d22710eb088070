//! One damaged byte in any file beside the data of a collection. Every operation gives the right
//! answer, repairs the file where it met the damage, and is never refused. That holds for the
//! index of ids, for indexes on fields of each kind (plain, unique, of the elements of a list,
//! partial), for columns with their notes, and for the types.
//!
//! `folio-document/tests/reliability/damage.rs` checks cut, exchanged and missing files below the
//! facade. A run damages one byte in 4,096 and draws the operation that follows. `FOLIO_DEEP=1`
//! damages one byte in 32, `FOLIO_RUNS=4096` every byte.

#![allow(clippy::unwrap_used)] // a test that panics has failed

#[path = "../../../conformance/random.rs"]
mod random;
#[path = "../../../conformance/seeds.rs"]
mod seeds;

use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use folio::import::{ImportOptions, Source, import};
use folio::{
    Collection, CollectionOptions, Database, Layout, OpenOptions, PackOptions, Parameters, Result,
    Scan, Value,
};
use folio_file::MemoryFileSystem;
use random::Random;
use seeds::{run_seeds, seeds};
use serde_json::json;

const DATABASE: &str = "/db";
const FOLDER: &str = "/db/collections/docs";

/// More than the head of an index holds, so that there is a run.
const DOCUMENT_COUNT: i64 = 4_200;

/// So few that a run can damage every byte.
const FEW: i64 = 40;

/// The parts of all places, one for each seed, and how many are damaged in a run.
const PARTS: u64 = 4_096;
const COUNT: u64 = 2;
const DEEP_COUNT: u64 = PARTS / 32;

/// The ids of the documents, each with its member `n`, which decides the others but `u`.
type Content = BTreeMap<String, i64>;

/// An index of each kind; columns last.
const INDEXES: [&str; 5] = [
    "create index by_n on docs (n)",
    "create unique index by_u on docs (u)",
    "create index by_tag on docs (tags[])",
    "create index part on docs (m) where m >= 8",
    "create index c on docs using columns",
];

/// Whether a document of an id with a value of `n` passes.
type Passes = fn(&str, i64) -> bool;

/// A condition that each of the indexes serves, in their order, and the documents it selects.
const CONDITIONS: [(&str, Passes); 5] = [
    ("n between 9 and 60", |_, n| (9..=60).contains(&n)),
    ("u >= 'u-d40' and u < 'u-d5'", |id, _| ("d40".."d5").contains(&id)),
    ("array_contains(tags, 't1')", |_, n| n % 4 == 1),
    ("m >= 8 and m < 62", |_, n| (8..62).contains(&n)),
    ("n <> 9 and u is not null", |_, n| n != 9),
];

fn document(id: &str, n: i64) -> serde_json::Value {
    json!({"n": n, "u": format!("u-{id}"), "tags": [format!("t{}", n % 4), "x"], "m": n})
}

fn open(files: &MemoryFileSystem, path: &str, layout: Layout) -> Result<(Database, Collection)> {
    let options =
        OpenOptions { file_system: Some(Arc::new(files.clone())), ..OpenOptions::default() };
    let database = Database::open_with(path, &options)?;
    let options = CollectionOptions { layout, ..CollectionOptions::default() };
    let docs = database.collection_with("docs", &options)?;
    Ok((database, docs))
}

/// A closed database: documents in runs and in the head of the index, some replaced or deleted.
fn prepare(layout: Layout, count: i64, indexes: &[&str]) -> (MemoryFileSystem, Content) {
    let files = MemoryFileSystem::new();
    let (database, docs) = open(&files, DATABASE, layout).unwrap();
    let mut content = Content::new();
    put_batch(&docs, &mut content, 0..count, 0).unwrap();
    docs.flush().unwrap();
    let mut session = database.session().unwrap();
    for text in indexes {
        session.execute(text, &[]).unwrap();
    }
    put_batch(&docs, &mut content, 0..count / 4, 1).unwrap();
    for n in 0..20 {
        let id = format!("d{n}");
        docs.put(&id, &document(&id, n + 50)).unwrap();
        content.insert(id, n + 50);
    }
    docs.delete("d3").unwrap();
    content.remove("d3");
    docs.flush().unwrap();
    assert_eq!(rows(&database).unwrap(), content, "the types of the documents are known");
    database.close().unwrap();
    files.make_durable();
    (files, content)
}

/// Puts documents and deletes one, as one batch.
fn put_batch(
    docs: &Collection,
    content: &mut Content,
    numbers: std::ops::Range<i64>,
    n: i64,
) -> Result<()> {
    let mut batch = docs.batch()?;
    let deleted = format!("d{}", numbers.start);
    for number in numbers {
        let id = format!("d{number}");
        batch.put(&id, &document(&id, n))?;
        content.insert(id, n);
    }
    batch.delete(&deleted)?;
    content.remove(&deleted);
    batch.commit().map(drop)
}

/// The documents as SQL answers them.
fn rows(database: &Database) -> Result<Content> {
    rows_where(database, "true")
}

fn rows_where(database: &Database, condition: &str) -> Result<Content> {
    let mut session = database.session()?;
    let answer = session.execute(&format!("select _id, n from docs where {condition}"), &[])?;
    let rows = answer.rows.unwrap().collect_rows()?;
    let pairs = rows.into_iter().map(|row| match &row[..] {
        [Value::Text(id), Value::Integer(n)] => (id.to_string(), *n),
        other => panic!("{other:?}"),
    });
    Ok(pairs.collect())
}

fn member(line: &str) -> (String, i64) {
    let document: serde_json::Value = serde_json::from_str(line).unwrap();
    (document["_id"].as_str().unwrap().to_owned(), document["n"].as_i64().unwrap())
}

fn scanned(docs: &Collection) -> Result<Content> {
    docs.scan(Scan::new())?.map(|document| Ok(member(document?.raw()))).collect()
}

fn looked_up(docs: &Collection, ids: impl Iterator<Item = String>) -> Result<Content> {
    let mut found = Content::new();
    for id in ids {
        found.extend(docs.get(&id)?.map(|document| member(document.raw())));
    }
    Ok(found)
}

/// What the conditions select, by an index where there is one: in SQL, and as `where` of a scan.
fn selected(database: &Database, docs: &Collection, content: &Content) -> Result<()> {
    for (condition, passes) in CONDITIONS {
        let mut expected = content.clone();
        expected.retain(|id, n| passes(id, *n));
        assert_eq!(rows_where(database, condition)?, expected, "{condition}");
        let found = docs.scan_where(condition, &Parameters::default(), Scan::new())?;
        let found: Result<Content> = found.map(|found| Ok(member(found?.raw()))).collect();
        assert_eq!(found?, expected, "where={condition}");
    }
    Ok(())
}

/// Changes by SQL, each through one of the indexes.
fn change_by_index(database: &Database, content: &mut Content) -> Result<()> {
    let mut session = database.session()?;
    for (condition, passes) in CONDITIONS {
        let set = "set n = 13, m = 13, tags = '[\"t1\",\"x\"]'::json";
        let text = format!("update docs {set} where {condition} and _id < 'd2'");
        session.execute(&text, &[])?;
        content
            .iter_mut()
            .filter(|(id, n)| id.as_str() < "d2" && passes(id, **n))
            .for_each(|(_, n)| *n = 13);
        session.execute(&format!("delete from docs where {condition} and _id > 'd3'"), &[])?;
        content.retain(|id, n| !(id.as_str() > "d3" && passes(id, *n)));
    }
    Ok(())
}

const OPERATIONS: [&str; 15] = [
    "get",
    "put",
    "delete",
    "put_many",
    "batch",
    "import",
    "scan",
    "query",
    "change",
    "compact",
    "pack",
    "where",
    "change by index",
    "reindex",
    "validate",
];

/// Runs an operation, and brings the expected content up to date.
fn operate(
    operation: &str,
    (database, docs): (&Database, &Collection),
    content: &mut Content,
) -> Result<()> {
    match operation {
        "get" => {
            let ids = content.keys().cloned().chain(["d3".to_owned(), "nobody".to_owned()]);
            assert_eq!(looked_up(docs, ids)?, *content, "get");
        }
        "put" => {
            for id in ["d7", "new"] {
                docs.put(id, &document(id, 7))?;
                content.insert(id.to_owned(), 7);
            }
        }
        "delete" => {
            assert!(docs.delete("d5")? && !docs.delete("nobody")?, "delete");
            content.remove("d5");
        }
        "put_many" => {
            let ids: Vec<String> = (20..60).map(|n| format!("d{n}")).collect();
            let documents: Vec<_> = ids.iter().map(|id| document(id, 8)).collect();
            docs.put_many(ids.iter().map(String::as_str).zip(&documents))?;
            content.extend(ids.into_iter().map(|id| (id, 8)));
        }
        "batch" => put_batch(docs, content, 10..70, 9)?,
        "import" => {
            let line = |n: i64| {
                let mut document = document(&format!("d{n}"), 10);
                document["_id"] = format!("d{n}").into();
                format!("{document}\n")
            };
            let text: String = (30..90).map(line).collect();
            let source = Source::reader("text", Cursor::new(text.into_bytes()));
            let report = import(docs, source, &ImportOptions::default(), &mut |_, _| true)?;
            assert_eq!(report.rejected_count, 0, "import");
            content.extend((30..90).map(|n| (format!("d{n}"), 10)));
        }
        "scan" => assert_eq!(scanned(docs)?, *content, "scan"),
        "query" => assert_eq!(rows(database)?, *content, "query"),
        "change" => {
            let mut session = database.session()?;
            let set = "set n = 11, m = 11, tags = '[\"t3\",\"x\"]'::json";
            session.execute(&format!("update docs {set} where _id in ('d8', 'd9')"), &[])?;
            let values = "('other', 12, 12, 'u-other', '[\"t0\",\"x\"]'::json)";
            session
                .execute(&format!("insert into docs (_id, n, m, u, tags) values {values}"), &[])?;
            session.execute("delete from docs where _id = 'd6'", &[])?;
            content.extend([("d8", 11), ("d9", 11), ("other", 12)].map(|(id, n)| (id.into(), n)));
            content.remove("d6");
        }
        "where" => selected(database, docs, content)?,
        "change by index" => change_by_index(database, content)?,
        "reindex" => docs.reindex(&mut |_, _| true)?,
        "validate" => drop(docs.check(&mut |_, _| true)?),
        "compact" => assert_eq!(
            docs.compact(&mut |_, _| true)?.document_count,
            content.len() as u64,
            "compact"
        ),
        _ => {
            let report = database.pack("/packed.zds", &PackOptions::default(), &mut |_, _| true)?;
            assert_eq!(report.document_count, content.len() as u64, "pack");
        }
    }
    Ok(())
}

/// An operation on a collection with a damaged byte: before it is opened, or while it is open.
fn damage(
    (files, content, layout): (&MemoryFileSystem, &Content, Layout),
    (path, place): (&Path, u64),
    operation: &str,
    random: &mut Random,
) -> std::result::Result<(), String> {
    let refused = |error: folio::Error| format!("{operation} is refused: {error}");
    let (files, mut content) = (files.kill(), content.clone());
    let bits = 1 + random.draw() % 255;
    let damage = || {
        for bit in (0..8).filter(|bit| bits >> bit & 1 == 1) {
            files.flip_bit(path, place * 8 + bit).unwrap();
        }
    };
    let is_open = random.once_in(3);
    if !is_open {
        damage();
    }
    let (database, docs) = open(&files, DATABASE, layout).map_err(refused)?;
    if is_open {
        docs.get("d9").map_err(refused)?;
        damage();
    }
    operate(operation, (&database, &docs), &mut content).map_err(refused)?;
    if scanned(&docs).map_err(refused)? != content {
        return Err(format!("{operation}: the scan after it differs"));
    }
    database.close().map_err(refused)?;
    let (database, docs) = open(&files, DATABASE, layout).map_err(refused)?;
    let ids = content.keys().cloned().chain(["d3".to_owned(), "d5".to_owned(), "d6".to_owned()]);
    let found = looked_up(&docs, ids).map_err(refused)?;
    if found != content || rows(&database).map_err(refused)? != content {
        return Err(format!("{operation}: opened again, it differs"));
    }
    selected(&database, &docs, &content).map_err(refused)?;
    database.close().map_err(refused)?;
    let (database, docs) = open(&files, DATABASE, layout).map_err(refused)?;
    selected(&database, &docs, &content).map_err(refused)?;
    if let Some(notice) = docs.take_notices().first() {
        return Err(format!("{operation}: it is not repaired: {notice}"));
    }
    // A page that nothing has read stays damaged. The check finds it, and names what mends it.
    let report = docs.check(&mut |_, _| true).map_err(refused)?;
    if !report.problems.is_empty() && operation != "reindex" {
        docs.reindex(&mut |_, _| true).map_err(refused)?;
    }
    let report = docs.check(&mut |_, _| true).map_err(refused)?;
    match report.problems.first() {
        Some(problem) => Err(format!("{operation}: it is not repaired: {problem}")),
        None => Ok(()),
    }
}

/// The files of the collection that only repeat what its documents say.
fn derived(files: &MemoryFileSystem) -> Vec<PathBuf> {
    let mut paths = files.paths();
    paths.retain(|path| {
        path.starts_with(Path::new(FOLDER).join("meta"))
            && !path.ends_with("data.jsonl")
            && !path.ends_with("manifest.json")
    });
    paths
}

#[test]
fn a_damaged_byte_beside_the_data_changes_no_answer_and_refuses_nothing() {
    let is_deep = std::env::var_os("FOLIO_DEEP").is_some();
    for (layout, count, indexes) in
        [(Layout::Lines, DOCUMENT_COUNT, &INDEXES[..]), (Layout::Files, FEW, &[])]
    {
        let (files, content) = prepare(layout, count, indexes);
        let paths = derived(&files);
        assert!(layout == Layout::Files || paths.len() > 2, "an index with a run: {paths:?}");
        let run = |seed: u64| {
            let (mut random, mut count) = (Random::new(seed), 0);
            for path in &paths {
                let size = files.read(path).unwrap().len() as u64;
                // Whole blocks of columns have one sum; those of a small part are damaged below.
                let is_columns = path.extension().is_some_and(|own| own == "parquet");
                let step = if is_columns { PARTS * 8 } else { PARTS };
                for place in (0..size).skip((seed % PARTS) as usize).step_by(step as usize) {
                    let operation = *random.one_of(&OPERATIONS);
                    damage((&files, &content, layout), (path, place), operation, &mut random)
                        .map_err(|text| format!("{}, byte {place}: {text}", path.display()))?;
                    count += 1;
                }
            }
            Ok(count)
        };
        let count = run_seeds(seeds(if is_deep { DEEP_COUNT } else { COUNT }), run);
        let count = count.unwrap_or_else(|text| panic!("{layout:?}: {text}"));
        let sizes =
            paths.iter().map(|path| (path.file_name().unwrap(), files.read(path).unwrap().len()));
        println!("{layout:?}: {count} operations on {:?}", sizes.collect::<Vec<_>>());
    }
}

/// Bytes of a small part and its note, in as many runs as there are between two of one run; each
/// byte meets every operation. `FOLIO_DEEP=1` damages every byte.
#[test]
fn a_damaged_byte_of_columns_changes_no_answer_of_any_operation() {
    const STEP: usize = 256;
    let (files, content) = prepare(Layout::Lines, FEW, &INDEXES[4..]);
    let mut paths = derived(&files);
    paths.retain(|path| path.to_string_lossy().contains("columns-c"));
    assert_eq!(paths.len(), 2, "a part and its note: {paths:?}");
    let run = |seed: u64| {
        let (mut random, mut count) = (Random::new(seed), 0);
        for path in &paths {
            let size = files.read(path).unwrap().len() as u64;
            for place in (0..size).skip(seed as usize % STEP).step_by(STEP) {
                for operation in OPERATIONS {
                    damage(
                        (&files, &content, Layout::Lines),
                        (path, place),
                        operation,
                        &mut random,
                    )
                    .map_err(|text| format!("{}, byte {place}: {text}", path.display()))?;
                    count += 1;
                }
            }
        }
        Ok(count)
    };
    let is_deep = std::env::var_os("FOLIO_DEEP").is_some();
    let count = run_seeds(seeds(if is_deep { STEP as u64 } else { 2 }), run);
    let count = count.unwrap_or_else(|text| panic!("{text}"));
    println!("{count} operations on damaged columns");
    assert!(count > 100, "{count} are too few");
}
