//! One open file on disk.

use std::fs::{self, FileTimes, OpenOptions, TryLockError};
use std::io::{self, Seek, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use super::{byte_lock, epoch, fork, platform};
use crate::{File, FileKind, Map, OpenMode, Stat};

/// An open file of the operating system.
#[derive(Debug)]
pub(super) struct DiskFile {
    file: fs::File,
    mode: OpenMode,
    at_open: Stat,
    /// Whether a lock was taken on it.
    is_locked: AtomicBool,
}

impl DiskFile {
    /// Opens a regular file.
    ///
    /// # Errors
    /// `IsADirectory` and `InvalidInput` for anything else. A directory would open for reading and
    /// fail later; a named pipe would block until it is written to.
    pub(super) fn open(path: &Path, mode: OpenMode) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        match mode {
            OpenMode::Read => options.read(true),
            OpenMode::Append => options.read(true).append(true).create(true),
            OpenMode::Write => options.read(true).write(true).create(true).truncate(false),
            OpenMode::CreateNew => options.read(true).write(true).create_new(true),
        };
        platform::never_block(&mut options);
        let file = options.open(path)?;
        let at_open = platform::stat(&file.metadata()?);
        match at_open.kind {
            FileKind::File => Ok(Self { file, mode, at_open, is_locked: AtomicBool::new(false) }),
            FileKind::Directory => Err(io::Error::from(io::ErrorKind::IsADirectory)),
            _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")),
        }
    }

    /// Called before a lock is taken, which a child of this process must not share.
    fn will_lock(&self) {
        if !self.is_locked.swap(true, Ordering::Relaxed) {
            fork::keep_from_children(&self.file);
        }
    }
}

impl Drop for DiskFile {
    fn drop(&mut self) {
        if *self.is_locked.get_mut() {
            fork::forget(&self.file);
        }
    }
}

impl File for DiskFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        // No file reaches that far, but the system would call the offset invalid.
        if offset > i64::MAX as u64 - buffer.len() as u64 {
            return Ok(0);
        }
        let mut filled = 0;
        while filled < buffer.len() {
            match platform::read_at(&self.file, &mut buffer[filled..], offset + filled as u64) {
                Ok(0) => break,
                Ok(count) => {
                    filled += count;
                    // On network file systems a read may be short in the middle. At the known size
                    // it is the end, and another read would only confirm that.
                    if filled < buffer.len() && offset + filled as u64 == self.at_open.size {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    #[cfg(target_os = "linux")]
    fn read_new(&self, size: usize, offset: u64) -> io::Result<Vec<u8>> {
        if offset > i64::MAX as u64 - size as u64 {
            return Ok(Vec::new());
        }
        let mut bytes = Vec::with_capacity(size);
        while bytes.len() < size {
            let at = offset + bytes.len() as u64;
            match platform::read_more(&self.file, &mut bytes, at) {
                Ok(0) => break,
                Ok(_) if offset + bytes.len() as u64 == self.at_open.size => break,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        bytes.truncate(size); // there may have been room for more
        Ok(bytes)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        if self.mode == OpenMode::Append {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the file is open for appending; open it for writing to write at an offset",
            ));
        }
        platform::write_all_at(&self.file, bytes, offset)
    }

    fn append(&self, bytes: &[u8]) -> io::Result<u64> {
        if self.mode != OpenMode::Append {
            let end = self.file.metadata()?.len();
            self.write_at(bytes, end)?;
            return Ok(end + bytes.len() as u64);
        }
        let mut file = &self.file;
        file.write_all(bytes)?;
        // Uses the position, not the size: a foreign append in between changes the size, while the
        // position is after what this handle wrote.
        file.stream_position()
    }

    fn truncate(&self, size: u64) -> io::Result<()> {
        self.file.set_len(size)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn start_writeback(&self, offset: u64, size: u64) {
        platform::start_writeback(&self.file, offset, size);
    }

    fn stat(&self) -> io::Result<Stat> {
        Ok(platform::stat(&self.file.metadata()?))
    }

    fn stat_at_open(&self) -> io::Result<Stat> {
        Ok(self.at_open)
    }

    fn epoch(&self) -> Option<u64> {
        epoch::of(&self.file)
    }

    fn set_modified(&self, time: SystemTime) -> io::Result<()> {
        self.file.set_times(FileTimes::new().set_modified(time))
    }

    fn map(&self) -> io::Result<Map> {
        Map::of_file(&self.file)
    }

    fn try_lock(&self) -> io::Result<bool> {
        self.will_lock();
        taken(self.file.try_lock())
    }

    fn try_lock_shared(&self) -> io::Result<bool> {
        taken(self.file.try_lock_shared())
    }

    fn unlock(&self) -> io::Result<()> {
        self.file.unlock()
    }

    fn try_lock_byte(&self, offset: u64, is_alone: bool) -> io::Result<bool> {
        self.will_lock();
        byte_lock::try_lock(&self.file, offset, is_alone)
    }

    fn unlock_byte(&self, offset: u64) -> io::Result<()> {
        byte_lock::unlock(&self.file, offset)
    }

    fn has_locked_byte(&self, range: Range<u64>) -> io::Result<bool> {
        byte_lock::is_locked(&self.file, range)
    }
}

fn taken(result: Result<(), TryLockError>) -> io::Result<bool> {
    match result {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}
