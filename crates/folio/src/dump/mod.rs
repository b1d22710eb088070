//! Tables as text, and back: the work of `folio dump` and `folio restore`.
//!
//! ```text
//! directory     the whole database, in both directions
//! definitions   a schema of structs (ZiQL), the statements of the other tables and of views, each
//!               after what it needs, and lines for what neither expresses
//! write_rows    the rows of a table, in the order of its key, as JSON Lines or CSV
//! read_rows     the same rows into a table that is there, and empty
//! check         what the rows promise each other: references and checks
//! ```
//!
//! Every value is restored exactly, including digits and bytes. A value of type JSON is a string
//! with its text: as a part of a line it would lose its white space. In JSON, NULL is a missing
//! member; in CSV, it is an empty cell, and empty text is quoted. Documents are never CSV, which has no
//! place for lists, objects and missing members. Rows are inserted without checks
//! and checked at the end: references may point in any direction, also in circles. Identity columns
//! continue where they were, or after the greatest number.

mod definitions;
mod directory;

use folio_compute::cast::{self, json::from_json};

pub use crate::format::Format;
pub use definitions::{Definitions, definitions};
pub use directory::DumpReport;

use std::io::Write;

use folio_document::Progress;
use folio_engine::Reference;
use folio_engine::source::CsvOptions;
use folio_sqlite::quoted_name;
use folio_types::{Column, ColumnType, Value};

use crate::error::{Error, Result};
use crate::export::columns::report_progress;
use crate::format::json::SparseLines;
use crate::format::{Records, RowWriter, row_writer};
use crate::json::{members, unquote};
use crate::session::Session;

/// The formats of a dump; JSON Lines is the default.
pub const FORMATS: [Format; 3] = [Format::JsonLines, Format::Csv, Format::Ion];

/// Writes the rows of a table as JSON Lines or CSV, and returns their number. Progress is in bytes
/// written.
fn write_rows(
    session: &mut Session,
    table: &str,
    format: Format,
    out: &mut dyn Write,
    progress: Progress<'_>,
) -> Result<u64> {
    let text = format!("SELECT * FROM {}", quoted_name(table));
    let Some(mut rows) = session.execute(&text, &[])?.rows else { return Ok(0) };
    let (mut count, mut size, mut bytes) = (0, 0, Vec::new());
    let types: Vec<ColumnType> = rows.types().iter().map(with_json_as_text).collect();
    let mut writer: Box<dyn RowWriter> = match format {
        Format::Csv => row_writer(format, rows.names(), &types, &CsvOptions::default())?,
        _ => Box::new(SparseLines::new(rows.names(), &types)),
    };
    while let Some(batch) = rows.next_batch()? {
        count += batch.row_count as u64;
        writer.write(batch, &mut bytes)?;
        size += bytes.len() as u64;
        out.write_all(&bytes).map_err(Error::Output)?;
        bytes.clear();
        report_progress(progress, size, 0)?;
    }
    writer.finish(&mut bytes)?;
    out.write_all(&bytes).map_err(Error::Output)?;
    Ok(count)
}

/// A type with text in place of JSON, whose values are texts too.
fn with_json_as_text(ty: &ColumnType) -> ColumnType {
    match ty {
        ColumnType::Json => ColumnType::Text,
        ColumnType::List(element) => ColumnType::List(Box::new(with_json_as_text(element))),
        ColumnType::Map(value) => ColumnType::Map(Box::new(with_json_as_text(value))),
        ColumnType::Struct(fields) => ColumnType::Struct(
            fields.iter().map(|(name, ty)| (name.clone(), with_json_as_text(ty))).collect(),
        ),
        other => other.clone(),
    }
}

/// Whether all values of type JSON in a value are JSON.
fn has_json(value: &Value, ty: &ColumnType) -> bool {
    match (value, ty) {
        (Value::Text(text), ColumnType::Json) => cast::parse(text, ty).is_ok(),
        (Value::List(items), ColumnType::List(element)) => {
            items.iter().all(|item| has_json(item, element))
        }
        (Value::List(entries), ColumnType::Map(value)) => {
            let entry = ColumnType::entry(value);
            entries.iter().all(|value| has_json(value, &entry))
        }
        (Value::Struct(values), ColumnType::Struct(fields)) => {
            values.iter().zip(fields).all(|(value, (_, ty))| has_json(value, ty))
        }
        _ => true,
    }
}

/// Rows read between two progress reports.
const ROWS_PER_REPORT: u64 = 1_000;

