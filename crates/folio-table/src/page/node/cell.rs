//! Cells as bytes: the key size if the header does not have it, the key after the prefix, the
//! value.

use crate::page::prefix_header::PrefixHeader;
use crate::page::{put, put_u16};

/// A cell to be written to a node.
pub(super) struct Cell<'c> {
    pub(super) header: PrefixHeader,
    /// The key after the prefix.
    pub(super) rest: &'c [u8],
    pub(super) value: &'c [u8],
}

impl<'c> Cell<'c> {
    #[inline]
    pub(super) fn new(header: PrefixHeader, key: &'c [u8], value: &'c [u8]) -> Self {
        Self { header, rest: &key[header.prefix_size()..], value }
    }

    #[inline]
    pub(super) fn size(&self) -> usize {
        self.header.mark_size() + self.rest.len() + self.value.len()
    }

    /// Writes the cell to bytes of its size.
    #[inline]
    pub(super) fn write(&self, out: &mut [u8]) {
        let (mark, out) = out.split_at_mut(self.header.mark_size());
        match mark {
            [] => {}
            [size] => *size = self.rest.len() as u8,
            _ => put_u16(mark, 0, self.rest.len() as u16),
        }
        let (key, value) = out.split_at_mut(self.rest.len());
        copy_short(self.rest, key);
        value.copy_from_slice(self.value);
    }
}

/// Copies a slice of mostly one or two bytes: a copy of unknown length would be a call.
#[inline]
fn copy_short(bytes: &[u8], out: &mut [u8]) {
    match *bytes {
        [a] => out[0] = a,
        [a, b] => put(out, 0, [a, b]),
        [a, b, c] => put(out, 0, [a, b, c]),
        _ => out.copy_from_slice(bytes),
    }
}
