//! `folio lsp`: a language server for SQL and ZiQL, for editors.
//!
//! ```text
//! standard input ─ frame ─ session ─ server ─ standard output
//!                            │         ├─ document: a text, its positions in UTF-16
//!                            │         ├─ check: the statements of a text, compiled
//!                            │         └─ known: the database, if there is one, and its names
//!                            └─ in order; a request that is cancelled before its turn is not answered
//! ```
//!
//! The database is only read, and opened when it is there: an editor may create it later. Without
//! one, the syntax is checked and nothing else.

mod check;
mod document;
mod frame;
mod known;
mod server;
mod session;

use std::io::{self, BufReader};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::failure::Failure;
use server::Server;

/// Check and complete SQL and ZiQL in an editor: a language server
///
/// Speaks the Language Server Protocol on standard input and output, and ends with its input. With
/// a database, names are checked and completed; it is only read. An editor may name the database
/// in the option `database` of its request to initialize.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The database whose names are checked: a directory, or a .zds archive
    #[arg(long, value_name = "DATABASE")]
    db: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  $ folio lsp --db ./data < /dev/null
  $ folio lsp < /dev/null";

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let input = BufReader::new(io::stdin());
    let server = Server::new(arguments.db.clone());
    Ok(ExitCode::from(session::run(input, server)?))
}
