//! A scan as a stream of Arrow record batches, through the C data interface.
//!
//! ```text
//! Scan.__arrow_c_stream__  → prepare: the schema and, where they fit, the batches, by several
//!                            threads (parts)
//!                          → batches: a RecordBatchReader → capsule
//! ```
//!
//! Only the capsule interface is used, not `pyo3-arrow`. A capsule takes forty lines, and that
//! crate would add NumPy, time zones and three kernel crates to every wheel.
//!
//! The types and columns are those of the facade (`folio::Types`), as on every surface. Every
//! document is read before the schema is final, so no value is dropped or coerced to fit a sample.

mod batches;
mod parts;
mod prepare;

use std::ffi::CStr;

use arrow_array::RecordBatchReader;
use arrow_array::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};
use arrow_schema::Schema;
use arrow_schema::ffi::FFI_ArrowSchema;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::watcher::released;

use batches::Batches;
pub(crate) use batches::Source;

const SCHEMA_NAME: &CStr = c"arrow_schema";
const STREAM_NAME: &CStr = c"arrow_array_stream";

/// A capsule named `arrow_array_stream` that yields the documents of a source.
///
/// # Errors
/// Errors of the scan while the schema is determined.
pub(crate) fn stream<'py>(py: Python<'py>, source: Source) -> PyResult<Bound<'py, PyCapsule>> {
    let raised = source.raised();
    let prepared = released(py, || prepare::prepare(source));
    let prepared = raised.take().map_or(prepared, Err)?;
    capsule(py, Batches::new(prepared))
}

/// A capsule named `arrow_array_stream` around batches.
pub(crate) fn capsule<'py>(
    py: Python<'py>,
    batches: impl RecordBatchReader + Send + 'static,
) -> PyResult<Bound<'py, PyCapsule>> {
    // The stream is the first field of the capsule's content, and releases itself if the capsule is
    // not used.
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), STREAM_NAME)
}

/// The batches of a capsule named `arrow_array_stream`, which is empty afterwards.
///
/// # Errors
/// `InvalidInputError` for a capsule of something else, or one that was already read.
pub(crate) fn reader(capsule: &Bound<'_, PyCapsule>) -> PyResult<ArrowArrayStreamReader> {
    let stream = capsule.pointer_checked(Some(STREAM_NAME))?;
    // SAFETY: a capsule of this name holds a stream (the Arrow PyCapsule interface), which is
    // moved out of it: what stays behind is marked as released.
    let reader = unsafe { ArrowArrayStreamReader::from_raw(stream.as_ptr().cast()) };
    reader.map_err(crate::error::invalid)
}

/// A capsule named `arrow_schema` with the columns of a source's documents.
///
/// # Errors
/// As [`stream`].
pub(crate) fn schema<'py>(py: Python<'py>, source: &Source) -> PyResult<Bound<'py, PyCapsule>> {
    let fields = released(py, || prepare::fields(source));
    let fields = source.raised().take().map_or(fields, Err)?;
    schema_capsule(py, &Schema::new(fields))
}

/// A capsule named `arrow_schema`.
pub(crate) fn schema_capsule<'py>(
    py: Python<'py>,
    schema: &Schema,
) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(schema).map_err(crate::error::invalid)?;
    PyCapsule::new_with_value(py, schema, SCHEMA_NAME)
}
