//! `folio shell`: statements typed one after the other.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::arguments::{Limits, Printing};
use crate::console::Console;
use crate::failure::Failure;
use crate::shell;

/// Type SQL and ZiQL, and see what they answer
///
/// Statements end with a semicolon and may have many lines; a statement that can only
/// be ZiQL is run as such, and so the other way round. Tab completes keywords, tables
/// and columns, the history is kept, Ctrl-C cancels the statement under way, .help
/// lists what the shell itself does, Ctrl-D leaves. The database is created when a
/// statement writes to it. `folio PATH` is short for this where PATH is a database.
///
/// Input that is no terminal is run to its end, or to its first error.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The database: a directory, or a .zds archive to read from
    #[arg(value_name = "DATABASE")]
    database: PathBuf,

    /// Begin in ZiQL
    #[arg(long)]
    ziql: bool,

    #[command(flatten)]
    limits: Limits,

    #[command(flatten)]
    printing: Printing,
}

const EXAMPLES: &str = "\
Examples:
  $ folio shell ./data
  $ echo 'select name from planets; .tables' | folio shell ./data
  $ folio shell ./data --ziql -o table < script.zq";

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<ExitCode, Failure> {
    let Arguments { database, ziql, limits, printing } = arguments;
    shell::run(database, *ziql, limits, printing.format(), console)
}
