//! `folio dump` and `folio restore`: every format restores what was dumped.

#![allow(clippy::unwrap_used)] // a test that panics has failed

mod sandbox;

use std::fs;
use std::process::Output;

use sandbox::Sandbox;

const SCHEMA: &str = "\
User ( name: str, nick: str?, best_friend: User, friends: []User, posts: []Post.author, scores: []int = [] )
Post ( title: str, at: datetime = NOW, stars: float = 0.5, author: User on delete cascade )";

const TABLES: &str = r#"
create table places (id int primary key, "order" text, up int references places);
create table visits (
    id bigint generated always as identity primary key,
    place int not null references places on delete cascade,
    code varchar(8) unique, cost numeric(10, 2) default 0 check (cost >= 0),
    blob bytea, doc json, at timestamptz, day date, long interval, tags text[], ok boolean, x real);
create table loose (word text);
create index visits_by_cost on visits (cost desc, id);
create view dear (place, total) as select place, sum(cost) from visits group by place;
create view dearest as select max(total) as most from dear;
insert into places values (1, 'x', 2), (2, null, 1), (3, '', null);
insert into visits (place, code, cost, blob, doc, at, day, long, tags, ok, x) values
    (1, 'a,"b', 1.10, '\x00ff', '{"a":[1,null]}', '2024-01-31T12:00:00.5Z', '2024-02-29',
     '1 month 2 days', array['p', null, ''], true, 0.1),
    (2, '', 0, null, 'null', null, null, null, null, null, null),
    (2, ' t
l', 99999999.99, '', '"text"', '1969-12-31T23:59:59Z', '0001-01-01', '-3 days', array[]::text[], false, 1e30);
delete from visits where id = 2;
insert into loose values (null), (''), ('z'), ('z');
"#;

const ENTITIES: &str = "\
ADD User (name = 'Ann', scores = [3, -1]) ('Bob', []) ('Cé \\'\\n', [1]);
UPDATE User {name = 'Ann'} TO (best_friend = {name = 'Bob'}, friends = {});
UPDATE User {name = 'Bob'} TO (best_friend = {name = 'Ann'}, nick = '');
ADD Post (title = 'One', author = {name = 'Bob'}) ('Two', none)";

const QUESTIONS: [&str; 8] = [
    "sql data 'select * from visits order by id'",
    "sql data 'select * from places order by id'",
    "sql data 'select word from loose'",
    "sql data 'select * from dear order by place'",
    "sql data 'select * from dearest'",
    "ziql data 'GRAB User [*, best_friend [name], friends [name], posts [*]]'",
    "schema show data",
    "scan data -c docs --jsonl",
];

fn run(sandbox: &Sandbox, line: &str) -> Output {
    let output = sandbox.run(line);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {errors}");
    output
}

/// A database with every kind of object.
fn filled() -> Sandbox {
    let sandbox = Sandbox::new();
    for (name, text) in [("schema.zq", SCHEMA), ("tables.sql", TABLES), ("entities.zq", ENTITIES)] {
        fs::write(sandbox.path().join(name), text).unwrap();
    }
    run(&sandbox, "folio schema apply data schema.zq");
    run(&sandbox, "folio sql data < tables.sql");
    run(&sandbox, "folio ziql data < entities.zq");
    run(&sandbox, "folio put data -c docs a --data '{\"n\": 1.50, \"deep\": {\"x\": [1, null]}}'");
    run(&sandbox, "folio put data -c docs b --data '{\"n\": 2}'");
    sandbox
}

#[test]
fn what_was_dumped_comes_back() {
    let sandbox = filled();
    let answers = |database: &str| -> Vec<String> {
        let asked = QUESTIONS.map(|question| {
            let line = format!("folio {}", question.replacen("data", database, 1));
            String::from_utf8(run(&sandbox, &line).stdout).unwrap()
        });
        asked.to_vec()
    };
    let expected = answers("data");
    for format in ["json", "ion", "csv"] {
        let (text, copy) = (format!("text-{format}"), format!("copy-{format}"));
        let reported = run(&sandbox, &format!("folio dump data {text} --format {format}"));
        let reported = String::from_utf8(reported.stdout).unwrap();
        assert_eq!(reported, format!("wrote 17 rows of 6 tables and 2 documents into {text}\n"));
        let reported = run(&sandbox, &format!("folio restore {text} {copy}"));
        assert_eq!(reported.stdout, b"restored 17 rows of 6 tables and 2 documents\n");
        let mut found = answers(&copy);
        if format == "csv" {
            // A cell holds one value: a nested one is restored as its text.
            found.truncate(7);
        }
        assert_eq!(found, expected[..found.len()], "{format}");
        run(&sandbox, &format!("folio dump {copy} again-{format} --format {format}"));
        run(&sandbox, &format!("diff -r -x docs.csv {text} again-{format}"));
        run(&sandbox, &format!("folio check {copy}"));
        // Numbering continues, and constraints hold.
        let insert = "insert into visits (place) values (3) returning id";
        let output = run(&sandbox, &format!("folio sql {copy} '{insert}'"));
        assert_eq!(output.stdout, b"{\"id\":4}\n");
        let output = sandbox.run(&format!("folio sql {copy} 'update visits set cost = -1'"));
        assert_eq!(output.status.code(), Some(1));
    }
}

#[test]
fn text_that_was_spoilt_is_refused_whole() {
    let sandbox = filled();
    run(&sandbox, "folio dump data text");
    let path = sandbox.path().join("text/tables/places.jsonl");
    let rows = fs::read_to_string(&path).unwrap();
    for (row, error) in [
        (
            "{\"id\":\"x\"}",
            "error: text/tables/places.jsonl: line 4: column \"id\" does not take \"x\"\n",
        ),
        (
            "{\"id\":4,\"upp\":1}",
            "error: text/tables/places.jsonl: line 4: the table has no column \"upp\"\n",
        ),
        (
            "{\"id\":4,\"up\":9}",
            "error: a row of table \"places\" violates constraint \"places_up_fkey\"; \
          the text was changed since it was written; correct it and restore again\n",
        ),
    ] {
        fs::write(&path, format!("{rows}{row}\n")).unwrap();
        let output = sandbox.run("folio restore text copy");
        assert_eq!(String::from_utf8_lossy(&output.stderr), error);
        assert_eq!(output.status.code(), Some(1));
        assert!(!sandbox.path().join("copy").exists(), "nothing is left");
    }
    for (line, error) in [
        ("folio restore data copy", "is not a directory that `folio dump` wrote"),
        ("folio restore text data", "already exists"),
        ("folio dump data text", "already exists"),
    ] {
        let output = sandbox.run(line);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(1) && errors.contains(error), "{line}: {errors}");
    }
}

#[test]
fn a_dump_that_lacks_a_table_is_refused() {
    let sandbox = filled();
    run(&sandbox, "folio dump data text");
    fs::remove_file(sandbox.path().join("text/tables/loose.jsonl")).unwrap();
    let output = sandbox.run("folio restore text copy");
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "error: text/tables/loose.jsonl is missing, so the dump is incomplete; create an empty \
         file if table \"loose\" has no rows\n"
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(!sandbox.path().join("copy").exists(), "nothing is left");
}
