//! The row writer of each format.

use arrow_schema::Schema;
use folio_engine::source::CsvOptions;
use folio_types::ColumnType;

use super::Format;
use super::arrow::{ArrowRows, schema};
use super::csv::CsvRows;
use super::ion::IonRows;
use super::json::JsonFile;
use super::parquet::ParquetRows;
use super::row_writer::RowWriter;
use crate::error::{Error, Result};

/// A row writer for columns of these names and types.
///
/// # Errors
/// `unsupported` for types that the format lacks; `invalid_input` for CSV options with another format.
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
        Format::Arrow | Format::Parquet => column_writer(format, schema(names, types), types)?,
        Format::Zds => {
            let text = "the zds format is a directory, which export writes; use another format";
            return Err(Error::Invalid(text.to_owned()));
        }
    })
}

/// A writer for the columns of a schema, of these types, for formats with Arrow's column types.
///
/// # Errors
/// `unsupported` for types that the format lacks.
pub(crate) fn column_writer(
    format: Format,
    schema: Schema,
    types: &[ColumnType],
) -> Result<Box<dyn RowWriter>> {
    match format {
        Format::Arrow => Ok(Box::new(ArrowRows::new(&schema)?)),
        _ => Ok(Box::new(ParquetRows::new(schema, types)?)),
    }
}
