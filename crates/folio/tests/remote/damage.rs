//! Damage at a URL, and servers that damage what they send: it is an error, and never an answer.

use std::path::Path;

use folio::{
    Collection, CollectionOptions, Database, ErrorCode, Layout, OpenOptions, PackOptions, Scan,
};

use crate::server::{Fault, Server};
use crate::{json, line, make, open, options};

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

/// A document of its own file is read as a whole, and so is compared with the archive's CRC-32, however
/// large it is.
#[test]
fn a_large_document_of_its_own_file_is_verified() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(folder.path().join("db")).unwrap();
    let layout = CollectionOptions { layout: Layout::Files, ..CollectionOptions::default() };
    let docs = database.collection_with("docs", &layout).unwrap();
    let large = format!(r#"{{"_id":"large","n":4000,"pad":"{}"}}"#, "x".repeat(3 << 20));
    docs.put_raw("large", &large).unwrap();
    docs.put_raw("small", r#"{"n":1}"#).unwrap();
    let path = folder.path().join("db.zds");
    database.pack(&path, &PackOptions::default(), &mut |_, _| true).unwrap();
    let archive = std::fs::read(path).unwrap();
    let server = Server::start();
    server.put("good.zds", archive.clone());
    let docs = open(&server.url("good.zds")).unwrap().collection("docs").unwrap();
    assert_eq!(docs.get("large").unwrap().unwrap().raw(), large);
    server.put("bad.zds", damaged_at(&archive, b" 4000,"));
    let docs = open(&server.url("bad.zds")).unwrap().collection("docs").unwrap();
    for _ in 0..2 {
        let error = docs.get("large").unwrap_err();
        assert_eq!(error.code(), ErrorCode::Corrupted, "{error}");
        let text = error.to_string();
        assert!(text.contains("large.json") && text.contains("checksum"), "{text}");
        assert!(docs.get("small").unwrap().is_some());
    }
}

/// The bytes with a digit changed in this text.
fn damaged_at(bytes: &[u8], text: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let at = bytes.windows(text.len()).position(|window| window == text).unwrap();
    bytes[at + 2] ^= 1;
    bytes
}

/// Of a file that a statement names, too: here as if it had been sent damaged once.
#[test]
fn damage_on_its_way_to_a_statement_is_asked_for_again() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start();
    let mut options = OpenOptions::default();
    options.remote.disk_cache_folder = Some(folder.path().join("cache"));
    let database = Database::open_with(folder.path().join("db"), &options).unwrap();
    for name in ["x.jsonl", "x.jsonl.gz"] {
        let path = folder.path().join(name);
        let text = format!("COPY (SELECT i FROM range(200000) AS r(i)) TO '{}'", path.display());
        json(&database, &text).unwrap();
        let whole = std::fs::read(path).unwrap();
        let mut damaged = whole.clone();
        damaged[whole.len() / 2..][..300].fill(0xff);
        server.put(name, damaged);
        let text = format!("SELECT sum(i) AS s FROM '{}'", server.url(name));
        println!("{}", json(&database, &text).unwrap_err());
        server.replace(name, whole);
        assert_eq!(json(&database, &text).unwrap(), r#"[{"s":19999900000}]"#, "{name}");
    }
}

/// What a server damaged once is in no cache, once it was found damaged: neither of this process nor of
/// the next one.
#[test]
fn damage_on_its_way_is_asked_for_again() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start();
    server.put("a.zds", make(folder.path(), COUNT));
    for undamaged in 0..6 {
        let mut options = options();
        options.remote.disk_cache_folder = Some(folder.path().join(format!("cache{undamaged}")));
        let with_cache = || Database::open_with(server.url("a.zds"), &options);
        let faults: Vec<_> = (0..=undamaged)
            .map(|n| if n < undamaged { Fault::None } else { Fault::Flip })
            .collect();
        server.fail(&faults);
        // Whatever fails here fails once.
        let read = |database: folio::Result<Database>| {
            let events = database?.collection("events")?;
            for number in (0..COUNT).step_by(37) {
                let found = events.get(&format!("d{number}"))?;
                assert_eq!(found.unwrap().raw(), line(number));
            }
            let found: folio::Result<Vec<_>> = events.scan(Scan::new())?.collect();
            assert_eq!(found?.len(), COUNT);
            Ok::<_, folio::Error>(())
        };
        if let Err(error) = read(with_cache()) {
            println!("{undamaged}: {error}");
        }
        server.fail(&[]);
        read(with_cache()).unwrap();
        server.take_requests();
        read(with_cache()).unwrap();
        println!("{undamaged}: {:?}", server.take_requests());
    }
}
