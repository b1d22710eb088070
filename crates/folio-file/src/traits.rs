//! The two traits through which the stores access files.

use std::fmt::Debug;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use crate::{DirectoryEntry, Map, Stat, path_of_file_url};

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    /// Read only. The file must exist.
    Read,
    /// Read, and [`File::append`] at the current end. The file is created if missing.
    Append,
    /// Read and write at offsets. The file is created if missing.
    Write,
    /// Read and write at offsets. An error if the file exists.
    CreateNew,
}

/// A tree of files: the disk, or memory with faults.
pub trait FileSystem: Debug + Send + Sync + 'static {
    /// Opens a file.
    ///
    /// # Errors
    /// `NotFound`, `AlreadyExists`, `PermissionDenied` and other errors of the system.
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>>;

    /// Identity, size and times of the file at the path. Links are followed.
    ///
    /// # Errors
    /// `NotFound` if there is none.
    fn stat(&self, path: &Path) -> io::Result<Stat>;

    /// The same, but for a symbolic link itself, not its target.
    ///
    /// # Errors
    /// `NotFound` if there is none.
    fn stat_link(&self, path: &Path) -> io::Result<Stat>;

    /// Creates a directory and its parents. Succeeds if it exists.
    ///
    /// # Errors
    /// The system's error.
    fn create_directory(&self, path: &Path) -> io::Result<()>;

    /// The names in a directory, unordered.
    ///
    /// # Errors
    /// `NotFound` if the directory is missing.
    fn read_directory(&self, path: &Path) -> io::Result<Vec<DirectoryEntry>>;

    /// Renames a file atomically, replacing any file at `to`.
    ///
    /// # Errors
    /// The system's error; both names are then unchanged.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Gives a file or a directory the permissions of another, and its owner as far as this process
    /// may give away what it has. Nothing if there is no other.
    ///
    /// # Errors
    /// The system's error.
    fn keep_access(&self, _path: &Path, _of: &Path) -> io::Result<()> {
        Ok(())
    }

    /// Removes a file.
    ///
    /// # Errors
    /// `NotFound` if there is none.
    fn remove_file(&self, path: &Path) -> io::Result<()>;

    /// Removes an empty directory.
    ///
    /// # Errors
    /// `NotFound`, or `DirectoryNotEmpty`.
    fn remove_directory(&self, path: &Path) -> io::Result<()>;

    /// Makes the names in a directory (creations, renames, removals) durable.
    ///
    /// # Errors
    /// The device's error. Nothing may then be assumed durable.
    fn sync_directory(&self, path: &Path) -> io::Result<()>;

    /// Whether the path is on a network file system, where locks and syncs may guarantee less.
    fn is_network(&self, path: &Path) -> bool;

    /// The wall clock.
    fn now(&self) -> SystemTime;

    /// The path to use for one that a user has given: without the secrets of a URL, which the file
    /// system remembers, so that no error can have them; of a `file:` URL, its path.
    ///
    /// # Errors
    /// `Unsupported` for a URL that this file system does not read; `InvalidInput` for a `file:` URL
    /// without an absolute path here.
    fn admit(&self, path: &str) -> io::Result<String> {
        match path_of_file_url(path) {
            None => Ok(path.to_owned()),
            Some(Ok(path)) => Ok(path.to_string_lossy().into_owned()),
            Some(Err(reason)) => Err(io::Error::new(io::ErrorKind::InvalidInput, reason)),
        }
    }

    /// The absolute form of a path with links resolved. Handles of one process find each other by
    /// it.
    ///
    /// # Errors
    /// `NotFound` if there is no such file.
    fn canonical(&self, path: &Path) -> io::Result<std::path::PathBuf>;

    /// Begins to write a file of about this size to another machine. `None` if the path is not
    /// there: then a file is written beside it, and renamed.
    ///
    /// # Errors
    /// `Unsupported` for a place that takes no files.
    fn upload(&self, _path: &Path, _size: u64) -> io::Result<Option<Arc<dyn Upload>>> {
        Ok(None)
    }
}

/// A file that is sent to another machine piece by piece. It appears when it is finished; one that
/// is dropped before leaves nothing there.
pub trait Upload: Debug + Send + Sync {
    /// Writes all of `bytes` at the end, or within the range that is held.
    ///
    /// # Errors
    /// The error of the other machine.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Holds a range: what was written is changed only there from now on. All else may be sent.
    ///
    /// # Errors
    /// As [`Upload::write_at`].
    fn hold(&self, range: std::ops::Range<u64>) -> io::Result<()>;

    /// Sends the rest. The file is then at its path, durably, in place of an older one. Returns its
    /// size.
    ///
    /// # Errors
    /// As [`Upload::write_at`].
    fn finish(&self) -> io::Result<u64>;
}

/// An open file.
pub trait File: Debug + Send + Sync {
    /// Reads up to `buffer.len()` bytes at `offset`. Reads fewer only at the end of the file.
    ///
    /// # Errors
    /// The device's error.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// The same, by a reader that goes on with what follows, up to `end`. A file on another machine
    /// may fetch so far ahead.
    ///
    /// # Errors
    /// As [`File::read_at`].
    fn read_on(&self, buffer: &mut [u8], offset: u64, _end: u64) -> io::Result<usize> {
        self.read_at(buffer, offset)
    }

