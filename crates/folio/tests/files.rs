//! Files in SQL: Parquet with tables and collections, and COPY in both directions.
//!
//! pyarrow wrote the files of `conformance/parquet`; `make.py` in that folder has their content.

use std::fs;
use std::path::Path;

use folio::{Database, ErrorCode, Value};
use serde_json::json;

mod fixture;
#[path = "../../../conformance/random.rs"]
mod random;

use fixture::{Fixture, Result};
use random::Random;

fn stored(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/parquet");
    folder.join(name).display().to_string()
}

#[test]
fn a_table_a_collection_and_a_parquet_file_join_in_one_statement() -> Result {
    let mut fixture = Fixture::new(
        "create table people (id int primary key, name text);
        insert into people values (1, 'Ann'), (2, 'Bob'), (3, 'Cid')",
    )?;
    let visits = fixture.database.collection("visits")?;
    visits.put("v1", &json!({"person": 1, "place": 7}))?;
    visits.put("v2", &json!({"person": 2, "place": 8}))?;
    visits.put("v3", &json!({"person": 1, "place": 9}))?;
    let text = format!(
        "select p.name, v._id, f.name, f.price from people p
         join visits v on v.person = p.id
         join '{}' f on f.id = v.place
         where f.truth is not null order by v._id",
        stored("snappy.parquet")
    );
    assert_eq!(
        fixture.json(&text)?,
        r#"[{"name":"Ann","_id":"v1","name_1":"name 0 ü","price":0.07},{"name":"Bob","_id":"v2","name_1":"name 1 ü","price":0.08}]"#
    );
    Ok(())
}

