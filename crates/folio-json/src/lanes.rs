//! Finds bytes in text sixteen at a time.
//!
//! `wide` has the vector instructions of each processor behind safe functions. What is left of a
//! text after whole vectors is found in its last sixteen bytes, some of which are then looked at
//! twice: cheaper than a loop over single bytes, which no processor can predict.

use wide::u8x16;

/// Bytes in a vector.
pub(crate) const WIDTH: usize = 16;

/// Bytes in a block, for which there is a mask of as many bits.
pub(crate) const BLOCK: usize = 4 * WIDTH;

/// Sixteen times the same byte.
#[inline(always)]
#[allow(clippy::inline_always)]
pub(crate) fn splat(byte: u8) -> u8x16 {
    u8x16::splat(byte)
}

/// The braces and brackets that close something.
#[inline(always)]
#[allow(clippy::inline_always)]
pub(crate) fn closing_brackets(bytes: u8x16) -> u8x16 {
    folded(bytes).simd_eq(splat(b'}'))
}

/// All braces and brackets.
#[inline(always)]
#[allow(clippy::inline_always)]
pub(crate) fn brackets(bytes: u8x16) -> u8x16 {
    folded(bytes).simd_eq(splat(b'{')) | closing_brackets(bytes)
}

/// Brackets as braces: they differ by one bit, and no other byte becomes a brace by it.
#[inline(always)]
#[allow(clippy::inline_always)]
fn folded(bytes: u8x16) -> u8x16 {
    bytes | splat(0x20)
}

/// Where `is_found` of 64 bytes: bit *i* is about `block[i]`.
#[inline(always)]
#[allow(clippy::inline_always)]
pub(crate) fn found_64(block: &[u8; BLOCK], is_found: impl Fn(u8x16) -> u8x16) -> u64 {
    let (vectors, _) = block.as_chunks::<WIDTH>();
    let join = |mask, (index, vector): (usize, _)| {
        mask | u64::from(found_16(vector, &is_found)) << (WIDTH * index)
    };
    vectors.iter().enumerate().fold(0, join)
}

/// The same of 16 bytes.
#[inline(always)]
#[allow(clippy::inline_always)]
pub(crate) fn found_16(vector: &[u8; WIDTH], is_found: impl Fn(u8x16) -> u8x16) -> u32 {
    is_found(u8x16::new(*vector)).to_bitmask()
}

/// The first offset from `at` on whose byte is found.
#[inline(always)]
#[allow(clippy::inline_always)]
pub(crate) fn find(text: &[u8], mut at: usize, is_found: impl Fn(u8x16) -> u8x16) -> Option<usize> {
    while let Some(vector) = text.get(at..)?.first_chunk() {
        let found = found_16(vector, &is_found);
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize);
        }
        at += WIDTH;
    }
    find_in_rest(text, at, is_found)
}

/// The same where less than sixteen bytes are left.
#[inline(always)]
#[allow(clippy::inline_always)]
fn find_in_rest(text: &[u8], at: usize, is_found: impl Fn(u8x16) -> u8x16) -> Option<usize> {
    let Some(last) = text.last_chunk::<WIDTH>() else { return find_in_little(text, at, is_found) };
    let seen = at + WIDTH - text.len();
    let found = found_16(last, is_found) >> seen;
    (found != 0).then(|| at + found.trailing_zeros() as usize)
}

/// The same in a text of less than sixteen bytes.
fn find_in_little(text: &[u8], at: usize, is_found: impl Fn(u8x16) -> u8x16) -> Option<usize> {
    let mut padded = [0; WIDTH];
    padded[..text.len()].copy_from_slice(text);
    let own = (1 << text.len()) - 1;
    let found = (found_16(&padded, is_found) & own) >> at;
    (found != 0).then(|| at + found.trailing_zeros() as usize)
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
                let found = found_64(&text, |own| own.simd_eq(splat(byte)));
                assert_eq!(found, expected, "{step} {byte}");
            }
        }
    }

    #[test]
    fn the_first_byte_is_found_in_text_of_every_size() {
        for size in 0..70 {
            for place in 0..=size {
                let mut text = vec![b'a'; size];
                text[place..].fill(b'b');
                for at in 0..size + 20 {
                    let expected = (at < size && place < size).then(|| at.max(place));
                    let found = find(&text, at, |own| own.simd_eq(splat(b'b')));
                    assert_eq!(found, expected, "{size} {place} {at}");
                }
            }
        }
    }
}
