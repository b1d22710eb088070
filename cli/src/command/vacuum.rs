//! `folio vacuum`: releases the tables' free space.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::arguments::open_to_change;
use crate::console::Console;
use crate::failure::Failure;
use crate::words::plural;

/// Write the tables' data file anew, without its free pages
///
/// Space of deleted rows and dropped tables is used again by itself; this gives
/// it back. Needs as much space on the disk as the tables will take, and
/// nobody else may have them open. `folio compact` does this for collections.
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
