//! `folio schema`: the structs of a database.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::arguments::{open_or_create, open_to_read};
use crate::console::Console;
use crate::failure::Failure;
use crate::text;

/// Declare, show and check the structs of a database
///
/// The database is created if it is missing.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

const EXAMPLES: &str = "\
Examples:
  $ folio schema apply ./data schema.zq
  $ folio schema check ./data schema.zq
  $ folio schema show ./data

A schema reads:
  User ( name: str, email: str? unique, best_friend: User, posts: []Post.author )
  Post ( title: str, at: datetime = NOW, author: User on delete cascade )";

#[derive(Debug, Subcommand)]
enum Action {
    /// Create the structs that a file declares, in one transaction
    ///
    /// Each change is printed on its own line.
    Apply {
        #[command(flatten)]
        file: File,
    },
    /// Print what `apply` would change; the exit code is 1 if there are changes
    Check {
        #[command(flatten)]
        file: File,
    },
    /// Print the existing structs
    Show {
        /// The database
        #[arg(value_name = "DATABASE")]
        database: PathBuf,
    },
}

#[derive(Debug, Args)]
struct File {
    /// The database
    #[arg(value_name = "DATABASE")]
    database: PathBuf,

    /// The schema; by default standard input
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    /// Drop structs and members that the schema leaves out, with their data
    #[arg(long)]
    allow_drop: bool,
}

impl File {
    fn text(&self, console: &Console) -> Result<String, Failure> {
        match &self.file {
            Some(file) => text::of_file(file),
            None => {
                if io::stdin().is_terminal() {
                    console.note("reading a schema from the terminal; end with Ctrl-D");
                }
                text::of_input()
            }
        }
    }
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<ExitCode, Failure> {
    match &arguments.action {
        Action::Apply { file } => {
            let text = file.text(console)?;
            let database = open_or_create(&file.database, console)?;
            let lines = database.apply_schema(&text, file.allow_drop)?;
            database.close()?;
            print(&lines, console)?;
            if lines.is_empty() {
                console.note("nothing to change");
            }
            Ok(ExitCode::SUCCESS)
        }
        Action::Check { file } => {
            let text = file.text(console)?;
            let database = open_or_create(&file.database, console)?;
            let lines = database.check_schema(&text, file.allow_drop)?;
            print(&lines, console)?;
            Ok(if lines.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        Action::Show { database } => {
            let database = match database.exists() {
                true => open_to_read(database)?,
                false => open_or_create(database, console)?,
            };
            let text = database.schema()?;
            print(&text.lines().map(str::to_owned).collect::<Vec<_>>(), console)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn print(lines: &[String], console: &Console) -> Result<(), Failure> {
    lines.iter().try_for_each(|line| Ok(console.print(line)?))
}
