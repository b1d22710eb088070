//! Finds bytes in blocks of constant size. The loops have a form that compilers turn into vector
//! instructions of any processor.

/// Where `is_found` is true of 64 bytes of `text`: bit *i* is about `text[i]`.
#[inline(always)]
#[allow(clippy::inline_always)]
pub(crate) fn found_64(text: &[u8; 64], is_found: impl Fn(u8) -> bool) -> u64 {
    let flags = text.map(|byte| if is_found(byte) { u8::MAX } else { 0 });
    let (words, _) = flags.as_chunks::<8>();
    // A different bit of each of eight bytes; the product adds them up in the highest byte.
    let gather = |word: &[u8; 8]| {
        let bits = u64::from_le_bytes(*word) & 0x8040_2010_0804_0201;
        bits.wrapping_mul(u64::MAX / 255) >> 56
    };
    let join = |mask, (index, word)| mask | gather(word) << (8 * index);
    words.iter().enumerate().fold(0, join)
}

/// Whether any of 64 bytes of `text` equals `byte`.
#[inline(always)]
#[allow(clippy::inline_always)]
pub(crate) fn any_of_64(text: &[u8; 64], byte: u8) -> bool {
    text.iter().fold(false, |any, own| any | (*own == byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_found_where_it_is() {
        let mut text = [0u8; 64];
        for step in [1u8, 3, 0x35, 0x80] {
            for (index, byte) in text.iter_mut().enumerate() {
                *byte = (index as u8 / 2).wrapping_mul(step);
            }
            for byte in 0..=u8::MAX {
                let is_equal = |index: usize| u64::from(text[index] == byte) << index;
                let expected = (0..64).fold(0, |mask, index| mask | is_equal(index));
                assert_eq!(found_64(&text, |own| own == byte), expected, "{step} {byte}");
                assert_eq!(any_of_64(&text, byte), expected != 0);
            }
        }
    }
}
