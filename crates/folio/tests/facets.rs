//! What surfaces show beside rows: facets, histograms, links, saved statements, first rows and earlier
//! lines.

#![allow(clippy::unwrap_used)] // a test that panics has failed

use std::time::{Duration, SystemTime};

use folio::{
    CollectionOptions, Database, ErrorCode, Histogram, Layout, OpenOptions, Parameters,
    SavedStatement, StatementLanguage, Value, Window, WindowTest,
};
use serde_json::json;
use tempfile::TempDir;

fn database() -> (TempDir, Database) {
    let folder = TempDir::new().unwrap();
    let database = Database::open(folder.path().join("data")).unwrap();
    let people = database.collection("people").unwrap();
    for number in 0..100 {
        let town = ["Oslo", "Bergen", "Turin"][number as usize % 3];
        let document = json!({
            "age": number % 10,
            "mean": f64::from(number) / 4.0,
            "home": {"town": town},
            "at": format!("2026-01-{:02}T10:00:00Z", number % 30 + 1),
            "a name": null,
            "tags": [format!("t{}", number % 2), "all"],
            "boss": format!("p{}", number / 10),
        });
        people.put(&format!("p{number}"), &document).unwrap();
    }
    let tables = "create table cities (id int primary key, name text, founded date);
        insert into cities values (1, 'Oslo', '1040-01-01'), (2, 'Bergen', '1070-06-01');
        create table visits (id int primary key, city int references cities (id));
        insert into visits values (1, 1), (2, 1), (3, null)";
    database.sql(tables, &Parameters::default()).unwrap();
    (folder, database)
}

fn window(relation: &str, tests: &[(&str, WindowTest, &str)]) -> Window {
    let tests = tests.iter().map(|(path, test, value)| ((*path).into(), *test, (*value).into()));
    Window { relation: relation.into(), tests: tests.collect(), ..Window::default() }
}

#[test]
fn facets_count_the_values_of_the_rows_that_pass() {
    let (_folder, database) = database();
    let mut session = database.session().unwrap();
    let mut facet = |tests: &[(&str, WindowTest, &str)], path: &str, sample| {
        let found = session.facet(&window("people", tests), path, 3, sample).unwrap();
        let values = found
            .values
            .into_iter()
            .map(|(value, count)| (folio::format_value(&value, &found.column_type), count));
        values.collect::<Vec<_>>()
    };
    let owned = |pairs: &[(&str, u64)]| -> Vec<(String, u64)> {
        pairs.iter().map(|(value, count)| ((*value).to_owned(), *count)).collect()
    };
    assert_eq!(
        facet(&[], "home.town", None),
        owned(&[("Oslo", 34), ("Bergen", 33), ("Turin", 33)])
    );
    assert_eq!(facet(&[], "tags[]", None), owned(&[("all", 100), ("t0", 50), ("t1", 50)]));
    let oslo = [("home.town", WindowTest::Equal, "Oslo")];
    assert_eq!(facet(&oslo, "age", None), owned(&[("0", 4), ("3", 4), ("6", 4)]));
    let tagged = [("tags[]", WindowTest::Equal, "t1"), ("age", WindowTest::Less, "3")];
    assert_eq!(facet(&tagged, "age", None), owned(&[("1", 10)]));
    assert_eq!(facet(&[], "age", Some(2)), owned(&[("0", 1), ("1", 1)]));
    assert_eq!(facet(&[], "\"a name\"", None), owned(&[("", 100)]));
}

