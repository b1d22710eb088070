//! Hints to the processor about memory that will be read soon.

/// Size of a cache line on the supported processors.
const LINE_SIZE: usize = 64;

/// The maximum number of lines at once: a core waits for about a dozen at a time.
const LINES_MAX: usize = 8;

/// Prefetches the first 512 bytes of a slice into the cache. Returns at once and reads nothing;
/// does nothing on processors without such a hint. Worth it if about a dozen places in memory with
/// known addresses are visited.
#[inline]
pub fn prefetch(bytes: &[u8]) {
    prefetch_at(bytes.as_ptr().addr(), bytes.len());
}

/// The same for `size` bytes at any address. Unreadable memory is skipped.
#[inline]
pub fn prefetch_at(address: usize, size: usize) {
    for offset in (0..size).step_by(LINE_SIZE).take(LINES_MAX) {
        prefetch_line(address.wrapping_add(offset));
    }
    if size > 0 {
        // Bytes seldom start at a cache line boundary, so the last line is added.
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
