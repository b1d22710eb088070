//! The first bytes of files that are derived from the lines: a magic number, words of eight bytes, of
//! which the first is the version, and a checksum of both.

use xxhash_rust::xxh3::xxh3_64;

/// Bytes of the magic number, of a word, and of the checksum.
const WORD: usize = 8;

/// The size of a header of so many words.
pub(crate) const fn size(words: usize) -> usize {
    WORD + words * WORD + WORD
}

/// A header.
pub(crate) fn to_bytes(magic: &[u8; WORD], words: &[u64]) -> Vec<u8> {
    let mut bytes = magic.to_vec();
    words.iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
    let sum = xxh3_64(&bytes);
    bytes.extend_from_slice(&sum.to_le_bytes());
    bytes
}

/// The words of a header of this magic number and version; `None` for other bytes.
pub(crate) fn from_bytes<const N: usize>(
    bytes: &[u8],
    magic: &[u8; WORD],
    version: u64,
) -> Option<[u64; N]> {
    let (header, sum) = bytes.get(..size(N))?.split_at(size(N) - WORD);
    let is_whole = header.starts_with(magic) && word_at(sum, 0) == xxh3_64(header);
    let words = std::array::from_fn(|index| word_at(header, WORD + index * WORD));
    (is_whole && words.first() == Some(&version)).then_some(words)
}

/// The word at an offset.
pub(crate) fn word_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + WORD].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flip_and_cut_is_found() {
        let bytes = to_bytes(b"FOLIOxyz", &[1, 2, u64::MAX]);
        let read = |bytes: &[u8], magic| from_bytes::<3>(bytes, magic, 1);
        assert_eq!(bytes.len(), size(3));
        assert_eq!(read(&bytes, b"FOLIOxyz"), Some([1, 2, u64::MAX]));
        assert_eq!(read(&bytes, b"FOLIOxyy"), None);
        assert_eq!(from_bytes::<3>(&bytes, b"FOLIOxyz", 2), None);
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 4;
            assert_eq!(read(&flipped, b"FOLIOxyz"), None, "byte {at}");
            assert_eq!(read(&bytes[..at], b"FOLIOxyz"), None, "{at} bytes");
        }
    }
}
