//! `folio import`: imports documents from files, and the tables of SQLite files.

use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use folio::import::{Format, ImportOptions, ImportReport, OnConflict, Source, SourceList, import};
use folio::sqlite::{self, Note, SqliteOptions, SqliteReport};
use folio::{Collection, Database};
use serde_json::json;

use crate::arguments::{NewCollection, Target, format_named};
use crate::console::Console;
use crate::failure::{FLAGS, Failure};
use crate::progress::Progress;
use crate::words::plural;

/// The number of rejected records shown individually.
const REJECTED_SHOWN: usize = 10;

/// Store the documents of files, or of standard input, and the tables of SQLite files
///
/// Reads JSON Lines, a JSON array, CSV or TSV under a header, Amazon Ion, Parquet and Arrow,
/// plain or compressed with gzip or zstd. The extension selects the format (.jsonl, .json, .csv,
/// .tsv, .ion, .10n, .parquet, .arrow, each also with .gz or .zst), otherwise the first bytes do.
///
/// Files at URLs (https://, s3://, gs://, az://, hf://) are read where they are.
///
/// Documents are committed in batches. Running the same command again resumes an interrupted
/// import of files. Documents from a pipe are visible to others within a second, however slowly
/// they arrive; Ctrl-C ends the import and keeps them.
///
/// The id comes from "_id", or from --id-field. A value that is not a valid id, such as a URL, is
/// converted to one, always the same.
///
/// In CSV, numbers, true and false are typed, unless another cell of the column is text (so 01234
/// keeps its zero); an empty cell is null.
///
/// From Ion, numbers keep their digits; timestamps, symbols and blobs become text. From Parquet
/// and Arrow, dates and times become ISO text, bytes become \\x and hexadecimal digits.
///
/// Records that cannot be documents are reported with file and line. The exit code is then 1,
/// unless --rejected saves them to a file.
///
/// The tables of an SQLite file become tables: all in one transaction, with their keys, indexes,
/// constraints and views. What cannot be imported is reported.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: Target,

    /// The files, or their URLs; "-" or none is standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    /// The field that holds the id, as a dotted path
    #[arg(long, value_name = "PATH")]
    id_field: Option<String>,

    /// Give an id (UUID version 7) to documents without one
    #[arg(long)]
    generate_ids: bool,

    /// What happens to a document whose id already exists
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = OnConflictName::Replace)]
    on_conflict: OnConflictName,

    /// SQLite: only this table or view; may be repeated
    #[arg(short, long = "table", value_name = "NAME")]
    tables: Vec<String>,

    /// The format, if neither the name nor the first bytes select it
    #[arg(short, long, value_name = "FORMAT", value_parser = format_named(&Format::NAMES[..8]))]
    format: Option<Format>,

    /// CSV: the character between fields, if it cannot be detected
    #[arg(long, value_name = "CHAR", value_parser = one_byte)]
    delimiter: Option<u8>,

    /// CSV: the names of the columns, for a file without a header
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    columns: Option<Vec<String>>,

    /// CSV: import every cell as text
    #[arg(long)]
    text: bool,

    /// Bytes per batch; a batch from a pipe is committed after a second at the latest
    #[arg(long, value_name = "BYTES", default_value_t = ImportOptions::default().batch_size)]
    batch_size: u64,

    /// Save rejected records to this file
    #[arg(long, value_name = "FILE")]
    rejected: Option<PathBuf>,

    /// Start from the beginning, even after an interruption
    #[arg(long)]
    restart: bool,

    /// Print the counts as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    new: NewCollection,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum OnConflictName {
    Replace,
    Skip,
    Error,
}

const EXAMPLES: &str = "\
Examples:
  $ folio import ./data -c train big.jsonl --id-field url
  $ folio import ./data -c people people.csv --id-field email
  $ cat flights.json | folio import ./data -c flights --generate-ids
  $ timeout 2 tail -f events.jsonl | folio import ./data -c events --generate-ids
  $ folio import ./data -c users more.jsonl.gz --on-conflict skip --rejected rejected.jsonl
  $ folio import ./data app.sqlite
  $ folio import ./copy app.sqlite --table authors --table books";

