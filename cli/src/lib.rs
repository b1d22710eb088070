//! The `folio` command: documents in files you can read, from the shell.
//!
//! A run parses the arguments, opens the database, does one thing, and prints. Every command is a
//! file under `command/`. All of them print through `output`, fail through `failure` and show
//! progress through `progress`. The library makes all decisions about the data.
//!
//! The program `folio` only calls [`run`]. The Python and Node packages call the same function from
//! their native halves, so that each contains the command and the engine only once.

mod arguments;
mod bench;
mod command;
mod console;
mod failure;
mod language;
mod mistyped;
mod output;
mod parameters;
mod progress;
mod signals;
mod text;
mod waiting;
mod words;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

use command::{Cli, execute};
use console::Console;
use failure::Failure;

/// Files to have open at most: as many as macOS takes as a limit.
#[cfg(unix)]
const OPEN_FILES: u64 = 10_240;

/// Runs the command and returns its exit code: 0 done, 1 error, 2 wrong usage, 3 damage found, 130
/// interrupted.
///
/// The first argument is the name of the program. The command owns the process: it handles the
/// signals it waits for, and leaves the others unchanged.
pub fn run(arguments: &[OsString]) -> u8 {
    let code = number(dispatch(arguments));
    // Only a Rust program's own exit flushes standard output. If the output has no reader, an error
    // does not matter.
    let _ = io::stdout().flush();
    code
}

/// The number of an exit code, which the standard library can only compare.
fn number(code: ExitCode) -> u8 {
    (0..=u8::MAX).find(|number| ExitCode::from(*number) == code).unwrap_or(1)
}

fn dispatch(arguments: &[OsString]) -> ExitCode {
    progress::outlive_size_limit();
    allow_open_files();
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

/// Each collection in use has two files open, and logins allow 1,024 (Linux) or 256 (macOS) where the
/// system has room for many more. Fails silently: the limit stays, and errors name it.
fn allow_open_files() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let mut limit = getrlimit(Resource::Nofile);
        let wanted = limit.maximum.unwrap_or(OPEN_FILES).min(OPEN_FILES);
        if limit.current.is_some_and(|current| current < wanted) {
            limit.current = Some(wanted);
            let _ = setrlimit(Resource::Nofile, limit);
        }
    }
}

/// `folio PATH`, if the path exists and no command has that name.
fn shell_on_path(arguments: &[OsString]) -> Option<Cli> {
    let [_, path] = arguments else { return None };
    if !Path::new(path).exists() {
        return None;
    }
    Cli::try_parse_from(["folio".into(), "shell".into(), path.clone()]).ok()
}

/// Prints the requested help, or what is wrong with the arguments.
fn print_words(words: &clap::Error) -> ExitCode {
    match words.print() {
        Err(error) if !words.use_stderr() => Failure::from(error).report(&Console::new(false)),
        _ => ExitCode::from(u8::try_from(words.exit_code()).unwrap_or(1)),
    }
}
