//! Jumping over a container of text Ion without reading what is inside.
//!
//! Sixty-four bytes become bit masks; strings are masked out with the running parity of their
//! quotes, and brackets outside them are counted. That is the method of Langdale and Lemire,
//! "Parsing gigabytes of JSON per second" (2019), and it is unsound for Ion as it stands: a quote
//! may stand inside `'a symbol'`, `'''a long string'''`, a comment or a `{{blob}}`. So the first
//! byte outside a string that could open one of those ends the block, and the caller steps over the
//! construct byte by byte before it comes back here.

use super::lanes::{BLOCK, Lanes};

/// How a walk over a container came to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Container {
    /// The byte after the closing bracket.
    End(usize),
    /// An apostrophe, a slash or a doubled brace at this place, outside any string, with this many
    /// containers open.
    Special(usize, usize),
    /// A line break inside a string, which Ion does not allow.
    Broken(usize),
    /// The input ends first.
    Incomplete,
}

/// Walks from `at`, where `depth` containers are open and no string is, to the end of the outermost.
pub(crate) fn skip_container(bytes: &[u8], at: usize, depth: usize) -> Container {
    let mut walk = Walk { at, depth, in_string: 0, escaped: 0, returned: 0 };
    loop {
        let Some(rest) = bytes.get(walk.at..).filter(|rest| !rest.is_empty()) else {
            return Container::Incomplete;
        };
        let stop = match rest.first_chunk::<BLOCK>() {
            Some(block) => walk.block(block, rest.get(BLOCK).copied()),
            None => {
                // A space changes nothing, so the last block may be filled up with them.
                let mut block = [b' '; BLOCK];
                block[..rest.len()].copy_from_slice(rest);
                walk.block(&block, None)
            }
        };
        match stop {
            None => walk.at += BLOCK,
            Some(Container::End(at)) if at > bytes.len() => return Container::Incomplete,
            Some(stop) => return stop,
        }
    }
}

struct Walk {
    at: usize,
    depth: usize,
    /// All ones while a string is open at the block's start, else zero.
    in_string: u64,
    /// One if the block's first byte is escaped.
    escaped: u64,
    /// One if the block's first byte follows an escaped carriage return, whose line feed it may be.
    returned: u64,
}

impl Walk {
    #[inline(always)]
    fn block(&mut self, block: &[u8; BLOCK], next: Option<u8>) -> Option<Container> {
        let lanes = Lanes::load(block);
        let escaped = self.escaped_bytes(lanes.equal(b'\\'));
        let quotes = lanes.equal(b'"') & !escaped;
        let strings = parity(quotes) ^ self.in_string;
        let outside = !strings;

        let open = lanes.equal_folded(b'{') | lanes.equal(b'(');
        let close = lanes.equal_folded(b'}') | lanes.equal(b')');
        let brace = lanes.equal(b'{');
        let follows = u64::from(next == Some(b'{')) << 63;
        let doubled = brace & (brace >> 1 | follows);
        let special = (lanes.equal(b'\'') | lanes.equal(b'/') | doubled) & outside;
        let returns = if escaped == 0 { 0 } else { lanes.equal(b'\r') & escaped };
        let joined = escaped | returns << 1 | std::mem::replace(&mut self.returned, returns >> 63);
        let broken = lanes.equal(b'\n') & strings & !joined;

        // Whatever follows the first of these was classified on a false assumption.
        let stop = special | broken;
        let first = stop & stop.wrapping_neg();
        let trusted = first.wrapping_sub(1);
        let close = close & outside & trusted;
        let open = open & outside & trusted;
        if (close.count_ones() as usize) < self.depth {
            self.depth += open.count_ones() as usize;
            self.depth -= close.count_ones() as usize;
        } else if let Some(end) = self.count(open, close) {
            return Some(Container::End(self.at + end + 1));
        }
        if stop != 0 {
            let at = self.at + stop.trailing_zeros() as usize;
            let broken = broken & first != 0;
            return Some(if broken { Container::Broken(at) } else { Container::Special(at, self.depth) });
        }
        self.in_string = ((strings as i64) >> 63) as u64;
        None
    }

    /// Brackets one by one, for a block in which the outermost container may end.
    #[inline(always)]
    fn count(&mut self, open: u64, close: u64) -> Option<usize> {
        let mut brackets = open | close;
        while brackets != 0 {
            let bit = brackets & brackets.wrapping_neg();
            if open & bit != 0 {
                self.depth += 1;
            } else {
                self.depth -= 1;
                if self.depth == 0 {
                    return Some(bit.trailing_zeros() as usize);
                }
            }
            brackets &= brackets - 1;
        }
        None
    }

    /// The bytes that a backslash escapes; backslashes come in runs, and every second one counts.
    #[inline(always)]
    fn escaped_bytes(&mut self, backslashes: u64) -> u64 {
        if backslashes == 0 {
            return std::mem::take(&mut self.escaped);
        }
        let mut escaped = self.escaped;
        let mut pending = backslashes & !self.escaped;
        self.escaped = 0;
        while pending != 0 {
            let at = pending.trailing_zeros();
            if at == 63 {
                self.escaped = 1;
                break;
            }
            let target = 2u64 << at;
            escaped |= target;
            pending &= !(1u64 << at) & !target;
        }
        escaped
    }
}

/// For each bit, the parity of the bits up to and including it.
#[inline(always)]
fn parity(mut bits: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << shift;
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The twin: one byte at a time, and nothing clever.
    fn scalar(bytes: &[u8], mut at: usize, mut depth: usize) -> Container {
        let mut in_string = false;
        let (mut escaped, mut joined) = (false, false);
        while at < bytes.len() {
            let byte = bytes[at];
            let special = match byte {
                b'\'' | b'/' => true,
                b'{' => bytes.get(at + 1) == Some(&b'{'),
                _ => false,
            };
            let here = escaped;
            escaped = byte == b'\\' && !here;
            let line = std::mem::replace(&mut joined, byte == b'\r' && here);
            match byte {
                b'"' if !here => in_string = !in_string,
                b'\n' if in_string && !here && !line => return Container::Broken(at),
                _ if in_string => {}
                _ if special => return Container::Special(at, depth),
                b'{' | b'[' | b'(' => depth += 1,
                b'}' | b']' | b')' => {
                    depth -= 1;
                    if depth == 0 {
                        return Container::End(at + 1);
                    }
                }
                _ => {}
            }
            at += 1;
        }
        Container::Incomplete
    }

    #[test]
    fn vector_and_scalar_agree() {
        let alphabet = *b"aaaa  ,:\"\"\"\\\r{}[]()x\n'/";
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        for round in 0..200_000 {
            let mut next = || {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state as usize
            };
            let kinds = if round % 2 == 0 { alphabet.len() } else { alphabet.len() - 2 };
            let length = next() % 300;
            let bytes: Vec<u8> = (0..length).map(|_| alphabet[next() % kinds]).collect();
            let depth = 1 + next() % 4;
            let (vector, expected) = (skip_container(&bytes, 0, depth), scalar(&bytes, 0, depth));
            assert_eq!(vector, expected, "round {round}: {}", String::from_utf8_lossy(&bytes));
        }
    }
}
