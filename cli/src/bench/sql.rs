//! A typed table: rows by key, changes, questions over all rows.
//!
//! Nine columns. Changes are one transaction, which ends when it is durable.

use folio::{Database, Session, Value};

use super::Dice;
use super::figure::{Watch, Workload};
use super::run::Bench;
use crate::failure::Failure;

const TABLE: &str = "CREATE TABLE people (id bigint PRIMARY KEY, name text, email text, age bigint, \
                     score double, active boolean, city text, visits bigint, note text)";

const INSERT: &str = "INSERT INTO people VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";

const POINT: &str = "SELECT name, score FROM people WHERE id = ?";

/// Statements by key in a run.
const KEYED: u64 = 20_000;

/// Questions over all rows: their names, and how they are asked.
const QUESTIONS: [(&str, &str); 5] = [
    ("filter", "SELECT * FROM people WHERE email = 'nobody@example.com'"),
    ("like", "SELECT id FROM people WHERE email LIKE '%99@%'"),
    ("group", "SELECT city, avg(score), count(*) FROM people GROUP BY city"),
    ("top", "SELECT id, score FROM people ORDER BY score DESC, id LIMIT 10"),
    ("scan", "SELECT * FROM people"),
];

/// Measures everything for so many rows.
pub(super) fn measure(bench: &mut Bench<'_>, count: u64) -> Result<(), Failure> {
    bench.section(count, "row", "nine columns, durable at each commit")?;
    let rows: Vec<[Value; 9]> = (1..=count).map(person).collect();
    insert(bench, &rows)?;
    let database = Database::open(bench.scratch.fresh("table")?)?;
    let mut session = database.session()?;
    fill(&mut session, &rows)?;
    by_key(bench, &mut session, count)?;
    change(bench, &mut session, &rows)?;
    ask(bench, &mut session, count)?;
    drop(session);
    Ok(database.close()?)
}

/// A row. A multiplicative step scatters its numbers over their range.
fn person(id: u64) -> [Value; 9] {
    let number = id * 7_919 % 1_000_003;
    let text = |text: String| Value::Text(text);
    [
        Value::Integer(id as i64),
        text(format!("User {id}")),
        text(format!("user{id}@example.com")),
        Value::Integer(18 + (number % 60) as i64),
        Value::Float((number % 100_000) as f64 / 100.0),
        Value::Boolean(number.is_multiple_of(3)),
        text(format!("City {}", number % 100)),
        Value::Integer((number % 5_000) as i64),
        text("joined from the web".to_owned()),
    ]
}

fn fill(session: &mut Session, rows: &[[Value; 9]]) -> Result<Watch, Failure> {
    session.execute(TABLE, &[])?;
    in_transaction(session, INSERT, rows)
}

/// Runs a statement for each of some parameters in one transaction.
fn in_transaction<const N: usize>(
    session: &mut Session,
    text: &str,
    parameters: &[[Value; N]],
) -> Result<Watch, Failure> {
    let mut prepared = session.prepare(text)?;
    let mut watch = Watch::start();
    session.execute("BEGIN", &[])?;
    for values in parameters {
        session.execute_prepared(&mut prepared, values)?;
    }
    watch.lap("run");
    session.execute("COMMIT", &[])?;
    watch.lap("commit");
    Ok(watch)
}

fn insert(bench: &mut Bench<'_>, rows: &[[Value; 9]]) -> Result<(), Failure> {
    let operations = rows.len() as u64;
    bench.measure(Workload { name: "insert", mode: "", operations }, |scratch| {
        let database = Database::open(scratch.fresh("inserted")?)?;
        let mut session = database.session()?;
        let watch = fill(&mut session, rows)?;
        drop(session);
        database.close()?;
        Ok(watch)
    })
}

/// The key of each statement: scattered over all rows.
fn keys(count: u64) -> Vec<[Value; 1]> {
    let mut dice = Dice::new(7);
    (0..KEYED).map(|_| [Value::Integer(1 + dice.below(count) as i64)]).collect()
}

fn by_key(bench: &mut Bench<'_>, session: &mut Session, count: u64) -> Result<(), Failure> {
    let keys = keys(count);
    let mut point = session.prepare(POINT)?;
    bench.measure(Workload { name: "select", mode: "prepared", operations: KEYED }, |_| {
        let mut watch = Watch::start();
        for key in &keys {
            let answer = session.execute_prepared(&mut point, key)?;
            std::hint::black_box(answer.rows.and_then(|mut rows| rows.take_row()));
        }
        watch.lap("select");
        Ok(watch)
    })?;
    let text = |[key]: &[Value; 1]| {
        POINT.replace('?', &folio::format_value(key, &folio::ColumnType::Int64))
    };
    let texts: Vec<String> = keys.iter().map(text).collect();
    bench.measure(Workload { name: "select", mode: "new text", operations: KEYED }, |_| {
        let mut watch = Watch::start();
        for text in &texts {
            let answer = session.execute(text, &[])?;
            std::hint::black_box(answer.rows.and_then(|mut rows| rows.take_row()));
        }
        watch.lap("select");
        Ok(watch)
    })
}

fn change(
    bench: &mut Bench<'_>,
    session: &mut Session,
    rows: &[[Value; 9]],
) -> Result<(), Failure> {
    let count = rows.len() as u64;
    let operations = count.min(KEYED);
    let visits: Vec<[Value; 2]> = keys(count)
        .into_iter()
        .take(operations as usize)
        .map(|[key]| [Value::Integer(1), key])
        .collect();
    bench.measure(Workload { name: "update", mode: "", operations }, |_| {
        in_transaction(session, "UPDATE people SET visits = visits + ? WHERE id = ?", &visits)
    })?;
    let some = &rows[..operations as usize];
    let keys: Vec<[Value; 1]> = some.iter().map(|row| [row[0].clone()]).collect();
    bench.measure(Workload { name: "delete", mode: "", operations }, |_| {
        let watch = in_transaction(session, "DELETE FROM people WHERE id = ?", &keys)?;
        in_transaction(session, INSERT, some)?;
        Ok(watch)
    })
}

fn ask(bench: &mut Bench<'_>, session: &mut Session, count: u64) -> Result<(), Failure> {
    for (name, text) in QUESTIONS {
        bench.measure(Workload { name, mode: "warm", operations: count }, |_| {
            let mut watch = Watch::start();
            let mut rows = session.execute(text, &[])?.rows;
            while let Some(rows) = &mut rows {
                let Some(batch) = rows.next_batch().map_err(folio::Error::from)? else { break };
                std::hint::black_box(batch.row_count);
            }
            watch.lap("ask");
            Ok(watch)
        })?;
    }
    Ok(())
}
