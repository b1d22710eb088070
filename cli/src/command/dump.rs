//! `folio dump`: a whole database as text.
//!
//! ```text
//! DIR/schema.zq           the structs
//! DIR/schema.sql          the other tables, and the views
//! DIR/tables/NAME.csv     rows, per table; .jsonl or .ion by the format
//! DIR/collections/NAME.csv   documents, per collection
//! ```

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use folio::dump::{self, definitions, write_rows};
use folio::export::{self, ExportOptions, export};
use folio::import::Source;
use folio::ion;

use crate::arguments::open_to_read;
use crate::console::Console;
use crate::failure::Failure;
use crate::words::plural;

/// Write a whole database as text that `folio restore` makes a database of
///
/// The directory, which must not exist yet, gets the schema of the structs, the
/// statements that make the other tables and the views, and a file of rows or documents
/// per table and collection. Tables are written as of one moment; every value comes
/// back as it was. For a copy of the files themselves there is `folio backup`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The database: a directory, or a .zds archive
    #[arg(value_name = "DATABASE")]
    database: PathBuf,

    /// The directory to write
    #[arg(value_name = "DIR")]
    target: PathBuf,

    /// How rows and documents are written
    #[arg(short, long, value_enum, default_value_t = Format::Json)]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  $ folio dump ./data ./text
  $ folio dump ./data ./sheets --format csv
  $ folio restore ./text ./copy";

/// How rows and documents are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// JSON Lines
    Json,
    /// Comma-separated values
    Csv,
    /// Amazon Ion text
    Ion,
}

impl Format {
    pub(super) const ALL: [Self; 3] = [Self::Json, Self::Csv, Self::Ion];

    /// The ending of its files.
    pub(super) fn ending(self) -> &'static str {
        match self {
            Self::Json => "jsonl",
            Self::Csv => "csv",
            Self::Ion => "ion",
        }
    }
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<ExitCode, Failure> {
    let target = &arguments.target;
    let database = open_to_read(&arguments.database)?;
    if let Err(error) = fs::create_dir(target) {
        return Err(Failure::Usage(format!("cannot make {target:?}: {error}; name another place")));
    }
    for folder in ["tables", "collections"] {
        fs::create_dir(target.join(folder))?;
    }
    let mut session = database.session()?;
    session.execute("BEGIN READ ONLY", &[])?;
    let made = definitions(&mut session)?;
    for (name, text) in [("schema.zq", &made.structs), ("schema.sql", &made.statements)] {
        if !text.is_empty() {
            fs::write(target.join(name), text)?;
        }
    }
    let mut row_count = 0;
    for table in &made.tables {
        row_count += write_table(&mut session, table, arguments.format, target)?;
    }
    session.execute("COMMIT", &[])?;
    let mut document_count = 0;
    for name in database.collections()? {
        let collection = database.collection(&name)?;
        let format = match arguments.format {
            Format::Json => export::Format::JsonLines,
            Format::Csv => export::Format::Csv,
            Format::Ion => export::Format::Ion,
        };
        let options = ExportOptions { format, ..ExportOptions::default() };
        let path = file(target, "collections", &name, arguments.format);
        document_count += export(&collection, path, &options, &mut |_, _| true)?.document_count;
    }
    console.confirm(&format!(
        "wrote {} of {} and {} into {}",
        plural(row_count, "row"),
        plural(made.tables.len() as u64, "table"),
        plural(document_count, "document"),
        target.display()
    ))?;
    Ok(ExitCode::SUCCESS)
}

fn write_table(
    session: &mut folio::Session,
    table: &str,
    format: Format,
    target: &Path,
) -> Result<u64, Failure> {
    // Ion is made of JSON, which is a part of it.
    let first = if format == Format::Ion { Format::Json } else { format };
    let path = file(target, "tables", table, first);
    let rows = if first == Format::Csv { dump::Format::Csv } else { dump::Format::Json };
    let mut out = BufWriter::new(File::create(&path)?);
    let count = write_rows(session, table, rows, &mut out)?;
    out.flush()?;
    if format == Format::Ion {
        let mut out = BufWriter::new(File::create(file(target, "tables", table, format))?);
        ion::convert(Source::file(&path)?, &mut out, ion::Form::Text)?;
        out.flush()?;
        fs::remove_file(&path)?;
    }
    Ok(count)
}

/// The file of a table or collection.
pub(super) fn file(target: &Path, folder: &str, name: &str, format: Format) -> PathBuf {
    target.join(folder).join(format!("{}.{}", file_name(name), format.ending()))
}

/// A name as every file system takes it: other characters as `%` and their bytes.
fn file_name(name: &str) -> String {
    let mut out = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' => out.push(char::from(byte)),
            b'.' if !out.is_empty() => out.push('.'),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// The name that a file's name stands for.
pub(super) fn name_of_file(stem: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = stem.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first == b'%' {
            let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &rest[2..];
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_from_files() {
        for (name, file) in
            [("User.friends", "User.friends"), ("a/b", "a%2Fb"), (".é", "%2E%C3%A9")]
        {
            assert_eq!(file_name(name), file);
            assert_eq!(name_of_file(file).as_deref(), Some(name));
        }
        assert_eq!(name_of_file("%4"), None);
    }
}
