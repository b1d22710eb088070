//! Session features outside the conformance files: parameters, prepared statements, collections
//! with tables, interruption, statements of unusual size.

use std::error::Error;
use std::sync::atomic::Ordering;

use folio::{Database, ErrorCode, Many, Parameters, Session, Value};
use serde_json::json;
use tempfile::TempDir;

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

struct Fixture {
    database: Database,
    session: Session,
    _folder: TempDir,
}

fn fixture(setup: &str) -> Result<Fixture> {
    let folder = tempfile::tempdir()?;
    let database = Database::open(folder.path().join("data"))?;
    let mut session = database.session()?;
    session.execute(setup, &[])?;
    Ok(Fixture { database, session, _folder: folder })
}

fn rows(session: &mut Session, text: &str, parameters: &[Value]) -> Result<Vec<Vec<Value>>> {
    let answer = session.execute(text, parameters)?;
    Ok(answer.rows.ok_or("there are rows")?.collect_rows()?)
}

const PEOPLE: &str = "create table people (id int primary key, name text, born date);
    insert into people values (1, 'Ann', '1990-01-31'), (2, 'Bob', null)";

#[test]
fn parameters_are_values_and_never_text() -> Result {
    let mut fixture = fixture(PEOPLE)?;
    let hostile = Value::from("x' or 1 = 1 --");
    let session = &mut fixture.session;
    assert!(rows(session, "select * from people where name = ?", &[hostile])?.is_empty());
    let found = rows(session, "select name from people where id = $1", &[Value::Integer(1)])?;
    assert_eq!(found, [[Value::from("Ann")]]);
    let text = "select id from people where name = :name and born < :day";
    let parameters = [Value::from("Ann"), Value::from("2000-01-01")];
    assert_eq!(rows(session, text, &parameters)?, [[Value::Integer(1)]]);
    let error = rows(session, "select * from people where id = ?", &[]).expect_err("no value");
    assert!(error.to_string().contains("parameter 1 has no value"), "{error}");
    Ok(())
}

/// Runs a statement for each of several values, as a whole.
fn run_many(session: &mut Session, text: &str, values: &[i64]) -> folio::Result<u64> {
    let (mut prepared, mut many) = (session.prepare(text)?, Many::default());
    let ran = values.iter().try_for_each(|value| {
        let mut parameters = Parameters::default();
        parameters.push(Value::Integer(*value), None);
        many.run(session, &mut prepared, &parameters)
    });
    let ended = many.end(session, ran.is_ok());
    ran.and(ended)
}

#[test]
fn a_statement_for_many_sets_of_parameters_is_all_or_nothing() -> Result {
    let mut fixture = fixture("create table t (a int primary key); insert into t values (10)")?;
    fixture.database.collection("docs")?.put("d10", &json!({"n": 10}))?;
    let session = &mut fixture.session;
    let insert = "insert into t values (?)";
    let keys = |session: &mut Session| -> Result<Vec<Value>> {
        let rows = rows(session, "select a from t order by a", &[])?;
        Ok(rows.into_iter().flatten().collect())
    };
    let integers = |keys: &[i64]| keys.iter().copied().map(Value::Integer).collect::<Vec<_>>();
    assert_eq!(run_many(session, insert, &[])?, 0);
    assert_eq!(run_many(session, insert, &[11, 12])?, 2);
    let error = run_many(session, insert, &[13, 10, 14]).expect_err("a key twice");
    assert_eq!(error.code(), ErrorCode::Conflict);
    assert!(error.to_string().starts_with("element 2: "), "{error}");
    assert!(!session.is_in_transaction());
    assert_eq!(keys(session)?, integers(&[10, 11, 12]));

    // The transaction that is open goes on without them.
    session.execute("begin; insert into t values (20)", &[])?;
    run_many(session, insert, &[21, 20]).expect_err("a key twice");
    assert_eq!(run_many(session, insert, &[22])?, 1);
    session.execute("commit", &[])?;
    assert_eq!(keys(session)?, integers(&[10, 11, 12, 20, 22]));

    session.set_autocommit(false);
    run_many(session, insert, &[30, 30]).expect_err("a key twice");
    assert!(!session.is_in_transaction());
    assert_eq!(run_many(session, insert, &[31])?, 1);
    session.execute("rollback", &[])?;
    assert_eq!(keys(session)?, integers(&[10, 11, 12, 20, 22]));
    session.set_autocommit(true);

    // A transaction changes no collection.
    let put = "insert into docs (_id, n) values ('d' || ?, 1)";
    let error = run_many(session, put, &[11, 10, 12]).expect_err("an id twice");
    let start = "element 2 (what those before it changed stays): ";
    assert!(error.to_string().starts_with(start), "{error}");
    let count = rows(session, "select count(*) from docs", &[])?;
    assert_eq!(count, [[Value::Integer(2)]]);
    Ok(())
}

