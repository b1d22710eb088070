//! The promises of opening, sharing and closing a database.

#![allow(clippy::unwrap_used)] // a test that panics has failed

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use folio::{
    CollectionOptions, Database, Durability, ErrorCode, FORMAT_VERSION, IndexOptions, OpenOptions,
    Parameters, Scan, Strict,
};
use folio_file::{DiskFileSystem, FileSystem, MemoryFileSystem, Operation, WriterLock};
use serde_json::json;

fn in_memory() -> (MemoryFileSystem, OpenOptions) {
    let files = MemoryFileSystem::new();
    let options =
        OpenOptions { file_system: Some(Arc::new(files.clone())), ..OpenOptions::default() };
    (files, options)
}

fn read_only(options: &OpenOptions) -> OpenOptions {
    OpenOptions { access: folio::Access::Read, ..options.clone() }
}

#[test]
fn nothing_is_created_before_the_first_write() {
    let (files, options) = in_memory();
    let database = Database::open_with("/data", &options).unwrap();
    let users = database.collection("users").unwrap();
    assert_eq!(users.count().unwrap(), 0);
    assert!(users.get("u1").unwrap().is_none());
    assert_eq!(users.scan(Scan::new()).unwrap().count(), 0);
    assert!(database.collections().unwrap().is_empty());
    assert!(!users.is_created());
    database.flush().unwrap();
    assert!(files.paths().is_empty(), "{:?}", files.paths());

    users.put("u1", &json!({"a": 1})).unwrap();
    assert!(users.is_created());
    let text = String::from_utf8(files.read("/data/folio.json").unwrap()).unwrap();
    assert!(text.contains(&format!("\"format_version\": {FORMAT_VERSION}")), "{text}");
    assert_eq!(database.collections().unwrap(), ["users"]);
    assert!(database.existing_collection("users").is_ok());
    database.flush().unwrap();
    assert!(files.read("/data/collections/users/meta/data.jsonl").is_some());
}

#[test]
fn threads_may_make_the_first_write_together() {
    for _ in 0..20 {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::open(folder.path().join("mydata")).unwrap();
        let docs = database.collection("docs").unwrap();
        thread::scope(|scope| {
            let put = |n: u64| docs.put(&n.to_string(), &json!({})).map(drop);
            let threads: Vec<_> = (0..8).map(|n| scope.spawn(move || put(n))).collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap().unwrap());
        });
        assert_eq!(docs.count().unwrap(), 8);
    }
}

#[test]
fn a_refused_write_creates_nothing_but_the_database() {
    let (files, options) = in_memory();
    let database = Database::open_with("/data", &options).unwrap();
    let users = database.collection("users").unwrap();
    assert_eq!(users.put("a/b", &json!({})).unwrap_err().code(), ErrorCode::InvalidInput);
    assert_eq!(users.put_raw("a", "[]").unwrap_err().code(), ErrorCode::Syntax);
    assert!(files.read("/data/collections/users/meta/data.jsonl").is_none());
}

#[test]
fn a_missing_database_is_not_found_where_nothing_is_created() {
    let (files, options) = in_memory();
    for options in [read_only(&options), OpenOptions { create: false, ..options }] {
        let error = Database::open_with("/data", &options).unwrap_err();
        assert_eq!(error.code(), ErrorCode::NotFound);
        assert!(error.to_string().contains("\"/data\""), "{error}");
    }
    assert!(files.paths().is_empty());
}

#[test]
#[cfg(unix)]
fn a_file_url_opens_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a b");
    let database = Database::open(&path).unwrap();
    database.collection("c").unwrap().put("x", &json!({})).unwrap();
    database.close().unwrap();
    let encoded = path.to_str().unwrap().replace(' ', "%20");
    for start in ["file:", "file://", "file://localhost"] {
        let url = format!("{start}{encoded}");
        let database = Database::open_with(&url, &OpenOptions::read_only()).unwrap();
        assert_eq!(database.path(), path, "{url}");
        assert!(database.collection("c").unwrap().get("x").unwrap().is_some(), "{url}");
    }
    for (path, reason) in [
        ("file:pd", "absolute path"),
        ("file://host/pd", "another machine"),
        ("http:/host/pd.zds", "as text, not as a path"),
        ("s3:/bucket/pd", "as text, not as a path"),
    ] {
        let error = Database::open(path).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidInput, "{path}: {error}");
        assert!(error.to_string().contains(reason), "{path}: {error}");
    }
}

