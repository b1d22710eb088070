//! The types of documents: one schema on every surface, and never a stale one.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use folio::export::{ExportOptions, export};
use folio::{
    Collection, CollectionOptions, Database, ErrorCode, Layout, OpenOptions, PathSummary, Session,
    TypeLanguage, Value, type_name,
};
use folio_file::{CrashPlan, Fault, FaultKind, MemoryFileSystem, Operation, Recording};
use serde_json::json;
use tempfile::TempDir;

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

/// A case of `conformance/types.txt`: documents, and their members with types.
struct Case {
    name: String,
    documents: Vec<String>,
    types: Vec<(String, String)>,
}

fn cases() -> Result<Vec<Case>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/types.txt");
    let mut cases: Vec<Case> = Vec::new();
    for line in fs::read_to_string(path)?.lines() {
        if let Some(name) = line.strip_prefix("== ") {
            let (documents, types) = (Vec::new(), Vec::new());
            cases.push(Case { name: name.to_owned(), documents, types });
        }
        let Some(case) = cases.last_mut() else { continue };
        if let Some(document) = line.strip_prefix("| ") {
            case.documents.push(document.to_owned());
        }
        if let Some((count, document)) =
            line.strip_prefix("* ").and_then(|line| line.split_once(' '))
        {
            let numbered = |number: u32| document.replace('#', &number.to_string());
            case.documents.extend((1..=count.parse()?).map(numbered));
        }
        if let Some(pair) = line.strip_prefix(": ").and_then(|line| line.split_once(' ')) {
            case.types.push((pair.0.to_owned(), pair.1.to_owned()));
        }
    }
    assert!(cases.len() >= 5, "the file has its cases");
    Ok(cases)
}

/// The columns of a query with their types.
fn columns(session: &mut Session, text: &str) -> Result<Vec<(String, String)>> {
    let rows = session.execute(text, &[])?.rows.ok_or("there are rows")?;
    Ok(rows.names().iter().cloned().zip(rows.types().iter().map(type_name)).collect())
}

/// SQL and file formats have no type for members without values.
fn without_null(name: &str) -> String {
    name.replace("null", "json")
}

fn renamed(types: &[(String, String)], rename: impl Fn(&str) -> String) -> Vec<(String, String)> {
    types.iter().map(|(name, ty)| (name.clone(), rename(ty))).collect()
}

#[test]
fn all_surfaces_show_the_types_of_the_conformance_file() -> Result {
    for case in cases()? {
        for layout in [Layout::Lines, Layout::Files] {
            let folder = tempfile::tempdir()?;
            let database = Database::open(folder.path().join("data"))?;
            let options = CollectionOptions { layout, ..Default::default() };
            let docs = database.collection_with("docs", &options)?;
            for document in &case.documents {
                let id = document.split('"').skip_while(|part| *part != "_id").nth(2);
                docs.put_raw(id.ok_or("an id")?, document)?;
            }
            let types = docs.types()?;
            let fields = types.fields().into_iter();
            let found: Vec<_> =
                fields.map(|field| (field.name, field.field_type.to_string())).collect();
            assert_eq!(found, case.types, "{}, {layout:?}", case.name);
            let mut session = database.session()?;
            let found = columns(&mut session, "select * from docs")?;
            let found: Vec<_> = found.into_iter().filter(|(name, _)| name != "_doc").collect();
            assert_eq!(found, renamed(&case.types, without_null), "{}, SQL", case.name);
            for extension in ["parquet", "arrow"] {
                let path = folder.path().join("docs").with_extension(extension);
                export(&docs, &path, &ExportOptions::default(), &mut |_, _| true)?;
                let text = format!("select * from '{}'", path.display());
                let found = columns(&mut session, &text)?;
                assert_eq!(found, renamed(&case.types, without_null), "{}, {extension}", case.name);
                let counted =
                    session.execute(&format!("select count(*) from '{}'", path.display()), &[])?;
                let counted = counted.rows.ok_or("a row")?.collect_rows()?;
                assert_eq!(counted, [[Value::Integer(case.documents.len() as i64)]]);
            }
            let path = folder.path().join("docs.csv");
            export(&docs, &path, &ExportOptions::default(), &mut |_, _| true)?;
            let header: Vec<_> = case.types.iter().map(|(name, _)| name.as_str()).collect();
            assert!(fs::read_to_string(&path)?.starts_with(&(header.join(",") + "\n")));
            // A file of the same documents has the same columns.
            let path = folder.path().join("docs.jsonl");
            fs::write(&path, case.documents.join("\n"))?;
            let found = columns(&mut session, &format!("select * from '{}'", path.display()))?;
            if !case.name.contains("other hands") {
                assert_eq!(found, renamed(&case.types, without_null), "{}, a file", case.name);
            }
        }
    }
    Ok(())
}

struct Fixture {
    folder: TempDir,
    docs: Collection,
    session: Session,
}

impl Fixture {
    fn new(layout: Layout) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let database = Database::open(folder.path().join("data"))?;
        let options = CollectionOptions { layout, ..Default::default() };
        let docs = database.collection_with("docs", &options)?;
        Ok(Self { folder, docs, session: database.session()? })
    }

    fn file(&self, layout: Layout) -> PathBuf {
        let folder = self.folder.path().join("data/collections/docs");
        folder.join(if layout == Layout::Lines { "meta/data.jsonl" } else { "docs/a.json" })
    }

    /// The value of a query with one row and one column.
    fn value(&mut self, text: &str) -> folio::Result<Value> {
        let rows = self.session.execute(text, &[])?.rows;
        let mut rows = rows.expect("there are rows").collect_rows().map_err(folio::Error::from)?;
        Ok(rows.remove(0).remove(0))
    }
}

