//! Partitions: together they are the collection or the table, and one of which something has changed
//! is refused.

#![allow(clippy::unwrap_used)] // a test that panics has failed

#[path = "../../../conformance/random.rs"]
mod random;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::Schema;
use folio::{
    Access, CollectionOptions, Column, Database, ErrorCode, Layout, OpenOptions, PackOptions,
    Parameters, PartWriter, Partition, PartitionOptions, PartitionedWriter, Position, Rows, Value,
    WrittenPart,
};
use serde_json::json;
use tempfile::TempDir;

fn database(folder: &TempDir) -> Database {
    Database::open(folder.path().join("data")).unwrap()
}

/// Documents of which some were replaced, deleted, and edited by hand.
fn filled(folder: &TempDir, layout: Layout, count: usize) -> Database {
    let options = CollectionOptions { layout, ..CollectionOptions::default() };
    let data = database(folder);
    let docs = data.collection_with("docs", &options).unwrap();
    let all: Vec<_> = (0..count)
        .map(|n| {
            let text = "x".repeat(n * 7 % 300);
            let kind = if n % 5 == 0 { json!(null) } else { json!(format!("k{}", n % 7)) };
            (format!("id{n}"), json!({"n": n, "kind": kind, "text": text, "in": {"a": n % 3}}))
        })
        .collect();
    docs.put_many(all.iter().map(|(id, document)| (id.as_str(), document))).unwrap();
    for n in (0..count).step_by(3) {
        docs.put(&format!("id{n}"), &json!({"n": n, "kind": "new", "text": ""})).unwrap();
    }
    for n in (0..count).step_by(11) {
        docs.delete(&format!("id{n}")).unwrap();
    }
    data.flush().unwrap();
    data
}

/// The rows of all partitions, each read by a database of its own, as another process would.
fn read(path: &Path, partitions: &[Partition]) -> Vec<String> {
    let mut lines = Vec::new();
    for partition in partitions {
        let text = partition.to_string();
        let worker = Database::open(path).unwrap();
        let mut session = worker.session().unwrap();
        let rows = session.read_partition(&text.parse().unwrap()).unwrap();
        lines.extend(lines_of(rows));
    }
    lines.sort();
    lines
}

fn lines_of(mut rows: Rows) -> Vec<String> {
    rows.collect_rows().unwrap().iter().map(|row| format!("{row:?}")).collect()
}

fn by_sql(data: &Database, text: &str) -> Vec<String> {
    let answer = data.sql(text, &Parameters::default()).unwrap();
    let mut lines = lines_of(answer.rows.unwrap());
    lines.sort();
    lines
}

fn options(columns: Option<&[&str]>, filter: Option<&str>) -> PartitionOptions {
    let names = |all: &[&str]| all.iter().map(|&name| name.to_owned()).collect();
    let filter = filter.map(str::to_owned);
    PartitionOptions { columns: columns.map(names), filter, ..PartitionOptions::default() }
}

fn between(since: Option<Position>, until: Option<Position>) -> PartitionOptions {
    PartitionOptions { since, until, ..options(Some(&["_id", "n"]), None) }
}

/// Filters whose answers depend on nulls, order and types.
const FILTERS: [&str; 7] = [
    "kind = 'k1'",
    "kind IS NULL OR n < 40",
    "NOT (kind = 'new')",
    "n BETWEEN 100 AND 900 AND length(text) > 5",
    "kind IN ('k2', NULL)",
    "_id = 'id7'",
    "docs.n % 2 = 0 -- even",
];

fn check_all(data: &Database, relation: &str) {
    let total = by_sql(data, &format!("SELECT * FROM {relation}"));
    for count in [1, 2, 7, 40] {
        let all = data.partitions(relation, count, &PartitionOptions::default()).unwrap();
        assert!(all.len() <= count);
        let rows: u64 = all.iter().map(Partition::row_count).sum();
        assert_eq!(rows, total.len() as u64, "{relation} in {count}");
        assert_eq!(read(data.path(), &all), total, "{relation} in {count}");
        for partition in &all {
            assert!(partition.to_string().len() < 300, "{partition}");
            let own = read(data.path(), std::slice::from_ref(partition));
            assert_eq!(own.len() as u64, partition.row_count());
        }
    }
    for filter in FILTERS {
        let filter = filter.replace("docs.", &format!("{relation}."));
        let given = options(Some(&["kind", "_id"]), Some(&filter));
        let all = data.partitions(relation, 5, &given).unwrap();
        let expected = format!("SELECT kind, _id FROM {relation} WHERE {filter}\n");
        assert_eq!(read(data.path(), &all), by_sql(data, &expected), "{filter}");
    }
}

#[test]
fn partitions_of_lines_are_the_collection() {
    let folder = TempDir::new().unwrap();
    let data = filled(&folder, Layout::Lines, 5_000);
    check_all(&data, "docs");
    let all = data.partitions("docs", 8, &PartitionOptions::default()).unwrap();
    assert_eq!(all.len(), 8);
    let sizes: Vec<u64> = all.iter().map(|partition| partition.size().unwrap()).collect();
    let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
    assert!(most - least <= 2 * 65_536, "{sizes:?}");
}