#[test]
fn every_type_of_a_parquet_file_is_read() -> Result {
    let mut fixture = Fixture::new("")?;
    let file = stored("snappy.parquet");
    let first = fixture.json(&format!("select * from '{file}' where id in (3, 4) order by id"))?;
    assert_eq!(
        first,
        concat!(
            r#"[{"id":3,"tiny":-47,"wide":18446744073709551612,"truth":true,"half":1.5,"real":0.375,"#,
            r#""price":0.03,"name":"name 3 ü","bytes":"\\x0300","day":"2000-01-04","clock":"03:05:06","#,
            r#""local":"2000-01-04T12:30:12.25","world":"2000-01-04T12:30:12.25Z","shade":"green","#,
            r#""tags":["t0","t1","t2"],"place":{"x":3,"at":{"y":null}},"#,
            r#""counts":{"a":3,"b":null}},"#,
            r#"{"id":4,"tiny":null,"wide":null,"truth":null,"half":null,"real":null,"price":null,"#,
            r#""name":null,"bytes":null,"day":null,"clock":null,"local":null,"world":null,"shade":null,"#,
            r#""tags":null,"place":null,"counts":null}]"#
        )
    );
    let text = format!(
        "select count(*), count(tiny), sum(id), max(wide), sum(price), max(day), min(world), max(half),
         count(distinct name), sum(array_length(tags, 1)) from '{file}'"
    );
    let expected = concat!(
        r#"[{"count":200,"count_1":160,"sum":19900,"max":18446744073709551615,"sum_1":158.40,"#,
        r#""max_1":"2000-07-17","min":"2000-01-01T12:30:15.25Z","max_2":99.0,"count_2":7,"sum_2":240}]"#
    );
    assert_eq!(fixture.json(&text)?, expected);
    // Columns in another order, one twice, none at all, and a limit.
    let text = format!("select name, id, name from '{file}' order by id desc limit 1 offset 1");
    assert_eq!(fixture.json(&text)?, r#"[{"name":"name 2 ü","id":198,"name_1":"name 2 ü"}]"#);
    assert_eq!(fixture.json(&format!("select count(*) from '{file}'"))?, r#"[{"count":200}]"#);
    assert_eq!(fixture.rows(&format!("select 1 from '{file}'"))?.len(), 200);
    Ok(())
}

#[test]
fn a_file_is_described() -> Result {
    let mut fixture = Fixture::new("")?;
    fs::write(fixture.path("a.jsonl"), "{\"n\":1,\"o\":{\"p\":\"x\"}}\n")?;
    let columns = concat!(
        r#"[{"column_name":"n","data_type":"bigint","is_nullable":true,"is_key":false,"column_default":null},"#,
        r#"{"column_name":"o","data_type":"struct(p text)","is_nullable":true,"is_key":false,"column_default":null}]"#
    );
    let file = fixture.path("a.jsonl");
    for text in ["describe '{}'", "show columns from '{}'"] {
        let described = fixture.json(&text.replace("{}", &file.display().to_string()))?;
        assert_eq!(described, columns);
    }
    let described = fixture.json(&format!("describe '{}'", stored("snappy.parquet")))?;
    assert!(described.contains(r#"{"column_name":"price","data_type":"numeric("#), "{described}");
    Ok(())
}

#[test]
fn codecs_are_read_or_named() -> Result {
    let mut fixture = Fixture::new("")?;
    for name in ["gzip.parquet", "none.parquet"] {
        let text = format!("select count(*), sum(id), max(name) from '{}'", stored(name));
        assert_eq!(fixture.json(&text)?, r#"[{"count":100,"sum":4950,"max":"name 6 ü"}]"#);
    }
    let (code, text) = fixture.refused(&format!("select * from '{}'", stored("zstd.parquet")))?;
    assert_eq!(code, ErrorCode::Unsupported, "{text}");
    assert!(text.contains("zstd") && text.contains("Snappy"), "{text}");
    Ok(())
}

#[test]
fn a_damaged_parquet_file_is_an_error_and_never_more() -> Result {
    let mut fixture = Fixture::new("")?;
    let whole = fs::read(stored("snappy.parquet"))?;
    let path = fixture.path("damaged.parquet");
    let text = format!("select * from '{}'", path.display());
    let (mut refused, mut answered) = (0, 0);
    for round in 0..300 {
        let mut random = Random::new(round);
        let mut bytes = whole.clone();
        match round % 3 {
            // The footer has most of the facts, and is at the end.
            0 => {
                let at = bytes.len() - 1 - random.below(6000);
                bytes[at] ^= 1 << random.below(8);
            }
            1 => {
                let at = random.below(bytes.len());
                bytes[at] ^= 1 << random.below(8);
            }
            _ => bytes.truncate(random.below(bytes.len())),
        }
        fs::write(&path, &bytes)?;
        match fixture.session.execute(&text, &[]) {
            Ok(answer) => match answer.rows.ok_or("rows")?.collect_rows() {
                Ok(_) => answered += 1,
                Err(_) => refused += 1,
            },
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 100, "{refused} refused, {answered} answered");
    assert_eq!(fixture.rows("select 1")?, [[Value::Integer(1)]]);
    Ok(())
}

const THINGS: &str = "
    create table things (id int primary key, name text, n bigint, price numeric(10, 2), x double precision,
        truth boolean, day date, clock time, moment timestamptz, bytes bytea, doc json, tags text[],
        who uuid, whom uuid[]);
    insert into things values
        (1, 'a, \"b\"', 9007199254740993, 1.10, 0.1, true, '2024-02-29', '23:59:59.5', '2024-02-29 12:00:00+02', '\\x00ff', '{\"a\":[1,null]}', array['x', null],
            '550e8400-e29b-41d4-a716-446655440000', array['550e8400-e29b-41d4-a716-446655440000'::uuid, null]),
        (2, '', -1, -0.05, -1e300, false, '1969-12-31', '00:00:00', '1969-12-31 23:59:59Z', '\\x', '{}', array[]::text[], null, array[]::uuid[]),
        (3, null, null, null, null, null, null, null, null, null, null, null, null, null),
        (4, E'line\\nbreak', 0, 0, '-Infinity', true, '9999-12-31', '12:00', '2000-01-01 00:00:00Z', '\\x41', '\"text\"', array['ü'], null, null)";

#[test]
fn what_copy_writes_copy_reads() -> Result {
    let mut fixture = Fixture::new(THINGS)?;
    let original = fixture.rows("select * from things order by id")?;
    for name in
        ["things.parquet", "things.csv", "things.jsonl", "things.json", "things.ion", "things.10n"]
    {
        let path = fixture.path(name).display().to_string();
        let answer = fixture.session.execute(&format!("copy things to '{path}'"), &[])?;
        assert_eq!(answer.count, Some(4), "{name}");
        let text = THINGS.split("insert").next().ok_or("a table")?.replace("things", "back");
        fixture.session.execute(&text, &[])?;
        let answer = fixture.session.execute(&format!("copy back from '{path}'"), &[])?;
        assert_eq!(answer.count, Some(4), "{name}");
        assert_eq!(fixture.rows("select * from back order by id")?, original, "{name}");
        fixture.session.execute("drop table back", &[])?;
    }
    Ok(())
}

#[test]
fn json_within_lists_and_structs_stays_json_in_parquet() -> Result {
    let folder = tempfile::tempdir()?;
    let database = Database::open(folder.path().join("db"))?;
    let mut session = database.session()?;
    let path = folder.path().join("x.parquet").display().to_string();
    let copy = format!(
        "COPY (SELECT 1 AS n, '[1]'::json AS j, array['{{\"a\": 1}}'::json, NULL, '2'] AS l, \
         row('t', '[2]'::json, array['a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid]) AS s) \
         TO '{path}'"
    );
    session.execute(&copy, &[])?;
    let mut answer = |text: String| -> Result<String> {
        Ok(session.execute(&text, &[])?.rows.ok_or("rows")?.to_json()?)
    };
    let types = answer(format!(
        "SELECT typeof(n) AS n, typeof(j) AS j, typeof(l) AS l, typeof(s) AS s FROM '{path}'"
    ))?;
    assert!(types.contains(r#""l":"json[]""#) && types.contains("f2 json"), "{types}");
    assert!(types.contains("uuid[]"), "{types}");
    let rows = answer(format!("SELECT l, s.f2 AS j FROM '{path}'"))?;
    assert_eq!(rows, r#"[{"l":[{"a": 1},null,2],"j":[2]}]"#);
    Ok(())
}

#[test]
fn copy_takes_queries_columns_and_options() -> Result {
    let mut fixture = Fixture::new(THINGS)?;
    let path = fixture.path("out.txt");
    let copy = |what: &str, options: &str| format!("copy {what} to '{}' {options}", path.display());
    fixture
        .session
        .execute(&copy("(select id, name from things where id < 3)", "(format csv)"), &[])?;
    assert_eq!(fs::read_to_string(&path)?, "id,name\n1,\"a, \"\"b\"\"\"\n2,\"\"\n");
    fixture.session.execute(&copy("things (n, id)", "(format csv, header false)"), &[])?;
    assert_eq!(fs::read_to_string(&path)?, "9007199254740993,1\n-1,2\n,3\n0,4\n");
    fixture
        .session
        .execute(&copy("(select id from things where id > 9)", "(format jsonl)"), &[])?;
    assert_eq!(fs::read_to_string(&path)?, "");
    fixture.session.execute(&copy("(select id from things where id > 9)", "(format json)"), &[])?;
    assert_eq!(serde_json::from_str::<serde_json::Value>(&fs::read_to_string(&path)?)?, json!([]));
    // A postcode stays text, defaults fill missing columns, the order is that of the file.
    let csv = fixture.path("in.csv");
    fs::write(&csv, "code,id\n01234,1\n1.50,2\n,3\n\"\",4\n")?;
    fixture
        .session
        .execute("create table codes (id bigint primary key, code text, at int default 7)", &[])?;
    fixture.session.execute(&format!("copy codes from '{}'", csv.display()), &[])?;
    assert_eq!(
        fixture.json("select * from codes order by id")?,
        r#"[{"id":1,"code":"01234","at":7},{"id":2,"code":"1.50","at":7},{"id":3,"code":null,"at":7},{"id":4,"code":"","at":7}]"#
    );
    Ok(())
}

/// Decimals have more digits than floats. As texts they are read too.
#[test]
fn decimals_come_back_from_a_file_with_all_digits() -> Result {
    let mut fixture = Fixture::new(
        "create table t (n numeric(20,2), m numeric(38,19));
        insert into t values (123456789012345678.12, 0.1234567890123456789), (null, -1.5), (1e2, 0)",
    )?;
    let original = fixture.rows("select * from t order by m")?;
    for name in ["t.jsonl", "t.json", "t.csv", "t.ion", "t.10n", "t.parquet", "t.arrow"] {
        let path = fixture.path(name).display().to_string();
        fixture.session.execute(&format!("copy t to '{path}'"), &[])?;
        fixture.session.execute("create table back (n numeric(20,2), m numeric(38,19))", &[])?;
        fixture.session.execute(&format!("copy back from '{path}'"), &[])?;
        assert_eq!(fixture.rows("select * from back order by m")?, original, "{name}");
        fixture.session.execute("drop table back", &[])?;
    }
    let path = fixture.path("text.jsonl");
    fs::write(&path, "{\"n\":\"123456789012345678.12\"}\n{\"n\":1e2}\n{\"n\":null}\n{}\n")?;
    fixture
        .session
        .execute(&format!("delete from t; copy t (n) from '{}'", path.display()), &[])?;
    assert_eq!(
        fixture.json("select n from t order by n")?,
        r#"[{"n":100.00},{"n":123456789012345678.12},{"n":null},{"n":null}]"#
    );
    Ok(())
}

#[test]
fn csv_is_written_and_read_as_the_statement_says() -> Result {
    let mut fixture = Fixture::new(
        "create table t (id int, name text, n int default 7);
        insert into t values (1, 'a;b', null), (2, '', 3), (3, null, 4), (4, 'NA', 5), (5, ' ', 6);
        create table back (id int, name text, n int default 7)",
    )?;
    let path = fixture.path("t.txt");
    for (options, written) in [
        ("", "1,a;b,\n2,\"\",3\n3,,4\n4,NA,5\n5,\" \",6\n"),
        ("delimiter ';'", "1;\"a;b\";\n2;\"\";3\n3;;4\n4;NA;5\n5;\" \";6\n"),
        ("delimiter E'\\t'", "1\ta;b\t\n2\t\"\"\t3\n3\t\t4\n4\tNA\t5\n5\t\" \"\t6\n"),
        ("null 'NA'", "1,a;b,NA\n2,\"\",3\n3,NA,4\n4,\"NA\",5\n5,\" \",6\n"),
        ("delimiter '|', null '\\N'", "1|a;b|\\N\n2|\"\"|3\n3|\\N|4\n4|NA|5\n5|\" \"|6\n"),
    ] {
        let rows = fixture.rows("select * from t order by id")?;
        for header in ["header", "header false"] {
            let options = match options {
                "" => format!("(format csv, {header})"),
                _ => format!("(format csv, {header}, {options})"),
            };
            let copy = |what: &str| format!("copy {what} '{}' {options}", path.display());
            fixture.session.execute(&copy("t to"), &[])?;
            let text = fs::read_to_string(&path)?;
            let rest = text.strip_prefix("id").and_then(|text| text.split_once('\n'));
            assert_eq!(rest.map_or(&*text, |(_, rest)| rest), written, "{options}");
            assert_eq!(rest.is_some(), header == "header");
            fixture.session.execute(&copy("back from"), &[])?;
            assert_eq!(fixture.rows("select * from back order by id")?, rows, "{options}");
            fixture.session.execute("delete from back", &[])?;
        }
    }
    Ok(())
}

#[test]
fn a_file_without_a_header_has_the_columns_that_are_named() -> Result {
    let mut fixture =
        Fixture::new("create table t (id int primary key, name text, n int default 7)")?;
    let path = fixture.path("t.tbl");
    fs::write(&path, "a;b|1\n|2\n")?;
    let copy =
        |what: &str, options: &str| format!("copy {what} from '{}' {options}", path.display());
    let options = "(format csv, header false, delimiter '|')";
    fixture.session.execute(&copy("t (name, id)", options), &[])?;
    assert_eq!(
        fixture.json("select * from t order by id")?,
        r#"[{"id":1,"name":"a;b","n":7},{"id":2,"name":null,"n":7}]"#
    );
    let (_, text) = fixture.refused(&copy("t", options))?;
    assert!(text.contains("2 fields") && text.contains("3"), "{text}");
    fixture.session.execute("delete from t", &[])?;
    fs::write(&path, "id;name\n1;x\n2;NA\n")?;
    fixture.session.execute(&copy("t", "delimiter ';' null 'NA' csv header"), &[])?;
    assert_eq!(
        fixture.json("select id, name from t order by id")?,
        r#"[{"id":1,"name":"x"},{"id":2,"name":null}]"#
    );
    fs::write(&path, "a;b|1\n|2\n")?;
    // Only a header shows the delimiter.
    let (_, text) = fixture.refused(&copy("t (name, id)", "(format csv, header false)"))?;
    assert!(text.contains("line 1: 1 fields"), "{text}");
    fs::write(&path, "{\"id\":3}\n")?;
    let (_, text) = fixture.refused(&copy("t", "(format jsonl, header false)"))?;
    assert!(text.contains("apply to CSV"), "{text}");
    assert_eq!(fixture.rows("select id from t")?.len(), 2);
    Ok(())
}

/// A file that is too large to cache is read again, row by row.
#[test]
fn a_large_file_of_records_is_read_as_its_rows_are_wanted() -> Result {
    let mut fixture = Fixture::new("create table t (id bigint primary key, name text, n bigint)")?;
    let csv = fixture.path("large.csv").display().to_string();
    let lines = fixture.path("large.jsonl").display().to_string();
    let rows = "(select g as id, 'name of ' || g as name, g % 7 as n from generate_series(1, 500000) as s(g))";
    fixture.session.execute(&format!("copy {rows} to '{csv}'"), &[])?;
    fixture.session.execute(&format!("copy {rows} to '{lines}'"), &[])?;
    for path in [&csv, &lines] {
        let answer = fixture.session.execute(&format!("copy t from '{path}'"), &[])?;
        assert_eq!(answer.count, Some(500_000), "{path}");
        for source in [format!("'{path}'"), "t".to_owned()] {
            assert_eq!(
                fixture.json(&format!(
                    "select count(*) as c, sum(id) as i, sum(n) as n, max(name) as m from {source}"
                ))?,
                r#"[{"c":500000,"i":125000250000,"n":1499998,"m":"name of 99999"}]"#,
                "{source}"
            );
        }
        fixture.session.execute("delete from t", &[])?;
    }
    // A broken row after a thousand good ones undoes the statement.
    let mut text = fs::read_to_string(&csv)?;
    text.push_str("500001,many\n");
    fs::write(&csv, text)?;
    let (_, text) = fixture.refused(&format!("copy t from '{csv}'"))?;
    assert!(text.contains("line 500002: 2 fields under a header of 3"), "{text}");
    assert!(fixture.rows("select id from t")?.is_empty());
    Ok(())
}

#[test]
fn a_copy_that_fails_changes_nothing() -> Result {
    let mut fixture = Fixture::new(THINGS)?;
    let path = fixture.path("out.jsonl");
    fs::write(&path, "what was there\n")?;
    let query = format!("copy (select 1 / (id - 4) from things) to '{}'", path.display());
    let (_, text) = fixture.refused(&query)?;
    assert!(text.contains("division by zero"), "{text}");
    assert_eq!(fs::read_to_string(&path)?, "what was there\n");
    let csv = fixture.path("in.csv");
    fs::write(&csv, "id,n\n10,1\n11,many\n")?;
    let before = fixture.rows("select count(*) from things")?;
    let (_, text) = fixture.refused(&format!("copy things from '{}'", csv.display()))?;
    assert!(text.contains("many"), "{text}");
    fs::write(&csv, "id,n\n10,1\n1,2\n")?;
    let (code, _) = fixture.refused(&format!("copy things from '{}'", csv.display()))?;
    assert_eq!(code, ErrorCode::Conflict);
    fs::write(&csv, "id,nothing\n10,1\n")?;
    let (_, text) = fixture.refused(&format!("copy things from '{}'", csv.display()))?;
    assert!(text.contains("nothing"), "{text}");
    assert_eq!(fixture.rows("select count(*) from things")?, before);
    let left = fs::read_dir(fixture.path(""))?.count();
    assert_eq!(left, 3, "the database, the file that was there, the file that was read");
    Ok(())
}

/// A statement that reads a file is compiled again when it is run. The whole text was.
#[test]
fn statements_before_one_that_reads_a_file_run_once() -> Result {
    let mut fixture = Fixture::new("create table log (n int); create table t (n int)")?;
    let file = fixture.path("n.csv");
    fs::write(&file, "n\n7\n8\n")?;
    let file = file.display();
    for autocommit in [true, false] {
        fixture.session.set_autocommit(autocommit);
        for reading in [
            format!("copy t from '{file}'"),
            format!("insert into t select n from '{file}'"),
            format!("update t set n = f.n from '{file}' f where t.n = f.n"),
        ] {
            fixture.session.execute("delete from log; delete from t", &[])?;
            fixture.session.execute("insert into t values (7)", &[])?;
            let text = format!("insert into log values (1); {reading}; insert into log values (2)");
            fixture.session.execute(&text, &[])?;
            let log = fixture.json("select n from log order by n")?;
            assert_eq!(log, r#"[{"n":1},{"n":2}]"#, "{text}");
            let count = if reading.starts_with("update") { 1 } else { 3 };
            assert_eq!(fixture.rows("select n from t")?.len(), count, "{text}");
        }
        if !autocommit {
            fixture.session.execute("commit", &[])?;
        }
    }
    Ok(())
}

/// A `file:` URL names the file at its path, as it names a database.
#[test]
#[cfg(unix)]
fn a_file_url_names_a_file() -> Result {
    let mut fixture = Fixture::new("")?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("a b.jsonl");
    let encoded = path.display().to_string().replace(' ', "%20");
    for (n, start) in (0..).zip(["file:", "file://", "file://localhost"]) {
        let url = format!("{start}{encoded}");
        fixture.session.execute(&format!("copy (select {n} as n) to '{url}'"), &[])?;
        assert_eq!(fs::read_to_string(&path)?, format!("{{\"n\":{n}}}\n"), "{url}");
        assert_eq!(fixture.json(&format!("select n from '{url}'"))?, format!(r#"[{{"n":{n}}}]"#));
        let source = folio::import::Source::file(&url)?;
        assert_eq!(source.name(), path.display().to_string());
    }
    for (url, reason) in [("file:x.jsonl", "absolute path"), ("file://host/x", "another machine")] {
        for text in [format!("select * from '{url}'"), format!("copy (select 1) to '{url}'")] {
            let (code, error) = fixture.refused(&text)?;
            assert_eq!(code, ErrorCode::InvalidInput, "{text}: {error}");
            assert!(error.contains(reason), "{text}: {error}");
        }
        let error = folio::import::Source::file(url).map(drop).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidInput, "{error}");
    }
    Ok(())
}
