//! Skips a container of text Ion without reading its content.
//!
//! Sixty-four bytes become bit masks. Strings are masked out with the running parity of their
//! quotes, and brackets outside them are counted. That is the method of Langdale and Lemire,
//! "Parsing gigabytes of JSON per second" (2019). Unchanged, it is wrong for Ion: a quote may be
//! inside `'a symbol'`, `'''a long string'''`, a comment or a `{{blob}}`. So the first byte outside
//! a string that could open one of those ends the block. The caller skips that construct byte by
//! byte and then continues here.

#[cfg(target_arch = "x86_64")]
use super::lanes::has_avx2;
use super::lanes::{BLOCK, Lanes, parity};

/// Calls a function that is generic over [`Lanes`] with the widest lanes of the processor.
macro_rules! dispatch {
    ($function:ident($($name:ident: $kind:ty = $value:expr),*) -> $result:ty) => {{
        #[cfg(target_arch = "x86_64")]
        {
            #[allow(unsafe_code)]
            if has_avx2() {
                #[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
                fn wide($($name: $kind),*) -> $result {
                    $function::<super::lanes::Avx2>($($name),*)
                }
                // SAFETY: the processor was just checked for these features.
                return unsafe { wide($($value),*) };
            }
            $function::<super::lanes::Sse2>($($value),*)
        }
        #[cfg(not(target_arch = "x86_64"))]
        $function::<super::lanes::Scalar>($($value),*)
    }};
}

/// Where a walk over a container stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Container {
    /// After the closing bracket, at this offset.
    End(usize),
    /// At an apostrophe, a slash or a doubled brace outside any string: its offset, and the number
    /// of open containers.
    Special(usize, usize),
    /// At a line break inside a string, which Ion does not allow.
    Broken(usize),
    /// At the end of the input.
    Incomplete,
}

/// Walks from `at`, with `depth` open containers and no open string, to the end of the outermost.
pub(crate) fn skip_container(bytes: &[u8], at: usize, depth: usize) -> Container {
    dispatch!(skip(bytes: &[u8] = bytes, at: usize = at, depth: usize = depth) -> Container)
}

#[inline(always)]
fn skip<L: Lanes>(bytes: &[u8], at: usize, depth: usize) -> Container {
    let mut walk = Walk { at, depth, in_string: 0, escaped: 0, returned: 0 };
    loop {
        let Some(rest) = bytes.get(walk.at..).filter(|rest| !rest.is_empty()) else {
            return Container::Incomplete;
        };
        let stop = match rest.first_chunk::<BLOCK>() {
            Some(block) => walk.block::<L>(block, rest.get(BLOCK).copied()),
            None => {
                // Spaces change nothing, so the last block can be padded with them.
                let mut block = [b' '; BLOCK];
                block[..rest.len()].copy_from_slice(rest);
                walk.block::<L>(&block, None)
            }
        };
        match stop {
            None => walk.at += BLOCK,
            Some(Container::End(at)) if at > bytes.len() => return Container::Incomplete,
            Some(stop) => return stop,
        }
    }
}

/// Skips records: structs that each start a line and are followed by a line feed. The first starts
/// at `at`. Appends the end of each and returns the start of the next value: there the bytes end,
/// or a byte-by-byte check is needed.
pub(crate) fn skip_records(bytes: &[u8], at: usize, ends: &mut Vec<u32>) -> usize {
    dispatch!(records(bytes: &[u8] = bytes, at: usize = at, ends: &mut Vec<u32> = ends) -> usize)
}

#[inline(always)]
fn records<L: Lanes>(bytes: &[u8], at: usize, ends: &mut Vec<u32>) -> usize {
    let mut walk = Walk { at, depth: 0, in_string: 0, escaped: 0, returned: 0 };
    let mut start = at;
    let mut closed = false;
    while let Some(block) = bytes.get(walk.at..).and_then(|rest| rest.first_chunk::<BLOCK>()) {
        let next = bytes.get(walk.at + BLOCK).copied();
        let masks = walk.masks::<L>(block, next);
        // After a closing bracket, any other byte could be the next value on the same line.
        let lines = L::load(block).equal(b'\n');
        let follows = L::load(block).equal(b',') | lines | masks.close;
        let after = masks.close << 1 | u64::from(closed);
        if masks.stop != 0 || after & !follows != 0 {
            return start;
        }
        closed = masks.close >> 63 == 1;
        let mut lines = lines & !masks.strings;
        while lines != 0 {
            let line = lines.trailing_zeros();
            let below = (1u64 << line) - 1;
            let open = (masks.open & below).count_ones() as usize;
            let close = (masks.close & below).count_ones() as usize;
            if walk.depth + open < close {
                return start;
            }
            if walk.depth + open == close {
                let end = walk.at + line as usize;
                ends.push(end as u32);
                start = end + 1;
                if bytes.get(start) != Some(&b'{') {
                    return start;
                }
            }
            lines &= lines - 1;
        }
        let open = masks.open.count_ones() as usize;
        let close = masks.close.count_ones() as usize;
        match (walk.depth + open).checked_sub(close) {
            Some(depth) => walk.depth = depth,
            None => return start,
        }
        walk.at += BLOCK;
    }
    start
}

