//! Databases and files at URLs, over a server on this machine.

#![cfg(feature = "remote")]
#![allow(clippy::unwrap_used)] // a test that panics has failed

mod damage;
mod server;

use std::path::Path;
use std::time::{Duration, Instant};

use folio::import::{ImportOptions, Source, import};
use folio::{
    Database, ErrorCode, IndexMethod, IndexOptions, OpenOptions, PackOptions, Parameters,
    PartitionOptions, RemoteOptions, Scan,
};
use server::{Fault, Server};

/// Documents of the database that is served. Its archive has 20 MB, and an index of 3.
const COUNT: usize = 100_000;

/// One round trip.
const DELAY: Duration = Duration::from_millis(20);

/// The most round trips that opening and one `get` may take.
const ROUND_TRIPS: usize = 5;

fn line(number: usize) -> String {
    format!(r#"{{"_id":"d{number}","n":{number},"pad":"{}"}}"#, "x".repeat(160))
}

/// A database in a directory, and its archive.
fn make(folder: &Path, count: usize) -> Vec<u8> {
    let database = Database::open(folder.join("db")).unwrap();
    let events = database.collection("events").unwrap();
    let mut batch = events.batch().unwrap();
    for number in 0..count {
        batch.put_raw(None, &line(number)).unwrap();
    }
    batch.commit().unwrap();
    let archive = folder.join("db.zds");
    database.pack(&archive, &PackOptions::default(), &mut |_, _| true).unwrap();
    database.close().unwrap();
    std::fs::read(archive).unwrap()
}

fn options() -> OpenOptions {
    let remote = RemoteOptions {
        timeout: Duration::from_millis(300),
        retry_delay: Duration::from_millis(5),
        ..RemoteOptions::default()
    };
    OpenOptions { remote, ..OpenOptions::read_only() }
}

fn open(url: &str) -> folio::Result<Database> {
    Database::open_with(url, &options())
}

fn scan_count(database: &Database) -> usize {
    let scan = database.collection("events").unwrap().scan(Scan::new()).unwrap();
    scan.inspect(|document| assert!(document.is_ok(), "{document:?}")).count()
}

/// The rows of a statement as JSON.
fn json(database: &Database, text: &str) -> folio::Result<String> {
    let rows = database.session()?.execute(text, &[])?.rows;
    Ok(rows.map_or(Ok(String::new()), |mut rows| rows.to_json())?)
}

#[test]
fn an_archive_opens_and_answers_in_few_round_trips() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start();
    let archive = make(folder.path(), COUNT);
    let size = archive.len();
    server.put("a.zds", archive);
    server.state().delay = DELAY;

    let start = Instant::now();
    let database = open(&server.url("a.zds")).unwrap();
    let events = database.collection("events").unwrap();
    let found = events.get("d77777").unwrap().unwrap();
    let time = start.elapsed();
    assert_eq!(found.raw(), line(77_777));
    let requests = server.take_requests();
    let sent = server.state().sent_size;
    println!("open and get: {} requests, {time:?}, {sent} of {size} bytes", requests.len());
    assert!(requests.len() <= ROUND_TRIPS, "{requests:#?}");
    assert!(sent < size / 4, "{sent} of {size} bytes");

    // What is absent is so without a look at the lines.
    assert!(events.get("absent").unwrap().is_none());
    assert_eq!(events.count().unwrap(), COUNT as u64);
    assert_eq!(server.take_requests(), []);

    let start = Instant::now();
    assert_eq!(scan_count(&database), COUNT);
    let requests = server.take_requests();
    println!("scan: {} requests, {:?}", requests.len(), start.elapsed());
    assert!(requests.len() <= 8, "{requests:#?}");

    let error = events.put_raw("x", "{}").unwrap_err();
    assert_eq!(error.code(), ErrorCode::ReadOnly);
    assert!(error.to_string().contains("from its URL"), "{error}");
}

