//! Reads statements and schemas from files and standard input.

use std::fs;
use std::io::{self, IsTerminal, Read};
use std::path::Path;

use crate::failure::Failure;

/// The text of a file.
pub(crate) fn of_file(path: &Path) -> Result<String, Failure> {
    of(&format!("{path:?}"), fs::read(path))
}

/// All of standard input.
pub(crate) fn of_input() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes);
    of("standard input", read)
}

/// Statements from standard input. A terminal is refused, because the wait would be invisible.
pub(crate) fn of_statements() -> Result<String, Failure> {
    if io::stdin().is_terminal() {
        let text = "name the statements after the database, or run `folio shell` to type them";
        return Err(Failure::Usage(text.to_owned()));
    }
    of_input()
}

/// The text without a byte-order mark, which some editors add.
fn of(place: &str, read: io::Result<Vec<u8>>) -> Result<String, Failure> {
    let fault = |problem: String| Failure::Usage(format!("cannot read {place}: {problem}"));
    let text = String::from_utf8(read.map_err(|error| fault(error.to_string()))?);
    let mut text = text.map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        fault(format!("byte {at} is not UTF-8; save it as UTF-8"))
    })?;
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    Ok(text)
}