#[test]
fn a_hand_edit_is_read() {
    let folder = TempDir::new().unwrap();
    let data = filled(&folder, Layout::Lines, 3_000);
    let file = folder.path().join("data/collections/docs/meta/data.jsonl");
    data.close().unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    let text = text.replacen("\"n\":1,", "\"n\":77777,", 1) + "{\"_id\":\"by hand\",\"n\":5}";
    std::fs::write(&file, text).unwrap();
    let data = database(&folder);
    check_all(&data, "docs");
    assert_eq!(by_sql(&data, "SELECT _id FROM docs WHERE n = 77777").len(), 1);
}

#[test]
fn partitions_with_a_columns_index() {
    let folder = TempDir::new().unwrap();
    let data = filled(&folder, Layout::Lines, 20_000);
    let parameters = Parameters::default();
    data.sql("CREATE INDEX ON docs USING columns", &parameters).unwrap();
    data.collection("docs").unwrap().put("id5", &json!({"n": 5, "kind": "later"})).unwrap();
    data.flush().unwrap();
    check_all(&data, "docs");
}

/// Documents with nested, missing, null and mixed values, names with dots and quotes, lists and a map.
fn nested(folder: &TempDir, layout: Layout, count: usize) -> Database {
    let options = CollectionOptions { layout, ..CollectionOptions::default() };
    let data = database(folder);
    let docs = data.collection_with("docs", &options).unwrap();
    let commit = |n: usize| match n % 6 {
        0 => json!(null),
        1 => {
            json!({"operation": "create", "collection": format!("c{}", n % 4), "record": {"n": n}})
        }
        2 => json!({"collection": null, "rev": "x".repeat(n % 50)}),
        3 => json!({"record": {"n": n, "tags": ["a", "b"], "text": "\"}{"}}),
        _ => json!({"rev": n.to_string(), "collection": "c9", "operation": "delete"}),
    };
    let cart = |n: usize| match n % 5 {
        0 => json!([]),
        1 => json!([{"sku": format!("s{n}"), "price": 1.5}, null, {"price": 2}]),
        2 => json!(null),
        _ => json!([{"price": 3, "sku": "s", "of": {"x": n, "y": "z"}}]),
    };
    let mixed = |n: usize| match n % 4 {
        0 => json!({"x": n, "y": [1, {"z": 2}]}),
        1 => json!("a text"),
        2 => json!({"x": "a", "w": {"v": n % 3}}),
        _ => json!([{"x": 1}, 5]),
    };
    let visits = |n: usize| {
        let days = (0..40)
            .map(|day| (format!("day {}", (n * 7 + day) % 2_000), json!({"n": day, "who": n})));
        serde_json::Value::Object(days.collect())
    };
    let document = |n: usize| {
        let mut all = json!({"n": n, "a.b": {"c": n, "d": n.is_multiple_of(3)}, "Mixed": mixed(n)});
        let own = all.as_object_mut().unwrap();
        if !n.is_multiple_of(7) {
            own.insert("commit".to_owned(), commit(n));
        }
        if !n.is_multiple_of(3) {
            own.insert("cart".to_owned(), cart(n));
        }
        own.insert("visits".to_owned(), visits(n));
        own.insert("lists".to_owned(), json!([[{"e": n, "f": 1}], [], null]));
        all
    };
    let all: Vec<_> = (0..count).map(|n| (format!("id{n}"), document(n))).collect();
    docs.put_many(all.iter().map(|(id, document)| (id.as_str(), document))).unwrap();
    for n in (0..count).step_by(13) {
        docs.put(&format!("id{n}"), &json!({"n": n, "commit": {"collection": "new"}})).unwrap();
    }
    docs.delete("id5").unwrap();
    data.flush().unwrap();
    data
}

/// What is read by paths, what a statement reads of the rows of partitions, and the same in one
/// process. Members of lists and maps are compared one by one.
const PATHS: [(&[&str], &str, &str); 14] = [
    (&["_id", "commit.collection"], "", "_id, commit.collection, commit IS NULL"),
    (
        &["commit.record.n", "n", "commit.operation"],
        "",
        "commit.record.n, commit.operation, commit.record IS NULL, commit IS NULL",
    ),
    (&["commit.collection"], "commit.operation = 'create'", "commit.collection"),
    (&["commit.collection"], "commit.collection IS NULL", "commit IS NULL"),
    (&["commit.rev"], "commit.record.n > 100 AND commit.collection IS NULL", "commit.rev"),
    (&["commit.record.tags[]", "commit.rev"], "", "commit.record.tags, commit.rev"),
    (&["commit", "commit.rev"], "n < 1000", "commit"),
    (&["cart[].sku"], "", "len(cart), cart[1].sku, cart[2].sku, cart[2] IS NULL, cart IS NULL"),
    (&["cart[].of.y", "cart[].price"], "len(cart) = 1", "cart[1].of.y, cart[1].price"),
    (&["\"a.b\".c"], "\"a.b\".d", "\"a.b\".c"),
    (&["mixed.x", "Mixed.w.v"], "", "mixed.x, mixed.w.v"),
    (
        &["visits.*.n"],
        "n % 10 = 3",
        "visits['day 21'].n, visits['day 500'].n, cardinality(visits), visits['day 21'] IS NULL",
    ),
    (&["visits.\"day 21\".n"], "n < 300", "visits.\"day 21\".n"),
    (&["lists[][].e"], "", "lists[1][1].e, len(lists), len(lists[2]), lists[3] IS NULL"),
];

