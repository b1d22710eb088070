//! Prints the rows of a query to standard output.

use std::io::{self, Write};

use folio::export::push_csv_row;
use folio::{
    ColumnBatch, ColumnType, JsonRows, Rows, format_value, value_at, write_json, write_json_string,
};

use super::cell::{Cell, display};
use super::{Format, markdown, table, vertical};
use crate::console::Console;
use crate::failure::Failure;

/// Display options of rows for people.
#[derive(Debug, Clone)]
pub(crate) struct Style {
    /// The text for NULL.
    pub(crate) null: String,
    /// The maximum number of rows shown; `None` shows all.
    pub(crate) row_limit: Option<u64>,
    /// How to show all rows, for a hint.
    pub(crate) more: &'static str,
}

impl Style {
    /// The default number of rows at a terminal: more is hard to read.
    pub(crate) const ROW_LIMIT: u64 = 1_000;

    /// The default style of a command. A pipe gets all rows.
    pub(crate) fn new(console: &Console) -> Self {
        Self {
            null: "NULL".to_owned(),
            row_limit: console.is_terminal.then_some(Self::ROW_LIMIT),
            more: "-o jsonl shows all of them",
        }
    }

    fn note_more(&self, shown: u64, console: &Console) {
        console.note(&format!("the first {shown} rows; {}", self.more));
    }
}

/// Prints all rows, streaming; horizontal and vertical tables obey the style's row limit.
pub(crate) fn print_rows_of_query(
    rows: Rows,
    format: Format,
    style: &Style,
    console: &Console,
) -> Result<(), Failure> {
    if format == Format::Table {
        return gather_table(rows, style)?.print(style, console);
    }
    let names = rows.names().to_vec();
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
        Format::Jsonl | Format::Table | Format::Vertical => {}
    }
    out.write_all(&text)?;
    match format {
        Format::Vertical => {
            let cut = print_vertical(rows, style, &mut out)?;
            out.flush()?;
            if let Some(shown) = cut {
                style.note_more(shown, console);
            }
        }
        Format::Json | Format::Jsonl => print_json(rows, format, &mut out)?,
        _ => print_cells(rows, format, &mut out)?,
    }
    Ok(out.flush()?)
}

/// Prints objects, straight from the arrays.
fn print_json(mut rows: Rows, format: Format, out: &mut impl Write) -> Result<(), Failure> {
    let writer = JsonRows::new(rows.names(), rows.types());
    let between = if format == Format::Json { ",\n" } else { "\n" };
    let (mut text, mut is_first) = (Vec::new(), true);
    if format == Format::Json {
        text.push(b'\n');
    }
    while let Some(batch) = rows.next_batch().map_err(folio::Error::from)? {
        writer.write(&batch, between, &mut is_first, &mut text);
        if !is_first {
            out.write_all(&text)?;
            text.clear();
        }
    }
    Ok(out.write_all(match (format, is_first) {
        (Format::Json, true) => b"]\n",
        (Format::Json, false) => b"\n]\n",
        (_, true) => b"",
        (_, false) => b"\n",
    })?)
}

/// Prints one line per value. Returns the number of rows if the limit was reached.
fn print_vertical(
    mut rows: Rows,
    style: &Style,
    out: &mut impl Write,
) -> Result<Option<u64>, Failure> {
    let (names, types) = (vertical::Names::new(rows.names()), rows.types().to_vec());
    let mut shown = 0;
    while let Some(batch) = rows.next_batch().map_err(folio::Error::from)? {
        for row in 0..batch.row_count {
            if style.row_limit == Some(shown) {
                return Ok(Some(shown));
            }
            shown += 1;
            let values = batch.columns.iter().zip(&types);
            let cells = values.map(|(array, ty)| Some(cell(&value_at(array, row, ty), ty, style)));
            names.print_row(shown, cells, out)?;
        }
    }
    Ok(None)
}

fn print_cells(mut rows: Rows, format: Format, out: &mut impl Write) -> Result<(), Failure> {
    let types = rows.types().to_vec();
    let mut text = Vec::new();
    while let Some(batch) = rows.next_batch().map_err(folio::Error::from)? {
        for row in 0..batch.row_count {
            push_row(&batch, row, &types, format, &mut text);
            if text.len() > 1 << 16 {
                out.write_all(&text)?;
                text.clear();
            }
        }
    }
    Ok(out.write_all(&text)?)
}

fn quoted(text: &str) -> String {
    let mut out = String::new();
    write_json_string(text, &mut out);
    out
}

fn push_row(
    batch: &ColumnBatch,
    row: usize,
    types: &[ColumnType],
    format: Format,
    out: &mut Vec<u8>,
) {
    let cells: Vec<String> = batch
        .columns
        .iter()
        .zip(types)
        .map(|(array, ty)| {
            let mut text = String::new();
            write_json(&value_at(array, row, ty), ty, &mut text);
            text
        })
        .collect();
    if format == Format::Csv {
        let cells = cells.iter().map(|cell| Some(cell.as_str()).filter(|cell| *cell != "null"));
        push_csv_row(cells, out);
    } else {
        let cells: Vec<Option<&str>> = cells.iter().map(|cell| Some(cell.as_str())).collect();
        // Writing to memory does not fail.
        let _ = markdown::print_row(&cells, out);
    }
}

/// The first rows of a query, ready to print.
pub(crate) struct GatheredTable {
    names: Vec<String>,
    cells: Vec<Vec<Cell>>,
    is_cut: bool,
}

/// Runs a query up to the table's row limit.
pub(crate) fn gather_table(mut rows: Rows, style: &Style) -> Result<GatheredTable, Failure> {
    let (names, types) = (rows.names().to_vec(), rows.types().to_vec());
    let mut table = GatheredTable { names, cells: Vec::new(), is_cut: false };
    while let Some(batch) = rows.next_batch().map_err(folio::Error::from)? {
        for row in 0..batch.row_count {
            if style.row_limit == Some(table.row_count()) {
                table.is_cut = true;
                return Ok(table);
            }
            let values = batch.columns.iter().zip(&types);
            let cells = values.map(|(array, ty)| cell(&value_at(array, row, ty), ty, style));
            table.cells.push(cells.collect());
        }
    }
    Ok(table)
}

impl GatheredTable {
    /// Whether there is anything to print.
    pub(crate) fn has_columns(&self) -> bool {
        !self.names.is_empty()
    }

    /// Whether there are more rows than these.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Rows in the table.
    pub(crate) fn row_count(&self) -> u64 {
        self.cells.len() as u64
    }

    /// Draws it.
    pub(crate) fn print(&self, style: &Style, console: &Console) -> Result<(), Failure> {
        table::print(&self.names, &self.cells, console)?;
        if self.is_cut {
            style.note_more(self.row_count(), console);
        }
        Ok(())
    }
}

/// A value for display: text on one line, and NULL distinguishable if the style allows.
fn cell(value: &folio::Value, ty: &ColumnType, style: &Style) -> Cell {
    let is_number = matches!(
        ty,
        ColumnType::Int16
            | ColumnType::Int32
            | ColumnType::Int64
            | ColumnType::Float32
            | ColumnType::Float64
            | ColumnType::Decimal { .. }
    );
    if matches!(value, folio::Value::Null) {
        return Cell { text: style.null.clone(), is_number };
    }
    let text = format_value(value, ty);
    let mut json = String::new();
    write_json_string(&text, &mut json);
    Cell { is_number, ..display(Some(&json)) }
}
