//! Metadata of files.

use std::time::{Duration, SystemTime};

/// A file's kind. Links are not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A device, pipe or socket.
    Other,
}

/// Identity, size and times of a file.
///
/// Two equal values for the same path mean that the file was not written in between, as far as the
/// file system shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// What kind of file it is.
    pub kind: FileKind,
    /// The device. Together with `inode`, it identifies the file.
    pub device: u64,
    /// The inode number.
    pub inode: u64,
    /// Size in bytes.
    pub size: u64,
    /// Last change of content, nanoseconds since the epoch.
    pub modified_ns: i128,
    /// Last change of content or metadata, nanoseconds since the epoch.
    pub changed_ns: i128,
}

impl Stat {
    /// The device and the inode: what tells a file from all others there are. Both are 0 where the
    /// system does not say.
    #[must_use]
    pub fn identity(&self) -> (u64, u64) {
        (self.device, self.inode)
    }

    /// When the content was last changed; `None` before 1970.
    #[must_use]
    pub fn modified(&self) -> Option<SystemTime> {
        let nanoseconds = u64::try_from(self.modified_ns).ok()?;
        SystemTime::UNIX_EPOCH.checked_add(Duration::from_nanos(nanoseconds))
    }
}

/// One name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// The name; lossless if it is UTF-8.
    pub name: String,
    /// Its kind. Links are not followed.
    pub kind: FileKind,
}
