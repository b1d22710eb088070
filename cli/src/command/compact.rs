//! `folio compact`: removes dead lines.

use std::process::ExitCode;

use clap::Args;
use folio::CompactReport;

use crate::arguments::{Targets, open_to_change};
use crate::console::Console;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::words::plural;

/// Rewrite the data files without superseded and deleted documents
///
/// Documents keep their order and their text. Lines that are not documents move to a separate
/// file beside the data, whose name is reported.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    targets: Targets,
}

const EXAMPLES: &str = "\
Examples:
  $ folio compact ./data
  $ folio compact ./data -c users";

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<ExitCode, Failure> {
    let database = open_to_change(&arguments.targets.database)?;
    let progress = Progress::begin(console, "compacting");
    for name in arguments.targets.names(&database)? {
        let collection = database.existing_collection(&name)?;
        progress.relabel(&format!("compacting {name}"));
        let report = collection.compact(&mut |done, total| progress.report(done, total))?;
        console.print_notices(&collection);
        console.confirm(&format!("{name}: {}", describe(&report)))?;
    }
    database.close()?;
    Ok(ExitCode::SUCCESS)
}

/// The result of a compaction, in words.
pub(crate) fn describe(report: &CompactReport) -> String {
    let (before, after) = (plural(report.size_before, "byte"), report.size_after);
    let mut text =
        format!("{}, {before} before, {after} now", plural(report.document_count, "document"));
    if let Some(path) = &report.rejected_path {
        text += &format!("; {} moved to {}", plural(report.rejected_count, "line"), path.display());
    }
    text
}
