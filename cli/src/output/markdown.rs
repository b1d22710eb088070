//! Markdown tables, for documents and issues.

use std::io::{self, Write};

use super::cell::display;

/// Prints the names and the line under them.
pub(super) fn print_header(names: &[String], out: &mut impl Write) -> io::Result<()> {
    print_cells(names.iter().map(|name| name.as_str().to_owned()), out)?;
    print_cells(names.iter().map(|_| "---".to_owned()), out)
}

/// Prints one row of JSON values.
pub(super) fn print_row(row: &[Option<&str>], out: &mut impl Write) -> io::Result<()> {
    print_cells(row.iter().map(|value| display(*value).text), out)
}

fn print_cells(cells: impl Iterator<Item = String>, out: &mut impl Write) -> io::Result<()> {
    for cell in cells {
        write!(out, "| {} ", cell.replace('\\', "\\\\").replace('|', "\\|"))?;
    }
    writeln!(out, "|")
}
