//! An array that grows while others read it.
//!
//! Chunks double in size and are never moved, so an element's address is two
//! loads and no lock away, and a table that nobody fills costs nothing. Chunk
//! `n` holds `FIRST << n` elements.

use std::sync::OnceLock;

/// Elements in the first chunk.
const FIRST: usize = 256;
const FIRST_BITS: u32 = FIRST.trailing_zeros();

/// Chunks for every index a `u32` can be.
const CHUNKS: usize = 33 - FIRST_BITS as usize;

/// Elements addressed by `u32`, each `T::default()` at first.
#[derive(Debug)]
pub(crate) struct GrowingArray<T> {
    chunks: [OnceLock<Box<[T]>>; CHUNKS],
}

impl<T: Default> GrowingArray<T> {
    pub(crate) fn new() -> Self {
        Self { chunks: std::array::from_fn(|_| OnceLock::new()) }
    }

    /// The element, made if need be.
    pub(crate) fn at(&self, index: u32) -> &T {
        let (chunk, offset) = position(index);
        let elements =
            self.chunks[chunk].get_or_init(|| (0..FIRST << chunk).map(|_| T::default()).collect());
        &elements[offset]
    }

    /// The element, where its chunk exists.
    #[inline]
    pub(crate) fn get(&self, index: u32) -> Option<&T> {
        let (chunk, offset) = position(index);
        self.chunks[chunk].get()?.get(offset)
    }
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
        assert!(position(u32::MAX).0 < CHUNKS);
    }

    #[test]
    fn elements_stay() {
        let array: GrowingArray<AtomicU32> = GrowingArray::new();
        assert!(array.get(5000).is_none());
        array.at(5000).store(7, Ordering::Relaxed);
        array.at(70_000).store(8, Ordering::Relaxed);
        assert_eq!(array.get(5000).map(|value| value.load(Ordering::Relaxed)), Some(7));
        assert_eq!(array.at(4999).load(Ordering::Relaxed), 0);
    }
}
