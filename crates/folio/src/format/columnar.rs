//! Files with typed columns: Parquet and Arrow.

use std::sync::Arc;

#[cfg(not(feature = "parquet"))]
use folio_compute::Error as QueryError;
use folio_compute::Result as QueryResult;
use folio_engine::source::Relation;
#[cfg(not(feature = "parquet"))]
use folio_types::Column;
#[cfg(not(feature = "parquet"))]
use folio_types::ErrorCode;

use super::Format;
use super::row_file::{RowFile, relation_with};
use super::whole::Whole;

/// The relation of a file with typed columns, and the file.
///
/// # Errors
/// As [`relation`].
pub(crate) fn relation_of(
    path: &str,
    whole: Whole,
    format: Format,
) -> QueryResult<(Arc<Relation>, Arc<dyn RowFile>)> {
    let (columns, file) = match format {
        Format::Arrow => super::arrow::open(path, whole)?,
        _ => parquet(path, whole)?,
    };
    Ok((relation_with(path, columns, Arc::clone(&file)), file))
}

#[cfg(feature = "parquet")]
use super::parquet::open as parquet;

#[cfg(not(feature = "parquet"))]
fn parquet(_: &str, _: Whole) -> QueryResult<(Vec<Column>, Arc<dyn RowFile>)> {
    Err(no_parquet())
}

/// The error of a build without Parquet.
#[cfg(not(feature = "parquet"))]
pub(crate) fn no_parquet() -> QueryError {
    QueryError::new(ErrorCode::Unsupported, "this build neither reads nor writes Parquet")
        .help("build with the feature \"parquet\", or use CSV or JSON Lines")
}
