//! Large tables read by several threads: the same rows in the same order as with one, errors at the
//! right place, and a prompt end on interruption.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use folio::{Database, OpenOptions, Session, Value};
use folio_file::{FileSystem, MemoryFileSystem};

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

/// Rows enough for several parts.
const ROWS: i64 = 400_000;

/// Results that show an order, or a sum whose last bits do.
const STATEMENTS: [&str; 22] = [
    "select id from t",
    "select id, name from t order by id",
    "select id from t where n % 1000 = 7",
    "select id, name from t where name like '%99%' and n > 50",
    "select sum(x), avg(x), count(*), min(name) from t",
    "select n % 7, sum(x), array_agg(id) filter (where n % 5000 = 0) from t group by n % 7",
    "select a.id, b.name from t a join t b on b.id = a.n where a.n % 300 = 1",
    "select count(*) from t where x > (select avg(x) from t)",
    "select id from t where n < 0",
    // Columns out of columns, and groups of parts that are put together.
    "select id + n, upper(name) from t where n % 3 = 0",
    "select n % 7, count(*), count(x), sum(id), avg(id), min(name), max(x), bool_and(n > 3), any_value(name),
        sum(n::numeric(9, 2) / 7), bit_or(n) filter (where id > 200000) from t group by n % 7",
    "select count(*), sum(n), min(x), max(name), avg(n::numeric) from t where id % 2 = 0",
    "select n, count(*), min(id) from t group by n",
    "select n % 3, n % 2, grouping(n % 3), sum(id) from t group by grouping sets ((n % 3), (n % 3, n % 2), ())",
    "select id / 1000, id / 100000, max(n) from t group by id / 1000, id / 100000",
    // Joins whose left side is read by several threads.
    "select t.id, k.label from t join kind k on k.id + 0 = t.n % 10 where t.n % 100 = 5",
    "select t.id, k.label from t left join kind k on k.id + 0 = t.n % 20 and k.label > 'k3' where t.n % 50 = 5",
    "select count(*), sum(t.id) from t where t.n % 10 in (select id + 0 from kind where label > 'k5')",
    "select count(*), sum(t.id) from t where t.n % 20 not in (select id + 0 from kind)",
    "select count(*), sum(t.id) from t where not exists (select 1 from kind k where k.id + 0 = t.n % 20)",
    "select k.label, j.label, count(*), sum(t.id) from t join kind k on k.id + 0 = t.n % 10
        join kind j on j.id + 0 = t.id % 10 where k.label <> j.label group by k.label, j.label",
    "select count(*), min(o.label) from t full join kind o on o.id + 5 = t.n % 12",
];

/// Groupings, of which some outgrow a little memory.
const GROUPINGS: [&str; 4] = [
    "select n % 7 as k, count(*), sum(id) from t group by n % 7 order by k",
    "select n, count(*), min(name) from t group by n order by n",
    "select id / 3 as k, count(*), sum(n) from t group by id / 3 order by k",
    "select case when id < 200000 then 0 else id end as k, count(*) from t group by 1 order by k",
];

fn open() -> Result<Session> {
    let files: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    let options = OpenOptions { file_system: Some(files), ..OpenOptions::default() };
    let mut session = Database::open_with("/data", &options)?.session()?;
    let text = format!(
        "create table t (id int primary key, n int, x double precision, name text);
         insert into t select g, g * 7919 % 10007, g / 7.0::float8, 'name ' || g
         from generate_series(1, {ROWS}) as s(g);
         create table kind (id int primary key, label text);
         insert into kind select g, 'k' || g from generate_series(0, 9) as s(g)"
    );
    session.execute(&text, &[])?;
    Ok(session)
}

fn rows(session: &mut Session, text: &str) -> Result<Vec<Vec<Value>>> {
    Ok(session.execute(text, &[])?.rows.ok_or("there are rows")?.collect_rows()?)
}

#[test]
fn answers_are_the_same_with_any_number_of_threads() -> Result {
    let mut session = open()?;
    for text in STATEMENTS {
        // In a transaction a scan is not split.
        session.execute("begin", &[])?;
        let expected = rows(&mut session, text)?;
        session.execute("commit", &[])?;
        for threads in [1, 2, 3, 8] {
            session.set_threads(threads);
            assert!(
                rows(&mut session, text)? == expected,
                "{text}: differs with {threads} threads"
            );
        }
    }
    Ok(())
}

