//! Merge joins and grouping by runs: the savings for rows in a known order. Results equal those of
//! tables with keys, to the last bit and in the requested order, wherever runs of equal keys cross
//! batches. Memory use is minimal.

#[path = "../../../conformance/random.rs"]
mod random;

use std::error::Error;
use std::fmt::Write as _;
use std::sync::Arc;

use folio::{Database, ErrorCode, Level, OpenOptions, Session, Value};
use folio_file::{FileSystem, MemoryFileSystem};
use random::Random;

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

/// The lengths of runs of equal keys: single rows, a few, and some over several batches.
const RUNS: [usize; 8] = [1, 1, 1, 2, 3, 40, 4096, 5000];

/// The approximate number of rows of a table.
const ROWS: usize = 15_000;

/// Statements over `a` and `b`, whose primary keys are (k, i), with an index on n, and `u`, whose
/// primary key is k. The expected part of each plan comes first.
const STATEMENTS: [(&str, &str); 41] = [
    ("merge inner", "select u.k, u.x, b.i, b.x from u join b on b.k = u.k"),
    ("merge inner", "select b.k, u.t from b join u on b.k = u.k and u.x > b.x"),
    ("merge left", "select u.k, b.i from u left join b on b.k = u.k"),
    ("merge left", "select u.k, b.i from u left join b on b.k = u.k and b.i % 5 = 0 order by u.k"),
    ("merge right", "select u.k, u.x, b.i from u right join b on b.k = u.k"),
    ("merge right", "select a.k, a.i, u.x from a right join u on a.k = u.k and a.x < 3"),
    ("merge full", "select a.k, a.i, u.k from a full join u on a.k = u.k"),
    (
        "merge full",
        "select a.n, a.i, b.n from (select * from a order by n desc, i desc, k desc) a full join (select * from b order by n desc, i desc, k desc) b on a.n = b.n and a.i = b.i and a.k = b.k where a.k % 7 = 0 or b.k % 7 = 0",
    ),
    ("merge semi", "select k, x from u where exists (select 1 from b where b.k = u.k)"),
    (
        "merge semi",
        "select k, x from u where exists (select 1 from b where b.k = u.k and b.x > u.x)",
    ),
    ("merge anti", "select k, x from u where not exists (select 1 from b where b.k = u.k)"),
    (
        "merge anti",
        "select k from u where not exists (select 1 from b where b.k = u.k and b.x > u.x) order by k",
    ),
    ("merge inner", "select a.k, a.i, a.x, b.x from a join b on b.i = a.i and b.k = a.k"),
    (
        "merge left",
        "select a.k, a.i, a.x, b.x from a left join b on b.i = a.i and b.k = a.k order by a.k, a.i",
    ),
    (
        "merge inner",
        "select u.k, v.k, b.i from u join v on v.k = u.k join b on b.k = v.k order by b.k",
    ),
    (
        "merge inner",
        "select u.k, s.c from u join (select k, count(*) c from b group by k) s on s.k = u.k",
    ),
    (
        "merge inner",
        "select x.t, y.t from (select t, k from u order by t desc) x join (select t, k from v order by t desc) y on x.t = y.t",
    ),
    (
        "merge left",
        "select x.t, x.k, y.k from (select t, k from u order by t nulls first) x left join (select t, k from v order by t nulls last) y on x.t = y.t",
    ),
    (
        "merge inner",
        "select x.d, y.k from (select d, k from u order by d) x join (select d, k from v order by d) y on x.d = y.d and x.k <= y.k",
    ),
    (
        "streaming aggregate",
        "select k, count(*), sum(x), avg(x), stddev(x), min(t), max(n), sum(price) from a group by k",
    ),
    ("streaming aggregate", "select k, sum(x) from a group by k order by k"),
    ("streaming aggregate", "select k, i, count(*), sum(x) from a group by k, i"),
    ("streaming aggregate", "select i, k, max(t) from a group by i, k order by k, i"),
    (
        "streaming aggregate",
        "select k, count(distinct n), sum(distinct price), count(*) filter (where i % 2 = 0) from a group by k",
    ),
    (
        "streaming aggregate",
        "select k, array_agg(x order by n desc, i), string_agg(t, ',' order by i desc) from a where i < 300 group by k",
    ),
    (
        "streaming aggregate",
        "select k, array_agg(n), median(x), bool_and(x > 1), bit_or(n) from a where i < 300 group by k",
    ),
    ("in the order of k", "select k, t, count(*), sum(x) from a group by k, t"),
    ("in the order of k", "select n, k, avg(x) from a group by n, k"),
    (
        "in the order of k",
        "select k, t, array_agg(x order by x, i) from a where i < 300 group by k, t",
    ),
    (
        "streaming aggregate",
        "select u.k, count(*), sum(b.x) from u join b on b.k = u.k group by u.k order by u.k",
    ),
    (
        "streaming aggregate",
        "select bk, count(*), sum(x) from (select b.k bk, u.k uk, b.x x from u join b on b.k = u.k) s group by bk order by bk",
    ),
    ("streaming aggregate", "select i, sum(x) from a where k = 3 group by i"),
    (
        "streaming aggregate",
        "select n, count(*), sum(x) from (select n, x from a order by n desc nulls last) s group by n order by n desc nulls last",
    ),
    (
        "streaming aggregate",
        "select x, count(*) from (select x from a order by x nulls first) s group by x",
    ),
    ("streaming distinct", "select distinct k from a"),
    ("streaming distinct", "select distinct k, i from a order by k, i"),
    ("streaming distinct", "select distinct on (n) n, k, i from a order by n, k desc, i"),
    ("streaming distinct", "select distinct t, n from (select t, n from a order by t, n) s"),
    ("streaming aggregate", "select k, count(*) from a group by k limit 3"),
    ("merge left", "select u.k, a.i from u left join a on a.k = u.k order by u.k limit 10"),
    (
        "streaming aggregate",
        "select k, sum(c) from (select k, i, count(*) c from a group by k, i) s group by k having count(*) > 1",
    ),
];

