//! `folio restore`: a database of the text that `folio dump` wrote.

use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use folio::dump::{self, check, definitions, read_rows};
use folio::import::{ImportOptions, Source, import};
use folio::{Database, Session, ion};

use super::dump::{Format, file, name_of_file};
use crate::console::Console;
use crate::failure::Failure;
use crate::words::plural;

/// Make a database of what `folio dump` wrote
///
/// The database must not exist yet. Tables come back in one transaction, their rows
/// checked against each other; then the collections, as lines. The text may have been
/// edited meanwhile: what does not fit is refused, by file and line.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The directory that was written
    #[arg(value_name = "DIR")]
    source: PathBuf,

    /// The database to make
    #[arg(value_name = "DATABASE")]
    database: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  $ folio dump ./data ./text
  $ folio restore ./text ./copy";

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<ExitCode, Failure> {
    let Arguments { source, database: target } = arguments;
    if !source.join("tables").is_dir() || !source.join("collections").is_dir() {
        let text = format!("{source:?} is not what `folio dump` writes; name its directory");
        return Err(Failure::Usage(text));
    }
    if target.exists() {
        let text = format!("{target:?} exists already; name another place");
        return Err(Failure::Usage(text));
    }
    let database = Database::open(target)?;
    let restored = restore(source, &database);
    let closed = database.close();
    let Restored { row_count, table_count, document_count } = match restored {
        Ok(restored) => restored,
        Err(failure) => {
            // Half a database is worse than none; what cannot be removed is named.
            if target.exists() && fs::remove_dir_all(target).is_err() {
                console.note(&format!("{} is not whole: delete it", target.display()));
            }
            return Err(failure);
        }
    };
    closed?;
    console.confirm(&format!(
        "restored {} of {} and {}",
        plural(row_count, "row"),
        plural(table_count, "table"),
        plural(document_count, "document")
    ))?;
    Ok(ExitCode::SUCCESS)
}

struct Restored {
    row_count: u64,
    table_count: u64,
    document_count: u64,
}

fn restore(source: &Path, database: &Database) -> Result<Restored, Failure> {
    database.create()?;
    let mut session = database.session()?;
    session.execute("BEGIN", &[])?;
    let text = |name: &str| match source.join(name) {
        path if path.exists() => fs::read_to_string(path),
        _ => Ok(String::new()),
    };
    let (structs, statements) = (text("schema.zq")?, text("schema.sql")?);
    if !structs.is_empty() {
        session.apply_schema(&structs, false)?;
    }
    if !statements.is_empty() {
        session.execute(&statements, &[])?;
    }
    let tables = definitions(&mut session)?.tables;
    let mut row_count = 0;
    for table in &tables {
        row_count += restore_table(&mut session, table, source)?;
    }
    check(&mut session)?;
    session.execute("COMMIT", &[])?;
    drop(session);
    let document_count = restore_collections(source, database)?;
    Ok(Restored { row_count, table_count: tables.len() as u64, document_count })
}

fn restore_table(session: &mut Session, table: &str, source: &Path) -> Result<u64, Failure> {
    let found = Format::ALL
        .into_iter()
        .map(|format| (format, file(source, "tables", table, format)))
        .find(|(_, path)| path.exists());
    let Some((format, path)) = found else { return Ok(0) };
    let in_file = |error: folio::Error| {
        let path = path.display();
        match error {
            folio::Error::Invalid(text) => Failure::Incomplete(format!("{path}: {text}")),
            other => Failure::Database(other),
        }
    };
    let rows = if format == Format::Csv { dump::Format::Csv } else { dump::Format::Json };
    if format != Format::Ion {
        let mut input = BufReader::new(File::open(&path)?);
        return read_rows(session, table, rows, &mut input).map_err(in_file);
    }
    let scratch = std::env::temp_dir().join(format!("folio-restore-{}.jsonl", std::process::id()));
    let mut out = BufWriter::new(File::create(&scratch)?);
    ion::convert(Source::file(&path)?, &mut out, ion::Form::Json)?;
    out.flush()?;
    let mut input = BufReader::new(File::open(&scratch)?);
    let count = read_rows(session, table, rows, &mut input).map_err(in_file);
    fs::remove_file(&scratch)?;
    count
}

fn restore_collections(source: &Path, database: &Database) -> Result<u64, Failure> {
    let mut document_count = 0;
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(source.join("collections"))? {
        paths.push(entry?.path());
    }
    paths.sort();
    for path in paths {
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        let Some(name) = stem.and_then(name_of_file) else { continue };
        let collection = database.collection(&name)?;
        let options = ImportOptions::default();
        let report = import(&collection, Source::file(&path)?, &options, &mut |_, _| true)?;
        if !report.rejected.is_empty() {
            let text = format!("{}: not every line is a document", path.display());
            return Err(Failure::Incomplete(text));
        }
        document_count += report.written();
    }
    Ok(document_count)
}