/// The rows of partitions as a table of the program, which a statement reads.
fn check_paths(data: &Database, relation: &str, paths: &[(&[&str], &str, &str)]) {
    for (columns, filter, expressions) in paths {
        let filter = Some(*filter).filter(|filter| !filter.is_empty());
        let all = data.partitions(relation, 4, &options(Some(columns), filter)).unwrap();
        let mut found = Vec::new();
        for (number, partition) in all.iter().enumerate() {
            let worker = Database::open(data.path()).unwrap();
            let mut session = worker.session().unwrap();
            let rows = session.read_partition(&partition.to_string().parse().unwrap()).unwrap();
            let name = format!("part{number}");
            worker.register(&name, batches(rows)).unwrap();
            found.extend(by_sql(&worker, &format!("SELECT {expressions} FROM {name}")));
        }
        found.sort();
        let condition = filter.map(|filter| format!(" WHERE {filter}")).unwrap_or_default();
        let expected = by_sql(data, &format!("SELECT {expressions} FROM {relation}{condition}"));
        assert_eq!(found, expected, "{columns:?} where {filter:?}");
        assert!(!expected.is_empty(), "{columns:?} where {filter:?}");
    }
}

fn batches(mut rows: Rows) -> impl RecordBatchReader {
    let columns = rows.names().iter().zip(rows.types());
    let fields = columns.map(|(name, ty)| Column::optional(name, ty.clone()).to_arrow());
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let mut all = Vec::new();
    while let Some(batch) = rows.next_batch().unwrap() {
        all.push(RecordBatch::try_new(Arc::clone(&schema), batch.columns));
    }
    RecordBatchIterator::new(all, schema)
}

#[test]
fn paths_are_what_statements_read() {
    let folder = TempDir::new().unwrap();
    let data = nested(&folder, Layout::Lines, 3_000);
    check_paths(&data, "docs", &PATHS);
    // From columns, and from lines that were added since.
    data.sql("CREATE INDEX ON docs USING columns", &Parameters::default()).unwrap();
    let docs = data.collection("docs").unwrap();
    docs.put("later", &json!({"n": 5, "commit": {"collection": "c1"}, "cart": [{"sku": "s"}]}))
        .unwrap();
    data.flush().unwrap();
    check_paths(&data, "docs", &PATHS);
    // A member that no part has: what is null in the parts is null still.
    docs.put("more", &json!({"n": 6, "commit": {"new": 1, "record": {"new": 2}}})).unwrap();
    data.flush().unwrap();
    let later: [(&[&str], &str, &str); 2] = [
        (&["commit.new"], "", "commit.new, commit IS NULL"),
        (&["commit.record.new"], "", "commit.record.new, commit.record IS NULL, commit IS NULL"),
    ];
    check_paths(&data, "docs", &later);
}

#[test]
fn paths_in_files_archives_and_open_collections() {
    let folder = TempDir::new().unwrap();
    let data = nested(&folder, Layout::Files, 150);
    check_paths(&data, "docs", &PATHS[..3]);
    let folder = TempDir::new().unwrap();
    let data = nested(&folder, Layout::Lines, 500);
    let path = folder.path().join("data.zds");
    data.pack(&path, &PackOptions::default(), &mut |_, _| true).unwrap();
    check_paths(&Database::open(&path).unwrap(), "docs", &PATHS[..3]);
    data.collection("docs").unwrap().set_open_paths(true).unwrap();
    let open: [(&[&str], &str, &str); 1] =
        [(&["commit.never", "never.x", "n"], "never IS NULL", "commit.never, never.x, n")];
    check_paths(&data, "docs", &open);
}

#[test]
fn paths_in_tables() {
    let folder = TempDir::new().unwrap();
    let data = nested(&folder, Layout::Lines, 3_000);
    let text = "CREATE TABLE t AS SELECT n, commit, cart FROM docs";
    data.sql(text, &Parameters::default()).unwrap();
    let paths: [(&[&str], &str, &str); 2] = [
        (
            &["commit.record.n", "n", "commit.collection"],
            "commit.operation <> 'create'",
            "n, commit.record.n, commit.collection, commit.record IS NULL",
        ),
        (
            &["cart[].sku", "commit.rev"],
            "",
            "cart[2].sku, cart IS NULL, commit.rev, commit IS NULL",
        ),
    ];
    check_paths(&data, "t", &paths);
}

