//! Hostile statements: short texts that nest, repeat or widen without end. Each runs or is refused
//! with a specific error, quickly and on a thread with a small stack. `inputs.rs` has generated
//! statements.

use std::error::Error;
use std::time::{Duration, Instant};

use folio::{Database, Session};
use tempfile::TempDir;

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

/// A small thread stack.
const STACK_SIZE: usize = 512 << 10;

/// The time limit of a statement: two seconds in an optimized build on an idle machine, times ten
/// for any machine.
const TIME_MAX: Duration = Duration::from_secs(20);

/// How a statement ends.
#[derive(Clone, Copy)]
enum End {
    Answered,
    /// With an error that reports the limit.
    Refused(&'static str),
}

use End::{Answered, Refused};

const DEEP: End = Refused("nests too deep");

struct Case {
    name: String,
    text: String,
    end: End,
}

/// Cases of one language.
#[derive(Default)]
struct Cases(Vec<Case>);

impl Cases {
    fn add(&mut self, name: &str, count: usize, end: End, text: String) {
        self.0.push(Case { name: format!("{name} {count}"), text, end });
    }

    /// Nested levels.
    fn nested(&mut self, counts: &[usize], end: End, (open, inner, close): (&str, &str, &str)) {
        for count in counts {
            let text = format!("select {}{inner}{}", open.repeat(*count), close.repeat(*count));
            self.add(open, *count, end, text);
        }
    }

    /// Consecutive steps.
    fn chained(&mut self, counts: &[usize], end: End, (first, step): (&str, &str)) {
        for count in counts {
            self.add(step, *count, end, format!("{first}{}", step.repeat(*count)));
        }
    }

    /// Names in WITH, each of which reads the previous one.
    fn named(&mut self, counts: &[usize], end: End, body: &str) {
        for count in counts {
            let names: String = (1..=*count)
                .map(|n| format!(", c{n} as ({})", body.replace("{}", &format!("c{}", n - 1))))
                .collect();
            let text = format!("with c0 as (select 1 as x){names} select count(*) from c{count}");
            self.add(body, *count, end, text);
        }
    }

