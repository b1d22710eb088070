//! Exports documents to files of any [`Format`], or to a compacted ZDS tree.
//!
//! Documents stream from the scan to the output, so memory does not grow with the collection. Text
//! formats copy the stored text, with its key order and numbers. Parquet and Arrow have typed
//! columns, those of [`Collection::types`]: objects and lists are nested, and values without a
//! single type are JSON text. A file appears under its name once it is complete and durable.

pub(crate) mod columns;
mod lines;
mod tree;
mod write;

use std::path::Path;

use folio_document::{Progress, Scan};

pub use columns::{Columns, Row};
pub use write::write;

pub use crate::format::Format;
pub use crate::format::csv::push_csv_row;

use crate::collection::Collection;
use crate::documents::Documents;
use crate::error::Result;

/// Options of an export.
#[derive(Debug, Clone, Default)]
pub struct ExportOptions {
    /// The format. `None` uses the file's name, or JSON Lines if there is no file.
    pub format: Option<Format>,
    /// The fields to export, as dotted paths; all when empty. `_id` always comes first.
    pub fields: Vec<String>,
    /// The maximum number of documents.
    pub limit: Option<u64>,
    /// Only documents that satisfy this SQL condition.
    #[cfg(feature = "sql")]
    pub condition: Option<String>,
    /// Values for the parameters of the condition.
    #[cfg(feature = "sql")]
    pub parameters: crate::session::Parameters,
}

impl ExportOptions {
    /// Whether all documents are exported.
    fn is_whole(&self) -> bool {
        #[cfg(feature = "sql")]
        let has_condition = self.condition.is_some();
        #[cfg(not(feature = "sql"))]
        let has_condition = false;
        self.limit.is_none() && !has_condition
    }

    /// The documents to export, whole or narrowed to the fields.
    fn scan(&self, collection: &Collection, is_narrowed: bool) -> Result<Documents> {
        let mut scan = if is_narrowed { Scan::new().fields(&self.fields) } else { Scan::new() };
        if let Some(limit) = self.limit {
            scan = scan.limit(limit);
        }
        #[cfg(feature = "sql")]
        if let Some(condition) = &self.condition {
            return collection.scan_where(condition, &self.parameters, scan);
        }
        collection.scan(scan)
    }
}

/// Counts of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ExportReport {
    /// Documents written.
    pub document_count: u64,
    /// Bytes written.
    pub size: u64,
}

/// Exports a collection to a file, or to a directory for [`Format::Zds`]. Replaces an existing
/// file, but not a directory. The extensions of the name determine the format and the compression:
/// `users.csv.gz`.
///
/// # Errors
/// `invalid_input` for a name without a known extension when no format is given, and for a format
/// that contradicts it; `conflict` when the directory exists, `io`; `cancelled` when `progress`
/// answers `false`. The target is unchanged then.
pub fn export(
    collection: &Collection,
    target: impl AsRef<Path>,
    options: &ExportOptions,
    progress: Progress<'_>,
) -> Result<ExportReport> {
    let target = target.as_ref();
    match options.format {
        Some(Format::Zds) => tree::write_tree(collection, target, options, progress),
        _ => write::write_file(collection, target, options, progress),
    }
}
