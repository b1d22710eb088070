//! Prints documents to standard output, in the requested format.

mod cell;
mod markdown;
mod query;
mod table;
mod vertical;

use std::io::{self, Write};

use clap::ValueEnum;
use folio::Collection;
use folio::export::{Columns, ExportOptions, push_csv_row, write};
use folio::json::members;

use crate::console::Console;
use crate::failure::Failure;
pub(crate) use query::{Style, gather_table, print_rows_of_query};

/// The default number of rows of a table: more is hard to read.
const TABLE_LIMIT: u64 = 100;

/// How to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A table that fits the terminal
    Table,
    /// JSON Lines: one object per line
    Jsonl,
    /// One JSON array of objects
    Json,
    /// Comma-separated values
    Csv,
    /// A Markdown table
    Md,
    /// A line per value, under the number of its row
    Vertical,
}

/// The requested format, or the default for the reader.
pub(crate) fn resolve(format: Option<Format>, console: &Console) -> Format {
    format.unwrap_or(if console.is_terminal { Format::Table } else { Format::Jsonl })
}

/// Prints the documents of a collection, streaming.
pub(crate) fn print_collection(
    collection: &Collection,
    format: Format,
    mut options: ExportOptions,
    console: &Console,
) -> Result<(), Failure> {
    options.format = match format {
        Format::Jsonl => Some(folio::export::Format::JsonLines),
        Format::Json => Some(folio::export::Format::Json),
        Format::Csv => Some(folio::export::Format::Csv),
        Format::Md => return print_markdown(collection, &options),
        Format::Vertical => return print_vertical(collection, options, console),
        Format::Table => return print_table(collection, options, console),
    };
    write(collection, &mut raw_stdout(), &options, &mut |_, _| true)?;
    Ok(())
}

fn print_markdown(collection: &Collection, options: &ExportOptions) -> Result<(), Failure> {
    let mut columns = Columns::of(collection, options, &mut |_, _| true)?;
    let mut out = io::BufWriter::new(io::stdout().lock());
    markdown::print_header(columns.names(), &mut out)?;
    while let Some(row) = columns.next_row()? {
        markdown::print_row(&row, &mut out)?;
    }
    Ok(out.flush()?)
}

fn print_vertical(
    collection: &Collection,
    options: ExportOptions,
    console: &Console,
) -> Result<(), Failure> {
    let (mut columns, has_limit) = columns_to_read(collection, options, console)?;
    let mut out = io::BufWriter::new(io::stdout().lock());
    let names = vertical::Names::new(columns.names());
    let mut shown = 0;
    while let Some(row) = columns.next_row()? {
        shown += 1;
        let cells = row.into_iter().map(|value| value.map(|value| cell::display(Some(value))));
        names.print_row(shown, cells, &mut out)?;
    }
    out.flush()?;
    note_more(collection, shown, has_limit, console)
}

/// The documents in columns, and whether the request had a limit. A terminal gets a readable
/// number, a pipe gets all.
fn columns_to_read(
    collection: &Collection,
    mut options: ExportOptions,
    console: &Console,
) -> Result<(Columns, bool), Failure> {
    let has_limit = options.limit.is_some() || !console.is_terminal;
    if !has_limit {
        options.limit = Some(TABLE_LIMIT);
    }
    Ok((Columns::of(collection, &options, &mut |_, _| true)?, has_limit))
}

fn note_more(
    collection: &Collection,
    shown: u64,
    has_limit: bool,
    console: &Console,
) -> Result<(), Failure> {
    if has_limit || shown < TABLE_LIMIT {
        return Ok(());
    }
    let count = collection.count()?;
    if shown < count {
        console.note(&format!(
            "{shown} of {count} documents; --limit shows more, -o jsonl all of them"
        ));
    }
    Ok(())
}

fn print_table(
    collection: &Collection,
    options: ExportOptions,
    console: &Console,
) -> Result<(), Failure> {
    let (mut columns, has_limit) = columns_to_read(collection, options, console)?;
    let mut rows = Vec::new();
    while let Some(row) = columns.next_row()? {
        rows.push(row.into_iter().map(cell::display).collect());
    }
    let shown = rows.len() as u64;
    table::print(columns.names(), &rows, console)?;
    note_more(collection, shown, has_limit, console)
}

/// Prints objects of several kinds, in tabular formats as a table for each kind.
pub(crate) fn print_groups(
    mut groups: Vec<Vec<String>>,
    format: Format,
    console: &Console,
) -> Result<(), Failure> {
    if !matches!(format, Format::Table | Format::Md | Format::Csv) {
        groups = vec![groups.concat()];
    }
    if groups.len() > 1 {
        groups.retain(|group| !group.is_empty());
    }
    groups.iter().try_for_each(|group| print_objects(group, format, console))
}

/// Prints a few JSON objects, each given as its text.
pub(crate) fn print_objects(
    objects: &[String],
    format: Format,
    console: &Console,
) -> Result<(), Failure> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    match format {
        Format::Jsonl => {
            objects.iter().try_for_each(|object| writeln!(out, "{object}"))?;
        }
        Format::Json if objects.is_empty() => writeln!(out, "[]")?,
        Format::Json => writeln!(out, "[\n{}\n]", objects.join(",\n"))?,
        Format::Csv | Format::Md | Format::Table | Format::Vertical => {
            print_rows(objects, format, console, &mut out)?;
        }
    }
    Ok(out.flush()?)
}

fn print_rows(
    objects: &[String],
    format: Format,
    console: &Console,
    out: &mut impl Write,
) -> Result<(), Failure> {
    // The columns are those of the objects.
    if objects.is_empty() {
        return Ok(());
    }
    let mut names: Vec<String> = Vec::new();
    let mut parsed = Vec::new();
    for object in objects {
        // Stored documents have been validated.
        let members = members(object).unwrap_or_default();
        for (key, _) in &members {
            if !names.iter().any(|name| name == key) {
                names.push(key.clone().into_owned());
            }
        }
        parsed.push(members);
    }
    let rows = parsed.iter().map(|members| {
        let value = |name: &String| members.iter().find(|(key, _)| key == name).map(|pair| pair.1);
        names.iter().map(value).collect::<Vec<_>>()
    });
    match format {
        Format::Table => {
            let rows: Vec<_> =
                rows.map(|row| row.into_iter().map(cell::display).collect()).collect();
            out.flush()?;
            return table::print(&names, &rows, console);
        }
        Format::Md => {
            markdown::print_header(&names, out)?;
            for row in rows {
                markdown::print_row(&row, out)?;
            }
        }
        Format::Vertical => {
            let names = vertical::Names::new(&names);
            for (row, number) in rows.zip(1..) {
                let cells = row.into_iter().map(|value| value.map(|_| cell::display(value)));
                names.print_row(number, cells, out)?;
            }
        }
        _ => {
            let header: Vec<String> = names
                .iter()
                .map(|name| serde_json::Value::from(name.as_str()).to_string())
                .collect();
            let mut text = Vec::new();
            push_csv_row(header.iter().map(|name| Some(name.as_str())), &mut text);
            rows.for_each(|row| push_csv_row(row, &mut text));
            out.write_all(&text)?;
        }
    }
    Ok(())
}

/// Standard output for large writes.
pub(crate) fn raw_stdout() -> impl Write {
    io::stdout().lock()
}
