//! A file's bytes as one read-only slice.
//!
//! A [`Map`] is either a memory map of the operating system or plain memory; callers see no
//! difference. Maps are for files that are only replaced by rename. Truncating a mapped file in
//! place kills the process at the next access, and no check at opening can prevent that.

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
    /// Maps a whole file. An empty one gives an empty slice.
    ///
    /// # Errors
    /// The system's error.
    pub(crate) fn of_file(file: &fs::File) -> io::Result<Self> {
        // The system cannot map an empty file.
        let size = file.metadata()?.len();
        if size == 0 {
            return Ok(Self(Backing::Owned(Vec::new())));
        }
        let size = usize::try_from(size).map_err(|_| io::ErrorKind::FileTooLarge)?;
        // SAFETY: the map is read-only, and it is unmapped only when `Map` is dropped, which the
        // borrow checker orders after the last use of the slice. It cannot order other processes:
        // the contract of `File::map` is that no one writes to or truncates the file in place while
        // it is mapped (index files are written under another name, then renamed).
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
