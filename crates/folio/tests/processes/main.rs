//! Several real processes on one database, and processes that are killed.
//!
//! The test binary is also the other process: with `FOLIO_CHILD` set, the single test
//! [`child_process`] does the work named there. `FOLIO_DEEP=1` kills some hundred times as often.
//! Moments are chosen at random, from a seed that failures print; `FOLIO_SEED` sets it.

#![allow(clippy::unwrap_used)] // a test that panics has failed

mod child;
#[path = "../../../../conformance/random.rs"]
mod random;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};
use std::{env, fs, thread};

use child::{Work, open};
use folio::{Collection, Database, Layout, OpenOptions, Scan, Value};
use random::Random;
use serde_json::json;
use tempfile::TempDir;

/// Not a test by itself: the other tests start it.
#[test]
fn child_process() {
    let Some(task) = env::var_os("FOLIO_CHILD") else { return };
    let task = task.into_string().unwrap();
    let words: Vec<&str> = task.split('\n').collect();
    match words[..] {
        ["work", path, layout, work, first] => {
            let layout = if layout == "files" { Layout::Files } else { Layout::Lines };
            let work = Work::ALL.into_iter().find(|known| known.name() == work).unwrap();
            child::work(Path::new(path), layout, work, first.parse().unwrap());
        }
        ["write", path, name, count] => {
            child::write_own(Path::new(path), name, count.parse().unwrap());
        }
        ["count", path, layout, times] => {
            let layout = if layout == "files" { Layout::Files } else { Layout::Lines };
            child::count(Path::new(path), layout, times.parse().unwrap());
        }
        ["refused", path] => child::write_in_vain(Path::new(path)),
        ["import", path, file] => child::import_file(Path::new(path), Path::new(file)),
        _ => panic!("no such task: {task:?}"),
    }
}

