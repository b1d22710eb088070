//! Files as relations: `select … from 'events.jsonl'`. Parquet and Arrow files declare their
//! columns. Files of records and of Ion are read once when a statement names them, to find the
//! columns.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use folio_engine::Result as QueryResult;
use folio_engine::source::{FileReading, Relation};
use folio_file::FileSystem;

use super::columnar::relation_of;
use super::record_file::RecordFile;
use super::whole::Whole;
use super::{Format, Records};
use crate::error::Error;

/// The relation of a file.
///
/// # Errors
/// `not_found`, `io`; `syntax`, `corrupted` for content that does not match the format;
/// `unsupported` for columns of types without a counterpart; `invalid_input` for an unknown format,
/// and for CSV options of another format.
pub(crate) fn relation(
    files: &Arc<dyn FileSystem>,
    path: &str,
    reading: FileReading<'_>,
) -> QueryResult<Arc<Relation>> {
    let asked = reading.format.map(Format::named).transpose()?;
    let format = match asked.or_else(|| Format::of_path(path)) {
        None => columnar_magic(&**files, path)?,
        known => known,
    };
    if let Some(format @ (Format::Parquet | Format::Arrow)) = format {
        no_csv(reading)?;
        let whole = Whole::open(&**files, path)?;
        return relation_of(path, whole, format).map(|(relation, _)| relation);
    }
    let mut records = RecordFile::new(files, path, reading, format);
    match records.open()? {
        Records::Ion(_) => {
            no_csv(reading)?;
            super::ion::relation(&**files, path, reading.json)
        }
        opened => records.relation(opened, reading),
    }
}

/// Recognises Parquet and Arrow by their first bytes, if the name does not give a format.
fn columnar_magic(files: &dyn FileSystem, path: &str) -> QueryResult<Option<Format>> {
    let whole = super::Source::file_in(files, Path::new(path))?;
    let mut head = Vec::new();
    let io = |error| Error::io("read", Path::new(path))(error);
    super::decompress(whole.reader).map_err(io)?.take(8).read_to_end(&mut head).map_err(io)?;
    Ok(super::guess::columnar(&head))
}

/// Refuses CSV options.
fn no_csv(reading: FileReading<'_>) -> QueryResult<()> {
    reading.csv.map_or(Ok(()), |(csv, _)| csv.check(false))
}
