//! Documents asked by their fields, entities with links, and Ion.

use std::io::{Cursor, sink};

use folio::format::Source;
use folio::ion::{self, Form};
use gungraun::{library_benchmark, library_benchmark_group};

use crate::fixture::{self, COUNT, Fixture, run, ziql};

// Groups by a path within lines, which are read for it.
#[library_benchmark(setup = fixture::stored)]
fn group_lines(mut fixture: Fixture) -> Fixture {
    let text = "SELECT geo.city, count(*), avg(score) FROM events GROUP BY geo.city";
    assert_eq!(run(&mut fixture.session, text), 50);
    fixture
}

// One condition, two fields of what passes.
#[library_benchmark(setup = fixture::stored)]
fn filter_lines(mut fixture: Fixture) -> Fixture {
    let text = "SELECT name, score FROM events WHERE kind = 'click'";
    assert_eq!(run(&mut fixture.session, text), COUNT / 3 + 1);
    fixture
}

// A range that an index on a field serves.
#[library_benchmark(setup = fixture::indexed)]
fn range_by_field(mut fixture: Fixture) -> Fixture {
    let text = "SELECT name FROM events WHERE serial BETWEEN 500 AND 699";
    assert_eq!(run(&mut fixture.session, text), 200);
    fixture
}

// Entities with what their links lead to.
#[library_benchmark(setup = fixture::linked)]
fn follow_links(mut fixture: Fixture) -> Fixture {
    assert_eq!(ziql(&mut fixture.session, "GRAB Order [total, from [name, age]] {}"), 500);
    fixture
}

// Entities added by one statement, as text.
#[library_benchmark(setup = additions)]
fn add_entities((mut fixture, text): (Fixture, String)) -> Fixture {
    ziql(&mut fixture.session, &text);
    fixture
}

fn additions() -> (Fixture, String) {
    let fixture = fixture::linked();
    let tuple = |number: usize| format!(" ('new {number}', {})", number % 60);
    let tuples: String = (1..COUNT).map(tuple).collect();
    (fixture, format!("ADD User (name = 'new 0', age = 0){tuples}"))
}

// Ion text to binary, value by value.
#[library_benchmark(setup = ion_text)]
fn convert_ion(text: Vec<u8>) {
    let source = Source::reader("events.ion", Cursor::new(text));
    ion::convert(source, &mut sink(), Form::Binary).expect("Ion");
}

fn ion_text() -> Vec<u8> {
    let value = |number: usize| {
        format!("event::{{at: 2026-01-01T00:00:00Z, n: {number}, score: 1.50, tags: [red, new]}}\n")
    };
    (0..COUNT).map(value).collect::<String>().into_bytes()
}

library_benchmark_group!(
    name = queries,
    benchmarks =
        [group_lines, filter_lines, range_by_field, follow_links, add_entities, convert_ion]
);
