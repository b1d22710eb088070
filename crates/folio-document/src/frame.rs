//! The first bytes of files that are derived from the lines: a magic number, words of eight bytes, of
//! which the first is the version, and a checksum of both.

use xxhash_rust::xxh3::xxh3_64;

/// Bytes of the magic number, of a word, and of the checksum.
const WORD: usize = 8;

/// A header whose words, besides the version, are `N` numbers.
pub(crate) trait Header<const N: usize>: Copy + Default {
    const MAGIC: &'static [u8; WORD];
    const VERSION: u64;
    const SIZE: usize = WORD + (1 + N) * WORD + WORD;

    /// The numbers, in the order of the file.
    fn words(&mut self) -> [&mut u64; N];

    fn to_bytes(mut self) -> Vec<u8> {
        let mut bytes = Self::MAGIC.to_vec();
        bytes.extend_from_slice(&Self::VERSION.to_le_bytes());
        self.words().iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
        let sum = xxh3_64(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// The header at the front of a file; `None` for other bytes.
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (header, sum) = bytes.get(..Self::SIZE)?.split_at(Self::SIZE - WORD);
        let is_whole = header.starts_with(Self::MAGIC) && word_at(sum, 0) == xxh3_64(header);
        if !is_whole || word_at(header, WORD) != Self::VERSION {
            return None;
        }
        let mut found = Self::default();
        let words = found.words().into_iter().enumerate();
        words.for_each(|(at, word)| *word = word_at(header, (2 + at) * WORD));
        Some(found)
    }
}

/// The word at an offset.
pub(crate) fn word_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + WORD].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    struct Pair(u64, u64);

    impl Header<2> for Pair {
        const MAGIC: &'static [u8; 8] = b"FOLIOxyz";
        const VERSION: u64 = 1;

        fn words(&mut self) -> [&mut u64; 2] {
            [&mut self.0, &mut self.1]
        }
    }

    #[test]
    fn every_flip_and_cut_is_found() {
        let bytes = Pair(2, u64::MAX).to_bytes();
        assert_eq!(bytes.len(), Pair::SIZE);
        assert_eq!(Pair::from_bytes(&bytes), Some(Pair(2, u64::MAX)));
        let mut newer = bytes[..bytes.len() - WORD].to_vec();
        newer[WORD] = 2;
        newer.extend(xxh3_64(&newer).to_le_bytes());
        assert_eq!(Pair::from_bytes(&newer), None);
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 4;
            assert_eq!(Pair::from_bytes(&flipped), None, "byte {at}");
            assert_eq!(Pair::from_bytes(&bytes[..at]), None, "{at} bytes");
        }
    }
}