#[test]
fn question_marks_count_by_their_place_in_the_text() -> Result {
    let mut fixture = fixture(PEOPLE)?;
    let session = &mut fixture.session;
    let (one, two) = (|| Value::Integer(1), || Value::Integer(2));
    let (x, y) = (|| Value::from("x"), || Value::from("y"));
    // FROM and WHERE are bound before SELECT, WHERE before SET, and WITH queries where they are
    // used.
    let cases: [(&str, &[Value], &[Value]); 8] = [
        ("select ?, id from people where id = ?", &[x(), one()], &[x(), one()]),
        ("select ? from (select ? as b) s", &[x(), y()], &[x()]),
        ("with c as (select ? as k) select a.k, ? from c a, c b", &[x(), y()], &[x(), y()]),
        (
            "select ? from people where id = ? group by id having count(*) < ? order by id limit ?",
            &[x(), one(), two(), one()],
            &[x()],
        ),
        (
            "update people set name = ? where id = ? returning name, ?",
            &[x(), one(), y()],
            &[x(), y()],
        ),
        (
            "select '{\"a\": 1}'::jsonb ? 'a', ? from people where id = ?",
            &[x(), two()],
            &[Value::Boolean(true), x()],
        ),
        ("select ?2, ?1", &[x(), y()], &[y(), x()]),
        ("select ?, id from people where id = ? -- ?", &[y(), two()], &[y(), two()]),
    ];
    for (text, given, expected) in cases {
        assert_eq!(rows(session, text, given)?, [expected], "{text}");
    }
    Ok(())
}

#[test]
fn prepared_statements_follow_definitions() -> Result {
    let mut fixture = fixture(PEOPLE)?;
    let session = &mut fixture.session;
    let mut prepared = session.prepare("select * from people where id = ?")?;
    let one = [Value::Integer(1)];
    let mut first = session.execute_prepared(&mut prepared, &one)?.rows.ok_or("rows")?;
    assert_eq!(first.collect_rows()?[0].len(), 3);
    session.execute("alter table people add column age int default 7", &[])?;
    let mut second = session.execute_prepared(&mut prepared, &one)?.rows.ok_or("rows")?;
    assert_eq!(second.collect_rows()?[0][3], Value::Integer(7));
    assert!(session.prepare("select 1; select 2").is_err());
    Ok(())
}

#[test]
fn a_number_beyond_the_key_is_no_row() -> Result {
    let mut fixture = fixture(PEOPLE)?;
    let huge = [Value::Integer(i64::MAX)];
    let session = &mut fixture.session;
    assert!(rows(session, "select * from people where id = ?", &huge)?.is_empty());
    assert_eq!(rows(session, "select id from people where id < ?", &huge)?.len(), 2);
    assert!(rows(session, "select id from people where id > ?", &huge)?.is_empty());
    Ok(())
}