/// The tables. Without keys, rows come in insertion order, which the optimizer cannot use.
fn open(seed: u64, has_keys: bool) -> Result<Session> {
    let files: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    let options = OpenOptions { file_system: Some(files), ..OpenOptions::default() };
    let mut session = Database::open_with("/data", &options)?.session()?;
    let mut random = Random::new(seed);
    let columns = "n int, x double precision, t text, price numeric(9, 2), d date";
    for (name, key) in [("a", "k, i"), ("b", "k, i"), ("u", "k"), ("v", "k")] {
        let ty = if name == "b" { "bigint" } else { "int" };
        let own = if key == "k" { "" } else { "i int," };
        let key_of = if has_keys { format!(", primary key ({key})") } else { String::new() };
        session.execute(&format!("create table {name} (k {ty}, {own} {columns}{key_of})"), &[])?;
        for rows in rows(&mut random, key == "k").chunks(5000) {
            session.execute(&format!("insert into {name} values {}", rows.join(", ")), &[])?;
        }
    }
    Ok(session)
}

/// Rows in runs of equal keys; single rows if the key has one column.
fn rows(random: &mut Random, is_unique: bool) -> Vec<String> {
    let mut rows = Vec::new();
    let mut key = 0;
    while rows.len() < ROWS {
        // Statements select some of the first.
        key += 1 + if key > 9 && random.once_in(3) { random.below(4) } else { 0 };
        let run = if is_unique { 1 } else { *random.one_of(&RUNS) };
        rows.extend((0..run).map(|i| row(random, key, (!is_unique).then_some(i))));
        // The other keys extend beyond those of the runs.
        if is_unique && rows.len() == ROWS / 3 {
            key += 100_000;
        }
    }
    rows
}

fn row(random: &mut Random, key: usize, i: Option<usize>) -> String {
    let mut text = format!("({key}, ");
    if let Some(i) = i {
        let _ = write!(text, "{i}, ");
    }
    let or_null = |random: &mut Random, value: String| {
        if random.once_in(9) { "null".to_owned() } else { value }
    };
    let n = format!("{}", random.below(3000));
    let n = or_null(random, n);
    let float = ["'nan'", "-0.0", "0.0", "1e300", "-1e300"];
    let x = match random.once_in(12) {
        true => (*random.one_of(&float)).to_owned(),
        false => format!("{}", random.below(1_000_000) as f64 / 7.0 - 50_000.0),
    };
    let x = or_null(random, x);
    let t = format!("'name {}'", random.below(400));
    let t = or_null(random, t);
    let d = format!("date '2000-01-01' + {}", random.below(900));
    let d = or_null(random, d);
    let _ = write!(text, "{n}, {x}::float8, {t}, {}.25, {d})", random.below(5000));
    text
}

