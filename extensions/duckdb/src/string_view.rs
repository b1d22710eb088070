//! DuckDB's strings: sixteen bytes each, which hold the length and either all of a short one or the
//! first four bytes and where all of them are.

/// The longest string that stands in its sixteen bytes.
pub(crate) const SHORT: usize = 12;

/// The string `bytes` if it is short; otherwise its beginning, and no place yet.
pub(crate) fn string_view(bytes: &[u8]) -> [u8; 16] {
    let mut view = [0; 16];
    view[..4].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
    let held = if bytes.len() <= SHORT { bytes } else { &bytes[..4] };
    view[4..4 + held.len()].copy_from_slice(held);
    view
}