#[test]
fn a_store_of_zds_opens_as_it_is() {
    let (files, options) = in_memory();
    let data = b"{\"_id\":\"a\",\"n\":1}\n{\"_id\":\"b\",\"n\":2}\n";
    files.write("/zds/collections/t/meta/data.jsonl", data).unwrap();
    let before = files.paths();
    let database = Database::open_with("/zds", &read_only(&options)).unwrap();
    assert_eq!(database.collections().unwrap(), ["t"]);
    assert_eq!(database.collection("t").unwrap().count().unwrap(), 2);
    assert_eq!(files.paths(), before, "a reader writes nothing");
    let database = Database::open_with("/zds", &options).unwrap();
    database.collection("t").unwrap().put("c", &json!({})).unwrap();
    assert!(files.read("/zds/folio.json").is_some());
}

#[test]
fn what_a_killed_drop_has_left_goes_when_somebody_writes() {
    let (files, options) = in_memory();
    let database = Database::open_with("/data", &options).unwrap();
    for name in ["kept", "gone"] {
        database.collection(name).unwrap().put("a", &json!({})).unwrap();
    }
    database.close().unwrap();
    let left = "/data/collections/.dropped-1.tmp";
    files.rename("/data/collections/gone".as_ref(), left.as_ref()).unwrap();
    let has_left = || files.paths().iter().any(|path| path.starts_with(left));
    let database = Database::open_with("/data", &read_only(&options)).unwrap();
    assert_eq!((database.collections().unwrap(), has_left()), (vec!["kept".to_owned()], true));
    let database = Database::open_with("/data", &options).unwrap();
    assert_eq!((database.collections().unwrap(), has_left()), (vec!["kept".to_owned()], false));
}

#[test]
fn a_name_is_found_without_a_look_into_every_collection() {
    let (files, options) = in_memory();
    let database = Database::open_with("/data", &options).unwrap();
    for number in 0..100 {
        database.collection(&format!("c{number}")).unwrap().put("a", &json!({})).unwrap();
    }
    database.close().unwrap();
    let database = Database::open_with("/data", &read_only(&options)).unwrap();
    let mut session = database.session().unwrap();
    let before = files.call_count(Operation::Metadata);
    session.execute("SELECT * FROM C7", &[]).unwrap();
    let looks = files.call_count(Operation::Metadata) - before;
    assert!(looks < 50, "{looks} looks");
}

#[test]
fn newer_formats_and_damage_are_refused_by_name() {
    let (files, options) = in_memory();
    for (text, code) in [
        (&b"{\"format\":\"foliodb\",\"format_version\":999}"[..], ErrorCode::Unsupported),
        (b"{\"format_version\"", ErrorCode::Corrupted),
    ] {
        files.write("/data/folio.json", text).unwrap();
        let error = Database::open_with("/data", &options).unwrap_err();
        assert_eq!(error.code(), code);
        assert!(error.to_string().contains("folio.json"), "{error}");
    }
}

#[test]
fn handles_of_one_process_share_one_store() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("data");
    let first = Database::open(&path).unwrap();
    let users = first.collection("users").unwrap();
    users.put("u1", &json!({"n": 1})).unwrap();
    // Another spelling of the path; the lock is held by the first handle.
    let second = Database::open(folder.path().join("./data/../data/")).unwrap();
    let same = second.collection("users").unwrap();
    assert_eq!(same.get("u1").unwrap().unwrap().raw(), r#"{"_id":"u1","n":1}"#);
    same.put("u2", &json!({})).unwrap();
    assert!(users.exists("u2").unwrap());
    drop((first, users));
    same.put("u3", &json!({})).unwrap();
    drop((second, same));
    let third = Database::open_with(&path, &OpenOptions::read_only()).unwrap();
    assert_eq!(third.collection("users").unwrap().count().unwrap(), 3, "dropping flushes");
}

#[test]
fn a_change_of_the_current_directory_changes_nothing() {
    let folder = tempfile::TempDir::new().unwrap();
    std::env::set_current_dir(folder.path()).unwrap();
    let database = Database::open("data").unwrap();
    std::env::set_current_dir("/").unwrap();
    database.collection("t").unwrap().put("x", &json!({})).unwrap();
    database.close().unwrap();
    assert_eq!(database.path(), Path::new("data"));
    assert!(folder.path().join("data/collections/t/meta/data.jsonl").exists());
}

#[test]
fn what_came_from_a_dropped_database_keeps_it() {
    let (_files, options) = in_memory();
    let users = Database::open_with("/data", &options).unwrap().collection("users").unwrap();
    let mut batch = users.batch().unwrap();
    batch.put("u1", &json!({})).unwrap();
    drop(users);
    // A separate store would not get the writer's lock that the batch holds.
    let again = Database::open_with("/data", &options).unwrap().collection("users").unwrap();
    batch.commit().unwrap();
    assert_eq!(again.count().unwrap(), 1);
}

