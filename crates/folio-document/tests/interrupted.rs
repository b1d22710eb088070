//! A writer is killed within a batch, and somebody edits the file before a program opens it.
//!
//! The batch is taken out as a whole, and what the hand wrote stays. Readers see that at once, and
//! the next writer leaves the file so, also if it is killed on the way.

#![allow(clippy::unwrap_used)] // a test that panics has failed

use std::path::Path;
use std::sync::Arc;

use folio_document::{Access, Collection, CollectionOptions, Document, Durability, Scan};
use folio_file::{
    CrashPlan, CrashPoint, Fault, FaultKind, FileSystem, MemoryFileSystem, Operation, Recording,
    WriterLock,
};
use serde_json::json;

const DATA: &str = "/db/collections/docs/meta/data.jsonl";
const RECORD: &str = "/db/collections/docs/meta/folio.batch";

fn open(files: &MemoryFileSystem, access: Access) -> Collection {
    open_with(files, &CollectionOptions { access, ..CollectionOptions::default() })
}

fn open_with(files: &MemoryFileSystem, options: &CollectionOptions) -> Collection {
    let files: Arc<dyn FileSystem> = Arc::new(files.clone());
    let lock = Arc::new(WriterLock::new(Arc::clone(&files), Path::new("/db/folio.lock").into()));
    Collection::open(files, Path::new("/db"), "docs", options, lock).unwrap()
}

fn text(files: &MemoryFileSystem) -> String {
    String::from_utf8(files.read(DATA).unwrap()).unwrap()
}

/// What a collection has, as `id value`; what it says in several ways agrees.
fn content(docs: &Collection) -> Vec<String> {
    let documents: Vec<_> = docs.scan(Scan::new()).unwrap().map(Result::unwrap).collect();
    assert_eq!(docs.count().unwrap(), documents.len() as u64);
    let ids: Vec<_> = docs.ids().unwrap().map(Result::unwrap).collect();
    let line = |document: &Document| {
        let found = docs.get(document.id()).unwrap().unwrap();
        assert_eq!(found.raw(), document.raw());
        format!("{} {}", found.id(), found.to_value().unwrap()["n"])
    };
    let lines: Vec<_> = documents.iter().map(line).collect();
    assert_eq!(lines.len(), ids.len());
    lines
}

fn read(files: &MemoryFileSystem) -> Vec<String> {
    content(&open(files, Access::Read))
}

