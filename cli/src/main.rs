//! The `folio` command: documents in files you can read, from the shell.
//!
//! A run reads: parse the arguments, open the database, do one thing, print.
//! Every command is a file under `command/`; all of them print through
//! [`output`], fail through [`failure`] and show progress through [`progress`].
//! Nothing about the data is decided here: that is the library's.

mod arguments;
mod bench;
mod command;
mod console;
mod failure;
mod output;
mod progress;
mod shell;
mod text;
mod words;

use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

use arguments::{Cli, Command};
use console::Console;
use failure::Failure;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(words) => match shell_on_path() {
            Some(cli) => cli,
            None => return print_words(&words),
        },
    };
    let console = Console::new(cli.quiet);
    match run(cli.command, &console) {
        Ok(code) => code,
        Err(failure) => failure.report(&console),
    }
}

/// `folio PATH`, where something is at the path and no command has that name.
fn shell_on_path() -> Option<Cli> {
    let mut arguments = std::env::args_os().skip(1);
    let path = arguments.next().filter(|path| Path::new(path).exists())?;
    if arguments.next().is_some() {
        return None;
    }
    Cli::try_parse_from(["folio".into(), "shell".into(), path]).ok()
}

/// Prints the help that was asked for, or what is wrong with the arguments.
fn print_words(words: &clap::Error) -> ExitCode {
    match words.print() {
        Err(error) if !words.use_stderr() => Failure::from(error).report(&Console::new(false)),
        _ => ExitCode::from(u8::try_from(words.exit_code()).unwrap_or(1)),
    }
}

fn run(command: Command, console: &Console) -> Result<ExitCode, Failure> {
    match command {
        Command::Init(arguments) => command::init::run(&arguments, console),
        Command::Put(arguments) => command::put::run(&arguments, console),
        Command::Get(arguments) => command::get::run(&arguments, console),
        Command::Delete(arguments) => command::delete::run(&arguments, console),
        Command::Drop(arguments) => command::drop::run(&arguments, console),
        Command::Rename(arguments) => command::rename::run(&arguments, console),
        Command::Patch(arguments) => command::patch::run(&arguments, console),
        Command::Scan(arguments) => command::scan::run(&arguments, console),
        Command::Sql(arguments) => command::sql::run(&arguments, console),
        Command::Ziql(arguments) => command::ziql::run(&arguments, console),
        Command::Shell(arguments) => command::shell::run(&arguments, console),
        Command::Schema(arguments) => command::schema::run(&arguments, console),
        Command::List(arguments) => command::list::run(&arguments, console),
        Command::Stats(arguments) => command::stats::run(&arguments, console),
        Command::Import(arguments) => command::import::run(&arguments, console),
        Command::Export(arguments) => command::export::run(&arguments, console),
        Command::Ion(arguments) => command::ion::run(&arguments, console),
        Command::Validate(arguments) => command::validate::run(&arguments, console),
        Command::Reindex(arguments) => command::reindex::run(&arguments, console),
        Command::Compact(arguments) => command::compact::run(&arguments, console),
        Command::Vacuum(arguments) => command::vacuum::run(&arguments, console),
        Command::Salvage(arguments) => command::salvage::run(&arguments, console),
        Command::Inspect(arguments) => command::inspect::run(&arguments, console),
        Command::Bench(arguments) => command::bench::run(&arguments, console),
        Command::Backup(arguments) => command::backup::run(&arguments, console),
        Command::Dump(arguments) => command::dump::run(&arguments, console),
        Command::Restore(arguments) => command::restore::run(&arguments, console),
        Command::Pack(arguments) => command::pack::run(&arguments, console),
        Command::Unpack(arguments) => command::unpack::run(&arguments, console),
        Command::Completions(arguments) => command::completions::run(&arguments),
    }
}
