//! A key in a node: the prefix that all keys of the node share, and the rest.

use std::cmp::Ordering;

/// A key in its two parts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Key<'p> {
    /// The shared prefix of all keys of the node.
    pub(crate) prefix: &'p [u8],
    pub(crate) rest: &'p [u8],
}

impl<'p> Key<'p> {
    /// A key in one piece. Its prefix is empty but has a valid address: `memcmp` of zero bytes at a
    /// dangling address takes a hundred cycles (its AVX-512 masked load makes the processor check
    /// that no byte is needed).
    pub(crate) fn whole(rest: &'p [u8]) -> Self {
        Self { prefix: &rest[..0], rest }
    }

    pub(crate) fn len(self) -> usize {
        self.prefix.len() + self.rest.len()
    }

    pub(crate) fn to_vec(self) -> Vec<u8> {
        [self.prefix, self.rest].concat()
    }

    /// Replaces the content of `out` with the key.
    pub(crate) fn copy_to(self, out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(self.prefix);
        out.extend_from_slice(self.rest);
    }

    /// The key in one piece, assembled in `buffer` if necessary.
    #[inline]
    pub(crate) fn bytes<'b>(self, buffer: &'b mut Vec<u8>) -> &'b [u8]
    where
        'p: 'b,
    {
        if self.prefix.is_empty() {
            return self.rest;
        }
        self.copy_to(buffer);
        buffer
    }

    #[inline]
    pub(crate) fn starts_with(self, start: &[u8]) -> bool {
        match start.strip_prefix(self.prefix) {
            Some(after) => self.rest.starts_with(after),
            None => self.prefix.starts_with(start),
        }
    }
}

/// Compares keys, eight bytes at a time: most are short, and differ early.
#[inline]
pub(crate) fn compare(mut left: &[u8], mut right: &[u8]) -> Ordering {
    while let (Some((first, after)), Some((second, rest))) =
        (left.split_first_chunk::<8>(), right.split_first_chunk::<8>())
    {
        if first != second {
            return u64::from_be_bytes(*first).cmp(&u64::from_be_bytes(*second));
        }
        (left, right) = (after, rest);
    }
    first_bytes(left).cmp(&first_bytes(right)).then(left.len().cmp(&right.len()))
}

/// The first eight bytes as a number with the same order; missing bytes are 0.
#[inline]
pub(crate) fn first_bytes(bytes: &[u8]) -> u64 {
    if let Some(eight) = bytes.first_chunk() {
        return u64::from_be_bytes(*eight);
    }
    let unused = 64 - 8 * bytes.len() as u32;
    match (bytes.first_chunk(), bytes.last_chunk()) {
        // The two halves may overlap; the overlapping bytes are the same.
        (Some(first), Some(last)) => {
            let (first, last) = (u32::from_be_bytes(*first), u32::from_be_bytes(*last));
            u64::from(first) << 32 | u64::from(last) << unused
        }
        _ => match *bytes {
            [a, b, c] => u64::from(u32::from_be_bytes([0, a, b, c])) << unused,
            [a, b] => u64::from(u16::from_be_bytes([a, b])) << unused,
            [a, ..] => u64::from(a) << unused,
            [] => 0,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_compare_as_their_bytes_do() {
        let bytes: Vec<u8> = (1..=20).collect();
        for size in 0..20 {
            assert_eq!(
                first_bytes(&bytes[..size]).to_be_bytes()[..size.min(8)],
                bytes[..size.min(8)]
            );
            for other_size in 0..20 {
                for changed in 0..other_size {
                    for with in [0, 255] {
                        let (left, mut right) = (&bytes[..size], bytes[..other_size].to_vec());
                        assert_eq!(compare(left, &right), left.cmp(&right));
                        right[changed] = with;
                        assert_eq!(compare(left, &right), left.cmp(&right), "{left:?} {right:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_key_in_two_parts_is_the_whole_key() {
        let others: [&[u8]; 8] = [b"", b"a", b"ab", b"abc", b"abcd", b"abd", b"b", b"abcdefghijkl"];
        for whole in others {
            for split in 0..=whole.len() {
                let (prefix, rest) = whole.split_at(split);
                let key = Key { prefix, rest };
                assert_eq!(key.to_vec(), whole);
                assert_eq!(key.bytes(&mut Vec::new()), whole);
                for other in others {
                    let expected = whole.starts_with(other);
                    assert_eq!(key.starts_with(other), expected, "{whole:?} {split} {other:?}");
                }
            }
        }
    }
}
