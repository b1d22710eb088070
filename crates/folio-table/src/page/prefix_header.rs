//! The prefix header of a node: the size of the shared key prefix, and how cells store the size of
//! the rest.
//!
//! ```text
//! 34  prefix size  u8  bytes at the page's end that all keys begin with
//! 35  key size     u8  of every key after the prefix; 254: each cell begins with
//!                      its own (u8), 255: with its own (u16)
//! ```
//!
//! The prefix of a new node is its first key. Later keys shorten it as needed. A page filled at
//! once has the longest possible prefix: all keys of a node are between the first and the last, so
//! they share what those two share.

use super::node::Node;

const PREFIX_SIZE_AT: usize = 34;
const KEY_SIZE_AT: usize = 35;
const PREFIX_SIZE_MAX: usize = 255;
/// Cells begin with the size in one byte.
const IN_BYTE: u8 = 254;
/// Cells begin with the size in two bytes.
const IN_TWO: u8 = 255;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct PrefixHeader {
    prefix_size: u8,
    key_size: u8,
}

impl PrefixHeader {
    #[inline]
    pub(super) fn of(page: &[u8]) -> Self {
        Self { prefix_size: page[PREFIX_SIZE_AT], key_size: page[KEY_SIZE_AT] }
    }

    pub(super) fn write(self, page: &mut [u8]) {
        page[PREFIX_SIZE_AT] = self.prefix_size;
        page[KEY_SIZE_AT] = self.key_size;
    }

    #[inline]
    pub(super) fn prefix_size(self) -> usize {
        self.prefix_size.into()
    }

    /// The size of all keys after the prefix, if it is the same.
    #[inline]
    pub(super) fn same_size(self) -> Option<usize> {
        (self.key_size < IN_BYTE).then_some(self.key_size.into())
    }

    /// The number of bytes for the key size in a cell.
    #[inline]
    pub(super) fn mark_size(self) -> usize {
        usize::from(self.key_size.saturating_sub(IN_BYTE - 1))
    }

    /// Key and value of a cell, which has passed [`PrefixHeader::value_size`].
    #[inline]
    pub(super) fn divide(self, cell: &[u8]) -> (&[u8], &[u8]) {
        match self.key_size {
            IN_BYTE => cell[1..].split_at(cell[0].into()),
            IN_TWO => cell[2..].split_at(u16::from_le_bytes([cell[0], cell[1]]).into()),
            size => cell.split_at(size.into()),
        }
    }

    /// The size of a cell's value; `None` when the key would be longer than the cell.
    pub(super) fn value_size(self, cell: &[u8]) -> Option<usize> {
        let key_size = match (self.key_size, cell) {
            (IN_BYTE, [size, ..]) => (*size).into(),
            (IN_TWO, [low, high, ..]) => u16::from_le_bytes([*low, *high]).into(),
            (IN_BYTE | IN_TWO, _) => return None,
            (size, _) => size.into(),
        };
        cell.len().checked_sub(self.mark_size())?.checked_sub(key_size)
    }

    /// Whether a key fits a node with this header and prefix.
    #[inline]
    pub(super) fn suits(self, prefix: &[u8], key: &[u8]) -> bool {
        self.has_room(key.len()) && key.starts_with(prefix)
    }

    /// Whether a cell can store the size of such a key.
    #[inline]
    pub(super) fn has_room(self, key_size: usize) -> bool {
        let Some(rest_size) = key_size.checked_sub(self.prefix_size()) else { return false };
        match self.key_size {
            IN_BYTE => rest_size <= 0xFF,
            IN_TWO => true,
            size => rest_size == usize::from(size),
        }
    }

    /// The header of a node after adding a key.
    pub(super) fn with(node: Node<'_>, key: &[u8]) -> Self {
        if node.len() == 0 {
            return Self::of_keys(key, key, std::iter::once(key.len()));
        }
        let prefix_size = common_size(node.prefix(), key);
        Self::of_sizes(prefix_size, node.key_sizes().chain([key.len()]))
    }

