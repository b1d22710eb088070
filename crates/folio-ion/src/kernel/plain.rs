//! The length of the plain part of a quoted text.

use super::lanes::plain_prefix;

/// The length of the run at the start of `bytes` without `quote`, backslashes and control
/// characters, and whether all of it is ASCII.
#[inline]
pub(crate) fn plain_run(bytes: &[u8], quote: u8) -> (usize, bool) {
    let mut at = 0;
    let mut ascii = true;
    while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk::<16>()) {
        let (length, is_ascii) = plain_start(chunk, quote);
        at += length;
        ascii &= is_ascii;
        if length < chunk.len() {
            return (at, ascii);
        }
    }
    // The rest is padded with zeros; a zero is a control character and ends any run.
    let (length, is_ascii) = plain_start(&padded(&bytes[at..]), quote);
    (at + length, ascii && is_ascii)
}

/// Pads up to fifteen bytes with zeros. They are copied as two overlapping pieces of fixed size,
/// because a copy of variable length is a call and costs more than the bytes.
#[inline(always)]
fn padded(bytes: &[u8]) -> [u8; 16] {
    let count = bytes.len();
    let joined = |low: u64, high: u64, size: usize| {
        u128::from(low) | u128::from(high) << (8 * (count - size))
    };
    let word = match (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
        (Some(low), Some(high)) => joined(u64::from_le_bytes(*low), u64::from_le_bytes(*high), 8),
        _ => match (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
            (Some(low), Some(high)) => {
                let word = |chunk: &[u8; 4]| u64::from(u32::from_le_bytes(*chunk));
                joined(word(low), word(high), 4)
            }
            _ => bytes.iter().rev().fold(0, |word, byte| word << 8 | u128::from(*byte)),
        },
    };
    word.to_le_bytes()
}

/// The same for sixteen bytes.
#[inline(always)]
pub(crate) fn plain_start(chunk: &[u8; 16], quote: u8) -> (usize, bool) {
    let (stop, high) = plain_prefix(chunk, quote);
    let stop = stop | 1 << chunk.len();
    // The bits below the lowest bit of `stop` are the run.
    let run = stop.wrapping_sub(1) & !stop;
    (stop.trailing_zeros() as usize, high & run == 0)
}

/// The same a byte at a time: the reference for the tests.
#[cfg(test)]
fn scalar_run(bytes: &[u8], quote: u8, mut at: usize, mut ascii: bool) -> (usize, bool) {
    while let Some(&byte) = bytes.get(at) {
        if byte == quote || byte == b'\\' || byte < 0x20 {
            break;
        }
        ascii &= byte < 0x80;
        at += 1;
    }
    (at, ascii)
}

/// Whether `byte` ends a bare token (a number, a word, a timestamp).
pub(crate) fn is_token_end(byte: u8, colon: bool) -> bool {
    matches!(byte, 0..=b' ' | b',' | b'}' | b']' | b')' | b'"' | b'\'' | b'{' | b'[' | b'(' | b'/')
        || byte >= 0x80
        || (byte == b':' && colon)
}

#[cfg(test)]
mod tests {
    use super::super::lanes::token_end;
    use super::*;

    #[test]
    fn tokens_end_alike() {
        for byte in 0..=255u8 {
            for colon in [false, true] {
                let mut chunk = *b"0123456789abcdef";
                chunk[9] = byte;
                let expected = chunk
                    .iter()
                    .enumerate()
                    .fold(0, |mask, (at, byte)| mask | u32::from(is_token_end(*byte, colon)) << at);
                assert_eq!(token_end(&chunk, colon), expected, "{byte}");
            }
        }
    }

    #[test]
    fn few_bytes_are_padded_with_zeros() {
        for count in 0..16 {
            let bytes: Vec<u8> = (1..=count).collect();
            let mut expected = [0; 16];
            expected[..bytes.len()].copy_from_slice(&bytes);
            assert_eq!(padded(&bytes), expected);
        }
    }

    #[test]
    fn vector_and_scalar_agree() {
        let stops = [b'"', b'\\', b'\n', 0x1f, 0x7f, 0xc3, b'x', b'\''];
        for length in 0..200 {
            for place in 0..length {
                for stop in stops {
                    let mut bytes = vec![b'a'; length];
                    bytes[place] = stop;
                    assert_eq!(plain_run(&bytes, b'"'), scalar_run(&bytes, b'"', 0, true));
                }
            }
        }
    }
}
