//! Cells as bytes: the key size if the header does not have it, the key after the prefix, the
//! value.

use crate::page::prefix_header::PrefixHeader;
use crate::page::put_u16;

/// A cell to be written to a node.
pub(super) struct Cell<'c> {
    pub(super) header: PrefixHeader,
    /// The key after the prefix, in two parts.
    pub(super) given_back: &'c [u8],
    pub(super) rest: &'c [u8],
    pub(super) value: &'c [u8],
    pub(super) size: usize,
}

impl<'c> Cell<'c> {
    #[inline]
    pub(super) fn new(header: PrefixHeader, key: &'c [u8], value: &'c [u8]) -> Self {
        Self { header, given_back: &[], rest: &key[header.prefix_size()..], value, size: 0 }.sized()
    }

    #[inline]
    pub(super) fn sized(mut self) -> Self {
        let key_size = self.given_back.len() + self.rest.len();
        self.size = self.header.mark_size() + key_size + self.value.len();
        self
    }

    #[inline]
    pub(super) fn write(&self, out: &mut [u8]) {
        let key_size = self.given_back.len() + self.rest.len();
        let mark = self.header.mark_size();
        match mark {
            0 => {}
            1 => out[0] = key_size as u8,
            _ => put_u16(out, 0, key_size as u16),
        }
        let out = &mut out[mark..];
        if self.given_back.is_empty() {
            copy_short(self.rest, out);
        } else {
            let (start, end) = out.split_at_mut(self.given_back.len());
            start.copy_from_slice(self.given_back);
            copy_short(self.rest, end);
        }
        out[key_size..key_size + self.value.len()].copy_from_slice(self.value);
    }
}

/// Copies a slice of mostly one or two bytes: a copy of unknown length would be a call.
#[inline]
fn copy_short(bytes: &[u8], out: &mut [u8]) {
    match *bytes {
        [a] => out[0] = a,
        [a, b] => out[..2].copy_from_slice(&[a, b]),
        [a, b, c] => out[..3].copy_from_slice(&[a, b, c]),
        _ => out[..bytes.len()].copy_from_slice(bytes),
    }
}
