//! `folio pack`: packs a database into one file.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use folio::PackOptions;

use crate::arguments::open_to_read;
use crate::console::Console;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::words::plural;

/// Pack a database into one .zds archive
///
/// The archive holds only the live documents and is itself a database that can be read. Without
/// --compress it is read in place, without unpacking. Each collection is packed as of one moment,
/// one after the other.
///
/// A URL of a bucket (s3://, gs://, az://) writes the archive there.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The database
    #[arg(value_name = "DATABASE")]
    database: PathBuf,

    /// The archive to write: a file, or a URL in a bucket
    #[arg(value_name = "ARCHIVE")]
    archive: PathBuf,

    /// Compress: smaller, and slower to read from
    #[arg(long)]
    compress: bool,
}

const EXAMPLES: &str = "\
Examples:
  $ folio pack ./data ./packed.zds
  $ folio get ./packed.zds -c users user_001";

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<ExitCode, Failure> {
    let database = open_to_read(&arguments.database)?;
    let progress = Progress::begin(console, "packing");
    let options = PackOptions { compress: arguments.compress };
    let report = database
        .pack(&arguments.archive, &options, &mut |done, total| progress.report(done, total))?;
    drop(progress);
    console.notices(&report.notices);
    console.confirm(&format!(
        "packed {} of {} into {}, {}",
        plural(report.document_count, "document"),
        plural(report.collection_count, "collection"),
        arguments.archive.display(),
        plural(report.size, "byte")
    ))?;
    Ok(ExitCode::SUCCESS)
}
