//! Runs the records of a file and compares.
//!
//! Our files (`.slt`) have a row per line, with values separated by tabs; files of the standard
//! corpus (`.test`) a value per line, and long results as a digest. Every query of an own file runs
//! twice, with the optimizer and without.

use std::path::Path;
use std::time::Instant;

use folio::{ColumnType, Database, Level, OpenOptions, Session, Synchronous, Value, format_value};

use crate::md5;
use crate::record::{Expected, Order, Record, records};

/// The names of this engine in test files.
const OWN_NAMES: [&str; 2] = ["foliodb", "postgresql"];

/// The text for an error of a third-party library, which users should never see.
const FOREIGN: &str = "this cannot be computed for these values";

/// A record whose result differs.
pub(crate) struct Failure {
    pub(crate) line: usize,
    pub(crate) text: String,
}

/// The result of a file.
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) passed: usize,
    pub(crate) skipped: usize,
    pub(crate) failures: Vec<Failure>,
    pub(crate) seconds: f64,
}

/// Runs a file in its own database.
pub(crate) fn run_file(path: &Path) -> Report {
    let text = std::fs::read_to_string(path).expect("the file can be read");
    let folder = tempfile::tempdir().expect("a folder for the database");
    let options = OpenOptions { synchronous: Synchronous::Off, ..OpenOptions::default() };
    let database = Database::open_with(folder.path().join("data"), &options).expect("a database");
    let mut session = database.session().expect("a session");
    let is_own = path.extension().is_some_and(|extension| extension == "slt");
    let started = Instant::now();
    let mut report = Report::default();
    for record in records(&text, &OWN_NAMES) {
        if record.is_skipped {
            report.skipped += 1;
            continue;
        }
        let mut result = run(&mut session, &record, is_own);
        if result.is_ok() && is_own && is_plain_query(&record) {
            session.set_level(Level::None);
            result = run(&mut session, &record, is_own)
                .map_err(|problem| format!("without the optimizer: {problem}"));
            session.set_level(Level::Full);
        }
        match result {
            Ok(()) => report.passed += 1,
            Err(problem) => {
                let sql = record.sql.replace('\n', "\n  ");
                let text = format!("{}:{}: {problem}\n  {sql}\n", path.display(), record.line);
                report.failures.push(Failure { line: record.line, text });
            }
        }
    }
    report.seconds = started.elapsed().as_secs_f64();
    report
}

/// Whether a record only reads, so that it may run twice.
fn is_plain_query(record: &Record) -> bool {
    let word = record.sql.split_whitespace().next().unwrap_or_default().to_lowercase();
    matches!(record.expected, Expected::Rows { .. })
        && matches!(&*word, "select" | "with" | "values" | "table")
        && !record.sql.to_lowercase().contains("random")
}

/// Runs one record, and returns the problem if there is one.
fn run(session: &mut Session, record: &Record, is_own: bool) -> Result<(), String> {
    let answer = session.execute(&record.sql, &[]);
    match &record.expected {
        Expected::Ok(count) => {
            let answer = answer.map_err(|error| error.to_string())?;
            if let Some(mut rows) = answer.rows {
                rows.collect_rows().map_err(|error| error.to_string())?;
            }
            match count {
                Some(count) if answer.count != Some(*count) => {
                    Err(format!("changed {:?} rows, not {count}", answer.count))
                }
                _ => Ok(()),
            }
        }
        Expected::Error(text) => {
            let error = match answer {
                Err(error) => error.to_string(),
                Ok(answer) => match answer.rows.map(|mut rows| rows.collect_rows()) {
                    Some(Err(error)) => error.to_string(),
                    _ => return Err("it did not fail".to_owned()),
                },
            };
            if error.contains(FOREIGN) {
                Err(format!("a library below failed:\n{error}"))
            } else if error.contains(text.as_str()) {
                Ok(())
            } else {
                Err(format!("it failed otherwise:\n{error}"))
            }
        }
        Expected::Rows { types, order, lines } => {
            let answer = answer.map_err(|error| error.to_string())?;
            let Some(mut rows) = answer.rows else { return Err("there are no rows".to_owned()) };
            let columns = rows.types().to_vec();
            let found = rows.collect_rows().map_err(|error| error.to_string())?;
            if columns.len() != types.len() {
                return Err(format!("{} columns, not {}", columns.len(), types.len()));
            }
            let found: Vec<Vec<String>> = found
                .iter()
                .map(|row| {
                    let values = row.iter().zip(&columns).zip(types.chars());
                    values.map(|((value, ty), kind)| shown(value, ty, kind)).collect()
                })
                .collect();
            compare(found, *order, lines, is_own)
        }
    }
}

/// A value in the form of the files.
#[allow(clippy::cast_possible_truncation, reason = "the files truncate too")]
fn shown(value: &Value, ty: &ColumnType, kind: char) -> String {
    let text = match (value, kind) {
        (Value::Null, _) => return "NULL".to_owned(),
        (Value::Float(value), 'I') => (*value as i64).to_string(),
        (Value::Decimal(_), 'I') => {
            let text = format_value(value, ty);
            text.split('.').next().unwrap_or_default().to_owned()
        }
        (Value::Boolean(value), 'I') => u8::from(*value).to_string(),
        (Value::Integer(value), 'R') => format!("{:.3}", *value as f64),
        (Value::Float(value), 'R') => format!("{value:.3}"),
        (Value::Decimal(_), 'R') => {
            let number: f64 = format_value(value, ty).parse().unwrap_or(f64::NAN);
            format!("{number:.3}")
        }
        _ => format_value(value, ty),
    };
    if text.is_empty() { "(empty)".to_owned() } else { text.replace(['\n', '\t'], " ") }
}

fn compare(
    mut found: Vec<Vec<String>>,
    order: Order,
    lines: &[String],
    is_own: bool,
) -> Result<(), String> {
    if order == Order::Rows {
        found.sort();
    }
    let mut values: Vec<String> = if is_own {
        found.iter().map(|row| row.join("\t")).collect()
    } else {
        found.into_iter().flatten().collect()
    };
    if order == Order::Values {
        values.sort();
    }
    if let [only] = lines
        && let Some((count, digest)) = only.split_once(" values hashing to ")
    {
        let text: String = values.iter().map(|value| format!("{value}\n")).collect();
        let own = format!("{} values hashing to {}", values.len(), md5::hex(text.as_bytes()));
        let wanted = format!("{count} values hashing to {digest}");
        return if own == wanted { Ok(()) } else { Err(format!("{own}, not {wanted}")) };
    }
    let mut wanted: Vec<String> = lines.to_vec();
    if !is_own && wanted.len() != values.len() {
        // Some files have a row per line.
        wanted = lines.iter().flat_map(|line| line.split_whitespace().map(str::to_owned)).collect();
    }
    if order == Order::Rows && is_own {
        wanted.sort();
    }
    if values == wanted {
        Ok(())
    } else {
        Err(format!("found\n    {}\n  not\n    {}", values.join("\n    "), wanted.join("\n    ")))
    }
}