/// Starts this program as another process.
fn spawn(task: &[&str]) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", "child_process", "--nocapture", "--test-threads=1"])
        .env("FOLIO_CHILD", task.join("\n"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The last number that a process acknowledged before it died.
fn last_acknowledged(child: &mut Child) -> Option<u64> {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let numbers = lines.map_while(Result::ok).filter_map(|line| {
        let number = line.rsplit_once("acknowledged ")?.1;
        number.parse().ok()
    });
    numbers.last()
}

/// Random moments to kill at; the seed is printed.
fn moments() -> Random {
    let seed = env::var("FOLIO_SEED").ok().and_then(|seed| seed.parse().ok());
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let seed = seed.unwrap_or(now.as_nanos() as u64);
    println!("FOLIO_SEED={seed}");
    Random::new(seed)
}

fn kill_count() -> u64 {
    if env::var_os("FOLIO_DEEP").is_some() { 250 } else { 6 }
}

/// The documents expected after a number of changes.
fn model(work: Work, changes: u64) -> BTreeMap<String, u64> {
    let mut model = BTreeMap::new();
    for number in 1..=changes {
        for (id, change) in work.changes(number) {
            match change {
                Some(value) => drop(model.insert(id, value)),
                None => drop(model.remove(&id)),
            }
        }
    }
    model
}

fn documents(collection: &Collection) -> BTreeMap<String, u64> {
    let scanned = collection.scan(Scan::new()).unwrap();
    let documents = scanned.map(|document| {
        let document = document.unwrap();
        let value = document.field("n").unwrap().unwrap();
        assert_eq!(collection.get(document.id()).unwrap().unwrap().raw(), document.raw());
        (document.id().to_owned(), value.as_u64().unwrap())
    });
    documents.collect()
}

/// The documents as a statement finds them.
fn rows(database: &Database) -> BTreeMap<String, u64> {
    let mut session = database.session().unwrap();
    let answer = session.execute("select _id, n from docs", &[]).unwrap();
    let rows = answer.rows.unwrap().collect_rows().unwrap();
    let pairs = rows.into_iter().map(|row| match &row[..] {
        [Value::Text(id), Value::Integer(n)] => (id.to_string(), n.unsigned_abs()),
        other => panic!("{other:?}"),
    });
    pairs.collect()
}

/// Kills a process again and again. Acknowledged changes are there, the current change is there as
/// a whole or not at all, and everything opens.
fn kill_while(work: Work, layout: Layout) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("data");
    let name = if layout == Layout::Files { "files" } else { "lines" };
    let mut moments = moments();
    let mut done = 0;
    for round in 0..kill_count() {
        let first = (done + 1).to_string();
        let mut child = spawn(&["work", path.to_str().unwrap(), name, &work.name(), &first]);
        thread::sleep(Duration::from_millis(10 + moments.below(150) as u64));
        child.kill().unwrap();
        let acknowledged = last_acknowledged(&mut child).unwrap_or(done);
        child.wait().unwrap();

        let (database, collection) = open(&path, layout);
        let found = documents(&collection);
        let matching = [acknowledged, acknowledged + 1];
        let Some(reached) = matching.into_iter().find(|&count| model(work, count) == found) else {
            panic!(
                "{work:?}, {name}, kill {round}: after {acknowledged} acknowledged changes\n  \
                 expected {:?}\n  found {found:?}",
                model(work, acknowledged)
            );
        };
        assert_eq!(collection.count().unwrap(), found.len() as u64);
        if work == Work::Columns && !found.is_empty() {
            assert_eq!(rows(&database), found, "{work:?}, kill {round}: what columns say");
        }
        done = reached;
        // Half of the time a process before us has cleaned up, half of the time not.
        if moments.below(2) == 0 {
            collection.put("probe", &json!({"n": 0})).unwrap();
            collection.delete("probe").unwrap();
        }
        database.close().unwrap();
        // There is no database if the process was killed before its first write.
        let Ok(report) = Database::open_with(&path, &OpenOptions::read_only()) else {
            assert!(found.is_empty(), "{work:?}, {name}, kill {round}");
            continue;
        };
        if let Ok(collection) = report.collection("docs") {
            let report = collection.check(&mut |_, _| true).unwrap();
            assert_eq!(report.invalid_count, 0);
            let of_columns = report.problems.iter().filter(|text| text.contains("columns"));
            assert_eq!(of_columns.count(), 0, "{:?}", report.problems);
        }
    }
    println!("{work:?}, {name}: {done} changes, {} kills", kill_count());
    assert!(done > 0, "something was acknowledged");
}

#[test]
fn killed_while_putting_loses_nothing_acknowledged() {
    kill_while(Work::Puts, Layout::Lines);
}

#[test]
fn killed_while_writing_batches_leaves_each_whole_or_absent() {
    kill_while(Work::Batches, Layout::Lines);
}

#[test]
fn killed_while_compacting_loses_nothing() {
    kill_while(Work::Compaction, Layout::Lines);
}

#[test]
fn killed_while_reindexing_loses_nothing() {
    kill_while(Work::Reindexing, Layout::Lines);
}

#[test]
fn killed_while_keeping_columns_loses_nothing() {
    kill_while(Work::Columns, Layout::Lines);
}

#[test]
fn killed_while_writing_a_file_per_document_loses_nothing_acknowledged() {
    kill_while(Work::Puts, Layout::Files);
    kill_while(Work::Batches, Layout::Files);
}

#[test]
fn killed_while_importing_the_import_is_resumed_to_its_end() {
    const COUNT: u64 = 30_000;
    let folder = TempDir::new().unwrap();
    let (path, file) = (folder.path().join("data"), folder.path().join("source.jsonl"));
    let mut lines = String::new();
    for number in 0..COUNT {
        writeln!(lines, "{{\"_id\":\"d{number}\",\"n\":{number},\"text\":\"to fill a line\"}}")
            .unwrap();
    }
    fs::write(&file, lines).unwrap();
    let mut moments = moments();
    let task = ["import", path.to_str().unwrap(), file.to_str().unwrap()];
    let mut count_before = 0;
    for _ in 0..kill_count() {
        let mut child = spawn(&task);
        thread::sleep(Duration::from_millis(5 + moments.below(60) as u64));
        child.kill().unwrap();
        let is_complete = last_acknowledged(&mut child).is_some();
        child.wait().unwrap();
        let (_database, collection) = open(&path, Layout::Lines);
        let count = collection.count().unwrap();
        assert!(
            count >= count_before,
            "{count_before} documents were committed, {count} are there"
        );
        count_before = count;
        if is_complete || count == COUNT {
            break; // once more would be an import of its own
        }
    }
    if count_before < COUNT {
        assert!(spawn(&task).wait_with_output().unwrap().status.success());
    }
    let (_database, collection) = open(&path, Layout::Lines);
    assert_eq!(collection.count().unwrap(), COUNT);
    assert_eq!(documents(&collection).len() as u64, COUNT);
    let lines = fs::read_to_string(path.join("collections/docs/meta/data.jsonl")).unwrap();
    assert_eq!(lines.lines().count() as u64, COUNT, "no line was imported twice");
}

#[test]
fn two_writer_processes_of_10_000_documents_lose_none() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("data");
    let text = path.to_str().unwrap();
    let mut writers = ["left", "right"].map(|name| spawn(&["write", text, name, "5000"]));
    let reader = wait_for_collection(&path);
    while writers.iter_mut().any(|writer| writer.try_wait().unwrap().is_none()) {
        reader.refresh().unwrap();
        assert_eq!(documents(&reader).len() as u64, reader.count().unwrap());
        thread::sleep(Duration::from_millis(5));
    }
    for writer in &mut writers {
        assert!(writer.wait().unwrap().success());
    }
    let (_database, collection) = open(&path, Layout::Lines);
    assert_eq!(collection.count().unwrap(), 10_000);
    for name in ["left", "right"] {
        for number in 0..5_000 {
            let document = collection.get(&format!("{name}-{number}")).unwrap().unwrap();
            assert_eq!(document.field("n").unwrap(), Some(json!(number)));
        }
    }
    let report = collection.check(&mut |_, _| true).unwrap();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!((report.document_count, report.superseded_count), (10_000, 0));
}

