//! `folio delete`: deletes documents.

use std::process::ExitCode;

use clap::Args;

use super::get::no_document;
use crate::arguments::Target;
use crate::console::Console;
use crate::failure::Failure;

/// Delete documents by id
///
/// The space is reclaimed by `folio compact`, and automatically once more than half of a large
/// collection is dead.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: Target,

    /// The ids
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
}

const EXAMPLES: &str = "\
Examples:
  $ folio delete ./data -c users user_001";

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<ExitCode, Failure> {
    let (database, collection) = arguments.target.open_to_change()?;
    let mut missing = None;
    for id in &arguments.ids {
        if collection.delete(id)? {
            console.confirm(&format!("deleted {id}"))?;
        } else {
            missing = missing.or(Some(id));
        }
    }
    console.print_notices(&collection);
    let failure = missing.map(|id| no_document(&collection, id));
    database.close()?;
    failure.map_or(Ok(ExitCode::SUCCESS), Err)
}