#[test]
fn collections_join_tables() -> Result {
    let mut fixture = fixture(
        "create table cities (id int primary key, name text);
        insert into cities values (1, 'Oslo'), (2, 'Bergen')",
    )?;
    let users = fixture.database.collection("users")?;
    users.put("u1", &json!({"name": "Ann", "city": 1, "score": 1}))?;
    users.put("u2", &json!({"name": "Bob", "city": 2, "score": 2.5, "tags": ["a"]}))?;
    let session = &mut fixture.session;
    let text = "select u._id, c.name from users u join cities c on c.id = u.city order by u._id";
    let found = rows(session, text, &[])?;
    assert_eq!(found[1], [Value::from("u2"), Value::from("Bergen")]);
    // The column widened to hold both; a new member becomes a column.
    assert_eq!(rows(session, "select sum(score) from users", &[])?, [[Value::Float(3.5)]]);
    assert_eq!(
        rows(session, "select tags->>0 from users where _id = 'u2'", &[])?,
        [[Value::from("a")]]
    );
    users.put("u3", &json!({"name": "Cid", "age": 5}))?;
    assert_eq!(
        rows(session, "select age from users where _id = 'u3'", &[])?,
        [[Value::Integer(5)]]
    );
    let answer = session.execute("delete from users where score > 2", &[])?;
    assert_eq!(answer.count, Some(1));
    assert!(users.get("u2")?.is_none());
    session.execute("insert into users (_id, name, age) values ('u4', 'Dot', 9)", &[])?;
    assert_eq!(users.get("u4")?.ok_or("inserted")?.raw(), r#"{"_id":"u4","name":"Dot","age":9}"#);
    session.execute("update users set age = age + 1 where _id = 'u4'", &[])?;
    assert_eq!(users.get("u4")?.ok_or("updated")?.raw(), r#"{"_id":"u4","name":"Dot","age":10}"#);
    Ok(())
}

/// Documents come in file order. The sort by id was once removed, as if they came in key order.
#[test]
fn documents_are_sorted_by_their_id() -> Result {
    let mut fixture = fixture(PEOPLE)?;
    let notes = fixture.database.collection("notes")?;
    for (id, n) in [("b", 1), ("c", 2), ("a", 3), ("d", 4)] {
        notes.put(id, &json!({"n": n}))?;
    }
    let session = &mut fixture.session;
    let ids = |found: Vec<Vec<Value>>| -> Vec<Value> { found.into_iter().flatten().collect() };
    let texts = |ids: &[&str]| -> Vec<Value> { ids.iter().map(|id| Value::from(*id)).collect() };
    for (text, expected) in [
        ("select _id from notes order by _id", &["a", "b", "c", "d"][..]),
        ("select _id from notes order by _id limit 2", &["a", "b"]),
        ("select _id from notes order by _id desc", &["d", "c", "b", "a"]),
        ("select _id from notes limit 2 offset 1", &["c", "a"]),
        ("select n::text from notes offset 3", &["4"]),
        ("select _id from notes where _id > 'a' order by _id", &["b", "c", "d"]),
        ("select _id from notes where _id between 'b' and 'c' order by _id desc limit 1", &["c"]),
    ] {
        assert_eq!(ids(rows(session, text, &[])?), texts(expected), "{text}");
    }
    Ok(())
}

#[test]
fn a_table_a_collection_and_files_join_in_one_statement() -> Result {
    let mut fixture = fixture(PEOPLE)?;
    let visits = fixture.database.collection("visits")?;
    visits.put("v1", &json!({"person": 1, "city": "Oslo"}))?;
    visits.put("v2", &json!({"person": 2, "city": "Bergen"}))?;
    visits.put("v3", &json!({"person": 1, "city": "Bergen"}))?;
    let folder = fixture._folder.path();
    let (csv, lines) = (folder.join("cities.csv"), folder.join("rain.jsonl"));
    std::fs::write(&csv, "name,people\nOslo,717710\nBergen,291940\n")?;
    std::fs::write(
        &lines,
        "{\"city\":\"Bergen\",\"days\":202}\n{\"city\":\"Oslo\",\"days\":113}\n",
    )?;
    let text = format!(
        "select p.name, c.name, c.people, r.days
         from people p
         join visits v on v.person = p.id
         join '{}' c on c.name = v.city
         join '{}' r on r.city = c.name
         order by p.name, c.name",
        csv.display(),
        lines.display()
    );
    let row = |person: &str, city: &str, people, days| {
        vec![person.into(), city.into(), Value::Integer(people), Value::Integer(days)]
    };
    let expected = [
        row("Ann", "Bergen", 291_940, 202),
        row("Ann", "Oslo", 717_710, 113),
        row("Bob", "Bergen", 291_940, 202),
    ];
    assert_eq!(rows(&mut fixture.session, &text, &[])?, expected);
    Ok(())
}

#[test]
fn an_interrupt_ends_the_statement_and_nothing_else() -> Result {
    let mut fixture = fixture(PEOPLE)?;
    let session = &mut fixture.session;
    let interrupt = session.interrupt();
    let endless = "with recursive n (i) as (select 1 union all select i + 1 from n where i > 0)
        select count(*) from n";
    let waker = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(100));
        interrupt.store(true, Ordering::Relaxed);
    });
    let answer = session.execute(endless, &[])?;
    let error = answer.rows.ok_or("rows")?.collect_rows().expect_err("it never ends by itself");
    assert_eq!(error.code(), ErrorCode::Cancelled);
    waker.join().expect("the waker wakes");
    assert_eq!(rows(session, "select count(*) from people", &[])?, [[Value::Integer(2)]]);
    Ok(())
}

