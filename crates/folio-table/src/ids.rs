//! Number types that must not be mixed up.

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};

/// The number of a page of the data file, from 1. 0 means no page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PageId(pub u32);

impl PageId {
    /// No page: the end of a chain, an empty list.
    pub const NONE: Self = Self(0);

    /// Whether it is a page, not 0.
    #[must_use]
    pub fn is_some(self) -> bool {
        self != Self::NONE
    }
}

impl fmt::Display for PageId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.0)
    }
}

/// A position in the endless log, in bytes since the database was created. The log file holds a
/// window of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Lsn(pub u64);

impl Lsn {
    /// Greater than the position of any record.
    pub const MAX: Self = Self(u64::MAX);
}

impl fmt::Display for Lsn {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.0)
    }
}

/// The maximum of the counters in files (bytes, checkpoints, generations): 4 EiB. A larger number
/// was never written, and could overflow sums of positions.
pub(crate) const COUNT_MAX: u64 = 1 << 62;

/// A random number, to distinguish generations and databases.
pub(crate) fn draw() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// The number of a B+tree, which all its pages carry. 0 means no tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TreeId(pub u32);

impl TreeId {
    /// The tree of tables, indexes and other named objects.
    pub const CATALOG: Self = Self(1);
    /// The tree of row counts.
    pub const STATISTICS: Self = Self(2);
    /// The first number that tables and indexes may have.
    pub const FIRST_FREE: Self = Self(16);
}

impl fmt::Display for TreeId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.0)
    }
}

/// The content of a frame of the buffer pool: a page as in the data file, or a newer version of a
/// page.
///
/// The pool treats both alike. Each has half of one number space, so that finding the frame of a
/// block is an array access for either.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(u32);

const VERSION_BIT: u32 = 1 << 31;

impl BlockId {
    /// The page as it is in the data file.
    ///
    /// # Panics
    /// When the number uses its highest bit; page counts are checked against that.
    #[must_use]
    pub fn page(page: PageId) -> Self {
        assert!(page.0 < VERSION_BIT, "page numbers have 31 bits");
        Self(page.0)
    }

    /// The version in a slot of the version table.
    #[must_use]
    pub(crate) fn version(slot: u32) -> Self {
        debug_assert!(slot < VERSION_BIT, "slots have 31 bits");
        Self(slot | VERSION_BIT)
    }

    /// The page of the data file, if it is one.
    #[must_use]
    pub fn as_page(self) -> Option<PageId> {
        match self.place() {
            BlockPlace::Page(page) => Some(page),
            BlockPlace::Version(_) => None,
        }
    }

    /// The kind of block, with its number.
    pub(crate) fn place(self) -> BlockPlace {
        if self.0 & VERSION_BIT == 0 {
            BlockPlace::Page(PageId(self.0))
        } else {
            BlockPlace::Version(self.0 & !VERSION_BIT)
        }
    }

    /// The raw number.
    pub(crate) fn number(self) -> u32 {
        self.0
    }

    pub(crate) fn from_number(number: u32) -> Self {
        Self(number)
    }
}

/// The two kinds of block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockPlace {
    /// A page of the data file.
    Page(PageId),
    /// A slot of the version table.
    Version(u32),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_numbers_differ() {
        assert_ne!(draw(), draw());
    }

    #[test]
    fn blocks_know_their_place() {
        assert_eq!(BlockId::page(PageId(7)).place(), BlockPlace::Page(PageId(7)));
        assert_eq!(BlockId::version(7).place(), BlockPlace::Version(7));
        assert_ne!(BlockId::page(PageId(7)), BlockId::version(7));
    }
}