/// The first and last byte of ranges, in order.
fn ranges_of(requests: &[(String, String)]) -> Vec<(u64, u64)> {
    let number = |text: &str| text.parse::<u64>().ok();
    let range = |range: &String| {
        let (first, last) = range.strip_prefix("bytes=")?.split_once('-')?;
        Some((number(first)?, number(last)?))
    };
    let mut ranges: Vec<_> = requests.iter().filter_map(|(_, text)| range(text)).collect();
    ranges.sort_unstable();
    ranges
}

/// A cache in which a scan has pieces of 1 MiB.
fn open_with_cache(url: &str, cache_size: usize) -> Database {
    let mut options = options();
    options.remote.cache_size = cache_size;
    Database::open_with(url, &options).unwrap()
}

const SUM: &str = "SELECT count(*) AS c, sum(n) AS s FROM events";
const SUMS: &str = r#"[{"c":100000,"s":4999950000}]"#;

#[test]
fn a_scan_has_several_requests_on_their_way_and_asks_for_nothing_twice() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start();
    let archive = make(folder.path(), COUNT);
    let size = archive.len();
    server.put("a.zds", archive);
    let database = open_with_cache(&server.url("a.zds"), 8 << 20);
    assert_eq!(database.collection("events").unwrap().count().unwrap(), COUNT as u64);
    json(&database, "SELECT n FROM events WHERE _id = 'd1'").unwrap();
    for with_threads in [false, true] {
        server.take_requests();
        let mut state = server.state();
        (state.delay, state.sent_size, state.most_running) = (DELAY, 0, 0);
        drop(state);
        match with_threads {
            false => assert_eq!(scan_count(&database), COUNT),
            true => assert_eq!(json(&database, SUM).unwrap(), SUMS),
        }
        let requests = server.take_requests();
        let state = server.state();
        let (sent, most) = (state.sent_size, state.most_running);
        drop(state);
        println!("{} requests, {most} at once, {sent} of {size} bytes", requests.len());
        assert!(most > 2, "{most}");
        assert!(requests.len() < 40, "{requests:#?}");
        assert!(sent < size, "{sent} of {size} bytes");
        let twice = ranges_of(&requests).windows(2).filter(|pair| pair[1].0 <= pair[0].1).count();
        // A thread reads on to the end of its last line.
        assert!(twice <= 8, "{requests:#?}");
    }
}

#[test]
fn a_cache_of_any_size_serves_a_scan() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start();
    server.put("a.zds", make(folder.path(), COUNT));
    for cache_size in [0, 1, 64 << 10, 300_000, 1 << 20, 3 << 20] {
        let database = open_with_cache(&server.url("a.zds"), cache_size);
        assert_eq!(scan_count(&database), COUNT, "{cache_size}");
        assert_eq!(json(&database, SUM).unwrap(), SUMS, "{cache_size}");
    }
}

