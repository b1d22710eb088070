//! Options of an import: how to read its source, and what to do with each record.

use std::path::PathBuf;

use crate::format::{Format, Reading};

/// What to do with a record whose id has a document already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnConflict {
    /// The record replaces the document.
    #[default]
    Replace,
    /// Keep the document and skip the record.
    Skip,
    /// Stop the import with `conflict`, and undo the open batch.
    Error,
}

/// Options of an import. The defaults suit a file of documents that carry `_id`.
#[derive(Debug, Clone)]
pub struct ImportOptions {
    /// The format; `None` guesses it from the file's name and first bytes.
    pub format: Option<Format>,
    /// The field that holds the id, as a dotted path; `None` is `_id`.
    pub id_field: Option<String>,
    /// Whether to generate ids for records without one (UUID version 7, which sort by time).
    pub generate_ids: bool,
    /// What to do with a record whose id has a document already.
    pub on_conflict: OnConflict,
    /// A batch is committed after this many bytes of lines; for a pipe, also after a second.
    pub batch_size: u64,
    /// CSV: the delimiter; `None` guesses it from the header.
    pub delimiter: Option<u8>,
    /// CSV: the names of the columns, for a file without a header.
    pub columns: Option<Vec<String>>,
    /// CSV: whether to recognise numbers, `true` and `false`; otherwise all cells are text.
    pub infer_types: bool,
    /// A file for the rejected records, in their original form.
    pub rejected_path: Option<PathBuf>,
    /// Starts from the beginning, even if an interrupted import could be resumed.
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
    /// The options of the file's reader.
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
