//! `folio init`: creates an empty database.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use folio::Database;

use crate::console::Console;
use crate::failure::Failure;

/// Create an empty database
///
/// Not needed before other commands: every command that writes creates the database. An existing
/// database is left unchanged.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The directory to create
    #[arg(value_name = "DATABASE")]
    database: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  $ folio init ./new
  $ ls ./new";

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<ExitCode, Failure> {
    let database = Database::open(&arguments.database)?;
    console.notices(&database.take_notices());
    database.create()?;
    database.close()?;
    console.confirm(&format!("database ready at {}", arguments.database.display()))?;
    Ok(ExitCode::SUCCESS)
}
