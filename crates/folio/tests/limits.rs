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

/// 400,000 rows in the order of (k, n), with one k; and the same number of distinct keys.
fn with_rows() -> Result<(TempDir, Database, Session)> {
    let (folder, database, mut session) = open()?;
    for text in [
        "create table one (k int, n int, primary key (k, n))",
        "insert into one select 1, n from generate_series(1, 400000) s(n)",
        "create table many (n int primary key, name text)",
        "insert into many select n, 'name ' || n from generate_series(1, 400000) s(n)",
        "create table parent (n int primary key)",
        "insert into parent select n from generate_series(1, 100000) s(n)",
        "create table child (n int references parent)",
    ] {
        rows(&mut session, text)?;
    }
    rows(&mut session, "set memory_limit to '4MB'")?;
    Ok((folder, database, session))
}

/// What has to stay in memory is refused when it exceeds the limit, whichever operator holds it.
#[test]
fn every_operator_counts_what_it_holds() -> Result {
    let (_folder, _database, mut session) = with_rows()?;
    let mut failures = Vec::new();
    for text in [
        // Groupings of one group.
        "select array_agg(n) from many",
        "select array_agg(n order by n desc) from many",
        "select length(string_agg(name, ',')) from many",
        "select length(json_agg(n)::text) from many",
        "select length(json_object_agg(name, n)::text) from many",
        "select median(n) from many",
        "select mode() within group (order by n) from many",
        "select percentile_cont(0.5) within group (order by n) from many",
        "select percentile_disc(0.5) within group (order by n) from many",
        "select count(distinct name) from many",
        "select k, count(distinct n) from one group by k",
        "select k, array_agg(n) from one group by k order by k",
        "select k, array_agg(n order by n desc) from one group by k order by k",
        // The first rows of an order.
        "select count(*) from (select repeat(name, 5) as t from many order by t limit 200000) d",
        // Joins whose right side has one key, or an order, or is needed whole.
        "select count(*) from many a join (select k, n from one where n > 0) b on a.n % 1 + 1 = b.k",
        "select max(b.n) from many a full join one b on a.n = b.k",
        "select count(*) from parent where n not in (select n + 1 from many)",
        "select count(b.n) from parent a left join many b on a.n < length(b.name) where a.n < 3",
        // Windows.
        "select max(r) from (select row_number() over () as r from many) d",
        "select max(r) from (select lag(n) over (order by n) as r from many) d",
        "select max(r) from (select first_value(n) over (order by n) as r from many) d",
        "select max(r) from (select sum(n) over (partition by n % 3) as r from many) d",
        // Sets.
        "select count(*) from (select n from many except all select n from parent
            except all select n from many) d",
        "select count(*) from (select n from many intersect all select n from many) d",
        // Keys so far apart that each is stored.
        "with recursive r as (select n * 1000 as n from many union select n from r where n < 0)
            select count(*) from r",
        "with recursive r as (select name from many union all select name from r where name = '')
            select count(*) from r",
        // Table functions.
        "select count(*) from json_array_elements(('[' || repeat('1,', 400000) || '1]')::json) e",
        "select count(*) from unnest(array(select n from many)) e",
        // Subqueries, and rows to change.
        "select (select array_agg(n) from many) is null",
        "insert into child select n from parent",
        "insert into many select n + 400000, name from many returning n",
        "update many set name = name || 'x'",
        "delete from many where name <> 'name 1'",
        "merge into many m using many o on m.n = o.n when matched then delete",
    ] {
        match rows(&mut session, text) {
            Err(error) if error.code() == ErrorCode::MemoryLimit => {}
            Err(error) => failures.push(format!("{text}: {error}")),
            Ok(rows) => failures.push(format!("{text}: {:.100}", format!("{rows:?}"))),
        }
    }
    // Nothing is counted that is gone.
    assert_eq!(number(&mut session, "select count(*) from many")?, 400_000);
    assert!(failures.is_empty(), "{} of them:\n{}", failures.len(), failures.join("\n"));
    Ok(())
}

/// What can go to files does, however many operators share the memory.
#[test]
fn what_can_leave_the_memory_leaves_it() -> Result {
    let (_folder, _database, mut session) = with_rows()?;
    for (text, expected) in [
        ("select count(*) from (select name from many order by name desc) d", 400_000),
        ("select count(*) from (select distinct name from many) d", 400_000),
        ("select count(*) from (select name from many union select name || 'x' from many) d", 800_000),
        ("select count(*) from (select name, count(*) from many group by name) d", 400_000),
        ("select count(*) from (select n, array_agg(name) from many group by n % 50000, n) d", 400_000),
        ("select count(*) from many a join many b on a.name = b.name", 400_000),
        ("select count(*) from many a left join (select n, name from many) b on a.name = b.name || 'x'", 400_000),
        ("with w as (select name from many) select (select count(*) from w) + (select count(*) from w)", 800_000),
        ("select count(*) from (select distinct b.name, count(*) from many a join many b on a.name = b.name
            group by b.name order by b.name) d", 400_000),
        ("select count(*) from generate_series(1, 3000000)", 3_000_000),
    ] {
        let found = number(&mut session, text).map_err(|error| format!("{text}: {error}"))?;
        assert_eq!(found, expected, "{text}");
    }
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
