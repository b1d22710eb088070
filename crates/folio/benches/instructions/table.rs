//! Tables: small statements, each from its text to its rows.

use folio::Value;
use gungraun::{library_benchmark, library_benchmark_group};

use crate::fixture::{self, COUNT, Fixture, drain, run};

// A row by its key.
#[library_benchmark(setup = fixture::tabled)]
fn lookup_prepared(mut fixture: Fixture) -> Fixture {
    let text = "SELECT name, score FROM t WHERE id = ?";
    let mut prepared = fixture.session.prepare(text).expect("a statement");
    for id in 0..500 {
        let answer = fixture
            .session
            .execute_prepared(&mut prepared, &[Value::Integer(id)])
            .expect("it runs");
        drain(answer.rows.expect("rows"));
    }
    fixture
}

// A row by its key, each time by a text of its own: parsed, bound, planned, run.
#[library_benchmark(setup = fixture::tabled)]
fn lookup_new_text(mut fixture: Fixture) -> Fixture {
    for id in 0..100 {
        run(&mut fixture.session, &format!("SELECT name, score FROM t WHERE id = {id}"));
    }
    fixture
}

// Rows in one transaction.
#[library_benchmark(setup = fixture::tabled)]
fn insert_prepared(mut fixture: Fixture) -> Fixture {
    run(&mut fixture.session, "BEGIN");
    let text = "INSERT INTO empty VALUES (?, 'name', 1.5, 3)";
    let mut prepared = fixture.session.prepare(text).expect("a statement");
    for id in 0..500 {
        fixture.session.execute_prepared(&mut prepared, &[Value::Integer(id)]).expect("it runs");
    }
    run(&mut fixture.session, "COMMIT");
    fixture
}

// Rows by their keys, in one transaction.
#[library_benchmark(setup = fixture::tabled)]
fn update_prepared(mut fixture: Fixture) -> Fixture {
    run(&mut fixture.session, "BEGIN");
    let text = "UPDATE t SET score = score + 1 WHERE id = ?";
    let mut prepared = fixture.session.prepare(text).expect("a statement");
    for id in 0..500 {
        fixture.session.execute_prepared(&mut prepared, &[Value::Integer(id)]).expect("it runs");
    }
    run(&mut fixture.session, "COMMIT");
    fixture
}

// All rows.
#[library_benchmark(setup = fixture::tabled)]
fn scan(mut fixture: Fixture) -> Fixture {
    assert_eq!(run(&mut fixture.session, "SELECT * FROM t"), COUNT);
    fixture
}

// Each row with the row of another table.
#[library_benchmark(setup = fixture::tabled)]
fn join(mut fixture: Fixture) -> Fixture {
    let text = "SELECT t.name, k.label FROM t JOIN kinds k ON k.id = t.kind";
    assert_eq!(run(&mut fixture.session, text), COUNT);
    fixture
}

// All rows in ten groups.
#[library_benchmark(setup = fixture::tabled)]
fn group(mut fixture: Fixture) -> Fixture {
    let text = "SELECT kind, count(*), avg(score) FROM t GROUP BY kind";
    assert_eq!(run(&mut fixture.session, text), 10);
    fixture
}

library_benchmark_group!(
    name = tables,
    benchmarks =
        [lookup_prepared, lookup_new_text, insert_prepared, update_prepared, scan, join, group]
);
