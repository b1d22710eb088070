//! Large tables read by several threads: the same rows in the same order as by one, errors
//! where they belong, an end when the statement is to end.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use folio::{Database, OpenOptions, Session, Value};
use folio_file::{FileSystem, MemoryFileSystem};

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

/// Rows enough for several parts.
const ROWS: i64 = 400_000;

/// Answers that show an order, or a sum whose last bits do.
const STATEMENTS: [&str; 9] = [
    "select id from t",
    "select id, name from t order by id",
    "select id from t where n % 1000 = 7",
    "select id, name from t where name like '%99%' and n > 50",
    "select sum(x), avg(x), count(*), min(name) from t",
    "select n % 7, sum(x), array_agg(id) filter (where n % 5000 = 0) from t group by n % 7",
    "select a.id, b.name from t a join t b on b.id = a.n where a.n % 300 = 1",
    "select count(*) from t where x > (select avg(x) from t)",
    "select id from t where n < 0",
];

fn open() -> Result<Session> {
    let files: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    let options = OpenOptions { file_system: Some(files), ..OpenOptions::default() };
    let mut session = Database::open_with("/data", &options)?.session()?;
    let text = format!(
        "create table t (id int primary key, n int, x double precision, name text);
         insert into t select g, g * 7919 % 10007, g / 7.0::float8, 'name ' || g
         from generate_series(1, {ROWS}) as s(g)"
    );
    session.execute(&text, &[])?;
    Ok(session)
}

fn rows(session: &mut Session, text: &str) -> Result<Vec<Vec<Value>>> {
    Ok(session.execute(text, &[])?.rows.ok_or("there are rows")?.collect_rows()?)
}

#[test]
fn answers_are_the_same_with_any_number_of_threads() -> Result {
    let mut session = open()?;
    for text in STATEMENTS {
        session.set_threads(1);
        let expected = rows(&mut session, text)?;
        for threads in [2, 3, 8] {
            session.set_threads(threads);
            assert!(
                rows(&mut session, text)? == expected,
                "{text}: differs with {threads} threads"
            );
        }
    }
    Ok(())
}

#[test]
fn an_error_in_a_part_is_the_statements() -> Result {
    let mut session = open()?;
    for threads in [1, 3] {
        session.set_threads(threads);
        let error = rows(&mut session, "select id from t where 10 / (id - 300000) > 20")
            .expect_err("a row divides by zero")
            .to_string();
        assert!(error.contains("division by zero"), "{threads} threads: {error}");
        assert_eq!(rows(&mut session, "select count(*) from t")?, [[Value::Integer(ROWS)]]);
    }
    Ok(())
}

#[test]
fn a_statement_ends_where_it_is_and_so_do_its_threads() -> Result {
    let mut session = open()?;
    session.set_threads(3);
    for polls in [0, 1, 2, 5, 10, 20, 40] {
        let asked = AtomicU64::new(0);
        let is_to_end = move || asked.fetch_add(1, Ordering::Relaxed) >= polls;
        session.set_watch(Some(Arc::new(is_to_end)));
        let error = rows(&mut session, STATEMENTS[0]).expect_err("the statement is to end");
        assert!(error.to_string().contains("cancelled"), "after {polls}: {error}");
        session.set_watch(None);
        assert_eq!(rows(&mut session, "select count(*) from t")?, [[Value::Integer(ROWS)]]);
    }
    Ok(())
}

#[test]
fn rows_may_be_left_lying_and_outlive_the_session() -> Result {
    let mut session = open()?;
    session.set_threads(3);
    for taken in 0..3 {
        let mut some = session.execute(STATEMENTS[0], &[])?.rows.ok_or("there are rows")?;
        for _ in 0..taken {
            assert!(some.next_batch()?.is_some());
        }
    }
    let mut late = session.execute("select id from t", &[])?.rows.ok_or("there are rows")?;
    session.execute("delete from t where id > 10", &[])?;
    assert_eq!(rows(&mut session, "select count(*) from t")?, [[Value::Integer(10)]]);
    drop(session);
    assert_eq!(late.collect_rows()?.len() as i64, ROWS, "as of the moment it began");
    Ok(())
}

#[test]
fn a_transaction_reads_its_own_changes() -> Result {
    let mut session = open()?;
    session.set_threads(3);
    session.execute("begin; update t set n = -1 where id % 2 = 0", &[])?;
    let count = rows(&mut session, "select count(*), sum(n) from t where n = -1")?;
    assert_eq!(count, [[Value::Integer(ROWS / 2), Value::Integer(-ROWS / 2)]]);
    Ok(())
}
