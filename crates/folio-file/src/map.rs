//! A file's bytes, read-only, as one slice.
//!
//! Behind a [`Map`] stands either a map of the operating system or plain
//! memory; nothing above can tell. Maps are for files that are only ever
//! replaced by rename: a mapped file that somebody shortens in place kills the
//! process on the next access, and no check at opening can prevent it.

use std::fmt;
use std::fs;
use std::io;
use std::ops::Deref;

/// Read-only bytes of a file, as of when it was mapped.
pub struct Map(Backing);

enum Backing {
    Mapped(memmap2::Mmap),
    Owned(Vec<u8>),
}

impl Map {
    /// Maps a whole file; an empty one gives an empty slice.
    ///
    /// # Errors
    /// The system's refusal.
    pub(crate) fn of_file(file: &fs::File) -> io::Result<Self> {
        // An empty file cannot be mapped, so it never reaches the system.
        let size = file.metadata()?.len();
        if size == 0 {
            return Ok(Self(Backing::Owned(Vec::new())));
        }
        let size = usize::try_from(size).map_err(|_| io::ErrorKind::FileTooLarge)?;
        // SAFETY: the map is read-only, and it is unmapped only when `Map` is
        // dropped, which the borrow checker orders after the last use of the slice.
        // What it cannot order is another process: the contract of `File::map` is
        // that nobody writes to or shortens the file in place while it is mapped
        // (index files are written under another name, then renamed).
        #[allow(unsafe_code)]
        let map = unsafe { memmap2::MmapOptions::new().len(size).map(file)? };
        Ok(Self(Backing::Mapped(map)))
    }
}

impl From<Vec<u8>> for Map {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Backing::Owned(bytes))
    }
}

impl Deref for Map {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Backing::Mapped(map) => map,
            Backing::Owned(bytes) => bytes,
        }
    }
}

impl AsRef<[u8]> for Map {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for Map {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let backing = match &self.0 {
            Backing::Mapped(_) => "mapped",
            Backing::Owned(_) => "owned",
        };
        formatter.debug_struct("Map").field("backing", &backing).field("size", &self.len()).finish()
    }
}
