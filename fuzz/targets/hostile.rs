//! Hostile statements: short recipes for texts that nest, widen or repeat without end. Each
//! is answered or refused in little time, on a thread with little stack.
//!
//! The bytes are the draws of the generator, and seed what is drawn behind them, so that a
//! number is a statement too.

use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use folio::{ErrorCode, Session};
use folio_file::MemoryFileSystem;
use xxhash_rust::xxh3::xxh3_64;

use super::open;

/// The stack of a thread that asks for little.
const STACK_SIZE: usize = 512 << 10;

/// What a statement may take in an optimized build on an idle machine.
const TIME_MAX: Duration = Duration::from_secs(2);

/// Longer texts are no small ones.
const TEXT_SIZE_MAX: usize = 4 << 20;

/// How much slower this build may be: `FOLIO_FACTOR`.
fn factor() -> u32 {
    std::env::var("FOLIO_FACTOR").ok().and_then(|text| text.parse().ok()).unwrap_or(10)
}

/// What opens a level, and what closes it.
const SQL_LEVELS: [(&str, &str); 30] = [
    ("(", ")"),
    ("- ", ""),
    ("not ", ""),
    ("abs(", ")"),
    ("coalesce(null, ", ", 1)"),
    ("case when ", " then 1 else 2 end"),
    ("case 1 when ", " then 1 end"),
    ("array[", "]"),
    ("row(", ")"),
    ("(select ", ")"),
    ("exists (select ", ")"),
    ("1 in (select ", ")"),
    ("1 in (", ", 2)"),
    ("1 = any (select ", ")"),
    ("array(select ", ")"),
    ("cast(", " as int)"),
    ("1 + (", ") * 2"),
    ("(x = ", ") "),
    ("'a' || ", " || 'b'"),
    ("(1, ", ") = (1, 2)"),
    ("(select max(x) from t0 where x = ", ")"),
    ("(select x from (select ", " as x) d)"),
    ("(with w as (select ", " as x) select x from w)"),
    ("sum(", ") over ()"),
    ("1 between ", " and 2"),
    ("(1 is distinct from ", ")"),
    ("to_json(", ")"),
    ("(select count(*) from t0 where exists (select ", "))"),
    ("nullif(", ", 3)"),
    ("(select x from t0 union select ", ")"),
];

/// What follows a first operand, again and again.
const SQL_STEPS: [&str; 16] = [
    " + 1",
    "::int",
    " or x = 1",
    " and x <> 2",
    " || 'a'",
    " is null",
    " = 1",
    " * x",
    "[1]",
    " -> 0",
    " collate \"C\"",
    " in (1, 2)",
    " between 1 and 2",
    " union select 1",
    " union all select 1",
    " except select 1",
];

/// Items of a list.
const SQL_ITEMS: [&str; 12] = [
    "1",
    "x",
    "x + 1",
    "'a'",
    "(select 1)",
    "case when x = 1 then 2 end",
    "sum(x) over ()",
    "array[1]",
    "null",
    "x = 1",
    "not true",
    "(1)",
];

/// Where a list stands.
const SQL_LISTS: [(&str, &str, &str); 12] = [
    ("select ", ", ", " from t0"),
    ("select x from t0 order by ", ", ", ""),
    ("select count(*) from t0 group by ", ", ", ""),
    ("select count(*) from t0 where ", " and ", ""),
    ("select count(*) from t0 where ", " or ", ""),
    ("select count(*) from t0 where x in (", ", ", ")"),
    ("select coalesce(", ", ", ")"),
    ("select concat(", ", ", ") from t0"),
    ("values (", "), (", ")"),
    ("select array[", ", ", "] from t0"),
    ("select 1 from t0 where x = 1 and not (", " or ", ")"),
    ("select count(*) from (select 1 as x union all select ", " union all select ", ") d"),
];

const SQL_GROUPS: [&str; 4] = ["rollup(x, y)", "cube(x, y)", "grouping sets ((x), (y), ())", "x"];

