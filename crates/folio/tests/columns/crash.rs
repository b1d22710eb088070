//! Crashes and failing calls while columns are created, kept, merged and dropped. Whatever is left
//! of the files, statements find what the lines say, and the next writer builds what is missing.

use std::sync::Arc;

use folio::{Collection, Database, IndexMethod, IndexOptions, OpenOptions, Result, Scan, Value};
use folio_file::{CrashPlan, Fault, FaultKind, FileSystem, MemoryFileSystem, Operation, Recording};
use serde_json::{Value as Json, json};

use crate::random::Random;
use crate::seeds::{run_seeds, seeds};

/// Bytes that make few documents worth a part.
const PAD: usize = 12_000;

/// One crash in this many is tried in a run; `FOLIO_DEEP=1` tries all.
const STEP: usize = 16;

fn open(files: &MemoryFileSystem) -> Result<Database> {
    let file_system: Arc<dyn FileSystem> = Arc::new(files.clone());
    let options = OpenOptions {
        file_system: Some(file_system),
        write_behind: None,
        ..OpenOptions::default()
    };
    Database::open_with("/db", &options)
}

fn document(number: usize, round: usize, wide: bool) -> Json {
    let pad = "p".repeat(PAD + number % 7);
    let mut document = json!({
        "kind": (["like", "post", "follow"][(number + round) % 3]),
        "n": number * 10 + round,
        "o": {"s": format!("s{round}")},
        "pad": pad,
    });
    if wide {
        document["o"]["t"] = json!([number, null]);
        document["late"] = json!(0.5);
    }
    document
}

fn put_many(
    docs: &Collection,
    numbers: std::ops::Range<usize>,
    round: usize,
    wide: bool,
) -> Result<()> {
    let documents: Vec<(String, Json)> =
        numbers.map(|number| (format!("d{number}"), document(number, round, wide))).collect();
    docs.put_many(documents.iter().map(|(id, document)| (id.as_str(), document))).map(drop)
}

fn create(docs: &Collection, fields: &[&str]) -> Result<()> {
    let options = IndexOptions {
        name: Some("c".to_owned()),
        method: IndexMethod::Columns,
        ..IndexOptions::default()
    };
    docs.create_index(fields, &options, &mut |_, _| true).map(drop)
}

/// What happens to the collection, one step after another.
fn live(database: &Database) -> Result<()> {
    let docs = database.collection("docs")?;
    put_many(&docs, 0..100, 0, false)?;
    create(&docs, &[])?;
    put_many(&docs, 60..160, 1, false)?;
    put_many(&docs, 100..200, 2, false)?;
    for number in 0..40 {
        docs.put(&format!("d{number}"), &document(number, 3, false))?;
    }
    docs.delete("d50")?;
    docs.flush()?;
    put_many(&docs, 150..250, 4, true)?;
    docs.compact(&mut |_, _| true)?;
    docs.drop_index("c")?;
    create(&docs, &["kind", "n"])?;
    docs.reindex(&mut |_, _| true)?;
    put_many(&docs, 0..90, 5, true)?;
    database.close()
}

/// What statements find is what the lines say. Returns whether they read columns.
fn compare(database: &Database) -> std::result::Result<bool, String> {
    let failed = |error: folio::Error| format!("a statement fails: {error}");
    let docs = database.collection("docs").map_err(failed)?;
    let mut expected = Vec::new();
    for document in docs.scan(Scan::new()).map_err(failed)? {
        let document = document.map_err(failed)?;
        let value: Json = serde_json::from_str(document.raw()).unwrap();
        let kind = value["kind"].as_str().unwrap().to_owned();
        expected.push((kind, value["n"].as_i64().unwrap()));
    }
    if expected.is_empty() {
        return Ok(false); // no document, no columns to name
    }
    let rows = |text: &str| -> std::result::Result<Vec<Vec<Value>>, String> {
        let mut session = database.session().map_err(failed)?;
        let answer = session.execute(text, &[]).map_err(failed)?;
        answer.rows.ok_or("no rows")?.collect_rows().map_err(|error| error.to_string())
    };
    let pair = |row: Vec<Value>| match &row[..] {
        [Value::Text(kind), Value::Integer(n)] => (kind.to_string(), *n),
        other => panic!("{other:?}"),
    };
    let all = "select kind, n from docs";
    let few = "select kind, n from docs where kind = 'post' and n > 500";
    let found: Vec<_> = rows(all)?.into_iter().map(pair).collect();
    if found != expected {
        return Err(format!("{all}: {found:?} in place of {expected:?}"));
    }
    let found: Vec<_> = rows(few)?.into_iter().map(pair).collect();
    expected.retain(|(kind, n)| kind == "post" && *n > 500);
    if found != expected {
        return Err(format!("{few}: {found:?} in place of {expected:?}"));
    }
    let plan = format!("{:?}", rows(&format!("explain {all}"))?);
    Ok(plan.contains("from columns c"))
}

