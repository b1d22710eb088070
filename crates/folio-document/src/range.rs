//! Ranges of documents, and positions between lines, as other processes use them.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};

/// Some of the documents of a collection, next to each other in the order of a scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentRange {
    /// Where it begins: bytes of the data file, or documents where each is a file.
    pub start: u64,
    /// Where it ends, exclusive.
    pub end: u64,
    /// The number of its documents. Where each is a file, files that hold none count too.
    pub document_count: u64,
    /// What proves that they are the same documents.
    pub checksum: u64,
    /// Whether documents that were replaced or deleted since it was planned are left out. Otherwise
    /// a range with such documents is refused.
    pub omits_replaced: bool,
}

/// Where a data file ended at one moment, and what proves that it still begins with the same bytes.
/// Its text ([`fmt::Display`], [`FromStr`]) is what programs keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Bytes of lines before it.
    pub(crate) size: u64,
    /// The sum of the sums of all whole blocks of 64 KiB.
    pub(crate) blocks_sum: u64,
    /// The sum of the bytes after those blocks.
    pub(crate) tail_sum: u64,
}

impl Position {
    /// Bytes of lines before it.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }
}

impl fmt::Display for Position {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}-{:x}-{:x}", self.size, self.blocks_sum, self.tail_sum)
    }
}

impl FromStr for Position {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let unknown = || {
            Error::Invalid(format!("{text:?} is not a position; use what `position` has returned"))
        };
        let mut parts = text.split('-');
        let mut part = || parts.next().ok_or_else(unknown);
        let hex = |text: &str| u64::from_str_radix(text, 16).map_err(|_| unknown());
        let size = part()?.parse().map_err(|_| unknown())?;
        let (blocks_sum, tail_sum) = (hex(part()?)?, hex(part()?)?);
        match parts.next() {
            None => Ok(Self { size, blocks_sum, tail_sum }),
            Some(_) => Err(unknown()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test that panics has failed
mod tests {
    use super::*;

    #[test]
    fn a_position_is_its_text() {
        let position = Position { size: 65_536, blocks_sum: u64::MAX, tail_sum: 0 };
        assert_eq!(position.to_string(), "65536-ffffffffffffffff-0");
        assert_eq!(position.to_string().parse::<Position>().unwrap(), position);
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["", "5", "5-a", "5-a-", "5-a-b-c", "-5-a-b", "x-a-b", "5-g-b"] {
            let error = text.parse::<Position>().unwrap_err().to_string();
            assert!(error.contains("is not a position"), "{text}: {error}");
        }
    }
}