/// Bodies that read the name before them.
const SQL_NAMED: [&str; 10] = [
    "select x from {}",
    "select a.x from {} a, {} b",
    "select x from {} union select x from {}",
    "select (select x from {}) as x",
    "select (select max(x) from {}) + (select min(x) from {}) as x",
    "select x from {} where x in (select x from {})",
    "select x + x as x from {}",
    "select a.x from {} a join {} b on a.x = b.x where a.x > 0",
    "select x from {} order by x limit 1",
    "select x from {} where exists (select 1 from {} i where i.x = {}.x)",
];

const ZIQL_LEVELS: [(&str, &str); 8] = [
    ("(", ")"),
    ("NOT ", ""),
    ("best = {", "}"),
    ("friends IN {", "}"),
    ("age = - ", ""),
    ("NOT (", " AND age = 1)"),
    ("(age = 1 OR ", ")"),
    ("best = {name = 'a' AND ", "}"),
];

const ZIQL_TERMS: [&str; 6] =
    ["age = 1", "best.age = 1", "name LIKE 'a'", "age IN [1, 2]", "friends IN {age = 1}", "1 = 1"];

/// Draws numbers from bytes, and goes on without end.
struct Draws<'b> {
    bytes: &'b [u8],
    state: u64,
}

impl Draws<'_> {
    fn below(&mut self, end: usize) -> usize {
        if let Some((first, rest)) = self.bytes.split_first().filter(|_| self.bytes.len() > 8) {
            self.bytes = rest;
            return usize::from(*first) % end;
        }
        // SplitMix64.
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % end as u64) as usize
    }

    fn one<'t, T: ?Sized>(&mut self, all: &'t [&'t T]) -> &'t T {
        all[self.below(all.len())]
    }

    /// How deep, wide or often.
    fn count(&mut self) -> usize {
        let scale = [10, 30, 100, 300, 1_000, 3_000, 10_000, 40_000][self.below(8)];
        scale - self.below(scale / 2)
    }
}

/// A statement, and whether it is ZiQL.
pub(crate) fn statement(bytes: &[u8]) -> (bool, String) {
    let mut draws = Draws { bytes, state: xxh3_64(bytes) };
    let is_ziql = draws.below(4) == 0;
    let mut text = if is_ziql { ziql(&mut draws) } else { sql(&mut draws) };
    if text.len() > TEXT_SIZE_MAX {
        let end = (0..=TEXT_SIZE_MAX).rev().find(|end| text.is_char_boundary(*end));
        text.truncate(end.unwrap_or(0));
    }
    (is_ziql, text)
}

fn sql(draws: &mut Draws<'_>) -> String {
    match draws.below(6) {
        0 | 1 => {
            let kinds: Vec<_> =
                (0..=draws.below(3)).map(|_| SQL_LEVELS[draws.below(SQL_LEVELS.len())]).collect();
            format!("select {} from t0", nested(&kinds, "x", draws.count()))
        }
        2 => {
            let steps: Vec<&str> = (0..=draws.below(2)).map(|_| draws.one(&SQL_STEPS)).collect();
            let count = draws.count();
            let chain: String = steps.iter().cycle().take(count).copied().collect();
            format!("select {}{chain} from t0", draws.one(&SQL_ITEMS))
        }
        3 => {
            let (before, between, after) = SQL_LISTS[draws.below(SQL_LISTS.len())];
            let items: Vec<&str> = (0..=draws.below(2)).map(|_| draws.one(&SQL_ITEMS)).collect();
            let count = draws.count();
            let items: Vec<&str> = items.iter().cycle().take(count).copied().collect();
            format!("{before}{}{after}", items.join(between))
        }
        4 => {
            let (body, count) = (draws.one(&SQL_NAMED), draws.count().min(2_000));
            let names: String = (1..=count)
                .map(|n| format!(", c{n} as ({})", body.replace("{}", &format!("c{}", n - 1))))
                .collect();
            format!("with c0 as (select x from t0){names} select count(*) from c{count}")
        }
        _ => match draws.below(3) {
            0 => {
                let groups = vec![draws.one(&SQL_GROUPS); draws.count()];
                format!("select count(*) from t0 group by {}", groups.join(", "))
            }
            1 => {
                let (count, join) =
                    (draws.count(), draws.one(&[" cross join t0 b", " left join t0 b"]));
                let on = if join.contains("left") { " on true" } else { "" };
                let joins: String = (0..count).map(|n| format!("{join}{n}{on}")).collect();
                format!("select count(*) from t0{joins}")
            }
            _ => {
                let count = draws.count();
                let open = "select * from (".repeat(count);
                format!("{open}select x from t0{}", ") d".repeat(count))
            }
        },
    }
}

