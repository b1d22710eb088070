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
/// edit by hand it saves reading the data again. Of tables, columns are made again: their other
/// indexes are part of the data file.
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
    if arguments.targets.collection.is_none() {
        progress.relabel("indexing tables");
        let count = database.tables()?.reindex()?;
        if count > 0 {
            let copies = if count == 1 { "copy" } else { "copies" };
            console.confirm(&format!("tables: made {count} {copies} in columns again"))?;
        }
    }
    database.close()?;
    Ok(ExitCode::SUCCESS)
}