/// What fails ahead of a reader is asked for again when it is read.
#[test]
fn faults_ahead_of_a_scan_pass_or_are_named() {
    use Fault::{Cut, Hang, Silence, Status};
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start();
    server.put("a.zds", make(folder.path(), COUNT));
    let long = Silence(Duration::from_millis(400));
    // No more than one request may meet and still be answered.
    let mixed = [Fault::None, Status(503), Cut(0), Fault::None, Hang, long];
    let cases: [Case<'_>; 6] = [
        (&[Status(503); 4], None),
        (&[Cut(100_000); 4], None),
        (&mixed, None),
        (&[Status(503); 200], Some((ErrorCode::Io, "answered 503"))),
        (&[Status(403); 200], Some((ErrorCode::Io, "answered 403"))),
        (&[Status(412); 200], Some((ErrorCode::Conflict, "open it again"))),
    ];
    for (faults, expected) in cases {
        let database = open_with_cache(&server.url("a.zds"), 8 << 20);
        let mut scan = database.collection("events").unwrap().scan(Scan::new()).unwrap();
        // Far enough that pieces are ahead.
        assert!(scan.by_ref().take(20_000).all(|document| document.is_ok()));
        server.fail(faults);
        let rest: folio::Result<Vec<_>> = scan.map(|document| document.map(drop)).collect();
        server.fail(&[]);
        match (rest, expected) {
            (Ok(rest), None) => assert_eq!(rest.len(), COUNT - 20_000, "{faults:?}"),
            (Err(error), Some((code, text))) => {
                assert_eq!(error.code(), code, "{faults:?}: {error}");
                assert!(error.to_string().contains(text), "{faults:?}: {error}");
            }
            (rest, _) => panic!("{faults:?}: {:?}", rest.map(|rest| rest.len())),
        }
    }
    // On several threads.
    let database = open_with_cache(&server.url("a.zds"), 8 << 20);
    assert!(database.collection("events").unwrap().get("d1").unwrap().is_some());
    server.fail(&[Fault::None, Status(503), Cut(9), Hang, Cut(70_000)]);
    assert_eq!(json(&database, SUM).unwrap(), SUMS);
}

/// A server that has an archive, with ETags or without.
fn serving(archive: &[u8], has_etags: bool) -> Server {
    let server = Server::start();
    server.state().has_etags = has_etags;
    server.put("a.zds", archive.to_vec());
    server
}

#[test]
fn a_file_that_changes_in_the_middle_of_a_scan_is_a_conflict() {
    let folder = tempfile::tempdir().unwrap();
    let archive = make(folder.path(), COUNT);
    for has_etags in [true, false] {
        let server = serving(&archive, has_etags);
        let database = open_with_cache(&server.url("a.zds"), 8 << 20);
        let mut scan = database.collection("events").unwrap().scan(Scan::new()).unwrap();
        assert!(scan.by_ref().take(20_000).all(|document| document.is_ok()));
        let mut other = archive.clone();
        other.push(0);
        server.put("a.zds", other);
        let error = scan.find_map(Result::err).unwrap();
        assert_eq!(error.code(), ErrorCode::Conflict, "{error}");
    }
}

#[test]
fn a_scan_that_is_dropped_keeps_nobody_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start();
    server.put("a.zds", make(folder.path(), COUNT));
    let database = open_with_cache(&server.url("a.zds"), 8 << 20);
    let events = database.collection("events").unwrap();
    let mut scan = events.scan(Scan::new()).unwrap();
    // What is asked for ahead from here on is never answered.
    assert!(scan.by_ref().take(14_000).all(|document| document.is_ok()));
    server.fail(&[Fault::Silence(Duration::from_secs(5)); 2]);
    assert!(scan.by_ref().take(10_000).all(|document| document.is_ok()));
    drop(scan);
    server.fail(&[]);
    let start = Instant::now();
    assert_eq!(events.get("d99999").unwrap().unwrap().raw(), line(99_999));
    drop(events);
    database.close().unwrap();
    drop(database);
    // Once the time to wait for an answer, and no repetition.
    assert!(start.elapsed() < Duration::from_millis(1500), "{:?}", start.elapsed());
    let before = server.take_requests().len();
    std::thread::sleep(Duration::from_millis(200));
    println!("{before} requests before it was closed");
    assert_eq!(server.take_requests(), []);
}

