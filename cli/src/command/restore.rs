//! `folio restore`: creates a database from the text of `folio dump`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use folio::Database;

use crate::console::Console;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::words::plural;

/// Create a database from what `folio dump` wrote
///
/// The database must be missing or empty, and appears once it is complete. Tables are restored in
/// one transaction, with their constraints checked; then the collections, as lines; then the views.
/// A view that cannot be read, since it lacks a table or a column, is reported and restored as it
/// was. The text may have been edited: an invalid line is refused and reported by file and number.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The directory that `folio dump` wrote
    #[arg(value_name = "DIR")]
    source: PathBuf,

    /// The database to create
    #[arg(value_name = "DATABASE")]
    database: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  $ folio dump ./data ./text
  $ folio restore ./text ./copy";

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<ExitCode, Failure> {
    let progress = Progress::begin(console, "restoring");
    let report = &mut |done, total| progress.report(done, total);
    let report = Database::restore(&arguments.source, &arguments.database, report)?;
    drop(progress);
    for sentence in &report.unreadable_views {
        console.note(&format!("{sentence}; it is restored as it was"));
    }
    let unreadable = match report.unreadable_views.len() as u64 {
        0 => String::new(),
        count => format!("; {} cannot be read", plural(count, "view")),
    };
    console.confirm(&format!(
        "restored {} of {} and {}{unreadable}",
        plural(report.row_count, "row"),
        plural(report.table_count, "table"),
        plural(report.document_count, "document")
    ))?;
    Ok(ExitCode::SUCCESS)
}