#[test]
fn a_path_reads_no_more_of_its_column() {
    let folder = TempDir::new().unwrap();
    let data = nested(&folder, Layout::Lines, 300);
    for (columns, shape) in [
        (&["commit.collection"][..], "commit struct(collection text)"),
        (
            &["commit.rev", "n", "COMMIT.Collection"],
            "commit struct(rev text, collection text), n bigint",
        ),
        (&["cart[].of.x"], "cart struct(of struct(x bigint))[]"),
        (&["visits.*.who"], "visits map(text, struct(who bigint))"),
        (&["\"a.b\".c"], "a.b struct(c bigint)"),
        (&["mixed.x"], "Mixed struct(x json)"),
        (
            &["cart[]", "_id"],
            "cart struct(sku text, price double precision, of struct(x bigint, y text))[], _id text",
        ),
    ] {
        let all = data.partitions("docs", 1, &options(Some(columns), None)).unwrap();
        let rows = data.session().unwrap().read_partition(&all[0]).unwrap();
        let found = rows.names().iter().zip(rows.types()).map(|(name, ty)| format!("{name} {ty}"));
        assert_eq!(found.collect::<Vec<_>>().join(", "), shape, "{columns:?}");
    }
}

#[test]
fn a_path_that_leads_nowhere_is_an_error() {
    let folder = TempDir::new().unwrap();
    let data = nested(&folder, Layout::Lines, 300);
    let deep = &format!("commit{}", ".a".repeat(100_000));
    for (path, code, text) in [
        ("commit.colection", ErrorCode::NotFound, "did you mean \"collection\"?"),
        ("comit.collection", ErrorCode::NotFound, "did you mean \"commit\"?"),
        ("commit.record.m", ErrorCode::NotFound, "there is no field \"m\" in commit.record"),
        ("a.b", ErrorCode::NotFound, "a name with dots is in quotes: \"a.b\""),
        ("n.x", ErrorCode::TypeMismatch, "n is of type bigint and has no field \"x\""),
        ("cart.sku", ErrorCode::TypeMismatch, "has no field \"sku\""),
        ("commit[].x", ErrorCode::TypeMismatch, "has no elements"),
        ("cart.*.x", ErrorCode::TypeMismatch, "is no map"),
        ("_doc.n", ErrorCode::TypeMismatch, "is the whole document"),
        ("commit..x", ErrorCode::InvalidInput, "neither a column nor a path: a name is expected"),
        (deep, ErrorCode::InvalidInput, "a path has at most 64 levels"),
        ("cart[0].sku", ErrorCode::InvalidInput, "neither a column nor a path"),
        ("\"commit", ErrorCode::InvalidInput, "neither a column nor a path"),
    ] {
        let error = data.partitions("docs", 2, &options(Some(&[path]), None)).unwrap_err();
        assert_eq!(error.code(), code, "{path}: {error}");
        assert!(error.to_string().contains(text), "{path}: {error}");
    }
    let both = options(Some(&["visits.a", "visits.*.n"]), None);
    let error = data.partitions("docs", 2, &both).unwrap_err();
    assert!(error.to_string().contains("the paths disagree"), "{error}");
}