#[test]
fn a_second_handle_gets_no_weaker_promise_than_it_asks_for() {
    let (_files, options) = in_memory();
    let _first = Database::open_with("/data", &options).unwrap();
    let stricter = OpenOptions { durability: Durability::EveryPut, ..options };
    let error = Database::open_with("/data", &stricter).unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidInput);
    assert!(Database::open_with("/other", &stricter).is_ok());
    assert!(Database::open_with("/data", &read_only(&stricter)).is_err(), "nothing is there yet");
}

#[test]
fn closing_one_handle_leaves_the_others() {
    let (_files, options) = in_memory();
    let first = Database::open_with("/data", &options).unwrap();
    let second = Database::open_with("/data", &options).unwrap();
    let (a, b) = (first.collection("t").unwrap(), second.collection("t").unwrap());
    a.put("x", &json!({})).unwrap();
    first.close().unwrap();
    first.close().unwrap();
    assert_eq!(a.get("x").unwrap_err().code(), ErrorCode::Closed);
    assert_eq!(first.collection("t").unwrap_err().code(), ErrorCode::Closed);
    b.put("y", &json!({})).unwrap();
    second.close().unwrap();
    assert_eq!(b.count().unwrap_err().code(), ErrorCode::Closed);
    let third = Database::open_with("/data", &options).unwrap();
    assert_eq!(third.collection("t").unwrap().count().unwrap(), 2);
}

#[test]
fn a_read_only_handle_refuses_writes_and_follows() {
    let (_files, options) = in_memory();
    let writer = Database::open_with("/data", &options).unwrap();
    let users = writer.collection("users").unwrap();
    users.put("u1", &json!({})).unwrap();
    writer.flush().unwrap();
    let reader = Database::open_with("/data", &read_only(&options)).unwrap();
    assert!(!reader.is_writable());
    let seen = reader.collection("users").unwrap();
    assert_eq!(seen.put("u2", &json!({})).unwrap_err().code(), ErrorCode::ReadOnly);
    assert_eq!(seen.batch().unwrap_err().code(), ErrorCode::ReadOnly);
    assert_eq!(reader.create().unwrap_err().code(), ErrorCode::ReadOnly);
    users.put("u2", &json!({})).unwrap();
    writer.flush().unwrap();
    assert_eq!(seen.count().unwrap(), 1, "as of when it was opened");
    seen.refresh().unwrap();
    assert_eq!(seen.count().unwrap(), 2);
}

#[test]
fn names_are_checked_and_suggested() {
    let (files, options) = in_memory();
    let database = Database::open_with("/data", &options).unwrap();
    for name in ["users", "train"] {
        database.collection(name).unwrap().put("x", &json!({})).unwrap();
    }
    files.write("/data/collections/notes.txt", b"mine").unwrap();
    files.write("/data/collections/.hidden/x", b"mine").unwrap();
    assert_eq!(database.collections().unwrap(), ["train", "users"]);
    for name in ["", "../evil", "a/b", ".x"] {
        assert_eq!(database.collection(name).unwrap_err().code(), ErrorCode::InvalidInput);
    }
    database.flush().unwrap();
    let reader = Database::open_with("/data", &read_only(&options)).unwrap();
    let error = reader.collection("user").unwrap_err();
    assert_eq!(error.code(), ErrorCode::NotFound);
    assert!(error.to_string().contains("did you mean \"users\"?"), "{error}");
    let error = database.existing_collection("movies").unwrap_err();
    assert!(error.to_string().contains("\"train\" and \"users\""), "{error}");
}

#[test]
fn a_table_has_no_collection_of_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(folder.path()).unwrap();
    database.sql("CREATE TABLE t (id int PRIMARY KEY)", &Parameters::default()).unwrap();
    for name in ["t", "T"] {
        let error = database.collection(name).unwrap_err();
        assert_eq!(error.code(), ErrorCode::NotFound);
        assert!(error.to_string().contains("that is a table"), "{error}");
    }
    database.collection("u").unwrap().put("a", &json!({})).unwrap();
    assert_eq!(database.collection("u").unwrap().count().unwrap(), 1);
}