fn ziql(draws: &mut Draws<'_>) -> String {
    let term = draws.one(&ZIQL_TERMS);
    match draws.below(4) {
        0 | 1 => {
            let kinds: Vec<_> =
                (0..=draws.below(2)).map(|_| ZIQL_LEVELS[draws.below(ZIQL_LEVELS.len())]).collect();
            format!("GRAB P {{{}}}", nested(&kinds, term, draws.count()))
        }
        2 => {
            let between = draws.one(&[" AND ", " OR "]);
            format!("GRAB P {{{}}}", vec![term; draws.count()].join(between))
        }
        _ => match draws.below(4) {
            0 => format!("GRAB P {}", nested(&[("[best ", "]")], "[name]", draws.count())),
            1 => format!("GRAB P {{age IN [{}]}}", vec!["1"; draws.count()].join(", ")),
            2 => format!("GRAB P {{age = 1{}}}", " + 1".repeat(draws.count())),
            _ => "GRAB P {age = 1}; ".repeat(draws.count()),
        },
    }
}

fn nested(kinds: &[(&str, &str)], inner: &str, count: usize) -> String {
    let levels = || kinds.iter().cycle().take(count);
    let open: String = levels().map(|(open, _)| *open).collect();
    let mut close: Vec<&str> = levels().map(|(_, close)| *close).collect();
    close.reverse();
    format!("{open}{inner}{}", close.concat())
}

fn database() -> &'static MemoryFileSystem {
    static FILES: OnceLock<MemoryFileSystem> = OnceLock::new();
    FILES.get_or_init(|| {
        let files = MemoryFileSystem::new();
        let database = open(&files).unwrap();
        let schema = "P ( name: str, age: int = 0, best: P?, friends: []P )";
        database.apply_schema(schema, false).unwrap();
        let mut session = database.session().unwrap();
        for text in ["create table t0 (x int primary key, y int)", "insert into t0 values (1, 1)"] {
            session.execute(text, &[]).unwrap();
        }
        database.close().unwrap();
        files
    })
}

pub(super) fn hostile(bytes: &[u8]) {
    let (is_ziql, text) = statement(bytes);
    let files = database().kill();
    let database = open(&files).unwrap();
    let mut session = database.session().unwrap();
    let limit = TIME_MAX * factor();
    session.set_timeout(Some(limit));
    let begun = Instant::now();
    let said = thread::scope(|scope| {
        let run = || answer(&mut session, is_ziql, &text);
        thread::Builder::new().stack_size(STACK_SIZE).spawn_scoped(scope, run).unwrap().join()
    });
    let (said, took) = (said.unwrap(), begun.elapsed());
    let shown: String = text.chars().take(200).collect();
    if std::env::var_os("FOLIO_SEED").is_some() {
        println!("{took:?} for {} bytes: {shown}\n{said:?}", text.len());
    }
    assert!(took < limit, "{took:?} for {} bytes: {shown}", text.len());
    if let Err((code, said)) = said {
        assert_ne!(code, ErrorCode::Timeout, "{said}: {shown}");
        assert!(said.len() < 2_000, "{} bytes are said about: {shown}", said.len());
    }
}

fn answer(session: &mut Session, is_ziql: bool, text: &str) -> Result<(), (ErrorCode, String)> {
    let mut run = || -> folio::Result<()> {
        let rows = match is_ziql {
            true => Some(session.ziql(text, &[])?),
            false => session.execute(text, &[])?.rows,
        };
        if let Some(mut rows) = rows {
            rows.collect_rows()?;
        }
        Ok(())
    };
    run().map_err(|error| (error.code(), error.to_string()))
}
