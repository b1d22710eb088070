//! Tables as a whole, with collections: copies, checks, salvage, space.

#![allow(clippy::unwrap_used)] // a test that panics has failed

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use folio::{
    Column, ColumnType, Database, Error, ErrorCode, OpenOptions, Relation, Synchronous, Value,
};
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
    let mut reported = Vec::new();
    let cancelled = database.backup(folder.path().join("none"), &mut |done, total| {
        reported.push((done, total));
        reported.len() < 3
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

/// Neither from this process nor from another may the writer be waited for by those that read.
#[test]
fn reading_does_not_wait_with_a_statement_that_waits_to_write() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    fill(&path).close().unwrap();
    let options =
        OpenOptions { lock_timeout: Duration::from_millis(500), ..OpenOptions::default() };
    let database = Database::open_with(&path, &options).unwrap();
    let files = std::sync::Arc::new(folio_file::DiskFileSystem);
    let lock = folio_file::WriterLock::new(files, path.join("tables.folio-lock"));
    let other_process = std::sync::Arc::new(lock).try_acquire().unwrap();
    let insert = "insert into accounts values (100, 0, null)";
    let mut session = database.session().unwrap();
    session.set_wait_limit(Some(Duration::from_millis(1)));
    let error = session.execute(insert, &[]).map(drop).unwrap_err();
    assert!(matches!(error, Error::Writing(Some(_))), "{error:?}");
    thread::scope(|scope| {
        let waits = scope.spawn(|| database.session().unwrap().execute(insert, &[]).map(drop));
        thread::sleep(Duration::from_millis(50));
        assert_eq!(number(&database, "select count(*) from accounts"), 100);
        assert!(!waits.is_finished(), "the statement still waits");
        assert!(matches!(waits.join().unwrap().unwrap_err(), Error::Table(_)));
    });
    drop(other_process);
    session.execute(insert, &[]).unwrap();
    session.execute("begin", &[]).unwrap();
    let mut second = database.session().unwrap();
    second.set_wait_limit(Some(Duration::ZERO));
    let error = second.execute("select 1; delete from accounts", &[]).map(drop).unwrap_err();
    assert!(matches!(error, Error::Table(_)), "only the first of a text is refused: {error:?}");
    second.set_wait_limit(Some(Duration::ZERO));
    let error = second.execute("delete from accounts", &[]).map(drop).unwrap_err();
    assert!(matches!(error, Error::Writing(None)), "{error:?}");
}

/// A statement's own snapshot, or that of the session before, must not prevent the log from
/// restarting.
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

/// Rows per batch.
fn sizes(scan: folio::TableScan) -> Vec<usize> {
    scan.map(|batch| batch.unwrap().num_rows()).collect()
}

#[test]
fn a_table_comes_as_batches_of_the_columns_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let database = fill(&folder.path().join("data"));
    let table = database.tables().unwrap().table("Accounts").unwrap();
    assert_eq!((table.name(), table.row_count()), ("accounts", 100));
    assert_eq!(table.columns()[0], Column::required("id", ColumnType::Int32));
    let mut scan = table.scan(&[2, 0], 30).unwrap();
    let first = scan.next().unwrap().unwrap();
    let names: Vec<_> = first.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names, ["filler", "id"]);
    let ids = first.column(1).to_data();
    assert_eq!(ids.buffers()[0].typed_data::<i32>()[..3], [0, 1, 2]);
    // Commits made meanwhile are invisible, also to the parts of one scan.
    let parts = table.scan_parts(&[0], 7, 4).unwrap();
    assert!(parts.len() > 1, "{}", parts.len());
    run(&database, "delete from accounts where id >= 50");
    assert_eq!(sizes(scan), [30, 30, 10]);
    assert_eq!(parts.into_iter().flat_map(sizes).sum::<usize>(), 100);
    // Without columns only the number of rows is returned.
    assert_eq!(sizes(table.scan(&[], 20).unwrap()), [20, 20, 10]);
    assert_eq!(database.tables().unwrap().table("accounts").unwrap().row_count(), 50);
    assert_eq!(sizes(table.scan(&[], 0).unwrap()).len(), 50);
}

#[test]
fn rows_are_looked_up_by_the_column_that_is_the_key() {
    let folder = tempfile::tempdir().unwrap();
    let database = fill(&folder.path().join("data"));
    let table = database.tables().unwrap().table("accounts").unwrap();
    assert_eq!(table.key_column(), Some(0));
    let keys = [7, 100, 3, -1].map(Value::Integer);
    let scans = table.scan_keys(&[0], 10, &keys).unwrap();
    let found: Vec<Vec<i32>> = scans
        .into_iter()
        .map(|scan| {
            let batches = scan.map(|batch| batch.unwrap().column(0).to_data());
            batches.flat_map(|ids| ids.buffers()[0].typed_data::<i32>().to_vec()).collect()
        })
        .collect();
    assert_eq!(found, [vec![7], vec![], vec![3], vec![]]);
    assert_eq!(
        table.scan_keys(&[], 10, &keys).unwrap().into_iter().flat_map(sizes).sum::<usize>(),
        2
    );
    assert!(table.scan_keys(&[0], 10, &[]).unwrap().is_empty());
    let refused = table.scan_keys(&[0], 10, &[Value::Text("7".to_owned())]).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::TypeMismatch);
    run(&database, "create table pairs (a int, b int, primary key (a, b))");
    run(&database, "create table heap (a int)");
    for name in ["pairs", "heap"] {
        let table = database.tables().unwrap().table(name).unwrap();
        assert_eq!(table.key_column(), None);
        let refused = table.scan_keys(&[0], 10, &keys).unwrap_err();
        assert_eq!(refused.code(), ErrorCode::InvalidInput);
        assert!(refused.to_string().contains("no single-column key"), "{refused}");
    }
}

