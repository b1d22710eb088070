//! `folio salvage`: saves rows of damaged tables.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use folio::{Database, SalvageReport, SalvagedTable};
use serde_json::json;

use crate::console::Console;
use crate::failure::{EXIT_DAMAGE, Failure};
use crate::words::plural;

/// Save the rows of damaged tables into a new database
///
/// The damaged files are only read; the tables need not open. Every intact row is saved, with its
/// table, its indexes and the views. Collections are left out: they are text files that `folio
/// validate --fix` repairs in place. The exit code is 3 if anything was damaged.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The database whose tables are damaged
    #[arg(value_name = "DATABASE")]
    database: PathBuf,

    /// The directory to create
    #[arg(value_name = "TARGET")]
    target: PathBuf,

    /// Print the report as a JSON object
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  $ folio salvage ./data ./saved
  $ folio check ./saved";

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<ExitCode, Failure> {
    let report = Database::salvage(&arguments.database, &arguments.target)?;
    if arguments.json {
        console.print(&object(&report))?;
    } else {
        print_report(&report, console)?;
    }
    let is_sound = report.damaged_pages == 0
        && report.problems.is_empty()
        && report.tables.iter().all(|table| missing(table) == 0);
    Ok(if is_sound { ExitCode::SUCCESS } else { ExitCode::from(EXIT_DAMAGE) })
}

/// The number of rows known to have existed that are not saved.
fn missing(table: &SalvagedTable) -> u64 {
    table.expected.map_or(table.broken, |expected| expected.saturating_sub(table.rows))
}

fn print_report(report: &SalvageReport, console: &Console) -> Result<(), Failure> {
    for table in &report.tables {
        let (rows, missing) = (plural(table.rows, "row"), missing(table));
        let lost = match table.expected {
            _ if missing == 0 => String::new(),
            Some(expected) => format!(" of {expected}"),
            None => format!(", {missing} broken"),
        };
        console.print(&format!("{}: {rows}{lost} saved", table.name))?;
    }
    if report.views > 0 {
        console.print(&format!("{} saved", plural(report.views as u64, "view")))?;
    }
    for problem in &report.problems {
        console.print(&format!("  {problem}"))?;
    }
    Ok(())
}

fn object(report: &SalvageReport) -> String {
    let tables = report.tables.iter().map(|table| {
        json!({
            "table": table.name,
            "row_count": table.rows,
            "expected_count": table.expected,
            "broken_count": table.broken,
        })
    });
    let object = json!({
        "tables": tables.collect::<Vec<_>>(),
        "view_count": report.views,
        "damaged_page_count": report.damaged_pages,
        "problems": report.problems,
    });
    object.to_string()
}