#[test]
fn histograms_have_round_bins() {
    let (_folder, database) = database();
    let mut session = database.session().unwrap();
    let mut histogram = |relation: &str, path: &str, count| {
        session.histogram(&window(relation, &[]), path, count, None).unwrap()
    };
    let of = |bounds: &[&str], counts: &[u64]| {
        let bounds = bounds.iter().map(|bound| (*bound).to_owned()).collect();
        Some(Histogram { bounds, counts: counts.to_vec() })
    };
    assert_eq!(histogram("people", "mean", 5), of(&["0", "5", "10", "15", "20", "25"], &[20; 5]));
    assert_eq!(histogram("people", "age", 3), of(&["0", "5", "10"], &[50, 50]));
    let at = histogram("people", "at", 3).unwrap();
    assert_eq!((at.counts.iter().sum::<u64>(), at.counts.len() + 1), (100, at.bounds.len()));
    assert!(at.bounds[0].ends_with("T00:00:00"), "{at:?}");
    let founded = histogram("cities", "founded", 4).unwrap();
    assert_eq!(founded.counts.iter().sum::<u64>(), 2);
    assert_eq!(founded.bounds[0].len(), "1040-01-01".len(), "{founded:?}");
    assert_eq!(histogram("people", "home.town", 5), None);
    assert_eq!(histogram("people", "\"a name\"", 5), None);

    // What a bin counts is what a filter by its bounds finds.
    for (path, relation) in [("at", "people"), ("mean", "people"), ("founded", "cities")] {
        let found = session.histogram(&window(relation, &[]), path, 7, None).unwrap().unwrap();
        for (bin, count) in found.counts.iter().enumerate() {
            let tests = [
                (path, WindowTest::AtLeast, &*found.bounds[bin]),
                (path, WindowTest::Less, &*found.bounds[bin + 1]),
            ];
            let counted = session.count_window(&window(relation, &tests)).unwrap();
            assert_eq!(counted, *count, "{path} {tests:?}");
        }
    }
    let error = session.histogram(&window("people", &[]), "agee", 5, None).unwrap_err();
    assert_eq!(error.code(), ErrorCode::NotFound);
}

#[test]
fn links_are_declared_or_shown_by_examples() {
    let (_folder, database) = database();
    let links = database.links().unwrap();
    let found: Vec<_> = links
        .iter()
        .map(|link| {
            (&*link.from, &*link.to, &*link.columns[0].0, &*link.columns[0].1, link.is_declared)
        })
        .collect();
    assert_eq!(
        found,
        [("people", "people", "boss", "_id", false), ("visits", "cities", "city", "id", true)]
    );
    let keys: Vec<_> = database.session().unwrap().relations().unwrap();
    let keys: Vec<_> = keys.iter().map(|one| (&*one.name, one.key.join(","))).collect();
    assert_eq!(keys, [("cities", "id".into()), ("people", "_id".into()), ("visits", "id".into())]);
}

#[test]
fn statements_are_files_that_people_can_read() {
    let (folder, database) = database();
    let saved = |name: &str, language, text: &str| SavedStatement {
        name: name.into(),
        language,
        text: text.into(),
    };
    let first = saved("all", StatementLanguage::Sql, "select * from people");
    database.save_statement(&first).unwrap();
    let path = folder.path().join("data/studio/all.sql");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "select * from people");
    let second = saved("all", StatementLanguage::Ziql, "GRAB people");
    database.save_statement(&second).unwrap();
    assert_eq!(database.saved_statements().unwrap(), [second]);
    assert!(!path.exists(), "a name has one statement");
    for name in ["../evil", "", ".hidden", "a/b", "a\\b"] {
        let error = database.save_statement(&saved(name, StatementLanguage::Sql, "")).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidInput, "{name}");
        assert!(database.remove_statement(name).is_err());
    }
    let reading = Database::open_with(database.path(), &OpenOptions::read_only()).unwrap();
    assert_eq!(reading.saved_statements().unwrap().len(), 1);
    assert_eq!(reading.save_statement(&first).unwrap_err().code(), ErrorCode::ReadOnly);
    assert_eq!(reading.remove_statement("all").unwrap_err().code(), ErrorCode::ReadOnly);
    assert!(database.remove_statement("all").unwrap());
    assert!(!database.remove_statement("all").unwrap());
    let values = database.sql("select count(*) from people", &Parameters::default()).unwrap();
    assert_eq!(values.rows.unwrap().collect_rows().unwrap(), [[Value::Integer(100)]]);
}

