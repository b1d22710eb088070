//! `folio list`: lists collections, or the ids of one.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use crate::arguments::{Printing, Targets, open_to_read};
use crate::console::Console;
use crate::failure::Failure;
use crate::output::{Format, print_objects, resolve};

/// List collections and tables, or the ids of one collection
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    targets: Targets,

    /// Print only the names of the collections, one per line
    #[arg(long, conflicts_with_all = ["collection", "output", "jsonl", "json"])]
    names: bool,

    #[command(flatten)]
    printing: Printing,
}

const EXAMPLES: &str = "\
Examples:
  $ folio list ./data
  $ folio list ./data -c users
  $ folio list ./data --json
  $ for name in $(folio list ./data --names); do folio export ./data -c $name -O $name.csv; done";

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<ExitCode, Failure> {
    let database = open_to_read(&arguments.targets.database)?;
    let format = arguments.printing.format();
    if let Some(name) = &arguments.targets.collection {
        let collection = database.collection(name)?;
        console.print_notices(&collection);
        return print_ids(&collection, format);
    }
    if arguments.names {
        for name in database.collections()? {
            console.print(&name)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let mut objects = Vec::new();
    for name in database.collections()? {
        let collection = database.collection(&name)?;
        objects
            .push(json!({"collection": name, "document_count": collection.count()?}).to_string());
        console.print_notices(&collection);
    }
    for table in database.tables()?.list()? {
        objects.push(json!({"table": table.name, "row_count": table.row_count}).to_string());
    }
    print_objects(&objects, resolve(format, console), console)?;
    Ok(ExitCode::SUCCESS)
}

/// Ids are printed one per line, as they are, unless a format is asked for.
fn print_ids(collection: &folio::Collection, format: Option<Format>) -> Result<ExitCode, Failure> {
    let mut out = io::BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let mut is_first = true;
    for id in collection.ids()? {
        let id = id?;
        match format {
            Some(Format::Json) => write!(out, "{}\"{id}\"", if is_first { "[\n" } else { ",\n" })?,
            Some(Format::Jsonl) => writeln!(out, "{{\"_id\":\"{id}\"}}")?,
            _ => writeln!(out, "{id}")?,
        }
        is_first = false;
    }
    if format == Some(Format::Json) {
        writeln!(out, "{}", if is_first { "[]" } else { "\n]" })?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