#[test]
fn a_directory_opens_and_answers_where_its_names_are_known() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start();
    make(folder.path(), COUNT);
    server.put_folder("db", &folder.path().join("db"));
    server.state().delay = DELAY;

    let start = Instant::now();
    let database = open(&server.url("db/")).unwrap();
    let events = database.collection("events").unwrap();
    assert_eq!(events.get("d5").unwrap().unwrap().raw(), line(5));
    let requests = server.take_requests();
    println!("directory: {} requests, {:?}", requests.len(), start.elapsed());
    assert!(requests.len() <= 8, "{requests:#?}");
    assert_eq!(scan_count(&database), COUNT);
    let counted = json(&database, "SELECT count(*) AS c, max(n) AS m FROM events").unwrap();
    assert_eq!(counted, r#"[{"c":100000,"m":99999}]"#);

    let error = database.collections().unwrap_err();
    assert_eq!(error.code(), ErrorCode::Unsupported);
    assert!(error.to_string().contains("HTTP lists no names"), "{error}");
    assert_eq!(database.collection("other").unwrap_err().code(), ErrorCode::NotFound);
    assert_eq!(open(&server.url("nothing/")).unwrap_err().code(), ErrorCode::InvalidInput);
    assert_eq!(open(&server.url("nothing.zds")).unwrap_err().code(), ErrorCode::NotFound);
}

/// Nobody lists its files, so no handle shares what another one has seen.
#[test]
fn a_new_handle_sees_a_directory_as_it_is_now() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start();
    make(&folder.path().join("small"), 10);
    make(&folder.path().join("large"), 3_000);
    server.put_folder("db", &folder.path().join("small/db"));
    let before = open(&server.url("db")).unwrap();
    assert_eq!(scan_count(&before), 10);
    server.put_folder("db", &folder.path().join("large/db"));
    let now = open(&server.url("db")).unwrap();
    assert_eq!(scan_count(&now), 3_000);
    let events = before.collection("events").and_then(|events| events.scan(Scan::new())?.collect());
    let events: folio::Result<Vec<_>> = events;
    assert!(events.map_or_else(|error| error.code() == ErrorCode::Conflict, |all| all.len() == 10));
}

#[test]
fn an_archive_at_a_url_is_unpacked() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start();
    server.put("a.zds", make(folder.path(), 500));
    let target = folder.path().join("unpacked");
    let url = server.url("a.zds");
    Database::unpack(format!("{url}?sig=hunter2"), &target, &mut |_, _| true).unwrap();
    assert_eq!(scan_count(&Database::open(&target).unwrap()), 500);
    let error = Database::unpack(format!("{url}?sig=hunter2"), server.url("b"), &mut |_, _| true);
    let error = error.unwrap_err().to_string();
    assert!(error.contains("a URL is read-only") && !error.contains("hunter"), "{error}");
}

/// The files of indexes on fields have names that nobody lists there: answers are those without them.
#[test]
fn a_directory_answers_without_indexes_whose_names_are_not_listed() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start();
    make(folder.path(), COUNT);
    let path = folder.path().join("db");
    let database = Database::open(&path).unwrap();
    let events = database.collection("events").unwrap();
    let progress = &mut |_, _| true;
    events.create_index(&["n"], &IndexOptions::default(), progress).unwrap();
    let columns = IndexOptions { method: IndexMethod::Columns, ..IndexOptions::default() };
    events.create_index::<&str>(&[], &columns, progress).unwrap();
    let answers = |database: &Database| {
        let events = database.collection("events").unwrap();
        let found = events.scan_where("n = 77", &Parameters::default(), Scan::new()).unwrap();
        let filter = Some("n < 40".to_owned());
        let options = PartitionOptions { filter, ..PartitionOptions::default() };
        let mut rows = 0;
        for part in database.partitions("events", 3, &options).unwrap() {
            let mut read = database.session().unwrap().read_partition(&part).unwrap();
            rows += read.collect_rows().unwrap().len();
        }
        let statements = [
            "SELECT _id FROM events WHERE n = 5",
            "SELECT max(n) AS m FROM events",
            "SELECT _id FROM events WHERE n > 99990 ORDER BY n LIMIT 2",
            "SELECT n % 3 AS k, count(*) AS c FROM events GROUP BY k ORDER BY k",
        ];
        let mut all: Vec<String> =
            statements.iter().map(|text| json(database, text).unwrap()).collect();
        let mut session = database.session().unwrap();
        all.push(session.ziql("GRAB events [_id] {n = 6}", &[]).unwrap().to_json().unwrap());
        let ids: Vec<_> = found.map(|document| document.unwrap().id().to_owned()).collect();
        assert_eq!((ids, rows), (vec!["d77".to_owned()], 40));
        all
    };
    let expected = answers(&database);
    database.close().unwrap();
    server.put_folder("db", &path);
    let database = open(&server.url("db/")).unwrap();
    assert_eq!(answers(&database), expected);
    let events = database.collection("events").unwrap();
    assert_eq!(events.indexes().unwrap().len(), 2);
    let check = events.check(progress).unwrap();
    assert!(check.problems.is_empty(), "{:?}", check.problems);
}

