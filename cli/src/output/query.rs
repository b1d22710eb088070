//! The rows of a query on standard output.

use std::io::{self, Write};

use folio::export::push_csv_row;
use folio::{ColumnBatch, ColumnType, Rows, format_value, value_at, write_json, write_json_string};

use super::cell::{Cell, display};
use super::{Format, markdown, table};
use crate::console::Console;
use crate::failure::Failure;

/// Rows of a table: more is not for reading.
const TABLE_LIMIT: usize = 1_000;

/// Prints all rows, streaming; of a table the first thousand.
pub(crate) fn print_rows_of_query(
    mut rows: Rows,
    format: Format,
    console: &Console,
) -> Result<(), Failure> {
    if format == Format::Table {
        return print_table(rows, console);
    }
    let (names, types) = (rows.names().to_vec(), rows.types().to_vec());
    let mut out = io::BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let mut text = Vec::new();
    match format {
        Format::Csv => push_csv_row(
            names
                .iter()
                .map(|name| Some(quoted(name)))
                .collect::<Vec<_>>()
                .iter()
                .map(|name| name.as_deref()),
            &mut text,
        ),
        Format::Md => markdown::print_header(&names, &mut out)?,
        Format::Json => text.push(b'['),
        Format::Jsonl | Format::Table => {}
    }
    let mut count = 0u64;
    while let Some(batch) = rows.next_batch().map_err(folio::Error::from)? {
        for row in 0..batch.row_count {
            match format {
                Format::Json => text.extend_from_slice(if count == 0 { b"\n" } else { b",\n" }),
                Format::Csv | Format::Md | Format::Jsonl | Format::Table => {}
            }
            count += 1;
            push_row(&batch, row, &names, &types, format, &mut text);
            if text.len() > 1 << 16 {
                out.write_all(&text)?;
                text.clear();
            }
        }
    }
    if format == Format::Json {
        text.extend_from_slice(if count == 0 { b"]\n" } else { b"\n]\n" });
    }
    out.write_all(&text)?;
    Ok(out.flush()?)
}

fn quoted(text: &str) -> String {
    let mut out = String::new();
    write_json_string(text, &mut out);
    out
}

fn push_row(
    batch: &ColumnBatch,
    row: usize,
    names: &[String],
    types: &[ColumnType],
    format: Format,
    out: &mut Vec<u8>,
) {
    let json = |column: usize| {
        let mut text = String::new();
        let ty = &types[column];
        write_json(&value_at(&batch.columns[column], row, ty), ty, &mut text);
        text
    };
    match format {
        Format::Jsonl | Format::Json => {
            let mut line = String::from("{");
            for (column, name) in names.iter().enumerate() {
                if column > 0 {
                    line.push(',');
                }
                write_json_string(name, &mut line);
                line.push(':');
                let ty = &types[column];
                write_json(&value_at(&batch.columns[column], row, ty), ty, &mut line);
            }
            line.push('}');
            out.extend_from_slice(line.as_bytes());
            if format == Format::Jsonl {
                out.push(b'\n');
            }
        }
        Format::Csv => {
            let cells: Vec<String> = (0..names.len()).map(json).collect();
            push_csv_row(
                cells.iter().map(|cell| Some(cell.as_str()).filter(|cell| *cell != "null")),
                out,
            );
        }
        Format::Md | Format::Table => {
            let cells: Vec<String> = (0..names.len()).map(json).collect();
            let cells: Vec<Option<&str>> = cells.iter().map(|cell| Some(cell.as_str())).collect();
            // Writing to memory does not fail.
            let _ = markdown::print_row(&cells, out);
        }
    }
}

fn print_table(mut rows: Rows, console: &Console) -> Result<(), Failure> {
    let (names, types) = (rows.names().to_vec(), rows.types().to_vec());
    let mut cells: Vec<Vec<Cell>> = Vec::new();
    let mut more = false;
    while let Some(batch) = rows.next_batch().map_err(folio::Error::from)? {
        for row in 0..batch.row_count {
            if cells.len() == TABLE_LIMIT {
                more = true;
                break;
            }
            let values = batch.columns.iter().zip(&types);
            cells.push(values.map(|(array, ty)| cell(&value_at(array, row, ty), ty)).collect());
        }
        if more {
            break;
        }
    }
    table::print(&names, &cells, console)?;
    if more {
        console.note(&format!("the first {TABLE_LIMIT} rows; -o jsonl shows all of them"));
    }
    Ok(())
}

/// A value as people read it: null as nothing, text on one line.
fn cell(value: &folio::Value, ty: &ColumnType) -> Cell {
    let is_number = matches!(
        ty,
        ColumnType::Int16
            | ColumnType::Int32
            | ColumnType::Int64
            | ColumnType::Float32
            | ColumnType::Float64
            | ColumnType::Decimal { .. }
    );
    let text = format_value(value, ty);
    let mut json = String::new();
    write_json_string(&text, &mut json);
    Cell { is_number, ..display(Some(&json)) }
}
