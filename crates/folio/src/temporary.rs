//! Temporary files that live as long as their handle.
//!
//! The name is removed as soon as the file is open, so that a process that dies leaves nothing. If
//! the system cannot remove the name of an open file, it is removed with the handle.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use folio_file::{DiskFileSystem, File, FileSystem, OpenMode};

use crate::error::{Error, Result};

/// Distinguishes the files of one process.
static NUMBER: AtomicU64 = AtomicU64::new(0);

pub(crate) struct TemporaryFile {
    /// `Some` until it is dropped.
    file: Option<Arc<dyn File>>,
    files: Arc<dyn FileSystem>,
    path: PathBuf,
    is_nameless: bool,
}

impl TemporaryFile {
    /// Creates an empty file in the system's temporary folder.
    ///
    /// # Errors
    /// `io`.
    pub(crate) fn create() -> Result<Self> {
        Self::create_in(Arc::new(DiskFileSystem), &std::env::temp_dir())
    }

    /// Creates an empty file in a directory.
    ///
    /// # Errors
    /// `io`.
    pub(crate) fn create_in(files: Arc<dyn FileSystem>, directory: &Path) -> Result<Self> {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = directory.join(format!("folio-spill-{}-{number}.tmp", std::process::id()));
        let file = files.open(&path, OpenMode::CreateNew).map_err(Error::io("create", &path))?;
        let is_nameless = files.remove_file(&path).is_ok();
        Ok(Self { file: Some(file), files, path, is_nameless })
    }

    pub(crate) fn file(&self) -> &Arc<dyn File> {
        self.file.as_ref().expect("a temporary file is open until it is dropped")
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        self.file = None;
        if !self.is_nameless {
            // An error here cannot be handled; the name says that the file is temporary.
            let _ = self.files.remove_file(&self.path);
        }
    }
}
