//! `folio dump`: writes a whole database as text.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use folio::dump;

use crate::arguments::open_to_read;
use crate::console::Console;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::words::plural;

/// Write a whole database as text that `folio restore` reads
///
/// The directory, which must be missing or empty, gets the schema of the structs, the statements
/// that create the other tables and the views, and a file of rows or documents per table and
/// collection. Structs that SQL has changed in ways that no schema expresses are statements too.
/// Every value is restored exactly, json as a string with its text. CSV cannot carry documents: with
/// it, collections are JSON Lines. The directory appears once it is complete. To copy the files
/// themselves use `folio backup`.
///
/// Each collection is written as of one moment, and so are the tables together, one after the other.
/// What is written meanwhile may be in one of them and not in another.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The database: a directory, or a .zds archive
    #[arg(value_name = "DATABASE")]
    database: PathBuf,

    /// The directory to write
    #[arg(value_name = "DIR")]
    target: PathBuf,

    /// How rows and documents are written
    #[arg(short, long, value_enum, default_value_t = Format::Json)]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  $ folio dump ./data ./text
  $ folio dump ./data ./sheets --format csv
  $ folio restore ./text ./copy";

/// How rows and documents are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// JSON Lines
    Json,
    /// Comma-separated values for tables, JSON Lines for collections
    Csv,
    /// Amazon Ion text
    Ion,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<ExitCode, Failure> {
    let format = match arguments.format {
        Format::Json => dump::Format::JsonLines,
        Format::Csv => dump::Format::Csv,
        Format::Ion => dump::Format::Ion,
    };
    let database = open_to_read(&arguments.database)?;
    let progress = Progress::begin(console, "dumping");
    let report = database
        .dump(&arguments.target, format, &mut |done, total| progress.report(done, total))?;
    drop(progress);
    console.notices(&database.take_notices());
    console.confirm(&format!(
        "wrote {} of {} and {} into {}",
        plural(report.row_count, "row"),
        plural(report.table_count, "table"),
        plural(report.document_count, "document"),
        arguments.target.display()
    ))?;
    Ok(ExitCode::SUCCESS)
}
