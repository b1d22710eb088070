//! Statements that exceed their memory limit. Sorts, groupings, joins and DISTINCT that spill to
//! files give the same result as in memory, leave no file, can be interrupted anywhere, and report
//! a failing disk.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use folio::{Database, ErrorCode, OpenOptions, Session, Value};
use folio_file::{Fault, FaultKind, FileSystem, MemoryFileSystem, Operation};

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

/// A memory limit that holds everything here, and one that holds almost nothing.
const PLENTY: usize = 1 << 30;
const LITTLE: usize = 20_000;

const ROWS: &str = "
    create table t (id int primary key, name text, shade text, n bigint, price numeric(10, 2),
        x double precision, day date, flags boolean);
    insert into t select g, case when g % 11 = 0 then null else 'name ' || g * 7919 % 6007 end,
        case g % 4 when 0 then '' when 1 then 'red' when 2 then 'green' end,
        case when g % 13 = 0 then null else g * 104729 % 9973 - 5000 end, g % 977 / 10.0,
        case g % 9 when 0 then null when 1 then 'nan'::float8 when 2 then -0.0::float8 else g::float8 / 8 end,
        date '2000-01-01' + g % 3000, g % 3 = 0
        from generate_series(1, 20000) as s(g)";

/// Every kind of key and of aggregate, with the number of rows, which shows that the statement does
/// something.
const STATEMENTS: [(&str, usize); 30] = [
    ("select n, count(*) from t group by n", 9974),
    ("select name, count(*), count(n), sum(n), avg(n), min(x), max(x) from t group by name", 6008),
    ("select name, min(shade), max(name), min(day), max(price) from t group by name", 6008),
    ("select n, shade, sum(price), avg(x), stddev(x), variance(n) from t group by n, shade", 18466),
    ("select name, count(distinct shade), count(distinct n) from t group by name", 6008),
    ("select x, count(*), bool_and(flags), bool_or(flags) from t group by x", 13335),
    ("select id + 1, price, min(flags), median(n), bit_or(n) from t group by id + 1, price", 20000),
    (
        "select name, count(*) filter (where n > 0), sum(n) filter (where flags) from t group by name",
        6008,
    ),
    ("select n % 5000, name from t group by n % 5000, name having count(*) > 0", 19862),
    ("select shade, day, n, count(*) from t group by grouping sets ((shade, day), (n), ())", 12975),
    ("select day, array_agg(id order by id) from t group by day", 3000),
    ("select * from t order by name, n desc, id", 20000),
    ("select id from t order by x desc nulls last, shade nulls first, id", 20000),
    ("select name, price from t order by price desc, name, id", 20000),
    ("select id, name from t order by flags, day desc, id desc offset 19000", 1000),
    ("select n, count(*) from t group by n order by count(*) desc, n", 9974),
    ("select id, name from t order by name, id limit 300000", 20000),
    ("select a.id, b.id from t a join t b on b.n = a.n and b.shade = a.shade", 13846),
    ("select a.id, b.name from t a left join t b on b.name = a.name and b.n > a.n", 25808),
    ("select a.id, b.id from t a right join t b on b.n = a.n and a.flags", 20000),
    ("select a.id, b.id from t a full join t b on b.n = a.id and b.shade = a.shade", 38253),
    (
        "select a.id, b.id from t a join t b on a.n is not distinct from b.n and a.name is not distinct from b.name",
        39182,
    ),
    ("select id from t a where exists (select 1 from t b where b.n = a.id and b.flags)", 3054),
    ("select id from t a where not exists (select 1 from t b where b.n = a.id)", 15028),
    ("select distinct name, shade, n from t", 19865),
    ("select distinct on (n) n, id from t order by n, id desc", 9974),
    ("select name, n from t union select shade, n from t", 37519),
    ("select n, day from t intersect select n + 1, day from t", 1538),
    ("select name, shade from t intersect select name, shade from t where flags", 6064),
    ("select name, n from t except select name, n from t where not flags", 6620),
];

fn open(files: &MemoryFileSystem) -> Result<Session> {
    let files: Arc<dyn FileSystem> = Arc::new(files.clone());
    let options = OpenOptions { file_system: Some(files), ..OpenOptions::default() };
    let mut session = Database::open_with("/data", &options)?.session()?;
    session.execute(ROWS, &[])?;
    Ok(session)
}