#[test]
fn large_statements_run_and_absurd_ones_are_refused() -> Result {
    let mut fixture = fixture(PEOPLE)?;
    let session = &mut fixture.session;
    let sum = vec!["1"; 10_000].join(" + ");
    assert_eq!(rows(session, &format!("select {sum}"), &[])?, [[Value::Integer(10_000)]]);
    let columns = vec!["id"; 10_000].join(" + ");
    let found = rows(session, &format!("select {columns} from people where id = 2"), &[])?;
    assert_eq!(found, [[Value::Integer(20_000)]]);
    let terms = vec!["id = 1"; 10_000].join(" or ");
    assert_eq!(rows(session, &format!("select id from people where {terms}"), &[])?.len(), 1);
    let nested = format!("select {}1{}", "(".repeat(10_000), ")".repeat(10_000));
    assert_eq!(rows(session, &nested, &[])?, [[Value::Integer(1)]]);
    let text = format!("select '{}'", "x".repeat(1 << 20));
    assert_eq!(rows(session, &text, &[])?.len(), 1);
    let absurd = format!("select {}1{}", "(".repeat(1_000_000), ")".repeat(1_000_000));
    assert!(rows(session, &absurd, &[]).is_err());
    Ok(())
}

#[test]
fn nested_groupings_are_planned_in_time() {
    // Without optimization a call takes many times what it takes in a program.
    let ask = || {
        let setup = "create table t (a text); insert into t values ('x'), ('x'), ('y')";
        let mut fixture = fixture(setup).unwrap();
        let mut nested = "t".to_owned();
        for _ in 0..32 {
            nested = format!(
                "(select t.a, count(*) as n from t, {nested} b where t.a = b.a group by t.a)"
            );
        }
        let text = format!("select count(*) from {nested} q");
        assert_eq!(rows(&mut fixture.session, &text, &[]).unwrap(), [[Value::Integer(2)]]);
    };
    let thread = std::thread::Builder::new().stack_size(64 << 20).spawn(ask);
    thread.unwrap().join().unwrap();
}

#[test]
fn tables_survive_closing() -> Result {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("data");
    let database = Database::open(&path)?;
    database.session()?.execute(PEOPLE, &[])?;
    database.close()?;
    drop(database);
    let database = Database::open(&path)?;
    let mut session = database.session()?;
    assert_eq!(rows(&mut session, "select count(*) from people", &[])?, [[Value::Integer(2)]]);
    Ok(())
}

#[test]
fn two_sessions_see_commits_only() -> Result {
    let mut fixture = fixture(PEOPLE)?;
    let mut other = fixture.database.session()?;
    let session = &mut fixture.session;
    session.execute("begin; insert into people values (3, 'Cid', null)", &[])?;
    assert_eq!(rows(session, "select count(*) from people", &[])?, [[Value::Integer(3)]]);
    assert_eq!(rows(&mut other, "select count(*) from people", &[])?, [[Value::Integer(2)]]);
    session.execute("commit", &[])?;
    assert_eq!(rows(&mut other, "select count(*) from people", &[])?, [[Value::Integer(3)]]);
    Ok(())
}

#[test]
fn a_setting_lasts_as_long_as_its_session() -> Result {
    let mut fixture = fixture("")?;
    let session = &mut fixture.session;
    session.execute("set threads to 3", &[])?;
    for _ in 0..2 {
        assert_eq!(rows(session, "show threads", &[])?, [[Value::Integer(3)]]);
    }
    let mut alone = |text| session.sql_alone(text, &Parameters::default());
    let mut inside = alone("set threads = 7; show threads")?.rows.ok_or("rows")?;
    assert_eq!(inside.collect_rows()?, [[Value::Integer(7)]]);
    assert!(alone("set threads = 7; select * from nowhere").is_err());
    assert_eq!(rows(session, "show threads", &[])?, [[Value::Integer(3)]]);
    session.execute("reset threads", &[])?;
    let count = std::thread::available_parallelism()?.get() as i64;
    assert_eq!(rows(session, "show threads", &[])?, [[Value::Integer(count)]]);
    Ok(())
}