#[test]
fn offset_passes_over_the_first_rows() -> Result {
    let mut session = open()?;
    session.execute("create index by_x on t (x)", &[])?;
    for is_changed in [false, true] {
        if is_changed {
            session.execute("begin; delete from t where id < 9000 and id % 2 = 0", &[])?;
        }
        for text in [
            "select * from t",
            "select id, upper(name) from t order by id desc",
            "select x, name from t order by x",
            "select id, n from t where id > 1000 order by id",
        ] {
            let all = rows(&mut session, text)?;
            for (offset, limit, taken) in [
                (1, "limit 3", 3),
                (4097, "limit (select 3)", 3),
                (70_000, "limit 5000", 5000),
                (all.len() - 10_000, "", all.len()),
                (all.len() - 1, "limit 3", 3),
                (all.len() + 9, "", 1),
            ] {
                let text = format!("{text} {limit} offset {offset}");
                let expected = all.iter().skip(offset).take(taken);
                for threads in [1, 3] {
                    session.set_threads(threads);
                    let found = rows(&mut session, &text)?;
                    assert!(found.iter().eq(expected.clone()), "{text}: {threads} threads");
                }
            }
        }
    }
    Ok(())
}

#[test]
fn groups_of_parts_and_groups_on_files_meet() -> Result {
    let mut session = open()?;
    for text in GROUPINGS {
        session.set_threads(1);
        session.set_work_memory(256 << 20);
        let expected = rows(&mut session, text)?;
        for memory in [1 << 10, 64 << 10, 1 << 20, 4 << 20, 256 << 20] {
            session.set_work_memory(memory);
            for threads in [1, 2, 8] {
                session.set_threads(threads);
                assert!(
                    rows(&mut session, text)? == expected,
                    "{text}: differs with {threads} threads and {memory} bytes"
                );
            }
        }
    }
    Ok(())
}

/// Documents with lists of few texts at first, and of many and of long ones later.
const DOCUMENTS: usize = 120_000;

const OF_DOCUMENTS: [&str; 9] = [
    "select tag, count(*) from (select unnest(tags) as tag from d) t group by tag order by tag",
    "select kind, count(*) from d group by kind order by kind",
    "select kind, tag, count(*), min(n) from d, unnest(tags) as u(tag) group by kind, tag order by 1, 2",
    "select n, tag from d, unnest(tags) as u(tag) where tag > 'b' and n % 100 = 3",
    "select tag, count(*), max(tag), count(distinct kind) from d, unnest(tags) as u(tag)
        where tag <> 'c' group by tag order by tag",
    "select tag, max(array_length(tags, 1)) from d, unnest(tags) as u(tag) group by tag order by tag",
    "select d.n, u.tag from d left join lateral unnest(d.tags) as u(tag) on u.tag < 'b' where d.n % 97 = 0",
    "select count(*), count(tag), sum(place) from d, unnest(tags) with ordinality as u(tag, place)",
    "select upper(tag), count(*) from d, unnest(tags) as u(tag) group by upper(tag) order by 1",
];