/// A read-only handle on a collection that another process is about to create.
fn wait_for_collection(path: &PathBuf) -> Collection {
    for _ in 0..6_000 {
        let opened = Database::open_with(path, &OpenOptions::read_only());
        if let Ok(collection) = opened.and_then(|database| database.collection("docs")) {
            return collection;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("nobody has made the collection");
}

/// What a statement reads is still true when it writes.
#[test]
fn statements_of_several_processes_and_threads_lose_no_change() {
    const TIMES: u64 = 60;
    for layout in [Layout::Lines, Layout::Files] {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("data");
        let (database, collection) = open(&path, layout);
        collection.put("a", &json!({"n": 0})).unwrap();
        database.close().unwrap();
        let name = if layout == Layout::Files { "files" } else { "lines" };
        let task = ["count", path.to_str().unwrap(), name, &TIMES.to_string()];
        let mut children = [spawn(&task), spawn(&task)];
        let inserted = children.iter_mut().map(|child| {
            let inserted = last_acknowledged(child);
            assert!(child.wait().unwrap().success(), "{name}");
            inserted.unwrap()
        });
        assert_eq!(inserted.sum::<u64>(), TIMES, "{name}: each document is inserted once");
        let (_database, collection) = open(&path, layout);
        let counted = documents(&collection)["a"];
        assert_eq!(counted, 2 * child::THREADS * TIMES, "{name}");
        assert_eq!(collection.count().unwrap(), TIMES + 1, "{name}");
    }
}

#[test]
fn a_second_writer_is_told_who_the_first_is() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("data");
    let mut child = spawn(&["work", path.to_str().unwrap(), "lines", "Puts", "1"]);
    wait_for_collection(&path);
    // The other process releases the lock at every flush, so this one gets its turn.
    let (database, collection) = open(&path, Layout::Lines);
    let mut batch = collection.batch().unwrap();
    batch.put("mine", &json!({})).unwrap();
    let refused = spawn(&["refused", path.to_str().unwrap()]).wait_with_output().unwrap();
    let refused = String::from_utf8(refused.stdout).unwrap();
    drop(batch);
    database.close().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(refused.contains(&format!("(pid {})", std::process::id())), "{refused}");
}
