//! Scalar functions of the program in SQL.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use folio::{ColumnType, Database, ErrorCode, ScalarFunction, Value};

mod fixture;

use fixture::{Fixture, Result};

fn function(
    name: &str,
    parameters: &[ColumnType],
    returns: ColumnType,
    body: impl Fn(&[Value]) -> std::result::Result<Value, String> + Send + Sync + 'static,
) -> ScalarFunction {
    ScalarFunction {
        name: name.to_owned(),
        parameters: parameters.to_vec(),
        returns,
        is_volatile: false,
        takes_null: false,
        on_one_thread: false,
        body: Arc::new(body),
    }
}

fn shout(arguments: &[Value]) -> std::result::Result<Value, String> {
    match arguments {
        [Value::Text(text), Value::Integer(times)] => {
            let marks = usize::try_from(*times).map_err(|_| "a negative number".to_owned())?;
            Ok(Value::Text(text.to_uppercase() + &"!".repeat(marks)))
        }
        other => Err(format!("given {other:?}")),
    }
}

fn fixture() -> Result<Fixture> {
    let fixture = Fixture::new(
        "create table t (id int primary key, name text, n int);
        insert into t values (1, 'ann', 2), (2, 'bob', null), (3, null, 1), (4, 'dot', 0)",
    )?;
    let takes = [ColumnType::Text, ColumnType::Int64];
    fixture.database.create_function(function("Shout", &takes, ColumnType::Text, shout))?;
    Ok(fixture)
}

