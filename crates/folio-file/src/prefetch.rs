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
    prefetch_at(bytes.as_ptr().addr(), bytes.len());
}

/// The same for so many bytes at an address, which may be any: what cannot be read is
/// passed over.
#[inline]
pub fn prefetch_at(address: usize, size: usize) {
    for offset in (0..size).step_by(LINE_SIZE).take(LINES_MAX) {
        prefetch_line(address.wrapping_add(offset));
    }
    if size > 0 {
        // Bytes seldom begin with a cache line.
        prefetch_line(address.wrapping_add(size - 1));
    }
}

/// The same for the one line at an address.
#[inline]
pub fn prefetch_line(address: usize) {
    hint(std::ptr::without_provenance(address));
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[allow(unsafe_code)]
fn hint(address: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch reads nothing and faults at no address; every x86-64
    // processor has the instruction.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn hint(_: *const u8) {}