/// Another process goes on with the files: it finds the right answers, writes, and leaves columns
/// that are whole.
fn go_on(files: &MemoryFileSystem) -> std::result::Result<(), String> {
    let failed = |error: folio::Error| format!("the next process fails: {error}");
    let database = open(files).map_err(failed)?;
    compare(&database)?;
    let docs = database.collection("docs").map_err(failed)?;
    put_many(&docs, 120..220, 6, true).map_err(failed)?;
    compare(&database)?;
    database.close().map_err(failed)?;
    let database = open(files).map_err(failed)?;
    let uses_columns = compare(&database)?;
    let docs = database.collection("docs").map_err(failed)?;
    let report = docs.check(&mut |_, _| true).map_err(failed)?;
    if !report.problems.is_empty() {
        return Err(format!("the next process leaves {:?}", report.problems));
    }
    let has_columns = !docs.indexes().map_err(failed)?.is_empty();
    if has_columns != uses_columns {
        return Err(format!("columns are defined: {has_columns}, and read: {uses_columns}"));
    }
    Ok(())
}

#[test]
fn no_crash_at_any_change_changes_an_answer() {
    let files = MemoryFileSystem::new();
    files.record_crash_points(Recording::Changes);
    live(&open(&files).unwrap()).unwrap();
    files.record_crash_points(Recording::Nothing);
    let points = files.crash_points();
    let of_columns = points.iter().filter(|point| point.path.to_string_lossy().contains("columns"));
    assert!(of_columns.count() > 50, "columns are written");
    let run = |seed: u64| {
        let mut random = Random::new(seed);
        let mut states = 0;
        for point in points.iter().skip(seed as usize % STEP).step_by(STEP) {
            let ends = [point.image.kill(), point.image.crash(CrashPlan::new(random.draw()))];
            for (files, end) in ends.iter().zip(["a kill", "a power cut"]) {
                go_on(files).map_err(|text| {
                    let when = if point.is_after { "after" } else { "before" };
                    format!("{end} {when} {:?} {:?}: {text}", point.operation, point.path)
                })?;
                states += 1;
            }
        }
        Ok(states)
    };
    let is_deep = std::env::var_os("FOLIO_DEEP").is_some();
    let states = run_seeds(seeds(if is_deep { STEP as u64 } else { 2 }), run);
    println!("{} crash states", states.unwrap_or_else(|text| panic!("{text}")));
}

/// Runs [`live`] with a call that fails, then goes on with the handle and with another process.
fn fail(seed: u64) -> std::result::Result<u64, String> {
    let mut random = Random::new(seed);
    let kinds = [FaultKind::Eio, FaultKind::Enospc, FaultKind::ShortWrite { bytes: 700 }];
    let kind = *random.one_of(&kinds);
    let mut fault = match random.below(4) {
        0 => Fault::next(Operation::Any, kind).after(random.below(1500) as u64),
        1 => Fault::next(Operation::Any, kind).on("part-").after(random.below(60) as u64),
        2 => Fault::next(Operation::Any, kind).on("folio.columns-").after(random.below(60) as u64),
        _ => Fault::next(Operation::Any, kind).on("columns-c").after(random.below(90) as u64),
    };
    if random.once_in(3) {
        fault = fault.sticky();
    }
    let reported = format!("{fault:?}");
    let files = MemoryFileSystem::with_seed(seed);
    let database = open(&files).map_err(|error| error.to_string())?;
    files.inject(fault);
    let lived = live(&database);
    files.clear_faults();
    let and = |text: String| format!("{reported}, {lived:?}: {text}");
    if lived.is_err() {
        compare(&database).map_err(and)?;
    }
    let image = files.kill();
    drop(database);
    go_on(&image).map_err(and)?;
    Ok(1)
}

#[test]
fn any_call_for_columns_may_fail() {
    let states = run_seeds(seeds(60), fail);
    println!("{} failed calls", states.unwrap_or_else(|text| panic!("{text}")));
}