/// Edits a file in place, like an editor that keeps the inode.
fn edit(path: &Path, from: &str, to: &str) -> Result {
    let text = fs::read_to_string(path)?;
    assert!(text.contains(from) && from.len() == to.len(), "{text}");
    fs::write(path, text.replace(from, to))?;
    Ok(())
}

#[test]
fn an_edit_by_hand_of_the_same_length_changes_types() -> Result {
    for layout in [Layout::Lines, Layout::Files] {
        let mut fixture = Fixture::new(layout)?;
        fixture.docs.put("a", &json!({"year": 1815}))?;
        fixture.docs.flush()?;
        let query = "select year from docs";
        assert_eq!(fixture.value(query)?, Value::Integer(1815));
        edit(&fixture.file(layout), "1815", "\"ab\"")?;
        fixture.docs.refresh()?;
        assert_eq!(fixture.value(query)?, Value::from("ab"), "{layout:?}");
        assert_eq!(columns(&mut fixture.session, query)?[0].1, "text");
        // A prepared statement is bound again.
        let mut prepared = fixture.session.prepare(query)?;
        fixture.session.execute_prepared(&mut prepared, &[])?;
        edit(&fixture.file(layout), "\"ab\"", "true")?;
        fixture.docs.refresh()?;
        let rows = fixture.session.execute_prepared(&mut prepared, &[])?.rows;
        assert_eq!(rows.ok_or("rows")?.collect_rows()?, [[Value::Boolean(true)]]);
    }
    Ok(())
}

/// The handle is not informed of an edit. The statement that meets it reports it, or returns its
/// values, and the next one returns them. A value is never taken for NULL.
#[test]
fn an_edit_that_a_statement_meets_is_no_null() -> Result {
    for text in ["select year from docs", "select year from docs where _id = 'a'"] {
        for layout in [Layout::Lines, Layout::Files] {
            let mut fixture = Fixture::new(layout)?;
            fixture.docs.put("a", &json!({"year": 1815}))?;
            fixture.docs.flush()?;
            assert_eq!(fixture.value(text)?, Value::Integer(1815));
            edit(&fixture.file(layout), "1815", "\"ab\"")?;
            match fixture.value(text) {
                // A lookup may still have the line in memory.
                Ok(value) => assert!(value != Value::Null, "{text}, {layout:?}: {value:?}"),
                Err(error) => assert_eq!(error.code(), ErrorCode::Conflict, "{error}"),
            }
            fixture.docs.refresh()?;
            assert_eq!(fixture.value(text)?, Value::from("ab"));
        }
    }
    Ok(())
}

#[test]
fn a_document_replaced_in_place_changes_types() -> Result {
    let mut fixture = Fixture::new(Layout::Lines)?;
    fixture.docs.put("a", &json!({"year": 1815}))?;
    assert_eq!(fixture.value("select year from docs")?, Value::Integer(1815));
    // Count and size of the file are unchanged.
    fixture.docs.put("a", &json!({"year": "ab"}))?;
    fixture.docs.compact(&mut |_, _| true)?;
    assert_eq!(fixture.value("select year from docs")?, Value::from("ab"));
    Ok(())
}

#[test]
fn types_follow_each_put_and_narrow_with_the_documents() -> Result {
    let mut fixture = Fixture::new(Layout::Lines)?;
    let type_of = |fixture: &mut Fixture| -> Result<String> {
        Ok(columns(&mut fixture.session, "select v from docs")?.remove(0).1)
    };
    for (id, value, expected) in [
        ("a", json!(1), "bigint"),
        ("b", json!(2), "bigint"),
        ("c", json!(0.5), "double precision"),
        ("d", json!("x"), "json"),
        ("d", json!(3), "double precision"),
        ("c", json!(null), "bigint"),
    ] {
        fixture.docs.put(id, &json!({"v": value}))?;
        assert_eq!(type_of(&mut fixture)?, expected, "{id} {value}");
    }
    fixture.docs.put("e", &json!({"late": true}))?;
    assert_eq!(fixture.value("select late from docs where late")?, Value::Boolean(true));
    fixture.docs.delete("e")?;
    assert!(fixture.session.execute("select late from docs", &[]).is_err());
    Ok(())
}

