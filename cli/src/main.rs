//! The program `folio`, which only calls the library of this package.

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    ExitCode::from(folio_cli::run(&arguments))
}
