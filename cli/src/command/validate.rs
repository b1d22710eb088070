//! `folio validate`: checks the whole database.

use std::process::ExitCode;

use clap::Args;
use folio::{
    CheckReport, Collection, Database, ErrorCode, InvalidLine, PageId, TableCheckReport,
    TableProblem,
};

use serde_json::json;

use super::compact::describe;
use crate::arguments::{Targets, open_to_change, open_to_read};
use crate::console::Console;
use crate::failure::{EXIT_DAMAGE, Failure};
use crate::output::{Format, print_objects};
use crate::progress::Progress;
use crate::words::plural;

/// Read everything and report damage
///
/// Collections: every line, the index against the lines, and the documents against the schema of
/// a strict collection. Tables: every page, every tree, every index entry and copy in columns
/// against its row, and free space. The exit code is 0 if all is well, otherwise 3. Superseded
/// lines and tombstones are normal. With --fix, indexes of collections and columns of tables are
/// rebuilt, and lines that are not documents are moved to a file beside the data; nothing is
/// discarded. `folio salvage` saves the rows of damaged tables.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    targets: Targets,

    /// Repair what can be repaired
    #[arg(long)]
    fix: bool,

    /// Print a JSON array with an object per collection, and one for all tables
    #[arg(long, conflicts_with = "fix")]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  $ folio validate ./data
  $ folio validate ./data --json
  $ folio validate ./data -c users --fix";

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<ExitCode, Failure> {
    let open = if arguments.fix { open_to_change } else { open_to_read };
    let database = open(&arguments.targets.database)?;
    let progress = Progress::begin(console, "checking");
    if arguments.json {
        return print_json(&database, arguments, &progress, console);
    }
    let mut is_clean = true;
    for name in arguments.targets.names(&database)? {
        is_clean &= match check_one(&database, &name, arguments.fix, &progress, console) {
            Err(Failure::Database(error)) if is_damage(&error) => {
                console.print(&format!("{name}: 1 problem\n  {error}"))?;
                false
            }
            checked => checked?,
        };
    }
    if arguments.targets.collection.is_none() {
        progress.relabel("checking tables");
        is_clean &= check_tables(&database, arguments.fix, console)?;
    }
    database.close()?;
    Ok(if is_clean { ExitCode::SUCCESS } else { ExitCode::from(EXIT_DAMAGE) })
}

/// Checks the collections and prints all findings.
fn print_json(
    database: &Database,
    arguments: &Arguments,
    progress: &Progress,
    console: &Console,
) -> Result<ExitCode, Failure> {
    let mut objects = Vec::new();
    let mut is_clean = true;
    for name in arguments.targets.names(database)? {
        let report = match check(database, &name, progress) {
            Err(error) if is_damage(&error) => {
                CheckReport { problems: vec![error.to_string()], ..CheckReport::default() }
            }
            report => report?,
        };
        is_clean &= report.is_clean();
        let objects_of = |lines: &[InvalidLine]| {
            let objects = lines.iter().map(|line| {
                json!({"path": line.path, "line": line.line, "offset": line.offset, "reason": line.reason})
            });
            objects.collect::<Vec<_>>()
        };
        let object = json!({
            "collection": name,
            "is_clean": report.is_clean(),
            "document_count": report.document_count,
            "superseded_count": report.superseded_count,
            "tombstone_count": report.tombstone_count,
            "invalid_count": report.invalid_count,
            "invalid": objects_of(&report.invalid),
            "mismatch_count": report.mismatch_count,
            "mismatches": objects_of(&report.mismatches),
            "problems": report.problems,
        });
        objects.push(object.to_string());
    }
    if arguments.targets.collection.is_none()
        && let Some(report) = table_report(database)?
    {
        is_clean &= report.problems.is_empty();
        objects.push(table_object(&report));
    }
    print_objects(&objects, Format::Json, console)?;
    Ok(if is_clean { ExitCode::SUCCESS } else { ExitCode::from(EXIT_DAMAGE) })
}

fn check(database: &Database, name: &str, progress: &Progress) -> folio::Result<CheckReport> {
    database.collection(name)?.check(&mut |done, total| progress.report(done, total))
}

/// Whether damage on disk prevents opening a collection. This is a finding, and the other
/// collections are still checked.
fn is_damage(error: &folio::Error) -> bool {
    matches!(error.code(), ErrorCode::Corrupted | ErrorCode::Unsupported)
}

/// Checks a collection, and repairs it on request; `true` if it is clean afterwards.
fn check_one(
    database: &Database,
    name: &str,
    fix: bool,
    progress: &Progress,
    console: &Console,
) -> Result<bool, Failure> {
    let collection =
        if fix { database.existing_collection(name)? } else { database.collection(name)? };
    progress.relabel(&format!("checking {name}"));
    let report = collection.check(&mut |done, total| progress.report(done, total))?;
    console.print_notices(&collection);
    print_report(name, &report, console)?;
    if report.is_clean() || !fix {
        return Ok(report.is_clean());
    }
    repair(&collection, &report, progress, console)?;
    let again = collection.check(&mut |done, total| progress.report(done, total))?;
    print_report(name, &again, console)?;
    Ok(again.is_clean())
}

