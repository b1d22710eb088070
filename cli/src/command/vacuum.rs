//! `folio vacuum`: releases the tables' free space.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::arguments::open_to_change;
use crate::console::Console;
use crate::failure::Failure;
use crate::words::plural;

/// Rewrite the tables' data file without its free pages
///
/// The space of deleted rows and dropped tables is reused automatically; this command returns it
/// to the file system. Until it is done it needs twice the disk space that the tables will take, and
/// no other process may have them open. `folio compact` does the same for collections.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The database
    #[arg(value_name = "DATABASE")]
    database: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  $ folio vacuum ./data";

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<ExitCode, Failure> {
    let database = open_to_change(&arguments.database)?;
    let text = match database.tables()?.vacuum()? {
        Some(report) => {
            format!(
                "tables: {} before, {} now",
                plural(report.size_before, "byte"),
                report.size_after
            )
        }
        None => "there are no tables".to_owned(),
    };
    database.close()?;
    console.confirm(&text)?;
    Ok(ExitCode::SUCCESS)
}
