//! `folio stats`: counts and sizes.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use crate::arguments::{Printing, Targets, open_to_read};
use crate::console::Console;
use crate::failure::Failure;
use crate::output::{print_objects, resolve};

/// Print counts and sizes of the collections
///
/// Sizes are in bytes. Dead lines are superseded or deleted documents, which
/// `folio compact` removes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    targets: Targets,

    #[command(flatten)]
    printing: Printing,
}

const EXAMPLES: &str = "\
Examples:
  $ folio stats ./data
  $ folio stats ./data --json";

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<ExitCode, Failure> {
    let database = open_to_read(&arguments.targets.database)?;
    let mut objects = Vec::new();
    for name in arguments.targets.names(&database)? {
        let collection = database.collection(&name)?;
        let stats = collection.stats()?;
        console.tell_notices(&collection);
        let object = json!({
            "collection": name,
            "document_count": stats.document_count,
            "dead_count": stats.dead_count,
            "live_size": stats.live_size,
            "data_size": stats.data_size,
            "index_size": stats.index_size,
        });
        objects.push(object.to_string());
    }
    print_objects(&objects, resolve(arguments.printing.format(), console), console)?;
    Ok(ExitCode::SUCCESS)
}
