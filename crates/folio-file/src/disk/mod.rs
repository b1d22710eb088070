//! The disk, through the standard library.
//!
//! [`DiskFileSystem`] has no state: every call goes to the system, and clones are free. Differences
//! between systems are in `unix` and `windows`, one function per difference. `network` recognises
//! network file systems.
//!
//! Limits on other systems:
//! - on Windows the standard library gives no file identity. So [`Stat::device`] and
//!   [`Stat::inode`] are 0, and a file replaced by one of the same size and time is not detected.
//!   Directories cannot be synced. A file locked exclusively cannot be read, so the holder's pid
//!   stays unknown;
//! - [`File::start_writeback`], [`File::epoch`] and [`FileSystem::is_network`] work on Linux only;
//!   elsewhere they do nothing and return `None` or `false`.

mod byte_lock;
mod epoch;
mod file;
mod fork;
mod network;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as platform;
#[cfg(windows)]
use windows as platform;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use crate::{DirectoryEntry, File, FileKind, FileSystem, OpenMode, Stat};
use file::DiskFile;
pub use fork::fork_count;

/// The operating system's files.
#[derive(Debug, Clone, Copy, Default)]
pub struct DiskFileSystem;

impl FileSystem for DiskFileSystem {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        Ok(Arc::new(DiskFile::open(path, mode)?))
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        Ok(platform::stat(&fs::metadata(path)?))
    }

    fn stat_link(&self, path: &Path) -> io::Result<Stat> {
        Ok(platform::stat(&fs::symlink_metadata(path)?))
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    fn read_directory(&self, path: &Path) -> io::Result<Vec<DirectoryEntry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            entries.push(DirectoryEntry {
                name: entry.file_name().to_string_lossy().into_owned(),
                kind: kind_of(entry.file_type()?),
            });
        }
        Ok(entries)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        platform::keep_access(from, to)?;
        fs::rename(from, to)
    }

    fn keep_access(&self, path: &Path, of: &Path) -> io::Result<()> {
        platform::keep_access(path, of)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        platform::sync_directory(path)
    }

    fn is_network(&self, path: &Path) -> bool {
        network::is_network(path)
    }

    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        fs::canonicalize(path)
    }
}

fn kind_of(kind: fs::FileType) -> FileKind {
    if kind.is_file() {
        FileKind::File
    } else if kind.is_dir() {
        FileKind::Directory
    } else if kind.is_symlink() {
        FileKind::Link
    } else {
        FileKind::Other
    }
}
