//! Ion in SQL: files in FROM, and COPY in both directions, preserving types.

use std::fs;
use std::process::Command;

use folio::{ErrorCode, Value};

mod fixture;
#[path = "../../../conformance/random.rs"]
mod random;

use fixture::{Fixture, Result};
use random::Random;

impl Fixture {
    /// A file with this content, and how SQL names it.
    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> Result<String> {
        let path = self.path(name);
        fs::write(&path, content)?;
        Ok(format!("'{}'", path.display()))
    }

    fn run(&mut self, text: &str) -> Result<Option<u64>> {
        Ok(self.session.execute(text, &[])?.count)
    }

    /// The types of the result of a statement.
    fn types(&mut self, text: &str) -> Result<String> {
        let rows = self.session.execute(text, &[])?.rows.ok_or("there are rows")?;
        Ok(format!("{:?}", rows.types()))
    }
}

#[test]
fn a_file_has_columns_of_the_types_of_its_values() -> Result {
    let mut fixture = Fixture::new("")?;
    let text = r#"
        // Fields in any order, comments, a long string over lines.
        {id: 1, huge: 12345678901234567890, price: 1.10, rate: 5e-1, ok: true, kind: book,
         day: 2024-02-29, at: 2024-02-29T12:00:00.25+02:00, raw: {{AP8=}}, tags: ["a", b, null],
         place: {x: 1, at: {y: 2024T}}, mix: 1}
        {kind: '''one '''
               '''two''', id: 2, mix: "text", tags: [], price: -12.345}
        x::{id: null.int, place: null.struct, mix: [1.50]}
    "#;
    let file = fixture.file("things.ion", text)?;
    let types = fixture.types(&format!("select * from {file}"))?;
    let expected = concat!(
        "[Int64, Decimal { precision: 38, scale: 0 }, Decimal { precision: 18, scale: 3 }, Float64, Boolean, Text, ",
        "Date, Timestamp { utc: true }, Binary, List(Text), ",
        "Struct([(\"x\", Int64), (\"at\", Struct([(\"y\", Timestamp { utc: true })]))]), Json]"
    );
    assert_eq!(types, expected);
    let rows = fixture.json(&format!("select * from {file}"))?;
    let expected = concat!(
        r#"[{"id":1,"huge":12345678901234567890,"price":1.100,"rate":0.5,"ok":true,"kind":"book","day":"2024-02-29","#,
        r#""at":"2024-02-29T10:00:00.25Z","raw":"\\x00ff","tags":["a","b",null],"#,
        r#""place":{"x":1,"at":{"y":"2024-01-01T00:00:00Z"}},"mix":1},"#,
        r#"{"id":2,"huge":null,"price":-12.345,"rate":null,"ok":null,"kind":"one two","day":null,"at":null,"raw":null,"#,
        r#""tags":[],"place":null,"mix":"text"},"#,
        r#"{"id":null,"huge":null,"price":null,"rate":null,"ok":null,"kind":null,"day":null,"at":null,"raw":null,"#,
        r#""tags":null,"place":null,"mix":[1.50]}]"#
    );
    assert_eq!(rows, expected);
    // Some columns, one of them twice, a field of a struct, none at all.
    let text = format!("select price, id, price, (place).x from {file} where ok");
    assert_eq!(fixture.json(&text)?, r#"[{"price":1.100,"id":1,"price_1":1.100,"x":1}]"#);
    assert_eq!(fixture.json(&format!("select count(*) from {file}"))?, r#"[{"count":3}]"#);
    assert_eq!(fixture.rows(&format!("select 1 from {file} limit 2"))?.len(), 2);
    Ok(())
}

#[test]
fn numbers_beyond_every_numeric_type_stay_numbers() -> Result {
    let mut fixture = Fixture::new("")?;
    let path = fixture.path("json.ion").display().to_string();
    fixture.run(&format!("copy (select '[1,2.50,1e400,-0]'::json as j) to '{path}'"))?;
    let long = "1".repeat(40);
    for (text, types, rows) in [
        (std::str::from_utf8(&fs::read(&path)?)?, "[List(Json)]", "[{\"j\":[1,2.50,1e400,-0]}]"),
        ("{j: 1d400} {j: 2}", "[Json]", "[{\"j\":1e400},{\"j\":2}]"),
        ("{j: 1d400} {j: 1e0}", "[Json]", "[{\"j\":1e400},{\"j\":1.0}]"),
        ("{j: 9007199254740993} {j: 15e-1}", "[Json]", "[{\"j\":9007199254740993},{\"j\":1.5}]"),
        (
            "{j: 9007199254740992} {j: 15e-1}",
            "[Float64]",
            "[{\"j\":9.007199254740992e15},{\"j\":1.5}]",
        ),
        (&format!("{{j: {long}}}"), "[Json]", &format!("[{{\"j\":{long}}}]")),
    ] {
        let file = fixture.file("numbers.ion", text)?;
        assert_eq!(fixture.types(&format!("select * from {file}"))?, types, "{text}");
        assert_eq!(fixture.json(&format!("select * from {file}"))?, rows, "{text}");
    }
    Ok(())
}

#[test]
fn text_binary_and_compressed_files_are_the_same() -> Result {
    let mut fixture = Fixture::new("")?;
    let rows = "select n as id, 'name ' || n as name, n * 1.25 as price from generate_series(1, 5000) as s(n)";
    let mut answers = Vec::new();
    for name in ["a.ion", "a.10n"] {
        let path = fixture.path(name).display().to_string();
        assert_eq!(fixture.run(&format!("copy ({rows}) to '{path}'"))?, Some(5000));
        let is_binary = fs::read(&path)?.starts_with(b"\xe0\x01\x00\xea");
        assert_eq!(is_binary, name == "a.10n");
        // Compressed, and under a name without an extension.
        let packed = Command::new("gzip").args(["-k", &path]).status()?.success();
        let plain = fixture.path(&format!("{name}.txt"));
        fs::copy(&path, &plain)?;
        let mut files = vec![path.clone()];
        files.extend(packed.then(|| format!("{path}.gz")));
        files.extend(is_binary.then(|| plain.display().to_string()));
        for file in files {
            let text = format!("select count(*), sum(id), max(name), sum(price) from '{file}'");
            answers.push(fixture.json(&text)?);
        }
    }
    let expected = r#"[{"count":5000,"sum":12502500,"max":"name 999","sum_1":15628125.00}]"#;
    assert!(answers.len() >= 3 && answers.iter().all(|answer| answer == expected), "{answers:?}");
    let path = fixture.path("named.txt").display().to_string();
    fixture.run(&format!("copy (select 1 as one) to '{path}' (format ion_binary)"))?;
    assert!(fs::read(&path)?.starts_with(b"\xe0\x01\x00\xea"));
    fixture.run(&format!("copy (select 1 as one) to '{path}' (format ion)"))?;
    assert_eq!(fs::read_to_string(&path)?, "{one:1}\n");
    Ok(())
}

const TYPED: &str = "create table typed (
    id int primary key, tiny smallint, n bigint, price numeric(12, 4), wide numeric(38, 0), x double precision,
    r real, ok boolean, name text, raw bytea, day date, clock time, at timestamp, world timestamptz,
    long interval, tag uuid, doc json, list int[], names text[])";

const WORDS: [&str; 8] =
    ["", "plain", "it''s", "line\nbreak", "ü \u{1f4a9}", "a\"b\\c", "null", "2024-01-01"];

const DOCUMENTS: [&str; 7] = [
    "{}",
    "{\"a\":[1,null,1.50]}",
    "\"text\"",
    "1.10",
    "[true,{\"b\":\"\"}]",
    "false",
    "12345678901234567890",
];

/// A value in SQL's notation, or null.
fn literal(random: &mut Random, column: usize) -> String {
    if random.once_in(5) {
        return "null".to_owned();
    }
    let word = random.draw();
    let signed = word.cast_signed();
    match column {
        0 => (signed % 32_768).to_string(),
        1 => (signed.max(-i64::MAX)).to_string(),
        2 => format!("{}.{:04}", signed % 100_000_000, word >> 40 & 8191),
        3 => format!("{}{:018}", signed % 10_000_000_000, word >> 8 & 0xfff_ffff),
        4 => format!("{}e{}", signed % 1_000_000, word >> 50 & 63),
        5 => format!("{}.5", signed % 10_000),
        6 => (word & 1 == 0).to_string(),
        7 => format!("'{}'", random.one_of(&WORDS)),
        8 => format!("'\\x{:x}'", word >> 8 | 1 << 55),
        9 => format!("date '{:04}-{:02}-{:02}'", 1 + word % 9999, 1 + word % 12, 1 + word % 28),
        10 => format!(
            "time '{:02}:{:02}:{:02}.{:06}'",
            word % 24,
            word % 60,
            word % 59,
            word % 1_000_000
        ),
        11 => format!(
            "timestamp '{:04}-02-{:02} 23:59:59.{:06}'",
            1 + word % 9999,
            1 + word % 28,
            word % 1_000_000
        ),
        12 => format!(
            "timestamptz '{:04}-12-{:02} 00:00:{:02}Z'",
            1 + word % 9999,
            1 + word % 28,
            word % 60
        ),
        13 => format!(
            "interval '{} months {} days {} seconds'",
            word % 100,
            signed % 50,
            word % 86_400
        ),
        14 => format!("'{:08x}-0000-4000-8000-{:012x}'", word >> 32, word >> 16),
        15 => format!("'{}'", random.one_of(&DOCUMENTS)),
        16 => format!("array[{}, null, {}]::int[]", signed % 1000, word % 1000),
        _ => random.one_of(&["array[]::text[]", "array['x', null, '']", "array['ü']"]).to_string(),
    }
}

#[test]
fn tables_come_back_as_they_were_whatever_they_hold() -> Result {
    for seed in 0..24 {
        let mut random = Random::new(seed);
        let mut fixture = Fixture::new(TYPED)?;
        let count = random.below(60);
        for id in 0..count {
            let values: Vec<String> = (0..18).map(|column| literal(&mut random, column)).collect();
            fixture.run(&format!("insert into typed values ({id}, {})", values.join(", ")))?;
        }
        let original = fixture.rows("select * from typed order by id")?;
        for name in ["t.ion", "t.10n"] {
            let path = fixture.path(name).display().to_string();
            fixture.run(&format!("copy typed to '{path}'"))?;
            fixture.run(&TYPED.replace("typed", "back"))?;
            let written = fixture.run(&format!("copy back from '{path}'"));
            let written = written.map_err(|error| format!("seed {seed}, {name}: {error}"))?;
            assert_eq!(written.unwrap_or(0), count as u64, "seed {seed}, {name}");
            let back = fixture.rows("select * from back order by id")?;
            assert_eq!(back, original, "seed {seed}, {name}");
            fixture.run("drop table back")?;
        }
    }
    Ok(())
}

#[test]
fn nulls_keep_the_type_of_their_column() -> Result {
    let mut fixture = Fixture::new(TYPED)?;
    fixture.run("insert into typed (id) values (1)")?;
    for name in ["n.ion", "n.10n"] {
        let path = fixture.path(name).display().to_string();
        fixture.run(&format!("copy typed (id, n, price, x, ok, name, raw, at) to '{path}'"))?;
        let types = fixture.types(&format!("select * from '{path}'"))?;
        let expected = "[Int64, Int64, Decimal { precision: 18, scale: 3 }, Float64, Boolean, Text, Binary, Timestamp { utc: true }]";
        assert_eq!(types, expected, "{name}");
    }
    let written = fs::read_to_string(fixture.path("n.ion"))?;
    assert_eq!(
        written,
        "{id:1,n:null.int,price:null.decimal,x:null.float,ok:null.bool,name:null.string,raw:null.blob,at:null.timestamp}\n"
    );
    Ok(())
}

#[test]
fn files_of_other_shapes_are_read_too() -> Result {
    let mut fixture = Fixture::new("")?;
    let values = fixture.file("values.ion", "1 2.5 3")?;
    assert_eq!(
        fixture.json(&format!("select ion from {values}"))?,
        r#"[{"ion":1.0},{"ion":2.5},{"ion":3.0}]"#
    );
    let list = fixture.file("list.ion", "[{a: 1}, {a: 2}]")?;
    assert_eq!(fixture.json(&format!("select sum(a) from {list}"))?, r#"[{"sum":3}]"#);
    let cases = fixture.file("cases.ion", "{a: 1, A: 2, '': 3}")?;
    assert_eq!(
        fixture.json(&format!("select * from {cases}"))?,
        r#"[{"a":1,"A_1":2,"column_3":3}]"#
    );
    let empty = fixture.file("empty.ion", "// nothing\n")?;
    assert_eq!(fixture.json(&format!("select count(*) from {empty}"))?, r#"[{"count":0}]"#);
    // Fields that look like keys are not columns of a struct.
    let keys: Vec<String> = (0..300).map(|at| format!("k{at}: {at}")).collect();
    let keys = fixture.file("keys.ion", format!("{{a: {{{}}}}}", keys.join(", ")))?;
    assert_eq!(fixture.types(&format!("select a from {keys}"))?, "[Map(Int64)]");
    assert_eq!(fixture.json(&format!("select a -> 'k7' as k from {keys}"))?, r#"[{"k":7}]"#);
    Ok(())
}

#[test]
fn what_is_wrong_is_told_with_its_place() -> Result {
    let mut fixture = Fixture::new("create table t (a int, b timestamp)")?;
    for (content, code, reported) in [
        ("{a: 1}\n{a: 0x}\n", ErrorCode::Syntax, "row 2, byte 13"),
        ("{a: 1}\n{a: [\n", ErrorCode::Syntax, "row 2"),
        ("{a: 1}\n{$77: 1}\n", ErrorCode::Syntax, "row 2"),
        ("$ion_1_1 {a: 1}", ErrorCode::Unsupported, "row 1"),
        ("{a: 170000000000000000000000000000000000000}", ErrorCode::TypeMismatch, "column `a`"),
    ] {
        let file = fixture.file("bad.ion", content)?;
        let (found, text) = fixture.refused(&format!("select a from {file}"))?;
        assert_eq!(found, code, "{content}: {text}");
        assert!(text.contains("bad.ion") && text.contains(reported), "{content}: {text}");
    }
    let path = fixture.path("t.ion").display().to_string();
    fixture.run("insert into t values (1, '12000-01-01')")?;
    let (code, text) = fixture.refused(&format!("copy t to '{path}'"))?;
    assert_eq!(code, ErrorCode::InvalidInput, "{text}");
    assert!(text.contains("column \"b\"") && text.contains("years 1 to 9999"), "{text}");
    assert!(!fixture.path("t.ion").exists(), "nothing is left of it");
    Ok(())
}

#[test]
fn a_damaged_file_is_an_error_and_never_more() -> Result {
    let mut fixture = Fixture::new(TYPED)?;
    let mut random = Random::new(7);
    for id in 0..40 {
        let values: Vec<String> = (0..18).map(|column| literal(&mut random, column)).collect();
        fixture.run(&format!("insert into typed values ({id}, {})", values.join(", ")))?;
    }
    for name in ["d.ion", "d.10n"] {
        let path = fixture.path(name);
        fixture.run(&format!("copy typed to '{}'", path.display()))?;
        let whole = fs::read(&path)?;
        let mut refused = 0;
        for _ in 0..300 {
            let mut bytes = whole.clone();
            match random.below(3) {
                0 => bytes.truncate(random.below(bytes.len())),
                _ => {
                    let at = random.below(bytes.len());
                    bytes[at] ^= 1 << random.below(8);
                }
            }
            fs::write(&path, &bytes)?;
            let text = format!("select * from '{}'", path.display());
            let answer = fixture.session.execute(&text, &[]);
            let rows = answer.map(|answer| answer.rows.map(|mut rows| rows.collect_rows()));
            refused += u32::from(!matches!(rows, Ok(Some(Ok(_)))));
        }
        assert!(refused > 30, "{name}: {refused} of 300 refused");
    }
    assert_eq!(fixture.rows("select 1")?, [[Value::Integer(1)]]);
    Ok(())
}

#[test]
fn structs_become_maps_where_the_table_has_them() -> Result {
    let table = "create table {} (id int primary key, m map(text, bigint), n map(text, numeric),
        b map(text, bytea), l map(text, bigint)[]);";
    let mut fixture = Fixture::new(&table.replace("{}", "t"))?;
    fixture.run(
        "insert into t values (1, '{\"a\":1}', '{\"x\":1.50,\"y\":null}', '{\"q\":\"\\\\x0102\"}', '[{\"a\":1},{}]'),
            (2, '{}', '{}', null, null), (3, '{\"b\":9007199254740993}', null, null, '[]')",
    )?;
    let expected = fixture.json("select * from t order by id")?;
    for (at, name) in ["m.ion", "m.10n"].into_iter().enumerate() {
        let path = fixture.path(name).display().to_string();
        fixture.run(&format!("copy t to '{path}'"))?;
        fixture.run(&table.replace("{}", &format!("t{at}")))?;
        fixture.run(&format!("copy t{at} from '{path}'"))?;
        assert_eq!(fixture.json(&format!("select * from t{at} order by id"))?, expected, "{name}");
    }
    Ok(())
}

#[test]
fn times_are_rounded_to_microseconds_as_in_text() -> Result {
    let mut fixture = Fixture::new("")?;
    for time in ["2024-01-01T00:00:00.123456789Z", "1969-12-31T23:59:59.9999995Z"] {
        let file = fixture.file("t.ion", format!("{{t: {time}}}"))?;
        let text = fixture.json(&format!("select timestamptz '{time}' as t"))?;
        assert_eq!(fixture.json(&format!("select t from {file}"))?, text, "{time}");
    }
    Ok(())
}

/// A symbol of a shared table has a number here and no text, which nothing may make up.
#[test]
fn a_symbol_without_text_is_refused() -> Result {
    let mut fixture = Fixture::new("")?;
    let import = "$ion_symbol_table::{imports: [{name: \"x\", version: 1, max_id: 3}]}";
    for value in ["{a: $10}", "{a: $10} {a: 1}", "{a: [{$10: 1}, 1]}", "{$10: 1}"] {
        let file = fixture.file("s.ion", format!("{import} {value}"))?;
        let (_, error) = fixture.refused(&format!("select * from {file}"))?;
        assert!(error.contains("symbol"), "{value}: {error}");
    }
    let file = fixture.file("null.ion", "{a: 1} null")?;
    let (_, error) = fixture.refused(&format!("select * from {file}"))?;
    assert!(
        error.contains("a record is of type null, not struct") && !error.contains("records :="),
        "{error}"
    );
    Ok(())
}
