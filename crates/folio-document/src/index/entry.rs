//! An index entry: the hash of an id, the place of its line, and a checksum of the line.

use xxhash_rust::xxh3::xxh3_64;

/// Size of an entry, in memory and on disk.
pub(crate) const ENTRY_SIZE: usize = 24;

const OFFSET_BITS: u32 = 47;
const COLLIDED: u64 = 1 << OFFSET_BITS;
const SUM_BITS: u32 = 48;

/// Offsets must fit in 47 bits: a data file may have up to 128 TiB.
pub(crate) const MAX_OFFSET: u64 = (1 << OFFSET_BITS) - 1;

/// Three words: `hash` · offset (47 bits), collided (1), high sum (16) · size (32), low sum (32). A
/// size of 0 marks a tombstone; its offset is that of the delete marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) hash: u64,
    place: u64,
    extent: u64,
}

impl Entry {
    /// The content of an empty slot of a run. Sorts after every entry.
    pub(crate) const EMPTY: Self = Self { hash: u64::MAX, place: u64::MAX, extent: u64::MAX };

    #[inline]
    pub(crate) fn document(hash: u64, offset: u64, size: u32, sum: u64) -> Self {
        debug_assert!(offset <= MAX_OFFSET && sum >> SUM_BITS == 0 && size > 0);
        let place = offset | (sum >> 32) << SUM_BITS;
        Self { hash, place, extent: u64::from(size) | sum << 32 }
    }

    #[inline]
    pub(crate) fn tombstone(hash: u64, offset: u64, sum: u64) -> Self {
        debug_assert!(offset <= MAX_OFFSET && sum >> SUM_BITS == 0);
        Self { hash, place: offset | (sum >> 32) << SUM_BITS, extent: sum << 32 }
    }

    /// Where the line's text starts.
    #[inline]
    pub(crate) fn offset(self) -> u64 {
        self.place & MAX_OFFSET
    }

    /// The sort order: by hash, then by offset.
    #[inline]
    pub(crate) fn order(&self) -> (u64, u64) {
        (self.hash, self.offset())
    }

    /// The size of the line's text; 0 for a tombstone.
    #[inline]
    pub(crate) fn size(self) -> u32 {
        self.extent as u32
    }

    #[inline]
    pub(crate) fn sum(self) -> u64 {
        (self.place >> SUM_BITS) << 32 | self.extent >> 32
    }

    #[inline]
    pub(crate) fn is_tombstone(self) -> bool {
        self.size() == 0
    }

    /// Whether the collection has, or had, another id with the same hash.
    #[inline]
    pub(crate) fn is_collided(self) -> bool {
        self.place & COLLIDED != 0
    }

    #[must_use]
    pub(crate) fn with_collided(self, collided: bool) -> Self {
        Self { place: self.place | if collided { COLLIDED } else { 0 }, ..self }
    }

    /// The same line moved by `distance` bytes towards the end of the file, with wrapping: 2^64 - n
    /// moves it n bytes towards the start.
    #[must_use]
    pub(crate) fn moved_by(self, distance: u64) -> Self {
        debug_assert!(self.offset().wrapping_add(distance) <= MAX_OFFSET);
        Self { place: self.place.wrapping_add(distance), ..self }
    }

    #[inline]
    pub(crate) fn to_bytes(self) -> [u8; ENTRY_SIZE] {
        let mut bytes = [0; ENTRY_SIZE];
        bytes[..8].copy_from_slice(&self.hash.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.place.to_le_bytes());
        bytes[16..].copy_from_slice(&self.extent.to_le_bytes());
        bytes
    }

    #[inline]
    pub(crate) fn from_bytes(bytes: &[u8; ENTRY_SIZE]) -> Self {
        let word = |at: usize| {
            u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight of 24 bytes"))
        };
        Self { hash: word(0), place: word(8), extent: word(16) }
    }
}

/// The hash of an id in the index: xxh3 of its bytes. The greatest value marks empty slots, so it
/// maps to the one below.
#[inline]
pub(crate) fn id_hash(id: &str) -> u64 {
    xxh3_64(id.as_bytes()).min(u64::MAX - 1)
}

/// The checksum of a line: the low 48 bits of xxh3 of its text.
#[inline]
pub(crate) fn line_sum(text: &[u8]) -> u64 {
    xxh3_64(text) & ((1 << SUM_BITS) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_do_not_disturb_each_other() {
        let entry = Entry::document(7, MAX_OFFSET, u32::MAX, (1 << 48) - 2).with_collided(true);
        let back = Entry::from_bytes(&entry.to_bytes());
        assert_eq!(back, entry);
        assert_eq!((back.hash, back.offset(), back.size()), (7, MAX_OFFSET, u32::MAX));
        assert_eq!(
            (back.sum(), back.is_collided(), back.is_tombstone()),
            ((1 << 48) - 2, true, false)
        );
        let tombstone = Entry::tombstone(9, 100, 5).moved_by(11);
        assert_eq!((tombstone.offset(), tombstone.is_tombstone(), tombstone.sum()), (111, true, 5));
        assert_eq!(tombstone.moved_by(11_u64.wrapping_neg()), Entry::tombstone(9, 100, 5));
    }
}
