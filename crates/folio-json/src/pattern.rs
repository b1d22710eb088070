//! Keys as they appear in the text, and a fast check whether one comes next.

use crate::lanes::{WIDTH, brackets, found_16, splat};

/// `"key":`, or the same after a comma, compared with text eight bytes at a time. A call to compare memory would cost more
/// than the comparison.
#[derive(Debug, Clone)]
pub struct Pattern {
    text: Box<[u8]>,
    /// Its first eight bytes, and a mask of the bits that count.
    head: u64,
    mask: u64,
    /// Its last eight bytes, if it is longer.
    tail: u64,
}

/// Up to this size, head and tail cover the whole pattern.
const SHORT: usize = 16;

impl Pattern {
    /// The pattern of a key, given as it appears between its quotes.
    #[must_use]
    pub fn of_key(name: &[u8]) -> Self {
        Self::of_text([b"\"", name, b"\":"].concat().into())
    }

    /// The pattern of a key after another member: with the comma before it.
    pub(crate) fn after_comma(&self) -> Self {
        Self::of_text([b",", &*self.text].concat().into())
    }

    fn of_text(text: Box<[u8]>) -> Self {
        let size = text.len().min(8);
        let mut head = [0; 8];
        head[..size].copy_from_slice(&text[..size]);
        let tail = text.last_chunk::<8>().copied().unwrap_or_default();
        Self {
            head: u64::from_le_bytes(head),
            mask: u64::MAX >> (64 - 8 * size),
            tail: u64::from_le_bytes(tail),
            text,
        }
    }

    /// The pattern of a name as it is usually written.
    pub(crate) fn of_name(name: &str) -> Self {
        let quoted = serde_json::Value::from(name).to_string();
        Self::of_key(&quoted.as_bytes()[1..quoted.len() - 1])
    }

    /// Its size in bytes: the key, two quotes and a colon, perhaps a comma.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    #[must_use]
    pub fn size(&self) -> usize {
        self.text.len()
    }

    /// Whether the pattern, which has a comma and a key, is found nowhere else in valid JSON.
    ///
    /// Its first quote is not escaped: a comma is before it. It opens a string: after the one that
    /// closes it there is no letter. So the pattern is a key.
    pub(crate) fn is_found_as_key(&self) -> bool {
        matches!(*self.text, [b',', b'"', first, ..] if first.is_ascii_alphanumeric())
    }

    /// The offset after the pattern's first place in `text` from `at` on, if no bracket is before
    /// it. It may be overlooked in the last bytes of the text.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    pub(crate) fn end_in(&self, text: &[u8], mut at: usize) -> Option<usize> {
        let [comma, _, letter, ..] = *self.text else { return None };
        while let Some([_, _, third @ ..]) = text.get(at..)?.first_chunk::<{ WIDTH + 2 }>() {
            let first = text[at..].first_chunk()?;
            let brackets = found_16(first, brackets);
            let mut places = found_16(first, |bytes| bytes.simd_eq(splat(comma)))
                & found_16(third.first_chunk()?, |bytes| bytes.simd_eq(splat(letter)));
            // Those before the first bracket.
            places &= brackets.wrapping_sub(1) & !brackets;
            while places != 0 {
                let place = at + places.trailing_zeros() as usize;
                if self.begins(&text[place..]) {
                    return Some(place + self.size());
                }
                places &= places - 1;
            }
            if brackets != 0 {
                return None;
            }
            at += WIDTH;
        }
        None
    }

    /// Whether text begins with the pattern.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    #[must_use]
    pub fn begins(&self, text: &[u8]) -> bool {
        let size = self.text.len();
        let Some(first) = text.first_chunk::<8>() else { return text.starts_with(&self.text) };
        if u64::from_le_bytes(*first) & self.mask != self.head {
            return false;
        }
        if size <= 8 {
            return true;
        }
        let Some(last) = text.get(size - 8..).and_then(<[u8]>::first_chunk::<8>) else {
            return false;
        };
        u64::from_le_bytes(*last) == self.tail && (size <= SHORT || text.starts_with(&self.text))
    }
}
