//! Numbers that must not be mixed up.

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};

/// A page of the data file: its number, from 1. 0 is no page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PageId(pub u32);

impl PageId {
    /// No page: the end of a chain, an empty list.
    pub const NONE: Self = Self(0);

    /// Whether there is such a page.
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

/// A position in the endless log, in bytes since the database was made. The
/// log file holds a window of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Lsn(pub u64);

impl Lsn {
    /// Behind every record there will ever be.
    pub const MAX: Self = Self(u64::MAX);
}

impl fmt::Display for Lsn {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.0)
    }
}

/// The most that files count of bytes written, checkpoints and generations: 4 EiB. What is
/// beyond was never written, and would make sums of positions overflow.
pub(crate) const COUNT_MAX: u64 = 1 << 62;

/// A number that no other generation or database is likely to have.
pub(crate) fn draw() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// A B+tree: the number all its pages carry. 0 is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TreeId(pub u32);

impl TreeId {
    /// The tree of tables, indexes and what else has a name.
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

/// What the buffer pool holds in its frames: a page as the data file has it, or
/// one version of a page that is newer than that.
///
/// The pool does not care which; two halves of one number space keep them apart,
/// so that the way from a block to its frame is an array access in either.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(u32);

const VERSION_BIT: u32 = 1 << 31;

impl BlockId {
    /// The page as it is in the data file.
    ///
    /// # Panics
    /// When the number needs its highest bit; page counts are checked against that.
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

    /// The page of the data file, if that is what it is.
    #[must_use]
    pub fn as_page(self) -> Option<PageId> {
        match self.place() {
            BlockPlace::Page(page) => Some(page),
            BlockPlace::Version(_) => None,
        }
    }

    /// Which of the two it is, with its number there.
    pub(crate) fn place(self) -> BlockPlace {
        if self.0 & VERSION_BIT == 0 {
            BlockPlace::Page(PageId(self.0))
        } else {
            BlockPlace::Version(self.0 & !VERSION_BIT)
        }
    }

    /// The number as such.
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
