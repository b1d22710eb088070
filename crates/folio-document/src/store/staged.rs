//! A new data file on its way to take the place of the old one: of a compaction, or of a recovery.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use folio_file::{File, FileKind, FileSystem, OpenMode, Stat};

use super::LineStore;
use crate::error::{Error, Result};

/// A file beside the data file. Dropped before it is in place, it is removed: it may be what fills
/// the disk.
pub(super) struct Staged {
    files: Arc<dyn FileSystem>,
    pub(super) file: Arc<dyn File>,
    pub(super) path: PathBuf,
    /// The data file, or what it is a link to.
    target: PathBuf,
    is_in_place: bool,
}

impl LineStore {
    /// Creates the file that is to take the place of the data file. If that is a link, the file that
    /// it leads to is replaced, and the link stays.
    pub(super) fn stage(&self) -> Result<Staged> {
        let data = &self.paths.data;
        let is_link = self.files.stat_link(data).is_ok_and(|stat| stat.kind == FileKind::Link);
        let (path, target) = match is_link {
            true => {
                let target = self.files.canonical(data).map_err(Error::io("follow", data))?;
                // It is in a folder of the user's, so its name is one that nobody else gives.
                let mut name = OsString::from(".");
                name.push(target.file_name().unwrap_or_default());
                name.push(".folio-new");
                (target.with_file_name(name), target)
            }
            false => (self.paths.staged.clone(), data.clone()),
        };
        match self.files.remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Error::io("remove", &path)(error));
            }
            _ => {}
        }
        let file =
            self.files.open(&path, OpenMode::CreateNew).map_err(Error::io("create", &path))?;
        Ok(Staged { files: Arc::clone(&self.files), file, path, target, is_in_place: false })
    }

    /// Makes a new file durable and renames it over the old one; `false`, with nothing done, if that
    /// is not as it was `before`.
    pub(super) fn put_in_place(
        &self,
        mut new: Staged,
        old: &dyn File,
        before: Stat,
    ) -> Result<bool> {
        if !self.options.failpoints().replace_before_sync() {
            new.file.sync_data().map_err(|error| self.handle.poison(&new.path, error))?;
        }
        if self.stat_data()? != Some(before) {
            return Ok(false);
        }
        let renamed = self.files.rename(&new.path, &new.target);
        renamed.map_err(Error::io("replace", &self.paths.data))?;
        new.is_in_place = true;
        self.carry_over(old, before.size)?;
        let folder = new.target.parent().unwrap_or(&self.paths.meta);
        self.files.sync_directory(folder).map_err(|error| self.handle.poison(folder, error))?;
        Ok(true)
    }

    /// Copies what `>>` appended to the old file after our last read and before the rename.
    fn carry_over(&self, old: &dyn File, size: u64) -> Result<()> {
        let io = |action| Error::io(action, &self.paths.data);
        let late_size = old.stat().map_err(io("read"))?.size.saturating_sub(size);
        if late_size == 0 {
            return Ok(());
        }
        let mut late = vec![0; late_size as usize];
        let read = old.read_at(&mut late, size).map_err(io("read"))?;
        let data = self.files.open(&self.paths.data, OpenMode::Append).map_err(io("open"))?;
        data.append(&late[..read]).map_err(io("append to"))?;
        data.sync_data().map_err(|error| self.handle.poison(&self.paths.data, error))
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.is_in_place {
            let _ = self.files.remove_file(&self.path);
        }
    }
}