fn ask(session: &mut Session, text: &str) -> Result<Vec<Vec<Value>>> {
    Ok(session.execute(text, &[])?.rows.ok_or("there are rows")?.collect_rows()?)
}

/// Rows as text, bit by bit; sorted if the statement has no order.
fn shown(session: &mut Session, text: &str) -> Result<Vec<String>> {
    let mut shown: Vec<String> = ask(session, text)?.iter().map(|row| format!("{row:?}")).collect();
    if !text.rsplit(')').next().unwrap_or_default().contains("order by") {
        shown.sort_unstable();
    }
    Ok(shown)
}

fn plan(session: &mut Session, text: &str) -> Result<String> {
    let lines = ask(session, &format!("explain {text}"))?;
    Ok(lines.iter().map(|line| format!("{:?}\n", line[0])).collect())
}

#[test]
fn answers_are_those_of_tables_by_key() -> Result {
    let seeds = if std::env::var_os("FOLIO_DEEP").is_some() { 20 } else { 1 };
    for seed in 0..seeds {
        let (mut session, mut plain) = (open(seed, true)?, open(seed, false)?);
        for (wanted, text) in STATEMENTS {
            let plan = plan(&mut session, text)?;
            assert!(plan.contains(wanted), "{text}: no {wanted} in\n{plan}");
            let found = shown(&mut session, text)?;
            // Without the optimizer, a subquery runs for every row.
            let level = if text.contains("exists") { Level::Full } else { Level::None };
            plain.set_level(level);
            let expected = shown(&mut plain, text)?;
            assert!(!found.is_empty(), "{text}: there is nothing to compare");
            let first = found.iter().zip(&expected).position(|(one, other)| one != other);
            assert!(
                found == expected,
                "seed {seed}: {text}: {} rows for {}, first {:?}",
                found.len(),
                expected.len(),
                first.map(|at| (&found[at], &expected[at]))
            );
            session.set_work_memory(1);
            assert!(shown(&mut session, text)? == found, "{text}: differs without memory");
            session.set_work_memory(1 << 30);
        }
    }
    Ok(())
}

/// Keys of every type that a key can have merge and form runs; nulls in those of an index.
#[test]
fn keys_of_every_type_are_in_order() -> Result {
    let values = [
        ("smallint", "(g % 300 - 150)::smallint"),
        ("bigint", "g::bigint * 3000000000 - 900000000000"),
        ("numeric(12, 3)", "g * 1.125 - 300"),
        ("text", "chr(97 + g % 26) || g || chr(233)"),
        ("boolean", "g % 2 = 0"),
        (
            "double precision",
            "case g % 7 when 0 then 'nan'::float8 when 1 then -0.0::float8 when 2 then 0.0::float8 else g / 3.0::float8 - 90 end",
        ),
        ("date", "date '1970-01-01' + (g - 250)"),
        ("time", "time '00:00:00' + g * interval '1 minute'"),
        ("timestamp", "timestamp '1969-12-31' + g * interval '1 hour'"),
        ("uuid", "('00000000-0000-0000-0000-' || lpad((g * 7919 % 503)::text, 12, '0'))::uuid"),
        ("bytea", "(chr(1 + g % 91) || g)::bytea"),
    ];
    for (ty, value) in values {
        let files: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
        let options = OpenOptions { file_system: Some(files), ..OpenOptions::default() };
        let mut session = Database::open_with("/data", &options)?.session()?;
        for name in ["p", "q"] {
            let text = format!(
                "create table {name} (k {ty}, n int);
                 insert into {name} select case when g % 11 = 0 then null else {value} end, g
                 from generate_series(1, 500) as s(g)"
            );
            session.execute(&text, &[])?;
        }
        for order in ["asc nulls first", "desc nulls last", "desc nulls first"] {
            let from = |name| format!("(select * from {name} order by k {order})");
            let (p, q) = (from("p"), from("q"));
            for (wanted, text) in [
                ("merge left", format!("select x.n, y.n from {p} x left join {q} y on y.k = x.k")),
                (
                    "merge full",
                    format!("select x.n, y.n from {p} x full join {q} y on y.k = x.k and x.n > 20"),
                ),
                (
                    "streaming aggregate",
                    format!("select k, count(*), sum(n) from {p} x group by k"),
                ),
                ("streaming distinct", format!("select distinct k from {p} x")),
            ] {
                let plan = plan(&mut session, &text)?;
                assert!(plan.contains(wanted), "{text}: no {wanted} in\n{plan}");
                let found = shown(&mut session, &text)?;
                session.set_level(Level::None);
                assert!(found == shown(&mut session, &text)?, "{ty}: {text}");
                session.set_level(Level::Full);
            }
        }
    }
    Ok(())
}

