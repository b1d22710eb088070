//! Tables as a whole, beside collections: copies, checks, salvage, space.

#![allow(clippy::unwrap_used)] // a test that panics has failed

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use folio::{Database, ErrorCode, OpenOptions, Synchronous, Value};
use serde_json::json;

fn number(database: &Database, query: &str) -> i64 {
    let mut session = database.session().unwrap();
    let rows = session.execute(query, &[]).unwrap().rows.unwrap().collect_rows().unwrap();
    match rows[0][0] {
        Value::Integer(number) => number,
        ref other => panic!("{query}: {other:?}"),
    }
}

fn run(database: &Database, statement: &str) {
    database.session().unwrap().execute(statement, &[]).unwrap();
}

/// A collection, and a table of accounts whose sum is 1000.
fn fill(path: &Path) -> Database {
    let lock_timeout = Duration::from_millis(50);
    let options = OpenOptions { lock_timeout, ..OpenOptions::default() };
    let database = Database::open_with(path, &options).unwrap();
    database.collection("notes").unwrap().put("n1", &json!({"text": "kept"})).unwrap();
    run(&database, "create table accounts (id int primary key, amount bigint, filler text)");
    run(&database, "create index by_amount on accounts (amount)");
    for id in 0..100 {
        let filler = "x".repeat(300);
        run(&database, &format!("insert into accounts values ({id}, 10, '{filler}')"));
    }
    database.flush().unwrap();
    database
}

#[test]
fn a_backup_has_the_tables_as_of_one_commit_while_writers_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    let database = fill(&path);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut session = database.session().unwrap();
            let mut count = 0;
            while !is_over.load(Ordering::Relaxed) {
                let (from, to) = (count % 100, (count * 7 + 1) % 100);
                session.execute("begin", &[]).unwrap();
                for (sign, id) in [('-', from), ('+', to)] {
                    let text =
                        format!("update accounts set amount = amount {sign} 1 where id = {id}");
                    session.execute(&text, &[]).unwrap();
                }
                session.execute("commit", &[]).unwrap();
                count += 1;
            }
            count
        });
        for round in 0..5 {
            let target = folder.path().join(format!("copy{round}"));
            let report = database.backup(&target, &mut |_, _| true).unwrap();
            assert!(report.file_count >= 5, "{report:?}");
            let copy = Database::open(&target).unwrap();
            assert_eq!(number(&copy, "select sum(amount)::bigint from accounts"), 1000);
            let check = copy.tables().unwrap().check().unwrap().unwrap();
            assert_eq!((check.problems.len(), check.rows), (0, 100), "{check:?}");
            assert!(copy.collection("notes").unwrap().get("n1").unwrap().is_some());
        }
        is_over.store(true, Ordering::Relaxed);
        assert!(writer.join().unwrap() > 0);
    });
    let mut told = Vec::new();
    let cancelled = database.backup(folder.path().join("none"), &mut |done, total| {
        told.push((done, total));
        told.len() < 3
    });
    assert_eq!(cancelled.unwrap_err().code(), ErrorCode::Cancelled);
    assert!(!folder.path().join("none").exists());
}

#[test]
fn salvage_saves_what_a_damaged_page_leaves() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    let database = fill(&path);
    database.tables().unwrap().vacuum().unwrap().unwrap();
    let tables = database.tables().unwrap();
    // A leaf of the table: the rows on it, and nothing else, are lost.
    let mut pages = (1..).map(|page| tables.inspect(page).unwrap());
    let leaf = pages.find(|page| page.kind == "leaf" && page.count > 10).unwrap();
    let lost = leaf.count as i64;
    database.close().unwrap();
    let data = fs::OpenOptions::new().write(true).open(path.join("tables.folio")).unwrap();
    data.write_all_at(b"damage", leaf.offset + 4000).unwrap();

    let database = Database::open_with(&path, &OpenOptions::read_only()).unwrap();
    let tables = database.tables().unwrap();
    assert!(tables.inspect(leaf.page.0).unwrap().problem.is_some());
    let check = tables.check().unwrap().unwrap();
    assert!(check.problems.iter().any(|problem| problem.page == leaf.page), "{check:?}");
    let mut session = database.session().unwrap();
    let refused = session.execute("select count(filler) from accounts", &[]);
    let refused = refused.and_then(|answer| Ok(answer.rows.unwrap().collect_rows()?));
    assert_eq!(refused.unwrap_err().code(), ErrorCode::Corrupted);

    let target = folder.path().join("saved");
    let report = Database::salvage(&path, &target).unwrap();
    assert_eq!(report.tables.len(), 1);
    assert_eq!(report.tables[0].rows as i64, 100 - lost, "{report:?}");
    assert_eq!((report.tables[0].expected, report.damaged_pages), (Some(100), 1));
    let saved = Database::open(&target).unwrap();
    assert_eq!(number(&saved, "select count(*) from accounts where amount = 10"), 100 - lost);
    assert_eq!(saved.tables().unwrap().check().unwrap().unwrap().problems, []);
    let again = Database::salvage(&path, &target).unwrap_err();
    assert_eq!(again.code(), ErrorCode::Conflict);
    let nothing = Database::salvage(folder.path(), folder.path().join("other")).unwrap_err();
    assert_eq!(nothing.code(), ErrorCode::NotFound);
}

