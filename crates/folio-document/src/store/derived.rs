//! Files beside the index with what was derived from the documents. Their makers know the content;
//! here they are read, and replaced as a whole.
//!
//! A file names the data it was derived from, by a [`crate::Stamp`], and is believed only if that
//! fits. So it may be old, damaged, of another collection, or missing. Nothing is synced.

use super::LineStore;
use super::load::forget_file;
use crate::error::{Error, Result};
use crate::options::Access;
use crate::whole_file;

/// The types of the documents.
pub(crate) const TYPES_NAME: &str = "folio.types";

/// A longer file is ignored, and never written.
pub(crate) const SIZE_MAX: usize = 16 << 20;

impl LineStore {
    /// The bytes of the file of types; `None` if there is none, or it is too long.
    pub(crate) fn read_types(&self) -> Result<Option<Vec<u8>>> {
        self.handle.check_open()?;
        match whole_file::read(&*self.files, &self.paths.meta.join(TYPES_NAME), SIZE_MAX) {
            Err(Error::Corrupted { .. }) => Ok(None),
            read => read,
        }
    }

    /// Forgets what is cached of the file of types, which was found damaged, at a URL.
    pub(crate) fn forget_types(&self) {
        forget_file(&*self.files, &self.paths.meta.join(TYPES_NAME));
    }

    /// Replaces the file of types; `false` if this handle may not write now, because it is
    /// read-only, or because another process is writing.
    pub(crate) fn replace_types(&self, bytes: &[u8]) -> Result<bool> {
        let may_write = self.options.access == Access::ReadWrite
            && self.handle.check_writable().is_ok()
            && self.is_created()
            && bytes.len() <= SIZE_MAX;
        if !may_write {
            return Ok(false);
        }
        let Ok(_guard) = self.lock.try_acquire() else { return Ok(false) };
        let path = self.paths.meta.join(TYPES_NAME);
        whole_file::replace(&*self.files, &path, bytes, false)?;
        whole_file::share_access(&*self.files, &path).map_err(Error::io("write", &path))?;
        Ok(true)
    }
}