/// A large collection reads only added documents, and still has the types of all.
#[test]
fn types_of_many_documents_are_extended() -> Result {
    let mut fixture = Fixture::new(Layout::Lines)?;
    let mut batch = fixture.docs.batch()?;
    for number in 0..20_000 {
        let text = "x".repeat(100);
        batch
            .put(&format!("d{number}"), &json!({"v": number, "text": text, "o": {"a": number}}))?;
    }
    batch.commit()?;
    let types = fixture.docs.types()?;
    assert_eq!(types.document_count(), 20_000);
    let order: Vec<_> = types.members().map(|(name, _)| name.to_owned()).collect();
    assert_eq!(order, ["_id", "v", "text", "o"]);
    fixture.docs.put("more", &json!({"v": 0.5, "o": {"b": "x"}}))?;
    let types = fixture.docs.types()?;
    assert_eq!(types.document_count(), 20_001);
    let written: Vec<_> = types.fields().iter().map(|field| field.field_type.to_string()).collect();
    assert_eq!(written, ["text", "double precision", "text", "struct(a bigint, b text)"]);
    assert_eq!(columns(&mut fixture.session, "select v from docs")?[0].1, "double precision");
    // One of many is replaced by a similar one: no type is narrower, and nothing is read again.
    fixture.docs.put("d7", &json!({"v": 8}))?;
    assert_eq!(fixture.docs.types()?.document_count(), 20_002, "the older line was seen too");
    // The only one of its kind is replaced: the wider type stays, and fits all values.
    fixture.docs.put("more", &json!({"v": 1}))?;
    assert_eq!(fixture.value("select count(v) from docs")?, Value::Integer(20_001));
    assert_eq!(columns(&mut fixture.session, "select v from docs")?[0].1, "double precision");
    fixture.docs.put("more", &json!({"v": "x"}))?;
    assert_eq!(columns(&mut fixture.session, "select v from docs")?[0].1, "json");
    assert_eq!(fixture.docs.types()?.document_count(), 20_004);
    // Where everything is read anyway, the types become those of the documents there are.
    fixture.docs.put("more", &json!({"v": 1}))?;
    fixture.docs.reindex(&mut |_, _| true)?;
    assert_eq!(fixture.docs.types()?.document_count(), 20_001);
    assert_eq!(columns(&mut fixture.session, "select v from docs")?[0].1, "bigint");
    Ok(())
}

