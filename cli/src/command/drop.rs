//! `folio drop`: drops collections.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::arguments::open_to_change;
use crate::console::Console;
use crate::failure::Failure;

/// Drop collections with all their documents
///
/// A collection is dropped completely or not at all, even after a crash. Tables are dropped by
/// SQL: `folio sql DATABASE "drop table NAME"`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The database
    #[arg(value_name = "DATABASE")]
    database: PathBuf,

    /// The collections
    #[arg(value_name = "COLLECTION", required = true)]
    collections: Vec<String>,
}

const EXAMPLES: &str = "\
Examples:
  $ folio drop ./data users";

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<ExitCode, Failure> {
    let database = open_to_change(&arguments.database)?;
    for name in &arguments.collections {
        database.drop_collection(name)?;
        console.confirm(&format!("dropped {name}"))?;
    }
    database.close()?;
    Ok(ExitCode::SUCCESS)
}