/// What a server does, and the error that is answered, if there is one.
type Case<'c> = (&'c [Fault], Option<(ErrorCode, &'c str)>);

/// What passes is not seen; what lasts is named.
#[test]
fn faults_pass_or_are_named() {
    use Fault::{Cut, Hang, Silence, Status, Whole};
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start();
    server.put("a.zds", make(folder.path(), 20_000));
    let long = Silence(Duration::from_millis(900));
    let cases: [Case<'_>; 13] = [
        (&[Status(503)], None),
        (&[Status(429), Status(500), Status(502), Status(504)], None),
        (&[Cut(1000)], None),
        (&[Cut(0), Cut(70_000), Cut(1)], None),
        (&[Hang, Hang], None),
        (&[long], None),
        (&[Fault::None, Fault::None, Cut(5), long], None),
        (&[Status(503); 5], Some((ErrorCode::Io, "answered 503"))),
        (&[Hang; 5], Some((ErrorCode::Io, "5 times"))),
        (&[long; 5], Some((ErrorCode::Io, "did not answer in time, 5 times"))),
        (&[Status(403)], Some((ErrorCode::Io, "answered 403"))),
        (&[Status(418)], Some((ErrorCode::Io, "answered 418"))),
        (&[Fault::None, Whole], Some((ErrorCode::Unsupported, "does not send ranges"))),
    ];
    for (faults, expected) in cases {
        server.fail(faults);
        let outcome = open(&server.url("a.zds")).and_then(|database| {
            let events = database.collection("events")?;
            Ok(events.get("d19999")?.unwrap().raw().to_owned())
        });
        match (outcome, expected) {
            (Ok(found), None) => assert_eq!(found, line(19_999), "{faults:?}"),
            (Err(error), Some((code, text))) => {
                assert_eq!(error.code(), code, "{faults:?}: {error}");
                assert!(error.to_string().contains(text), "{faults:?}: {error}");
            }
            (outcome, _) => panic!("{faults:?}: {outcome:?}"),
        }
    }
}

#[test]
fn a_file_that_changes_in_the_middle_is_a_conflict() {
    let folder = tempfile::tempdir().unwrap();
    let archive = make(folder.path(), COUNT);
    for has_etags in [true, false] {
        let server = serving(&archive, has_etags);
        let database = open(&server.url("a.zds")).unwrap();
        let events = database.collection("events").unwrap();
        events.get("d1").unwrap().unwrap();
        let mut other = archive.clone();
        other.push(0);
        server.put("a.zds", other);
        let error = events.get("d50000").unwrap_err();
        assert_eq!(error.code(), ErrorCode::Conflict, "{error}");
        assert!(error.to_string().contains("open it again"), "{error}");
        // What was read is of one state, and stays.
        assert_eq!(events.get("d1").unwrap().unwrap().raw(), line(1));
        server.put("a.zds", archive.clone());
        let again = open(&server.url("a.zds")).unwrap();
        assert!(again.collection("events").unwrap().get("d50000").unwrap().is_some());
    }
}

/// An index is believed only with the data that it was made for.
#[test]
fn an_index_of_other_data_is_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start();
    make(folder.path(), 5_000);
    let data = folder.path().join("db/collections/events/meta/data.jsonl");
    // Another id in a line, and the file has the same size.
    let text = std::fs::read_to_string(&data).unwrap();
    std::fs::write(&data, text.replace(r#""_id":"d4321""#, r#""_id":"e4321""#)).unwrap();
    server.put_folder("db", &folder.path().join("db"));
    let database = open(&server.url("db")).unwrap();
    let events = database.collection("events").unwrap();
    assert!(events.get("e4321").unwrap().is_some());
    assert!(events.get("d4321").unwrap().is_none());
    assert_eq!(events.count().unwrap(), 5_000);
}

/// What one process has read, the next finds on the disk, by URL and ETag.
#[test]
fn a_cache_on_disk_serves_the_next_process() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start();
    server.put("a.zds", make(folder.path(), COUNT));
    let cache = folder.path().join("cache");
    let open = || {
        let mut options = options();
        options.remote.disk_cache_folder = Some(cache.clone());
        Database::open_with(server.url("a.zds"), &options).unwrap()
    };
    // Reads all, and says how many requests that took.
    let read = || {
        let database = open();
        let events = database.collection("events").unwrap();
        assert_eq!(events.get("d77777").unwrap().unwrap().raw(), line(77_777));
        assert!(events.get("absent").unwrap().is_none());
        assert_eq!(scan_count(&database), COUNT);
        database.close().unwrap();
        server.take_requests().len()
    };
    let first = read();
    assert!(first > 5, "{first}");
    // The first look at the archive only, which learns its ETag.
    assert_eq!(read(), 1);

    // A file that is damaged, cut or gone is fetched again.
    let damages: [fn(&Path); 3] = [
        |file| {
            let mut bytes = std::fs::read(file).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            std::fs::write(file, bytes).unwrap();
        },
        |file| std::fs::write(file, "cut").unwrap(),
        |file| std::fs::remove_file(file).unwrap(),
    ];
    for damage in damages {
        files_below(&cache).iter().for_each(|file| damage(file));
        assert!(read() > 5);
        assert_eq!(read(), 1);
    }

    // Another archive at the URL is another content.
    server.put("a.zds", make(&folder.path().join("other"), 10));
    let database = open();
    assert_eq!(scan_count(&database), 10);
}

fn files_below(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

/// A part says where its database is, without what only the URL as it was given has.
#[test]
fn a_part_of_a_database_at_a_url_is_read_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start();
    server.put("a.zds", make(folder.path(), 5_000));
    let url = format!("http://me:hunter2@{}/a.zds?sig=hunter3", server.host);
    let planned = open(&url).unwrap().partitions("events", 3, &PartitionOptions::default());
    let mut rows = 0;
    for part in planned.unwrap() {
        let text = part.to_string();
        assert!(!text.contains("hunter"), "{text}");
        let part: folio::Partition = text.parse().unwrap();
        assert_eq!(part.uri(), server.url("a.zds"));
        let mut session = open(part.uri()).unwrap().session().unwrap();
        rows += session.read_partition(&part).unwrap().collect_rows().unwrap().len();
    }
    assert_eq!(rows, 5_000);
}

#[test]
fn statements_read_files_at_urls() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start();
    let lines: String = (0..5_000).map(|number| line(number) + "\n").collect();
    server.put("x.jsonl", lines.clone().into_bytes());
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, lines.as_bytes()).unwrap();
    server.put("x.jsonl.gz", packed.finish().unwrap());
    let database = Database::open(folder.path().join("local")).unwrap();
    let parquet = folder.path().join("x.parquet");
    let source = folder.path().join("x.jsonl");
    std::fs::write(&source, &lines).unwrap();
    let copy = format!("COPY (FROM '{}') TO '{}'", source.display(), parquet.display());
    database.session().unwrap().execute(&copy, &[]).unwrap();
    server.put("x.parquet", std::fs::read(&parquet).unwrap());
    for name in ["x.jsonl", "x.jsonl.gz", "x.parquet", "x.jsonl?sig=secret"] {
        let text = format!("SELECT sum(n) FROM '{}'", server.url(name));
        assert!(json(&database, &text).unwrap().contains("12497500"), "{name}");
    }
    let text = format!("COPY (SELECT 1 AS a) TO '{}'", server.url("y.jsonl"));
    let error = json(&database, &text).unwrap_err();
    assert!(error.to_string().contains("read-only"), "{error}");
}

