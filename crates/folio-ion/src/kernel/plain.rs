//! How far a quoted text runs before anything special happens.

use super::lanes::plain_prefix;

/// The length of the run at the start of `bytes` that holds neither `quote`, a backslash nor a
/// control character, and whether all of it is ASCII.
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
    scalar_run(bytes, quote, at, ascii)
}

/// The same for sixteen bytes.
#[inline(always)]
pub(crate) fn plain_start(chunk: &[u8; 16], quote: u8) -> (usize, bool) {
    let (stop, high) = plain_prefix(chunk, quote);
    let stop = stop | 1 << chunk.len();
    // Below the lowest bit of `stop` are the bytes of the run.
    let run = stop.wrapping_sub(1) & !stop;
    (stop.trailing_zeros() as usize, high & run == 0)
}

/// The same a byte at a time: the end of the input, and the twin in the tests.
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

/// Whether a bare token (a number, a word, a timestamp) cannot go on with `byte`.
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
