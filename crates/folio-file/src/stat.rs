//! What the file system tells of a file.

/// A file's kind, links not followed.
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
/// Two equal values for the same path mean that nobody has written to the file
/// in between, as far as the file system can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// What kind of file it is.
    pub kind: FileKind,
    /// The device, with `inode` the file's identity.
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

/// One name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// The name, lossless where the name is UTF-8.
    pub name: String,
    /// What it is, links not followed.
    pub kind: FileKind,
}
