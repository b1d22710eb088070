//! Statements that ask for little read little: bytes read from files are counted.

use std::sync::Arc;

use folio::{
    Collection, ColumnType, Database, IndexOptions, OpenOptions, Parameters, Scan, Session, Value,
};
use folio_file::MemoryFileSystem;
use serde_json::json;

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Documents, of about 150 bytes.
const COUNT: usize = 30_000;

/// A few blocks of the data file. All of it is 4.5 MB.
const FEW_BLOCKS: u64 = 300_000;

fn open(files: &MemoryFileSystem) -> Result<(Database, Collection)> {
    let options =
        OpenOptions { file_system: Some(Arc::new(files.clone())), ..OpenOptions::default() };
    let database = Database::open_with("/db", &options)?;
    let people = database.collection("people")?;
    Ok((database, people))
}

fn put(people: &Collection, n: usize) -> Result {
    let text = "x".repeat(60);
    let value = json!({
        "email": format!("m{n}@example.com"), "rank": n, "at": {"city": text, "zip": [n, n + 1]}
    });
    people.put(&format!("p{n:06}"), &value)?;
    Ok(())
}

/// A collection with types, and with indexes on `email` and `rank` if wanted.
fn filled(is_indexed: bool) -> Result<(MemoryFileSystem, Database, Collection)> {
    let files = MemoryFileSystem::new();
    let (database, people) = open(&files)?;
    for n in 0..COUNT {
        put(&people, n)?;
    }
    if is_indexed {
        let unique = IndexOptions { unique: true, ..IndexOptions::default() };
        people.create_index(&["email"], &unique, &mut |_, _| true)?;
        people.create_index(&["rank"], &IndexOptions::default(), &mut |_, _| true)?;
    }
    people.flush()?;
    people.types()?;
    Ok((files, database, people))
}

fn number(value: usize) -> Result<Parameters> {
    let mut parameters = Parameters::default();
    parameters.push(Value::Integer(i64::try_from(value)?), Some(ColumnType::Int64));
    Ok(parameters)
}

#[test]
fn a_statement_after_a_put_reads_what_was_put() -> Result {
    for is_indexed in [true, false] {
        let (files, database, people) = filled(is_indexed)?;
        let mut session = database.session()?;
        let mut most = 0;
        for n in COUNT..COUNT + 10 {
            put(&people, n)?;
            let before = files.read_size();
            let text = match is_indexed {
                true => format!("select at.city from people where email = 'm{n}@example.com'"),
                false => "select at.city from people where rank >= 0 limit 1".to_owned(),
            };
            let rows = session.execute(&text, &[])?.rows.ok_or("a query")?.collect_rows()?;
            assert_eq!(rows.len(), 1, "{text}");
            assert_eq!(people.types()?.document_count(), n as u64 + 1);
            most = most.max(files.read_size() - before);
        }
        assert!(most < FEW_BLOCKS, "{most} bytes, with indexes: {is_indexed}");
    }
    Ok(())
}

#[test]
fn a_lookup_by_a_field_reads_its_documents() -> Result {
    let (files, database, people) = filled(true)?;
    let mut session = database.session()?;
    let mut prepared = session.prepare("select _doc from people where rank = ?")?;
    for n in [7, 20_000, COUNT - 1] {
        let before = files.read_size();
        let found = people.scan_where("rank = ?", &number(n)?, Scan::new())?;
        let found: Vec<String> =
            found.map(|found| Ok(found?.id().to_owned())).collect::<Result<_>>()?;
        assert_eq!(found, [format!("p{n:06}")]);
        let answer = session.sql_prepared(&mut prepared, &number(n)?)?;
        assert_eq!(answer.rows.ok_or("a query")?.collect_rows()?.len(), 1);
        let read = files.read_size() - before;
        assert!(read < FEW_BLOCKS, "{read} bytes for {n}");
    }
    Ok(())
}

