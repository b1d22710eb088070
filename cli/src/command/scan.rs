//! `folio scan`: prints documents in file order.

use std::process::ExitCode;

use clap::Args;
use folio::export::ExportOptions;

use crate::arguments::{Printing, Target, count};
use crate::console::Console;
use crate::failure::Failure;
use crate::output;

/// Print the documents of a collection in file order
///
/// Prints the first hundred as a table on a terminal, otherwise all of them as JSON Lines,
/// streaming.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: Target,

    /// Only these fields, as dotted paths; "_id" always comes first
    #[arg(long, value_name = "PATHS", value_delimiter = ',')]
    fields: Vec<String>,

    /// Only documents that meet this SQL condition
    #[arg(long = "where", value_name = "CONDITION")]
    condition: Option<String>,

    /// The maximum number of documents
    #[arg(long, value_name = "COUNT", value_parser = count, allow_negative_numbers = true)]
    limit: Option<u64>,

    #[command(flatten)]
    printing: Printing,
}

const EXAMPLES: &str = "\
Examples:
  $ folio scan ./data -c train --jsonl
  $ folio scan ./data -c users --fields name,address.city --limit 10
  $ folio scan ./data -c users --where \"name like 'A%'\"
  $ folio scan ./data -c users -o md";

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<ExitCode, Failure> {
    let collection = arguments.target.open_to_read()?;
    console.print_notices(&collection);
    let format = output::resolve(arguments.printing.format(), console);
    let options = ExportOptions {
        fields: arguments.fields.clone(),
        limit: arguments.limit,
        condition: arguments.condition.clone(),
        ..ExportOptions::default()
    };
    output::print_collection(&collection, format, options, console)?;
    console.print_notices(&collection);
    Ok(ExitCode::SUCCESS)
}