#[test]
fn a_function_is_called_wherever_an_expression_stands() -> Result {
    let mut fixture = fixture()?;
    for (text, expected) in [
        (
            "select shout(name, n) as s from t order by id",
            r#"[{"s":"ANN!!"},{"s":null},{"s":null},{"s":"DOT"}]"#,
        ),
        ("select id from t where SHOUT(name, 1) = 'BOB!'", r#"[{"id":2}]"#),
        (
            "select shout(name, 0) as s, count(*) as n from t group by 1 order by 1 limit 2",
            r#"[{"s":"ANN","n":1},{"s":"BOB","n":1}]"#,
        ),
        (
            "select shout('a', 1::smallint) || max(shout(name, 1)) as s from t",
            r#"[{"s":"A!DOT!"}]"#,
        ),
        (
            "select a.id from t a join t b on shout(a.name, 0) = upper(b.name) order by 1",
            r#"[{"id":1},{"id":2},{"id":4}]"#,
        ),
        ("select id from t order by shout(name, 3) desc nulls last limit 1", r#"[{"id":4}]"#),
    ] {
        assert_eq!(fixture.json(text)?, expected, "{text}");
    }
    fixture.session.execute("update t set name = shout(name, n) where id = 1", &[])?;
    assert_eq!(fixture.json("select name from t where id = 1")?, r#"[{"name":"ANN!!"}]"#);
    Ok(())
}

#[test]
fn nulls_reach_only_functions_that_take_them() -> Result {
    let mut fixture = fixture()?;
    let mut reported = function("told", &[ColumnType::Text], ColumnType::Boolean, |arguments| {
        Ok(Value::Boolean(matches!(arguments, [Value::Null])))
    });
    reported.takes_null = true;
    fixture.database.create_function(reported)?;
    assert_eq!(fixture.json("select id from t where told(name)")?, r#"[{"id":3}]"#);
    assert_eq!(fixture.json("select told(null) as b")?, r#"[{"b":true}]"#);
    Ok(())
}

#[test]
fn a_volatile_function_is_called_for_every_row() -> Result {
    let mut fixture = fixture()?;
    let calls = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&calls);
    let mut next = function("next_number", &[], ColumnType::Int64, move |_| {
        Ok(Value::Integer(counted.fetch_add(1, Ordering::Relaxed).cast_signed()))
    });
    next.is_volatile = true;
    fixture.database.create_function(next)?;
    assert_eq!(fixture.json("select count(distinct next_number()) as n from t")?, r#"[{"n":4}]"#);
    let before = calls.load(Ordering::Relaxed);
    fixture.json("select shout('x', 1), next_number() from t")?;
    assert_eq!(calls.load(Ordering::Relaxed), before + 4);
    Ok(())
}

#[test]
fn a_call_that_stands_more_than_once_is_made_once() -> Result {
    let mut fixture = fixture()?;
    let calls = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&calls);
    let body = move |arguments: &[Value]| {
        counted.fetch_add(1, Ordering::Relaxed);
        Ok(arguments[0].clone())
    };
    fixture.database.create_function(function(
        "f",
        &[ColumnType::Int64],
        ColumnType::Int64,
        body,
    ))?;
    for (text, expected) in [
        ("select f(id), f(id) + 1, f(id) * f(id) from t order by f(id)", 4),
        ("select sum(f(id)), sum(f(id) + 1), max(f(id)) from t", 4),
        ("select id from t where f(id) between 2 and 3", 4),
        ("select f(id) from t group by f(id) having count(*) > 0", 4),
        // The second place is conditional, but the first always computes it.
        ("select f(id), case when n > 0 then f(id) end from t", 4),
        // Both are conditional: one arm for each row.
        ("select case when n > 0 then f(id) end, case when n = 0 then f(id) end from t", 3),
        ("select sum(f(id)) filter (where n > 0), max(f(id)) filter (where n = 0) from t", 3),
    ] {
        calls.store(0, Ordering::Relaxed);
        fixture.json(text)?;
        assert_eq!(calls.load(Ordering::Relaxed), expected, "{text}");
    }
    Ok(())
}

#[test]
fn what_a_function_says_ends_the_statement() -> Result {
    let mut fixture = fixture()?;
    let database = fixture.database.clone();
    database.create_function(function("broken", &[], ColumnType::Int16, |_| panic!("no")))?;
    database.create_function(function("liar", &[], ColumnType::Int16, |_| {
        Ok(Value::Integer(40_000))
    }))?;
    for (text, code, words) in [
        (
            "select shout(name, -1) from t",
            ErrorCode::InvalidInput,
            "function Shout: a negative number",
        ),
        ("select broken()", ErrorCode::InvalidInput, "function broken: it panicked"),
        (
            "select liar()",
            ErrorCode::InvalidInput,
            "function liar: its result is not of type smallint",
        ),
        ("select shout(name) from t", ErrorCode::TypeMismatch, "available: Shout(text, bigint)"),
        ("select shout(id, 1) from t", ErrorCode::TypeMismatch, "Shout"),
        ("select shot(name, 1) from t", ErrorCode::NotFound, "does not exist"),
        (
            "create table u (name text check (shout(name, 1) <> 'A!'))",
            ErrorCode::Unsupported,
            "belongs to the program",
        ),
        (
            "create table u (id int, name text default shout('a', 1))",
            ErrorCode::Unsupported,
            "belongs to the program",
        ),
        (
            "update t set name = shout(name, -id) where id < 3",
            ErrorCode::InvalidInput,
            "a negative number",
        ),
    ] {
        let (found, said) = fixture.refused(text)?;
        assert_eq!(found, code, "{text}: {said}");
        assert!(said.contains(words), "{text}: {said}");
    }
    assert_eq!(fixture.json("select name from t where id = 1")?, r#"[{"name":"ann"}]"#);
    Ok(())
}

#[test]
fn functions_are_of_a_handle_and_can_be_replaced() -> Result {
    let mut fixture = fixture()?;
    let database = fixture.database.clone();
    let other = Database::open(fixture.path("data"))?;
    assert!(other.session()?.execute("select shout('a', 1)", &[]).is_err());
    assert_eq!(fixture.json("select shout('a', 1) as s")?, r#"[{"s":"A!"}]"#);
    let whisper = |arguments: &[Value]| Ok(arguments[0].clone());
    database.create_function(function(
        "SHOUT",
        &[ColumnType::Text, ColumnType::Int64],
        ColumnType::Text,
        whisper,
    ))?;
    assert_eq!(fixture.json("select shout('a', 1) as s")?, r#"[{"s":"a"}]"#);
    assert!(database.drop_function("shout")?);
    assert!(!database.drop_function("shout")?);
    assert_eq!(fixture.refused("select shout('a', 1) as s")?.0, ErrorCode::NotFound);
    for name in ["upper", "COUNT", "row_number", "coalesce", "IfNull", "if", "iif", "first"] {
        let error = database.create_function(function(name, &[], ColumnType::Text, whisper));
        assert_eq!(error.expect_err("it is taken").code(), ErrorCode::Conflict, "{name}");
    }
    Ok(())
}

/// Large tables are read on several threads, which all call the function.
#[test]
fn threads_that_read_call_it_too() -> Result {
    let mut fixture = Fixture::new(
        "create table t (id bigint primary key);
        insert into t select g from generate_series(1, 300000) s(g)",
    )?;
    let even = |arguments: &[Value]| match arguments {
        [Value::Integer(n)] => Ok(Value::Boolean(n % 2 == 0)),
        _ => Err("an integer is wanted".to_owned()),
    };
    fixture.database.create_function(function(
        "even",
        &[ColumnType::Int64],
        ColumnType::Boolean,
        even,
    ))?;
    fixture.session.set_threads(4);
    assert_eq!(
        fixture.json("select count(*) as n, sum(id) as s from t where even(id)")?,
        r#"[{"n":150000,"s":22500150000}]"#
    );
    Ok(())
}

/// A function bound to one thread runs there, regardless of the number of readers.
#[test]
fn a_function_of_one_thread_is_called_there() -> Result {
    let mut fixture = Fixture::new(
        "create table t (id bigint primary key);
        insert into t select g from generate_series(1, 300000) s(g)",
    )?;
    let home = std::thread::current().id();
    let at_home = move |_: &[Value]| Ok(Value::Boolean(std::thread::current().id() == home));
    let at_home = function("at_home", &[ColumnType::Int64], ColumnType::Boolean, at_home);
    fixture.database.create_function(ScalarFunction { on_one_thread: true, ..at_home })?;
    fixture.session.set_threads(4);
    for text in [
        "select count(*) as n from t where at_home(id)",
        "select count(*) as n from t a join t b using (id) where at_home(b.id) and a.id > 0",
        "select count(*) as n from (select id from t where at_home(id) union all select id from t where id < 0) s",
    ] {
        assert_eq!(fixture.json(text)?, r#"[{"n":300000}]"#, "{text}");
    }
    Ok(())
}

/// The function counts how often its side was read.
#[test]
fn a_side_of_a_join_that_never_changes_is_read_once_for_all_runs_of_a_subquery() -> Result {
    let mut fixture = Fixture::new(
        "create table t (id int primary key);
        create table u (id int primary key, k int);
        create table v (x int primary key, k int);
        insert into t select g from generate_series(1, 50) s(g);
        insert into u select g, g % 20 from generate_series(1, 1000) s(g);
        insert into v select g, g from generate_series(1, 10) s(g)",
    )?;
    let calls = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&calls);
    let seen = function("seen", &[ColumnType::Int64], ColumnType::Boolean, move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        Ok(Value::Boolean(true))
    });
    fixture.database.create_function(seen)?;
    let text = "select sum((select count(*) from u join v on v.k = u.k where u.id >= t.id and seen(v.x))) as n from t";
    assert_eq!(fixture.json(text)?, r#"[{"n":24265}]"#);
    assert_eq!(calls.load(Ordering::Relaxed), 10);
    let outer = "select sum((select count(*) from u join v on v.k = u.k and v.x <= t.id where u.id >= t.id)) as n from t";
    assert_eq!(fixture.json(outer)?, r#"[{"n":22015}]"#);
    Ok(())
}
