//! Where an object or an array ends.
//!
//! Reads 64 bytes at a time, without looking at single tokens (Langdale and Lemire, "Parsing
//! Gigabytes of JSON per Second", 2019): quotes that are not escaped say which bytes are inside
//! strings, and the brackets outside of them are counted.

use crate::lanes::{BLOCK, brackets, found_64, splat};

/// The offset after the bracket that closes the container whose opening bracket precedes `at`.
/// `None` if it stays open. The text is not checked: the kinds of brackets need not match.
pub(crate) fn container_end(text: &[u8], mut at: usize) -> Option<usize> {
    let mut state = State { depth: 1, in_string: 0, is_escaped: false };
    while let Some(block) = text.get(at..)?.first_chunk() {
        if let Some(offset) = state.closing(block, 0) {
            return Some(at + offset + 1);
        }
        at += BLOCK;
    }
    // The rest is at the end of the last block, or of text that is padded to one.
    let mut padded = [b' '; BLOCK];
    let (block, seen) = match text.last_chunk() {
        Some(last) => (last, at - (text.len() - BLOCK)),
        None => {
            padded[..text.len()].copy_from_slice(text);
            (&padded, at)
        }
    };
    match seen {
        BLOCK => None,
        _ => state.closing(block, seen).map(|offset| at + offset + 1),
    }
}

/// What is known between two blocks.
struct State {
    /// The number of open containers.
    depth: usize,
    /// All bits if a string is open.
    in_string: u64,
    /// The next byte is escaped.
    is_escaped: bool,
}

impl State {
    /// The offset of the bracket that closes the last open container, after the first `seen` bytes
    /// of the block, which are left out.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn closing(&mut self, block: &[u8; BLOCK], seen: usize) -> Option<usize> {
        let found = |byte: u8| found_64(block, |bytes| bytes.simd_eq(splat(byte))) >> seen;
        let backslashes = found(b'\\');
        let mut quotes = found(b'"');
        if self.is_escaped || backslashes != 0 {
            quotes &= !self.escaped(backslashes);
        }
        let strings = parity(quotes) ^ self.in_string;
        self.in_string = ((strings as i64) >> 63) as u64;
        let mut brackets = found_64(block, brackets) >> seen & !strings;
        while brackets != 0 {
            let offset = brackets.trailing_zeros() as usize;
            match block[seen + offset] | 0x20 {
                b'{' => self.depth += 1,
                _ if self.depth == 1 => return Some(offset),
                _ => self.depth -= 1,
            }
            brackets &= brackets - 1;
        }
        None
    }

    /// The bytes that follow a backslash which is not escaped itself.
    fn escaped(&mut self, backslashes: u64) -> u64 {
        let mut escaped = u64::from(self.is_escaped);
        let mut rest = backslashes & !escaped;
        self.is_escaped = false;
        while rest != 0 {
            let first = rest & rest.wrapping_neg();
            let next = first << 1;
            self.is_escaped = next == 0;
            escaped |= next;
            rest &= !(first | next);
        }
        escaped
    }
}

/// Bit *i* says whether the number of bits set up to *i* is odd.
#[inline(always)]
#[allow(clippy::inline_always)]
fn parity(mut bits: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << shift;
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_found_at_every_offset() {
        for (content, after) in [
            ("}", ""),
            ("]", "]}"),
            (r#""a":1}"#, r#","b":2}"#),
            (r#""a":[{}, {"b":[]}]}"#, "}}"),
            (r#""}\"}\\":"{"}"#, r#","x"}"#),
            (r#""\\\\\\\"":"\\"}"#, "}"),
            (r#"[[[[1],[2]],[]]]]"#, "]"),
        ] {
            for padding in 0..150 {
                // Spaces, so that blocks end everywhere; a string, so that some end inside one.
                for padding in [" ".repeat(padding), format!("\"{}\"", "\\\"".repeat(padding))] {
                    let text = format!("{{{padding}{content}{after}");
                    let end = text.len() - after.len();
                    assert_eq!(container_end(text.as_bytes(), 1), Some(end), "{text}");
                    assert_eq!(container_end(&text.as_bytes()[..end - 1], 1), None, "{text}");
                }
            }
        }
        assert_eq!(container_end(b"{", 2), None);
    }
}
