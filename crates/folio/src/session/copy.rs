//! COPY … TO: the rows of a query into a file, which appears whole or not at all.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use folio_query::source::{CsvOptions, FileFormat};
use folio_query::{CopyTarget, JsonRows, Rows, value_at};
use folio_types::Value;

use crate::arrow::ArrowWriter;
use crate::dump::csv;
use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::ion::RowWriter;
use crate::write::AtomicFile;

/// Writes all rows, and says how many there were.
///
/// # Errors
/// What the query and the file say; then the file that was there is as it was.
pub(super) fn copy_to(handle: &Handle, target: &CopyTarget, rows: &mut Rows) -> Result<u64> {
    let files = Arc::clone(&handle.store.host);
    let mut file = AtomicFile::create(files, Path::new(&target.path))?;
    let count = match target.format {
        FileFormat::Csv => write_csv(rows, &target.csv, &mut file)?,
        FileFormat::JsonLines => write_json(rows, ["", "\n", "\n"], &mut file)?,
        FileFormat::Json => write_json(rows, ["[\n", ",\n", "\n]\n"], &mut file)?,
        FileFormat::Parquet => {
            let (written, count) = write_parquet(rows, file)?;
            file = written;
            count
        }
        FileFormat::Arrow => {
            let (written, count) = write_arrow(rows, file)?;
            file = written;
            count
        }
        FileFormat::Ion => write_ion(rows, false, &mut file)?,
        FileFormat::IonBinary => write_ion(rows, true, &mut file)?,
    };
    file.commit()?;
    Ok(count)
}

fn write_csv(rows: &mut Rows, options: &CsvOptions, file: &mut AtomicFile) -> Result<u64> {
    let types = rows.types().to_vec();
    let mut text = String::new();
    let cells = csv::Cells::new(options);
    if options.has_header {
        cells.push_header(rows.names(), &mut text);
    }
    let mut count = 0;
    while let Some(batch) = rows.next_batch()? {
        for row in 0..batch.row_count {
            let values = batch.columns.iter().zip(&types);
            let values: Vec<Value> = values.map(|(array, ty)| value_at(array, row, ty)).collect();
            cells.push_row(&types, &values, &mut text);
        }
        count += batch.row_count as u64;
        file.write_all(text.as_bytes()).map_err(Error::Output)?;
        text.clear();
    }
    file.write_all(text.as_bytes()).map_err(Error::Output)?;
    Ok(count)
}

/// Objects between what stands before, between and behind them; lines end with what
/// stands behind, too, unless there are none.
fn write_json(rows: &mut Rows, marks: [&str; 3], file: &mut AtomicFile) -> Result<u64> {
    let [before, between, behind] = marks;
    let writer = JsonRows::new(rows.names(), rows.types());
    let (mut text, mut is_first, mut count) = (before.as_bytes().to_vec(), true, 0);
    while let Some(batch) = rows.next_batch()? {
        writer.write(&batch, between, &mut is_first, &mut text);
        count += batch.row_count as u64;
        file.write_all(&text).map_err(Error::Output)?;
        text.clear();
    }
    if !before.is_empty() || count > 0 {
        text.extend_from_slice(behind.as_bytes());
    }
    file.write_all(&text).map_err(Error::Output)?;
    Ok(count)
}

fn write_ion(rows: &mut Rows, is_binary: bool, file: &mut AtomicFile) -> Result<u64> {
    let mut writer = RowWriter::new(rows.names(), rows.types(), is_binary);
    let mut count = 0;
    while let Some(batch) = rows.next_batch()? {
        writer.write(&batch)?;
        count += batch.row_count as u64;
        file.write_all(&writer.take(false)).map_err(Error::Output)?;
    }
    file.write_all(&writer.take(true)).map_err(Error::Output)?;
    Ok(count)
}

fn write_arrow(rows: &mut Rows, file: AtomicFile) -> Result<(AtomicFile, u64)> {
    let mut writer = ArrowWriter::begin(file, rows.names(), rows.types())?;
    let mut count = 0;
    while let Some(batch) = rows.next_batch()? {
        count += batch.row_count as u64;
        writer.write(batch)?;
    }
    Ok((writer.finish()?, count))
}

#[cfg(feature = "parquet")]
fn write_parquet(rows: &mut Rows, file: AtomicFile) -> Result<(AtomicFile, u64)> {
    let mut writer = crate::parquet::ParquetWriter::begin(file, rows.names(), rows.types())?;
    let mut count = 0;
    while let Some(batch) = rows.next_batch()? {
        count += batch.row_count as u64;
        writer.write(batch)?;
    }
    Ok((writer.finish()?, count))
}

#[cfg(not(feature = "parquet"))]
fn write_parquet(_: &mut Rows, _: AtomicFile) -> Result<(AtomicFile, u64)> {
    Err(Error::Query(crate::source::no_parquet()))
}
