//! The command `folio`, for the script that the package installs.

use napi_derive::napi;

/// Runs the command and returns its exit code. The first argument is the program's name.
#[napi(catch_unwind)]
pub fn run_command(arguments: Vec<String>) -> u8 {
    let arguments: Vec<_> = arguments.into_iter().map(Into::into).collect();
    folio_cli::run(&arguments)
}