#[test]
fn an_import_asks_as_its_database_does() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start();
    let lines: String = (0..1000).map(|number| line(number) + "\n").collect();
    server.put("x.jsonl", lines.into_bytes());
    let url = server.url("x.jsonl");
    let remote = RemoteOptions { retry_count: 0, ..options().remote };
    let path = folder.path().join("db");
    let database =
        Database::open_with(path, &OpenOptions { remote, ..OpenOptions::default() }).unwrap();
    let collection = database.collection("a").unwrap();
    for (fault, told) in [
        (Fault::Silence(Duration::from_millis(900)), "did not answer in time"),
        (Fault::Status(503), "answered 503 Service Unavailable"),
    ] {
        server.fail(&[fault]);
        let error = Source::file_for(&collection, &url).unwrap_err();
        assert!(error.to_string().ends_with(told), "{error}");
    }
    // What a statement has read of the file is not sent again, once its ETag is known.
    let text = format!("SELECT count(*) FROM '{url}'");
    assert!(json(&database, &text).unwrap().contains("1000"));
    server.take_requests();
    let source = Source::file_for(&collection, &url).unwrap();
    let options = ImportOptions::default();
    assert_eq!(import(&collection, source, &options, &mut |_, _| true).unwrap().inserted, 1000);
    let asked = server.take_requests();
    assert_eq!(asked.len(), 1, "{asked:?}");
}

