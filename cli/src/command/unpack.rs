//! `folio unpack`: unpacks a database from one file.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use folio::Database;

use crate::console::Console;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::words::plural;

/// Turn a .zds archive into a database directory
///
/// The archive may be at a URL (https://, s3://, gs://, az://, hf://).
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The archive: a file, or a URL
    #[arg(value_name = "ARCHIVE")]
    archive: PathBuf,

    /// The directory to create
    #[arg(value_name = "DATABASE")]
    database: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  $ folio unpack ./data.zds ./unpacked
  $ folio list ./unpacked";

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<ExitCode, Failure> {
    let progress = Progress::begin(console, "unpacking");
    let report = Database::unpack(&arguments.archive, &arguments.database, &mut |done, total| {
        progress.report(done, total)
    })?;
    drop(progress);
    for name in &report.skipped {
        console.note(&format!("left out {name:?}, which is not part of a database"));
    }
    console.confirm(&format!(
        "unpacked {}, {}, into {}",
        plural(report.file_count, "file"),
        plural(report.size, "byte"),
        arguments.database.display()
    ))?;
    Ok(ExitCode::SUCCESS)
}