/// The columns that are made for paths have no names for users: neither filters nor hints have them.
#[test]
fn a_filter_is_about_columns_that_have_names() {
    let folder = TempDir::new().unwrap();
    let data = Database::open(folder.path().join("data")).unwrap();
    let docs = data.collection("docs").unwrap();
    docs.put_raw("a", r#"{"commit": {"collection": "c", "rev": 1}, "n": 1}"#).unwrap();
    for (filter, help) in [
        ("nope = 1", "available: _id, commit, n, _doc"),
        ("docs.nope = 1", "available: _id, commit, n, _doc"),
        ("\"part of commit\" IS NULL", ""),
        ("part.n = 1", "available: docs"),
        ("n + 'x' = 1", ""),
    ] {
        let wanted = options(Some(&["commit.collection", "n"]), Some(filter));
        let error = data.partitions("docs", 2, &wanted).unwrap_err().to_string();
        assert!(error.contains(help), "{filter}: {error}");
        let told = error.replace(filter, "");
        assert!(!told.contains("part of commit AS") && !told.contains(", part of"), "{error}");
    }
    let wanted = options(Some(&["commit.collection"]), Some("commit.rev = 1"));
    assert_eq!(data.partitions("docs", 2, &wanted).unwrap().len(), 1);
}

#[test]
fn the_number_of_partitions_follows_the_size() {
    let folder = TempDir::new().unwrap();
    let data = filled(&folder, Layout::Lines, 3_000);
    assert_eq!(data.partition_count("docs", 8).unwrap(), 1);
    data.sql("CREATE TABLE t (n integer)", &Parameters::default()).unwrap();
    assert_eq!(data.partition_count("t", 8).unwrap(), 1);
    assert_eq!(data.partition_count("dogs", 8).unwrap_err().code(), ErrorCode::NotFound);
}

#[test]
fn partitions_of_files_and_archives() {
    let folder = TempDir::new().unwrap();
    let data = filled(&folder, Layout::Files, 200);
    check_all(&data, "docs");
    let folder = TempDir::new().unwrap();
    let data = filled(&folder, Layout::Lines, 2_000);
    let path = folder.path().join("data.zds");
    data.pack(&path, &PackOptions::default(), &mut |_, _| true).unwrap();
    check_all(&Database::open(&path).unwrap(), "docs");
}

#[test]
fn partitions_of_tables_are_the_table() {
    let folder = TempDir::new().unwrap();
    let data = database(&folder);
    let run = |text: &str| data.sql(text, &Parameters::default()).unwrap();
    run("CREATE TABLE keyed (_id text PRIMARY KEY, n integer, kind text, text text)");
    run("CREATE TABLE plain (n integer, _id text, kind text, text text)");
    run("INSERT INTO keyed SELECT 'id' || n, n, CASE WHEN n % 5 > 0 THEN 'k' || (n % 7) END, \
         repeat('x', n % 90) FROM generate_series(0, 20000) AS s(n)");
    run("DELETE FROM keyed WHERE n % 13 = 0");
    run("INSERT INTO plain SELECT n, _id, kind, text FROM keyed");
    check_all(&data, "keyed");
    check_all(&data, "plain");
    let all = data.partitions("keyed", 6, &PartitionOptions::default()).unwrap();
    assert_eq!(all.len(), 6);
    run("UPDATE keyed SET n = 0 WHERE n = 5");
    assert_eq!(refusal(&data, &all[0]), ErrorCode::Conflict);
    run("CREATE TABLE nothing (n integer)");
    assert!(data.partitions("nothing", 3, &PartitionOptions::default()).unwrap().is_empty());
}

fn refusal(data: &Database, partition: &Partition) -> ErrorCode {
    let mut session = data.session().unwrap();
    match session.read_partition(partition) {
        Err(error) => error.code(),
        Ok(_) => panic!("it was read"),
    }
}

#[test]
fn what_has_changed_is_refused_and_the_rest_is_as_planned() {
    let folder = TempDir::new().unwrap();
    let data = filled(&folder, Layout::Lines, 5_000);
    let docs = data.collection("docs").unwrap();
    let all = data.partitions("docs", 4, &PartitionOptions::default()).unwrap();
    let planned: Vec<Vec<String>> =
        all.iter().map(|own| read(data.path(), std::slice::from_ref(own))).collect();
    // New documents are after all of them.
    docs.put("new", &json!({"n": 1, "kind": "k1", "text": "", "in": {"a": 1}})).unwrap();
    for (own, planned) in all.iter().zip(&planned) {
        assert_eq!(&read(data.path(), std::slice::from_ref(own)), planned);
    }
    // A document of the first has another line.
    assert!(docs.delete("id1").unwrap());
    assert_eq!(refusal(&data, &all[0]), ErrorCode::Conflict);
    for (own, planned) in all.iter().zip(&planned).skip(1) {
        assert_eq!(&read(data.path(), std::slice::from_ref(own)), planned);
    }
    // A hand edit that keeps the size.
    let all = data.partitions("docs", 4, &PartitionOptions::default()).unwrap();
    data.close().unwrap();
    let file = folder.path().join("data/collections/docs/meta/data.jsonl");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replacen("\"n\":4999,", "\"n\":4998,", 1)).unwrap();
    let data = database(&folder);
    let refused: Vec<bool> =
        all.iter().map(|own| data.session().unwrap().read_partition(own).is_err()).collect();
    assert_eq!(refused.iter().filter(|refused| **refused).count(), 1, "{refused:?}");
    // A column more.
    let all = data.partitions("docs", 4, &PartitionOptions::default()).unwrap();
    data.collection("docs").unwrap().put("more", &json!({"another": 1})).unwrap();
    assert_eq!(refusal(&data, &all[0]), ErrorCode::Conflict);
    // Compaction moves lines.
    let all = data.partitions("docs", 4, &PartitionOptions::default()).unwrap();
    data.collection("docs").unwrap().compact(&mut |_, _| true).unwrap();
    assert_eq!(refusal(&data, &all[1]), ErrorCode::Conflict);
}

/// A follower that reads from position to position has the newest version of every document, has seen
/// none twice, and nothing that was replaced before it read.
#[test]
fn from_position_to_position_each_version_is_read_once() {
    let folder = TempDir::new().unwrap();
    let data = database(&folder);
    let docs = data.collection("docs").unwrap();
    let mut random = random::Random::new(11);
    let mut truth = BTreeMap::new();
    let (mut seen, mut versions) = (BTreeMap::new(), BTreeSet::new());
    let mut position: Option<Position> = None;
    let mut version = 0_u64;
    for round in 0..60 {
        // The first rounds are larger than the index, the others are smaller.
        for _ in 0..random.below(if round < 3 { 4_000 } else { 200 }) {
            version += 1;
            let id = format!("id{}", random.below(5_000));
            if random.below(10) == 0 {
                docs.delete(&id).unwrap();
                truth.remove(&id);
            } else {
                let text = "x".repeat(random.below(60));
                docs.put(&id, &json!({"n": version, "text": text})).unwrap();
                truth.insert(id, version);
            }
        }
        let until: Position = docs.position().unwrap().to_string().parse().unwrap();
        let parts = 1 + random.below(4);
        let all = data.partitions("docs", parts, &between(position, Some(until))).unwrap();
        assert!(all.len() <= parts);
        let rows = rows_of(&data, &all);
        let planned: u64 = all.iter().map(Partition::row_count).sum();
        assert_eq!(rows.len() as u64, planned, "round {round}");
        for (id, version) in rows {
            assert_eq!(truth.get(&id), Some(&version), "round {round}");
            assert!(versions.insert(version), "{id} came twice as {version}");
            seen.insert(id, version);
        }
        position = Some(until);
        for (id, version) in &truth {
            assert_eq!(seen.get(id), Some(version), "round {round}: {id}");
        }
    }
    let none = data.partitions("docs", 3, &between(position, None)).unwrap();
    assert!(none.is_empty(), "nothing was put since");
}

