//! Runs the shell sessions under `cases/` and compares what they print.
//!
//! A case is a text file that reads like a session:
//!
//! ```text
//! # What is shown here.
//! $ folio put ./data -c users u1 --data '{"name": "Ann"}'
//! inserted u1
//! $ folio get ./data -c users u2
//! ! error: no document "u2" in collection "users"
//! ? 1
//! ```
//!
//! `$ ` begins a command and `> ` continues it. Then follow the lines of standard output, those of
//! standard error after `! `, and a nonzero exit code after `? `. `[..]` matches anything, and
//! `[blank]` an empty line. Each case runs in its own folder, with one `sh` per command. `$AS_USER`
//! runs a command as a user without root's rights.
//!
//! `UPDATE_CASES=1 cargo test -p folio-cli --test cases` writes the actual output into the files,
//! for review.

#![allow(clippy::unwrap_used)] // a test that panics has failed

mod sandbox;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::thread;

use sandbox::Sandbox;

#[test]
fn sessions() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut paths: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() > 5, "the cases are there");
    let failures: Vec<String> = thread::scope(|scope| {
        let checks: Vec<_> = paths.iter().map(|path| scope.spawn(|| check(path))).collect();
        checks.into_iter().filter_map(|check| check.join().unwrap()).collect()
    });
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Runs a case; returns the difference.
fn check(path: &Path) -> Option<String> {
    let expected = fs::read_to_string(path).unwrap();
    let sandbox = Sandbox::new();
    let mut printed = String::new();
    let mut lines = expected.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(first) = line.strip_prefix("$ ") {
            let mut command = first.to_owned();
            writeln!(printed, "$ {first}").unwrap();
            while let Some(more) = lines.next_if(|line| line.starts_with("> ") || *line == ">") {
                let more = more.strip_prefix("> ").unwrap_or_default();
                writeln!(printed, "{}", format!("> {more}").trim_end()).unwrap();
                write!(command, "\n{more}").unwrap();
            }
            printed += &session(&sandbox, &command);
            while lines.next_if(|line| !is_kept(line)).is_some() {}
        } else {
            writeln!(printed, "{line}").unwrap();
        }
    }
    if matches(&expected, &printed) {
        return None;
    }
    if std::env::var_os("UPDATE_CASES").is_some() {
        fs::write(path, keep_wildcards(&expected, &printed)).unwrap();
        return None;
    }
    Some(format!("{}:\n{}", path.display(), difference(&expected, &printed)))
}

/// The output of a command in the form of the cases.
fn session(sandbox: &Sandbox, command: &str) -> String {
    let output = sandbox.run(command);
    let mut text = String::new();
    for line in steady(&output.stdout, sandbox).lines() {
        writeln!(text, "{}", if line.is_empty() { "[blank]" } else { line }).unwrap();
    }
    for line in steady(&output.stderr, sandbox).lines() {
        writeln!(text, "! {line}").unwrap();
    }
    match output.status.code() {
        Some(0) => {}
        Some(code) => writeln!(text, "? {code}").unwrap(),
        None => writeln!(text, "? {}", output.status).unwrap(),
    }
    text
}

/// Output without the parts that vary between runs.
fn steady(bytes: &[u8], sandbox: &Sandbox) -> String {
    let text = String::from_utf8_lossy(bytes).replace('\r', "");
    text.replace(&*sandbox.path().to_string_lossy(), "[folder]")
}

/// Whether a line of a case is not output.
fn is_kept(line: &str) -> bool {
    line.starts_with("$ ") || line.starts_with("# ") || line == "#" || line.is_empty()
}

fn matches(expected: &str, printed: &str) -> bool {
    expected.lines().count() == printed.lines().count()
        && expected.lines().zip(printed.lines()).all(|(pattern, line)| line_matches(pattern, line))
}

/// Whether a line matches a pattern in which `[..]` matches anything.
fn line_matches(pattern: &str, line: &str) -> bool {
    let pieces: Vec<&str> = pattern.split("[..]").collect();
    let [first, middle @ .., last] = pieces.as_slice() else { return pattern == line };
    let Some(mut rest) = line.strip_prefix(first).and_then(|rest| rest.strip_suffix(last)) else {
        return false;
    };
    for piece in middle {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    true
}

/// Keeps the patterns for lines that match them.
fn keep_wildcards(expected: &str, printed: &str) -> String {
    let patterns: Vec<&str> = expected.lines().filter(|line| line.contains("[..]")).collect();
    let keep = |line: &str| {
        let pattern = patterns.iter().find(|pattern| line_matches(pattern, line));
        format!("{}\n", pattern.copied().unwrap_or(line))
    };
    printed.lines().map(keep).collect()
}

fn difference(expected: &str, printed: &str) -> String {
    let mut text = String::new();
    let (mut before, mut after) = (expected.lines(), printed.lines());
    loop {
        match (before.next(), after.next()) {
            (None, None) => return text,
            (Some(a), Some(b)) if line_matches(a, b) => writeln!(text, "    {b}").unwrap(),
            (a, b) => {
                a.iter().for_each(|line| writeln!(text, "  - {line}").unwrap());
                b.iter().for_each(|line| writeln!(text, "  + {line}").unwrap());
            }
        }
    }
}

#[test]
fn wildcards() {
    assert!(line_matches("a[..]c", "abbc"));
    assert!(line_matches("[..]", ""));
    assert!(line_matches("a [..] b [..] c", "a 1 b 2 c"));
    assert!(!line_matches("a[..]c", "abb"));
    assert!(!line_matches("abc", "abcd"));
}
