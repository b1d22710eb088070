//! `folio reindex`: rebuilds indexes.

use std::process::ExitCode;

use clap::Args;

use crate::arguments::{Targets, open_to_change};
use crate::console::Console;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::words::plural;

/// Rebuild the indexes from the data files
///
/// Never needed for correctness: an index that does not match its data is not used. After a large
/// edit by hand it saves reading the data again.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    targets: Targets,
}

const EXAMPLES: &str = "\
Examples:
  $ folio reindex ./data
  $ folio reindex ./data -c users";

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<ExitCode, Failure> {
    let database = open_to_change(&arguments.targets.database)?;
    let progress = Progress::begin(console, "indexing");
    for name in arguments.targets.names(&database)? {
        let collection = database.existing_collection(&name)?;
        progress.relabel(&format!("indexing {name}"));
        collection.reindex(&mut |done, total| progress.report(done, total))?;
        console.print_notices(&collection);
        console.confirm(&format!("{name}: indexed {}", plural(collection.count()?, "document")))?;
    }
    database.close()?;
    Ok(ExitCode::SUCCESS)
}