#[test]
fn files_at_urls_are_imported() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start();
    let count = 20_000;
    let lines: String = (0..count).map(|number| line(number) + "\n").collect();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, lines.as_bytes()).unwrap();
    server.put("x.jsonl.gz", packed.finish().unwrap());
    server.put("x.jsonl", lines.into_bytes());
    server.put("bad.jsonl", b"{\"_id\":\"a\"}\n{\n".to_vec());
    let database = Database::open(folder.path().join("db")).unwrap();
    let into = |name: &str, url: &str, cancel: bool| {
        let collection = database.collection(name).unwrap();
        let options = ImportOptions { batch_size: 100_000, ..ImportOptions::default() };
        let mut calls = 0;
        import(&collection, Source::file(url)?, &options, &mut |_, _| {
            calls += 1;
            !cancel || calls < 3
        })
    };
    server.fail(&[Fault::None, Fault::Cut(10), Fault::Status(503)]);
    for (name, file) in [("a", "x.jsonl"), ("b", "x.jsonl.gz"), ("c", "x.jsonl?sig=hunter2")] {
        let report = into(name, &server.url(file), false).unwrap();
        assert_eq!(report.inserted, count as u64, "{file}");
    }
    // An interrupted import goes on where it was.
    let url = server.url("x.jsonl");
    assert_eq!(into("d", &url, true).unwrap_err().code(), ErrorCode::Cancelled);
    let report = into("d", &url, false).unwrap();
    assert!(report.resumed_at.is_some_and(|position| position > 0), "{report:?}");
    assert_eq!(database.collection("d").unwrap().count().unwrap(), count as u64);

    let report = into("e", &server.url("bad.jsonl?sig=hunter2"), false).unwrap();
    assert_eq!((report.inserted, report.rejected_count), (1, 1));
    let mut shown = vec![format!("{report:?}")];
    for url in [
        format!("http://me:hunter2@{}/none.jsonl?sig=hunter3", server.host),
        "ftp://me:hunter2@host/x.jsonl".to_owned(),
    ] {
        let error = into("f", &url, false).unwrap_err();
        shown.push(format!("{error} {error:?}"));
    }
    for text in shown {
        assert!(!text.contains("hunter"), "{text}");
    }
}

