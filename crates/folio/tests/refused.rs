//! Bad SQL: every statement of `conformance/sql/refused.txt` is refused with the message, position
//! and help in that file, changes nothing, and leaves the session usable. Statements of unusual
//! size are generated here.

use std::error::Error;
use std::fmt::Write;

use folio::{Database, Session};
use tempfile::TempDir;

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

/// A case of the file.
#[derive(Default)]
struct Script {
    setup: Vec<String>,
    cases: Vec<Case>,
}

struct Case {
    line: usize,
    statement: String,
    answer: String,
}

/// Reads `+`, `>` and answer lines.
fn parse(text: &str) -> Script {
    let mut script = Script::default();
    let mut current: Option<Case> = None;
    for (number, line) in (1..).zip(text.lines()) {
        match (line.as_bytes().first(), &mut current) {
            (Some(b'+'), _) => script.setup.push(line[1..].trim().to_owned()),
            (Some(b'>'), Some(case)) if case.answer.is_empty() => {
                case.statement.push('\n');
                case.statement.push_str(&line[2..]);
            }
            (Some(b'>'), _) => {
                let statement = line[2..].to_owned();
                current = Some(Case { line: number, statement, answer: String::new() });
            }
            (None, _) => script.cases.extend(current.take()),
            (Some(_), Some(case)) => {
                let between = if case.answer.is_empty() { "" } else { "\n" };
                case.answer.push_str(between);
                case.answer.push_str(line);
            }
            (Some(_), None) => {}
        }
    }
    script.cases.extend(current);
    script
}

fn open(setup: &[String]) -> Result<(TempDir, Session)> {
    let folder = tempfile::tempdir()?;
    let mut session = Database::open(folder.path().join("data"))?.session()?;
    for statement in setup {
        session.execute(statement, &[])?;
    }
    Ok((folder, session))
}

/// Everything there is: names with their definitions, and all rows.
fn state(session: &mut Session) -> Result<String> {
    let mut all = String::new();
    let tables = "select table_name, column_name, data_type from information_schema.columns
        order by table_name, ordinal_position";
    let columns = session.execute(tables, &[])?.rows.ok_or("there are rows")?.collect_rows()?;
    let mut names: Vec<String> = Vec::new();
    for row in &columns {
        writeln!(all, "{row:?}")?;
        if let Some(folio::Value::Text(name)) = row.first()
            && !names.contains(name)
        {
            names.push(name.clone());
        }
    }
    for name in names {
        let text = format!("select * from \"{name}\" order by 1");
        let rows = session.execute(&text, &[])?.rows.ok_or("there are rows")?.collect_rows()?;
        writeln!(all, "{name}: {rows:?}")?;
    }
    Ok(all)
}

/// Runs a statement to its last row.
fn run(session: &mut Session, text: &str) -> folio::Result<()> {
    if let Some(mut rows) = session.execute(text, &[])?.rows {
        rows.collect_rows()?;
    }
    Ok(())
}