    /// Items of a list.
    fn wide(
        &mut self,
        count: usize,
        end: End,
        (before, item, between, after): (&str, &str, &str, &str),
    ) {
        let items: Vec<String> =
            (0..count).map(|number| item.replace("{}", &number.to_string())).collect();
        self.add(before, count, end, format!("{before}{}{after}", items.join(between)));
    }
}

/// Depth.
fn deep() -> Cases {
    let mut cases = Cases::default();
    cases.nested(&[100, 400, 10_000], Answered, ("(", "1", ")"));
    cases.nested(&[100, 400, 10_000], Answered, ("- ", "1", ""));
    cases.nested(&[100, 400], Answered, ("case when true then ", "1", " end"));
    cases.nested(&[10_000], DEEP, ("case when true then ", "1", " end"));
    cases.nested(&[30], Answered, ("array[", "1", "]"));
    cases.nested(&[100, 640, 10_000], DEEP, ("array[", "1", "]"));
    cases.nested(&[30], Answered, ("row(", "1", ")"));
    cases.nested(&[100, 2_000, 10_000], DEEP, ("row(", "1", ")"));
    cases.nested(&[100, 1_000], Answered, ("coalesce(null, ", "1", ")"));
    cases.nested(&[10_000], DEEP, ("coalesce(null, ", "1", ")"));
    cases.nested(&[100, 400], Answered, ("(select ", "1", ")"));
    cases.nested(&[3_000, 10_000], DEEP, ("(select ", "1", ")"));
    cases.nested(&[100, 400], Answered, ("exists (select ", "1", ")"));
    cases.nested(&[3_000], DEEP, ("exists (select ", "1", ")"));
    cases.nested(&[100, 1_000], Answered, ("1 + (", "1", ")"));
    cases.chained(&[100, 400, 10_000], Answered, ("select 1", "::int"));
    cases.chained(&[35_000], Answered, ("select true", "::int"));
    cases.chained(&[100, 10_000], Answered, ("select 1 ", "is null "));
    cases.chained(&[100], Answered, ("select 1 ", "isnull "));
    cases.chained(&[10_000], DEEP, ("select 1 ", "isnull "));
    let deep = ("1 in ((select max(x) from t0 where x = ", "x", "), 2)");
    cases.nested(&[1_600], DEEP, deep);
    cases.nested(&[9_000], Answered, ("1 * (1 - (", "1", "))"));
    cases.chained(&[100, 10_000], Answered, ("select '[]'::json", " -> 0"));
    cases.chained(&[100, 10_000], DEEP, ("select null::int", "[]"));
    cases.chained(&[100, 1_000, 10_000], Answered, ("select 1", " union select 1"));
    cases.named(&[100, 300, 800], Answered, "select * from {}");
    cases.named(&[10_000], DEEP, "select * from {}");
    for (count, end) in [(100, Answered), (1_000, Answered), (10_000, DEEP)] {
        let text = format!("{}select 1{}", "select * from (".repeat(count), ") x".repeat(count));
        cases.add("from", count, end, text);
    }
    for (count, end) in [(30, Answered), (1_000, DEEP), (5_000, DEEP)] {
        let (open, close) = ("with a as (".repeat(count), ") select * from a".repeat(count));
        cases.add("with within with", count, end, format!("{open}select 1 as x{close}"));
        let (open, close) = ("1 in (select (with w as (select not ", " as x) select 1 from w))");
        cases.nested(&[count], end, (open, "true", close));
    }
    cases
}

/// Repetition.
fn repeated() -> Cases {
    let mut cases = Cases::default();
    for body in [
        "select a.x from {} a, {} b",
        "select x from {} union select x from {}",
        "select (select x from {}) + (select x from {}) as x",
        "select x from {} where x in (select x from {})",
    ] {
        cases.named(&[16, 18, 24, 200], Answered, body);
    }
    cases.add("views", 24, Answered, "select count(*) from v24".to_owned());
    let from = "select count(*) from (select 1 a, 2 b, 3 c) t group by ";
    for group in ["rollup(a, b, c)", "cube(a, b, c)"] {
        for (count, end) in [(2, Answered), (4, Answered), (10, Refused("more than 4096"))] {
            cases.wide(count, end, (from, group, ", ", ""));
        }
    }
    cases.wide(13, Refused("more than 4096"), ("select 1 from t0 group by cube(", "x", ", ", ")"));
    cases.wide(
        5_000,
        Refused("more than 4096"),
        ("select 1 from t0 group by rollup(", "x", ", ", ")"),
    );
    cases.wide(200, Answered, ("select count(*) from t0 a, ", "t0 b{}", ", ", ""));
    cases.wide(400, Refused("tables in FROM"), ("select count(*) from t0 a, ", "t0 b{}", ", ", ""));
    cases
}

/// Width.
fn wide() -> Cases {
    let mut cases = Cases::default();
    let count_where = "select count(*) from t0 where ";
    let many = Refused("more than");
    cases.wide(10_000, Answered, (count_where, "x <> {}", " and ", ""));
    cases.wide(10_000, Answered, (count_where, "x = {}", " or ", ""));
    cases.wide(40_000, Refused("nests too deep"), (count_where, "x = {}", " or ", ""));
    let in_list = "select count(*) from t0 where x in (";
    cases.wide(40_000, Answered, (in_list, "{}", ", ", ")"));
    cases.wide(10_000, DEEP, ("select case ", "when x = {} then {}", " ", " end from t0"));
    cases.wide(40_000, Answered, ("select ", "x + {}", ", ", " from t0"));
    cases.wide(1_000, Answered, ("select x from t0 order by ", "x + {}", ", ", ""));
    cases.wide(10_000, many, ("select x from t0 order by ", "x + {}", ", ", ""));
    let long = format!("x + {}{{}}", "0".repeat(1_000));
    cases.wide(10_000, many, ("select x from t0 order by ", &long, ", ", ""));
    cases.wide(10_000, many, ("select count(*) from t0 group by ", "x + {}", ", ", ""));
    cases.wide(10_000, many, ("select ", "sum(x) over (order by x + {})", ", ", " from t0"));
    cases.wide(5_000, Answered, ("select ", "sum(x + {})", ", ", " from t0"));
    cases.wide(40_000, many, ("select ", "sum(x + {})", ", ", " from t0"));
    cases.wide(10_000, Answered, ("select ", "(select 1)", ", ", ""));
    cases.wide(40_000, Answered, ("values ", "(1, 2)", ", ", ""));
    cases.wide(40_000, Answered, ("", "select 1", ";", ""));
    cases
}

fn ziql() -> Cases {
    let mut cases = Cases::default();
    for (name, open, inner, close) in [
        ("parentheses", "(", "age = 1", ")"),
        ("not", "NOT ", "age = 1", ""),
        ("entities", "best = {", "age = 1", "}"),
        ("members", "friends IN {", "age = 1", "}"),
        ("path", "best.", "age = 1", ""),
    ] {
        for (count, end) in [(50, Answered), (1_000, DEEP), (40_000, DEEP)] {
            let text = format!("GRAB P {{{}{inner}{}}}", open.repeat(count), close.repeat(count));
            cases.add(name, count, end, text);
        }
    }
    for (count, end) in [(100, Answered), (10_000, DEEP)] {
        let text = format!("GRAB P {}[name]{}", "[best ".repeat(count), "]".repeat(count));
        cases.add("shape", count, end, text);
        cases.add("sum", count, end, format!("GRAB P {{age = 1{}}}", " + 1".repeat(count)));
    }
    cases.wide(40_000, Answered, ("GRAB P {", "age = {}", " AND ", "}"));
    cases.wide(200, Answered, ("GRAB P {", "friends IN {age = {}}", " AND ", "}"));
    cases.wide(40_000, Answered, ("GRAB P {", "age = {}", " OR ", "}"));
    cases.wide(40_000, Answered, ("GRAB P {age IN [", "{}", ", ", "]}"));
    cases.wide(40_000, Refused("more than"), ("GRAB P [", "f{}: age + {}", ", ", "]"));
    cases.wide(10_000, Answered, ("", "GRAB P {age = {}}", "; ", ""));
    cases
}

fn open() -> Result<(TempDir, Session)> {
    let folder = tempfile::tempdir()?;
    let database = Database::open(folder.path().join("data"))?;
    database.apply_schema("P ( name: str, age: int = 0, best: P?, friends: []P )", false)?;
    let mut session = database.session()?;
    session.execute("create table t0 (x int primary key, y int)", &[])?;
    session.execute("insert into t0 values (1, 1)", &[])?;
    session.execute("create view v0 as select x from t0", &[])?;
    for n in 0..24 {
        let text = format!("create view v{} as select a.x from v{n} a, v{n} b", n + 1);
        session.execute(&text, &[])?;
    }
    Ok((folder, session))
}

/// The error of a statement on a thread with a small stack; `None` if it succeeds.
fn said(session: &mut Session, text: &str, is_ziql: bool) -> Option<String> {
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
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(STACK_SIZE);
        let thread =
            builder.spawn_scoped(scope, move || run().err().map(|error| error.to_string()));
        thread.expect("there are threads").join().expect("no statement panics")
    })
}

