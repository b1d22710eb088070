//! `folio rename`: renames a collection.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::arguments::open_to_change;
use crate::console::Console;
use crate::failure::Failure;

/// Rename a collection
///
/// Tables are renamed by SQL: `folio sql DATABASE "alter table NAME rename to NEW"`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The database
    #[arg(value_name = "DATABASE")]
    database: PathBuf,

    /// The collection
    #[arg(value_name = "COLLECTION")]
    collection: String,

    /// Its new name
    #[arg(value_name = "NEW")]
    new_name: String,
}

const EXAMPLES: &str = "\
Examples:
  $ folio rename ./data users people";

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<ExitCode, Failure> {
    let Arguments { database, collection, new_name } = arguments;
    let database = open_to_change(database)?;
    database.rename_collection(collection, new_name)?;
    console.confirm(&format!("renamed {collection} to {new_name}"))?;
    database.close()?;
    Ok(ExitCode::SUCCESS)
}