#[test]
fn secrets_of_a_url_are_sent_and_never_shown() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start();
    server.put("a.zds", make(folder.path(), 10));
    let url = format!("http://me:hunter2@{}/a.zds?sig=hunter3", server.host);
    let database = open(&url).unwrap();
    let head = server.state().heads[0].clone();
    assert!(head.starts_with("GET /a.zds?sig=hunter3 ") && head.contains("Basic bWU6aHVudGVyMg=="));
    let mut shown = vec![format!("{database:?}"), database.path().display().to_string()];
    let mut note = |error: folio::Error| shown.push(format!("{error} {error:?}"));
    note(database.collection("none").unwrap_err());
    note(database.collection("events").unwrap().put_raw("x", "{}").unwrap_err());
    server.fail(&[Fault::Status(403); 9]);
    note(open(&url).unwrap_err());
    note(open(&url.replace("a.zds", "b.zds")).unwrap_err());
    note(open(&url.replace("http", "ftp")).unwrap_err());
    note(open("http://me:hunter2@127.0.0.1:1/a.zds?sig=hunter3").unwrap_err());
    let from = format!("SELECT * FROM '{}'", url.replace("a.zds", "none.jsonl"));
    let error = json(&database, &from).unwrap_err();
    shown.push(error.to_string().lines().next().unwrap_or_default().to_owned());
    for text in shown {
        assert!(!text.contains("hunter"), "{text}");
    }
}

/// A statement ends while a server is silent: before its answer, in the middle of it, and while it is
/// asked again. The client itself would wait for minutes.
#[test]
fn a_silent_server_does_not_hold_a_statement() {
    use Fault::{Silence, Status};
    let server = Server::start();
    let lines: String = (0..60_000).map(|number| line(number) + "\n").collect();
    server.put("x.jsonl", lines.into_bytes());
    let remote = RemoteOptions { retry_delay: Duration::from_secs(20), ..RemoteOptions::default() };
    let options = OpenOptions { remote, ..OpenOptions::default() };
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open_with(folder.path(), &options).unwrap();
    let text = format!("SELECT count(*) AS c, max(n) AS m FROM '{}'", server.url("x.jsonl"));
    let long = Silence(Duration::from_secs(60));
    let faults: [&[Fault]; 4] = [
        &[long],
        &[Status(503)],
        &[Fault::None, long, long, long, long],
        &[Fault::None, Fault::None, long],
    ];
    for faults in faults {
        for is_interrupted in [false, true] {
            server.fail(faults);
            let mut session = database.session().unwrap();
            let interrupt = session.interrupt();
            if !is_interrupted {
                session.set_timeout(Some(Duration::from_millis(400)));
            }
            let start = Instant::now();
            let done = std::thread::scope(|scope| {
                if is_interrupted {
                    scope.spawn(move || {
                        std::thread::sleep(Duration::from_millis(400));
                        interrupt.store(true, std::sync::atomic::Ordering::Relaxed);
                    });
                }
                let rows = session.execute(&text, &[])?.rows;
                Ok::<_, folio::Error>(rows.unwrap().to_json()?)
            });
            let code = if is_interrupted { ErrorCode::Cancelled } else { ErrorCode::Timeout };
            assert_eq!(done.unwrap_err().code(), code, "{faults:?}");
            drop(session);
            assert!(start.elapsed() < Duration::from_secs(5), "{faults:?}: {:?}", start.elapsed());
        }
    }
    server.fail(&[]);
    assert_eq!(json(&database, &text).unwrap(), r#"[{"c":60000,"m":59999}]"#);
}
