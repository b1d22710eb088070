//! SQL over many rows, side by side with SQLite: `sql -- [rows] [filter] [--json]`.
//!
//! A table of nine columns, a million rows unless said otherwise, the same values in
//! both systems. Both load it by a prepared INSERT in one transaction and commit with
//! `synchronous = normal`. Queries run on a warm cache on one thread, their rows read
//! to the end; the median of five runs counts.

use std::hint::black_box;
use std::time::{Duration, Instant};

use facade::{Database, OpenOptions, Session, Synchronous, Value};

const ROW_COUNT: i64 = 1_000_000;
const REPETITIONS: usize = 5;
/// Statements by key per figure.
const KEYED_COUNT: i64 = 20_000;

const TABLE: &str = "CREATE TABLE people (id BIGINT PRIMARY KEY, name TEXT, email TEXT, age INT, \
    score DOUBLE PRECISION, active BOOLEAN, city TEXT, visits BIGINT, note TEXT)";
const INSERT: &str = "INSERT INTO people VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";

const QUERIES: [(&str, &str); 9] = [
    ("filter on text, no match", "SELECT * FROM people WHERE email = 'nobody@example.com'"),
    ("filter on numbers, 1 %", "SELECT id, name FROM people WHERE score > 990.0"),
    ("LIKE '%99@%'", "SELECT * FROM people WHERE email LIKE '%99@%'"),
    ("AVG … GROUP BY", "SELECT city, AVG(score), COUNT(*) FROM people GROUP BY city"),
    ("full scan", "SELECT * FROM people"),
    ("two columns", "SELECT id, score FROM people"),
    ("SUM with a filter", "SELECT SUM(visits) FROM people WHERE active AND age < 40"),
    ("top ten", "SELECT id, name, score FROM people ORDER BY score DESC, id LIMIT 10"),
    ("COUNT(DISTINCT)", "SELECT COUNT(DISTINCT visits) FROM people"),
];

/// Statements by key, run in one transaction: name, text.
const KEYED: [(&str, &str); 3] = [
    ("SELECT by key", "SELECT name, score FROM people WHERE id = ?"),
    ("UPDATE by key", "UPDATE people SET score = score + 1 WHERE id = ?"),
    ("DELETE by key", "DELETE FROM people WHERE id = ?"),
];

struct Figure {
    name: String,
    unit: &'static str,
    ours: f64,
    sqlite: f64,
}

/// The values of a row.
struct Row {
    id: i64,
    name: String,
    email: String,
    age: i64,
    score: f64,
    active: bool,
    city: String,
    visits: i64,
    note: String,
}

