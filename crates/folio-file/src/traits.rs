//! The two traits through which the stores reach files.

use std::fmt::Debug;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use crate::{DirectoryEntry, Map, Stat};

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    /// Reading only; the file must exist.
    Read,
    /// Reading, and [`File::append`] at whatever the end is; created when missing.
    Append,
    /// Reading and writing at offsets; created when missing.
    Write,
    /// Reading and writing at offsets; an error when the file exists.
    CreateNew,
}

/// A tree of files: the disk, or memory with faults.
pub trait FileSystem: Debug + Send + Sync + 'static {
    /// Opens a file.
    ///
    /// # Errors
    /// `NotFound`, `AlreadyExists`, `PermissionDenied` and whatever else the system says.
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>>;

    /// Identity, size and times of what the path names, links followed.
    ///
    /// # Errors
    /// `NotFound` when nothing is there.
    fn stat(&self, path: &Path) -> io::Result<Stat>;

    /// The same, for the link itself when the path names a symbolic link.
    ///
    /// # Errors
    /// `NotFound` when nothing is there.
    fn stat_link(&self, path: &Path) -> io::Result<Stat>;

    /// Creates a directory and its parents; fine when it exists.
    ///
    /// # Errors
    /// Whatever the system says.
    fn create_directory(&self, path: &Path) -> io::Result<()>;

    /// The names in a directory, in no particular order.
    ///
    /// # Errors
    /// `NotFound` when the directory is missing.
    fn read_directory(&self, path: &Path) -> io::Result<Vec<DirectoryEntry>>;

    /// Renames a file, replacing what stood at `to`, atomically.
    ///
    /// # Errors
    /// Whatever the system says; then both names are as before.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// `NotFound` when nothing is there.
    fn remove_file(&self, path: &Path) -> io::Result<()>;

    /// Removes an empty directory.
    ///
    /// # Errors
    /// `NotFound`, or `DirectoryNotEmpty`.
    fn remove_directory(&self, path: &Path) -> io::Result<()>;

    /// Makes the names in a directory (creations, renames, removals) durable.
    ///
    /// # Errors
    /// The device's failure: nothing may then be assumed durable.
    fn sync_directory(&self, path: &Path) -> io::Result<()>;

    /// Whether the path lies on a network file system, where locks and syncs
    /// may mean less than they say.
    fn is_network(&self, path: &Path) -> bool;

    /// The wall clock.
    fn now(&self) -> SystemTime;

    /// The absolute form of a path with links resolved: the key under which
    /// handles of one process find each other.
    ///
    /// # Errors
    /// `NotFound` when nothing is there.
    fn canonical(&self, path: &Path) -> io::Result<std::path::PathBuf>;
}

/// An open file.
pub trait File: Debug + Send + Sync {
    /// Reads up to `buffer.len()` bytes at `offset`; fewer only at the end of the file.
    ///
    /// # Errors
    /// The device's failure.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes all of `bytes` at `offset`.
    ///
    /// # Errors
    /// The system's refusal (no space, device failure); a part may have been
    /// written. `InvalidInput` on a file opened with [`OpenMode::Append`], where
    /// Linux would ignore the offset.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Writes all of `bytes` at the end of the file, wherever another process
    /// has moved it, and returns the offset just behind them.
    ///
    /// That the end is found and written in one step holds for files opened
    /// with [`OpenMode::Append`]. Calls on one handle must not overlap, else the
    /// offsets returned may be each other's.
    ///
    /// # Errors
    /// The system's refusal; a part may have been written.
    fn append(&self, bytes: &[u8]) -> io::Result<u64>;

    /// Sets the file's size.
    ///
    /// # Errors
    /// The system's refusal.
    fn truncate(&self, size: u64) -> io::Result<()>;

    /// Makes the content, and the size needed to read it, durable.
    ///
    /// # Errors
    /// The device's failure: nothing written since the last sync may be assumed durable.
    fn sync_data(&self) -> io::Result<()>;

    /// Asks the system to begin writing a range out, without waiting. A hint.
    fn start_writeback(&self, offset: u64, size: u64);

    /// Identity, size and times of the open file.
    ///
    /// # Errors
    /// The system's refusal.
    fn stat(&self) -> io::Result<Stat>;

    /// Identity, size and times as they were when the file was opened, where opening
    /// has asked for them anyway; else as they are.
    ///
    /// # Errors
    /// The system's refusal.
    fn stat_at_open(&self) -> io::Result<Stat> {
        self.stat()
    }

    /// Names the time during which the system forgets nothing that was written to this
    /// file's file system: another number after a power cut, a restart, or when a device
    /// was taken out and mounted anew. Never 0; `None` where that cannot be told.
    fn epoch(&self) -> Option<u64> {
        None
    }

    /// Sets the time of last change.
    ///
    /// # Errors
    /// The system's refusal.
    fn set_modified(&self, time: SystemTime) -> io::Result<()>;

    /// Maps the file read-only. Only for files that nobody changes in place.
    ///
    /// # Errors
    /// The system's refusal.
    fn map(&self) -> io::Result<Map>;

    /// Takes the exclusive lock on this file if nobody else has it; `false` if somebody does.
    ///
    /// # Errors
    /// The system's refusal.
    fn try_lock(&self) -> io::Result<bool>;

    /// Takes the lock in shared mode: `false` only if somebody else has it
    /// exclusively. A handle opened for reading may do this, which makes it the
    /// way to ask whether there is a writer.
    ///
    /// # Errors
    /// The system's refusal.
    fn try_lock_shared(&self) -> io::Result<bool>;

    /// Gives the lock back.
    ///
    /// # Errors
    /// The system's refusal.
    fn unlock(&self) -> io::Result<()>;

    /// Takes the lock on one byte, which need not be there, if nobody who holds it
    /// stands in the way: any number may hold it shared, or one alone, who needs a
    /// handle that writes. Locks on bytes belong to the handle, go with it, and have
    /// nothing to do with [`File::try_lock`]. `false` if somebody is in the way. Where
    /// the system has no such locks, nobody ever is.
    ///
    /// # Errors
    /// The system's refusal.
    fn try_lock_byte(&self, _offset: u64, _is_alone: bool) -> io::Result<bool> {
        Ok(true)
    }

    /// Gives the lock on one byte back.
    ///
    /// # Errors
    /// The system's refusal.
    fn unlock_byte(&self, _offset: u64) -> io::Result<()> {
        Ok(())
    }

    /// Whether another handle has a lock on any byte of a range. Needs a handle that
    /// writes.
    ///
    /// # Errors
    /// The system's refusal.
    fn has_locked_byte(&self, _range: std::ops::Range<u64>) -> io::Result<bool> {
        Ok(false)
    }
}
