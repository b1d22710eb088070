//! How an import reads its source and what it does with each record.

use std::path::PathBuf;

use crate::format::{Format, Reading};

/// What happens to a record whose id has a document already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnConflict {
    /// The record replaces the document.
    #[default]
    Replace,
    /// The document stays.
    Skip,
    /// The import stops with `conflict`; the batch it was in is undone.
    Error,
}

/// Options of an import. The defaults suit a file of documents that carry `_id`.
#[derive(Debug, Clone)]
pub struct ImportOptions {
    /// The format; `None` is told by the file's name and first bytes.
    pub format: Option<Format>,
    /// The field that holds the id, as a dotted path; `None` is `_id`.
    pub id_field: Option<String>,
    /// Whether a record without id is given one (UUID version 7, which sort by time).
    pub generate_ids: bool,
    /// What happens to a record whose id has a document already.
    pub on_conflict: OnConflict,
    /// Bytes of lines after which a batch is committed; that of a pipe after a second, too.
    pub batch_size: u64,
    /// CSV: the byte between fields; `None` is told by the header.
    pub delimiter: Option<u8>,
    /// CSV: the names of the columns, for a file without a header.
    pub columns: Option<Vec<String>>,
    /// CSV: whether numbers, `true` and `false` become such; else all is text.
    pub infer_types: bool,
    /// A file that takes the rejected records as they stood.
    pub rejected_path: Option<PathBuf>,
    /// Begins at the start, also where an interrupted import could go on.
    pub restart: bool,
}

impl Default for ImportOptions {
    fn default() -> Self {
        Self {
            format: None,
            id_field: None,
            generate_ids: false,
            on_conflict: OnConflict::default(),
            batch_size: 64 << 20,
            delimiter: None,
            columns: None,
            infer_types: true,
            rejected_path: None,
            restart: false,
        }
    }
}

impl ImportOptions {
    /// What concerns the reader of the file.
    pub(super) fn reading(&self) -> Reading {
        Reading {
            format: self.format,
            delimiter: self.delimiter,
            columns: self.columns.clone(),
            infer_types: self.infer_types,
            null: String::new(),
        }
    }
}
