//! Limits of time and memory in every phase of a statement; and queries used more than once, which
//! are computed once.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use folio::{Database, ErrorCode, ScalarFunction, Session, Value};
use tempfile::TempDir;

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

fn open() -> Result<(TempDir, Database, Session)> {
    let folder = tempfile::tempdir()?;
    let database = Database::open(folder.path().join("data"))?;
    let session = database.session()?;
    Ok((folder, database, session))
}

fn rows(session: &mut Session, text: &str) -> folio::Result<Vec<Vec<Value>>> {
    match session.execute(text, &[])?.rows {
        Some(mut rows) => Ok(rows.collect_rows()?),
        None => Ok(Vec::new()),
    }
}

fn number(session: &mut Session, text: &str) -> Result<i64> {
    match rows(session, text)?.first().and_then(|row| row.first()) {
        Some(Value::Integer(number)) => Ok(*number),
        other => Err(format!("{text}: {other:?}").into()),
    }
}

fn code(session: &mut Session, text: &str) -> Option<ErrorCode> {
    rows(session, text).err().map(|error| error.code())
}

const ENDLESS: &str =
    "select count(*) from generate_series(1, 1000000) a, generate_series(1, 1000000) b";

#[test]
fn a_statement_ends_in_its_time() -> Result {
    let (_folder, database, mut session) = open()?;
    rows(&mut session, "set statement_timeout to '100ms'")?;
    assert_eq!(number(&mut session, "show statement_timeout")?, 100);
    let begun = Instant::now();
    assert_eq!(code(&mut session, ENDLESS), Some(ErrorCode::Timeout));
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    // Each statement of a text has its own time, and the session continues.
    assert_eq!(number(&mut session, "select 1; select 2; select 3")?, 3);
    rows(&mut session, "reset statement_timeout")?;
    assert_eq!(number(&mut session, "show statement_timeout")?, 0);
    // In the part that runs nothing.
    session.set_timeout(Some(Duration::from_nanos(1)));
    assert_eq!(code(&mut session, "explain select 1"), Some(ErrorCode::Timeout));
    session.set_timeout(None);
    assert_eq!(code(&mut session, "explain select 1"), None);
    // ZiQL too.
    database.apply_schema("U ( name: str )", false)?;
    session.set_timeout(Some(Duration::from_nanos(1)));
    let error = session.ziql("GRAB U", &[]).and_then(|mut rows| Ok(rows.to_json()?)).err();
    assert_eq!(error.map(|error| error.code()), Some(ErrorCode::Timeout));
    for (text, is_right) in [
        ("set statement_timeout to '2min'", true),
        ("set statement_timeout = 5", true),
        ("set statement_timeout = 0", true),
        ("set statement_timeout = 'soon'", false),
        ("set memory_limit = '2 parsecs'", false),
    ] {
        session.set_timeout(None);
        let said = code(&mut session, text);
        assert_eq!(said, (!is_right).then_some(ErrorCode::InvalidInput), "{text}");
    }
    Ok(())
}

#[test]
fn a_statement_that_is_asked_to_end_ends_before_it_runs() -> Result {
    let (_folder, _database, mut session) = open()?;
    session.set_watch(Some(Arc::new(|| true)));
    assert_eq!(code(&mut session, "explain select 1"), Some(ErrorCode::Cancelled));
    session.set_watch(None);
    assert_eq!(code(&mut session, "explain select 1"), None);
    Ok(())
}

#[test]
fn a_statement_holds_no_more_than_it_may() -> Result {
    let (_folder, _database, mut session) = open()?;
    rows(&mut session, "set memory_limit to '4MB'")?;
    assert_eq!(number(&mut session, "show memory_limit")?, 4 << 20);
    let series = "generate_series(1, 1000000) s(n)";
    // Data that can be written to files is.
    assert_eq!(
        number(
            &mut session,
            &format!("select count(*) from (select n from {series} order by n desc) d")
        )?,
        1_000_000
    );
    for text in [
        format!("select sum(n) over () from {series}"),
        format!("select count(*) from (values (1)) v(a) left join {series} on a < n"),
        format!("select {}", vec!["1"; 20_000].join(", ")),
    ] {
        let error = rows(&mut session, &text).err().ok_or("it holds as much as it likes")?;
        assert_eq!(error.code(), ErrorCode::MemoryLimit, "{text:.80}: {error}");
    }
    rows(&mut session, "set memory_limit to default")?;
    assert_eq!(code(&mut session, &format!("select sum(n) over () from {series} limit 1")), None);
    Ok(())
}