/// Reads rows that [`write_rows`] wrote into an empty table, and returns their number. The caller
/// counts the bytes read.
fn read_rows(
    session: &mut Session,
    table: &str,
    mut records: Records,
    progress: Progress<'_>,
) -> Result<u64> {
    let relation = session.table(table)?;
    let columns = &relation.schema.columns;
    let is_csv = matches!(records, Records::Csv(_));
    let mut count = 0;
    session.fill(&relation, &mut || {
        count += 1;
        if count % ROWS_PER_REPORT == 0 {
            report_progress(progress, 0, 0)?;
        }
        let Some(record) = records.next()? else { return Ok(None) };
        let json = record.json.map_err(|reason| broken(record.line, &reason))?;
        row_of(json, columns, is_csv).map(Some).map_err(|reason| broken(record.line, &reason))
    })
}

/// A value per column of a table; the error says why there is none.
fn row_of(json: &[u8], columns: &[Column], is_csv: bool) -> Result<Vec<Value>, String> {
    let json = std::str::from_utf8(json).map_err(|_| "this is not UTF-8".to_owned())?;
    let found = members(json).map_err(|error| format!("this is not a JSON object: {error}"))?;
    let mut row = vec![Value::Null; columns.len()];
    for (name, text) in found {
        let Some(at) = columns.iter().position(|column| column.name == name) else {
            return Err(format!("the table has no column {name:?}"));
        };
        let ty = with_json_as_text(&columns[at].column_type);
        row[at] = match is_csv {
            true => match unquote(text) {
                None => Value::Null,
                Some(cell) if ty == ColumnType::Text => Value::Text(cell.into_owned()),
                Some(cell) => cast::parse(&cell, &ty)
                    .map_err(|error| format!("column {name:?}: {}", error.message()))?,
            },
            false => from_json(text, &ty)
                .ok_or_else(|| format!("column {name:?} does not take {text}"))?,
        };
        if !has_json(&row[at], &columns[at].column_type) {
            return Err(format!("column {name:?} takes texts that are JSON, not {text}"));
        }
    }
    Ok(row)
}

/// Refuses rows with dangling references, or that fail a CHECK of their table.
///
/// # Errors
/// `conflict`, with the name of the constraint; errors of the store.
fn check(session: &mut Session) -> Result<()> {
    for relation in session.tables_and_views()? {
        let table = &relation.schema.name;
        for reference in &relation.constraints.references {
            // The target may have been dropped before the dump.
            if session.find_table(&reference.table)?.is_none() {
                continue;
            }
            if breaks_reference(session, table, reference)? {
                return Err(broken_by_row(table, &reference.name));
            }
        }
        for check in &relation.constraints.checks {
            if breaks_check(session, table, &check.text)? {
                return Err(broken_by_row(table, &check.name));
            }
        }
    }
    Ok(())
}

/// Whether a row has a dangling reference.
pub(crate) fn breaks_reference(
    session: &mut Session,
    table: &str,
    reference: &Reference,
) -> Result<bool> {
    let target = session.table(&reference.table)?;
    let key: Vec<String> = match &reference.target[..] {
        [] => target
            .schema
            .primary_key
            .iter()
            .map(|at| target.schema.columns[*at].name.clone())
            .collect(),
        names => names.to_vec(),
    };
    let pairs = reference.columns.iter().zip(&key);
    let joined: Vec<String> = pairs
        .map(|(own, other)| format!("a.{} = b.{}", quoted_name(own), quoted_name(other)))
        .collect();
    let given: Vec<String> =
        reference.columns.iter().map(|own| format!("a.{} IS NOT NULL", quoted_name(own))).collect();
    let text = format!(
        "SELECT 1 FROM {} a WHERE {} AND NOT EXISTS (SELECT 1 FROM {} b WHERE {}) LIMIT 1",
        quoted_name(table),
        given.join(" AND "),
        quoted_name(&reference.table),
        joined.join(" AND ")
    );
    has_rows(session, &text)
}

/// Whether a condition is false for a row.
pub(crate) fn breaks_check(session: &mut Session, table: &str, condition: &str) -> Result<bool> {
    let text = format!("SELECT 1 FROM {} WHERE NOT ({condition}) LIMIT 1", quoted_name(table));
    has_rows(session, &text)
}

fn has_rows(session: &mut Session, text: &str) -> Result<bool> {
    let Some(mut rows) = session.execute(text, &[])?.rows else { return Ok(false) };
    Ok(!rows.collect_rows()?.is_empty())
}

fn broken_by_row(table: &str, constraint: &str) -> Error {
    folio_compute::Error::new(
        folio_types::ErrorCode::Conflict,
        format!("a row of table {table:?} violates constraint {constraint:?}"),
    )
    .help("the text was changed since it was written; correct it and restore again")
    .into()
}

/// The error for a line that cannot be read.
fn broken(line: u64, what: &str) -> Error {
    Error::Invalid(format!("line {line}: {what}"))
}