#[test]
fn options_of_an_open_collection_are_not_changed_after_its_back() {
    let (_files, options) = in_memory();
    let database = Database::open_with("/data", &options).unwrap();
    let plain = database.collection("t").unwrap();
    let strict = CollectionOptions { strict: Strict::FirstDocument, ..Default::default() };
    let error = database.collection_with("t", &strict).unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidInput);
    plain.close().unwrap();
    let collection = database.collection_with("t", &strict).unwrap();
    collection.put("a", &json!({"n": 1})).unwrap();
    assert_eq!(
        collection.put("b", &json!({"n": "x"})).unwrap_err().code(),
        ErrorCode::TypeMismatch
    );
    assert!(database.collection("t").is_ok(), "without options it is the open one");
}

#[test]
fn other_things_at_the_path_are_named() {
    let (files, options) = in_memory();
    files.write("/x.csv", b"a,b\n").unwrap();
    files.write("/dir/readme", b"").unwrap();
    let error = Database::open_with("/x.csv", &options).unwrap_err();
    assert!(error.to_string().contains("import the file"), "{error}");
    let error = Database::open_with("/dir", &read_only(&options)).unwrap_err();
    assert!(error.to_string().contains("neither folio.json nor collections/"), "{error}");
    assert!(Database::open_with("/dir", &options).is_ok(), "writing makes it one");
}

#[test]
fn a_network_file_system_is_told() {
    let (files, options) = in_memory();
    files.set_network(true);
    let database = Database::open_with("/data", &options).unwrap();
    assert!(database.take_notices()[0].to_string().contains("network file system"));
    assert_eq!(database.take_notices(), [], "once");
    assert_eq!(database.path(), Path::new("/data"));
}

/// Whoever keeps a collection of a closed database keeps no file of it open.
#[test]
#[cfg(target_os = "linux")]
fn closing_closes_files_that_handles_still_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mydata");
    let open_count = || {
        let names = std::fs::read_dir("/proc/self/fd").unwrap().map(|name| name.unwrap().path());
        let targets = names.filter_map(|name| std::fs::read_link(name).ok());
        targets.filter(|target| target.starts_with(&path)).count()
    };
    let mut handles = Vec::new();
    for _ in 0..3 {
        let database = Database::open(&path).unwrap();
        let users = database.collection("users").unwrap();
        users.put("a", &json!({"n": 1})).unwrap();
        users.flush().unwrap();
        users.create_index(&["n"], &IndexOptions::default(), &mut |_, _| true).ok();
        let reader = Database::open_with(&path, &OpenOptions::read_only()).unwrap();
        let read = reader.collection("users").unwrap();
        assert!(read.get("a").unwrap().is_some());
        database.sql("create table if not exists t (id integer)", &Parameters::default()).unwrap();
        assert!(open_count() > 0);
        database.close().unwrap();
        reader.close().unwrap();
        assert_eq!(users.get("a").unwrap_err().code(), ErrorCode::Closed);
        assert_eq!(read.count().unwrap_err().code(), ErrorCode::Closed);
        assert_eq!(open_count(), 0);
        handles.push((database, users, reader, read));
    }
}

/// Handles of one process share a store, and wait for other writers as long as each of them says.
#[test]
fn each_handle_waits_as_long_as_it_says() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    let open = |milliseconds| {
        let lock_timeout = Duration::from_millis(milliseconds);
        let options = OpenOptions { lock_timeout, ..OpenOptions::default() };
        Database::open_with(&path, &options).unwrap()
    };
    let (patient, hasty) = (open(600), open(50));
    patient.sql("create table t (n int)", &Parameters::default()).unwrap();
    patient.collection("c").unwrap().put("a", &json!({})).unwrap();
    patient.flush().unwrap();
    let waited = |work: &dyn Fn() -> folio::Result<()>| {
        let start = Instant::now();
        assert_eq!(work().unwrap_err().code(), ErrorCode::Locked);
        start.elapsed() >= Duration::from_millis(500)
    };
    let mut writer = patient.session().unwrap();
    writer.execute("begin; insert into t values (1)", &[]).unwrap();
    for (database, is_patient) in [(&hasty, false), (&patient, true), (&hasty, false)] {
        let insert = || database.sql("insert into t values (2)", &Parameters::default()).map(drop);
        assert_eq!(waited(&insert), is_patient);
    }
    drop(writer);
    // Another program.
    let files: Arc<dyn FileSystem> = Arc::new(DiskFileSystem);
    let lock = Arc::new(WriterLock::new(files, path.join("folio.lock")));
    let _held = lock.acquire(Duration::from_secs(5)).unwrap();
    for (database, is_patient) in [(&hasty, false), (&patient, true), (&hasty, false)] {
        let put = || {
            let collection = database.collection("c")?;
            collection.put("b", &json!({}))?;
            collection.flush()
        };
        assert_eq!(waited(&put), is_patient);
    }
}
