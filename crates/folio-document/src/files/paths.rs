//! The files of one collection in the files layout.

use std::path::{Path, PathBuf};

use folio_types::MAX_NAME_SIZE;

use crate::error::{Error, Result};

/// The suffix that turns an id into a file name.
pub(super) const EXTENSION: &str = ".json";

/// The longest id whose file name fits the 255 bytes that file systems allow.
const MAX_ID_SIZE: usize = MAX_NAME_SIZE - EXTENSION.len();

/// Where a collection's files are.
#[derive(Debug, Clone)]
pub(crate) struct FilePaths {
    pub(super) database: PathBuf,
    pub(super) folder: PathBuf,
    pub(super) meta: PathBuf,
    pub(super) docs: PathBuf,
    /// The batch being written or applied.
    pub(super) log: PathBuf,
    /// How far an import has come.
    pub(super) import: PathBuf,
    /// A document before its rename. An id never starts with a dot.
    pub(super) unfinished: PathBuf,
}

impl FilePaths {
    pub(crate) fn new(database: &Path, name: &str) -> Self {
        let folder = database.join("collections").join(name);
        let (meta, docs) = (folder.join("meta"), folder.join("docs"));
        Self {
            database: database.to_owned(),
            log: meta.join("folio.batch.jsonl"),
            import: meta.join("folio.import.json"),
            unfinished: docs.join(".folio.tmp"),
            folder,
            meta,
            docs,
        }
    }

    /// The file of a document whose id was checked.
    pub(super) fn document(&self, id: &str) -> PathBuf {
        self.docs.join(format!("{id}{EXTENSION}"))
    }

    /// Where ZDS stores the order, and where some of its stores have it.
    pub(super) fn order_places(&self) -> [PathBuf; 2] {
        [self.meta.join("order.ids"), self.docs.join("order.ids")]
    }

    /// Directories whose entries must be durable before a new collection is, innermost first.
    pub(super) fn directories(&self) -> [PathBuf; 5] {
        [
            self.docs.clone(),
            self.meta.clone(),
            self.folder.clone(),
            self.database.join("collections"),
            self.database.clone(),
        ]
    }
}

/// Rejects an id whose file name would be too long.
pub(super) fn check_file_id(id: &str) -> Result<()> {
    if id.len() <= MAX_ID_SIZE {
        return Ok(());
    }
    Err(Error::Invalid(format!(
        "document id {id:?} is {} bytes long; with a file per document {MAX_ID_SIZE} are allowed, \
         because the id is part of a file name",
        id.len()
    )))
}