fn check(cases: &Cases, is_ziql: bool) -> Result {
    let (_folder, mut session) = open()?;
    session.set_timeout(Some(TIME_MAX));
    let mut failures = Vec::new();
    for Case { name, text, end } in &cases.0 {
        let begun = Instant::now();
        let said = said(&mut session, text, is_ziql);
        let took = begun.elapsed();
        println!(
            "{:8.3} s  {name:.80}: {:.80}",
            took.as_secs_f64(),
            said.as_deref().unwrap_or("ok")
        );
        let is_right = match (end, &said) {
            (Answered, None) => true,
            // The error has a position, and does not repeat the text.
            (Refused(words), Some(said)) => said.contains(words) && said.len() < 2_000,
            _ => false,
        };
        if !is_right || took > TIME_MAX {
            failures.push(format!("{name:.100}: {said:.300?} in {took:?}"));
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
    Ok(())
}

#[test]
fn depth_is_answered_or_refused() -> Result {
    check(&deep(), false)
}

#[test]
fn repetition_is_answered_or_refused() -> Result {
    check(&repeated(), false)
}

#[test]
fn width_is_answered_or_refused() -> Result {
    check(&wide(), false)
}

#[test]
fn ziql_is_answered_or_refused() -> Result {
    check(&ziql(), true)
}

/// Statements about JSON and Ion of any depth, from text, from files and built by SQL. `{count}` is
/// the depth, `{file}` an Ion file of it, `{out}` a new file.
const DEEP_VALUES: [&str; 24] = [
    "select length((repeat('[', {count}) || repeat(']', {count}))::json::text)",
    "select length((repeat('{\"a\":', {count}) || '1' || repeat('}', {count}))::json::text)",
    "select length((repeat('{', {count}) || repeat('}', {count}))::int[]::text)",
    "select count(j -> 0) from built",
    "select count(j ->> 0) from built",
    "select count(j #> '{0,0,0}') from built",
    "select count(*) from built group by j",
    "select max(length(j::text)) from built",
    "select count(*) from built a join built b on a.j = b.j",
    "select count(*) from built order by max(j::text)",
    "select j from built order by j limit 1",
    "select count(json_typeof(j)), count(json_array_length(j)) from built",
    "select count(*) from built where j @> '[]'",
    "select count(*) from built, json_array_elements(j) e",
    "select length(json_agg(j)::text), count(to_json(j)) from built",
    "select json_build_object('a', j), row_to_json(row(j)) from built",
    "select count(json_valid(j::text)), count(j::text::json) from built",
    "insert into c select 'x{count}' as _id, j from built",
    "insert into c values ('y{count}', (repeat('[', {count}) || repeat(']', {count}))::json)",
    "select count(*) from '{file}'",
    "select * from '{file}'",
    "create table t_{count} as select * from '{file}'",
    "copy (select * from built) to '{out}.ion'",
    "copy (select * from built) to '{out}.json'",
];

#[test]
fn deep_values_are_answered_or_refused() -> Result {
    let (folder, mut session) = open()?;
    Database::open(folder.path().join("data"))?
        .collection("c")?
        .put("a", &serde_json::json!({"j": [1, {"a": 1}]}))?;
    for count in [100, 127, 128, 200, 256, 257, 5_000, 100_000] {
        // The text of a JSON value is copied at each level.
        let levels = count.min(20_000);
        let built = format!(
            "create or replace view built as with recursive r as (select json_array(1) as j, 1 as n
                union all select json_array(j), n + 1 from r where n < {levels})
             select j from r where n = {levels}"
        );
        assert_eq!(said(&mut session, &built, false), None);
        let files = [("[", "]"), ("{a:", "}"), ("{a:[", "]}")];
        for (number, (open, close)) in files.iter().enumerate() {
            let file = folder.path().join(format!("deep-{number}.ion"));
            std::fs::write(&file, format!("{}1{}", open.repeat(count), close.repeat(count)))?;
            for text in DEEP_VALUES {
                if number > 0 && !text.contains("{file}") {
                    continue;
                }
                let out = folder.path().join(format!("out-{count}"));
                let text = text
                    .replace("{count}", &count.to_string())
                    .replace("{file}", &file.display().to_string())
                    .replace("{out}", &out.display().to_string());
                let begun = Instant::now();
                let said = said(&mut session, &text, false);
                let took = begun.elapsed();
                println!("{took:?} {text:.90}: {said:.150?}");
                assert!(took < TIME_MAX, "{took:?}: {text}");
                let size = said.map_or(0, |said| said.len());
                assert!(size < 2_000, "{size} bytes are said about {text}");
            }
        }
    }
    Ok(())
}

#[test]
fn what_the_catalog_keeps_may_nest() -> Result {
    let (_folder, mut session) = open()?;
    let deep = |inner: &str| format!("{}{inner}{}", "abs(".repeat(300), ")".repeat(300));
    let many = " + 1".repeat(2_000);
    for text in [
        format!("create table d (a int default {}, b int default (1{many}), c int)", deep("1")),
        format!("alter table d add check ({} >= 0)", deep("c")),
        "insert into d (c) values (3)".to_owned(),
        "update d set c = -4".to_owned(),
        format!("create view w0 as select {} as c from d", deep("c")),
        "create view w1 as select c from (select c from w0 union select c from w0) u".to_owned(),
        "select * from w1".to_owned(),
    ] {
        assert_eq!(said(&mut session, &text, false), None, "{text:.80}");
    }
    // A prepared statement also runs on a large enough stack.
    let mut prepared = session.prepare(&format!("select {}", deep("-7")))?;
    let mut rows = session.execute_prepared(&mut prepared, &[])?.rows.ok_or("there are rows")?;
    assert_eq!(rows.collect_rows()?, [[folio::Value::Integer(7)]]);
    Ok(())
}
