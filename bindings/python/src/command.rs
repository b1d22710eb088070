//! The command `folio`, for the script that the package installs.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command and returns its exit code. The first argument is the program's name.
#[pyfunction]
#[pyo3(name = "_run_command")]
pub(crate) fn run_command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| folio_cli::run(&arguments))
}
