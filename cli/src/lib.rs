//! The `folio` command: documents in files you can read, from the shell.
//!
//! A run reads: parse the arguments, open the database, do one thing, print.
//! Every command is a file under `command/`; all of them print through
//! `output`, fail through `failure` and show progress through `progress`.
//! Nothing about the data is decided here: that is the library's.
//!
//! The program `folio` is a line around [`run`]. The packages for Python and Node call the same
//! function from their native halves, so that each brings the command and the engine only once.

mod arguments;
mod bench;
mod command;
mod console;
mod failure;
mod mistyped;
mod output;
mod parameters;
mod progress;
mod signals;
mod text;
mod words;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

use command::{Cli, execute};
use console::Console;
use failure::Failure;

/// Runs the command to its end and answers its exit code: 0 done, 1 error, 2 wrong usage, 3 damage
/// found, 130 interrupted.
///
/// The first argument is the name of the program. The command has the process for itself: it
/// takes the signals it waits for, and leaves the others as it finds them.
pub fn run(arguments: &[OsString]) -> u8 {
    let code = number(dispatch(arguments));
    // Only the end of a program written in Rust does this by itself. Where nobody reads what was
    // printed, nobody misses it.
    let _ = io::stdout().flush();
    code
}

/// The standard library compares exit codes, but does not tell their numbers.
fn number(code: ExitCode) -> u8 {
    (0..=u8::MAX).find(|number| ExitCode::from(*number) == code).unwrap_or(1)
}

fn dispatch(arguments: &[OsString]) -> ExitCode {
    progress::outlive_size_limit();
    let cli = match Cli::try_parse_from(arguments::spaced(arguments)) {
        Ok(cli) => cli,
        Err(words) => match shell_on_path(arguments) {
            Some(cli) => cli,
            None => return print_words(&mistyped::suggest(words, arguments)),
        },
    };
    let console = Console::new(cli.quiet);
    match execute(cli.command, &console) {
        Ok(code) => code,
        Err(failure) => failure.report(&console),
    }
}

/// `folio PATH`, where something is at the path and no command has that name.
fn shell_on_path(arguments: &[OsString]) -> Option<Cli> {
    let [_, path] = arguments else { return None };
    if !Path::new(path).exists() {
        return None;
    }
    Cli::try_parse_from(["folio".into(), "shell".into(), path.clone()]).ok()
}

/// Prints the help that was asked for, or what is wrong with the arguments.
fn print_words(words: &clap::Error) -> ExitCode {
    match words.print() {
        Err(error) if !words.use_stderr() => Failure::from(error).report(&Console::new(false)),
        _ => ExitCode::from(u8::try_from(words.exit_code()).unwrap_or(1)),
    }
}
