//! `folio ziql`: the entity language.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::sql::watch;
use crate::arguments::{Limits, Printing, open_or_create};
use crate::console::Console;
use crate::failure::Failure;
use crate::{output, parameters, text};

/// Run ZiQL: grab, add, update and delete entities
///
/// All chains run in order, each completely or not at all; the result of the last statement is
/// printed, as a table on a terminal, otherwise as JSON Lines. The database is created if it is
/// missing.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The database: a directory, or a .zds archive to read from
    #[arg(value_name = "DATABASE")]
    database: PathBuf,

    /// The statements, separated by semicolons; by default standard input
    #[arg(value_name = "ZIQL")]
    statements: Option<String>,

    /// A parameter, `$name` in the statements: a JSON value, otherwise a string; NAME:TYPE=VALUE
    /// sets its type
    #[arg(short, long = "param", value_name = "NAME=VALUE")]
    parameters: Vec<String>,

    #[command(flatten)]
    limits: Limits,

    #[command(flatten)]
    printing: Printing,
}

const EXAMPLES: &str = "\
Examples:
  $ folio schema apply ./data schema.zq
  $ folio ziql ./data \"ADD User (name = 'Ann', age = 34) ('Bob', 20)\"
  $ folio ziql ./data \"GRAB User [10; name, posts [3; title] |DESC at|] {age > 30} |name|\"
  $ folio ziql ./data 'GRAB User {name = $who}' -p who=Ann -o json";

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<ExitCode, Failure> {
    let parameters = parameters::by_name(&arguments.parameters)?;
    let text = match &arguments.statements {
        Some(text) => text.clone(),
        None => text::of_statements()?,
    };
    let database = open_or_create(&arguments.database, console)?;
    let _ = database.take_notices(); // of the place, which `init` and `import` tell
    let mut session = database.session()?;
    arguments.limits.set(&mut session)?;
    watch(session.interrupt());
    let rows = session.ziql(&text, &parameters.by_name())?;
    let format = output::resolve(arguments.printing.format(), console);
    output::print_rows_of_query(rows, format, &output::Style::new(console), console)?;
    console.print_notices_of_statements(&database);
    database.close()?;
    Ok(ExitCode::SUCCESS)
}
