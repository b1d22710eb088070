//! `folio backup`: copies a whole database.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::arguments::open_to_read;
use crate::console::Console;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::words::plural;

/// Copy the whole database while writers continue
///
/// Each collection is copied as of one moment, and so are the tables together, one after the other.
/// What is written meanwhile may be in one of them and not in another.
///
/// The copy is an independent database. It appears under its name once it is complete and synced.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The database to copy
    #[arg(value_name = "DATABASE")]
    database: PathBuf,

    /// The directory to create
    #[arg(value_name = "TARGET")]
    target: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  $ folio backup ./data ./copy
  $ folio validate ./copy";

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<ExitCode, Failure> {
    let database = open_to_read(&arguments.database)?;
    let progress = Progress::begin(console, "copying");
    let report =
        database.backup(&arguments.target, &mut |done, total| progress.report(done, total))?;
    drop(progress);
    console.confirm(&format!(
        "copied {}, {}, to {}",
        plural(report.file_count, "file"),
        plural(report.size, "byte"),
        arguments.target.display()
    ))?;
    Ok(ExitCode::SUCCESS)
}