fn rows_of(data: &Database, partitions: &[Partition]) -> Vec<(String, u64)> {
    let mut found = Vec::new();
    for partition in partitions {
        let partition = partition.to_string().parse().unwrap();
        let mut rows = data.session().unwrap().read_partition(&partition).unwrap();
        for row in rows.collect_rows().unwrap() {
            let [Value::Text(id), Value::Integer(n)] = &row[..] else { panic!("{row:?}") };
            found.push((id.clone(), u64::try_from(*n).unwrap()));
        }
    }
    found
}

#[test]
fn what_is_replaced_before_it_is_read_is_in_a_later_partition() {
    let folder = TempDir::new().unwrap();
    let data = database(&folder);
    let docs = data.collection("docs").unwrap();
    for n in 0..10 {
        docs.put(&format!("id{n}"), &json!({"n": n})).unwrap();
    }
    let first = docs.position().unwrap();
    let all = data.partitions("docs", 1, &between(None, Some(first))).unwrap();
    docs.put("id3", &json!({"n": 33})).unwrap();
    docs.put("new", &json!({"n": 10, "and": "a column"})).unwrap();
    docs.delete("id4").unwrap();
    let ids: Vec<_> = rows_of(&data, &all).into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, ["id0", "id1", "id2", "id5", "id6", "id7", "id8", "id9"]);
    let later = data.partitions("docs", 1, &between(Some(first), None)).unwrap();
    let expected = [("id3".to_owned(), 33), ("new".to_owned(), 10)];
    assert_eq!(rows_of(&data, &later), expected);
}

#[test]
fn a_position_that_does_not_fit_the_file_is_refused() {
    let folder = TempDir::new().unwrap();
    let data = filled(&folder, Layout::Lines, 3_000);
    let docs = data.collection("docs").unwrap();
    let (early, late) = {
        let early = docs.position().unwrap();
        docs.put("last", &json!({"n": 1})).unwrap();
        (early, docs.position().unwrap())
    };
    let code = |data: &Database, given: &PartitionOptions| {
        data.partitions("docs", 2, given).unwrap_err().code()
    };
    assert_eq!(code(&data, &between(Some(late), Some(early))), ErrorCode::InvalidInput);
    let made_up = format!("{}-1-2", early.size()).parse().unwrap();
    assert_eq!(code(&data, &between(Some(made_up), None)), ErrorCode::Conflict);
    // A hand edit before it that keeps the size.
    data.close().unwrap();
    let file = folder.path().join("data/collections/docs/meta/data.jsonl");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replacen("\"n\":2999,", "\"n\":2998,", 1)).unwrap();
    let data = database(&folder);
    let error = data.partitions("docs", 2, &between(Some(late), None)).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Conflict);
    assert!(error.to_string().contains("begin again without a position"), "{error}");
    // Compaction.
    let docs = data.collection("docs").unwrap();
    let before = docs.position().unwrap();
    docs.compact(&mut |_, _| true).unwrap();
    assert_eq!(code(&data, &between(Some(before), None)), ErrorCode::Conflict);
    assert_eq!(code(&data, &between(None, Some(before))), ErrorCode::Conflict);
    // What has no lines.
    data.sql("CREATE TABLE plain (n integer)", &Parameters::default()).unwrap();
    let of_table = data.partitions("plain", 2, &between(Some(early), None)).unwrap_err();
    assert_eq!(of_table.code(), ErrorCode::InvalidInput);
    let files = CollectionOptions { layout: Layout::Files, ..CollectionOptions::default() };
    let files = data.collection_with("files", &files).unwrap();
    files.put("a", &json!({"n": 1})).unwrap();
    assert_eq!(files.position().unwrap_err().code(), ErrorCode::InvalidInput);
}

#[test]
fn a_position_after_a_line_without_an_end_holds_when_the_line_gets_one() {
    let folder = TempDir::new().unwrap();
    let data = database(&folder);
    data.collection("docs").unwrap().put("a", &json!({"n": 1})).unwrap();
    data.close().unwrap();
    let file = folder.path().join("data/collections/docs/meta/data.jsonl");
    let text = std::fs::read_to_string(&file).unwrap() + "{\"_id\":\"hand\",\"n\":2}";
    std::fs::write(&file, text).unwrap();
    let data = database(&folder);
    let docs = data.collection("docs").unwrap();
    let position = docs.position().unwrap();
    let all = data.partitions("docs", 1, &between(None, Some(position))).unwrap();
    let ids: Vec<_> = rows_of(&data, &all).into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, ["a", "hand"]);
    docs.put("b", &json!({"n": 3})).unwrap();
    let later = data.partitions("docs", 1, &between(Some(position), None)).unwrap();
    assert_eq!(rows_of(&data, &later), [("b".to_owned(), 3)]);
}