/// An operator of EXPLAIN ANALYZE: its words, its rows, and its milliseconds.
type Step = (String, u64, f64);

/// The operators of EXPLAIN ANALYZE, and the milliseconds of the whole.
fn analyzed(session: &mut Session, text: &str) -> Result<(Vec<Step>, f64)> {
    let lines = rows(session, text, &[])?.into_iter().flatten();
    let mut lines: Vec<String> =
        lines.map(|line| folio::format_value(&line, &folio::ColumnType::Text)).collect();
    let sum = lines.pop().ok_or("a last line")?;
    let (_, time) = sum.split_once(" rows in ").ok_or("the whole")?;
    let mut steps = Vec::new();
    for line in lines.iter().filter(|line| !line.trim().starts_with("query ")) {
        let (words, did) = line.rsplit_once(" (").ok_or_else(|| format!("no times: {line}"))?;
        let (rows, time) = did.split_once(" row").ok_or_else(|| format!("no rows: {line}"))?;
        let time = time.trim_start_matches('s').trim_start_matches(" in ").trim_end_matches(" ms)");
        steps.push((words.trim().to_owned(), rows.replace(',', "").parse()?, time.parse()?));
    }
    Ok((steps, time.trim_end_matches(" ms").parse()?))
}

#[test]
fn analyzed_plans_say_what_each_operator_did_on_any_number_of_threads() -> Result {
    let setup = "create table cities (id int primary key, name text);
        insert into cities select n, 'city ' || n from generate_series(0, 9) as s(n);
        create table items (id int primary key, city int, n int);
        insert into items select n, n % 20, n % 100 from generate_series(1, 200000) as s(n)";
    let mut fixture = fixture(setup)?;
    let session = &mut fixture.session;
    let join = "select c.name, count(*) as n from items i join cities c on c.id = i.city
        where i.n + i.id % 2 < 51 group by c.name order by n desc, c.name limit 3";
    for threads in [1, 2] {
        session.execute(&format!("set threads = {threads}"), &[])?;
        let (steps, whole) = analyzed(session, &format!("explain analyze {join}"))?;
        let row_count = |word: &str| {
            let step = steps.iter().find(|(words, ..)| words.starts_with(word));
            step.map(|(_, rows, _)| *rows).ok_or_else(|| format!("no {word}: {steps:?}"))
        };
        let mut count = |condition: &str| -> Result<u64> {
            let text = format!("select count(*) from items where {condition}");
            match rows(session, &text, &[])?.concat()[..] {
                [Value::Integer(count)] => Ok(u64::try_from(count)?),
                _ => Err("one count".into()),
            }
        };
        let (passed, joined) = (count("n + id % 2 < 51")?, count("n + id % 2 < 51 and city < 10")?);
        assert_eq!(row_count("scan items")?, passed, "{steps:?}");
        assert_eq!(row_count("hash inner join")?, joined, "{steps:?}");
        assert_eq!(row_count("aggregate")?, 10, "{steps:?}");
        assert_eq!(row_count("scan cities")?, 10, "{steps:?}");
        let sum: f64 = steps.iter().map(|(.., time)| time).sum();
        // Those of the scan work beside the one that asks; each time is rounded to a microsecond.
        let busy = if threads == 1 { 1 } else { threads + 1 };
        let most = whole * f64::from(busy) + 0.001 * steps.len() as f64;
        assert!(sum > 0.0 && sum <= most, "{sum} of {whole}: {steps:?}");

        let (estimated, _) = analyzed(session, &format!("explain (analyze, estimates) {join}"))?;
        assert_eq!(estimated.len(), steps.len());
        let scan = estimated.iter().find(|(words, ..)| words.starts_with("scan items"));
        assert!(scan.is_some_and(|(words, rows, _)| words.contains("(about ") && *rows == passed));
    }
    let nested = "explain analyze select id, (select count(*) from items i where i.city = c.id
        and i.id < 100 * c.id) from cities c where id < 4";
    let (steps, _) = analyzed(session, nested)?;
    assert!(steps.iter().any(|(words, ..)| words.contains("items")), "{steps:?}");
    Ok(())
}

