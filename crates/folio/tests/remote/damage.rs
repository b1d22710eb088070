//! Damage at a URL, and servers that damage what they send: it is an error, and never an answer.

use std::path::Path;

use folio::{Collection, Database, ErrorCode, Scan};

use crate::server::{Fault, Server};
use crate::{json, line, make, open};

const COUNT: usize = 8_000;

/// The document that is damaged.
const DAMAGED: &str = "d4000";

/// Changes a digit of a value: the line stays valid.
fn damage(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let text = line(4_000);
    let found = bytes.windows(text.len()).position(|window| window == text.as_bytes()).unwrap();
    let at = found + text.find("4000,").unwrap() + 2;
    assert_eq!(bytes[at], b'0');
    bytes[at] ^= 1;
    bytes
}

/// All that meets the damaged document is an error that names it and its place, each time; the
/// others are answered.
fn refuses(database: &Database) {
    let events = database.collection("events").unwrap();
    for _ in 0..2 {
        for error in [
            events.get(DAMAGED).unwrap_err(),
            events.get_many(&["d1", DAMAGED]).unwrap_err(),
            json(database, "SELECT n FROM events WHERE _id = 'd4000'").unwrap_err(),
        ] {
            assert_eq!(error.code(), ErrorCode::Corrupted, "{error}");
            let text = error.to_string();
            assert!(text.contains("\"d4000\"") && text.contains("data.jsonl"), "{text}");
            assert!(text.contains("http://"), "{text}");
        }
        let mut scan = events.scan(Scan::new()).unwrap();
        assert_eq!(scan.find_map(Result::err).unwrap().code(), ErrorCode::Corrupted);
        let error = json(database, "SELECT sum(n) FROM events").unwrap_err();
        assert_eq!(error.code(), ErrorCode::Corrupted, "{error}");
        assert_eq!(events.get("d3999").unwrap().unwrap().raw(), line(3_999));
        assert!(events.get("absent").unwrap().is_none());
        assert_eq!(events.count().unwrap(), COUNT as u64);
    }
    assert_eq!(problems(&events).len(), 2);
    assert!(problems(&events).concat().contains("\"d4000\""), "{:?}", problems(&events));
}

fn problems(events: &Collection) -> Vec<String> {
    events.check(&mut |_, _| true).unwrap().problems
}

#[test]
fn a_damaged_archive_is_refused_where_it_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start();
    server.put("a.zds", damage(&make(folder.path(), COUNT)));
    refuses(&open(&server.url("a.zds")).unwrap());
}

/// When the lines were changed, as a server says it.
fn modified(data: &Path) -> String {
    let time = std::fs::metadata(data).unwrap().modified().unwrap();
    let time = jiff::Timestamp::try_from(time).unwrap();
    time.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

#[test]
fn a_damaged_directory_is_refused_where_its_index_is_of_its_lines() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start();
    make(folder.path(), COUNT);
    let data = folder.path().join("db/collections/events/meta/data.jsonl");
    let time = modified(&data);
    std::fs::write(&data, damage(&std::fs::read(&data).unwrap())).unwrap();
    server.put_folder("db", &folder.path().join("db"));
    // Of an index of another time nobody knows whether the lines were edited since.
    let database = open(&server.url("db/")).unwrap();
    let events = database.collection("events").unwrap();
    assert_eq!(events.get(DAMAGED).unwrap().unwrap().raw(), line(4_000).replace("4000,", "4010,"));
    database.close().unwrap();
    server.state().modified = time;
    refuses(&open(&server.url("db/")).unwrap());
}

/// Without an index, the archive alone says what its lines are.
#[test]
fn a_damaged_archive_without_a_usable_index_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start();
    // More than is read to verify an index when it is opened.
    let mut archive = damage(&make(folder.path(), 3 * COUNT));
    let head = b"FOLIORUN";
    let at = archive.windows(head.len()).position(|window| window == head).unwrap();
    archive[at] ^= 1;
    server.put("a.zds", archive);
    let error = open(&server.url("a.zds")).and_then(|database| {
        let events = database.collection("events")?;
        events.get(DAMAGED)
    });
    let error = error.unwrap_err();
    assert!(error.to_string().contains("checksum"), "{error}");
}

/// Each line that is answered is the one that was written.
#[test]
fn a_server_that_damages_what_it_sends_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start();
    server.put("a.zds", make(folder.path(), COUNT));
    let mut noticed = 0;
    for undamaged in 0..4 {
        let faults: Vec<_> = (0..400)
            .map(|number| if number < undamaged { Fault::None } else { Fault::Flip })
            .collect();
        server.fail(&faults);
        noticed += 1;
        let Ok(database) = open(&server.url("a.zds")) else { continue };
        let Ok(events) = database.collection("events") else { continue };
        noticed -= 1;
        let mut has_failed = false;
        for number in (0..COUNT).step_by(100) {
            match events.get(&format!("d{number}")) {
                Ok(found) => assert_eq!(found.unwrap().raw(), line(number)),
                Err(_) => has_failed = true,
            }
        }
        if let Ok(text) = json(&database, "SELECT sum(n) AS s FROM events") {
            assert_eq!(text, r#"[{"s":31996000}]"#);
        }
        let scan = events.scan(Scan::new()).unwrap();
        let good = scan.take_while(Result::is_ok).map(Result::unwrap);
        let count = good.enumerate().map(|(at, found)| assert_eq!(found.raw(), line(at))).count();
        noticed += usize::from(has_failed || count < COUNT);
    }
    assert!(noticed > 2, "{noticed}");
}