#[test]
fn the_first_rows_are_those_of_the_window_and_open_nothing() {
    let (folder, database) = database();
    let whole = database.session().unwrap().window(&Window { limit: 100, ..window("people", &[]) });
    let mut whole = whole.unwrap();
    let mut first = database.first_rows("people", 100).unwrap().unwrap();
    assert_eq!((first.names(), first.types()), (whole.names(), whole.types()));
    assert_eq!(first.collect_rows().unwrap(), whole.collect_rows().unwrap());
    database.close().unwrap();

    let meta = folder.path().join("data/collections/people/meta");
    let files = || {
        let names = std::fs::read_dir(&meta).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    };
    for name in files() {
        if name != "data.jsonl" {
            std::fs::remove_file(meta.join(name)).unwrap();
        }
    }
    let database = Database::open(folder.path().join("data")).unwrap();
    let mut first = database.first_rows("people", 3).unwrap().unwrap();
    let rows = first.collect_rows().unwrap();
    let ids: Vec<_> = rows.iter().map(|row| row[0].clone()).collect();
    assert_eq!(ids, ["p0", "p1", "p2"].map(|id| Value::Text(id.to_owned())));
    assert_eq!(files(), ["data.jsonl"], "no index was built");
    for name in ["cities", "nobody", "../people"] {
        assert!(database.first_rows(name, 3).unwrap().is_none(), "{name}");
    }
    database.collection("people").unwrap().count().unwrap();
    database.close().unwrap();
    assert_ne!(files(), ["data.jsonl"], "opening builds it");
    let closed = database.first_rows("people", 3).map(drop);
    assert_eq!(closed.unwrap_err().code(), ErrorCode::Closed);
}

#[test]
fn a_revision_and_a_commit_tell_of_any_change() {
    let folder = TempDir::new().unwrap();
    let begin = SystemTime::now() - Duration::from_secs(5);
    let database = Database::open(folder.path().join("data")).unwrap();
    let past = database.collection("past").unwrap();
    past.put("a", &json!({"n": 1})).unwrap();
    past.flush().unwrap();
    let reading = database.read_only().unwrap().collection("past").unwrap();
    let revision = || {
        reading.refresh().unwrap();
        reading.revision().unwrap()
    };
    let first = revision();
    assert_eq!(revision(), first);
    // One document as before, and a file of the same size.
    let file = folder.path().join("data/collections/past/meta/data.jsonl");
    let content = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, content.replace(":1}", ":2}")).unwrap();
    let second = revision();
    assert_ne!(second, first);
    past.refresh().unwrap();
    past.put("a", &json!({"n": 3})).unwrap();
    past.flush().unwrap();
    assert_ne!(revision(), second);
    assert!(past.stats().unwrap().changed.unwrap() > begin);

    let sql = |text: &str| database.sql(text, &Parameters::default()).unwrap();
    sql("create table t (id int primary key, name text)");
    let tables = database.tables().unwrap();
    let state = || tables.statistics().unwrap().unwrap();
    let (before, size) = (state(), tables.size("t").unwrap());
    assert_eq!(state().commit, before.commit);
    sql("insert into t select n, 'name ' || n from generate_series(1, 20000) as s(n)");
    assert!(state().commit > before.commit && state().changed.unwrap() > begin);
    assert!(tables.size("t").unwrap() > 10 * size);
    assert_eq!(tables.size("none").unwrap_err().code(), ErrorCode::NotFound);
}

#[test]
fn a_session_refuses_changes_on_a_handle_that_writes() {
    let folder = TempDir::new().unwrap();
    let database = Database::open(folder.path().join("data")).unwrap();
    database.sql("create table t (n int)", &Parameters::default()).unwrap();
    let mut session = database.session().unwrap();
    session.refuse_changes();
    for text in [
        "insert into t values (1)",
        "begin; insert into t values (1); commit",
        "create index on t (n)",
        "drop table t",
    ] {
        let error = session.sql(text, &Parameters::default()).map(drop).unwrap_err();
        assert_eq!(error.code(), ErrorCode::ReadOnly, "{text}");
        let _ = session.sql("rollback", &Parameters::default());
    }
    session.sql("select * from t", &Parameters::default()).unwrap();
    database.sql("insert into t values (1)", &Parameters::default()).unwrap();
}