#[test]
fn a_table_that_changed_is_not_read_as_what_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let database = fill(&folder.path().join("data"));
    let table = database.tables().unwrap().table("accounts").unwrap();
    run(&database, "alter table accounts drop column filler");
    run(&database, "alter table accounts add column filler int");
    let refused = |columns: &[usize]| table.scan(columns, 100).unwrap_err();
    assert_eq!(refused(&[2]).code(), ErrorCode::InvalidInput);
    assert!(refused(&[2]).to_string().contains("column \"filler\" of table \"accounts\""));
    assert_eq!(refused(&[7]).code(), ErrorCode::InvalidInput);
    assert_eq!(sizes(table.scan(&[1], 100).unwrap()), [100]);
    run(&database, "drop table accounts");
    assert_eq!(refused(&[1]).code(), ErrorCode::NotFound);
    database.close().unwrap();
    assert_eq!(refused(&[1]).code(), ErrorCode::Closed);
}

#[test]
fn a_name_is_a_table_or_a_collection() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    let database = fill(&path);
    run(&database, "create view few as select id from accounts where id < 3");
    database.close().unwrap();
    let database = Database::open_with(&path, &OpenOptions::read_only()).unwrap();
    assert!(matches!(database.relation("NOTES").unwrap(), Relation::Collection(_)));
    assert!(matches!(database.relation("Accounts").unwrap(), Relation::Table(_)));
    for (name, code, reported) in [
        ("few", ErrorCode::InvalidInput, "\"few\" is a view"),
        ("account", ErrorCode::NotFound, "did you mean \"accounts\"?"),
        ("films", ErrorCode::NotFound, "available: \"notes\" and \"accounts\""),
    ] {
        let error = database.relation(name).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert!(error.to_string().contains(reported), "{error}");
    }
}

/// The database of a running program goes away, or another takes its place.
#[test]
fn nothing_is_written_without_a_word_into_a_database_that_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let is_told = |code: ErrorCode, result: folio::Result<()>| {
        let error = result.unwrap_err();
        assert!(error.to_string().contains("was removed or replaced while it was open"), "{error}");
        assert_eq!(error.code(), code);
    };
    for synchronous in [Synchronous::Full, Synchronous::Normal] {
        for is_replaced in [false, true] {
            let path = folder.path().join(format!("{synchronous:?}{is_replaced}"));
            let options = OpenOptions { synchronous, write_behind: None, ..OpenOptions::default() };
            let database = Database::open_with(&path, &options).unwrap();
            let notes = database.collection("notes").unwrap();
            let mut session = database.session().unwrap();
            session.execute("create table t (a int)", &[]).unwrap();
            notes.put("n", &json!({})).unwrap();
            match is_replaced {
                false => fs::remove_dir_all(&path).unwrap(),
                true => {
                    let other = folder.path().join("other");
                    run(&Database::open(&other).unwrap(), "create table t (a int)");
                    fs::rename(&path, folder.path().join(format!("old{synchronous:?}"))).unwrap();
                    fs::rename(&other, &path).unwrap();
                }
            }
            if synchronous == Synchronous::Normal {
                thread::sleep(Duration::from_millis(60)); // as often as the lock looks
            }
            let insert = session.execute("insert into t values (1)", &[]);
            is_told(ErrorCode::Conflict, insert.map(drop));
            is_told(ErrorCode::Conflict, notes.flush());
            let again = session.execute("insert into t values (1)", &[]).map(drop).unwrap_err();
            assert_eq!(again.code(), ErrorCode::Poisoned);
            is_told(ErrorCode::Poisoned, database.close());
            drop((session, notes, database));
            assert_eq!(path.exists(), is_replaced, "nothing is made again");
            assert!(!path.join("collections").exists(), "nor written into another database");
        }
    }
}

/// Half-read answers need no lock, and are read on beside the next writer.
#[test]
fn what_is_left_open_does_not_keep_the_lock_of_a_closed_database() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    let options = OpenOptions { lock_timeout: Duration::from_millis(50), ..OpenOptions::default() };
    let database = Database::open_with(&path, &options).unwrap();
    run(&database, "create table t (a int primary key, b text)");
    let fill = "insert into t select n, repeat('x', 200) from generate_series(1, 20000) as s(n)";
    run(&database, fill);
    let mut session = database.session().unwrap();
    let mut rows = session.execute("select a, b from t", &[]).unwrap().rows.unwrap();
    let mut count = rows.next_batch().unwrap().unwrap().row_count;
    let mut writer = database.session().unwrap();
    writer.execute("begin", &[]).unwrap();
    writer.execute("delete from t", &[]).unwrap();
    database.close().unwrap();
    let ended = writer.execute("commit", &[]).map(drop).unwrap_err();
    assert_eq!(ended.code(), ErrorCode::Closed, "{ended}");

    let other = Database::open_with(&path, &options).unwrap();
    run(&other, "update t set b = 'y'");
    assert!(!other.tables().unwrap().checkpoint().unwrap(), "the answer needs the old pages");
    while let Some(batch) = rows.next_batch().unwrap() {
        count += batch.row_count;
    }
    assert_eq!(count, 20_000);
    drop((rows, session));
    assert!(other.tables().unwrap().checkpoint().unwrap());
    assert_eq!(number(&other, "select count(*) from t where b = 'y'"), 20_000);
}