#[test]
fn a_named_query_is_computed_once() -> Result {
    let (_folder, database, mut session) = open()?;
    let count = Arc::new(AtomicI64::new(0));
    let ticks = Arc::clone(&count);
    let body = move |_: &[Value]| -> std::result::Result<Value, String> {
        Ok(Value::Integer(ticks.fetch_add(1, Ordering::Relaxed)))
    };
    database.create_function(ScalarFunction {
        name: "tick".to_owned(),
        parameters: Vec::new(),
        returns: folio::ColumnType::Int64,
        is_volatile: true,
        takes_null: false,
        on_one_thread: false,
        body: Arc::new(body),
    })?;
    let named = "with c as (select tick() as x from generate_series(1, 10))";
    let same = format!("{named} select count(*) from c a join c b on a.x = b.x");
    assert_eq!(number(&mut session, &same)?, 10);
    assert_eq!(count.swap(0, Ordering::Relaxed), 10);
    let parts =
        format!("{named} select (select max(x) from c) - (select max(x) from c) from c limit 1");
    assert_eq!(number(&mut session, &parts)?, 0);
    assert_eq!(count.swap(0, Ordering::Relaxed), 10);
    // Only as far as it is read.
    let first = "with c as (select tick() as x from generate_series(1, 1000000) union all select 0)
        select x from c union all select x from c limit 1";
    assert_eq!(rows(&mut session, first)?.len(), 1);
    assert!(count.swap(0, Ordering::Relaxed) < 100_000);
    Ok(())
}

#[test]
fn shared_queries_answer_as_if_each_place_had_its_own() -> Result {
    let (_folder, _database, mut session) = open()?;
    rows(&mut session, "create table t (id int primary key, parent int, name text)")?;
    rows(
        &mut session,
        "insert into t select g, g / 2, 'n' || g from generate_series(1, 3000) s(g)",
    )?;
    let grouped =
        "with g as (select parent, count(*) as n, min(name) as name from t group by parent)";
    let texts = [
        format!("{grouped} select count(*), sum(a.n), max(b.name) from g a join g b on a.parent = b.n"),
        format!("{grouped} select a.parent from g a where a.n = (select max(n) from g) order by 1 limit 3"),
        format!("{grouped}, h as (select parent from g union select n from g) select count(*) from h, h i where h.parent = i.parent"),
        format!("{grouped} select count(*) from t where parent in (select parent from g where n > 1) and id not in (select n from g)"),
        "with recursive r as (select 1 as n union all
            (with s as (select n from r union all select n from r) select a.n + 1 from s a where a.n < 5 and exists (select 1 from s b where b.n = a.n)))
            select count(*), max(n) from r".to_owned(),
    ];
    let expected = texts
        .map(|text| (rows(&mut session, &text).map_err(|error| format!("{text}: {error}")), text));
    for (expected, text) in expected {
        let expected = expected?;
        session.set_work_memory(1);
        assert_eq!(rows(&mut session, &text)?, expected, "{text}");
        session.set_work_memory(256 << 20);
        session.set_level(folio::Level::None);
        assert_eq!(rows(&mut session, &text)?, expected, "{text}");
        session.set_level(folio::Level::Full);
    }
    // 1 + 2 + 4 + 8 + 16: each round reads the one before twice.
    let last = "with recursive r as (select 1 as n union all
        (with s as (select n from r union all select n from r) select n + 1 from s where n < 5)) select count(*) from r";
    assert_eq!(number(&mut session, last)?, 31);
    let plan = rows(&mut session, &format!("explain {grouped} select 1 from g a, g b"))?;
    let shared = plan.iter().filter(|row| format!("{row:?}").contains("shared g")).count();
    let scans = plan.iter().filter(|row| format!("{row:?}").contains("scan t")).count();
    assert_eq!((shared, scans), (2, 1), "{plan:?}");
    Ok(())
}

#[test]
fn names_in_errors_are_short_and_obey_nothing() -> Result {
    let (_folder, database, mut session) = open()?;
    let long = "x".repeat(5_000);
    for text in [
        format!("select {long}"),
        format!("select * from \"{long}\""),
        format!("select '{long}'::int"),
        "select * from \"a\u{1b}[31mb\"".to_owned(),
        "select \u{1b}]0;title\u{7} from t".to_owned(),
        "select 'a\u{1b}[2J'::int".to_owned(),
    ] {
        let error = rows(&mut session, &text).err().ok_or("it is refused")?.to_string();
        assert!(error.len() < 1_000, "{} bytes for {text:.60}", error.len());
        let is_plain = |character: char| character == '\n' || !character.is_control();
        assert!(error.chars().all(is_plain), "{error:?}");
    }
    for text in [format!("GRAB {long}"), "GRAB `a\u{1b}[31m`".to_owned()] {
        let error = session.ziql(&text, &[]).err().ok_or("it is refused")?.to_string();
        assert!(error.len() < 1_000 && !error.contains('\u{1b}'), "{error:?}");
    }
    drop(database);
    Ok(())
}
