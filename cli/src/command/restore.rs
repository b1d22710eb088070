//! `folio restore`: creates a database from the text of `folio dump`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use folio::Database;

use crate::console::Console;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::words::plural;

/// Make a database of what `folio dump` wrote
///
/// The database must be missing or empty, and appears when all of it is there. Tables come back in one transaction, their rows
/// checked against each other; then the collections, as lines. The text may have been
/// edited meanwhile: what does not fit is refused, by file and line.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The directory that was written
    #[arg(value_name = "DIR")]
    source: PathBuf,

    /// The database to make
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
    console.confirm(&format!(
        "restored {} of {} and {}",
        plural(report.row_count, "row"),
        plural(report.table_count, "table"),
        plural(report.document_count, "document")
    ))?;
    Ok(ExitCode::SUCCESS)
}
