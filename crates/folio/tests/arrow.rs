//! Arrow data in SQL: files of its IPC format in FROM and COPY, and batches that a program
//! registers under a name.

use std::fs;
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::types::{Int32Type, UInt8Type};
use arrow_array::{
    ArrayRef, BinaryViewArray, Date64Array, DictionaryArray, DurationSecondArray,
    FixedSizeListArray, Float32Array, Int8Array, Int64Array, LargeBinaryArray, LargeListArray,
    LargeStringArray, ListArray, NullArray, RecordBatch, RecordBatchIterator, StringViewArray,
    StructArray, Time32SecondArray, TimestampNanosecondArray, UInt32Array, UInt64Array,
};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::ArrowError;
use folio::{Database, ErrorCode, Value};

mod fixture;
#[path = "../../../conformance/random.rs"]
mod random;

use fixture::{Fixture, Result};
use random::Random;

/// Two rows of a column per type that is converted, and their JSON.
fn columns() -> Vec<(&'static str, ArrayRef, [&'static str; 2])> {
    let mut names = ListBuilder::new(StringBuilder::new());
    names.values().append_value("a");
    names.append(true);
    names.append(false);
    let pairs = || vec![Some(vec![Some(1), None]), Some(vec![Some(3), Some(4)])];
    let dictionary = DictionaryArray::<UInt8Type>::from_iter([Some("red"), None]);
    let whole: ArrayRef = Arc::new(Int8Array::from(vec![7, 8]));
    let inner = StructArray::try_from(vec![("n", whole)]).expect("one column");
    vec![
        ("tiny", Arc::new(Int8Array::from(vec![Some(-128), None])), ["-128", "null"]),
        ("wide", Arc::new(UInt32Array::from(vec![u32::MAX, 0])), ["4294967295", "0"]),
        ("huge", Arc::new(UInt64Array::from(vec![u64::MAX, 0])), ["18446744073709551615", "0"]),
        ("real", Arc::new(Float32Array::from(vec![0.5, -1.25])), ["0.5", "-1.25"]),
        ("large", Arc::new(LargeStringArray::from(vec![Some("é"), None])), ["\"é\"", "null"]),
        (
            "viewed",
            Arc::new(StringViewArray::from(vec!["short", "longer than twelve bytes"])),
            ["\"short\"", "\"longer than twelve bytes\""],
        ),
        (
            "bytes",
            Arc::new(LargeBinaryArray::from(vec![&b"\x01"[..], b""])),
            ["\"\\\\x01\"", "\"\\\\x\""],
        ),
        (
            "seen",
            Arc::new(BinaryViewArray::from(vec![&b"\xff"[..], b"a"])),
            ["\"\\\\xff\"", "\"\\\\x61\""],
        ),
        ("shade", Arc::new(dictionary), ["\"red\"", "null"]),
        ("nothing", Arc::new(NullArray::new(2)), ["null", "null"]),
        (
            "day",
            Arc::new(Date64Array::from(vec![86_400_000, -1])),
            ["\"1970-01-02\"", "\"1969-12-31\""],
        ),
        (
            "noon",
            Arc::new(Time32SecondArray::from(vec![43_200, 1])),
            ["\"12:00:00\"", "\"00:00:01\""],
        ),
        (
            "at",
            Arc::new(TimestampNanosecondArray::from(vec![1_500, -1]).with_timezone("+02:00")),
            ["\"1970-01-01T00:00:00.000002Z\"", "\"1970-01-01T00:00:00Z\""],
        ),
        ("names", Arc::new(names.finish()), ["[\"a\"]", "null"]),
        (
            "pairs",
            Arc::new(FixedSizeListArray::from_iter_primitive::<Int32Type, _, _>(pairs(), 2)),
            ["[1,null]", "[3,4]"],
        ),
        (
            "many",
            Arc::new(LargeListArray::from_iter_primitive::<Int32Type, _, _>(pairs())),
            ["[1,null]", "[3,4]"],
        ),
        ("inner", Arc::new(inner), ["{\"n\":7}", "{\"n\":8}"]),
    ]
}

