//! `folio sql`: runs statements over tables, collections and files.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use folio::{Database, Interrupt};
use signal_hook::consts::SIGINT;
use signal_hook::flag;

use crate::arguments::{Limits, Printing};
use crate::console::Console;
use crate::failure::Failure;
use crate::waiting::Waiting;
use crate::{output, parameters, text};

/// Run SQL over tables, collections and files
///
/// All statements run in order; the rows of the last one are printed, as a table on a terminal,
/// otherwise as JSON Lines. The database is created when a statement writes to it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The database: a directory, a .zds archive to read from, or :memory:
    #[arg(value_name = "DATABASE")]
    database: PathBuf,

    /// The statements, separated by semicolons; by default standard input
    #[arg(value_name = "SQL")]
    statements: Option<String>,

    /// A parameter: NAME=VALUE is :name in the statements, VALUE alone is the next ? or $1. The
    /// value is JSON, otherwise a string; NAME:TYPE=VALUE sets its type
    #[arg(short, long = "param", value_name = "[NAME=]VALUE", allow_negative_numbers = true)]
    parameters: Vec<String>,

    #[command(flatten)]
    limits: Limits,

    #[command(flatten)]
    printing: Printing,
}

const EXAMPLES: &str = "\
Examples:
  $ folio sql ./data \"create table cities (id int primary key, name text, people bigint)\"
  $ folio sql ./data \"insert into cities values (1, 'Oslo', 717710), (2, 'Bergen', 291940)\"
  $ folio sql ./data \"select name from cities where people > 500000 order by name\" -o md
  $ folio sql ./data \"select * from cities where name = :name\" -p name=Oslo
  $ folio sql ./data \"select name from cities where people > ? and id in (?, ?)\" -p 1e5 -p 1 -p 2";

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<ExitCode, Failure> {
    let parameters = parameters::by_name_or_position(&arguments.parameters)?;
    let (path, text) = named(arguments, console)?;
    let database = Database::open(path)?;
    let _ = database.take_notices(); // of the place, which `init` and `import` tell
    let mut session = database.session()?;
    arguments.limits.set(&mut session)?;
    watch(session.interrupt());
    let waiting = Waiting::begin(console, &mut session);
    let answer = session.sql_alone(&text, &parameters);
    drop(waiting);
    let answer = answer?;
    match answer.rows {
        Some(rows) => {
            let format = output::resolve(arguments.printing.format(), console);
            output::print_rows_of_query(rows, format, &output::Style::new(console), console)?;
        }
        None => {
            if let Some(count) = answer.count.filter(|count| *count > 0) {
                let rows = if count == 1 { "row" } else { "rows" };
                console.note(&format!("{count} {rows} changed"));
            }
        }
    }
    console.print_notices_of_statements(&database);
    database.close()?;
    Ok(ExitCode::SUCCESS)
}

/// The database and the statements. If the first argument is a statement and not a path, it runs in
/// memory.
fn named(arguments: &Arguments, console: &Console) -> Result<(PathBuf, String), Failure> {
    let path = &arguments.database;
    if let Some(text) = &arguments.statements {
        return Ok((path.clone(), text.clone()));
    }
    let word = path.to_string_lossy();
    if word.contains(char::is_whitespace) && !path.exists() {
        console.note("no database given: the statements run in memory");
        return Ok((PathBuf::from(":memory:"), word.into_owned()));
    }
    Ok((path.clone(), text::of_statements()?))
}

/// Makes Ctrl-C end the statement, and a second one end the process.
pub(crate) fn watch(interrupt: Interrupt) {
    // Without the handler Ctrl-C ends the process at once, as by default.
    let _ = flag::register_conditional_shutdown(SIGINT, 130, Arc::clone(&interrupt));
    let _ = flag::register(SIGINT, interrupt);
}
