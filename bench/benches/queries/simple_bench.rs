//! Small statements, side by side with SQLite: `cargo bench --bench queries -- simple_bench [iterations] [filter] [--json]`.
//!
//! Each case is one statement over the same rows in both systems, its rows read to
//! the end. Both commit with `synchronous = normal` and keep one transaction open
//! where the case says so. A statement is run as a new text each time (`text`), as
//! the same text again (`again`), or prepared (`prepared`).

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use facade::{Database, OpenOptions, Session, Synchronous, Value};
use folio_bench::Result;

/// A folder that goes when it is dropped.
struct Scratch(std::path::PathBuf);

impl Scratch {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("simple-bench-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn path(&self) -> &std::path::Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left behind is in the folder for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Rows of the table.
const ROW_COUNT: i64 = 1_000;

/// One figure.
struct Figure {
    name: String,
    ours: Duration,
    sqlite: Duration,
}

pub(crate) fn run(arguments: Vec<String>) -> Result<()> {
    let iterations = arguments.iter().find_map(|a| a.parse().ok()).unwrap_or(2_000u32);
    let filter = arguments.iter().find(|a| !a.starts_with('-') && a.parse::<u32>().is_err());
    let figures: Vec<Figure> = cases()
        .iter()
        .filter(|case| filter.is_none_or(|filter| case.name.contains(filter.as_str())))
        .map(|case| measure(case, iterations))
        .collect();
    if arguments.iter().any(|a| a == "--json") {
        print_json(&figures);
        return Ok(());
    }
    println!("{:<34} {:>10} {:>10} {:>7}", "µs per statement", "folio", "sqlite", "ratio");
    for figure in &figures {
        let (ours, sqlite) = (micros(figure.ours), micros(figure.sqlite));
        println!("{:<34} {ours:>10.2} {sqlite:>10.2} {:>7.2}", figure.name, ours / sqlite);
    }
    Ok(())
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn print_json(figures: &[Figure]) {
    let entry = |name: &str, value: f64| {
        format!("{{\"name\":\"{name}\",\"unit\":\"µs\",\"value\":{value:.3}}}")
    };
    let entries: Vec<String> = figures
        .iter()
        .flat_map(|figure| {
            let name = &figure.name;
            [
                entry(name, micros(figure.ours)),
                entry(&format!("{name} (SQLite)"), micros(figure.sqlite)),
            ]
        })
        .collect();
    println!("[{}]", entries.join(",\n "));
}

/// How a statement is given.
#[derive(Clone, Copy, PartialEq)]
enum Given {
    Text,
    Again,
    Prepared,
}

struct Case {
    name: &'static str,
    given: Given,
    /// With `{}` for the number of the iteration.
    sql: &'static str,
    in_transaction: bool,
}

fn cases() -> Vec<Case> {
    let case = |name, given, sql, in_transaction| Case { name, given, sql, in_transaction };
    let point = "SELECT name, score FROM t WHERE id = {}";
    let join = "SELECT t.name, u.label FROM t JOIN u ON u.id = t.kind WHERE t.id < 100";
    vec![
        case("SELECT by key, prepared", Given::Prepared, point, false),
        case(
            "SELECT by key, same text",
            Given::Again,
            "SELECT name, score FROM t WHERE id = 77",
            false,
        ),
        case("SELECT by key, new text", Given::Text, point, false),
        case("SELECT COUNT(*)", Given::Again, "SELECT COUNT(*) FROM t", false),
        case("SELECT (table scan)", Given::Again, "SELECT * FROM t", false),
        case("SELECT filter", Given::Again, "SELECT id FROM t WHERE score > 990.0", false),
        case("JOIN of 100 rows", Given::Again, join, false),
        case("GROUP BY", Given::Again, "SELECT kind, AVG(score) FROM t GROUP BY kind", false),
        case(
            "INSERT, prepared",
            Given::Prepared,
            "INSERT INTO w VALUES ({}, 'name', 1.5, 3)",
            true,
        ),
        case("INSERT, new text", Given::Text, "INSERT INTO w VALUES ({}, 'name', 1.5, 3)", true),
        case(
            "UPDATE by key, prepared",
            Given::Prepared,
            "UPDATE t SET score = score + 1 WHERE id = {}",
            true,
        ),
        case("DELETE by key, prepared", Given::Prepared, "DELETE FROM t WHERE id = {}", true),
        case(
            "INSERT, autocommit",
            Given::Prepared,
            "INSERT INTO w VALUES ({}, 'name', 1.5, 3)",
            false,
        ),
    ]
}

const TABLES: &str =
    "CREATE TABLE t (id INT PRIMARY KEY, name TEXT, score DOUBLE PRECISION, kind INT);
    CREATE TABLE u (id INT PRIMARY KEY, label TEXT);
    CREATE TABLE w (id INT PRIMARY KEY, name TEXT, score DOUBLE PRECISION, kind INT);";

fn rows() -> String {
    let row = |id: i64| format!("({id}, 'name {id}', {id}.5, {})", id % 10);
    let rows: Vec<String> = (0..ROW_COUNT).map(row).collect();
    let kinds: Vec<String> = (0..10).map(|id| format!("({id}, 'kind {id}')")).collect();
    format!("INSERT INTO t VALUES {}; INSERT INTO u VALUES {}", rows.join(","), kinds.join(","))
}

fn measure(case: &Case, iterations: u32) -> Figure {
    let (mut ours, mut sqlite) = (Vec::new(), Vec::new());
    for repetition in 0..5 {
        // Whoever goes first alternates.
        for turn in 0..2 {
            if (repetition + turn) % 2 == 0 {
                ours.push(run_folio(case, iterations));
            } else {
                sqlite.push(run_sqlite(case, iterations));
            }
        }
    }
    Figure { name: case.name.to_owned(), ours: median(ours), sqlite: median(sqlite) }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// The key of an iteration.
fn key(case: &Case, iteration: u32) -> i64 {
    let iteration = i64::from(iteration);
    if case.sql.starts_with("INSERT") { iteration } else { iteration * 7 % ROW_COUNT }
}

fn run_folio(case: &Case, iterations: u32) -> Duration {
    let folder = Scratch::new();
    let options = OpenOptions { synchronous: Synchronous::Normal, ..OpenOptions::default() };
    let database = Database::open_with(folder.path().join("data"), &options).expect("a database");
    let mut session = database.session().expect("a session");
    session.execute(TABLES, &[]).expect("tables");
    session.execute(&rows(), &[]).expect("rows");
    if case.in_transaction {
        session.execute("BEGIN", &[]).expect("a transaction");
    }
    let mut prepared = session.prepare(&case.sql.replace("{}", "?")).expect("a statement");
    let run = |session: &mut Session, prepared: &mut _, iteration: u32| {
        let answer = match case.given {
            Given::Prepared => {
                session.execute_prepared(prepared, &[Value::Integer(key(case, iteration))])
            }
            Given::Again => session.execute(case.sql, &[]),
            Given::Text => {
                session.execute(&case.sql.replace("{}", &key(case, iteration).to_string()), &[])
            }
        };
        let answer = answer.expect("it runs");
        if let Some(mut rows) = answer.rows
            && rows.take_row().is_none()
        {
            while let Some(batch) = rows.next_batch().expect("rows") {
                std::hint::black_box(&batch);
            }
        }
    };
    let started = Instant::now();
    for iteration in 0..iterations {
        run(&mut session, &mut prepared, iteration);
    }
    started.elapsed() / iterations
}

fn run_sqlite(case: &Case, iterations: u32) -> Duration {
    let folder = Scratch::new();
    let connection = rusqlite::Connection::open(folder.path().join("data.db")).expect("a database");
    connection.pragma_update(None, "journal_mode", "wal").expect("a log");
    connection.pragma_update(None, "synchronous", "normal").expect("a setting");
    connection.execute_batch(TABLES).expect("tables");
    connection.execute_batch(&format!("BEGIN; {}; COMMIT", rows())).expect("rows");
    if case.in_transaction {
        connection.execute_batch("BEGIN").expect("a transaction");
    }
    let drain = |statement: &mut rusqlite::Statement<'_>, parameters: &[i64]| {
        let columns = statement.column_count();
        let mut rows =
            statement.query(rusqlite::params_from_iter(parameters.iter())).expect("it runs");
        while let Some(row) = rows.next().expect("rows") {
            for column in 0..columns {
                std::hint::black_box(row.get_ref(column).expect("a value"));
            }
        }
    };
    let mut prepared = connection.prepare(&case.sql.replace("{}", "?")).expect("a statement");
    let started = Instant::now();
    for iteration in 0..iterations {
        match case.given {
            Given::Prepared => drain(&mut prepared, &[key(case, iteration)]),
            Given::Again => {
                let mut statement = connection.prepare(case.sql).expect("a statement");
                drain(&mut statement, &[]);
            }
            Given::Text => {
                let text = case.sql.replace("{}", &key(case, iteration).to_string());
                drain(&mut connection.prepare(&text).expect("a statement"), &[]);
            }
        }
    }
    started.elapsed() / iterations
}