/// The files of a killed writer, all of whose batch is in the data file, and none of it counts: it
/// replaces `u`, deletes `d`, and adds `x`, `y` and `z`.
fn killed(has_epoch: bool) -> MemoryFileSystem {
    let files = MemoryFileSystem::new();
    if !has_epoch {
        files.hide_epoch();
    }
    files.create_directory(Path::new("/db")).unwrap();
    let docs = open(&files, Access::ReadWrite);
    for id in ["a", "u", "d"] {
        docs.put(id, &json!({"n": 1})).unwrap();
    }
    docs.close().unwrap();
    files.make_durable();
    files.record_crash_points(Recording::Changes);
    let docs = open(&files, Access::ReadWrite);
    let mut batch = docs.batch().unwrap();
    batch.put("u", &json!({"n": 2})).unwrap();
    batch.delete("d").unwrap();
    for id in ["x", "y", "z"] {
        batch.put(id, &json!({"n": 2, "of": {"_id": "nested"}})).unwrap();
    }
    batch.commit().unwrap();
    let points = files.crash_points();
    let is_last = |point: &&CrashPoint| {
        point.operation == Operation::Append && point.is_after && point.path == Path::new(DATA)
    };
    let killed = points.iter().rfind(is_last).unwrap().image.kill();
    assert!(text(&killed).contains(r#""_id":"z""#));
    assert_eq!(read(&killed), ["a 1", "u 1", "d 1"]);
    killed
}

const HAND: &str = "{\"_id\":\"h\",\"n\":7}\n";

/// An edit of the file, and what is then read.
type Edit = (&'static str, fn(String) -> String, &'static [&'static str]);

const EDITS: [Edit; 15] = [
    ("nothing", |text| text, &["a 1", "u 1", "d 1"]),
    ("append a line", |text| text + HAND, &["a 1", "u 1", "d 1", "h 7"]),
    (
        "append two lines, the last without its end",
        |text| text + HAND + "{\"_id\":\"i\",\"n\":8}",
        &["a 1", "u 1", "d 1", "h 7", "i 8"],
    ),
    (
        "replace and delete",
        |text| text + "{\"_id\":\"a\",\"n\":7}\n{\"_tombstone\":\"u\"}\n",
        &["d 1", "a 7"],
    ),
    ("append to a torn line", |text| torn(text, 9) + HAND, &["a 1", "u 1", "d 1", "h 7"]),
    (
        "append to a line torn behind an object",
        |text| torn(text, 1) + HAND,
        &["a 1", "u 1", "d 1", "h 7"],
    ),
    (
        "append to a line torn in a string",
        |text| torn(text, 6) + HAND + HAND,
        &["a 1", "u 1", "d 1", "h 7"],
    ),
    ("only tear", |text| torn(text, 1), &["a 1", "u 1", "d 1"]),
    (
        "insert before, between and behind",
        |text| {
            let at = text.find(r#"{"_id":"u","n":2"#).unwrap();
            let (before, batch) = text.split_at(at);
            let (first, rest) = batch.split_once('\n').unwrap();
            format!(
                "{before}{HAND}{first}\n{{\"_id\":\"i\",\"n\":8}}\n{rest}{{\"_id\":\"j\",\"n\":9}}\n"
            )
        },
        &["a 1", "u 1", "d 1", "h 7", "i 8", "j 9"],
    ),
    (
        "insert a line of the batch before its place",
        |text| {
            let (x, z) = (r#"{"_id":"x""#, text.lines().last().unwrap());
            text.replace(x, &format!("{z}\n{x}"))
        },
        &["a 1", "u 1", "d 1"],
    ),
    (
        "insert the first line of the batch after that",
        |text| {
            let (x, is_u) = (r#"{"_id":"x""#, |line: &&str| line.contains(r#""u","n":2"#));
            text.replace(x, &format!("{}\n{x}", text.lines().find(is_u).unwrap()))
        },
        &["a 1", "d 1", "u 2"],
    ),
    (
        "change lines of the batch",
        |text| text.replace(r#""y","n":2"#, r#""y","n":7"#),
        &["a 1", "u 1", "d 1", "y 7"],
    ),
    (
        "append all that the batch did, and more",
        |text| {
            let batch = text[text.find(r#"{"_id":"u","n":2"#).unwrap()..].to_owned();
            text + &batch + HAND
        },
        &["a 1", "u 2", "x 2", "y 2", "z 2", "h 7"],
    ),
    (
        "append that to a torn line",
        |text| {
            let batch = text[text.find(r#"{"_id":"u","n":2"#).unwrap()..].to_owned();
            torn(text, 9) + &batch
        },
        &["a 1", "u 2", "x 2", "y 2", "z 2"],
    ),
    ("append a broken line", |text| text + "broken\n" + HAND, &["a 1", "u 1", "d 1", "h 7"]),
];

/// The last line without its end and `size` bytes before it.
fn torn(mut text: String, size: usize) -> String {
    text.truncate(text.len() - 1 - size);
    text
}

/// Killed, edited in place or by a program that writes a new file, and read by a handle that wrote
/// nothing.
fn edited(edit: &Edit, has_epoch: bool, is_copy: bool) -> MemoryFileSystem {
    let files = killed(has_epoch);
    let bytes = edit.1(text(&files)).into_bytes();
    match is_copy {
        true => files.replace(DATA, &bytes).unwrap(),
        false => files.write(DATA, &bytes).unwrap(),
    }
    let before = files.call_count(Operation::Write);
    assert_eq!(read(&files), edit.2, "{}", edit.0);
    assert_eq!(files.call_count(Operation::Write), before);
    files
}

#[test]
fn a_batch_is_taken_out_and_what_the_hand_wrote_stays() {
    for (edit, has_epoch) in EDITS.iter().flat_map(|edit| [(edit, true), (edit, false)]) {
        let files = edited(edit, has_epoch, false);
        let docs = open(&files, Access::ReadWrite);
        assert_eq!(content(&docs), edit.2, "{}", edit.0);
        docs.put("later", &json!({"n": 3})).unwrap();
        docs.flush().unwrap();
        let after: Vec<&str> = edit.2.iter().copied().chain(["later 3"]).collect();
        assert_eq!(content(&docs), after, "{}", edit.0);
        let notices = format!("{:?}", docs.take_notices());
        assert!(notices.contains("an interrupted batch ("), "{}: {notices}", edit.0);
        docs.close().unwrap();
        assert_eq!(read(&files), after, "{}", edit.0);
        let report = open(&files, Access::Read).check(&mut |_, _| true).unwrap();
        assert!(report.is_clean(), "{}: {report:?}", edit.0);
        let is_rejected = |path: &std::path::PathBuf| path.to_string_lossy().contains("rejected-");
        let rejected: Vec<_> = files.paths().into_iter().filter(is_rejected).collect();
        assert_eq!(rejected.len(), 1, "{}: {rejected:?}", edit.0);
        let moved = String::from_utf8(files.read(&rejected[0]).unwrap()).unwrap();
        assert!(moved.contains(r#"{"_id":"x","n":2"#), "{}: {moved}", edit.0);
        assert_eq!(moved.contains("broken"), edit.0.contains("broken"), "{}: {moved}", edit.0);
    }
}

/// Editors write a new file, and `cp -r` copies the record with it. It begins with the batch's first
/// line where the batch began.
#[test]
fn a_batch_is_taken_out_of_a_copy_too() {
    for edit in EDITS.iter().filter(|edit| !edit.0.starts_with("insert before")) {
        let files = killed(true);
        files.replace(DATA, edit.1(text(&files)).as_bytes()).unwrap();
        assert_eq!(read(&files), edit.2, "{}", edit.0);
        let docs = open(&files, Access::ReadWrite);
        docs.put("later", &json!({"n": 3})).unwrap();
        docs.close().unwrap();
        assert!(!text(&files).contains(r#""d"}"#) || edit.0.contains("that"), "{}", edit.0);
        let after: Vec<&str> = edit.2.iter().copied().chain(["later 3"]).collect();
        assert_eq!(read(&files), after, "{}", edit.0);
    }
    // Of another file, the record says nothing.
    let files = killed(true);
    files.replace(DATA, text(&files).replace(r#""n":1"#, r#""n":10"#).as_bytes()).unwrap();
    assert_eq!(read(&files), ["a 10", "u 2", "x 2", "y 2", "z 2"]);
}

/// The recovery is interrupted before and after each of its changes.
#[test]
fn a_recovery_that_is_interrupted_changes_nothing_or_all() {
    let mut states = 0;
    let kinds = [(true, false), (false, false), (true, true)];
    let all = EDITS.iter().flat_map(|edit| kinds.map(|kind| (edit, kind)));
    let is_known = |(edit, (_, is_copy)): &(&Edit, (bool, bool))| {
        !is_copy || !edit.0.starts_with("insert before")
    };
    for (edit, (has_epoch, is_copy)) in all.filter(is_known) {
        let files = edited(edit, has_epoch, is_copy);
        files.make_durable();
        files.record_crash_points(Recording::Changes);
        let docs = open(&files, Access::ReadWrite);
        docs.put("later", &json!({"n": 3})).unwrap();
        docs.close().unwrap();
        for (number, point) in files.crash_points().iter().enumerate() {
            let context = format!(
                "{}, {has_epoch} {is_copy}, {number}, {:?} {:?}",
                edit.0, point.operation, point.path
            );
            let killed = point.image.kill();
            let (mut found, mut after) = (read(&killed), edit.2.to_vec());
            found.retain(|line| line != "later 3");
            assert_eq!(found, after, "{context}");
            // A hand that repeated the batch, and then copies the file within the recovery, is one
            // too many.
            if !edit.0.contains("that") && !edit.0.starts_with("insert before") {
                killed.replace(DATA, text(&killed).as_bytes()).unwrap();
                found = read(&killed);
                found.retain(|line| line != "later 3");
                assert_eq!(found, after, "{context}, copied");
            }
            for seed in 0..4 {
                let files = point.image.crash(CrashPlan::new(seed));
                found = read(&files);
                found.retain(|line| line != "later 3");
                if has_epoch && found != after {
                    // The list of the batch is not believed any more: all of it is moved away.
                    after = vec!["a 1", "u 1", "d 1"];
                }
                assert_eq!(found, after, "{context}, seed {seed}");
                let next = open(&files, Access::ReadWrite);
                next.put("later", &json!({"n": 3})).unwrap();
                next.close().unwrap();
                found.push("later 3".to_owned());
                assert_eq!(read(&files), found, "{context}, seed {seed}");
                states += 1;
            }
        }
    }
    println!("{states} states");
}

/// Beside a running batch, a reader sees the line of a hand, and nothing of the batch, which may
/// still succeed. If it is dropped, it is taken out in the same way.
#[test]
fn a_line_beside_a_running_batch_is_read_without_the_batch() {
    for is_committed in [true, false] {
        let files = MemoryFileSystem::new();
        files.create_directory(Path::new("/db")).unwrap();
        let docs = open(&files, Access::ReadWrite);
        docs.put("a", &json!({"n": 1})).unwrap();
        docs.flush().unwrap();
        let mut batch = docs.batch().unwrap();
        for number in 0..4 {
            let text = "x".repeat(600_000);
            batch.put(&number.to_string(), &json!({"n": 2, "text": text})).unwrap();
        }
        while !text(&files).contains(r#"{"_id":"1""#) {
            std::thread::yield_now();
        }
        files.append(DATA, HAND.as_bytes()).unwrap();
        let reader = open(&files, Access::Read);
        assert_eq!(content(&reader), ["a 1", "h 7"]);
        batch.put("last", &json!({"n": 2})).unwrap();
        let expected: &[&str] = if is_committed {
            batch.commit().unwrap();
            &["a 1", "0 2", "1 2", "h 7", "2 2", "3 2", "last 2"]
        } else {
            drop(batch);
            &["a 1", "h 7"]
        };
        reader.refresh().unwrap();
        let sorted = |mut lines: Vec<String>| {
            lines.sort_unstable();
            lines
        };
        let expected = sorted(expected.iter().map(|line| (*line).to_owned()).collect());
        assert_eq!(sorted(content(&reader)), expected, "{is_committed}");
        docs.refresh().unwrap();
        assert_eq!(sorted(content(&docs)), expected, "{is_committed}");
        docs.put("a", &json!({"n": 1})).unwrap();
        docs.close().unwrap();
        assert_eq!(sorted(read(&files)), expected, "{is_committed}");
        assert_eq!(text(&files).contains(r#"{"_id":"1""#), is_committed);
    }
}

/// A full disk lets nothing be written, and loses nothing.
#[test]
fn a_batch_that_there_is_no_room_to_take_out_is_taken_out_later() {
    let files = edited(&EDITS[1], true, false);
    let size: u64 = files.paths().iter().map(|path| files.read(path).unwrap().len() as u64).sum();
    for room in (0..1000).step_by(50) {
        files.set_capacity(Some(size + room));
        let docs = open(&files, Access::ReadWrite);
        let put = docs.put("later", &json!({"n": 3})).and_then(|_| docs.flush());
        drop(docs);
        files.set_capacity(None);
        let mut found = read(&files);
        assert!(put.is_err() || found.contains(&"later 3".to_owned()), "{room}: {found:?}");
        found.retain(|line| line != "later 3");
        assert_eq!(found, EDITS[1].2, "{room}");
        let is_taken_out = !text(&files).contains(r#""_id":"x""#);
        assert_eq!(files.paths().len(), 5 + usize::from(is_taken_out), "{:?}", files.paths());
        if put.is_ok() {
            return;
        }
    }
    panic!("there was never room");
}

/// Whether both slots of the record say that the batch is over.
fn is_closed(files: &MemoryFileSystem) -> bool {
    let record = files.read(RECORD).unwrap();
    [0, 4096].iter().all(|slot| record[slot + 16..slot + 24] == 2_u64.to_le_bytes())
}

/// The number of a file that is gone may be given to a new one, for which an open slot would count.
#[test]
fn a_killed_recovery_leaves_no_open_slot_to_a_writer_that_syncs_nothing() {
    let files = edited(&EDITS[1], true, false);
    files.record_crash_points(Recording::Changes);
    let docs = open(&files, Access::ReadWrite);
    docs.put("later", &json!({"n": 3})).unwrap();
    docs.close().unwrap();
    let points = files.crash_points();
    let mut images = points.iter().map(|point| point.image.kill());
    let files = images.find(|files| !text(files).contains(r#""_id":"x""#)).unwrap();
    assert!(!is_closed(&files));
    let options =
        CollectionOptions { durability: Durability::None, ..CollectionOptions::default() };
    let docs = open_with(&files, &options);
    docs.put("last", &json!({"n": 3})).unwrap();
    docs.close().unwrap();
    assert!(is_closed(&files));
    assert_eq!(read(&files), ["a 1", "u 1", "d 1", "h 7", "last 3"]);
}

/// A close that fails gives the lock back, and keeps what is pending. Meanwhile another process is
/// killed before the first line of its batch, so that the file is as it was.
#[test]
fn what_a_second_close_appends_does_not_belong_to_a_batch_that_was_killed_between() {
    let files = MemoryFileSystem::new();
    files.create_directory(Path::new("/db")).unwrap();
    let docs = open(&files, Access::ReadWrite);
    docs.put("a", &json!({"n": 1})).unwrap();
    docs.close().unwrap();
    let docs = open(&files, Access::ReadWrite);
    docs.put("p", &json!({"n": 2})).unwrap();
    files.inject(Fault::next(Operation::Open, FaultKind::Eio).on(DATA));
    assert!(docs.close().is_err());

    let beside = files.kill();
    beside.record_crash_points(Recording::Changes);
    let other = open(&beside, Access::ReadWrite);
    let mut batch = other.batch().unwrap();
    batch.put("b", &json!({"n": 3})).unwrap();
    batch.commit().unwrap();
    let points = beside.crash_points();
    let is_first = |point: &&CrashPoint| {
        point.operation == Operation::Append && !point.is_after && point.path == Path::new(DATA)
    };
    let killed = points.iter().find(is_first).unwrap().image.kill();
    files.write(RECORD, &killed.read(RECORD).unwrap()).unwrap();

    docs.close().unwrap();
    let files = files.crash(CrashPlan::lose_nothing());
    files.append(DATA, HAND.as_bytes()).unwrap();
    assert_eq!(read(&files), ["a 1", "p 2", "h 7"]);
}

/// Until the next writer comes, a reader looks again at each statement.
#[test]
fn a_refresh_beside_an_interrupted_batch_reads_the_file_once() {
    let files = killed(true);
    let text = "x".repeat(200_000);
    files
        .append(DATA, format!("{}\n", json!({"_id": "h", "n": 7, "text": text})).as_bytes())
        .unwrap();
    let reader = open(&files, Access::Read);
    let expected = ["a 1", "u 1", "d 1", "h 7"];
    assert_eq!(content(&reader), expected);
    let before = files.read_size();
    for _ in 0..10 {
        reader.refresh().unwrap();
    }
    assert!(files.read_size() - before < 100_000, "{}", files.read_size() - before);
    assert_eq!(content(&reader), expected);
    files.append(DATA, b"{\"_id\":\"i\",\"n\":8}\n").unwrap();
    reader.refresh().unwrap();
    assert_eq!(content(&reader), [&expected[..], &["i 8"]].concat());
    let docs = open(&files, Access::ReadWrite);
    docs.put("later", &json!({"n": 3})).unwrap();
    docs.close().unwrap();
    reader.refresh().unwrap();
    assert_eq!(content(&reader), [&expected[..], &["i 8", "later 3"]].concat());
}
