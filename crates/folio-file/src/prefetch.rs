//! Telling the processor what will be read soon.

/// Bytes of a cache line on the processors we know.
const LINE_SIZE: usize = 64;

/// No more lines than this at once: a core waits for about a dozen at a time.
const LINES_MAX: usize = 8;

/// Asks for the first 512 bytes of a slice to be brought into the cache. Returns
/// at once, reads nothing, and is nothing where the processor knows no such hint.
/// Worth it when a dozen places in memory are visited whose addresses are known.
#[inline]
pub fn prefetch(bytes: &[u8]) {
    for line in bytes.chunks(LINE_SIZE).take(LINES_MAX) {
        hint(line);
    }
    if let Some(last) = bytes.last_chunk::<1>() {
        hint(last); // a slice seldom begins with a cache line
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[allow(unsafe_code)]
fn hint(bytes: &[u8]) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: the pointer comes from a slice, and a prefetch does not even read
    // through it; every x86-64 processor has the instruction.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(bytes.as_ptr().cast()) }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn hint(_: &[u8]) {}
