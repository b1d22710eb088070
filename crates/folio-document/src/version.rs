//! Tells whether a collection has changed since an earlier moment, and whether it has only grown.
//!
//! Data derived from documents belongs to one version of them, as the index belongs to its data
//! file. Counts and sizes are not enough: an edit by hand may keep both.

use std::hash::{BuildHasher, Hasher, RandomState};

/// The state of a collection at one moment. Equal versions hold the same documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Version {
    /// A new random number whenever the data may have changed other than at its end.
    pub(crate) generation: u64,
    /// Bytes of lines that the index covers; 0 where each document is a file.
    pub(crate) end: u64,
    /// Live documents.
    pub(crate) count: u64,
}

impl Version {
    /// The number of documents.
    #[must_use]
    pub fn document_count(&self) -> u64 {
        self.count
    }

    /// Bytes of lines; 0 where each document is a file.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.end
    }

    /// Whether all lines of the earlier version are still in place, with or without lines added
    /// after them.
    #[must_use]
    pub fn has_grown_from(&self, earlier: &Self) -> bool {
        self.generation == earlier.generation && self.end >= earlier.end
    }
}

/// What proves to another process that a data file begins with the lines of a version: checksums of
/// their bytes. Where each document is a file, versions have no stamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Bytes of lines.
    pub size: u64,
    /// Live documents among them.
    pub document_count: u64,
    /// The sum of the sums of all whole blocks of 64 KiB.
    pub blocks_sum: u64,
    /// The sum of the bytes after those blocks.
    pub tail_sum: u64,
}

/// A random number, from the keys that the standard library draws for its hashers.
pub(crate) fn new_generation() -> u64 {
    RandomState::new().build_hasher().finish()
}