/// Integers among fractions keep their digits.
#[test]
fn no_number_loses_digits() -> Result {
    let mut fixture = Fixture::new(Layout::Lines)?;
    fixture.docs.put_raw("a", r#"{"v":9007199254740993}"#)?;
    fixture.docs.put_raw("b", r#"{"v":0.5}"#)?;
    let found = fixture.value("select v from docs where _id = 'a'")?;
    assert_eq!(found, Value::from("9007199254740993"));
    Ok(())
}

const DATA: &str = "/data/collections/docs/meta/data.jsonl";
const TYPES: &str = "/data/collections/docs/meta/folio.types";

/// Opens the collection like another process.
fn open_in(files: &MemoryFileSystem, options: &OpenOptions) -> Result<(Database, Collection)> {
    let file_system = Some(Arc::new(files.clone()) as Arc<dyn folio_file::FileSystem>);
    let database = Database::open_with("/data", &OpenOptions { file_system, ..options.clone() })?;
    let docs = database.collection("docs")?;
    Ok((database, docs))
}

/// The types that a process finds, as text.
fn types_in(files: &MemoryFileSystem, options: &OpenOptions) -> Result<String> {
    let (_database, docs) = open_in(files, options)?;
    text_of(&docs)
}

/// What is the same however types were found: all but the summaries, which are of a sample.
fn text_of(docs: &Collection) -> Result<String> {
    let types = docs.types()?;
    let row = |row: PathSummary| {
        format!("{} {} {} {:?}\n", row.path, row.type_name, row.share, row.counts)
    };
    let rows: String = docs.fields()?.into_iter().map(row).collect();
    Ok(format!("{} {}\n{rows}", types.document_count(), types.keys_are_distinct()))
}

/// The types that all documents have.
fn inferred(files: &MemoryFileSystem) -> Result<String> {
    let files = files.kill();
    let _ = folio_file::FileSystem::remove_file(&files, Path::new(TYPES));
    types_in(&files, &OpenOptions::read_only())
}

/// Puts documents of about 100 bytes.
fn put_many(docs: &Collection, ids: std::ops::Range<usize>) -> Result {
    let mut batch = docs.batch()?;
    for n in ids {
        let text = "x".repeat(60);
        batch.put(&format!("d{n:06}"), &json!({"n": n, "o": {"text": text, "l": [n]}}))?;
    }
    batch.commit()?;
    Ok(())
}

/// A collection of 600 KB whose types a process has kept, as others find it.
fn kept() -> Result<MemoryFileSystem> {
    let files = MemoryFileSystem::new();
    let (database, docs) = open_in(&files, &OpenOptions::default())?;
    put_many(&docs, 0..6_000)?;
    assert!(files.read(TYPES).is_none(), "nobody has asked for types");
    docs.types()?;
    database.close()?;
    assert!(files.read(TYPES).is_some());
    Ok(files.kill())
}

/// What reading types may cost where they are kept: their file, and blocks of the data file.
const BOUND: u64 = 140_000;

#[test]
fn a_new_process_reads_the_types_that_were_kept() -> Result {
    let files = kept()?;
    let expected = inferred(&files)?;
    for options in [OpenOptions::read_only(), OpenOptions::default()] {
        let files = files.kill();
        let (database, docs) = open_in(&files, &options)?;
        let before = files.read_size();
        assert_eq!(text_of(&docs)?, expected);
        assert_eq!(columns(&mut database.session()?, "select n from docs")?[0].1, "bigint");
        let read = files.read_size() - before;
        assert!(read < BOUND, "{read} bytes");
    }
    // Without the file, all is read.
    let files = files.kill();
    folio_file::FileSystem::remove_file(&files, Path::new(TYPES))?;
    let (_database, docs) = open_in(&files, &OpenOptions::read_only())?;
    let before = files.read_size();
    assert_eq!(text_of(&docs)?, expected);
    assert!(files.read_size() - before > 600_000);
    assert!(files.read(TYPES).is_none(), "a reader writes nothing");
    Ok(())
}

#[test]
fn what_is_known_of_fields_is_kept() -> Result {
    let files = kept()?;
    let (_database, docs) = open_in(&files, &OpenOptions::read_only())?;
    let fields = docs.fields()?;
    let paths: Vec<_> = fields.iter().map(|field| &*field.path).collect();
    assert_eq!(paths, ["_id", "n", "o", "o.text", "o.l", "o.l[]"]);
    for (field, count) in [(&fields[1], 6_000), (&fields[3], 1), (&fields[5], 6_000)] {
        let found = field.distinct_count.ok_or("there are scalars")?;
        assert!(found.abs_diff(count) <= count / 5, "{}: {found}", field.path);
    }
    let [smallest, largest] = [&fields[1].smallest, &fields[1].largest].map(|bound| bound.clone());
    assert_eq!((smallest.as_deref(), largest.as_deref()), (Some("0"), Some("5999")));
    assert_eq!(fields[1].examples, ["0", "1", "2"]);
    Ok(())
}

/// Whatever was done to the data, a process finds the types of the documents there are.
#[test]
fn kept_types_are_those_of_the_documents() -> Result {
    type Change = fn(&MemoryFileSystem, &str) -> Result;
    let changes: [(&str, Change); 11] = [
        ("an edit of the same length", |files, text| {
            Ok(files.write(DATA, text.replace("\"n\":1234,", "\"n\":true,").as_bytes())?)
        }),
        ("the same by another file", |files, text| {
            Ok(files.replace(DATA, text.replace("\"n\":17,", "\"n\":\"\",").as_bytes())?)
        }),
        ("an edit of the last line", |files, text| {
            Ok(files.write(DATA, text.replace("\"n\":5999,", "\"n\":null,").as_bytes())?)
        }),
        ("an edit, and a line added", |files, text| {
            let edited = text.replace("\"n\":3000,", "\"n\":10.5,");
            Ok(files.write(DATA, (edited + "{\"_id\":\"new\"}\n").as_bytes())?)
        }),
        ("a line added", |files, _| {
            Ok(files.append(DATA, b"{\"_id\":\"new\",\"n\":\"text\",\"late\":1}\n")?)
        }),
        ("a line added without its end", |files, _| {
            Ok(files.append(DATA, b"{\"_id\":\"new\",\"late\":1}")?)
        }),
        ("a line removed", |files, text| {
            Ok(files.write(DATA, &text.as_bytes()[text.find('\n').ok_or("a line")? + 1..])?)
        }),
        ("a shorter file", |files, text| Ok(files.write(DATA, &text.as_bytes()[..400_000])?)),
        ("an empty file", |files, _| Ok(files.write(DATA, b"")?)),
        ("other documents", |files, text| {
            Ok(files.replace(DATA, text.replace("\"o\":", "\"p\":").as_bytes())?)
        }),
        ("compaction", |files, _| {
            let (_database, docs) = open_in(files, &OpenOptions::default())?;
            (0..3_000).try_for_each(|n| docs.delete(&format!("d{n:06}")).map(drop))?;
            docs.compact(&mut |_, _| true)?;
            Ok(())
        }),
    ];
    let files = kept()?;
    let text = String::from_utf8(files.read(DATA).ok_or("the data")?)?;
    for (name, change) in changes {
        let files = files.kill();
        change(&files, &text)?;
        let expected = inferred(&files)?;
        let read_only = files.kill();
        assert_eq!(types_in(&read_only, &OpenOptions::read_only())?, expected, "{name}");
        // A writer keeps what it found out, and the next process finds it.
        assert_eq!(types_in(&files, &OpenOptions::default())?, expected, "{name}");
        assert_eq!(types_in(&files.kill(), &OpenOptions::read_only())?, expected, "{name}, again");
    }
    Ok(())
}

#[test]
fn a_damaged_file_of_types_is_ignored_and_replaced() -> Result {
    let files = kept()?;
    let expected = inferred(&files)?;
    let whole = files.read(TYPES).ok_or("the types")?;
    let foreign = {
        let files = MemoryFileSystem::new();
        let (database, docs) = open_in(&files, &OpenOptions::default())?;
        put_many(&docs, 1..7_000)?;
        docs.put("x", &json!({"other": true}))?;
        docs.types()?;
        database.close()?;
        files.read(TYPES).ok_or("the types")?
    };
    let flipped = (0..whole.len()).map(|at| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        bytes
    });
    let cut = (0..whole.len()).step_by(61).map(|at| whole[..at].to_vec());
    let others = [foreign, vec![0; 10_000], [&whole[..], b"\n"].concat()];
    for (number, bytes) in others.into_iter().chain(cut).chain(flipped).enumerate() {
        let files = files.kill();
        files.write(TYPES, &bytes)?;
        assert_eq!(types_in(&files, &OpenOptions::read_only())?, expected, "{number}");
        if number < 20 {
            let (database, docs) = open_in(&files, &OpenOptions::default())?;
            let problems = docs.check(&mut |_, _| true)?.problems;
            assert_eq!(problems.is_empty(), number == 0, "{number}: {problems:?}");
            assert_eq!(text_of(&docs)?, expected);
            database.close()?;
            assert!(files.read(TYPES) == Some(whole.clone()), "{number}: it is written again");
        }
    }
    Ok(())
}

#[test]
fn types_are_extended_at_the_cost_of_what_was_added() -> Result {
    let files = kept()?;
    let kept_bytes = files.read(TYPES);
    let (database, docs) = open_in(&files, &OpenOptions::default())?;
    let mut session = database.session()?;
    docs.types()?;
    for n in 0..20 {
        docs.put(&format!("new{n}"), &json!({"n": n}))?;
        let before = files.read_size();
        assert_eq!(docs.types()?.document_count(), 6_001 + n);
        columns(&mut session, "select n from docs")?;
        let read = files.read_size() - before;
        assert!(read < BOUND, "{read} bytes");
        docs.flush()?;
    }
    assert!(files.read(TYPES) == kept_bytes, "it is not written at each flush");
    // Enough was added.
    put_many(&docs, 6_000..9_000)?;
    docs.types()?;
    docs.flush()?;
    assert!(files.read(TYPES) != kept_bytes);
    docs.put("last", &json!({"late": 1}))?;
    let expected = text_of(&docs)?;
    // Killed before that is kept: the next process adds it.
    let (_other, again) = open_in(&files.kill(), &OpenOptions::default())?;
    assert_eq!(again.types()?.document_count(), 9_021);
    drop((session, docs));
    database.close()?;
    let (_other, again) = open_in(&files.kill(), &OpenOptions::read_only())?;
    assert_eq!(text_of(&again)?, expected);
    Ok(())
}

/// What is done to a collection, and then true of it: its size, how many have an `n`, and how many a
/// path `late.er`; whether the types have that path.
type Write = (&'static str, fn(&Collection) -> Result, [u64; 3], bool);

const WRITES: [Write; 6] = [
    (
        "one with a new path replaces one",
        |docs| Ok(docs.put("d000007", &json!({"n": 7, "late": {"er": true}})).map(drop)?),
        [6_000, 6_000, 1],
        true,
    ),
    (
        "one with a new kind replaces one",
        |docs| Ok(docs.put("d000007", &json!({"n": "text"})).map(drop)?),
        [6_000, 6_000, 0],
        false,
    ),
    (
        "the only one with a path is replaced",
        |docs| {
            docs.put("d000007", &json!({"late": {"er": true}}))?;
            docs.types()?;
            Ok(docs.put("d000007", &json!({"o": {}})).map(drop)?)
        },
        [6_000, 5_999, 0],
        true,
    ),
    (
        "many are deleted",
        |docs| (0..3_000).try_for_each(|n| Ok(docs.delete(&format!("d{n:06}")).map(drop)?)),
        [3_000, 3_000, 0],
        false,
    ),
    (
        "the only one with a path is deleted",
        |docs| {
            docs.put("more", &json!({"late": {"er": true}}))?;
            docs.types()?;
            Ok(docs.delete("more").map(drop)?)
        },
        [6_000, 6_000, 0],
        true,
    ),
    (
        "a batch replaces half of them",
        |docs| {
            let mut batch = docs.batch()?;
            for n in 0..3_000 {
                let document = json!({"n": n, "late": {"er": n % 2 == 0}});
                batch.put(&format!("d{n:06}"), &document)?;
            }
            Ok(batch.commit().map(drop)?)
        },
        [6_000, 6_000, 3_000],
        true,
    ),
];

/// A statement after a write reads what was appended, whatever that replaces, in the process that
/// wrote and in the next one. Types may be wide, answers are those of the documents there are.
#[test]
fn no_write_makes_the_next_statement_read_everything() -> Result {
    let kept = kept()?;
    let kept_size = kept.read(DATA).ok_or("the data")?.len() as u64;
    for (name, write, [count, with_n, with_late], has_late) in WRITES {
        let files = kept.kill();
        let (database, docs) = open_in(&files, &OpenOptions::default())?;
        let mut session = database.session()?;
        columns(&mut session, "select n from docs")?;
        write(&docs)?;
        let read = |docs: &Collection, session: &mut Session| -> Result<u64> {
            let before = files.read_size();
            docs.types()?;
            columns(session, "select n from docs")?;
            Ok(files.read_size() - before)
        };
        let added = files.read(DATA).ok_or("the data")?.len() as u64 - kept_size;
        let size = read(&docs, &mut session)?;
        assert!(size < BOUND + added, "{name}: {size} bytes, {added} were added");
        check_answers(&mut session, name, [count, with_n, with_late], has_late)?;
        check_required(&docs, name)?;
        // A second statement reads nothing of the documents, and neither does the next process.
        assert_eq!(read(&docs, &mut session)?, 0, "{name}");
        let wide = text_of(&docs)?;
        drop((session, docs));
        database.close()?;
        let (database, docs) = open_in(&files, &OpenOptions::default())?;
        let mut session = database.session()?;
        let size = read(&docs, &mut session)?;
        assert!(size < BOUND, "{name}: {size} bytes in the next process");
        assert_eq!(text_of(&docs)?, wide, "{name}");
        check_answers(&mut session, name, [count, with_n, with_late], has_late)?;
        // Where everything is read anyway, they become those of the documents there are.
        let compacts = count < 6_000;
        match compacts {
            true => drop(docs.compact(&mut |_, _| true)?),
            false => docs.reindex(&mut |_, _| true)?,
        }
        assert_eq!(read(&docs, &mut session)?, 0, "{name}: the types are there");
        assert_eq!(text_of(&docs)?, inferred(&files)?, "{name}");
        assert_eq!(docs.types()?.document_count(), count, "{name}");
        check_answers(&mut session, name, [count, with_n, with_late], with_late > 0)?;
    }
    Ok(())
}

fn check_answers(session: &mut Session, name: &str, counts: [u64; 3], has_late: bool) -> Result {
    let mut text = "select count(*), count(n)".to_owned();
    if has_late {
        text.push_str(", count(late.er)");
    }
    let mut rows = session.execute(&format!("{text} from docs"), &[])?.rows.ok_or("a row")?;
    let found = rows.collect_rows()?.remove(0);
    for (found, expected) in found.iter().zip(counts) {
        assert_eq!(*found, Value::Integer(i64::try_from(expected)?), "{name}: {text}");
    }
    let unknown = session.execute("select late.er from docs", &[]).map(drop);
    assert_eq!(unknown.is_ok(), has_late, "{name}: {unknown:?}");
    if has_late {
        let text = "select count(*) from docs where late.er is null";
        let rows = session.execute(text, &[])?.rows.ok_or("a row")?.collect_rows()?;
        assert_eq!(rows, [[Value::Integer(i64::try_from(counts[0] - counts[2])?)]], "{name}");
    }
    Ok(())
}

/// What the written types say that all documents have, all documents have.
fn check_required(docs: &Collection, name: &str) -> Result {
    let source = docs.type_source(TypeLanguage::TypeScript)?;
    let (_, members) = source.split_once("interface Docs {").ok_or("an interface")?;
    let members = members.split_once('}').ok_or("its end")?.0.lines();
    let required = members.filter_map(|line| line.trim().split_once(": "));
    let required: Vec<_> =
        required.map(|(name, _)| name).filter(|own| !own.ends_with('?')).collect();
    assert!(required.contains(&"_id"), "{name}: {source}");
    for document in docs.scan(folio::Scan::new())? {
        let document = document?.to_value()?;
        let lacking = required.iter().find(|member| document.get(member).is_none());
        assert!(lacking.is_none(), "{name}: {document} has no {lacking:?}");
    }
    Ok(())
}

/// At every moment at which a process may end, or the power may fail, the next one finds the types
/// of the documents there are.
#[test]
fn kept_types_survive_crashes() -> Result {
    let files = kept()?;
    let (database, docs) = open_in(&files, &OpenOptions::default())?;
    docs.types()?;
    files.record_crash_points(Recording::Changes);
    put_many(&docs, 6_000..9_000)?;
    docs.put("a", &json!({"n": "text"}))?;
    docs.types()?;
    docs.flush()?;
    docs.put("b", &json!({"late": true}))?;
    docs.types()?;
    database.close()?;
    let points = files.crash_points();
    assert!(points.iter().any(|point| point.path.ends_with("folio.types.tmp")));
    for (number, point) in points.iter().enumerate() {
        let lost = CrashPlan::lose_everything();
        for files in
            [point.image.kill(), point.image.crash(lost), point.image.crash(CrashPlan::new(7))]
        {
            // A crash may leave an open batch, which only a writer ends.
            let (database, _) = open_in(&files, &OpenOptions::default())?;
            database.close()?;
            let expected = inferred(&files)?;
            let found = types_in(&files, &OpenOptions::read_only())?;
            assert_eq!(found, expected, "{number}: {:?} {:?}", point.operation, point.path);
        }
    }
    Ok(())
}

/// The same, where documents are replaced and deleted: the types that the next process finds hold every
/// document there is.
#[test]
fn kept_types_hold_all_documents_after_crashes() -> Result {
    let files = kept()?;
    let (database, docs) = open_in(&files, &OpenOptions::default())?;
    docs.types()?;
    files.record_crash_points(Recording::Changes);
    for round in 0..3 {
        let mut batch = docs.batch()?;
        for n in 0..1_500 {
            let member = format!("late{round}");
            batch.put(&format!("d{n:06}"), &json!({"n": n, member: {"text": "x".repeat(60)}}))?;
        }
        batch.commit()?;
        docs.types()?;
        docs.flush()?;
        docs.put("d000007", &json!({"n": format!("text {round}")}))?;
        docs.delete(&format!("d00{:04}", 2_000 + round))?;
        docs.types()?;
        if round == 1 {
            docs.reindex(&mut |_, _| true)?;
        }
    }
    database.close()?;
    let (mut wide_count, points) = (0, files.crash_points());
    assert!(points.iter().any(|point| point.path.ends_with("folio.types.tmp")));
    for (number, point) in points.iter().enumerate() {
        let lost = CrashPlan::lose_everything();
        for files in
            [point.image.kill(), point.image.crash(lost), point.image.crash(CrashPlan::new(7))]
        {
            let (database, _) = open_in(&files, &OpenOptions::default())?;
            database.close()?;
            let (_database, docs) = open_in(&files, &OpenOptions::read_only())?;
            let found = docs.types()?;
            let _ = folio_file::FileSystem::remove_file(&files, Path::new(TYPES));
            let (_database, docs) = open_in(&files.kill(), &OpenOptions::read_only())?;
            let narrow = docs.types()?;
            let mut both = (*found).clone();
            both.merge(&narrow);
            let what = format!("{number}: {:?} {:?}", point.operation, point.path);
            assert_eq!(both.fields().len(), found.fields().len(), "{what}");
            for (one, other) in both.fields().iter().zip(found.fields()) {
                assert_eq!(one.field_type.to_string(), other.field_type.to_string(), "{what}");
            }
            wide_count += u32::from(found.document_count() > narrow.document_count());
        }
    }
    assert!(wide_count > 20, "{wide_count} of {} were wider", 3 * points.len());
    Ok(())
}

/// A device that fails where only the types are written, or read, fails nobody.
#[test]
fn a_file_of_types_that_cannot_be_used_is_no_error() -> Result {
    let files = kept()?;
    let expected = inferred(&files)?;
    for operation in [Operation::Open, Operation::Read] {
        let files = files.kill();
        files.inject(Fault::next(operation, FaultKind::Eio).on("folio.types").sticky());
        assert_eq!(types_in(&files, &OpenOptions::default())?, expected, "{operation:?}");
    }
    for operation in [Operation::Create, Operation::Write, Operation::Rename] {
        let files = files.kill();
        files.inject(Fault::next(operation, FaultKind::Enospc).on("folio.types").sticky());
        let (database, docs) = open_in(&files, &OpenOptions::default())?;
        docs.put("a", &json!({"n": 1}))?;
        docs.types()?;
        database.close()?;
        files.clear_faults();
        assert_eq!(types_in(&files, &OpenOptions::default())?, inferred(&files)?, "{operation:?}");
    }
    Ok(())
}

#[test]
fn few_documents_and_a_file_per_document_keep_no_types() -> Result {
    for (layout, count) in [(Layout::Lines, 1_000), (Layout::Files, 3_000)] {
        let files = MemoryFileSystem::new();
        let file_system = Some(Arc::new(files.clone()) as Arc<dyn folio_file::FileSystem>);
        let options = OpenOptions { file_system, ..OpenOptions::default() };
        let database = Database::open_with("/data", &options)?;
        let options = CollectionOptions { layout, ..Default::default() };
        let docs = database.collection_with("docs", &options)?;
        put_many(&docs, 0..count)?;
        docs.types()?;
        database.close()?;
        assert!(files.read(TYPES).is_none(), "{layout:?}");
    }
    Ok(())
}

/// Files over 16 MiB are read in parts, by several threads, and answer as small ones do.
#[test]
fn large_files_of_lines_are_read_in_parts() -> Result {
    use std::fmt::Write as _;
    const COUNT: i64 = 160_000;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("large.jsonl");
    let mut lines = String::new();
    for n in 0..COUNT {
        let space = if n % 3 == 0 { "\n" } else { "" };
        let text = "x".repeat(60 + usize::try_from(n % 50)?);
        writeln!(lines, "{{\"o\":{{\"n\":{n},\"t\":\"{text}\"}},\"k\":\"{}\"}}{space}", n % 7)?;
    }
    assert!(lines.len() > 17 << 20);
    fs::write(&path, &lines)?;
    let database = Database::open(folder.path().join("data"))?;
    let mut session = database.session()?;
    let from = format!("from '{}'", path.display());
    let mut answer = |text: &str| -> Result<Vec<Vec<Value>>> {
        let rows = session.execute(&format!("{text} {from}"), &[])?.rows;
        Ok(rows.ok_or("there are rows")?.collect_rows()?)
    };
    let sum = Value::Integer(COUNT * (COUNT - 1) / 2);
    assert_eq!(answer("select count(*)")?, [[Value::Integer(COUNT)]]);
    assert_eq!(answer("select sum(o.n)::bigint")?, [[sum]]);
    let order = answer("select o.n")?;
    assert!(order.iter().zip(0..).all(|(row, n)| row[..] == [Value::Integer(n)]), "file order");
    let mut rows = session.execute(&format!("select count(*) {from} where k = '3'"), &[])?;
    let counted = rows.rows.take().ok_or("a row")?.collect_rows()?;
    assert_eq!(counted, [[Value::Integer((0..COUNT).filter(|n| n % 7 == 3).count() as i64)]]);
    let broken = lines.lines().take(150_000).collect::<Vec<_>>().join("\n") + "\n{\"o\": }\n";
    fs::write(&path, broken + &lines)?;
    let error = session.execute(&format!("select count(*) {from}"), &[]).map(drop).unwrap_err();
    assert!(error.to_string().contains("line 150001"), "{error}");
    Ok(())
}

/// ZiQL reads what documents nest by path, and compares values of several kinds by value.
#[test]
fn ziql_reads_members_of_documents() -> Result {
    let mut fixture = Fixture::new(Layout::Lines)?;
    for (id, document) in [
        ("a", json!({"geo": {"city": "Oslo", "lat": 59.9}, "m": 1})),
        ("b", json!({"geo": {"city": "Rome", "lat": 41.9}, "m": "x"})),
        ("c", json!({"m": [1]})),
    ] {
        fixture.docs.put(id, &document)?;
    }
    for (text, expected) in [
        ("GRAB docs [geo] {geo.city = 'Oslo'}", r#"[{"geo":{"city":"Oslo","lat":59.9}}]"#),
        ("GRAB docs [m] {geo.lat < 50}", r#"[{"m":"x"}]"#),
        ("GRAB docs [m] {geo.lat > 0} |ASC geo.lat|", r#"[{"m":"x"},{"m":1}]"#),
        ("GRAB docs [geo.city, count()] {geo.city = 'Rome'} |ASC geo.city|", ""),
        ("GRAB docs [m] {m = 'x'}", r#"[{"m":"x"}]"#),
        ("GRAB docs [m] {m = 1}", r#"[{"m":1}]"#),
        ("GRAB docs {geo.town = 'Oslo'}", "there is no member `town`"),
        ("GRAB docs {m.x = 1}", "[]"),
        ("GRAB docs {geo.lat.x = 1}", "has no member `x`"),
    ] {
        let answer = fixture.session.ziql(text, &[]).and_then(|mut rows| Ok(rows.to_json()?));
        let answer = answer.unwrap_or_else(|error| error.to_string());
        assert!(answer.contains(expected), "{text}: {answer}");
    }
    Ok(())
}

/// Joins begin with what the documents say is rarer, not with the condition that looks so.
#[test]
fn statistics_of_documents_order_joins() -> Result {
    let folder = tempfile::tempdir()?;
    let database = Database::open(folder.path().join("data"))?;
    for (name, distinct) in [("common", 2), ("rare", 500)] {
        let documents: Vec<_> = (0..2_000)
            .map(|n| (format!("d{n}"), json!({"o": {"k": format!("v{}", n % distinct)}, "n": n})))
            .collect();
        database
            .collection(name)?
            .put_many(documents.iter().map(|(id, document)| (id.as_str(), document)))?;
    }
    let mut session = database.session()?;
    let mut first_scan = |one: &str, two: &str| -> Result<String> {
        let text = format!(
            "explain select count(*) from {one} a join {two} b on a.n = b.n
             where a.o.k = 'v1' and b.o.k = 'v1'"
        );
        let rows = session.execute(&text, &[])?.rows.ok_or("a plan")?.to_json()?;
        let at = |name: &str| rows.find(&format!("scan {name}")).ok_or("a scan");
        Ok(if at("rare")? < at("common")? { "rare".to_owned() } else { "common".to_owned() })
    };
    // The right side of a join is held in memory: the one with fewer rows.
    assert_eq!(first_scan("rare", "common")?, "common");
    assert_eq!(first_scan("common", "rare")?, "common");
    Ok(())
}

/// Three relations, a table and two collections, joined by their keys. The one of which a range has few
/// rows comes first, whichever it is: the smallest and largest values of fields say so.
#[test]
fn ranges_of_documents_order_joins() -> Result {
    let folder = tempfile::tempdir()?;
    let database = Database::open(folder.path().join("data"))?;
    let mut session = database.session()?;
    session.execute("create table orders (id int primary key, place int, day int)", &[])?;
    session
        .execute("insert into orders select n, n % 4000, n % 3000 from range(4000) as r(n)", &[])?;
    let place = |n: usize| json!({"n": n, "geo": {"lat": n as f64 / 40.0}, "mixed": if n == 0 { json!("x") } else { json!(n) }});
    let day =
        |n: usize| json!({"n": n, "at": format!("2026-{:02}-{:02}", 1 + n / 300, 1 + n / 10 % 30)});
    for (name, count) in [("places", 4_000), ("days", 3_000)] {
        let document = |n| if name == "places" { place(n) } else { day(n) };
        let documents: Vec<_> = (0..count).map(|n| (format!("d{n}"), document(n))).collect();
        let documents = documents.iter().map(|(id, document)| (id.as_str(), document));
        database.collection(name)?.put_many(documents)?;
    }
    let mut explained = |places: &str, days: &str| -> Result<(String, Vec<String>)> {
        let text = format!(
            "explain (estimates) select count(*) from orders o join days d on d.n = o.day
             join places p on p.n = o.place where {places} and {days}"
        );
        let rows = session.execute(&text, &[])?.rows.ok_or("a plan")?.collect_rows()?;
        let lines: Vec<_> = rows.iter().map(|row| format!("{:?}", row[0])).collect();
        // The deeper a scan is, the earlier it is joined.
        let depth = |name: &str| {
            let line = lines.iter().find(|line| line.contains(&format!("scan {name}")));
            line.map_or(0, |line| {
                line.len() - line.trim_start_matches(['T', 'e', 'x', 't', '(', '"', ' ']).len()
            })
        };
        let mut order = [("places", depth("places")), ("days", depth("days"))];
        order.sort_by_key(|(_, depth)| std::cmp::Reverse(*depth));
        let last = order.last().ok_or("two")?.0.to_owned();
        Ok((last, lines))
    };
    // Few and many of one field, by a number and by a text: the same words, other values.
    for (places, days, last) in [
        ("p.geo.lat >= 99", "d.at >= '2026-02-01'", "days"),
        ("p.geo.lat >= 1", "d.at >= '2026-10-28'", "places"),
        ("p.geo.lat < 1", "d.at < '2026-10-01'", "days"),
        ("p.geo.lat < 99", "d.at < '2026-01-04'", "places"),
        ("p.n between 10 and 30", "d.at > '2026-03-01'", "days"),
        ("p.n between 10 and 3990", "d.at between '2026-04-01' and '2026-04-03'", "places"),
    ] {
        let (found, lines) = explained(places, days)?;
        assert_eq!(found, last, "{places}, {days}: {lines:#?}");
    }
    Ok(())
}
