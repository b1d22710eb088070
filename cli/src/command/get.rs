//! `folio get`: prints documents by id.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Args;
use folio::Collection;
use folio::import::derived_id;
use folio::json::pretty;

use crate::arguments::{Printing, Target};
use crate::console::Console;
use crate::failure::Failure;
use crate::output::{Format, print_objects};

/// Print documents by id
///
/// Each document is printed as it is stored, on one line; on a terminal, and with --pretty, it is
/// indented.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: Target,

    /// The ids
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,

    /// Indent each document
    #[arg(long, conflicts_with_all = ["output", "jsonl", "json"])]
    pretty: bool,

    #[command(flatten)]
    printing: Printing,
}

const EXAMPLES: &str = "\
Examples:
  $ folio get ./data -c users user_001 --pretty
  $ folio get ./data -c users user_001 user_002 -o csv
  $ folio get ./data.zds -c users user_001";

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<ExitCode, Failure> {
    let collection = arguments.target.open_to_read()?;
    let mut found = Vec::new();
    let mut missing = None;
    for id in &arguments.ids {
        match get(&collection, id)? {
            Some(line) => found.push(line),
            None => missing = missing.or(Some(id)),
        }
    }
    console.print_notices(&collection);
    let format = arguments.printing.format();
    let is_pretty = arguments.pretty || (format.is_none() && console.is_terminal);
    if is_pretty {
        let mut out = io::stdout().lock();
        found.iter().try_for_each(|line| writeln!(out, "{}", pretty(line)))?;
    } else {
        print_objects(&found, format.unwrap_or(Format::Jsonl), console)?;
    }
    match missing {
        Some(id) => Err(no_document(&collection, id)),
        None => Ok(ExitCode::SUCCESS),
    }
}

fn get(collection: &Collection, id: &str) -> Result<Option<String>, Failure> {
    Ok(collection.get(id)?.map(folio::Document::into_raw))
}

/// The error for a missing document. Text that is not a valid id, such as a mail address, may have
/// been imported under an id derived from it.
pub(crate) fn no_document(collection: &Collection, id: &str) -> Failure {
    let name = collection.name();
    let derived = derived_id(id);
    let hint = match &*derived {
        derived if derived != id && collection.exists(derived).unwrap_or_default() => {
            format!("; it was imported as {derived:?}")
        }
        _ => format!("; list the ids with `folio list <database> -c {name}`"),
    };
    Failure::Missing(format!("no document {id:?} in collection {name:?}{hint}"))
}