fn batch() -> Result<RecordBatch> {
    let columns = columns().into_iter().map(|(name, array, _)| (name, array, true));
    Ok(RecordBatch::try_from_iter_with_nullable(columns)?)
}

fn expected() -> String {
    let row = |row: usize| {
        let cells = columns();
        let cells: Vec<String> =
            cells.iter().map(|(name, _, cells)| format!("\"{name}\":{}", cells[row])).collect();
        format!("{{{}}}", cells.join(","))
    };
    format!("[{},{}]", row(0), row(1))
}

/// The batches as a file of either form.
fn written(batches: &[RecordBatch], is_stream: bool) -> Result<Vec<u8>> {
    let (mut bytes, schema) = (Vec::new(), batches[0].schema());
    if is_stream {
        let mut writer = StreamWriter::try_new(&mut bytes, &schema)?;
        batches.iter().try_for_each(|batch| writer.write(batch))?;
        writer.finish()?;
    } else {
        let mut writer = FileWriter::try_new(&mut bytes, &schema)?;
        batches.iter().try_for_each(|batch| writer.write(batch))?;
        writer.finish()?;
    }
    Ok(bytes)
}

fn register(database: &Database, name: &str, batches: Vec<RecordBatch>) -> folio::Result<u64> {
    let schema = batches[0].schema();
    let batches = batches.into_iter().map(Ok::<_, ArrowError>);
    database.register(name, RecordBatchIterator::new(batches, schema))
}

fn numbers(from: i64, to: i64) -> Result<RecordBatch> {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(from..to));
    let names = (from..to).map(|id| Some(format!("name {id}")));
    let names: ArrayRef = Arc::new(StringViewArray::from_iter(names));
    Ok(RecordBatch::try_from_iter([("id", ids), ("Name", names)])?)
}

#[test]
fn every_type_is_read_from_files_of_both_forms_and_from_memory() -> Result {
    let mut fixture = Fixture::new("")?;
    for (name, is_stream) in [("a.arrow", false), ("a.feather", false), ("a.arrows", true)] {
        let path = fixture.path(name);
        fs::write(&path, written(&[batch()?], is_stream)?)?;
        let text = format!("select * from '{}'", path.display());
        assert_eq!(fixture.json(&text)?, expected(), "{name}");
        assert_eq!(fixture.database.register_ipc("content", &fs::read(&path)?)?, 2);
        assert_eq!(fixture.json("select * from content")?, expected(), "{name} in memory");
    }
    assert_eq!(register(&fixture.database, "rows", vec![batch()?])?, 2);
    assert_eq!(fixture.json("select * from rows")?, expected());
    let text = format!("select inner, tiny from '{}'", fixture.path("a.arrow").display());
    assert_eq!(
        fixture.json(&text)?,
        r#"[{"inner":{"n":7},"tiny":-128},{"inner":{"n":8},"tiny":null}]"#
    );
    Ok(())
}

#[test]
fn what_copy_writes_others_and_copy_read() -> Result {
    let mut fixture = Fixture::new(
        "create table t (id int primary key, name text, price numeric(8, 2), day date, tags text[], doc json, at timestamptz);
        insert into t select g, case when g % 3 > 0 then 'n' || g end, g / 7.0, date '2020-01-01' + g % 700,
            array['x', null], '{\"a\": 1}', timestamptz '2024-01-01T00:00:00Z' from generate_series(1, 9000) s(g)",
    )?;
    let path = fixture.path("t.arrow");
    let count = fixture.session.execute(&format!("copy t to '{}'", path.display()), &[])?.count;
    assert_eq!(count, Some(9000));
    let reader = arrow_ipc::reader::FileReader::try_new(fs::File::open(&path)?, None)?;
    assert_eq!(reader.map(|batch| Ok(batch?.num_rows())).sum::<Result<usize>>()?, 9000);
    fixture.session.execute("create table u as select * from t limit 0", &[])?;
    fixture.session.execute(&format!("copy u from '{}'", path.display()), &[])?;
    let (before, after) = (fixture.json("select * from t")?, fixture.json("select * from u")?);
    assert!(before == after, "a table that went through a file differs");
    let types = |fixture: &mut Fixture, text: &str| -> Result<String> {
        let rows = fixture.session.execute(text, &[])?.rows.ok_or("rows")?;
        Ok(format!("{:?}", rows.types()))
    };
    let read = types(&mut fixture, &format!("select * from '{}'", path.display()))?;
    assert_eq!(types(&mut fixture, "select * from t")?, read);
    Ok(())
}