#[test]
fn an_id_has_its_superseded_lines_with_their_numbers() {
    let folder = TempDir::new().unwrap();
    let database = Database::open(folder.path().join("data")).unwrap();
    let past = database.collection("past").unwrap();
    let history = |id: &str, limit, goes_on: bool| {
        let found = past.history(id, limit, &mut |_, _| goes_on).unwrap();
        let lines = found.lines.into_iter().map(|line| (line.line_number, line.text));
        (lines.collect::<Vec<_>>(), found.is_partial)
    };
    let put = |id: &str, version: u64| {
        past.put(id, &json!({"version": version})).unwrap();
    };
    let line = |version: u64| Some(format!(r#"{{"_id":"a","version":{version}}}"#));
    put("a", 1);
    put("b", 1);
    put("a", 2);
    assert_eq!(history("a", 9, true), (vec![(1, line(1))], false), "not what is there now");
    past.delete("a").unwrap();
    assert_eq!(history("a", 9, true).0, [(4, None), (3, line(2)), (1, line(1))]);
    put("a", 3);
    past.flush().unwrap();
    let file = folder.path().join("data/collections/past/meta/data.jsonl");
    let mut content = std::fs::read_to_string(&file).unwrap();
    let by_hand = r#"{"version":4,"_id":"\u0061"}"#;
    content.push_str(&format!("\n{{\"_id\":\"a\",\nnonsense\n{by_hand}\n"));
    std::fs::write(&file, content).unwrap();
    past.refresh().unwrap();
    put("a", 5);
    let all = [(9, Some(by_hand.to_owned())), (5, line(3)), (4, None), (3, line(2)), (1, line(1))];
    assert_eq!(history("a", 9, true), (all.to_vec(), false));
    assert_eq!(history("a", 5, true), (all.to_vec(), false));
    assert_eq!(history("a", 2, true), (all[..2].to_vec(), true));
    assert_eq!(history("b", 9, true), (vec![], false));
    assert_eq!(history("none", 9, true), (vec![], false));
    let number = |id: &str| past.history(id, 0, &mut |_, _| true).unwrap().line_number;
    assert_eq!((number("a"), number("b"), number("none")), (Some(10), Some(2), None));

    (0..5_000).for_each(|version| put("b", version));
    assert_eq!(history("a", 9, true).0, all);
    assert_eq!(history("a", 9, false), (vec![], true), "only the last lines were read");
    let reading = database.read_only().unwrap().collection("past").unwrap();
    past.flush().unwrap();
    reading.refresh().unwrap();
    assert_eq!(reading.history("a", 9, &mut |_, _| true).unwrap().lines.len(), all.len());
    past.compact(&mut |_, _| true).unwrap();
    assert_eq!(history("a", 9, true), (vec![], false));

    let options = CollectionOptions { layout: Layout::Files, ..CollectionOptions::default() };
    let files = database.collection_with("files", &options).unwrap();
    for n in 0..2 {
        files.put("a", &json!({"n": n})).unwrap();
    }
    assert!(files.history("a", 9, &mut |_, _| true).unwrap().lines.is_empty());
    files.flush().unwrap();
    assert!(database.first_rows("files", 3).unwrap().is_none());
}

#[test]
fn rows_at_a_position_of_an_order_are_those_of_its_window() {
    let (_folder, database) = database();
    let tables =
        "create table pairs (a text, b numeric(8, 2), day date, n int, primary key (b, a));
        insert into pairs
            select 'k' || n % 7, n * 0.25, date '2026-01-01' + n % 31, n
            from generate_series(0, 2999) s(n);
        create table loose (n int);
        create view large as select * from cities where id > 1";
    database.sql(tables, &Parameters::default()).unwrap();
    let mut session = database.session().unwrap();
    let by =
        |columns: &[(&str, bool)]| columns.iter().map(|(c, d)| ((*c).to_owned(), *d)).collect();
    for (relation, tests, order) in [
        ("people", &[][..], by(&[("age", true)])),
        ("people", &[("home.town", WindowTest::Equal, "Oslo")], by(&[])),
        ("people", &[("age", WindowTest::Less, "5")], by(&[("home.town", false), ("mean", true)])),
        ("people", &[("age", WindowTest::Less, "0")], by(&[])),
        ("cities", &[], by(&[("name", false)])),
        ("pairs", &[], by(&[("day", true), ("a", false)])),
        ("pairs", &[("n", WindowTest::AtLeast, "100")], by(&[])),
    ] {
        let whole = Window { order, limit: 10_000, ..window(relation, tests) };
        let order = session.order_window(&whole, 1 << 20).unwrap().unwrap();
        let mut all = session.window(&whole).unwrap();
        let (names, types) = (all.names().to_vec(), all.types().to_vec());
        let all = all.collect_rows().unwrap();
        assert_eq!(order.row_count(), all.len() as u64, "{whole:?}");
        assert!(order.size() > 0 || all.is_empty());
        let end = all.len() as u64;
        for (offset, limit) in [(0, 3), (end / 2, 20), (end.saturating_sub(2), 9), (end, 3), (2, 0)]
        {
            let mut rows = session.window_at(&order, offset, limit).unwrap();
            assert_eq!((rows.names(), rows.types()), (&*names, &*types));
            let wanted = all.iter().skip(offset as usize).take(limit as usize).cloned();
            assert_eq!(
                rows.collect_rows().unwrap(),
                wanted.collect::<Vec<_>>(),
                "{whole:?} {offset}"
            );
        }
        assert!(order.is_of(&Window { offset: 7, limit: 1, ..whole.clone() }));
        assert!(!order.is_of(&window("users", tests)));
        if let Some(less) = order.size().checked_sub(1) {
            assert!(session.order_window(&whole, less).unwrap().is_none(), "a bound");
        }
    }
    for relation in ["loose", "large"] {
        assert!(session.order_window(&window(relation, &[]), 1 << 20).unwrap().is_none());
    }
    let missing = session.order_window(&window("nothing", &[]), 1 << 20);
    assert_eq!(missing.unwrap_err().code(), ErrorCode::NotFound);
}

#[test]
fn an_order_knows_whether_its_rows_have_changed() {
    let (_folder, database) = database();
    let mut session = database.session().unwrap();
    let by_age = Window { order: vec![("age".into(), false)], ..window("people", &[]) };
    let by_name = Window { order: vec![("name".into(), true)], ..window("cities", &[]) };
    let people = session.order_window(&by_age, 1 << 20).unwrap().unwrap();
    let cities = session.order_window(&by_name, 1 << 20).unwrap().unwrap();
    assert!(session.is_current(&people).unwrap() && session.is_current(&cities).unwrap());

    let collection = database.collection("people").unwrap();
    collection.put("late", &json!({"age": 3})).unwrap();
    assert!(!session.is_current(&people).unwrap() && session.is_current(&cities).unwrap());
    let rows = session.window_at(&people, 0, 200).unwrap().collect_rows().unwrap();
    assert_eq!(rows.len(), 100, "those of then are there");
    collection.delete("p30").unwrap();
    let gone = session.window_at(&people, 0, 200).map(drop).unwrap_err();
    assert_eq!(gone.code(), ErrorCode::Conflict);
    let people = session.order_window(&by_age, 1 << 20).unwrap().unwrap();
    assert!(session.is_current(&people).unwrap() && people.row_count() == 100);

    database.sql("delete from visits where id = 3", &Parameters::default()).unwrap();
    assert!(!session.is_current(&cities).unwrap(), "it is said of all tables");
    assert_eq!(session.window_at(&cities, 0, 9).unwrap().collect_rows().unwrap().len(), 2);
    database.sql("drop table visits; drop table cities", &Parameters::default()).unwrap();
    assert!(!session.is_current(&cities).unwrap());
    assert!(session.window_at(&cities, 0, 9).is_err());
}
