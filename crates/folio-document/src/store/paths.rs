//! The files of one collection in the lines layout.

use std::path::{Path, PathBuf};

use crate::index::HEAD_NAME;
use crate::whole_file::DATA_NAME;

/// Where a collection's files are. See `docs/formats/document-store.md`.
#[derive(Debug, Clone)]
pub(crate) struct Paths {
    pub(crate) database: PathBuf,
    pub(crate) folder: PathBuf,
    pub(crate) meta: PathBuf,
    pub(crate) data: PathBuf,
    pub(crate) head: PathBuf,
    pub(crate) batch: PathBuf,
    /// Written by a compaction, then renamed to `data`.
    pub(crate) staged: PathBuf,
}

impl Paths {
    pub(crate) fn new(database: &Path, name: &str) -> Self {
        let folder = database.join("collections").join(name);
        let meta = folder.join("meta");
        Self {
            database: database.to_owned(),
            data: meta.join(DATA_NAME),
            head: meta.join(HEAD_NAME),
            batch: meta.join("folio.batch"),
            staged: meta.join("data.jsonl.new"),
            folder,
            meta,
        }
    }

    /// Directories whose entries must be durable before a new collection is, innermost first.
    pub(crate) fn directories(&self) -> [PathBuf; 4] {
        [
            self.meta.clone(),
            self.folder.clone(),
            self.database.join("collections"),
            self.database.clone(),
        ]
    }
}
