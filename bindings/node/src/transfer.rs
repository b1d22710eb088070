//! Import and export of files.

use folio::export::{self, ExportOptions, Format};
use folio::import::{self, ImportOptions, OnConflict, Source};
use folio::{Collection, Progress, Result};
use napi_derive::napi;

use crate::error::invalid;
use crate::report::{NativeExportReport, NativeImportReport};

/// How a file is imported; see `ImportOptions` in `../lib/options.js`.
#[napi(object)]
pub struct NativeImportOptions {
    /// The name of a file format; by default detected from the file.
    pub format: Option<String>,
    /// The field that holds the id.
    pub id: Option<String>,
    /// Whether a record without id is given one.
    pub generate_ids: Option<bool>,
    /// `replace`, `skip` or `error`.
    pub on_conflict: Option<String>,
    /// CSV: the character between fields.
    pub delimiter: Option<String>,
    /// CSV: the names of the columns.
    pub columns: Option<Vec<String>>,
    /// CSV: whether numbers, `true` and `false` become such.
    pub infer_types: Option<bool>,
    /// A file that takes the rejected records.
    pub rejected_path: Option<String>,
    /// Begins at the start, also where an interrupted import could go on.
    pub restart: Option<bool>,
}

impl NativeImportOptions {
    pub(crate) fn into_options(self) -> napi::Result<ImportOptions> {
        let standard = ImportOptions::default();
        Ok(ImportOptions {
            format: self.format.as_deref().map(format_named).transpose()?,
            id_field: self.id,
            generate_ids: self.generate_ids.unwrap_or(standard.generate_ids),
            on_conflict: self
                .on_conflict
                .as_deref()
                .map_or(Ok(standard.on_conflict), on_conflict)?,
            delimiter: self.delimiter.as_deref().map(delimiter).transpose()?,
            columns: self.columns,
            infer_types: self.infer_types.unwrap_or(standard.infer_types),
            rejected_path: self.rejected_path.map(Into::into),
            restart: self.restart.unwrap_or(standard.restart),
            ..standard
        })
    }
}

/// What is exported; see `ExportOptions` in `../lib/options.js`.
#[napi(object)]
pub struct NativeExportOptions {
    /// The name of a file format, or `zds`; by default from the file's name.
    pub format: Option<String>,
    /// Dotted paths.
    pub fields: Option<Vec<String>>,
    /// How many documents at most.
    pub limit: Option<f64>,
    /// A condition of SQL.
    #[napi(js_name = "where")]
    pub condition: Option<String>,
}

impl NativeExportOptions {
    pub(crate) fn into_options(self) -> napi::Result<ExportOptions> {
        Ok(ExportOptions {
            format: self.format.as_deref().map(format_named).transpose()?,
            fields: self.fields.unwrap_or_default(),
            limit: self.limit.map(|limit| limit as u64),
            condition: self.condition,
            ..ExportOptions::default()
        })
    }
}

/// Imports a file into a collection.
pub(crate) fn import_file(
    collection: &Collection,
    path: &str,
    options: &ImportOptions,
    progress: Progress<'_>,
) -> Result<NativeImportReport> {
    let source = Source::file_for(collection, path)?;
    import::import(collection, source, options, progress).map(Into::into)
}

/// Exports a collection to a file or directory.
pub(crate) fn export_file(
    collection: &Collection,
    target: &str,
    options: &ExportOptions,
    progress: Progress<'_>,
) -> Result<NativeExportReport> {
    export::export(collection, target, options, progress).map(Into::into)
}

fn format_named(name: &str) -> napi::Result<Format> {
    Format::named(name).map_err(|error| invalid(error.to_string()))
}

fn on_conflict(name: &str) -> napi::Result<OnConflict> {
    match name {
        "replace" => Ok(OnConflict::Replace),
        "skip" => Ok(OnConflict::Skip),
        "error" => Ok(OnConflict::Error),
        _ => Err(invalid(format!(
            "onConflict {name:?} is unknown; use \"replace\", \"skip\" or \"error\""
        ))),
    }
}

fn delimiter(text: &str) -> napi::Result<u8> {
    match text.as_bytes() {
        [byte] => Ok(*byte),
        _ => Err(invalid(format!("delimiter {text:?} is not one ASCII character"))),
    }
}