impl Arguments {
    /// Whether it reads files, and not standard input.
    pub(crate) fn names_files(&self) -> bool {
        !self.files.is_empty() && self.files.iter().all(|file| file != Path::new("-"))
    }
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Result<ExitCode, Failure> {
    let standard_input = vec![PathBuf::from("-")];
    let files = if arguments.files.is_empty() { &standard_input } else { &arguments.files };
    if files.iter().any(|file| holds_tables(file)) {
        return import_tables(files, arguments, console);
    }
    if !arguments.tables.is_empty() {
        let text = "--table names tables of an SQLite file; documents go into a collection (-c)";
        return Err(Failure::Usage(text.to_owned()));
    }
    let (database, collection) = arguments.target.open_to_write(&arguments.new)?;
    console.notices(&database.take_notices());
    let mut total = ImportReport::default();
    let list = list_of(files, &collection);
    for (number, file) in (0..).zip(files) {
        let mut source = open_source(file, Some(&collection))?;
        if let Some(list) = list {
            source = source.of_list(list, number);
        }
        let name = source.name().to_owned();
        if file == Path::new("-") && io::stdin().is_terminal() {
            console.note("reading documents from the terminal; end with Ctrl-D, or name a file");
        }
        let imported = import_source(&collection, source, arguments, console);
        if let Err(Failure::Database(folio::Error::Interrupted { report, .. })) = &imported {
            print_report(report, &name, console);
            add(&mut total, report);
            print_counts(&total, arguments.json, console)?;
        }
        let report = imported?;
        print_report(&report, &name, console);
        add(&mut total, &report);
    }
    // Said before closing, which makes indexes: whoever ends the command there knows that all is stored.
    print_counts(&total, arguments.json, console)?;
    database.close()?;
    if total.rejected_count > 0 && arguments.rejected.is_none() {
        let text = "--rejected FILE saves them, to fix and import again";
        return Err(Failure::Incomplete(format!(
            "{} rejected; {text}",
            plural(total.rejected_count, "record")
        )));
    }
    Ok(ExitCode::SUCCESS)
}

/// Several files as one import. `None` for a single file, and if one of them cannot be read again.
fn list_of(files: &[PathBuf], collection: &Collection) -> Option<SourceList> {
    if files.len() < 2 || files.iter().any(|file| file == Path::new("-") || is_pipe(file)) {
        return None;
    }
    let sources = files.iter().map(|file| Source::file_for(collection, file));
    SourceList::of(sources).ok().flatten() // the import reports a file that cannot be read
}

/// Whether a file is an SQLite file; standard input is not.
fn holds_tables(file: &Path) -> bool {
    file != Path::new("-") && sqlite::is_sqlite(file)
}

/// Imports SQLite files, each in its own transaction.
fn import_tables(
    files: &[PathBuf],
    arguments: &Arguments,
    console: &Console,
) -> Result<ExitCode, Failure> {
    if let Some(other) = files.iter().find(|file| !holds_tables(file)) {
        let text = format!(
            "{} is not an SQLite file, but others are; import it separately",
            other.display()
        );
        return Err(Failure::Usage(text));
    }
    if let Some(option) = option_of_documents(arguments) {
        let text = format!("{option} is for documents; the tables of an SQLite file become tables");
        return Err(Failure::Usage(text));
    }
    let database = Database::open(&arguments.target.database)?;
    let options = SqliteOptions { tables: arguments.tables.clone() };
    for file in files {
        let progress = Progress::begin(console, "importing");
        let report = sqlite::import(&database, file, &options, &mut |done, total| {
            progress.report(done, total)
        });
        drop(progress);
        print_tables(&report?, arguments.json, console)?;
    }
    database.close()?;
    Ok(ExitCode::SUCCESS)
}

/// An option that was given but does not apply to tables.
fn option_of_documents(arguments: &Arguments) -> Option<&'static str> {
    let given = [
        (arguments.target.collection.is_some(), "--collection"),
        (arguments.id_field.is_some(), "--id-field"),
        (arguments.generate_ids, "--generate-ids"),
        (!matches!(arguments.on_conflict, OnConflictName::Replace), "--on-conflict"),
        (arguments.format.is_some(), "--format"),
        (arguments.delimiter.is_some(), "--delimiter"),
        (arguments.columns.is_some(), "--columns"),
        (arguments.text, "--text"),
        (arguments.rejected.is_some(), "--rejected"),
        (arguments.restart, "--restart"),
    ];
    given.into_iter().find(|(is_given, _)| *is_given).map(|(_, option)| option)
}

/// Prints what was imported, and what was not.
fn print_tables(report: &SqliteReport, as_json: bool, console: &Console) -> Result<(), Failure> {
    for note in &report.notes {
        console.note(note.text());
    }
    if as_json {
        let tables = report.tables.iter().map(|table| (table.name.clone(), table.row_count.into()));
        let texts = |is_changed: bool| {
            let notes = report.notes.iter();
            let own = notes.filter(|note| matches!(note, Note::Changed(_)) == is_changed);
            own.map(|note| note.text().to_owned()).collect::<Vec<_>>()
        };
        let object = json!({
            "tables": tables.collect::<serde_json::Map<_, serde_json::Value>>(),
            "rows": report.row_count(),
            "views": report.views,
            "indexes": report.index_count,
            "changed": texts(true),
            "left_out": texts(false),
        });
        return Ok(console.print(&object.to_string())?);
    }
    for table in &report.tables {
        console.confirm(&format!("{}: {}", table.name, plural(table.row_count, "row")))?;
    }
    let mut text = format!(
        "imported {} of {}",
        plural(report.row_count(), "row"),
        plural(report.tables.len() as u64, "table")
    );
    match report.index_count {
        0 => {}
        1 => text += ", 1 index",
        count => text += &format!(", {count} indexes"),
    }
    if !report.views.is_empty() {
        text += &format!(", {}", plural(report.views.len() as u64, "view"));
    }
    Ok(console.confirm(&text)?)
}