/// An index finds them in its order, a scan yields them in that of the file.
#[test]
fn a_scan_with_a_condition_follows_the_file() -> Result {
    let (_files, _database, people) = filled(true)?;
    put(&people, 3)?; // moves to the end
    people.delete("p000005")?;
    let ids = |scan: Scan| -> Result<Vec<String>> {
        let found = people.scan_where("rank < ?", &number(8)?, scan)?;
        found.map(|found| Ok(found?.id().to_owned())).collect()
    };
    let expected = ["p000000", "p000001", "p000002", "p000004", "p000006", "p000007", "p000003"];
    assert_eq!(ids(Scan::new())?, expected);
    assert_eq!(ids(Scan::new().limit(2))?, expected[..2]);
    let odd = Scan::new().filter(|document| document.id().ends_with(['1', '3', '7']));
    assert_eq!(ids(odd)?, ["p000001", "p000007", "p000003"]);
    let mut narrow = people.scan_where("rank < ?", &number(1)?, Scan::new().fields(["rank"]))?;
    assert_eq!(narrow.next_line()?, Some(&br#"{"_id":"p000000","rank":0}"#[..]));
    // Of many documents, all lines are read.
    let all = people.scan_where("rank >= ?", &number(10)?, Scan::new())?;
    assert_eq!(all.count(), COUNT - 10);
    Ok(())
}

/// An edit by hand may leave two documents with one value of a unique index.
#[test]
fn a_unique_value_that_two_documents_have_finds_both() -> Result {
    let (files, database, people) = filled(true)?;
    let text = "select _id from people where email = ?";
    let mut session = database.session()?;
    let mut prepared = session.prepare(text)?;
    let mut ids = |session: &mut Session, email: &str| -> Result<String> {
        let value = [Value::Text(email.to_owned())];
        let answer = session.execute_prepared(&mut prepared, &value)?;
        Ok(answer.rows.ok_or("a query")?.to_json()?)
    };
    assert_eq!(ids(&mut session, "m1@example.com")?, r#"[{"_id":"p000001"}]"#);
    assert_eq!(ids(&mut session, "nobody")?, "[]");
    let literal = text.replace('?', "'m2@example.com'");
    for _ in 0..3 {
        let answer = session.execute(&literal, &[])?; // the third time by its template
        assert_eq!(answer.rows.ok_or("a query")?.to_json()?, r#"[{"_id":"p000002"}]"#);
    }
    let line = br#"{"_id":"twin","email":"m1@example.com","rank":-1}
"#;
    files.append("/db/collections/people/meta/data.jsonl", line)?;
    people.refresh()?;
    assert_eq!(ids(&mut session, "m1@example.com")?, r#"[{"_id":"p000001"},{"_id":"twin"}]"#);
    Ok(())
}

/// Scans of one handle share their compiled conditions.
#[test]
fn a_condition_that_was_asked_before_sees_what_has_changed() -> Result {
    let (_files, database, people) = filled(true)?;
    let ids = |condition: &str, value: usize| -> Result<Vec<String>> {
        let found = people.scan_where(condition, &number(value)?, Scan::new())?;
        found.map(|found| Ok(found?.id().to_owned())).collect()
    };
    assert_eq!(ids("rank = ?", 7)?, ["p000007"]);
    people.put("late", &json!({"rank": 7, "email": "late"}))?;
    assert_eq!(ids("rank = ?", 7)?, ["p000007", "late"]);
    let indexes = people.indexes()?;
    people.drop_index(&indexes[1].definition.name)?;
    assert_eq!(ids("rank = ?", 7)?, ["p000007", "late"], "without the index");
    people.put("text", &json!({"rank": "7", "email": "text"}))?; // the column becomes JSON
    assert_eq!(ids("rank = ?", 7)?, ["p000007", "late"]);
    people.put("new", &json!({"email": "new", "added": {"at": 3}}))?;
    assert_eq!(ids("added.at = ?", 3)?, ["new"], "a path that there was not before");
    for _ in 0..2 {
        let injected = "rank = ?); delete from people where (true";
        let refused = ids(injected, 7).expect_err("two statements");
        assert!(refused.to_string().contains("the end of the condition"), "{refused}");
        assert!(ids("rank = ? and", 7).is_err());
    }
    assert_eq!(people.count()?, COUNT as u64 + 3);
    let again = database.collection("people")?;
    drop(database);
    assert_eq!(again.scan_where("rank = ?", &number(7)?, Scan::new())?.count(), 2);
    Ok(())
}

/// Lines between two values of an index are not compared again.
#[test]
fn a_range_finds_the_documents_whose_values_are_in_it() -> Result {
    let (_files, database, people) = filled(true)?;
    let mut session = database.session()?;
    let texts = [
        "select count(_doc) from people where rank >= ? and rank < ?",
        "select count(_doc) from people where rank > ? and rank <= ?",
        "select count(_doc) from people where rank between ? and ?",
        "select count(_doc) from people where rank >= ? and rank < ? and email like 'm1%'",
        "select count(_doc) from people where rank = ? and rank <> ?",
    ];
    let mut prepared =
        texts.iter().map(|text| Ok(session.prepare(text)?)).collect::<Result<Vec<_>>>()?;
    let mut counts = |from: i64, to: i64| -> Result<Vec<i64>> {
        let values = [Value::Integer(from), Value::Integer(to)];
        let count = |prepared| {
            let rows = session.execute_prepared(prepared, &values)?.rows.ok_or("a query")?;
            match { rows }.collect_rows()?[0][0] {
                Value::Integer(count) => Ok(count),
                ref other => Err(format!("{other:?}").into()),
            }
        };
        prepared.iter_mut().map(count).collect()
    };
    assert_eq!(counts(10, 20)?, [10, 10, 11, 10, 1]);
    assert_eq!(counts(20, 10)?, [0, 0, 0, 0, 1]);
    for (id, rank) in [("half", json!(10.5)), ("text", json!("11")), ("null", json!(null))] {
        people.put(id, &json!({"email": id, "rank": rank}))?;
    }
    people.put("p000012", &json!({"email": "m12", "rank": 1}))?;
    assert_eq!(counts(10, 20)?, [10, 10, 11, 9, 1]);
    Ok(())
}

/// The lines of EXPLAIN about scans.
fn scans(session: &mut Session, query: &str, parameters: &Parameters) -> Result<String> {
    let mut rows = session.sql(&format!("EXPLAIN {query}"), parameters)?.rows.expect("a plan");
    let plan: Vec<serde_json::Value> = serde_json::from_str(&rows.to_json()?)?;
    let lines = plan.iter().filter_map(|row| row["plan"].as_str());
    Ok(lines.filter(|line| line.contains(" rows for ") || line.contains("index")).collect())
}

/// An index makes no statement slow: what has many rows in its range is read in order of the rows.
#[test]
fn a_range_of_many_rows_is_read_without_its_index() -> Result {
    let (_, database, _) = filled(true)?;
    let mut session = database.session()?;
    let none = Parameters::default();
    session.sql(
        "CREATE TABLE t (id bigint PRIMARY KEY, rank bigint, kind text NOT NULL, note text)",
        &none,
    )?;
    session.sql(
        "INSERT INTO t SELECT n, (n * 7919) % 20000, CASE WHEN n % 100 = 0 THEN 'rare' ELSE 'common' END, \
         'note ' || n FROM range(20000) r(n)",
        &none,
    )?;
    session.sql("CREATE INDEX by_rank ON t (rank)", &none)?;
    session.sql("CREATE INDEX by_kind ON t (kind, rank)", &none)?;
    let is_left = "too many rows for index";
    for (query, count, few, many) in [
        ("SELECT count(note), min(note) FROM t WHERE rank >= ?", 20_000, 19_900, 100),
        ("SELECT count(note), min(note) FROM t WHERE rank < ?", 20_000, 100, 19_900),
        ("SELECT sum(length(note)) FROM t WHERE kind = 'common' AND rank > ?", 20_000, 19_900, 100),
        ("SELECT max(note) FROM t a WHERE rank > ? AND note <> 'x'", 20_000, 19_900, 100),
        ("SELECT count(email), max(email) FROM people WHERE rank > ?", COUNT, COUNT - 99, 99),
        ("SELECT count(*) FROM people WHERE rank >= ? AND at.zip[1] > 7", COUNT, COUNT - 99, 99),
    ] {
        assert!(!scans(&mut session, query, &number(few)?)?.contains(is_left), "{query} {few}");
        assert!(scans(&mut session, query, &number(many)?)?.contains(is_left), "{query} {many}");
        // The same without an index.
        let plain = query.replace("rank ", "rank + 0 ");
        let mut prepared = session.prepare(query)?;
        for value in [few, many, 0, count / 2, count - 1, count, few, count / 64, count / 9] {
            let given = number(value)?;
            let mut rows = session.sql_prepared(&mut prepared, &given)?.rows.expect("rows");
            let mut wanted = session.sql(&plain, &given)?.rows.expect("rows");
            assert_eq!(rows.to_json()?, wanted.to_json()?, "{query} {value}");
        }
    }
    // With a range of the key, or a value of another index, whichever has fewer rows.
    for (query, values, path) in [
        ("id > ? AND rank >= ?", [10, 19_990], "by index by_rank"),
        ("id > ? AND rank >= ?", [10, 100], "by key"),
        ("id > ? AND rank >= ?", [19_990, 19_990], "by key"),
        ("id > ? AND kind = 'common' AND rank <> ?", [19_990, 7], "by key"),
        ("id > ? AND kind = 'rare' AND rank < ?", [10, 500], "by index by_kind"),
    ] {
        let query = format!("SELECT count(note), min(note) FROM t WHERE {query}");
        let values = values.map(Value::Integer);
        let mut plan = session.execute(&format!("EXPLAIN {query}"), &values)?.rows.expect("a plan");
        let plan = plan.to_json()?;
        assert!(plan.contains(path), "{query} {values:?}: {plan}");
        let plain = query.replace("rank ", "rank + 0 ").replace("id ", "id + 0 ");
        let mut rows = session.execute(&query, &values)?.rows.expect("rows");
        let mut wanted = session.execute(&plain, &values)?.rows.expect("rows");
        assert_eq!(rows.to_json()?, wanted.to_json()?, "{query} {values:?}");
    }
    // In the order of the index, only the first rows, and from the index alone: as before.
    for query in [
        "SELECT id, note FROM t WHERE rank > 5 ORDER BY rank",
        "SELECT id, note FROM t WHERE rank > 5 LIMIT 3",
        "SELECT sum(rank) FROM t WHERE rank > 5",
    ] {
        let scan = scans(&mut session, query, &none)?;
        assert!(scan.contains("by index by_rank"), "{query}: {scan}");
    }
    Ok(())
}

/// Whether a limit is in the text or a parameter, few rows follow an index, and many do not.
#[test]
fn a_limit_by_a_parameter_follows_an_index() -> Result {
    let (_, database, _) = filled(true)?;
    let mut session = database.session()?;
    session.execute("CREATE TABLE t (id bigint PRIMARY KEY, rank bigint, note text)", &[])?;
    session.execute(
        "INSERT INTO t SELECT n, (n * 7919) % 3000, 'note ' || n FROM range(3000) r(n)",
        &[],
    )?;
    session.execute("CREATE INDEX by_rank ON t (rank)", &[])?;
    for query in [
        "SELECT id, note FROM t ORDER BY rank LIMIT $1 OFFSET $2",
        "SELECT note FROM t ORDER BY rank DESC LIMIT $1 OFFSET $2",
        "SELECT id, (SELECT b.note FROM t b WHERE b.id = a.id) FROM t a \
         ORDER BY rank LIMIT $1 OFFSET $2",
    ] {
        let plain = query.replace("BY rank", "BY rank + 0");
        for (limit, offset, is_few) in [
            (Value::Integer(5), 0, true),
            (Value::Integer(1000), 0, true),
            (Value::Integer(1001), 0, false),
            (Value::Integer(7), 990, true),
            (Value::Integer(3), 2_998, false),
            (Value::Integer(30_000), 10, false),
            (Value::Integer(0), 0, true),
            (Value::Null, 2_990, false),
        ] {
            let values = [limit, Value::Integer(offset)];
            for explain in ["EXPLAIN", "EXPLAIN ANALYZE", "EXPLAIN (ESTIMATES)"] {
                let explained = session.execute(&format!("{explain} {query}"), &values)?;
                let plan = explained.rows.expect("a plan").to_json()?;
                assert_eq!(plan.contains("by index by_rank"), is_few, "{query} {values:?}: {plan}");
            }
            let mut rows = session.execute(query, &values)?.rows.expect("rows");
            let mut wanted = session.execute(&plain, &values)?.rows.expect("rows");
            assert_eq!(rows.to_json()?, wanted.to_json()?, "{query} {values:?}");
        }
    }
    Ok(())
}
