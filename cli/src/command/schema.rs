//! `folio schema`: the structs of a database, and the types of its collections.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use folio::{PathSummary, TypeLanguage};

use crate::arguments::{Printing, Target, open_or_create, open_to_read};
use crate::console::Console;
use crate::failure::Failure;
use crate::output::{print_objects, resolve};
use crate::text;
use crate::words::plural;

/// Declare, show and check the structs of a database; show the types of a collection
///
/// The database of structs is created if it is missing.
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
  $ folio schema infer ./data -c users
  $ folio schema types ./data -c users --lang ts > users.d.ts

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
    /// Print what the documents of a collection have at each path
    ///
    /// A row has the path, its type, the share of documents that have it, about how many distinct
    /// values there are, the smallest and the largest, examples, and the kinds of values with their
    /// numbers. In a list, the share is that of its elements. Documents that were replaced or deleted
    /// count too, until `folio compact` or `folio reindex`.
    Infer {
        #[command(flatten)]
        target: Target,

        #[command(flatten)]
        printing: Printing,
    },
    /// Print the types of the documents of a collection as source text
    ///
    /// A member that some documents lack is optional. Typed dictionaries need Python 3.11, models
    /// pydantic 2.
    Types {
        #[command(flatten)]
        target: Target,

        /// The language
        #[arg(long, value_enum)]
        lang: Language,

        /// What to write in Python; by default typeddict
        #[arg(long, value_enum)]
        style: Option<Style>,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Language {
    /// TypeScript: interfaces
    Ts,
    /// Python
    Py,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Style {
    /// Classes that derive from TypedDict
    Typeddict,
    /// Models of pydantic
    Pydantic,
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
            let text = open_to_read(database)?.schema()?;
            print(&text.lines().map(str::to_owned).collect::<Vec<_>>(), console)?;
            Ok(ExitCode::SUCCESS)
        }
        Action::Infer { target, printing } => {
            let collection = target.open_to_read()?;
            let rows: Vec<_> = collection.fields()?.iter().map(PathSummary::to_json).collect();
            console.print_notices(&collection);
            print_objects(&rows, resolve(printing.format(), console), console)?;
            let older = collection.types()?.document_count().saturating_sub(collection.count()?);
            if rows.is_empty() {
                console.note("the collection has no documents");
            } else if older > 0 {
                let lines = plural(older, "replaced or deleted document");
                console.note(&format!("counts include {lines}; `folio reindex` leaves them out"));
            }
            Ok(ExitCode::SUCCESS)
        }
        Action::Types { target, lang, style } => {
            let language = match (lang, style) {
                (Language::Ts, Some(_)) => {
                    return Err(Failure::Usage("--style needs --lang py".to_owned()));
                }
                (Language::Ts, None) => TypeLanguage::TypeScript,
                (Language::Py, None | Some(Style::Typeddict)) => TypeLanguage::TypedDict,
                (Language::Py, Some(Style::Pydantic)) => TypeLanguage::Pydantic,
            };
            let collection = target.open_to_read()?;
            let text = collection.type_source(language)?;
            console.print_notices(&collection);
            print(&text.lines().map(str::to_owned).collect::<Vec<_>>(), console)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn print(lines: &[String], console: &Console) -> Result<(), Failure> {
    lines.iter().try_for_each(|line| Ok(console.print(line)?))
}