/// The kinds of a block's bytes outside strings.
struct Masks {
    open: u64,
    close: u64,
    strings: u64,
    /// Bytes at which the walk must stop.
    stop: u64,
    broken: u64,
}

struct Walk {
    at: usize,
    depth: usize,
    /// All ones if a string is open at the start of the block, else zero.
    in_string: u64,
    /// One if the block's first byte is escaped.
    escaped: u64,
    /// One if the block's first byte follows an escaped carriage return and may be its line feed.
    returned: u64,
}

impl Walk {
    /// Classifies a block, and stores the state for the next one.
    #[inline(always)]
    fn masks<L: Lanes>(&mut self, block: &[u8; BLOCK], next: Option<u8>) -> Masks {
        let lanes = L::load(block);
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
        self.in_string = ((strings as i64) >> 63) as u64;
        let (open, close) = (open & outside, close & outside);
        Masks { open, close, strings, stop: special | broken, broken }
    }

    #[inline(always)]
    fn block<L: Lanes>(&mut self, block: &[u8; BLOCK], next: Option<u8>) -> Option<Container> {
        let Masks { open, close, stop, broken, .. } = self.masks::<L>(block, next);
        // The classification after the first of these is based on a false assumption.
        let first = stop & stop.wrapping_neg();
        let trusted = first.wrapping_sub(1);
        let (open, close) = (open & trusted, close & trusted);
        if (close.count_ones() as usize) < self.depth {
            self.depth += open.count_ones() as usize;
            self.depth -= close.count_ones() as usize;
        } else if let Some(end) = self.count(open, close) {
            return Some(Container::End(self.at + end + 1));
        }
        if stop != 0 {
            let at = self.at + stop.trailing_zeros() as usize;
            let broken = broken & first != 0;
            return Some(if broken {
                Container::Broken(at)
            } else {
                Container::Special(at, self.depth)
            });
        }
        None
    }

    /// Counts brackets one by one, for a block in which the outermost container may end.
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

    /// The bytes that a backslash escapes. In a run of backslashes, every second one escapes.
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

#[cfg(test)]
mod tests {
    use super::super::lanes::Scalar;
    use super::*;

    /// Records found line by line, each skipped on its own.
    fn scalar_records(bytes: &[u8], mut at: usize) -> Vec<u32> {
        let mut ends = Vec::new();
        while bytes.get(at) == Some(&b'{') {
            let Container::End(end) = scalar(bytes, at, 0) else { break };
            if bytes.get(end) != Some(&b'\n') {
                break;
            }
            ends.push(end as u32);
            at = end + 1;
        }
        ends
    }

    #[test]
    fn records_are_a_prefix_of_what_the_scalar_walk_finds() {
        let pieces = [
            "{a:1}\n",
            "{a:\"x}\\\"{\",b:[1,{c:2}]}\n",
            "{a:{b:{}}} {c:1}\n",
            "{a:'q'}\n",
            "5\n",
            "{\n a:1,\n}\n",
            "{long:\"0123456789012345678901234567890123456789012345678901234567890\",x:(1 2)}\n",
            "{a:1}",
            "/* c */",
            "x::{a:1}\n",
            "{a:1,b:[{},{}]}\n",
            "{{aGk=}}\n",
            "}\n",
        ];
        let mut state = 7u64;
        let mut found = 0;
        for round in 0..20_000 {
            let mut text = String::from("{");
            text.push_str("first:1}\n");
            let usual = if round % 3 == 0 { pieces.len() } else { 2 };
            for _ in 0..20 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                text.push_str(pieces[(state >> 33) as usize % usual]);
            }
            let mut ends = Vec::new();
            let next = skip_records(text.as_bytes(), 0, &mut ends);
            let expected = scalar_records(text.as_bytes(), 0);
            assert!(expected.starts_with(&ends), "{text}\n{ends:?}\n{expected:?}");
            assert_eq!(next, ends.last().map_or(0, |end| *end as usize + 1), "{text}");
            let mut twin = Vec::new();
            assert_eq!(records::<Scalar>(text.as_bytes(), 0, &mut twin), next);
            assert_eq!(twin, ends);
            found += ends.len();
        }
        assert!(found > 100_000, "most records are found: {found}");
    }

    /// The reference: one byte at a time, as simple as possible.
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
            let expected = scalar(&bytes, 0, depth);
            let shown = String::from_utf8_lossy(&bytes);
            assert_eq!(skip_container(&bytes, 0, depth), expected, "round {round}: {shown}");
            assert_eq!(skip::<Scalar>(&bytes, 0, depth), expected, "round {round}: {shown}");
            #[cfg(target_arch = "x86_64")]
            assert_eq!(
                skip::<super::super::lanes::Sse2>(&bytes, 0, depth),
                expected,
                "round {round}: {shown}"
            );
        }
    }
}
