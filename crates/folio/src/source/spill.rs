//! Files for what a statement cannot hold in memory.
//!
//! A file lies in the database's directory, where there is room for data, or, for a
//! handle that only reads, in the system's folder for temporary files. Its name is
//! removed as soon as it is open, so that a process that dies leaves nothing behind.
//! Where the system does not take a name away from an open file, it goes with the file.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use folio_file::{DiskFileSystem, File, FileSystem, OpenMode};
use folio_query::Result as QueryResult;
use folio_query::source::SpillFile;

use super::from_facade;
use crate::error::Error;
use crate::handle::Handle;

/// Tells the files of one process apart.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// An empty file.
pub(super) fn create(handle: &Handle) -> QueryResult<Box<dyn SpillFile>> {
    let store = &handle.store;
    if handle.is_writable() && store.files.stat(&store.root).is_ok() {
        return create_in(Arc::clone(&store.files), &store.root);
    }
    create_in(Arc::new(DiskFileSystem), &std::env::temp_dir())
}

fn create_in(files: Arc<dyn FileSystem>, directory: &Path) -> QueryResult<Box<dyn SpillFile>> {
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = directory.join(format!("folio-spill-{}-{number}.tmp", std::process::id()));
    let file = files
        .open(&path, OpenMode::CreateNew)
        .map_err(|error| from_facade(Error::io("create", &path)(error)))?;
    let is_nameless = files.remove_file(&path).is_ok();
    Ok(Box::new(OnDisk { file: Some(file), files, path, is_nameless }))
}

struct OnDisk {
    /// There until it is dropped.
    file: Option<Arc<dyn File>>,
    files: Arc<dyn FileSystem>,
    path: PathBuf,
    is_nameless: bool,
}

impl OnDisk {
    fn file(&self) -> io::Result<&Arc<dyn File>> {
        self.file.as_ref().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn read_exactly(&self, mut bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            let count = self.file()?.read_at(bytes, offset)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            bytes = &mut bytes[count..];
            offset += count as u64;
        }
        Ok(())
    }
}

impl SpillFile for OnDisk {
    fn write(&mut self, bytes: &[u8], offset: u64) -> QueryResult<()> {
        let written = self.file().and_then(|file| file.write_at(bytes, offset));
        written.map_err(|error| from_facade(Error::io("write", &self.path)(error)))
    }

    fn read(&mut self, bytes: &mut [u8], offset: u64) -> QueryResult<()> {
        let read = self.read_exactly(bytes, offset);
        read.map_err(|error| from_facade(Error::io("read", &self.path)(error)))
    }
}

impl Drop for OnDisk {
    fn drop(&mut self) {
        self.file = None;
        if !self.is_nameless {
            // Nobody is left to tell; what stays is named for what it is.
            let _ = self.files.remove_file(&self.path);
        }
    }
}