#[test]
fn what_is_wrong_is_known_when_it_is_planned() {
    let folder = TempDir::new().unwrap();
    let data = filled(&folder, Layout::Lines, 100);
    let code = |relation: &str, given: &PartitionOptions| {
        data.partitions(relation, 2, given).unwrap_err().code()
    };
    let none = PartitionOptions::default();
    assert_eq!(code("dogs", &none), ErrorCode::NotFound);
    assert_eq!(code("docs", &options(Some(&["nothing"]), None)), ErrorCode::NotFound);
    assert_eq!(code("docs", &options(Some(&[]), None)), ErrorCode::InvalidInput);
    assert_eq!(data.partitions("docs", 0, &none).unwrap_err().code(), ErrorCode::InvalidInput);
    // The statement that reads a partition is nobody's: an error shows the filter, or nothing.
    for (columns, filter, shown) in [
        (None, "sum(n)>1", "WHERE\n  sum(n)>1\n  ^^^  help"),
        (None, "n > 'x'::int", "\n  n > 'x'::int\n      ^^^  help"),
        (None, "n = 1\n or zz = 2", "\n   or zz = 2\n      ^^  help"),
        (Some(&["n", "zz"][..]), "n = 1", "column \"zz\" does not exist; available: "),
        (Some(&["zz"][..]), "n = 1", "column \"zz\" does not exist; available: "),
    ] {
        let wanted = options(columns, Some(filter));
        let error = data.partitions("docs", 2, &wanted).unwrap_err().to_string();
        assert!(error.contains(shown), "{error}");
        assert!(!error.contains("SELECT") && !error.contains("part"), "{error}");
    }
    let wanted = options(None, Some("1 / (n - n) > 1"));
    let part = data.partitions("docs", 1, &wanted).unwrap().remove(0);
    let mut rows = data.session().unwrap().read_partition(&part).unwrap();
    let error = rows.next_batch().unwrap_err().to_string();
    assert!(error.contains("\n  1 / (n - n) > 1\n  ^^^") && !error.contains("SELECT"), "{error}");
    let filter = |text: &str| code("docs", &options(None, Some(text)));
    assert_eq!(filter("n >"), ErrorCode::Syntax);
    assert_eq!(filter("n = (SELECT max(n) FROM docs)"), ErrorCode::Unsupported);
    assert_eq!(filter("true); DELETE FROM docs; SELECT (1"), ErrorCode::Syntax);
    assert_eq!(filter("false) OR (true"), ErrorCode::Syntax);
    data.sql("CREATE VIEW seen AS SELECT n FROM docs", &Parameters::default()).unwrap();
    assert_eq!(code("seen", &none), ErrorCode::InvalidInput);
    for text in ["", "{}", "[1]", r#"{"uri":"x","relation":"docs","rows":1,"start":2,"end":1}"#] {
        let error = text.parse::<Partition>().unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidInput, "{text}");
    }
}

/// Texts that were altered are refused, or read as what they say; nothing panics.
#[test]
fn altered_texts_do_no_harm() {
    let folder = TempDir::new().unwrap();
    let data = filled(&folder, Layout::Lines, 2_000);
    let all = data.partitions("docs", 3, &PartitionOptions::default()).unwrap();
    let text = all[1].to_string();
    let mut random = random::Random::new(7);
    for _ in 0..300 {
        let mut bytes = text.clone().into_bytes();
        let at = random.below(bytes.len());
        bytes[at] = b"0123456789abcdef\",:{}"[random.below(21)];
        let Ok(altered) = String::from_utf8(bytes) else { continue };
        let Ok(partition) = altered.parse::<Partition>() else { continue };
        if let Ok(rows) = data.session().unwrap().read_partition(&partition) {
            assert_eq!(lines_of(rows).len() as u64, all[1].row_count(), "{altered}");
        }
    }
}

