//! Import and export of files, through the facade.

use std::io::{self, Read};
use std::path::PathBuf;

use folio::export::{self, ExportOptions, Format};
use folio::import::{self, ImportOptions, OnConflict, Source};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::collection::Collection;
use crate::count::Count;
use crate::error::{OrRaise, invalid};
use crate::progress::Reporter;
use crate::report::{ExportReport, ImportReport};
use crate::watcher::released;

/// Bytes per read of a Python file.
const READ_SIZE: usize = 1 << 20;

/// A Python object with `read(size)`, as a reader.
struct PythonReader {
    file: Py<PyAny>,
    text: Vec<u8>,
    at: usize,
}

impl Read for PythonReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.at == self.text.len() {
            self.text = Python::attach(|py| self.fetch(py)).map_err(|error| {
                io::Error::other(Python::attach(|py| error.value(py).to_string()))
            })?;
            self.at = 0;
        }
        let size = out.len().min(self.text.len() - self.at);
        out[..size].copy_from_slice(&self.text[self.at..self.at + size]);
        self.at += size;
        Ok(size)
    }
}

impl PythonReader {
    /// The next piece of a file in binary or text mode.
    fn fetch(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        let piece = self.file.bind(py).call_method1("read", (READ_SIZE,))?;
        match piece.cast::<PyBytes>() {
            Ok(bytes) => Ok(bytes.as_bytes().to_vec()),
            Err(_) => Ok(piece.extract::<String>()?.into_bytes()),
        }
    }
}

/// The options of an import, with Python's names.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct ImportArguments {
    format: Option<String>,
    id_field: Option<String>,
    generate_ids: bool,
    on_conflict: String,
    delimiter: Option<String>,
    columns: Option<Vec<String>>,
    infer_types: bool,
    rejected_path: Option<PathBuf>,
    restart: bool,
}

impl ImportArguments {
    fn options(self) -> PyResult<ImportOptions> {
        Ok(ImportOptions {
            format: self.format.as_deref().map(format_named).transpose()?,
            id_field: self.id_field,
            generate_ids: self.generate_ids,
            on_conflict: on_conflict(&self.on_conflict)?,
            delimiter: self.delimiter.as_deref().map(delimiter).transpose()?,
            columns: self.columns,
            infer_types: self.infer_types,
            rejected_path: self.rejected_path,
            restart: self.restart,
            ..ImportOptions::default()
        })
    }
}

/// Imports a file, by path or as an object with `read`, into a collection.
#[pyfunction]
#[pyo3(name = "_import_file", signature = (collection, source, arguments, progress=None))]
pub(crate) fn import_file(
    collection: &Bound<'_, Collection>,
    source: &Bound<'_, PyAny>,
    arguments: &Bound<'_, PyAny>,
    progress: Option<Py<PyAny>>,
) -> PyResult<ImportReport> {
    let py = collection.py();
    let options = arguments.extract::<ImportArguments>()?.options()?;
    let core = collection.get().writer(py)?;
    let source = if source.hasattr("read")? {
        let name = source.getattr("name").and_then(|name| name.extract::<String>());
        let file = source.clone().unbind();
        let reader = PythonReader { file, text: Vec::new(), at: 0 };
        Source::reader(name.unwrap_or_else(|_| "file".to_owned()), reader)
    } else {
        let path: PathBuf = source.extract()?;
        released(py, || Source::file_for(core, path))?
    };
    let report =
        Reporter::new(progress).run(py, |step| import::import(core, source, &options, step))?;
    Ok(report.into())
}

/// Exports a collection to a file, or to a directory for `"zds"`.
#[pyfunction]
#[pyo3(name = "_export_file", signature = (collection, target, format, fields, limit, condition=None, params=None, progress=None))]
#[allow(clippy::too_many_arguments)] // options by name
pub(crate) fn export_file(
    collection: &Bound<'_, Collection>,
    target: PathBuf,
    format: Option<String>,
    fields: Vec<String>,
    limit: Option<Count>,
    condition: Option<String>,
    params: Option<&Bound<'_, PyAny>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<ExportReport> {
    let options = ExportOptions {
        format: format.as_deref().map(format_named).transpose()?,
        fields,
        limit: limit.map(|limit| limit.0),
        condition,
        parameters: crate::sql::parameters(params)?,
    };
    let core = collection.get().core(collection.py())?;
    let report = Reporter::new(progress)
        .run(collection.py(), |step| export::export(core, &target, &options, step))?;
    Ok(report.into())
}

/// A new id: a UUID of version 7, which sorts by time.
#[pyfunction]
pub(crate) fn generated_id() -> String {
    import::generated_id()
}

/// The id for a text: the text itself if it is a valid id, otherwise one derived from it.
#[pyfunction]
pub(crate) fn derived_id(text: &str) -> String {
    import::derived_id(text).into_owned()
}

/// Raises `InvalidInputError` if the text is not a valid document id.
#[pyfunction]
pub(crate) fn check_document_id(id: &str) -> PyResult<()> {
    folio::check_document_id(id).map_err(invalid)
}

/// The most similar of the names, if any is close.
#[pyfunction]
pub(crate) fn near_match(asked: &str, names: Vec<String>) -> Option<String> {
    folio::near_match(asked, &names).map(str::to_owned)
}

fn format_named(name: &str) -> PyResult<Format> {
    Format::named(name).or_raise()
}

fn on_conflict(name: &str) -> PyResult<OnConflict> {
    match name {
        "replace" => Ok(OnConflict::Replace),
        "skip" => Ok(OnConflict::Skip),
        "error" => Ok(OnConflict::Error),
        _ => Err(invalid(format!(
            "on_conflict {name:?} is unknown; use \"replace\", \"skip\" or \"error\""
        ))),
    }
}

fn delimiter(text: &str) -> PyResult<u8> {
    match text.as_bytes() {
        [byte] => Ok(*byte),
        _ => Err(invalid(format!("delimiter {text:?} is not one ASCII character"))),
    }
}