#[test]
fn lists_are_unnested_by_the_threads_of_a_scan() -> Result {
    let files: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    let options = OpenOptions { file_system: Some(files), ..OpenOptions::default() };
    let database = Database::open_with("/data", &options)?;
    let mut batch = database.collection("d")?.batch()?;
    for n in 0..DOCUMENTS {
        let tags = match n % 11 {
            0 => "null".to_owned(),
            1 => "[]".to_owned(),
            2 => r#"["a",null,"a"]"#.to_owned(),
            3 if n > DOCUMENTS / 2 => format!(r#"["a text that is long: {}"]"#, n % 5),
            4 if n > DOCUMENTS / 3 => format!(r#"["{}"]"#, n % 1000),
            other => format!(r#"["a","{}","c"]"#, ["b", "\\u0062", "d"][other % 3]),
        };
        let kind = ["x", "y", "one that is longer"][n * 3 / DOCUMENTS];
        batch.put_line(
            format!(r#"{{"_id":"{n}","n":{n},"kind":"{kind}","tags":{tags}}}"#).as_bytes(),
        )?;
    }
    batch.commit()?;
    let mut session = database.session()?;
    for text in OF_DOCUMENTS {
        session.set_threads(1);
        let expected = rows(&mut session, text)?;
        assert!(!expected.is_empty(), "{text}");
        for threads in [2, 3] {
            session.set_threads(threads);
            for memory in [1 << 10, 256 << 20] {
                session.set_work_memory(memory);
                let found = rows(&mut session, text)?;
                assert!(found == expected, "{text}: {threads} threads, {memory} bytes");
            }
        }
    }
    Ok(())
}

/// A join whose right side exceeds memory ends the parallel part of a scan.
#[test]
fn joins_on_files_go_on_above_a_scan_of_several_threads() -> Result {
    let mut session = open()?;
    let text = "select count(*), sum(a.id + b.n + k.id), min(b.name) from t a
        join kind k on k.id + 0 = a.n % 10 join t b on b.id + 0 = a.n where a.id % 3 = 0";
    session.set_threads(1);
    let expected = rows(&mut session, text)?;
    for memory in [64 << 10, 4 << 20, 256 << 20] {
        session.set_work_memory(memory);
        for threads in [1, 3] {
            session.set_threads(threads);
            assert_eq!(rows(&mut session, text)?, expected, "{threads} threads, {memory} bytes");
        }
    }
    Ok(())
}

#[test]
fn an_error_in_a_part_is_the_statements() -> Result {
    let mut session = open()?;
    for (threads, text) in [1, 3].into_iter().flat_map(|threads| {
        [
            "select id from t where 10 / (id - 300000) > 20",
            "select 10 / (id - 300000) from t",
            "select n % 5, sum(10 / (id - 300000)) from t group by n % 5",
            "select t.id from t join kind k on k.id + 0 = t.n % 10 and 10 / (t.id - 300000) < k.id",
            "select sum(id::bigint * 4611686018427387904) from t where id > 300000",
        ]
        .map(|text| (threads, text))
    }) {
        session.set_threads(threads);
        let error = rows(&mut session, text).expect_err("a row that fails").to_string();
        let is_reported = error.contains("division by zero") || error.contains("out of range");
        assert!(is_reported, "{threads} threads, {text}: {error}");
        assert_eq!(rows(&mut session, "select count(*) from t")?, [[Value::Integer(ROWS)]]);
    }
    Ok(())
}

#[test]
fn a_statement_ends_where_it_is_and_so_do_its_threads() -> Result {
    let mut session = open()?;
    session.set_threads(3);
    for polls in [0, 1, 2, 10, 11, 13, 16] {
        let asked = AtomicU64::new(0);
        let is_to_end = move || asked.fetch_add(1, Ordering::Relaxed) >= polls;
        session.set_watch(Some(Arc::new(is_to_end)));
        let text = STATEMENTS[polls as usize % STATEMENTS.len()];
        let error = rows(&mut session, text).expect_err("the statement is to end");
        assert!(error.to_string().contains("cancelled"), "after {polls}: {error}");
        session.set_watch(None);
        assert_eq!(rows(&mut session, "select count(*) from t")?, [[Value::Integer(ROWS)]]);
    }
    Ok(())
}

#[test]
fn rows_may_be_left_lying_and_outlive_the_session() -> Result {
    let mut session = open()?;
    session.set_threads(3);
    for taken in 0..3 {
        let mut some = session.execute(STATEMENTS[0], &[])?.rows.ok_or("there are rows")?;
        for _ in 0..taken {
            assert!(some.next_batch()?.is_some());
        }
    }
    let mut late = session.execute("select id from t", &[])?.rows.ok_or("there are rows")?;
    session.execute("delete from t where id > 10", &[])?;
    assert_eq!(rows(&mut session, "select count(*) from t")?, [[Value::Integer(10)]]);
    drop(session);
    assert_eq!(late.collect_rows()?.len() as i64, ROWS, "as of the moment it began");
    Ok(())
}

#[test]
fn a_transaction_reads_its_own_changes() -> Result {
    let mut session = open()?;
    session.set_threads(3);
    session.execute("begin; update t set n = -1 where id % 2 = 0", &[])?;
    let count = rows(&mut session, "select count(*), sum(n) from t where n = -1")?;
    assert_eq!(count, [[Value::Integer(ROWS / 2), Value::Integer(-ROWS / 2)]]);
    Ok(())
}