#[test]
fn what_is_refused_says_where_and_what_would_help() -> Result {
    let script = parse(include_str!("../../../conformance/sql/refused.txt"));
    assert!(script.setup.len() > 5 && script.cases.len() > 100, "the file has its cases");
    let (_folder, mut session) = open(&script.setup)?;
    let before = state(&mut session)?;
    let mut failures = String::new();
    for case in &script.cases {
        let answer = match run(&mut session, &case.statement) {
            Ok(()) => "(it was accepted)".to_owned(),
            Err(error) => error.to_string(),
        };
        // The expected tokens of the grammar are help enough.
        let is_helpful = answer.contains("  help: ") || answer.starts_with("expected ");
        let is_reported = answer.contains('^') && is_helpful;
        if answer != case.answer || !is_reported {
            let shown: Vec<String> =
                case.statement.lines().map(|line| format!("> {line}")).collect();
            let note = if is_reported { "" } else { "(no place, or no help)\n" };
            writeln!(failures, "line {}: {note}{}\n{answer}\n", case.line, shown.join("\n"))?;
        }
        if state(&mut session)? != before {
            writeln!(failures, "line {}: it changed something", case.line)?;
            break;
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
    Ok(())
}

/// A statement of about a megabyte, or of ten thousand terms, and whether it is
/// answered.
#[test]
fn statements_of_unusual_size_are_answered_or_refused() -> Result {
    let (_folder, mut session) = open(&["create table t (id int primary key, name text)".into()])?;
    let before = state(&mut session)?;
    let many = |between: &str, term: &str| vec![term; 10_000].join(between);
    let long = "x".repeat(1 << 20);
    let accepted = [
        format!("select {}", many(" + ", "1")),
        format!("select * from t where {}", many(" or ", "id = 1")),
        format!("select * from t where {}", many(" and ", "id <> 1")),
        format!("select * from t where id in ({})", many(", ", "1")),
        format!("select {}", many(", ", "1")),
        format!("select '{long}'"),
        format!("select 1 /* {long} */"),
        format!("select 1{}", " ".repeat(1 << 20)),
        format!("select {}", many(" || ", "'a'")),
        format!("select {}1{}", "(".repeat(10_000), ")".repeat(10_000)),
        format!("select {} 1", "- ".repeat(10_000)),
        format!("{}select 1{}", "select * from (".repeat(1_000), ") x".repeat(1_000)),
        format!("select 1{}", "::int".repeat(10_000)),
        format!("select '[]'::json{}", " -> 0".repeat(10_000)),
        format!(
            "with c0 as (select 1 as x){} select * from c999",
            (1..1000).map(|n| format!(", c{n} as (select * from c{})", n - 1)).collect::<String>()
        ),
    ];
    for text in &accepted {
        let done = run(&mut session, text).map_err(|error| error.to_string());
        assert_eq!(done, Ok(()), "{text:.60}…");
    }
    let refused = [
        format!("select {} 1", "not ".repeat(10_000)),
        format!("select {long}"),
        format!("select * from {long}"),
        format!("select '{long}"),
        format!("select {} from t", many(" + ", "id + nme")),
        format!("select 1 {}", many(" ", "union select 'a'")),
        format!("select {}", "case when true then ".repeat(10_000)),
        "🙂".repeat(1 << 18),
        format!("select {}1{}", "(".repeat(100_000), ")".repeat(100_000)),
    ];
    for text in &refused {
        let error = match run(&mut session, text) {
            Ok(()) => return Err(format!("{text:.60}… was accepted").into()),
            Err(error) => error.to_string(),
        };
        assert!(error.contains('^'), "{text:.60}…: {error:.400}");
        // The error shows the place, not the megabyte around it.
        assert!(error.len() < 2_000, "{text:.60}…: {} bytes of message", error.len());
    }
    assert_eq!(state(&mut session)?, before);
    Ok(())
}

/// Time is linear in the size: each of these took more than ten seconds when it was quadratic.
#[test]
fn long_statements_take_time_by_their_length() -> Result {
    let (_folder, mut session) = open(&[])?;
    let numbers = |count: usize| (1..=count).map(|n| n.to_string()).collect::<Vec<_>>();
    let from = "from generate_series(1, 20000) as s(n)";
    let statements = [
        format!("select {}", vec!["1"; 20_000].join("+")),
        format!("select {}", vec!["'a'"; 20_000].join("||")),
        format!("select count(*) {from} where n in ({})", numbers(100_000).join(",")),
        format!("select count(*) {from} where n::text not in ('{}')", numbers(50_000).join("','")),
    ];
    for text in &statements {
        let begun = std::time::Instant::now();
        run(&mut session, text).map_err(|error| error.to_string())?;
        assert!(begun.elapsed().as_secs() < 8, "{text:.80}…: {:?}", begun.elapsed());
    }
    Ok(())
}