impl Row {
    fn new(id: i64) -> Self {
        // A multiplicative step scatters the numbers over their range.
        let number = id.wrapping_mul(7_919) % 1_000_003;
        Self {
            id,
            name: format!("User {id}"),
            email: format!("user{id}@example.com"),
            age: 18 + number % 60,
            score: (number % 100_000) as f64 / 100.0,
            active: number % 3 == 0,
            city: format!("City {}", number % 100),
            visits: number % 5_000,
            note: "joined from the web".to_owned(),
        }
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let row_count = arguments.iter().find_map(|a| a.parse().ok()).unwrap_or(ROW_COUNT);
    let filter = arguments.iter().find(|a| !a.starts_with('-') && a.parse::<i64>().is_err());
    let wanted = |name: &str| filter.is_none_or(|filter| name.contains(filter.as_str()));
    let folder = std::env::temp_dir().join(format!("folio-sql-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let figures = measure(&folder, row_count, &wanted);
    // What is left behind is in the folder for temporary files.
    let _ = std::fs::remove_dir_all(&folder);
    if arguments.iter().any(|a| a == "--json") {
        print_json(&figures);
        return;
    }
    println!("{:<28} {:>12} {:>12} {:>7}", "", "folio", "sqlite", "ratio");
    for Figure { name, unit, ours, sqlite } in &figures {
        println!("{name:<28} {ours:>9.2} {unit} {sqlite:>9.2} {unit} {:>7.2}", ours / sqlite);
    }
}

fn print_json(figures: &[Figure]) {
    let entries = figures.iter().flat_map(|Figure { name, unit, ours, sqlite }| {
        let entry = |name: &str, value: f64| {
            format!("{{\"name\":\"{name}\",\"unit\":\"{unit}\",\"value\":{value:.3}}}")
        };
        [entry(name, *ours), entry(&format!("{name} (SQLite)"), *sqlite)]
    });
    println!("[{}]", entries.collect::<Vec<_>>().join(",\n "));
}

fn measure(folder: &std::path::Path, row_count: i64, wanted: &dyn Fn(&str) -> bool) -> Vec<Figure> {
    let rows: Vec<Row> = (0..row_count).map(Row::new).collect();
    let options = OpenOptions { synchronous: Synchronous::Normal, ..OpenOptions::default() };
    let database = Database::open_with(folder.join("data"), &options).expect("a database");
    let mut session = database.session().expect("a session");
    let connection = rusqlite::Connection::open(folder.join("data.db")).expect("a database");
    connection.pragma_update(None, "journal_mode", "wal").expect("a log");
    connection.pragma_update(None, "synchronous", "normal").expect("a setting");
    // Both keep the table in memory.
    connection.pragma_update(None, "cache_size", -1_000_000).expect("a setting");
    let (ours, sqlite) = (load(&mut session, &rows), load_sqlite(&connection, &rows));
    drop(rows);
    let micros = |time: Duration| time.as_secs_f64() * 1e6 / row_count as f64;
    let mut figures = vec![Figure {
        name: "bulk INSERT, per row".to_owned(),
        unit: "µs",
        ours: micros(ours),
        sqlite: micros(sqlite),
    }];
    for (name, text) in QUERIES.iter().filter(|(name, _)| wanted(name)) {
        figures.push(query(&mut session, &connection, name, text));
    }
    for (name, text) in KEYED.iter().filter(|(name, _)| wanted(name)) {
        figures.push(keyed(&mut session, &connection, row_count, name, text));
    }
    figures
}

fn load(session: &mut Session, rows: &[Row]) -> Duration {
    let started = Instant::now();
    session.execute(TABLE, &[]).expect("a table");
    session.execute("BEGIN", &[]).expect("a transaction");
    let mut insert = session.prepare(INSERT).expect("a statement");
    for row in rows {
        let values = [
            Value::Integer(row.id),
            Value::Text(row.name.clone()),
            Value::Text(row.email.clone()),
            Value::Integer(row.age),
            Value::Float(row.score),
            Value::Boolean(row.active),
            Value::Text(row.city.clone()),
            Value::Integer(row.visits),
            Value::Text(row.note.clone()),
        ];
        session.execute_prepared(&mut insert, &values).expect("a row");
    }
    session.execute("COMMIT", &[]).expect("a commit");
    started.elapsed()
}

fn load_sqlite(connection: &rusqlite::Connection, rows: &[Row]) -> Duration {
    let started = Instant::now();
    connection.execute_batch(TABLE).expect("a table");
    connection.execute_batch("BEGIN").expect("a transaction");
    let mut insert = connection.prepare(INSERT).expect("a statement");
    for row in rows {
        insert
            .execute(rusqlite::params![
                row.id, row.name, row.email, row.age, row.score, row.active, row.city, row.visits,
                row.note
            ])
            .expect("a row");
    }
    connection.execute_batch("COMMIT").expect("a commit");
    started.elapsed()
}

fn query(
    session: &mut Session,
    connection: &rusqlite::Connection,
    name: &str,
    text: &str,
) -> Figure {
    let (mut ours, mut sqlite) = (Vec::new(), Vec::new());
    let mut counts = (0, 0);
    for _ in 0..REPETITIONS {
        let started = Instant::now();
        counts.0 = run(session, text);
        ours.push(started.elapsed());
        let started = Instant::now();
        let mut statement = connection.prepare_cached(text).expect("a statement");
        counts.1 = drain(&mut statement, &[]);
        sqlite.push(started.elapsed());
    }
    assert_eq!(counts.0, counts.1, "both answer as many rows: {text}");
    let millis = |times: Vec<Duration>| median(times).as_secs_f64() * 1e3;
    Figure { name: name.to_owned(), unit: "ms", ours: millis(ours), sqlite: millis(sqlite) }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn run(session: &mut Session, text: &str) -> usize {
    let mut rows = session.execute(text, &[]).expect("it runs").rows.expect("rows");
    let mut count = 0;
    while let Some(batch) = rows.next_batch().expect("rows") {
        count += black_box(&batch).row_count;
    }
    count
}

fn drain(statement: &mut rusqlite::Statement<'_>, parameters: &[i64]) -> usize {
    let columns = statement.column_count();
    let mut rows = statement.query(rusqlite::params_from_iter(parameters)).expect("it runs");
    let mut count = 0;
    while let Some(row) = rows.next().expect("rows") {
        for column in 0..columns {
            black_box(row.get_ref(column).expect("a value"));
        }
        count += 1;
    }
    count
}

fn keyed(
    session: &mut Session,
    connection: &rusqlite::Connection,
    row_count: i64,
    name: &str,
    text: &str,
) -> Figure {
    let key = |number: i64| number.wrapping_mul(104_729) % row_count;
    let count = KEYED_COUNT.min(row_count);
    session.execute("BEGIN", &[]).expect("a transaction");
    let mut prepared = session.prepare(text).expect("a statement");
    let started = Instant::now();
    for number in 0..count {
        let parameters = [Value::Integer(key(number))];
        let answer = session.execute_prepared(&mut prepared, &parameters).expect("it runs");
        black_box(answer.rows.map(|mut rows| rows.take_row()));
    }
    let ours = started.elapsed();
    session.execute("COMMIT", &[]).expect("a commit");
    connection.execute_batch("BEGIN").expect("a transaction");
    let mut statement = connection.prepare(text).expect("a statement");
    let started = Instant::now();
    for number in 0..count {
        drain(&mut statement, &[key(number)]);
    }
    let sqlite = started.elapsed();
    connection.execute_batch("COMMIT").expect("a commit");
    let micros = |time: Duration| time.as_secs_f64() * 1e6 / count as f64;
    Figure { name: name.to_owned(), unit: "µs", ours: micros(ours), sqlite: micros(sqlite) }
}
