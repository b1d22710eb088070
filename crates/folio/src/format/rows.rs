//! Batches of rows as the bytes of a file, in any format.

use arrow_schema::Schema;
use folio_query::source::CsvOptions;
use folio_query::{Batch, Result as QueryResult};
use folio_types::ColumnType;

use super::Format;
use super::arrow::{ArrowRows, schema};
use super::csv::CsvRows;
use super::ion::IonRows;
use super::json::JsonFile;
use crate::error::{Error, Result};

/// Turns batches into bytes.
pub(crate) trait RowWriter {
    /// Appends the bytes of some rows; a format with groups of rows may hold them back.
    ///
    /// # Errors
    /// `invalid_input`, `unsupported` for values that the format has no form for.
    fn write(&mut self, batch: Batch, out: &mut Vec<u8>) -> QueryResult<()>;

    /// Appends what ends the file. Called once, after the last batch.
    ///
    /// # Errors
    /// As [`RowWriter::write`].
    fn finish(&mut self, out: &mut Vec<u8>) -> QueryResult<()>;
}

/// A writer of rows of columns of these names and types.
///
/// # Errors
/// `unsupported` for types that the format lacks, and for formats that this build lacks;
/// `invalid_input` for options of CSV where the format is another.
pub(crate) fn row_writer(
    format: Format,
    names: &[String],
    types: &[ColumnType],
    csv: &CsvOptions,
) -> Result<Box<dyn RowWriter>> {
    csv.check(matches!(format, Format::Csv | Format::Tsv))?;
    Ok(match format {
        Format::JsonLines => Box::new(JsonFile::lines(names, types)),
        Format::Json => Box::new(JsonFile::array(names, types)),
        Format::Csv | Format::Tsv => Box::new(CsvRows::new(names, types, csv, format.delimiter())),
        Format::Ion => Box::new(IonRows::new(names, types, false)),
        Format::IonBinary => Box::new(IonRows::new(names, types, true)),
        Format::Arrow | Format::Parquet => column_writer(format, schema(names, types))?,
        Format::Zds => {
            let text = "the zds format is a directory, which export writes; use another format";
            return Err(Error::Invalid(text.to_owned()));
        }
    })
}

/// A writer of columns of a schema, for the formats whose columns have types of Arrow.
///
/// # Errors
/// `unsupported` for types that the format lacks, and for formats that this build lacks.
pub(crate) fn column_writer(format: Format, schema: Schema) -> Result<Box<dyn RowWriter>> {
    match format {
        Format::Arrow => Ok(Box::new(ArrowRows::new(&schema)?)),
        _ => parquet(schema),
    }
}

#[cfg(feature = "parquet")]
fn parquet(schema: Schema) -> Result<Box<dyn RowWriter>> {
    Ok(Box::new(super::parquet::ParquetRows::new(schema)?))
}

#[cfg(not(feature = "parquet"))]
fn parquet(_: Schema) -> Result<Box<dyn RowWriter>> {
    Err(super::relation::no_parquet().into())
}

/// Bytes that a writer of another crate and its owner share.
#[derive(Clone, Default)]
pub(crate) struct Shared(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

impl Shared {
    /// Moves the bytes so far.
    pub(crate) fn take(&self, out: &mut Vec<u8>) {
        out.append(&mut self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
    }
}

impl std::io::Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut shared = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        shared.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