/// Without a sort, a wrong row order shows in the result.
#[test]
fn a_sort_is_dropped_only_where_the_order_is_the_same() -> Result {
    let mut session = open(7, true)?;
    let kept = [
        "select u.k from u left join b on b.k = u.k order by u.k, b.i",
        "select u.k from u right join b on b.k = u.k order by u.k",
        "select k, i from a group by k, i order by i, k",
        "select k, i from a group by k, i order by k desc, i",
        "select k, t from a group by k, t order by k, t",
        "select distinct on (n) n, k from a order by n nulls first, k",
        "select u.k from u join (select n, k from a order by n) s on s.k = u.k order by s.n",
    ];
    for text in kept {
        let plan = plan(&mut session, text)?;
        assert!(plan.contains("sort "), "{text}: no sort in\n{plan}");
    }
    let dropped = [
        "select u.k from u join b on b.k = u.k order by b.k",
        "select k, i, count(*) c from a group by k, i order by k, i, count(*)",
        "select k, x from u where exists (select 1 from b where b.k = u.k) order by k, x",
        "select k, c from (select k, count(*) c from a group by k order by k) s order by k",
        "select i, n from a where k = 3 order by k desc, i",
    ];
    for text in dropped {
        let plan = plan(&mut session, text)?;
        assert!(!plan.contains("sort "), "{text}: a sort in\n{plan}");
    }
    Ok(())
}

/// Input read in two orders is scanned once for each; small or repeated input uses hashing.
#[test]
fn orders_are_used_where_they_are_worth_it() -> Result {
    let mut session = open(3, true)?;
    session
        .execute("create table s (k int primary key, n int); insert into s values (1, 2)", &[])?;
    for (text, unwanted) in [
        // Few rows are looked up.
        ("select * from u join s on s.k = u.k", "merge"),
        // Run for every outer row.
        ("select (select count(*) from u x join v y on y.k = x.k where x.n = u.n) from u", "merge"),
        // Null equals null here.
        ("select * from u join v on v.k is not distinct from u.k", "merge"),
        ("select k from u where k not in (select k from v)", "merge"),
        // One side descends.
        ("select * from (select * from u order by k desc) x join v on v.k = x.k", "merge"),
        // A key of the join is not part of the order.
        ("select * from u join v on v.k = u.k and v.n = u.n", "merge"),
        ("select i, count(*) from a group by i", "streaming"),
        ("select k % 2, count(*) from a group by k % 2", "streaming"),
        ("select distinct k, t from a", "streaming"),
        ("select k, i, count(*) from a group by rollup (k, i)", "streaming"),
    ] {
        let plan = plan(&mut session, text)?;
        assert!(!plan.contains(unwanted), "{text}: {unwanted} in\n{plan}");
    }
    Ok(())
}

#[test]
fn an_interrupt_ends_a_merge_and_a_run() -> Result {
    let mut session = open(5, true)?;
    let statements = [
        "select count(*) from a join u on u.k = a.k and u.x > a.x",
        "select k, count(*), count(distinct x) from a group by k",
    ];
    for text in statements {
        let whole = ask(&mut session, text)?.len();
        for _ in 0..3 {
            let mut rows = session.execute(text, &[])?.rows.ok_or("rows")?;
            session.interrupt().store(true, std::sync::atomic::Ordering::Relaxed);
            let ended = rows.collect_rows().expect_err("it was interrupted");
            assert_eq!(ended.code(), ErrorCode::Cancelled, "{text}");
            drop(rows);
        }
        assert_eq!(ask(&mut session, text)?.len(), whole, "{text}");
    }
    Ok(())
}