fn import_source(
    collection: &Collection,
    source: Source,
    arguments: &Arguments,
    console: &Console,
) -> Result<ImportReport, Failure> {
    let progress = Progress::begin(console, "importing");
    let options = options(arguments);
    let result =
        import(collection, source, &options, &mut |done, total| progress.report(done, total));
    drop(progress);
    console.print_notices(collection);
    Ok(result?)
}

/// A regular file, also at a URL, can be resumed; pipes and standard input are read as they arrive.
/// URLs are asked with the options of the collection's database, if there is one.
pub(super) fn open_source(file: &Path, collection: Option<&Collection>) -> Result<Source, Failure> {
    if file == Path::new("-") {
        return Ok(Source::pipe("standard input", io::stdin()));
    }
    if is_pipe(file) {
        let pipe = fs::File::open(file).map_err(|source| {
            Failure::Database(folio::Error::Io { action: "read", path: file.to_owned(), source })
        })?;
        return Ok(Source::pipe(file.display().to_string(), pipe));
    }
    Ok(match collection {
        Some(collection) => Source::file_for(collection, file)?,
        None => Source::file(file)?,
    })
}

fn is_pipe(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

fn options(arguments: &Arguments) -> ImportOptions {
    ImportOptions {
        format: arguments.format,
        id_field: arguments.id_field.clone(),
        generate_ids: arguments.generate_ids,
        on_conflict: match arguments.on_conflict {
            OnConflictName::Replace => OnConflict::Replace,
            OnConflictName::Skip => OnConflict::Skip,
            OnConflictName::Error => OnConflict::Error,
        },
        batch_size: arguments.batch_size,
        delimiter: arguments.delimiter,
        columns: arguments.columns.clone(),
        infer_types: !arguments.text,
        rejected_path: arguments.rejected.clone(),
        restart: arguments.restart,
    }
}

fn one_byte(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"\\t" | b"tab" => Ok(b'\t'),
        [byte] if !matches!(byte, b'"' | b'\n' | b'\r') => Ok(*byte),
        _ => Err("give one character, such as ';', or \"tab\"".to_owned()),
    }
}

/// Prints the noteworthy parts of the report.
fn print_report(report: &ImportReport, name: &str, console: &Console) {
    if let Some(position) = report.resumed_at {
        console
            .note(&format!("{name}: resumed at byte {position}, after what was committed before"));
    }
    if let Some((from, id)) = &report.derived_id_example {
        let count = plural(report.derived_id_count, "id");
        console.note(&format!(
            "{count} derived from text that is not a valid id, such as {id:?} from {from:?}"
        ));
    }
    for rejected in report.rejected.iter().take(REJECTED_SHOWN) {
        console.note(&format!("rejected {}", rejected.message(&FLAGS)));
    }
    let more = report.rejected_count.saturating_sub(REJECTED_SHOWN as u64);
    if more > 0 {
        console.note(&format!("and {more} more were rejected"));
    }
}

fn add(total: &mut ImportReport, report: &ImportReport) {
    total.inserted += report.inserted;
    total.replaced += report.replaced;
    total.superseded += report.superseded;
    total.deleted += report.deleted;
    total.skipped += report.skipped;
    total.rejected_count += report.rejected_count;
}

fn print_counts(total: &ImportReport, as_json: bool, console: &Console) -> Result<(), Failure> {
    let ImportReport { inserted, replaced, superseded, deleted, skipped, rejected_count, .. } =
        total;
    if as_json {
        let object = json!({
            "inserted": inserted,
            "replaced": replaced,
            "deleted": deleted,
            "superseded": superseded,
            "skipped": skipped,
            "rejected": rejected_count,
        });
        return Ok(console.print(&object.to_string())?);
    }
    let mut text = format!("{inserted} inserted, {replaced} replaced");
    for (count, word) in [
        (superseded, "superseded"),
        (deleted, "deleted"),
        (skipped, "skipped"),
        (rejected_count, "rejected"),
    ] {
        if *count > 0 {
            text += &format!(", {count} {word}");
        }
    }
    Ok(console.confirm(&text)?)
}
