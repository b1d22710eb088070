//! Runs `conformance/sql` through the command: a file is one `folio shell`, which goes on
//! after errors and answers in CSV.
//!
//! A query between two records prints the line of the next one. The command writes values like
//! JSON: a timestamp has its `T`, a float its `.0`.

#![allow(clippy::unwrap_used)] // a test that panics has failed

#[allow(dead_code, reason = "a script is not told how many rows have changed")]
#[path = "../../conformance/sql/record.rs"]
mod record;

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use record::{Expected, Order, Record, records};

/// The names of the command in test files.
const NAMES: [&str; 3] = ["foliodb", "postgresql", "command"];

/// The column that holds the line of the next record.
const MARK: &str = "the next record";

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance/sql");
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_script = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "slt");
    let mut files: Vec<PathBuf> = entries.filter(is_script).collect();
    files.sort();
    files
}

/// The command's output for all records of a file.
fn reported(records: &[Record]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut script = ".bail off\n".to_owned();
    for record in records {
        script += &format!("select {} as \"{MARK}\";\n{}\n;\n", record.line, record.sql);
    }
    let path = folder.path().join("told");
    let output = File::create(&path).unwrap();
    let mut shell = Command::new(env!("CARGO_BIN_EXE_folio"))
        .args(["shell", "data", "-o", "csv"])
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stderr(output.try_clone().unwrap())
        .stdout(output)
        .spawn()
        .unwrap();
    shell.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    shell.wait().unwrap();
    fs::read_to_string(path).unwrap()
}

/// Lines of CSV: an empty cell without quotes is null, a quoted one is empty text.
fn rows(csv: &str) -> Vec<Vec<Option<String>>> {
    let (mut rows, mut row) = (Vec::new(), Vec::new());
    let (mut cell, mut is_quoted, mut was_quoted) = (String::new(), false, false);
    let mut characters = csv.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if is_quoted && characters.peek() == Some(&'"') => cell.extend(characters.next()),
            '"' => {
                is_quoted = !is_quoted;
                was_quoted = true;
            }
            ',' | '\n' if !is_quoted => {
                let text = std::mem::take(&mut cell);
                row.push((was_quoted || !text.trim().is_empty()).then_some(text));
                was_quoted = false;
                if character == '\n' {
                    rows.push(std::mem::take(&mut row));
                }
            }
            other => cell.push(other),
        }
    }
    rows
}

/// A cell in the form of the files.
fn shown(cell: Option<&str>, kind: char) -> String {
    let Some(text) = cell else { return "NULL".to_owned() };
    let text = match (kind, text) {
        ('I', "true") => "1".to_owned(),
        ('I', "false") => "0".to_owned(),
        ('I', text) => text.split('.').next().unwrap_or(text).to_owned(),
        ('R', text) => text.parse().map_or_else(|_| text.to_owned(), |n: f64| format!("{n:.3}")),
        (_, text) => text.replace(['\n', '\t'], " "),
    };
    if text.is_empty() { "(empty)".to_owned() } else { text }
}

/// Whether a cell equals that of the file, with timestamps and floats as in JSON.
fn is_same(found: &str, wanted: &str) -> bool {
    let written = match found.as_bytes().get(10) {
        Some(b'T') if found.as_bytes()[4] == b'-' => {
            found.replacen('T', " ", 1).replace('Z', "+00")
        }
        _ => found.strip_suffix(".0").unwrap_or(found).to_owned(),
    };
    // JSON's null is also a cell without text.
    found == wanted || written == wanted || (found == "NULL" && wanted == "null")
}

/// What is wrong with a record, if anything.
fn problem(record: &Record, reported: &str) -> Option<String> {
    let error = match reported.strip_prefix("error: ") {
        Some(error) => Some(error),
        None => reported.split_once("\nerror: ").map(|(_, error)| error),
    };
    match (&record.expected, error) {
        (Expected::Error(text), Some(error)) => {
            (!error.contains(text.as_str())).then(|| format!("it failed otherwise:\n{error}"))
        }
        (Expected::Error(_), None) => Some("it did not fail".to_owned()),
        (_, Some(error)) => Some(format!("it failed: {error}")),
        (Expected::Ok(_), None) => None,
        (Expected::Rows { types, order, lines }, None) => {
            let all = rows(reported);
            let found = all.get(1..).unwrap_or_default().iter();
            let shown = found.map(|row| {
                let cells = row.iter().zip(types.chars());
                let cells = cells.map(|(cell, kind)| shown(cell.as_deref(), kind));
                cells.collect::<Vec<_>>().join("\t")
            });
            let (mut found, mut wanted) = (shown.collect::<Vec<_>>(), lines.clone());
            if *order != Order::None {
                found.sort();
                wanted.sort();
            }
            let is_same_line = |(found, wanted): (&String, &String)| {
                let cells = found.split('\t').zip(wanted.split('\t'));
                cells.into_iter().all(|(found, wanted)| is_same(found, wanted))
            };
            let is_right =
                found.len() == wanted.len() && found.iter().zip(&wanted).all(is_same_line);
            (!is_right).then(|| format!("found {found:?}, not {wanted:?}"))
        }
    }
}

#[test]
fn conformance() {
    let mut failures = String::new();
    for path in files() {
        let all = records(&fs::read_to_string(&path).unwrap(), &NAMES);
        let own: Vec<Record> = all.into_iter().filter(|record| !record.is_skipped).collect();
        let reported = reported(&own);
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let mut rest = &*reported;
        for record in &own {
            let mark = format!("{MARK}\n{}\n", record.line);
            let Some((_, after)) = rest.split_once(&mark) else {
                failures += &format!("{name}:{}: the command was gone\n{rest}\n", record.line);
                break;
            };
            let answer = after.split_once(&format!("{MARK}\n")).map_or(after, |(answer, _)| answer);
            if let Some(problem) = problem(record, answer) {
                failures += &format!("{name}:{}: {problem}\n  {}\n", record.line, record.sql);
            }
            rest = after;
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
}