fn rows(session: &mut Session, text: &str) -> Result<Vec<Vec<Value>>> {
    Ok(session.execute(text, &[])?.rows.ok_or("there are rows")?.collect_rows()?)
}

/// The rows of a statement as text, sorted if the statement has no order.
fn shown(session: &mut Session, text: &str) -> Result<Vec<String>> {
    let mut shown: Vec<String> =
        rows(session, text)?.iter().map(|row| format!("{row:?}")).collect();
    if !text.contains("order by") || text.contains("array_agg") {
        shown.sort_unstable();
    }
    Ok(shown)
}

fn spill_files(files: &MemoryFileSystem) -> usize {
    let is_spill = |path: &&std::path::PathBuf| path.to_string_lossy().contains("folio-spill");
    files.paths().iter().filter(is_spill).count()
}

#[test]
fn answers_are_the_same_with_little_memory() -> Result {
    let files = MemoryFileSystem::new();
    let mut session = open(&files)?;
    for (text, count) in STATEMENTS {
        session.set_work_memory(PLENTY);
        let before = files.call_count(Operation::Write);
        let expected = shown(&mut session, text)?;
        assert_eq!(files.call_count(Operation::Write), before, "{text}: memory was enough");
        assert_eq!(expected.len(), count, "{text}");
        session.set_work_memory(LITTLE);
        let found = shown(&mut session, text)?;
        let wrote = files.call_count(Operation::Write) > before;
        assert_eq!(wrote, !text.contains("array_agg"), "{text}: whether it spilled");
        assert!(expected == found, "{text}: differs with little memory");
        assert_eq!(spill_files(&files), 0, "{text}: leaves a file");
    }
    Ok(())
}

/// A sort is removed if rows already come in key order, also through a join. But a partitioned join
/// returned its parts one after the other.
#[test]
fn rows_keep_the_order_of_a_key_through_joins() -> Result {
    let files = MemoryFileSystem::new();
    let mut session = open(&files)?;
    let statements = [
        "select a.id from t a left join t b on b.n = a.n order by a.id",
        "select a.id from t a left join t b on b.name = a.name and b.n > a.n order by a.id desc",
        "select id from t a where exists (select 1 from t b where b.n = a.id) order by id",
        "select id from t a where not exists (select 1 from t b where b.n = a.id) order by id desc",
        "select a.id, b.id from t a left join t b on b.n = a.n order by a.id limit 900",
    ];
    for text in statements {
        session.set_work_memory(PLENTY);
        let expected = rows(&mut session, text)?;
        session.set_work_memory(LITTLE);
        let ids = |rows: &[Vec<Value>]| rows.iter().map(|row| row[0].clone()).collect::<Vec<_>>();
        assert!(ids(&expected) == ids(&rows(&mut session, text)?), "{text}");
    }
    Ok(())
}

#[test]
fn an_interrupt_anywhere_in_a_spilling_statement_leaves_a_usable_session() -> Result {
    let files = MemoryFileSystem::new();
    let mut session = open(&files)?;
    for (text, _) in [1, 3, 11, 18, 24].map(|number| STATEMENTS[number]) {
        for memory in [LITTLE, PLENTY] {
            session.set_work_memory(memory);
            let mut ended = 0;
            for polls in [0, 1, 3, 6, 10, 20, 40, 80, 160, 320, 640, u64::MAX] {
                let asked = AtomicU64::new(0);
                session.set_watch(Some(Arc::new(move || {
                    asked.fetch_add(1, Ordering::Relaxed) >= polls
                })));
                match rows(&mut session, text) {
                    Ok(_) => break,
                    Err(error) => {
                        let error = error.to_string();
                        assert!(error.contains("cancelled"), "{text} after {polls}: {error}");
                        ended += 1;
                    }
                }
                session.set_watch(None);
                let count = rows(&mut session, "select count(*) from t where n >= -5000")?;
                assert_eq!(count, [[Value::Integer(18462)]], "{text} after {polls}");
                assert_eq!(spill_files(&files), 0, "{text} after {polls}");
            }
            session.set_watch(None);
            assert!(ended >= 4, "{text}: ended {ended} times");
        }
    }
    session.execute("update t set n = 0 where id = 1", &[])?;
    Ok(())
}