    /// The best header for cells in key order.
    pub(super) fn of_cells(cells: &[(&[u8], &[u8])]) -> Self {
        let (Some((first, _)), Some((last, _))) = (cells.first(), cells.last()) else {
            return Self::default();
        };
        Self::of_keys(first, last, cells.iter().map(|(key, _)| key.len()))
    }

    /// A header for the cells of two neighbours and their separator, and the size of the separator
    /// after the prefix.
    pub(super) fn of_neighbours(
        left: Node<'_>,
        right: Node<'_>,
        separator: Option<&[u8]>,
    ) -> (Self, Option<usize>) {
        let ends = |node: Node<'_>| {
            let last = node.len().checked_sub(1)?;
            Some((node.key(0).to_vec(), node.key(last).to_vec()))
        };
        let (left_ends, right_ends) = (ends(left), ends(right));
        let between = separator.map(<[u8]>::to_vec);
        let first = left_ends.as_ref().map(|ends| &ends.0).or(between.as_ref());
        let first = first.or(right_ends.as_ref().map(|ends| &ends.0));
        let last = right_ends.as_ref().map(|ends| &ends.1).or(between.as_ref());
        let last = last.or(left_ends.as_ref().map(|ends| &ends.1));
        let (Some(first), Some(last)) = (first, last) else { return (Self::default(), None) };
        let sizes = left.key_sizes().chain(right.key_sizes());
        let header = Self::of_keys(first, last, sizes.chain(separator.map(<[u8]>::len)));
        (header, separator.map(|between| between.len() - header.prefix_size()))
    }

    fn of_keys(first: &[u8], last: &[u8], sizes: impl Iterator<Item = usize>) -> Self {
        Self::of_sizes(common_size(first, last).min(PREFIX_SIZE_MAX), sizes)
    }

    /// The header for whole keys of these sizes; there is at least one.
    fn of_sizes(prefix_size: usize, sizes: impl Iterator<Item = usize>) -> Self {
        let (least, greatest) = sizes
            .fold((usize::MAX, 0), |(least, greatest), size| (size.min(least), size.max(greatest)));
        let rest = greatest.saturating_sub(prefix_size);
        let key_size = match rest {
            0..0xFE if least >= greatest => rest as u8,
            0..=0xFF => IN_BYTE,
            _ => IN_TWO,
        };
        Self { prefix_size: prefix_size as u8, key_size }
    }
}

/// The length of the common prefix of two keys.
#[inline]
pub(crate) fn common_size(left: &[u8], right: &[u8]) -> usize {
    let (eights, _) = left.as_chunks::<8>();
    let (others, _) = right.as_chunks::<8>();
    for (at, (eight, other)) in eights.iter().zip(others).enumerate() {
        let differ = u64::from_le_bytes(*eight) ^ u64::from_le_bytes(*other);
        if differ != 0 {
            return at * 8 + differ.trailing_zeros() as usize / 8;
        }
    }
    let seen = eights.len().min(others.len()) * 8;
    let rest = left[seen..].iter().zip(&right[seen..]);
    seen + rest.take_while(|(left, right)| left == right).count()
}

#[cfg(test)]
mod tests {
    use super::common_size;

    #[test]
    fn keys_begin_together_up_to_the_first_byte_that_differs() {
        let bytes: Vec<u8> = (1..=30).collect();
        for (left, right) in (0..=30).flat_map(|left| (0..=30).map(move |right| (left, right))) {
            assert_eq!(common_size(&bytes[..left], &bytes[..right]), left.min(right));
            for at in 0..right {
                let mut other = bytes[..right].to_vec();
                other[at] ^= 0x80;
                assert_eq!(common_size(&bytes[..left], &other), left.min(at));
            }
        }
    }
}