#[test]
fn a_vacuum_gives_space_back_and_sessions_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    let database = fill(&path);
    let tables = database.tables().unwrap();
    let mut session = database.session().unwrap();
    session.execute("delete from accounts where id >= 10", &[]).unwrap();
    session.execute("begin", &[]).unwrap();
    let busy = tables.vacuum().unwrap_err();
    assert_eq!(busy.code(), ErrorCode::Locked, "{busy}");
    session.execute("rollback", &[]).unwrap();
    let report = tables.vacuum().unwrap().unwrap();
    assert!(report.size_after < report.size_before, "{report:?}");
    session.execute("insert into accounts values (500, 5, null)", &[]).unwrap();
    assert_eq!(number(&database, "select sum(amount)::bigint from accounts"), 105);
    let summary = tables.list().unwrap();
    assert_eq!((summary[0].row_count, &*summary[0].indexes), (11, &["by_amount".to_owned()][..]));
    assert_eq!(tables.check().unwrap().unwrap().problems, []);
}

#[test]
fn reading_locks_nobody_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    fill(&path).close().unwrap();
    let database = Database::open(&path).unwrap();
    assert_eq!(number(&database, "select count(*) from accounts"), 100);
    // As another process would: the lock is free until the first write.
    let files: std::sync::Arc<dyn folio_file::FileSystem> =
        std::sync::Arc::new(folio_file::DiskFileSystem);
    let lock = || {
        let path = path.join("tables.folio-lock");
        let lock = folio_file::WriterLock::new(std::sync::Arc::clone(&files), path);
        std::sync::Arc::new(lock).try_acquire().is_ok()
    };
    assert!(lock());
    run(&database, "insert into accounts values (100, 0, null)");
    assert!(!lock());
    assert_eq!(number(&database, "select count(*) from accounts"), 101);
    database.close().unwrap();
    assert!(lock());
}

/// A statement's own snapshot, or that of the session before, must not keep the log
/// from beginning again.
#[test]
fn statements_that_commit_one_by_one_keep_the_log_short() {
    let folder = tempfile::tempdir().unwrap();
    let options = OpenOptions { synchronous: Synchronous::Off, ..OpenOptions::default() };
    let database = Database::open_with(folder.path().join("data"), &options).unwrap();
    let mut session = database.session().unwrap();
    session.execute("create table t (id int primary key, filler text)", &[]).unwrap();
    let insert = "insert into t values ($1, $2)";
    let filler = Value::Text("x".repeat(1500));
    for id in 0..6000 {
        session.execute(insert, &[Value::Integer(id), filler.clone()]).unwrap();
    }
    let statistics = database.tables().unwrap().statistics().unwrap().unwrap();
    assert!(statistics.data_size > 9_000_000, "{statistics:?}");
    assert!(statistics.log_size < 18 << 20, "{statistics:?}");
    drop(session);
    database.close().unwrap();
    let database = Database::open_with(folder.path().join("data"), &options).unwrap();
    let statistics = database.tables().unwrap().statistics().unwrap().unwrap();
    assert!(statistics.log_size <= 1 << 20, "closing leaves a short one: {statistics:?}");
    assert_eq!(number(&database, "select count(*) from t"), 6000);
}

#[test]
fn a_database_without_tables_has_none() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(folder.path().join("data")).unwrap();
    database.create().unwrap();
    let tables = database.tables().unwrap();
    assert!(!tables.exist());
    assert_eq!(tables.list().unwrap(), []);
    assert_eq!(tables.check().unwrap(), None);
    assert_eq!(tables.vacuum().unwrap(), None);
    assert_eq!(tables.statistics().unwrap(), None);
    assert_eq!(tables.inspect(1).unwrap_err().code(), ErrorCode::NotFound);
}
