//! A mapped file whose blocks are compared with known sums before their first use.
//!
//! Files that are written once, and whose sums somebody keeps elsewhere, are read like this: no byte
//! reaches a decoder that was not written, and what nobody asks for is never read.

use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use xxhash_rust::xxh3::xxh3_64;

use crate::map::Map;

/// The size of a block that has a sum; the last one of a file may be shorter.
const BLOCK_SIZE: usize = 1 << 16;

/// A file with the sums of its blocks.
pub struct SummedMap {
    map: Map,
    sums: Box<[u64]>,
    /// One bit for each block that was found intact.
    checked: Box<[AtomicU64]>,
    is_damaged: AtomicBool,
    decoded: OnceLock<Option<Box<dyn Any + Send + Sync>>>,
}

impl SummedMap {
    /// The number of sums of a file of this size.
    #[must_use]
    pub fn sum_count(size: u64) -> u64 {
        size.div_ceil(BLOCK_SIZE as u64)
    }

    /// The sums of bytes that will be a file.
    pub fn sums(bytes: &[u8]) -> impl Iterator<Item = u64> + '_ {
        bytes.chunks(BLOCK_SIZE).map(xxh3_64)
    }

    /// A file with the sums that its blocks had when it was written; `None` if it has not as many
    /// blocks.
    #[must_use]
    pub fn new(map: Map, sums: Box<[u64]>) -> Option<Self> {
        let is_fit = Self::sum_count(map.len() as u64) == sums.len() as u64;
        let words = sums.len().div_ceil(64);
        let checked = std::iter::repeat_with(|| AtomicU64::new(0)).take(words).collect();
        let (is_damaged, decoded) = (AtomicBool::new(false), OnceLock::new());
        is_fit.then_some(Self { map, sums, checked, is_damaged, decoded })
    }

    /// The bytes of the file. [`SummedMap::is_intact`] says whether they are right.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// Whether the blocks of a range are as they were written. Each is read for this once.
    #[must_use]
    pub fn is_intact(&self, range: Range<u64>) -> bool {
        let blocks = range.start / BLOCK_SIZE as u64..range.end.div_ceil(BLOCK_SIZE as u64);
        let is_intact = range.end <= self.map.len() as u64
            && !self.is_damaged()
            && blocks.into_iter().all(|block| self.is_block_intact(block as usize));
        if !is_intact {
            self.mark_damaged();
        }
        is_intact
    }

    fn is_block_intact(&self, block: usize) -> bool {
        let (word, bit) = (&self.checked[block / 64], 1 << (block % 64));
        if word.load(Ordering::Relaxed) & bit != 0 {
            return true;
        }
        let start = block * BLOCK_SIZE;
        let end = self.map.len().min(start + BLOCK_SIZE);
        let is_intact = self.sums[block] == xxh3_64(&self.map[start..end]);
        if is_intact {
            word.fetch_or(bit, Ordering::Relaxed);
        }
        is_intact
    }

    /// Whether damage was found. The file is not used again.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        self.is_damaged.load(Ordering::Relaxed)
    }

    /// Notes that the file cannot be read.
    pub fn mark_damaged(&self) {
        self.is_damaged.store(true, Ordering::Relaxed);
    }

    /// What the reader of the file knows of it: found once, kept as long as the map is.
    pub fn decoded<T: Any + Send + Sync>(
        &self,
        decode: impl FnOnce(&Self) -> Option<T>,
    ) -> Option<&T> {
        let decoded = self.decoded.get_or_init(|| {
            decode(self).map(|decoded| Box::new(decoded) as Box<dyn Any + Send + Sync>)
        });
        decoded.as_ref()?.downcast_ref()
    }
}

impl fmt::Debug for SummedMap {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "SummedMap({:?})", self.map)
    }
}