/// Checks all tables, and makes damaged columns again on request; `true` if they are sound
/// afterwards, or there are none.
fn check_tables(database: &Database, fix: bool, console: &Console) -> Result<bool, Failure> {
    let Some(report) = table_report(database)? else { return Ok(true) };
    console.notices(&database.tables()?.take_notices());
    print_tables(&report, console)?;
    // Columns are on no page. Nothing is made of damaged pages.
    let is_of_columns = |problem: &TableProblem| !problem.page.is_some();
    let is_clean = report.problems.is_empty();
    if is_clean || !fix || report.tables == 0 || !report.problems.iter().all(is_of_columns) {
        return Ok(is_clean);
    }
    database.tables()?.reindex()?;
    console.confirm("tables: made the columns again")?;
    let Some(again) = table_report(database)? else { return Ok(true) };
    print_tables(&again, console)?;
    Ok(again.problems.is_empty())
}

fn print_tables(report: &TableCheckReport, console: &Console) -> Result<(), Failure> {
    let counts = format!(
        "{}, {}, {} in indexes, {}",
        plural(report.tables as u64, "table"),
        plural(report.rows, "row"),
        report.index_entries,
        plural(u64::from(report.pages), "page")
    );
    if report.problems.is_empty() {
        return Ok(console.confirm(&format!("tables: ok, {counts}"))?);
    }
    let found = plural(report.problems.len() as u64, "problem");
    console.print(&format!("tables: {found}; {counts}"))?;
    for problem in &report.problems {
        console.print(&format!("  {}", problem.text))?;
    }
    Ok(())
}

/// The result of checking the tables. Tables that cannot be opened are a finding too.
fn table_report(database: &Database) -> Result<Option<TableCheckReport>, Failure> {
    match database.tables()?.check() {
        Err(error) if is_damage(&error) => {
            let problem = TableProblem { page: PageId::NONE, text: error.to_string() };
            Ok(Some(TableCheckReport { problems: vec![problem], ..TableCheckReport::default() }))
        }
        report => Ok(report?),
    }
}

fn table_object(report: &TableCheckReport) -> String {
    let problems = report.problems.iter();
    let problems = problems.map(|problem| json!({"page": problem.page.0, "text": problem.text}));
    let object = json!({
        "table_count": report.tables,
        "is_clean": report.problems.is_empty(),
        "row_count": report.rows,
        "index_entry_count": report.index_entries,
        "page_count": report.pages,
        "free_page_count": report.free_pages,
        "problems": problems.collect::<Vec<_>>(),
    });
    object.to_string()
}

fn repair(
    collection: &Collection,
    report: &CheckReport,
    progress: &Progress,
    console: &Console,
) -> Result<(), Failure> {
    let name = collection.name();
    if !report.problems.is_empty() {
        collection.reindex(&mut |done, total| progress.report(done, total))?;
        console.confirm(&format!("{name}: rebuilt the index"))?;
    }
    if report.invalid_count > 0 {
        let compacted = collection.compact(&mut |done, total| progress.report(done, total))?;
        let text = match compacted.rejected_count {
            0 => {
                "nothing was moved; correct the files, one per document, or remove them".to_owned()
            }
            _ => format!("compacted: {}", describe(&compacted)),
        };
        console.confirm(&format!("{name}: {text}"))?;
    }
    console.print_notices(collection);
    Ok(())
}

fn print_report(name: &str, report: &CheckReport, console: &Console) -> Result<(), Failure> {
    let counts = format!(
        "{}, {}, {}",
        plural(report.document_count, "document"),
        plural(report.superseded_count, "superseded line"),
        plural(report.tombstone_count, "tombstone")
    );
    if report.is_clean() {
        return Ok(console.confirm(&format!("{name}: ok, {counts}"))?);
    }
    let problem_count = report.invalid_count + report.mismatch_count + report.problems.len() as u64;
    let found = plural(problem_count, "problem");
    console.print(&format!("{name}: {found}; {counts}"))?;
    for problem in &report.problems {
        console.print(&format!("  {problem}"))?;
    }
    for (lines, count, what) in [
        (&report.invalid, report.invalid_count, "lines that are not documents"),
        (&report.mismatches, report.mismatch_count, "documents that do not follow the schema"),
    ] {
        for line in lines {
            console.print(&format!("  {line}"))?;
        }
        let more = count.saturating_sub(lines.len() as u64);
        if more > 0 {
            console.print(&format!("  and {more} more {what}"))?;
        }
    }
    Ok(())
}