#[test]
fn many_tasks_write_and_one_commit_publishes() {
    let folder = TempDir::new().unwrap();
    let data = filled(&folder, Layout::Lines, 100);
    let docs = data.collection("docs").unwrap();
    let before = docs.count().unwrap();
    let job = docs.partitioned_writer().unwrap();
    let sent: PartitionedWriter = job.to_string().parse().unwrap();
    let part = |task: u64, text: &str| {
        let mut part = sent.part(task).unwrap();
        part.put_array(text).unwrap();
        part.finish().unwrap().to_string().parse::<WrittenPart>().unwrap()
    };
    let mut parts = vec![
        part(
            0,
            r#"[{"_id": "w1", "n": 1.10}, {"n":
 2}]"#,
        ),
        part(1, r#"[{"_id": "w2", "n": 3}]"#),
        part(1, r#"[{"_id": "w2", "n": 4}, {"_id": "id1", "n": 0}, {}]"#), // tried again
    ];
    drop(sent.part(2).unwrap()); // never finished
    assert_eq!(docs.count().unwrap(), before, "nothing is seen before the commit");
    let counts = job.commit(&parts).unwrap();
    assert_eq!((counts.inserted, counts.replaced), (4, 1));
    assert_eq!(docs.get("w1").unwrap().unwrap().raw(), r#"{"_id":"w1","n":1.10}"#);
    assert_eq!(docs.get("w2").unwrap().unwrap().field("n").unwrap(), Some(json!(4)));
    assert_eq!(docs.count().unwrap(), before + 4);
    // The driver tries again, as after a crash.
    assert_eq!(job.commit(&parts).unwrap().inserted, 0);
    assert_eq!(docs.count().unwrap(), before + 4);
    assert!(sent.part(3).is_err(), "the job has ended");
    let aborted = docs.partitioned_writer().unwrap();
    parts[0] = {
        let mut part = aborted.part(0).unwrap();
        part.put_array(r#"[{"_id": "x"}]"#).unwrap();
        part.finish().unwrap()
    };
    aborted.abort().unwrap();
    assert_eq!(aborted.commit(&parts[..1]).unwrap_err().code(), ErrorCode::InvalidInput);
    assert!(!folder.path().join("data/writing").exists());
    assert_eq!(docs.get("x").unwrap(), None);
}

#[test]
fn a_part_that_is_wrong_publishes_nothing() {
    let folder = TempDir::new().unwrap();
    let data = filled(&folder, Layout::Lines, 10);
    let docs = data.collection("docs").unwrap();
    let before = docs.count().unwrap();
    let job = docs.partitioned_writer().unwrap();
    let mut part = job.part(0).unwrap();
    let code = |part: &mut PartWriter, text: &str| part.put_array(text).unwrap_err().code();
    assert_eq!(code(&mut part, "[{]"), ErrorCode::Syntax);
    assert_eq!(code(&mut part, r#"[{"_id": "../x"}]"#), ErrorCode::InvalidInput);
    assert_eq!(code(&mut part, r#"[{"_id": null}]"#), ErrorCode::InvalidInput);
    part.put_array(r#"[{"_id": "y"}]"#).unwrap();
    let part = part.finish().unwrap();
    let folder_of_job = std::fs::read_dir(folder.path().join("data/writing")).unwrap();
    let folder_of_job = folder_of_job.map(|entry| entry.unwrap().path()).next().unwrap();
    let file = std::fs::read_dir(folder_of_job).unwrap().next().unwrap().unwrap().path();
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("\"y\"", "\"z\"")).unwrap();
    assert_eq!(job.commit(std::slice::from_ref(&part)).unwrap_err().code(), ErrorCode::Corrupted);
    assert_eq!(docs.count().unwrap(), before);
    std::fs::write(&file, text).unwrap();
    assert_eq!(job.commit(&[part]).unwrap().inserted, 1);
    let memory = Database::open(":memory:").unwrap();
    let refused = memory.collection("docs").unwrap().partitioned_writer();
    assert_eq!(refused.unwrap_err().code(), ErrorCode::InvalidInput);
    for text in ["", "{}", r#"{"uri":"/x","collection":"docs","job":"../up"}"#] {
        assert!(text.parse::<PartitionedWriter>().is_err(), "{text}");
        assert!(text.parse::<WrittenPart>().is_err(), "{text}");
    }
}

/// Types count documents that were replaced since somebody first asked for them, and so depend on who
/// asked when.
#[test]
fn planner_and_reader_agree_on_types_that_documents_no_longer_have() {
    for size in [10, 200] {
        let folder = TempDir::new().unwrap();
        let data = database(&folder);
        let docs = data.collection("docs").unwrap();
        let put = |n: usize, document: &serde_json::Value| {
            docs.put(&format!("id{n}"), document).unwrap();
        };
        let text = "x".repeat(size);
        (0..2000).for_each(|n| put(n, &json!({"n": n, "text": text, "gone": n})));
        data.flush().unwrap();
        data.sql("SELECT count(*) FROM docs", &Parameters::default()).unwrap();
        let reader = || {
            let options = OpenOptions { access: Access::Read, ..OpenOptions::default() };
            Database::open_with(folder.path().join("data"), &options).unwrap()
        };
        let early = reader();
        early.sql("SELECT count(*) FROM docs", &Parameters::default()).unwrap();
        (0..2000).for_each(|n| put(n, &json!({"n": n, "text": text})));
        data.flush().unwrap();
        for planner in [&data, &early, &reader()] {
            let parts = planner.partitions("docs", 2, &PartitionOptions::default()).unwrap();
            for worker in [&reader(), &data, &early] {
                let mut session = worker.session().unwrap();
                let rows = parts.iter().map(|part| lines_of(session.read_partition(part).unwrap()));
                assert_eq!(rows.flatten().count(), 2000, "{size}");
            }
        }
    }
}