/// A list without a type of its own takes the one that its use requires, and is a list elsewhere too.
#[test]
fn lists_without_a_type_fit_every_list() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(folder.path().join("mydata")).unwrap();
    let (empty, null) = (Value::List(Vec::new()), Value::List(vec![Value::Null]));
    let nested = Value::List(vec![empty.clone(), Value::Null]);
    let run = |text: &str, value: &Value| {
        let mut parameters = Parameters::default();
        parameters.push(value.clone(), None);
        let mut rows = database.sql(text, &parameters)?.rows.unwrap();
        Ok::<_, folio::Error>(rows.to_json()?)
    };
    let text = "create table a (id integer primary key default 1, t text[], n integer[], m integer[][], j json)";
    database.sql(text, &Parameters::default()).unwrap();
    let docs = database.collection("docs").unwrap();
    docs.put_raw("x", r#"{"tags":["a"],"n":1,"any":[1,"b"]}"#).unwrap();
    for (text, value, expected) in [
        ("insert into a (id, t) values (1, ?) returning t", &empty, r#"[{"t":[]}]"#),
        ("insert into a (id, n) values (2, ?) returning n", &null, r#"[{"n":[null]}]"#),
        ("insert into a (id, m) values (3, ?) returning m", &nested, r#"[{"m":[[],null]}]"#),
        ("insert into a (id, j) values (4, ?) returning j", &nested, r#"[{"j":[[],null]}]"#),
        ("insert into a (id, n) select 5, ? returning n", &empty, r#"[{"n":[]}]"#),
        ("update a set t = ? where id = 5 returning t", &empty, r#"[{"t":[]}]"#),
        ("select id from a where n = ?", &empty, r#"[{"id":5}]"#),
        ("select id from a where id = any(?)", &empty, "[]"),
        ("select id from a where id = any(?)", &null, "[]"),
        ("select count(*) as c from a where id <> all(?)", &empty, r#"[{"c":5}]"#),
        ("select coalesce(t, ?) as t from a where id = 2", &empty, r#"[{"t":[]}]"#),
        ("select n || ? as n from a where id = 5", &null, r#"[{"n":[null]}]"#),
        ("select cardinality(?) as c", &empty, r#"[{"c":0}]"#),
        ("select ? as v", &empty, r#"[{"v":[]}]"#),
        ("select ?::integer[] as v", &null, r#"[{"v":[null]}]"#),
        ("insert into docs (_id, tags) values ('y', ?) returning tags", &empty, r#"[{"tags":[]}]"#),
        ("update docs set tags = ? where _id = 'x' returning tags", &null, r#"[{"tags":[null]}]"#),
        (
            "update docs set \"any\" = ? where _id = 'x' returning \"any\"",
            &empty,
            r#"[{"any":[]}]"#,
        ),
        ("select _id from docs where tags = ?", &empty, r#"[{"_id":"y"}]"#),
        ("select _id from docs where \"any\" = ?", &empty, r#"[{"_id":"x"}]"#),
        ("select _id from docs where n = any(?)", &empty, "[]"),
    ] {
        let found = run(text, value).unwrap_or_else(|error| error.to_string());
        assert_eq!(found, expected, "{text}");
    }
    assert_eq!(docs.get("y").unwrap().unwrap().raw(), r#"{"_id":"y","tags":[]}"#);
}

/// A condition is checked by itself, so its errors are about its own text.
#[test]
fn errors_of_a_condition_show_nothing_else() -> Result {
    let fixture = fixture("create table t (id integer)")?;
    let docs = fixture.database.collection("docs")?;
    docs.put("a", &json!({"n": 1}))?;
    for (condition, expected) in [
        (
            "n = 7) or (true",
            "expected the end of the condition, found `)`\n  n = 7) or (true\n       ^",
        ),
        ("n =", "expected an expression, found the end\n  n =\n     ^"),
        ("(n = 1", "expected ), found the end\n  (n = 1\n        ^"),
        (
            "n = 1 limit 1",
            "expected the end of the condition, found `limit`\n  n = 1 limit 1\n        ^^^^^",
        ),
        (
            "n = 'x",
            "unterminated string literal\n  n = 'x\n      ^  help: close the open quote or comment",
        ),
    ] {
        let scanned = docs.scan_where(condition, &Parameters::default(), folio::Scan::new());
        assert_eq!(scanned.err().ok_or("it is wrong")?.to_string(), expected);
        let options =
            folio::PartitionOptions { filter: Some(condition.to_owned()), ..Default::default() };
        let planned = fixture.database.partitions("docs", 1, &options);
        assert_eq!(planned.unwrap_err().to_string(), expected);
    }
    let deep = format!("{}n = 1{}", "(".repeat(2000), ")".repeat(2000));
    assert_eq!(docs.scan_where(&deep, &Parameters::default(), folio::Scan::new())?.count(), 1);
    Ok(())
}

#[test]
fn parameters_are_stored_in_documents_as_literals_are() -> Result {
    use folio::ColumnType::{Decimal, Json};
    let text = |text: &str| (Value::from(text), None);
    let price = (Value::Decimal(1999), Some(Decimal { precision: 38, scale: 2 }));
    let long =
        (Value::Decimal(1_234_567_890_123_456_789), Some(Decimal { precision: 38, scale: 18 }));
    let cases = [
        ("n", "2", (Value::Integer(2), None), "2"),
        ("n", "19.99", price.clone(), "19.99"),
        ("n", "2.5e0", (Value::Float(2.5), None), "2.5"),
        ("f", "2", (Value::Integer(2), None), "2"),
        ("f", "1.234567890123456789", long, "1.234567890123456789"),
        ("v", "'bob'", text("bob"), "\"bob\""),
        ("v", "'12'", text("12"), "\"12\""),
        ("v", "19.99", price, "19.99"),
        ("v", "true", (Value::Boolean(true), None), "true"),
        ("v", "'[1,2]'", text("[1,2]"), "[1,2]"),
        ("v", "'\"bob\"'::json", (Value::from("\"bob\""), Some(Json)), "\"bob\""),
        ("owner", "'bob'", text("bob"), "\"bob\""),
        ("owner", "'{\"a\":1}'", text("{\"a\":1}"), "{\"a\":1}"),
        ("owner", "7", (Value::Integer(7), None), "7"),
        ("geo", "'{\"lat\":3}'", text("{\"lat\":3}"), "{\"lat\":3}"),
        ("geo.lat", "'high'", text("high"), "{\"lat\":\"high\"}"),
        ("geo.at", "'{\"day\":1}'", text("{\"day\":1}"), "{\"lat\":1,\"at\":{\"day\":1}}"),
    ];
    for (number, (field, literal, (value, ty), stored)) in cases.into_iter().enumerate() {
        let folder = tempfile::tempdir()?;
        let database = Database::open(folder.path().join("data"))?;
        let docs = database.collection("docs")?;
        let old = r#"{"n":1,"f":1.5,"v":1,"owner":null,"geo":{"lat":1}}"#;
        docs.put_raw("a", old)?;
        docs.put_raw("b", &old.replace("\"v\":1", "\"v\":\"x\""))?;
        docs.put_raw("z", r#"{"v":false}"#)?;
        let mut session = database.session()?;
        let column = field.split('.').next().unwrap_or(field);
        let member = |id: &str| -> Result<String> {
            let document = docs.get(id)?.ok_or("it is there")?;
            let document: std::collections::BTreeMap<String, Box<serde_json::value::RawValue>> =
                serde_json::from_str(document.raw())?;
            Ok(document[column].get().to_owned())
        };
        let mut given = Parameters::default();
        given.push(value, ty);
        session.execute(&format!("update docs set {field} = {literal} where _id = 'a'"), &[])?;
        session.sql(&format!("update docs set {field} = ? where _id = 'b'"), &given)?;
        let both = [member("a")?, member("b")?];
        assert_eq!(both, [stored, stored], "{number}: {field} = {literal}");
        if column != field {
            continue;
        }
        let insert = |value: &str, id: &str| {
            format!("insert into docs (_id, {field}) values ('{id}', {value})")
        };
        // Twice, so that the literal becomes the parameter of a template.
        session.execute(&insert(literal, "c"), &[])?;
        session.execute(&insert(literal, "d"), &[])?;
        session.execute(&insert(literal, "e"), &[])?;
        session.sql(&insert("?", "f"), &given)?;
        let all = [member("c")?, member("d")?, member("e")?, member("f")?];
        assert_eq!(all, [stored; 4], "{number}: {field} = {literal}");
    }
    Ok(())
}