#[test]
fn a_column_of_a_type_without_a_counterpart_is_left_out() -> Result {
    let mut fixture = Fixture::new("")?;
    let id: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let spans: ArrayRef = Arc::new(DurationSecondArray::from(vec![3, 4]));
    let path = fixture.path("spans.arrow");
    fs::write(
        &path,
        written(&[RecordBatch::try_from_iter([("id", id), ("span", spans)])?], false)?,
    )?;
    let file = path.display();
    assert_eq!(fixture.json(&format!("select id from '{file}' where id > 1"))?, r#"[{"id":2}]"#);
    assert_eq!(fixture.json(&format!("select count(*) from '{file}'"))?, r#"[{"count":2}]"#);
    for (what, filter) in [("*", ""), ("span", ""), ("id", "where span is null")] {
        let (code, said) = fixture.refused(&format!("select {what} from '{file}' {filter}"))?;
        assert_eq!(code, ErrorCode::Unsupported, "{what} {filter}: {said}");
        assert!(said.contains("column \"span\""), "{said}");
    }
    Ok(())
}

#[test]
fn a_damaged_file_is_an_error_and_never_more() -> Result {
    let mut fixture = Fixture::new("")?;
    let batches = [batch()?, batch()?];
    let whole = [written(&batches, false)?, written(&batches, true)?];
    let path = fixture.path("damaged.arrow");
    let text = format!("select * from '{}'", path.display());
    let (mut refused, mut answered) = (0, 0);
    for round in 0..2000 {
        let mut random = Random::new(round);
        let mut bytes = whole[random.below(2)].clone();
        match round % 4 {
            0 => bytes.truncate(random.below(bytes.len())),
            1 => {
                let at = random.below(bytes.len() - 8);
                bytes[at..at + 8].fill(0xff);
            }
            _ => {
                let at = random.below(bytes.len());
                bytes[at] ^= 1 << random.below(8);
            }
        }
        fs::write(&path, &bytes)?;
        let rows = fixture.rows(&text);
        match &rows {
            Ok(_) => answered += 1,
            Err(_) => refused += 1,
        }
        let held = match fixture.database.register_ipc("content", &bytes) {
            Ok(_) => fixture.rows("select * from content"),
            Err(error) => Err(error.into()),
        };
        let shown = |rows: Result<_>| format!("{:?}", rows.ok());
        assert_eq!(shown(held), shown(rows), "round {round}: in memory it is as in a file");
    }
    assert!(refused > 400 && answered > 100, "{refused} refused, {answered} answered");
    let (code, text) = {
        fs::write(&path, "id,name\n1,x\n")?;
        fixture.refused(&text)?
    };
    assert_eq!(code, ErrorCode::Corrupted);
    assert!(text.contains("damaged.arrow") && text.contains("Arrow"), "{text}");
    Ok(())
}

#[test]
fn registered_rows_are_read_beside_tables() -> Result {
    let mut fixture = Fixture::new(
        "create table people (id bigint primary key, city text);
        insert into people values (2, 'Oslo'), (5, 'Rome'), (70000, 'Bergen')",
    )?;
    let database = fixture.database.clone();
    let batches = vec![numbers(0, 10)?, numbers(10, 10)?, numbers(10, 100_000)?];
    assert_eq!(register(&database, "Wanted", batches)?, 100_000);
    assert_eq!(
        fixture.json("select count(*) as n, min(id), max(id) from WANTED")?,
        r#"[{"n":100000,"min":0,"max":99999}]"#
    );
    assert_eq!(
        fixture.json("select city, name from people join wanted using (id) order by id desc")?,
        r#"[{"city":"Bergen","name":"name 70000"},{"city":"Rome","name":"name 5"},{"city":"Oslo","name":"name 2"}]"#
    );
    let kept = "create table kept as select * from wanted where id < 3";
    fixture.session.execute(kept, &[])?;
    assert_eq!(fixture.rows("select count(*) from kept")?, [[Value::Integer(3)]]);
    let listed = "select table_type from information_schema.tables where table_name = 'Wanted'";
    assert_eq!(fixture.json(listed)?, r#"[{"table_type":"REGISTERED"}]"#);
    Ok(())
}

#[test]
fn a_name_is_registered_again_and_forgotten() -> Result {
    let mut fixture = Fixture::new("create table t (id int)")?;
    let database = fixture.database.clone();
    let text = "select count(*) from w";
    register(&database, "w", vec![numbers(0, 4)?])?;
    assert_eq!(fixture.rows(text)?, [[Value::Integer(4)]]);
    register(&database, "W", vec![numbers(0, 7)?])?;
    assert_eq!(fixture.rows(text)?, [[Value::Integer(7)]], "the text is known, the rows are new");
    let other = Database::open(fixture.path("data"))?;
    assert!(other.session()?.execute(text, &[]).is_err(), "another handle does not see them");
    assert!(database.unregister("w")?);
    assert!(!database.unregister("w")?);
    let (code, said) = fixture.refused(text)?;
    assert_eq!(code, ErrorCode::NotFound, "{said}");
    Ok(())
}

#[test]
fn what_cannot_be_registered_or_done_is_refused() -> Result {
    let mut fixture = Fixture::new("create table t (id int); create view v as select 1 as one")?;
    let database = fixture.database.clone();
    database.collection("docs")?.put_raw("a", "{}")?;
    for name in ["t", "V", "docs"] {
        let error = register(&database, name, vec![numbers(0, 1)?]).expect_err("it is taken");
        assert_eq!(error.code(), ErrorCode::Conflict, "{name}: {error}");
    }
    let error = register(&database, "", vec![numbers(0, 1)?]).expect_err("a name is needed");
    assert_eq!(error.code(), ErrorCode::InvalidInput);
    let id: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let twice = RecordBatch::try_from_iter([("id", Arc::clone(&id)), ("ID", id)])?;
    let error = register(&database, "w", vec![twice]).expect_err("columns of one name");
    assert!(error.to_string().contains("\"ID\""), "{error}");
    register(&database, "w", vec![numbers(0, 3)?])?;
    for text in
        ["insert into w values (9, 'x')", "delete from w", "update w set id = 1", "drop table w"]
    {
        let (code, said) = fixture.refused(text)?;
        assert_eq!(code, ErrorCode::Unsupported, "{text}: {said}");
        assert!(said.contains("registered by the program"), "{text}: {said}");
    }
    let (code, _) = fixture.refused("create table w (id int)")?;
    assert_eq!(code, ErrorCode::Conflict);
    assert_eq!(fixture.rows("select count(*) from w")?, [[Value::Integer(3)]]);
    Ok(())
}

/// A list of lists goes through every conversion of lists at once.
#[test]
fn nested_lists_are_narrowed_all_the_way_down() -> Result {
    let mut fixture = Fixture::new("")?;
    let inner = ListArray::from_iter_primitive::<Int32Type, _, _>(vec![
        Some(vec![Some(1)]),
        None,
        Some(vec![]),
    ]);
    let field = Arc::new(arrow_schema::Field::new(
        "item",
        arrow_array::Array::data_type(&inner).clone(),
        true,
    ));
    let offsets = arrow_buffer::OffsetBuffer::from_lengths([2_usize, 1]);
    let outer: ArrayRef = Arc::new(LargeListArray::try_new(field, offsets, Arc::new(inner), None)?);
    register(&fixture.database, "deep", vec![RecordBatch::try_from_iter([("a", outer)])?])?;
    assert_eq!(fixture.json("select a from deep")?, r#"[{"a":[[1],null]},{"a":[[]]}]"#);
    Ok(())
}
