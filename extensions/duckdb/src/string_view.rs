//! DuckDB's strings: sixteen bytes each, with the length and either the whole of a short string or
//! the first four bytes and a pointer.

/// The longest string stored in its sixteen bytes.
pub(crate) const SHORT: usize = 12;

/// The view of `bytes` if short; otherwise its prefix, without a pointer yet.
pub(crate) fn string_view(bytes: &[u8]) -> [u8; 16] {
    let mut view = [0; 16];
    view[..4].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
    let held = if bytes.len() <= SHORT { bytes } else { &bytes[..4] };
    view[4..4 + held.len()].copy_from_slice(held);
    view
}
