//! An array that grows while other threads read it.
//!
//! Chunks double in size and are never moved, so an element is two loads away, without a lock, and
//! an empty array costs nothing. Chunk `n` holds `FIRST << n` elements. A large chunk is allocated
//! block by block, at the cost of one more load: an invalid page number in a damaged log then
//! allocates one block, and not space for all pages before it.

use std::sync::OnceLock;

/// Elements in the first chunk.
const FIRST: usize = 256;
const FIRST_BITS: u32 = FIRST.trailing_zeros();

/// The number of chunks allocated as a whole.
const WHOLE_CHUNKS: usize = 8;

/// The number of chunks allocated block by block: enough for every `u32` index.
const LARGE_CHUNKS: usize = 33 - FIRST_BITS as usize - WHOLE_CHUNKS;

/// Elements of a block: the size of the first large chunk.
const BLOCK: usize = FIRST << WHOLE_CHUNKS;

/// Elements, once allocated.
type Elements<T> = OnceLock<Box<[T]>>;

/// Elements addressed by `u32`, each `T::default()` at first.
#[derive(Debug)]
pub(crate) struct ChunkedArray<T> {
    chunks: [Elements<T>; WHOLE_CHUNKS],
    large: [Elements<Elements<T>>; LARGE_CHUNKS],
}

impl<T: Default> ChunkedArray<T> {
    pub(crate) fn new() -> Self {
        Self {
            chunks: std::array::from_fn(|_| OnceLock::new()),
            large: std::array::from_fn(|_| OnceLock::new()),
        }
    }

    /// The element, allocated if necessary.
    pub(crate) fn at(&self, index: u32) -> &T {
        let (chunk, offset) = position(index);
        match chunk.checked_sub(WHOLE_CHUNKS) {
            None => &make(&self.chunks[chunk], FIRST << chunk)[offset],
            Some(large) => {
                let blocks = make(&self.large[large], 1 << large);
                &make(&blocks[offset / BLOCK], BLOCK)[offset % BLOCK]
            }
        }
    }

    /// The element, if its chunk or block exists.
    #[inline]
    pub(crate) fn get(&self, index: u32) -> Option<&T> {
        let (chunk, offset) = position(index);
        match chunk.checked_sub(WHOLE_CHUNKS) {
            None => self.chunks[chunk].get()?.get(offset),
            Some(large) => {
                let blocks = self.large[large].get()?;
                blocks.get(offset / BLOCK)?.get()?.get(offset % BLOCK)
            }
        }
    }
}

fn make<T: Default>(elements: &Elements<T>, count: usize) -> &[T] {
    elements.get_or_init(|| (0..count).map(|_| T::default()).collect())
}

#[inline]
fn position(index: u32) -> (usize, usize) {
    let shifted = u64::from(index) + FIRST as u64;
    let top = 63 - shifted.leading_zeros();
    ((top - FIRST_BITS) as usize, (shifted - (1 << top)) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn every_index_has_one_place() {
        let mut expected = (0, 0);
        for index in 0..100_000 {
            assert_eq!(position(index), expected, "{index}");
            expected.1 += 1;
            if expected.1 == FIRST << expected.0 {
                expected = (expected.0 + 1, 0);
            }
        }
        assert_eq!(position(u32::MAX).0, WHOLE_CHUNKS + LARGE_CHUNKS - 1);
    }

    #[test]
    fn elements_stay() {
        let array: ChunkedArray<AtomicU32> = ChunkedArray::new();
        assert!(array.get(5000).is_none());
        array.at(5000).store(7, Ordering::Relaxed);
        array.at(70_000).store(8, Ordering::Relaxed);
        assert_eq!(array.get(5000).map(|value| value.load(Ordering::Relaxed)), Some(7));
        assert_eq!(array.at(4999).load(Ordering::Relaxed), 0);
    }

    /// A log with valid checksums may contain any page number.
    #[test]
    fn a_far_element_costs_a_block() {
        let array: ChunkedArray<[u64; 8]> = ChunkedArray::new();
        for index in [u32::MAX, u32::MAX - 1, 1 << 31, 65_279, 65_280, 65_281, 200_000] {
            assert!(array.get(index).is_none_or(|element| element == &[0; 8]), "{index}");
            assert_eq!(array.at(index), &[0; 8]);
            assert!(std::ptr::eq(array.at(index), array.get(index).expect("it is made")));
        }
        assert!(array.get(1 << 30).is_none());
        assert!(array.get(u32::MAX - 70_000).is_none());
    }
}
