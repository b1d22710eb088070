//! Documents: written, found, read in order, and found by a field.

use std::hint::black_box;

use folio::{Database, Parameters, Scan, Value};
use gungraun::{library_benchmark, library_benchmark_group};

use crate::fixture::{self, Fixture};

// One after the other, each encoded.
#[library_benchmark(setup = fixture::empty)]
fn put(fixture: Fixture) -> Fixture {
    for (id, document) in &fixture.documents {
        fixture.collection.put(id, document).expect("it is stored");
    }
    fixture
}

// All in one batch.
#[library_benchmark(setup = fixture::empty)]
fn put_many(fixture: Fixture) -> Fixture {
    let documents = fixture.documents.iter().map(|(id, document)| (id.as_str(), document));
    fixture.collection.put_many(documents).expect("they are stored");
    fixture
}

// Each once, from the cache of lines after the first.
#[library_benchmark(setup = fixture::stored)]
fn get(fixture: Fixture) -> Fixture {
    for (id, _) in &fixture.documents {
        black_box(fixture.collection.get(id).expect("it is read").expect("it is there"));
    }
    fixture
}

// Lines in the order of the file, not parsed.
#[library_benchmark(setup = fixture::stored)]
fn scan(fixture: Fixture) -> Fixture {
    for document in fixture.collection.scan(Scan::new()).expect("a scan") {
        black_box(document.expect("it is read").raw());
    }
    fixture
}

// The database and its collection opened, one document read.
#[library_benchmark(setup = closed)]
fn open(fixture: Fixture) -> (Fixture, Database) {
    let database = Database::open(fixture.folder.path().join("data")).expect("a database");
    let collection = database.collection("events").expect("a collection");
    black_box(collection.get("event_00000077").expect("it is read").expect("it is there"));
    (fixture, database)
}

fn closed() -> Fixture {
    let fixture = fixture::stored();
    fixture.database.close().expect("it closes");
    fixture
}

// By the value of a field with an index, by the same condition with another parameter.
#[library_benchmark(setup = fixture::indexed)]
fn lookup_by_field(fixture: Fixture) -> Fixture {
    for serial in 0..200 {
        let mut parameters = Parameters::default();
        parameters.push(Value::Integer(serial), None);
        let mut found =
            fixture.collection.scan_where("serial = ?", &parameters, Scan::new()).expect("a scan");
        black_box(found.next_line().expect("it is read").expect("it is there"));
    }
    fixture
}

library_benchmark_group!(
    name = documents,
    benchmarks = [put, put_many, get, scan, open, lookup_by_field]
);