#[test]
fn a_disk_that_fails_fails_the_statement_alone() -> Result {
    let files = MemoryFileSystem::new();
    let mut session = open(&files)?;
    session.set_work_memory(LITTLE);
    for (text, _) in [1, 11, 18, 24].map(|number| STATEMENTS[number]) {
        let whole = shown(&mut session, text)?;
        let cases = [
            (Operation::Create, FaultKind::Eio, 0),
            (Operation::Write, FaultKind::Enospc, 0),
            (Operation::Write, FaultKind::Enospc, 7),
            (Operation::Write, FaultKind::ShortWrite { bytes: 100 }, 3),
            (Operation::Read, FaultKind::Eio, 0),
            (Operation::Read, FaultKind::Eio, 9),
        ];
        for (operation, kind, after) in cases {
            files.inject(Fault::next(operation, kind).after(after).on("folio-spill"));
            let answer = session.execute(text, &[])?.rows.ok_or("rows")?.collect_rows();
            let error = answer.expect_err("the disk failed");
            assert_eq!(error.code(), ErrorCode::Io, "{operation:?} {kind:?}: {error}");
            files.clear_faults();
            assert_eq!(spill_files(&files), 0, "{operation:?} {kind:?}");
            assert!(shown(&mut session, text)? == whole, "{operation:?} {kind:?}: what comes next");
        }
    }
    Ok(())
}

#[test]
fn a_handle_that_only_reads_spills_elsewhere() -> Result {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("data");
    Database::open(&path)?.session()?.execute(ROWS, &[])?;
    let mut session = Database::open_with(&path, &OpenOptions::read_only())?.session()?;
    let whole = shown(&mut session, STATEMENTS[1].0)?;
    session.set_work_memory(LITTLE);
    assert!(shown(&mut session, STATEMENTS[1].0)? == whole);
    Ok(())
}

/// The peak memory of this process, in MiB.
fn peak_memory() -> Result<usize> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).ok_or("VmHWM")?;
    Ok(line.split_whitespace().nth(1).ok_or("a number")?.parse::<usize>()? / 1024)
}

#[test]
#[ignore = "ten million rows: run it alone, it looks at the memory of the process"]
fn ten_million_rows_stay_within_a_gigabyte() -> Result {
    let folder = tempfile::tempdir()?;
    let options = OpenOptions { synchronous: folio::Synchronous::Off, ..OpenOptions::default() };
    let mut session = Database::open_with(folder.path().join("data"), &options)?.session()?;
    session.execute("create table big (id int primary key, name text, n bigint)", &[])?;
    for part in 0..20 {
        let text = format!(
            "insert into big select g, 'name ' || g::bigint * 7919 % 10000019, g * 31 % 1000
             from generate_series({} * 500000 + 1, {part} * 500000 + 500000) as s(g)",
            part
        );
        session.execute(&text, &[])?;
    }
    println!("loaded: {} MiB", peak_memory()?);
    for text in [
        "select count(*), max(n), sum(s) from (select name, max(n) n, sum(n) s from big group by name) x",
        "select count(*), max(c), sum(i) from (select id, count(*) c, max(name) m, sum(n) i from big group by id) x",
        "select count(*), max(c), sum(i) from (select id + 1, count(*) c, max(name) m, sum(n) i from big group by id + 1) x",
        "select count(*), sum(a.n), max(b.name) from big a join big b on b.id = a.id",
        "select max(name), min(name), count(*) from big",
        "select n, max(name), min(name) from big group by n order by n limit 1",
        "select * from big order by name",
        "select id from big order by n desc, id",
        "select count(*), sum(a.n), max(b.id) from big a join big b on b.name = a.name",
        "select count(*) from (select distinct name, n from big) x",
    ] {
        let started = std::time::Instant::now();
        let mut answer = session.execute(text, &[])?.rows.ok_or("rows")?;
        let (mut count, mut first) = (0, None);
        while let Some(batch) = answer.next_batch()? {
            count += batch.row_count;
            first.get_or_insert(batch.slice(0, 1));
        }
        println!(
            "{:6.2} s {:5} MiB {count:8} rows: {text}",
            started.elapsed().as_secs_f64(),
            peak_memory()?
        );
        assert!(peak_memory()? < 1024, "{text}: {} MiB", peak_memory()?);
    }
    Ok(())
}