    /// Reads up to `size` bytes at `offset` into new memory, which need not be filled with zeros
    /// first. Reads fewer only at the end of the file.
    ///
    /// # Errors
    /// The device's error.
    fn read_new(&self, size: usize, offset: u64) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; size];
        let read = self.read_at(&mut bytes, offset)?;
        bytes.truncate(read);
        Ok(bytes)
    }

    /// Writes all of `bytes` at `offset`.
    ///
    /// # Errors
    /// The system's error (no space, device failure); a part may have been written. `InvalidInput`
    /// on a file opened with [`OpenMode::Append`], where Linux would ignore the offset.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Writes all of `bytes` at the current end of the file, also if another process has appended,
    /// and returns the offset after them.
    ///
    /// Finding the end and writing are atomic only for files opened with [`OpenMode::Append`].
    /// Calls on one handle must not overlap, or the returned offsets may be swapped.
    ///
    /// # Errors
    /// The system's error; a part may have been written.
    fn append(&self, bytes: &[u8]) -> io::Result<u64>;

    /// Sets the file's size.
    ///
    /// # Errors
    /// The system's error.
    fn truncate(&self, size: u64) -> io::Result<()>;

    /// Makes the content, and the size needed to read it, durable.
    ///
    /// # Errors
    /// The device's error. Nothing written since the last sync may then be assumed durable.
    fn sync_data(&self) -> io::Result<()>;

    /// Hints that the system should start writing a range out. Does not wait.
    fn start_writeback(&self, offset: u64, size: u64);

    /// Identity, size and times of the open file.
    ///
    /// # Errors
    /// The system's error.
    fn stat(&self) -> io::Result<Stat>;

    /// Identity, size and times when the file was opened, if opening has read them anyway;
    /// otherwise the current ones.
    ///
    /// # Errors
    /// The system's error.
    fn stat_at_open(&self) -> io::Result<Stat> {
        self.stat()
    }

    /// Identifies the period during which the system loses nothing that was written to this file's
    /// file system. The number changes after a power cut, a restart, or when a device was removed
    /// and mounted again. Never 0; `None` if it is unknown.
    fn epoch(&self) -> Option<u64> {
        None
    }

    /// Sets the time of last change.
    ///
    /// # Errors
    /// The system's error.
    fn set_modified(&self, time: SystemTime) -> io::Result<()>;

    /// Maps the file read-only. Only for files that are never changed in place.
    ///
    /// # Errors
    /// The system's error.
    fn map(&self) -> io::Result<Map>;

    /// Whether each read may be a request to another machine. Such a file is read no more than it
    /// must be: what can be proven later, piece by piece, is not read first to prove it.
    fn is_remote(&self) -> bool {
        false
    }

    /// Reads all of the file to prove that it has its content, where something beside the file says
    /// what that is.
    ///
    /// # Errors
    /// `InvalidData` if it has another; the system's error.
    fn verify(&self) -> io::Result<()> {
        Ok(())
    }

    /// Compares bytes, which were read as the whole of the file, with what something beside the file
    /// says of them. Only of a file on another machine: a local one was verified when it was opened.
    ///
    /// # Errors
    /// `InvalidData` if the file has another content.
    fn verify_bytes(&self, _bytes: &[u8]) -> io::Result<()> {
        Ok(())
    }

    /// Forgets what is cached of a range of a file on another machine, because it was found damaged:
    /// the next read asks for it again.
    fn forget(&self, _offset: u64, _size: u64) {}

    /// Reads ranges that will be read soon, if they come from another machine: together, where each
    /// alone would be a request. `ranges` are pairs of offset and size, in any order.
    ///
    /// # Errors
    /// As [`File::read_at`].
    fn read_ahead(&self, _ranges: &[(u64, u64)]) -> io::Result<()> {
        Ok(())
    }

    /// Takes the exclusive lock on this file if it is free; `false` if another handle has it.
    ///
    /// # Errors
    /// The system's error.
    fn try_lock(&self) -> io::Result<bool>;

    /// Takes the lock in shared mode; `false` only if another handle has it exclusively. A handle
    /// opened for reading may do this, so it is the way to check for a writer.
    ///
    /// # Errors
    /// The system's error.
    fn try_lock_shared(&self) -> io::Result<bool>;

    /// Releases the lock.
    ///
    /// # Errors
    /// The system's error.
    fn unlock(&self) -> io::Result<()>;

    /// Takes the lock on one byte, which need not exist, if no conflicting lock is held. Any number
    /// of handles may hold it shared, or one handle exclusively, which must be open for writing.
    /// Byte locks belong to the handle, end with it, and are independent of [`File::try_lock`].
    /// `false` on a conflict. On systems without such locks there are no conflicts.
    ///
    /// # Errors
    /// The system's error.
    fn try_lock_byte(&self, _offset: u64, _is_alone: bool) -> io::Result<bool> {
        Ok(true)
    }

    /// Releases the lock on one byte.
    ///
    /// # Errors
    /// The system's error.
    fn unlock_byte(&self, _offset: u64) -> io::Result<()> {
        Ok(())
    }

    /// Whether another handle has a lock on any byte of a range. The handle must be open for
    /// writing.
    ///
    /// # Errors
    /// The system's error.
    fn has_locked_byte(&self, _range: std::ops::Range<u64>) -> io::Result<bool> {
        Ok(false)
    }
}
